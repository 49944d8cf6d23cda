package main_test

import (
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/client"
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/money"
)

// Two servers on one PostgreSQL act as one. Scarce tickets are sold once. An idempotency key makes one order, and gets
// a 409 on one server while it is in flight on the other. The ledger has no gap. A revoked API key is refused by both
// at once.
func TestTwoServersAreOneShop(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	dsn := pgtest.Database(t)
	sh := newShell(t).with("TICKETING_DATABASE", dsn, "TICKETING_SECRET_KEY", strings.Repeat("MDEy", 16))
	shop := sh.openShop()
	_, first := sh.serve("--rate-limit", "0", "--log-level", "error")
	_, second := sh.serve("--rate-limit", "0", "--log-level", "error")
	servers := []*client.Client{shop.api(t, first), shop.api(t, second)}
	scarce := shop.basket()
	scarce.Lines[0].Tier, scarce.Lines[0].ExpectedUnitPrice = "VIP", 10_00
	_, err := servers[0].CreateInventory(t.Context(), scarce.EventID, "scarce-0001", ticketing.CreateInventoryParams{
		Tier: "VIP", Title: "Backstage", UnitPrice: 10_00, Currency: money.Currency, Quantity: 9,
		Status: ticketing.InventoryAvailable,
	})
	is.NoErr(err)

	// Every key goes to both servers at once.
	const keys = 24
	var all sync.WaitGroup
	var mu sync.Mutex
	orders := map[string]map[uuid.UUID]bool{}
	for n := range keys {
		key := fmt.Sprintf("rush-%04d", n)
		for _, server := range servers {
			all.Go(func() {
				order, err := server.Checkout(t.Context(), key, scarce)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err == nil:
					if orders[key] == nil {
						orders[key] = map[uuid.UUID]bool{}
					}
					orders[key][order.ID] = true
				case !errors.Is(err, ticketing.CodeConflict) && !errors.Is(err, ticketing.CodeInventoryUnavailable):
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
	is.Equal(len(orders), 9)
	for _, ids := range orders {
		is.Equal(len(ids), 1)
	}

	// While another session holds a lock on the table of buyers, the original call is in flight.
	db, err := sql.Open("pg", dsn)
	is.NoErr(err)
	defer db.Close()
	held, err := db.BeginTx(t.Context(), nil)
	is.NoErr(err)
	_, err = held.ExecContext(t.Context(), "LOCK TABLE ticketing_buyers IN SHARE MODE")
	is.NoErr(err)
	type result struct {
		order ticketing.Order
		err   error
	}
	done := make(chan result, 1)
	begin := func() {
		go func() {
			order, err := servers[0].Checkout(t.Context(), "flight-0001", shop.basket())
			done <- result{order, err}
		}()
	}
	begin()
	for {
		var waits bool
		is.NoErr(db.QueryRowContext(t.Context(), `SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted
			AND relation = 'ticketing_buyers'::regclass) FROM pg_sleep(0.005)`).Scan(&waits))
		if !waits {
			select {
			case ended := <-done: // It gave up, or the call below had the key when this one had released its locks.
				is.True(ended.err != nil)
				begin()
			default:
			}
			continue
		}
		_, err := servers[1].Checkout(t.Context(), "flight-0001", shop.basket())
		refused, answered := errors.AsType[*client.Error](err)
		is.True(answered)
		if refused.Status == http.StatusConflict {
			is.Equal(refused.Refusal.Code, ticketing.CodeConflict)
			is.Equal(refused.Refusal.Message, "Idempotent request is still processing")
			break
		}
		is.Equal(refused.Status, http.StatusServiceUnavailable) // The original had released its locks for a moment.
	}
	is.NoErr(held.Rollback())
	made := <-done
	is.NoErr(made.err)
	again, err := servers[1].Checkout(t.Context(), "flight-0001", shop.basket())
	is.NoErr(err)
	is.Equal(again, made.order)

	sh.object("key", "revoke", strings.Split(shop.key, ".")[1])
	for _, server := range servers {
		_, err := server.ListEvents(t.Context(), ticketing.EventFilter{})
		is.True(errors.Is(err, ticketing.CodeAuthenticationFailed))
	}
	is.Equal(sh.object("ledger", "verify")["ok"], true)
	// A debit for each order, besides the demo's credit and sale.
	is.Equal(len(sh.array("ledger", "list", shop.companyID, "--wallet", "FLOAT")), 9+1+2)
}

// Ten programs that start at once on an empty database migrate it once, and all succeed.
func TestTenProgramsMigrateAtOnce(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	sh := newShell(t).with("TICKETING_DATABASE", pgtest.Database(t), "TICKETING_SECRET_KEY", strings.Repeat("MDEy", 16))
	started := make([]*process, 10)
	for i := range started {
		started[i] = sh.start("migrate", "--json")
	}
	for _, p := range started {
		is.Equal(p.wait(), 0)
	}
	is.Equal(sh.run("company", "list").status, 0)
}
