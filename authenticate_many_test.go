package ticketing_test

import (
	"bytes"
	"context"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ticketingtest"
)

// readingStore is a store whose Views wait while it holds them.
type readingStore struct {
	driver.Store

	holds   atomic.Bool
	waiting chan struct{} // gets a value for each View that waits
	release chan struct{}
	lookUps atomic.Int64
}

func (s *readingStore) View(ctx context.Context, fn func(ctx context.Context, tx driver.ReadTx) error) error {
	if s.holds.Load() {
		s.waiting <- struct{}{}
		<-s.release
	}
	return s.Store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error { return fn(ctx, countedKeys{tx, s}) })
}

type countedKeys struct {
	driver.ReadTx

	store *readingStore
}

func (c countedKeys) FindAPIKeys(ctx context.Context, ids []uuid.UUID) ([]driver.APIKey, error) {
	c.store.lookUps.Add(1)
	return c.ReadTx.FindAPIKeys(ctx, ids)
}

// TestManyReadsShareLookUps checks that a read beside many others looks its key up, even if it was used lately, and
// that it fails for a key that was revoked meanwhile.
func TestManyReadsShareLookUps(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	shop := ticketingtest.New(t, nil)
	event := shop.Event(t)
	held := &readingStore{Store: shop.Store, waiting: make(chan struct{}), release: make(chan struct{})}
	svc, err := ticketing.New(held, &ticketing.Config{
		SecretKeys: [][]byte{bytes.Repeat([]byte("k"), 32)}, Clock: shop.Clock.Now, CompanySlots: 64,
	})
	is.NoErr(err)
	staff := svc.As(ticketing.Staff("office"))
	revoked, err := staff.IssueAPIKey(t.Context(), shop.Company.ID, "revoked", ticketing.AllGrants())
	is.NoErr(err)
	identified := func(key string) ticketing.Caller {
		for range 2 { // The first use looks the key up.
			_, err = svc.Identify(t.Context(), key)
			is.NoErr(err)
		}
		caller, err := svc.Identify(t.Context(), key)
		is.NoErr(err)
		return caller
	}
	read := func(caller ticketing.Caller) error {
		_, err := svc.GetEvent(t.Context(), caller, event.ID)
		return err
	}
	before, after := identified(shop.APIKey), identified(revoked.Key)
	alone := held.lookUps.Load()
	is.NoErr(read(identified(shop.APIKey)))
	is.Equal(held.lookUps.Load(), alone) // a read that is alone

	held.holds.Store(true)
	var others sync.WaitGroup
	for range 8 {
		others.Go(func() {
			if err := read(ticketing.TrustedCaller(shop.Company.ID, ticketing.AllGrants()...)); err != nil {
				t.Error(err)
			}
		})
		<-held.waiting
	}
	held.holds.Store(false)
	is.NoErr(read(before))
	is.Equal(held.lookUps.Load(), alone+1)
	_, err = staff.RevokeAPIKey(t.Context(), revoked.ID)
	is.NoErr(err)
	is.Equal(code(read(after)), ticketing.CodeAuthenticationFailed)
	close(held.release)
	others.Wait()
}
