package main_test

import (
	"database/sql"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/pgtest"
)

// Two servers on one PostgreSQL are one shop: scarce tickets are sold once, a key makes one order and is 409 in the one
// while it is in flight in the other, the ledger has no gap, and a key that is revoked is nobody's in both at once.
func TestTwoServersAreOneShop(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	dsn := pgtest.Database(t)
	sh := newShell(t).with("TICKETING_DATABASE", dsn, "TICKETING_SECRET_KEY", strings.Repeat("MDEy", 16))
	shop := sh.openShop()
	_, first := sh.serve("--rate-limit", "0", "--log-level", "error")
	_, second := sh.serve("--rate-limit", "0", "--log-level", "error")
	origins := []string{first + prefix, second + prefix}
	status, _ := send(t, http.MethodPost, origins[0]+"/events/"+shop.eventID+"/inventory", shop.key, "scarce-0001",
		`{"tier":"VIP","title":"Backstage","unitPrice":"10.00","currency":"NGN","isFree":false,"quantity":9,"status":"AVAILABLE"}`)
	is.Equal(status, http.StatusCreated)
	scarce := strings.NewReplacer("GENERAL_ADMISSION", "VIP", "5000.00", "10.00").Replace(shop.checkout())

	// Every key goes to both at once.
	const keys = 24
	var all sync.WaitGroup
	var mu sync.Mutex
	orders := map[string]map[string]bool{}
	for n := range keys {
		key := fmt.Sprintf("rush-%04d", n)
		for _, origin := range origins {
			all.Go(func() {
				status, body, err := try(t.Context(), http.MethodPost, origin+"/checkouts", shop.key, key, scarce)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err != nil:
					t.Error(err)
				case status == http.StatusCreated:
					if orders[key] == nil {
						orders[key] = map[string]bool{}
					}
					orders[key][orderID(t, body)] = true
				case status != http.StatusConflict:
					t.Errorf("%d %s", status, body)
				}
			})
		}
	}
	all.Wait()
	is.Equal(len(orders), 9)
	for _, ids := range orders {
		is.Equal(len(ids), 1)
	}

	// While somebody holds the wallets, an original is in flight.
	db, err := sql.Open("pg", dsn)
	is.NoErr(err)
	defer db.Close()
	held, err := db.BeginTx(t.Context(), nil)
	is.NoErr(err)
	_, err = held.ExecContext(t.Context(), "LOCK TABLE ticketing_buyers IN SHARE MODE")
	is.NoErr(err)
	done := make(chan string, 1)
	go func() {
		_, body, err := try(t.Context(), http.MethodPost, origins[0]+"/checkouts", shop.key, "flight-0001", shop.checkout())
		if err != nil {
			body = err.Error()
		}
		done <- body
	}()
	for {
		var waits bool
		is.NoErr(db.QueryRowContext(t.Context(), `SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted
			AND relation = 'ticketing_buyers'::regclass) FROM pg_sleep(0.005)`).Scan(&waits))
		if !waits {
			continue
		}
		status, body := send(t, http.MethodPost, origins[1]+"/checkouts", shop.key, "flight-0001", shop.checkout())
		if status == http.StatusConflict {
			is.True(strings.Contains(body, "Idempotent request is still processing"))
			break
		}
		is.Equal(status, http.StatusServiceUnavailable) // The original had given its locks up for a moment.
	}
	is.NoErr(held.Rollback())
	made := orderID(t, <-done)
	status, body := send(t, http.MethodPost, origins[1]+"/checkouts", shop.key, "flight-0001", shop.checkout())
	is.Equal(status, http.StatusCreated)
	is.Equal(orderID(t, body), made)

	sh.object("key", "revoke", strings.Split(shop.key, ".")[1])
	for _, origin := range origins {
		status, _ := send(t, http.MethodGet, origin+"/events", shop.key, "", "")
		is.Equal(status, http.StatusUnauthorized)
	}
	is.Equal(sh.object("ledger", "verify")["ok"], true)
	// A debit for each order, beside the credit and the sale of the demo.
	is.Equal(len(sh.array("ledger", "list", shop.companyID, "--wallet", "FLOAT")), 9+1+2)
}

// Ten programs that begin on an empty database migrate it once, and all go on.
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
