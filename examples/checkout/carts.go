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

// Cart is the stored state of one purchase.
type Cart struct {
	Purchase Purchase `json:"purchase"`
	// Key is the idempotency key of this purchase: made once, stored, and sent with every call.
	Key string `json:"key"`
	// Params are sent with the key. The same Params make the same bytes, also after they were stored and read. They are
	// kept for as long as the API may have accepted them. They are nil before the first call, and after a refusal that
	// proves that nothing was sold.
	Params *ticketing.CheckoutParams `json:"params,omitempty"`
	// Sold is whether the shop has seen the order.
	Sold bool `json:"sold"`
}

// Carts stores each cart in a file of a folder. A shop with a database keeps them there. All that matters is that a
// cart is durable before it is sent.
type Carts struct {
	dir   string
	seed  maphash.Seed
	locks [64]sync.Mutex
}

// OpenCarts creates the folder if it does not exist. Carts hold buyers, so only the owner may read it.
func OpenCarts(dir string) (*Carts, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return &Carts{dir: dir, seed: maphash.MakeSeed()}, nil
}

// Lock locks a cart against the other requests of this process: of two clicks the second finds what the first did.
func (c *Carts) Lock(id string) (unlock func()) {
	lock := &c.locks[maphash.String(c.seed, id)%uint64(len(c.locks))]
	lock.Lock()
	return lock.Unlock
}

// Get reads a cart, or makes one with its own key.
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

// Put stores a cart, all of it or nothing. The cart is on disk when Put returns.
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

// Open returns the carts that were sent and whose order the shop has not seen.
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

// path is safe because [Purchase.check] allows no separator in an id.
func (c *Carts) path(id string) string { return filepath.Join(c.dir, id+".json") }
