package ticketing_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"
	"github.com/uptrace/bun/driver/pgdriver"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/store"
	"github.com/floatgate/ticketing/ticketingtest"
)

// beside opens a pool of connections that bypasses the service.
func beside(tb testing.TB, dsn string) *sql.DB {
	tb.Helper()
	db := sql.OpenDB(pgdriver.NewConnector(pgdriver.WithDSN(dsn), pgdriver.WithTimeout(patience)))
	tb.Cleanup(func() { is.New(tb).NoErr(db.Close()) })
	return db
}

// nothingOpen fails the test if a transaction is left open.
func nothingOpen(tb testing.TB, dsn string) {
	tb.Helper()
	is := is.New(tb)
	var open int
	is.NoErr(beside(tb, dsn).QueryRowContext(tb.Context(), `SELECT count(*) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid() AND state <> 'idle'`).Scan(&open))
	is.Equal(open, 0)
}

// holdRows returns a function that locks a company's rows of a table until release is called.
func holdRows(table string) func(t *testing.T, dsn string, company uuid.UUID) (release func()) {
	return func(t *testing.T, dsn string, company uuid.UUID) func() {
		t.Helper()
		is := is.New(t)
		held, err := beside(t, dsn).BeginTx(t.Context(), nil)
		is.NoErr(err)
		_, err = held.ExecContext(t.Context(), "SELECT 1 FROM "+table+" WHERE company_id = $1 FOR UPDATE",
			company.String())
		is.NoErr(err)
		return func() { is.NoErr(held.Rollback()) }
	}
}

// holdGate keeps a company's gate closed over a store of its own until release is called.
func holdGate(t *testing.T, dsn string, company uuid.UUID) (release func()) {
	t.Helper()
	is := is.New(t)
	db := postgres(t, dsn, nil)
	inside, leave, left := make(chan struct{}), make(chan struct{}), make(chan error)
	go func() {
		left <- db.Update(context.WithoutCancel(t.Context()), func(ctx context.Context, tx driver.Tx) error {
			_, err := tx.Begin(ctx, driver.BeginOptions{Exclusive: []uuid.UUID{company}})
			if err == nil {
				close(inside)
				<-leave
			}
			return err
		})
	}()
	<-inside
	return func() {
		close(leave)
		is.NoErr(<-left)
	}
}

// TestRefusalsDespiteHeldLock checks that a checkout which has to be refused, or was made before, is answered while
// the wallets of its company are locked for long, although a checkout alone locks them with its first message.
func TestRefusalsDespiteHeldLock(t *testing.T) {
	t.Parallel()
	pgtest.NeedSingle(t)
	is := is.New(t)
	dsn := testdb.FreshDSN(t)
	shop := newShop(t, postgres(t, dsn, nil))
	event := shop.Event(t)
	shop.Inventory(t, event.ID, "VIP", 100_00, 1000)
	basket := ticketingtest.Basket(event.ID, "VIP", 100_00, 1)
	buy := func(key string, basket ticketing.CheckoutParams) (ticketing.Order, error) {
		return shop.Checkout(t.Context(), shop.Caller, key, basket)
	}
	for n := range 12 { // Until no other process is expected to sell for the company.
		_, err := buy(fmt.Sprintf("checkout-%d", n), basket)
		is.NoErr(err)
	}
	first, err := buy("checkout-0", basket)
	is.NoErr(err)
	cancelled := shop.Event(t)
	_, err = shop.CancelEvent(t.Context(), shop.Caller, cancelled.ID)
	is.NoErr(err)

	release := holdRows("ticketing_wallets")(t, dsn, shop.Company.ID)
	again, err := buy("checkout-0", basket)
	is.NoErr(err)
	is.Equal(show(t, again), show(t, first))
	_, err = buy("checkout-0", ticketingtest.Basket(event.ID, "VIP", 100_00, 2))
	is.Equal(code(err), ticketing.CodeConflict)
	_, err = buy("checkout-unknown", ticketingtest.Basket(uuid.New(), "VIP", 100_00, 1))
	is.Equal(code(err), ticketing.CodeNotFound)
	_, err = buy("checkout-cancelled", ticketingtest.Basket(cancelled.ID, "VIP", 100_00, 1))
	is.Equal(code(err), ticketing.CodeConflict)
	is.NoErr(second(shop.Staff.SuspendCompany(t.Context(), shop.Company.ID)))
	_, err = buy("checkout-suspended", basket)
	is.Equal(code(err), ticketing.CodePermissionDenied)
	release()
}

// TestHeldLockStopsNobodyElse checks that a lock of one company, held for longer than any call waits, delays no other
// company in its lane. While it is held, the other company buys one order after another, and calls that wait for it
// fail with ErrBusy. After its release they succeed.
func TestHeldLockStopsNobodyElse(t *testing.T) {
	t.Parallel()
	pgtest.NeedSingle(t)
	for _, test := range []struct {
		name string
		hold func(t *testing.T, dsn string, company uuid.UUID) (release func())
	}{
		{"gate", holdGate},
		{"stock", holdRows("ticketing_inventory_batches")},
		{"wallet", holdRows("ticketing_wallets")},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			dsn := testdb.FreshDSN(t)
			const busy = 2 * time.Second
			db := postgres(t, dsn, &store.Config{BusyTimeout: busy})
			shop := newShop(t, db)
			other := shop.Neighbour(t)
			baskets := map[*ticketingtest.Shop]ticketing.CheckoutParams{}
			for _, s := range []*ticketingtest.Shop{shop, other} {
				event := s.Event(t)
				s.Inventory(t, event.ID, "VIP", 100_00, 1000)
				baskets[s] = ticketingtest.Basket(event.ID, "VIP", 100_00, 1)
			}
			svc := service(t, shop, db, ticketing.Grouping{Lanes: 1})
			buy := func(s *ticketingtest.Shop, key string) error {
				_, err := svc.Checkout(t.Context(), s.Caller, key, baskets[s])
				return err
			}
			const orders = 20
			times := func(when string) time.Duration {
				var took []time.Duration
				for n := range orders {
					begun := time.Now()
					is.NoErr(buy(other, fmt.Sprintf("%s-order-%d", when, n)))
					took = append(took, time.Since(begun))
				}
				return slices.Max(took)
			}
			free := times("free")

			release := test.hold(t, dsn, shop.Company.ID)
			const waiting = 5
			answers := make(chan error, waiting)
			web := httpBuyFunc(t, svc, shop.APIKey)
			for n := range waiting {
				go func() {
					if n > 0 {
						answers <- buy(shop, fmt.Sprintf("held-order-%d", n))
						return
					}
					_, err := web(t.Context(), "held-order-0", baskets[shop])
					answers <- err
				}()
			}
			held := times("held")
			is.Equal(len(answers), 0) // The other company was served while these calls still waited.
			for range waiting {
				err := <-answers
				is.True(errors.Is(err, ticketing.ErrBusy) || errors.Is(err, errAway))
			}
			times("again")
			release()
			for n := range waiting {
				is.NoErr(buy(shop, fmt.Sprintf("held-order-%d", n)))
			}
			is.Equal(holdings(t, shop).Orders, waiting)
			t.Logf("the slowest of the others: %v, with the lock held %v", free, held)
			is.NoErr(svc.Drain(t.Context()))
			nothingOpen(t, dsn)
		})
	}
}

// TestFullPoolLetsOthersIn checks writes of one company that wait at its gate and far outnumber the connections. They
// finally fail with ErrBusy, and meanwhile another company's key is authenticated and due work is found.
func TestFullPoolLetsOthersIn(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	dsn := testdb.FreshDSN(t)
	const connections, reservedOfThree = 3, 2
	db := postgres(t, dsn, &store.Config{BusyTimeout: time.Second, Connections: connections})
	shop := newShop(t, db)
	other := shop.Neighbour(t)
	event := shop.Event(t)
	svc := service(t, shop, db, ticketing.Grouping{})
	// This stores the last use, which is not stored again within the minute.
	_, err := svc.Authenticate(t.Context(), other.APIKey)
	is.NoErr(err)
	update := func() error {
		_, err := svc.UpdateEvent(t.Context(), shop.Caller, event.ID, ticketing.UpdateEventParams{Title: of("Another")})
		return err
	}

	release := holdGate(t, dsn, shop.Company.ID)
	const writers = 16 * connections
	written := make(chan error, writers)
	for range writers {
		go func() { written <- update() }()
	}
	watch := beside(t, dsn)
	eventually(t, func() (full bool) {
		is.NoErr(watch.QueryRowContext(t.Context(), `SELECT count(*) >= $1 FROM pg_stat_activity
			WHERE wait_event_type = 'Lock' AND datname = current_database()`, connections-reservedOfThree).Scan(&full))
		return full
	})
	for range writers {
		_, err := svc.Authenticate(t.Context(), other.APIKey)
		is.NoErr(err)
		_, err = svc.EndEvents(t.Context())
		is.NoErr(err)
	}
	for range writers {
		is.True(errors.Is(<-written, ticketing.ErrBusy))
	}
	_, err = svc.Authenticate(t.Context(), other.APIKey)
	is.NoErr(err)
	release()
	is.NoErr(update())
	is.NoErr(svc.Drain(t.Context()))
	nothingOpen(t, dsn)
}
