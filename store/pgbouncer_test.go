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
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/store"
	"github.com/floatgate/ticketing/ticketingtest"
)

// throughPgBouncer is the name of a database of its own that is migrated, behind a PgBouncer in transaction mode that has
// fewer sessions than a store has connections, so that nothing that a session keeps is there for the next transaction.
func throughPgBouncer(tb testing.TB) string {
	tb.Helper()
	return pgtest.PgBouncer(tb, testdb.DSN(tb), "default_pool_size=6")
}

// The store keeps every promise of the contract behind PgBouncer, too.
func TestStoreBehindPgBouncer(t *testing.T) {
	t.Parallel()
	variant(t, func(t *testing.T) ticketing.Store {
		t.Helper()
		return testdb.Open(t, throughPgBouncer(t), &store.Config{Connections: 12})
	})
}

// A database that dies behind PgBouncer in the middle of a transaction, and comes back, costs another run, whatever the
// driver: some show what PgBouncer says of it, some only that the connection ended.
func TestServerDiesBehindPgBouncer(t *testing.T) {
	t.Parallel()
	for name, driver := range drivers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			server := pgtest.Start(t)
			s := openPool(t, driver(t, pgtest.PgBouncer(t, server.DSN("postgres"))))
			is.NoErr(s.Migrate(t.Context()))
			furnish(t, s)
			runs := 0
			is.NoErr(s.Update(t.Context(), func(ctx context.Context, tx ticketing.Tx) error {
				runs++
				_, err := tx.Enter(ctx, ticketing.Entrance{Share: []uuid.UUID{company}, Claim: claim("behind")})
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

// A store migrates through PgBouncer, several at once as well as one.
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

// Two processes sell one tier out through PgBouncer, each key sent to both at the same time: every key has one outcome,
// no more is sold than there is, and nothing less.
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
			case errors.Is(err, ticketing.CodeConflict), errors.Is(err, ticketing.ErrBusy):
				// The other process has the key, or a lock was not had in time.
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
		// No session still holds the key for somebody who has gone: all are answered at once.
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
