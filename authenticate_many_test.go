package ticketing_test

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/money"
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

// pausedStore is a store whose Views wait while it holds them. It hides nothing of its transactions.
type pausedStore struct {
	driver.Store

	holds   atomic.Bool
	waiting chan struct{} // gets a value for each View that waits
	release chan struct{}
}

func (s *pausedStore) View(ctx context.Context, fn func(ctx context.Context, tx driver.ReadTx) error) error {
	if s.holds.Load() {
		s.waiting <- struct{}{}
		<-s.release
	}
	return s.Store.View(ctx, fn)
}

func (s *pausedStore) Grouping() driver.Grouping {
	if grouping, ok := s.Store.(driver.GroupingStore); ok {
		return grouping.Grouping()
	}
	return driver.Grouping{}
}

// TestManyReadsShareTransactions checks that orders and quotes of many callers are read in shared transactions, and
// that each caller gets what it gets alone. A caller whose key was revoked, or whose company was suspended, since it
// was identified gets nothing. Nobody gets the data of another company.
func TestManyReadsShareTransactions(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		other, suspended := shop.Neighbour(t), shop.Neighbour(t)
		held := &pausedStore{Store: shop.Store, waiting: make(chan struct{}), release: make(chan struct{})}
		var sharedOrders, sharedQuotes atomic.Bool
		svc, err := ticketing.New(held, &ticketing.Config{
			SecretKeys: [][]byte{bytes.Repeat([]byte("k"), 32)}, Clock: shop.Clock.Now, CompanySlots: 64,
			Grouping: ticketing.Grouping{OnGroup: func(run ticketing.GroupRun) {
				if run.Calls > 1 && run.Err == nil {
					sharedOrders.CompareAndSwap(false, run.Operation == "orders.get")
					sharedQuotes.CompareAndSwap(false, run.Operation == "quotes.create")
				}
			}},
		})
		is.NoErr(err)
		shares := held.Grouping().Reads
		staff := svc.As(ticketing.Staff("office"))
		identified := func(key string) ticketing.Caller {
			var caller ticketing.Caller
			for range 3 { // The first use looks the key up.
				caller, err = svc.Identify(t.Context(), key)
				is.NoErr(err)
			}
			return caller
		}
		revoked, err := staff.IssueAPIKey(t.Context(), shop.Company.ID, "revoked", ticketing.AllGrants())
		is.NoErr(err)
		callers := map[string]ticketing.Caller{
			"own": identified(shop.APIKey), "other": identified(other.APIKey),
			"revoked": identified(revoked.Key), "suspended": identified(suspended.APIKey),
			"trusted": ticketing.TrustedCaller(shop.Company.ID, ticketing.AllGrants()...),
		}
		event, foreign := shop.Event(t), other.Event(t)
		shop.Inventory(t, event.ID, "REGULAR", 500, 50)
		shop.Inventory(t, event.ID, "VIP", 900, 50)
		other.Inventory(t, foreign.ID, "REGULAR", 700, 50)
		orders := []uuid.UUID{
			shop.Sell(t, event.ID, "REGULAR", 2).ID, shop.Sell(t, event.ID, "VIP", 1).ID,
			other.Sell(t, foreign.ID, "REGULAR", 3).ID, uuid.New(),
		}
		draft := shop.Event(t, ticketingtest.Draft)
		quotes := []ticketing.QuoteParams{
			{EventID: event.ID, Lines: []ticketing.QuoteLineParams{{Tier: "REGULAR", Quantity: 2}}},
			{EventID: event.ID, Lines: []ticketing.QuoteLineParams{{Tier: "VIP", Quantity: 1}, {Tier: "REGULAR", Quantity: 1}}},
			{EventID: event.ID, Lines: []ticketing.QuoteLineParams{{Tier: "REGULAR", Quantity: 50}}},
			{EventID: foreign.ID, Lines: []ticketing.QuoteLineParams{{Tier: "REGULAR", Quantity: 2}}},
			{EventID: draft.ID, Lines: []ticketing.QuoteLineParams{{Tier: "REGULAR", Quantity: 2}}},
		}
		_, err = staff.RevokeAPIKey(t.Context(), revoked.ID)
		is.NoErr(err)
		_, err = staff.SuspendCompany(t.Context(), suspended.Company.ID)
		is.NoErr(err)
		type outcome struct {
			result any
			code   ticketing.Code
		}
		reads := make(map[string]func() outcome)
		for name, caller := range callers {
			for i, id := range orders {
				reads[fmt.Sprintf("order %d, %s", i, name)] = func() outcome {
					order, err := svc.GetOrder(t.Context(), caller, id)
					return outcome{order, code(err)}
				}
			}
			for i, params := range quotes {
				reads[fmt.Sprintf("quote %d, %s", i, name)] = func() outcome {
					quote, err := svc.Quote(t.Context(), caller, params)
					return outcome{quote, code(err)}
				}
			}
		}
		alone := make(map[string]outcome)
		for name, read := range reads {
			alone[name] = read()
		}
		is.Equal(alone["order 0, own"].result.(ticketing.Order).Gross, money.Amount(1000))
		is.Equal(alone["order 2, own"].code, ticketing.CodeNotFound)
		is.Equal(alone["quote 1, own"].result.(ticketing.Quote).Total, money.Amount(1400))
		is.Equal(alone["quote 2, own"].code, ticketing.CodePricingUnavailable)
		is.Equal(alone["quote 3, own"].code, ticketing.CodeNotFound)
		is.Equal(alone["quote 4, own"].code, ticketing.CodePricingUnavailable)
		for name := range reads {
			if strings.Contains(name, "revoked") || strings.Contains(name, "suspended") {
				is.Equal(alone[name].code, ticketing.CodeAuthenticationFailed)
			}
		}
		is.True(!sharedOrders.Load() && !sharedQuotes.Load()) // A read that is alone shares nothing.

		held.holds.Store(true)
		var others sync.WaitGroup
		for range 8 {
			others.Go(func() { _, _ = svc.GetEvent(t.Context(), callers["trusted"], event.ID) })
			<-held.waiting
		}
		held.holds.Store(false)
		for round := 0; round == 0 || shares && (!sharedOrders.Load() || !sharedQuotes.Load()); round++ {
			if round == 100 {
				t.Fatal("no reads shared a transaction")
			}
			var together sync.WaitGroup
			for name, read := range reads {
				for range 2 {
					together.Go(func() {
						got := read()
						if !reflect.DeepEqual(got, alone[name]) {
							t.Errorf("%s: %v, alone %v", name, got, alone[name])
						}
						// A result belongs to its caller.
						if order, ok := got.result.(ticketing.Order); ok && len(order.Lines) > 0 {
							order.Lines[0].Title = "changed"
						}
					})
				}
			}
			together.Wait()
		}
		is.Equal(sharedOrders.Load() || sharedQuotes.Load(), shares) // Only where that saves messages.
		close(held.release)
		others.Wait()
	})
}
