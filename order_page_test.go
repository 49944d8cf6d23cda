package ticketing_test

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ticketingtest"
)

// pagingStore counts pages of orders that are read. Its Views wait until some of them wait.
type pagingStore struct {
	driver.Store

	pages   atomic.Int64
	waiting atomic.Pointer[waitingViews] // nil: None waits.
}

type waitingViews struct {
	some sync.WaitGroup
	left atomic.Int64
}

// hold lets Views wait until there are n.
func (s *pagingStore) hold(n int) {
	views := new(waitingViews)
	views.some.Add(n)
	views.left.Store(int64(n))
	s.waiting.Store(views)
}

func (s *pagingStore) View(ctx context.Context, fn func(ctx context.Context, tx driver.ReadTx) error) error {
	if views := s.waiting.Load(); views != nil {
		if views.left.Add(-1) >= 0 {
			views.some.Done()
		}
		views.some.Wait()
	}
	return s.Store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error { return fn(ctx, countedPages{tx, s}) })
}

type countedPages struct {
	driver.ReadTx

	store *pagingStore
}

func (c countedPages) ListOrders(ctx context.Context, query driver.OrderQuery) ([]driver.Order, error) {
	c.store.pages.Add(1)
	return c.ReadTx.ListOrders(ctx, query)
}

// TestEqualPagesShareARead checks that calls for the same page of orders share a read, and that each caller gets what
// it gets alone: its own copy, of its own company, with its own filter and cursor. A caller whose key was revoked, or
// whose company was suspended, since it was identified gets nothing.
func TestEqualPagesShareARead(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		other, suspended := shop.Neighbour(t), shop.Neighbour(t)
		counted := &pagingStore{Store: shop.Store}
		svc, err := ticketing.New(counted, &ticketing.Config{
			SecretKeys: [][]byte{bytes.Repeat([]byte("k"), 32)}, Clock: shop.Clock.Now, CompanySlots: 64,
		})
		is.NoErr(err)
		staff := svc.As(ticketing.Staff("office"))
		identified := func(key string) (caller ticketing.Caller) {
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
		for _, of := range []*ticketingtest.Shop{shop, other} {
			params := ticketing.UpdateBrandingParams{EmailFooter: new("Thanks")}
			_, err := staff.UpdateBranding(t.Context(), of.Company.ID, params)
			is.NoErr(err)
		}
		event, second, foreign := shop.Event(t), shop.Event(t), other.Event(t)
		for _, id := range []uuid.UUID{event.ID, second.ID} {
			shop.Inventory(t, id, "REGULAR", 500, 50)
			shop.Sell(t, id, "REGULAR", 2)
			shop.Sell(t, id, "REGULAR", 1)
		}
		other.Inventory(t, foreign.ID, "REGULAR", 700, 50)
		other.Sell(t, foreign.ID, "REGULAR", 3)
		_, err = staff.RevokeAPIKey(t.Context(), revoked.ID)
		is.NoErr(err)
		_, err = staff.SuspendCompany(t.Context(), suspended.Company.ID)
		is.NoErr(err)
		first, err := svc.ListOrders(t.Context(), callers["own"], ticketing.OrderFilter{
			PageParams: ticketing.PageParams{Limit: 2},
		})
		is.NoErr(err)
		filters := []ticketing.OrderFilter{
			{PageParams: ticketing.PageParams{Limit: 2}},
			{PageParams: ticketing.PageParams{Limit: 3}},
			{PageParams: ticketing.PageParams{Limit: 2, Cursor: first.NextCursor}},
			{PageParams: ticketing.PageParams{Limit: 2}, EventID: event.ID},
			{PageParams: ticketing.PageParams{Limit: 2}, Statuses: []ticketing.OrderStatus{ticketing.OrderRefunded}},
		}
		type outcome struct {
			page ticketing.Page[ticketing.Order]
			code ticketing.Code
		}
		reads := make(map[string]func() outcome)
		for name, caller := range callers {
			for i, filter := range filters {
				reads[fmt.Sprintf("page %d, %s", i, name)] = func() outcome {
					page, err := svc.ListOrders(t.Context(), caller, filter)
					return outcome{page, code(err)}
				}
			}
		}
		alone := make(map[string]outcome)
		for name, read := range reads {
			alone[name] = read()
		}
		is.Equal(len(alone["page 1, own"].page.Items), 3)
		is.Equal(alone["page 2, own"].page.Items[0].EventID, event.ID)
		is.Equal(len(alone["page 0, other"].page.Items), 1)
		is.Equal(len(alone["page 4, own"].page.Items), 0)
		is.Equal(alone["page 2, other"].code, ticketing.CodeInvalidCursor)
		for i := range filters[:2] {
			is.Equal(alone[fmt.Sprintf("page %d, revoked", i)].code, ticketing.CodeAuthenticationFailed)
			is.Equal(alone[fmt.Sprintf("page %d, suspended", i)].code, ticketing.CodeAuthenticationFailed)
		}

		const each = 4
		for round := 0; ; round++ {
			before := counted.pages.Load()
			counted.hold(10)
			var together sync.WaitGroup
			var asked atomic.Int64
			var mu sync.Mutex
			var pages []ticketing.Page[ticketing.Order]
			for name, read := range reads {
				for range each {
					together.Go(func() {
						got := read()
						if !reflect.DeepEqual(got, alone[name]) {
							t.Errorf("%s: %d orders, %q; alone %d, %q", name, len(got.page.Items), got.code,
								len(alone[name].page.Items), alone[name].code)
						}
						if got.code != ticketing.CodeInvalidCursor {
							asked.Add(1)
						}
						for i := range got.page.Items { // A result belongs to its caller.
							got.page.Items[i].Lines[0].Title = "changed"
							*got.page.Items[i].Branding.EmailFooter = "changed"
						}
						mu.Lock()
						defer mu.Unlock()
						pages = append(pages, got.page)
					})
				}
			}
			together.Wait()
			of := make(map[uintptr]int) // the page that has what is there
			for i, page := range pages {
				for place := range placesIn(reflect.ValueOf(page)) {
					if other, shared := of[place]; shared && other != i {
						t.Fatal("two calls have a part of their results in common")
					}
					of[place] = i
				}
			}
			if counted.pages.Load()-before < asked.Load() {
				break
			}
			if round == 100 {
				t.Fatal("no pages shared a read")
			}
		}
	})
}

// placesIn yields the address of all that a value points to, however deep.
func placesIn(value reflect.Value) iter.Seq[uintptr] {
	return func(yield func(uintptr) bool) { yieldPlaces(value, yield) }
}

func yieldPlaces(value reflect.Value, yield func(uintptr) bool) bool {
	switch value.Kind() { //nolint:exhaustive // No other kind that orders have points to something.
	case reflect.Pointer:
		if value.IsNil() || value.Type() == reflect.TypeFor[*time.Location]() {
			return true
		}
		return yield(value.Pointer()) && yieldPlaces(value.Elem(), yield)
	case reflect.Slice:
		if value.Len() > 0 && !yield(value.Pointer()) {
			return false
		}
		for i := range value.Len() {
			if !yieldPlaces(value.Index(i), yield) {
				return false
			}
		}
	case reflect.Struct:
		for _, field := range value.Fields() {
			if !yieldPlaces(field, yield) {
				return false
			}
		}
	}
	return true
}
