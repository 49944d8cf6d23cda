package ticketing_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/httpapi"
	"github.com/floatgate/ticketing/internal/contracttest"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/store"
	"github.com/floatgate/ticketing/ticketingtest"
)

// postgres opens a store on a server that a test breaks, and migrates it.
func postgres(tb testing.TB, dsn string, config *store.Config) *store.Store {
	tb.Helper()
	is := is.New(tb)
	db, err := store.Open(tb.Context(), dsn, config)
	is.NoErr(err)
	tb.Cleanup(func() { is.NoErr(db.Close()) })
	is.NoErr(db.Migrate(tb.Context()))
	return db
}

// through returns the DSN of a database with another host and port.
func through(dsn, own, other string) string { return strings.Replace(dsn, own, other, 1) }

// service returns another service for a shop's company, on the given store and with the given grouping.
func service(
	tb testing.TB, shop *ticketingtest.Shop, on driver.Store, grouping ticketing.Grouping,
) *ticketing.Service {
	tb.Helper()
	svc, err := ticketing.New(on, &ticketing.Config{
		SecretKeys: [][]byte{bytes.Repeat([]byte("k"), 32)}, Clock: shop.Clock.Now, Grouping: grouping,
	})
	is.New(tb).NoErr(err)
	return svc
}

// errAway is what a client gets while the database is away, which is the only documented response: 503 with
// Retry-After.
var errAway = errors.New("503 with Retry-After")

// buyFunc is one way to buy. It returns the order as the client gets it.
type buyFunc func(ctx context.Context, key string, params ticketing.CheckoutParams) (ticketing.Order, error)

func buyFuncOf(svc *ticketing.Service, caller ticketing.Caller) buyFunc {
	return func(ctx context.Context, key string, params ticketing.CheckoutParams) (ticketing.Order, error) {
		order, err := svc.Checkout(ctx, caller, key, params)
		if errors.Is(err, ticketing.ErrBusy) || errors.Is(err, ticketing.ErrUnavailable) {
			err = fmt.Errorf("%w: %w", errAway, err)
		}
		return order, err
	}
}

// httpBuyFunc buys over HTTP.
func httpBuyFunc(t *testing.T, svc *ticketing.Service, apiKey string) buyFunc {
	t.Helper()
	handler := contracttest.New(t.Error, svc, &httpapi.Config{RateLimit: -1})
	return func(ctx context.Context, key string, params ticketing.CheckoutParams) (ticketing.Order, error) {
		var order ticketing.Order
		body := fmt.Sprintf(
			`{"eventId":%q,"buyer":{"email":%q},"lines":[{"tier":%q,"quantity":%d,"expectedUnitPrice":%q,"currency":"NGN"}]}`,
			params.EventID, params.Buyer.Email, params.Lines[0].Tier, params.Lines[0].Quantity,
			params.Lines[0].ExpectedUnitPrice)
		request := httptest.NewRequestWithContext(ctx, http.MethodPost, httpapi.DefaultPrefix+"/checkouts",
			strings.NewReader(body))
		request.Header.Set("Authorization", "Bearer "+apiKey)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Idempotency-Key", key)
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, request)
		var answer struct {
			Data  json.RawMessage
			Error struct {
				Code    ticketing.Code
				Message string
			}
		}
		if err := json.Unmarshal(recorder.Body.Bytes(), &answer); err != nil {
			return order, err
		}
		switch {
		case recorder.Code == http.StatusCreated:
			return order, json.Unmarshal(answer.Data, &order)
		case recorder.Code == http.StatusServiceUnavailable && recorder.Header().Get("Retry-After") != "" &&
			answer.Error.Code == ticketing.CodeInternal:
			return order, errAway
		case recorder.Code < http.StatusInternalServerError:
			return order, &ticketing.Error{Code: answer.Error.Code, Message: answer.Error.Message}
		}
		return order, fmt.Errorf("status %d: %s", recorder.Code, string(answer.Error.Code))
	}
}

// rush is a number of clients that buy without end, each order with a key of its own. A client retries with the same
// key while the database is away or the original is still in flight.
type rush struct {
	tb    testing.TB
	shop  *ticketingtest.Shop
	event ticketing.Event
	price money.Amount

	ctx     context.Context //nolint:containedctx // It ends with the rush, which is no call's.
	end     context.CancelFunc
	clients sync.WaitGroup

	mu     sync.Mutex
	served *sync.Cond
	orders map[string]string // by key, as the client got it
	done   map[string]int    // orders by way to buy
	away   map[string]int    // responses that the database is away, by way to buy
	bad    []string
}

// patience is the timeout of everything that a test waits for.
const patience = 60 * time.Second

func newRush(tb testing.TB, shop *ticketingtest.Shop) *rush {
	tb.Helper()
	const price, batch, batches = 100_00, 1000, 30
	r := &rush{
		tb: tb, shop: shop, event: shop.Event(tb), price: price,
		orders: map[string]string{}, done: map[string]int{}, away: map[string]int{},
	}
	for range batches {
		shop.Inventory(tb, r.event.ID, "VIP", price, batch)
	}
	shop.Credit(tb, price*batch*batches)
	r.served = sync.NewCond(&r.mu)
	r.ctx, r.end = context.WithTimeout(context.WithoutCancel(tb.Context()), patience)
	stop := context.AfterFunc(r.ctx, func() { r.served.Broadcast() })
	tb.Cleanup(func() { r.stop(); stop() })
	return r
}

// buy starts clients that buy in one way.
func (r *rush) buy(name string, clients int, at buyFunc) {
	for client := range clients {
		r.clients.Go(func() {
			for n := 0; r.ctx.Err() == nil; n++ {
				r.order(name, fmt.Sprintf("order-%s-%d-%d", name, client, n), at)
				think()
			}
		})
	}
}

// order buys one order, with retries.
func (r *rush) order(name, key string, at buyFunc) {
	params := ticketingtest.Basket(r.event.ID, "VIP", r.price, 1)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.ctx), patience)
	defer cancel()
	for {
		order, err := at(ctx, key, params)
		var refused *ticketing.Error
		switch {
		case err == nil:
			r.tell(func() { r.orders[key] = show(r.tb, order); r.done[name]++ })
			return
		case errors.Is(err, errAway):
			r.tell(func() { r.away[name]++ })
		case errors.As(err, &refused) && refused.Message == "Idempotent request is still processing":
		default:
			r.tell(func() { r.bad = append(r.bad, err.Error()) })
			return
		}
		if ctx.Err() != nil {
			r.tell(func() { r.bad = append(r.bad, "nothing came of "+key) })
			return
		}
		think()
	}
}

// think is the pause of a client before each request. A rush has to meet a fault, and not to exhaust the machine.
func think() {
	const pause = 4 * time.Millisecond
	<-time.NewTimer(pause).C
}

func (r *rush) tell(what func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	what()
	r.served.Broadcast()
}

// until waits until a condition on the clients' responses holds, or fails the test.
func (r *rush) until(what string, reached func() bool) {
	r.tb.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for !reached() && r.ctx.Err() == nil && len(r.bad) == 0 {
		r.served.Wait()
	}
	if len(r.bad) > 0 {
		r.tb.Fatalf("a client was told what is not documented: %v", r.bad)
	}
	if !reached() {
		r.tb.Fatalf("waited for %s: served %v, away %v", what, r.done, r.away)
	}
}

// more waits until each way to buy has sold the given number of further orders.
func (r *rush) more(orders int) {
	r.tb.Helper()
	r.mu.Lock()
	goal := map[string]int{}
	for name, done := range r.done {
		goal[name] = done + orders
	}
	r.mu.Unlock()
	r.until("more orders", func() bool {
		for name, least := range goal {
			if r.done[name] < least {
				return false
			}
		}
		return true
	})
}

// begun waits until each way to buy has sold its first orders.
func (r *rush) begun(buyers ...string) {
	r.tb.Helper()
	r.until("the first orders", func() bool {
		for _, name := range buyers {
			if r.done[name] < 10 {
				return false
			}
		}
		return true
	})
}

// refused waits until each way to buy has had a further response that the database is away.
func (r *rush) refused() {
	r.tb.Helper()
	r.mu.Lock()
	before := map[string]int{}
	for name := range r.done {
		before[name] = r.away[name]
	}
	r.mu.Unlock()
	r.until("refusals", func() bool {
		for name, away := range before {
			if r.away[name] == away {
				return false
			}
		}
		return true
	})
}

func (r *rush) stop() {
	r.end()
	r.clients.Wait()
}

// settled ends the rush and checks its orders. Each order that a client got is stored unchanged, under its key and no
// other, and nothing else was sold. The shop verifies its books when the test ends.
func (r *rush) settled(at buyFunc) {
	r.tb.Helper()
	r.stop()
	is := is.New(r.tb)
	is.Equal(r.bad, nil)
	kept := map[string]bool{}
	for after := ""; ; {
		page, err := r.shop.ListOrders(r.tb.Context(), r.shop.Caller, ticketing.OrderFilter{
			PageParams: ticketing.PageParams{Limit: 100, Cursor: after},
		})
		is.NoErr(err)
		for _, order := range page.Items {
			kept[show(r.tb, order)] = true
		}
		if after = page.NextCursor; !page.HasMore {
			break
		}
	}
	is.Equal(len(kept), len(r.orders)) // There is no order that no client got, and none is doubled.
	for key, order := range r.orders {
		if !kept[order] {
			r.tb.Fatalf("the order of %s is lost: %s", key, order)
		}
	}
	const sample = 20
	tried := 0
	for key, order := range r.orders {
		again, err := at(r.tb.Context(), key, ticketingtest.Basket(r.event.ID, "VIP", r.price, 1))
		is.NoErr(err)
		is.Equal(show(r.tb, again), order)
		if tried++; tried == sample {
			break
		}
	}
	r.tb.Logf("served %v, away %v", r.done, r.away)
}

// newShop creates a company on the given store that is ready to sell.
func newShop(tb testing.TB, on driver.Store) *ticketingtest.Shop {
	tb.Helper()
	return ticketingtest.New(tb, &ticketingtest.Config{Store: on, NewID: uuid.New})
}
