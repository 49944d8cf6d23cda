package ticketing_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/store"
	"github.com/floatgate/ticketing/ticketingtest"
)

// TestMessages checks how many messages an operation sends to PostgreSQL with a key that was used lately, since each
// costs a round trip. The first call of each kind may send more.
func TestMessages(t *testing.T) {
	t.Parallel()
	pgtest.NeedSingle(t)
	is := is.New(t)
	var mu sync.Mutex
	var sent []string
	db := testdb.Open(t, testdb.DSN(t), &store.Config{OnStatement: func(_ context.Context, statement store.Statement) {
		mu.Lock()
		defer mu.Unlock()
		sent = append(sent, statement.Name)
	}})
	take := func() []string { // what was sent since the last call
		mu.Lock()
		defer mu.Unlock()
		last := sent
		sent = nil
		return last
	}
	shop := ticketingtest.New(t, &ticketingtest.Config{Store: db})
	event := shop.Event(t)
	shop.Inventory(t, event.ID, "VIP", 100_00, 1000)
	basket := ticketingtest.Basket(event.ID, "VIP", 100_00, 2)
	for range 10 { // Until no other process is expected to sell for the company.
		shop.Sell(t, event.ID, "VIP", 1)
	}
	var order ticketing.Order
	n := 0
	calls := []struct {
		name string
		call func(caller ticketing.Caller) error
		want []string
	}{
		{"checkout", func(caller ticketing.Caller) (err error) {
			order, err = shop.Checkout(t.Context(), caller, fmt.Sprintf("checkout-%d", n), basket)
			return err
		}, []string{"begin", "commit"}},
		{"checkout of many admissions", func(caller ticketing.Caller) error {
			_, err := shop.Checkout(t.Context(), caller, fmt.Sprintf("checkout-many-%d", n),
				ticketingtest.Basket(event.ID, "VIP", 100_00, 20))
			return err
		}, []string{"begin", "commit"}},
		{"checkout after one of a process whose clock is ahead", func(caller ticketing.Caller) error {
			shop.Clock.Advance(-5 * time.Millisecond)
			defer shop.Clock.Advance(5 * time.Millisecond)
			_, err := shop.Checkout(t.Context(), caller, fmt.Sprintf("behind-%d", n), basket)
			return err
		}, []string{"begin", "commit"}},
		{"replay", func(caller ticketing.Caller) error {
			_, err := shop.Checkout(t.Context(), caller, fmt.Sprintf("checkout-%d", n), basket)
			return err
		}, []string{"begin", "Orders", "OrderLines", "Rates", "Brandings", "rollback"}},
		{"order", func(caller ticketing.Caller) error {
			_, err := shop.GetOrder(t.Context(), caller, order.ID)
			return err
		}, []string{"Orders"}},
		{"page of orders", func(caller ticketing.Caller) error {
			_, err := shop.ListOrders(t.Context(), caller, ticketing.OrderFilter{})
			return err
		}, []string{"ListOrders"}},
		{"unknown order", func(caller ticketing.Caller) error {
			_, err := shop.GetOrder(t.Context(), caller, uuid.New())
			is.Equal(code(err), ticketing.CodeNotFound)
			return nil
		}, []string{"Orders"}},
		{"quote", func(caller ticketing.Caller) error {
			_, err := shop.Quote(t.Context(), caller, ticketing.QuoteParams{
				EventID: event.ID, Lines: []ticketing.QuoteLineParams{{Tier: "VIP", Quantity: 1}},
			})
			return err
		}, []string{"PriceList"}},
		{"event", func(caller ticketing.Caller) error {
			_, err := shop.GetEvent(t.Context(), caller, event.ID)
			return err
		}, []string{"Events"}},
		{"validation", func(caller ticketing.Caller) error {
			_, err := shop.ValidateAdmission(t.Context(), caller, event.ID, order.Lines[0].AdmissionID,
				fmt.Sprintf("validation-%d", n), ticketing.ValidateParams{})
			return err
		}, []string{"begin", "LockAdmissions", "Orders", "Brandings", "commit"}},
	}
	for range 2 {
		n++
		for _, c := range calls {
			caller, err := shop.Identify(t.Context(), shop.APIKey)
			is.NoErr(err)
			take()
			is.NoErr(c.call(caller))
			if got := take(); n == 2 && !slices.Equal(got, c.want) {
				t.Errorf("%s: %q, want %q", c.name, got, c.want)
			}
		}
	}
	// While a rate is about to begin, each checkout reads the one of its time.
	_, err := shop.Staff.ScheduleCommission(t.Context(), shop.Company.ID, ticketing.CommissionParams{
		EffectiveFrom: new(shop.Clock.Now().Add(5 * time.Second)),
	})
	is.NoErr(err)
	for i, want := range [][]string{
		{"begin", "Companies", "EffectiveRates", "commit"}, // What was remembered is out of date, and read again.
		{"begin", "EffectiveRates", "commit"},              // It was read whole, to be remembered.
		{"begin", "EffectiveRates", "commit"},
	} {
		take()
		_, err = shop.Checkout(t.Context(), shop.Caller, fmt.Sprintf("checkout-soon-%d", i), basket)
		is.NoErr(err)
		is.Equal(take(), want)
	}
	// After a sale of another process the locks come later.
	_, err = service(t, shop, db, ticketing.Grouping{}).Checkout(t.Context(), shop.Caller, "checkout-elsewhere", basket)
	is.NoErr(err)
	// The next sale learns of it, and they come first again once eight more followed one another here.
	for n := range 10 {
		take()
		_, err = shop.Checkout(t.Context(), shop.Caller, fmt.Sprintf("checkout-after-%d", n), basket)
		is.NoErr(err)
		want := []string{"begin", "LockStock", "EffectiveRates", "commit"}
		if n == 0 || n == 9 {
			want = slices.Delete(want, 1, 2)
		}
		is.Equal(take(), want)
	}
}

// TestSharedReadsAreOneMessage checks that orders and quotes of many calls, of several companies, are one message of
// their group to PostgreSQL, with the authority of all callers and the brandings of all companies.
func TestSharedReadsAreOneMessage(t *testing.T) {
	t.Parallel()
	pgtest.NeedSingle(t)
	is := is.New(t)
	var mu sync.Mutex
	sent := make(map[string]int)
	groups := make(map[string]int)
	db := testdb.Open(t, testdb.DSN(t), &store.Config{OnStatement: func(_ context.Context, statement store.Statement) {
		mu.Lock()
		defer mu.Unlock()
		sent[statement.Name]++
	}})
	shop := ticketingtest.New(t, &ticketingtest.Config{Store: db})
	held := &pausedStore{Store: db, waiting: make(chan struct{}), release: make(chan struct{})}
	largest := 0
	const lanes = 2
	svc, err := ticketing.New(held, &ticketing.Config{
		SecretKeys: [][]byte{bytes.Repeat([]byte("k"), 32)}, Clock: shop.Clock.Now, CompanySlots: 64,
		Grouping: ticketing.Grouping{Lanes: lanes, OnGroup: func(run ticketing.GroupRun) {
			mu.Lock()
			defer mu.Unlock()
			groups[run.Operation]++
			largest = max(largest, run.Calls)
		}},
	})
	is.NoErr(err)
	var reads []func() error
	shops := []*ticketingtest.Shop{shop}
	for len(shops) < 2*lanes {
		shops = append(shops, shop.Neighbour(t))
	}
	for _, of := range shops {
		event := of.Event(t)
		of.Inventory(t, event.ID, "VIP", 100_00, 10)
		order := of.Sell(t, event.ID, "VIP", 2)
		for range 8 {
			reads = append(reads, func() error {
				caller, err := svc.Identify(t.Context(), of.APIKey)
				if err == nil {
					_, err = svc.GetOrder(t.Context(), caller, order.ID)
				}
				return err
			}, func() error {
				caller, err := svc.Identify(t.Context(), of.APIKey)
				if err == nil {
					_, err = svc.Quote(t.Context(), caller, ticketing.QuoteParams{
						EventID: event.ID, Lines: []ticketing.QuoteLineParams{{Tier: "VIP", Quantity: 1}},
					})
				}
				return err
			})
		}
	}
	for _, read := range reads { // The first read of a company finds its branding.
		is.NoErr(read())
	}
	held.holds.Store(true)
	var others sync.WaitGroup
	for range 8 {
		others.Go(func() {
			caller := ticketing.TrustedCaller(shop.Company.ID, ticketing.AllGrants()...)
			_, _ = svc.GetEvent(t.Context(), caller, uuid.New())
		})
		<-held.waiting
	}
	held.holds.Store(false)
	clear(sent)
	clear(groups)
	unlike := func() int { // Groups of quotes of several companies.
		mu.Lock()
		defer mu.Unlock()
		return sent["PriceLists"]
	}
	for round := 0; largest < 4 || unlike() == 0; round++ {
		if round == 100 {
			t.Fatal("no reads shared a transaction")
		}
		var together sync.WaitGroup
		for _, read := range reads {
			together.Go(func() {
				if err := read(); err != nil {
					t.Error(err)
				}
			})
		}
		together.Wait()
	}
	is.NoErr(svc.Drain(t.Context()))
	// A group of one price list, whatever its calls, has the statement that is made for one.
	sent["PriceList"] += sent["PriceLists"]
	delete(sent, "PriceLists")
	is.Equal(sent, map[string]int{"Orders": groups["orders.get"], "PriceList": groups["quotes.create"]})
	close(held.release)
	others.Wait()
}
