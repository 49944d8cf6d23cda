package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/store"
	"github.com/floatgate/ticketing/ticketingtest"
)

// throughPgBouncer returns the URL of a migrated database of its own, through a PgBouncer in transaction mode. The pool
// has fewer sessions than a store has connections, so that a transaction cannot rely on the state of its session.
func throughPgBouncer(tb testing.TB) string {
	tb.Helper()
	return pgtest.PgBouncer(tb, testdb.DSN(tb), "default_pool_size=6")
}

// TestStoreBehindPgBouncer checks that the store keeps every promise of the contract through PgBouncer.
func TestStoreBehindPgBouncer(t *testing.T) {
	t.Parallel()
	variant(t, func(t *testing.T) driver.Store {
		t.Helper()
		return testdb.Open(t, throughPgBouncer(t), &store.Config{Connections: 12})
	})
}

// TestServerDiesBehindPgBouncer checks that a database that crashes in the middle of a transaction through PgBouncer,
// and comes back, costs another run. Some drivers return PgBouncer's error, others only that the connection ended.
func TestServerDiesBehindPgBouncer(t *testing.T) {
	t.Parallel()
	for name, connect := range drivers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			server := pgtest.Start(t)
			s := openPool(t, connect(t, pgtest.PgBouncer(t, server.DSN("postgres"))))
			is.NoErr(s.Migrate(t.Context()))
			furnish(t, s)
			runs := 0
			is.NoErr(s.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
				runs++
				_, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{company}, Keys: claim("behind")})
				if err != nil {
					return err
				}
				if runs == 1 {
					server.Kill()
					server.Restart()
				}
				if _, err := tx.LockWallets(ctx, wallets(ledger.Float)); err != nil {
					return err
				}
				return tx.AppendSecretName(ctx, "kept", minute(0))
			}))
			is.True(runs > 1)
			is.Equal(names(t, s), []string{"kept"})
		})
	}
}

// TestMigrateBehindPgBouncer checks that several stores can migrate through PgBouncer at once.
func TestMigrateBehindPgBouncer(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	dsn := pgtest.PgBouncer(t, pgtest.Database(t), "default_pool_size=2")
	const starters = 4
	errs := make([]error, starters)
	var all sync.WaitGroup
	for i := range starters {
		s := testdb.Open(t, dsn, nil)
		all.Go(func() { errs[i] = s.Migrate(t.Context()) })
	}
	all.Wait()
	for _, err := range errs {
		is.NoErr(err)
	}
}

// TestRushBehindPgBouncer checks that two processes sell out one tier through PgBouncer, with each key sent to both at
// the same time. Every key has one outcome, and exactly the stock is sold.
func TestRushBehindPgBouncer(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	dsn := throughPgBouncer(t)
	shop := ticketingtest.New(t, &ticketingtest.Config{Store: testdb.Open(t, dsn, &store.Config{Connections: 12})})
	other, err := ticketing.New(testdb.Open(t, dsn, &store.Config{Connections: 12}), &ticketing.Config{
		SecretKeys: [][]byte{bytes.Repeat([]byte("k"), 32)}, Clock: shop.Clock.Now,
	})
	is.NoErr(err)
	event := shop.Event(t)
	const stock, buyers, price = 30, 50, 5000_00
	shop.Inventory(t, event.ID, "VIP", price, stock)

	buy := func(ctx context.Context, svc *ticketing.Service, key string) (string, error) {
		for {
			order, err := svc.Checkout(ctx, shop.Caller, key, ticketingtest.Basket(event.ID, "VIP", price, 1))
			switch {
			case errors.Is(err, ticketing.CodeInventoryUnavailable):
				return "", nil
			case errors.Is(err, ticketing.CodeConflict), errors.Is(err, driver.ErrBusy):
				// The other process has the key, or a lock was not acquired in time.
				select {
				case <-ctx.Done():
					return "", ctx.Err()
				case <-time.After(time.Millisecond):
				}
			default:
				return order.ID.String(), err
			}
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var orders [buyers][2]string
	var errs [buyers][2]error
	var all sync.WaitGroup
	for i := range buyers {
		for j, svc := range []*ticketing.Service{shop.Service, other} {
			all.Go(func() { orders[i][j], errs[i][j] = buy(ctx, svc, fmt.Sprintf("cart-%04d", i)) })
		}
	}
	all.Wait()
	sold := 0
	for i := range buyers {
		is.NoErr(errors.Join(errs[i][0], errs[i][1]))
		is.Equal(orders[i][0], orders[i][1])
		// No session still holds the key of a call that has ended: every call returns at once.
		again, err := other.Checkout(ctx, shop.Caller, fmt.Sprintf("cart-%04d", i),
			ticketingtest.Basket(event.ID, "VIP", price, 1))
		if orders[i][0] == "" {
			is.True(errors.Is(err, ticketing.CodeInventoryUnavailable))
			continue
		}
		is.NoErr(err)
		is.Equal(again.ID.String(), orders[i][0])
		sold++
	}
	is.Equal(sold, stock)
}
