package ticketing_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/ticketingtest"
)

// TestDrainWaitsForGroupWhoseCallerLeft checks that Drain waits for a running group whose caller has left, and refuses
// later calls. The order of the group is kept, and a retry with the same key returns it.
func TestDrainWaitsForGroupWhoseCallerLeft(t *testing.T) {
	t.Parallel()
	pgtest.NeedSingle(t)
	is := is.New(t)
	dsn := testdb.FreshDSN(t)
	db := postgres(t, dsn, nil)
	shop := newShop(t, db)
	event := shop.Event(t)
	shop.Inventory(t, event.ID, "VIP", 100_00, 10)
	basket := ticketingtest.Basket(event.ID, "VIP", 100_00, 1)
	svc := service(t, shop, db, ticketing.Grouping{})
	watch := beside(t, dsn)

	release := holdRows("ticketing_wallets")(t, dsn, shop.Company.ID)
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, err := svc.Checkout(ctx, shop.Caller, "order-left", basket)
		left <- err
	}()
	eventually(t, func() (waits bool) { // This is longer than a group waits: the call runs alone, and waits for the lock.
		is.NoErr(watch.QueryRowContext(t.Context(), `SELECT count(*) > 0 FROM pg_stat_activity
			WHERE wait_event_type = 'Lock' AND datname = current_database()
				AND clock_timestamp() - query_start > interval '200 ms'`).Scan(&waits))
		return waits
	})
	leave()
	is.True(errors.Is(<-left, context.Canceled))
	short, cancel := context.WithCancel(t.Context())
	cancel()
	is.True(errors.Is(svc.Drain(short), context.Canceled)) // The group is running.
	_, err := svc.Checkout(t.Context(), shop.Caller, "order-late", basket)
	is.True(errors.Is(err, ticketing.ErrBusy))
	drained := make(chan error)
	go func() { drained <- svc.Drain(t.Context()) }()
	release()
	is.NoErr(<-drained)

	is.Equal(holdings(t, shop).Orders, 1)
	_, err = shop.Checkout(t.Context(), shop.Caller, "order-left", basket)
	is.NoErr(err)
	is.Equal(holdings(t, shop).Orders, 1)
	nothingOpen(t, dsn)
}

// TestTimeEndsAtTheGate checks that a call whose deadline ends while it waits at a closed gate sells nothing and holds
// nothing, in a group and alone.
func TestTimeEndsAtTheGate(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		grouping ticketing.Grouping
	}{
		{"grouped", ticketing.Grouping{}},
		{"alone", ticketing.Grouping{Off: true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			dsn := testdb.FreshDSN(t)
			db := postgres(t, dsn, nil)
			shop := newShop(t, db)
			event := shop.Event(t)
			shop.Inventory(t, event.ID, "VIP", 100_00, 10)
			basket := ticketingtest.Basket(event.ID, "VIP", 100_00, 1)
			svc := service(t, shop, db, test.grouping)
			release := holdGate(t, dsn, shop.Company.ID)
			const short = 200 * time.Millisecond
			ctx, cancel := context.WithTimeout(t.Context(), short)
			defer cancel()
			_, err := svc.Checkout(ctx, shop.Caller, "order-left", basket)
			is.True(errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ticketing.ErrBusy))
			is.Equal(holdings(t, shop).Orders, 0)
			release()
			// The group may have continued without its caller. A retry with the same key returns its order.
			_, err = settle(func() (ticketing.Order, error) {
				return shop.Checkout(t.Context(), shop.Caller, "order-left", basket)
			})
			is.NoErr(err)
			is.NoErr(svc.Drain(t.Context()))
			is.Equal(holdings(t, shop).Orders, 1)
			nothingOpen(t, dsn)
		})
	}
}
