package main

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/floatgate/ticketing"
)

// Cart is what the shop remembers of one purchase.
type Cart struct {
	Purchase Purchase `json:"purchase"`
	// Key is the idempotency key of this purchase: made once, kept, sent with every call.
	Key string `json:"key"`
	// Params are sent with the key; the same make the same bytes, also when they were kept and read. They are kept for as
	// long as they may have been accepted, and are nil before the first call and after a refusal that is beyond doubt.
	Params *ticketing.CheckoutParams `json:"params,omitempty"`
	// Sold tells that the order was seen.
	Sold bool `json:"sold"`
}

// Carts keeps carts in a folder, a file for each. A shop with a database keeps them there: all that matters is that
// a cart is durable before it is sent.
type Carts struct {
	dir   string
	seed  maphash.Seed
	locks [64]sync.Mutex
}

// OpenCarts makes the folder where there is none. Carts hold buyers, so nobody else may read it.
func OpenCarts(dir string) (*Carts, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return &Carts{dir: dir, seed: maphash.MakeSeed()}, nil
}

// Lock keeps the other requests of this process from a cart: of two clicks the second one finds what the first did.
func (c *Carts) Lock(id string) (unlock func()) {
	lock := &c.locks[maphash.String(c.seed, id)%uint64(len(c.locks))]
	lock.Lock()
	return lock.Unlock
}

// Get reads a cart, or makes one with a key of its own.
func (c *Carts) Get(purchase Purchase) (Cart, error) {
	text, err := os.ReadFile(c.path(purchase.CartID))
	if errors.Is(err, fs.ErrNotExist) {
		return Cart{Purchase: purchase, Key: "cart-" + rand.Text()}, nil
	}
	if err != nil {
		return Cart{}, err
	}
	var cart Cart
	if err := json.Unmarshal(text, &cart); err != nil {
		return Cart{}, fmt.Errorf("cart %s: %w", purchase.CartID, err)
	}
	return cart, nil
}

// Put keeps a cart: whole or not at all, and on disk when it returns.
func (c *Carts) Put(cart Cart) error {
	text, err := json.Marshal(cart)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(c.dir, "new-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(file.Name()) }()
	_, err = file.Write(text)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(file.Name(), c.path(cart.Purchase.CartID)); err != nil {
		return err
	}
	dir, err := os.Open(c.dir)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// Open are the carts that were sent and whose answer nobody has seen.
func (c *Carts) Open() ([]Cart, error) {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return nil, err
	}
	var found []Cart
	for _, entry := range entries {
		id, ok := strings.CutSuffix(entry.Name(), ".json")
		if !ok {
			continue
		}
		cart, err := c.Get(Purchase{CartID: id})
		if err != nil {
			return nil, err
		}
		if cart.Params != nil && !cart.Sold {
			found = append(found, cart)
		}
	}
	return found, nil
}

// path is safe because [Purchase.check] lets no separator into an id.
func (c *Carts) path(id string) string { return filepath.Join(c.dir, id+".json") }
