package ticketing_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/race"
	"github.com/floatgate/ticketing/internal/search"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/store"
	"github.com/floatgate/ticketing/ticketingtest"
)

// victim names the environment variable that starts a process which kills itself. Its value has the number of the
// mutation, its repetition, the statement after which the process ends, the company, the event and the database.
const victim = "TICKETING_TEST_VICTIM"

// TestVictim is the process that kills itself. Without the variable it does nothing.
func TestVictim(t *testing.T) { //nolint:paralleltest // It is alone in its process.
	order := os.Getenv(victim)
	if order == "" {
		return
	}
	var number, n, last int
	var dsn, company, event string
	if _, err := fmt.Sscan(order, &number, &n, &last, &company, &event, &dsn); err != nil {
		t.Fatal(err)
	}
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	said := 0
	db := testdb.Open(t, dsn, &store.Config{OnStatement: func(context.Context, store.Statement) {
		if said++; said == last {
			_ = self.Kill()
			select {} // The process does nothing more.
		}
	}})
	svc, err := ticketing.New(db, &ticketing.Config{SecretKeys: [][]byte{secretKey('k')}})
	if err != nil {
		t.Fatal(err)
	}
	f := newFixture(svc, uuid.MustParse(company), uuid.MustParse(event))
	f.hosts, f.store = bun.NewDB(testdb.Pool(t, dsn), sqlitedialect.New()), db
	if err := mortal()[number].do(t.Context(), f, n); err != nil {
		t.Fatal(err)
	}
	fmt.Println("it lived")
}

// TestKilledAnywhere checks that a process that is killed between any two statements of a change leaves all of the
// change or nothing, and books in order. The next process can make the change.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	withProcesses(t)
	// Unless tests search everywhere, changes take turns: one begins at another statement than the next, and goes on at
	// another distance from it.
	next := func(number, n int) int {
		switch {
		case search.Everywhere():
			return n + 1
		case n == 0:
			return 1 + number%3
		case n <= 3:
			return n + 3 + 3*(number/3%2)
		}
		return n + 6
	}
	numbers := make([]int, len(mortal()))
	for number := range numbers {
		numbers[number] = number
	}
	for _, number := range search.Every(1, 0, numbers) {
		mutation := mortal()[number]
		t.Run(mutation.name, func(t *testing.T) {
			t.Parallel()
			if search.Over() {
				return
			}
			is := is.New(t)
			dsn := testdb.SQLiteDSN(t)
			db := testdb.Open(t, dsn, nil)
			shop := newShop(t, db)
			f := openFixture(t, shop)
			f.hosts, f.store = bun.NewDB(testdb.Pool(t, dsn), sqlitedialect.New()), db
			_, err := f.hosts.ExecContext(t.Context(), "CREATE TABLE bookings (name TEXT PRIMARY KEY)")
			is.NoErr(err)
			undone, done := 0, 0
			for n, lived := next(number, 0), false; !lived; n = next(number, n) {
				is.NoErr(mutation.prepare(t.Context(), f, n))
				lived = kill(t, fmt.Sprintln(number, n, n, f.company, f.event, dsn))
				made, err := mutation.made(t.Context(), f, n)
				is.NoErr(err)
				report, err := f.staff.VerifyLedger(t.Context(), uuid.Nil)
				is.NoErr(err)
				is.True(report.OK)
				if !made {
					undone++
					is.True(!lived)
					is.NoErr(mutation.do(t.Context(), f, n))
					made, err = mutation.made(t.Context(), f, n)
					is.NoErr(err)
					is.True(made)
				} else {
					done++
				}
				is.NoErr(mutation.finish(t.Context(), f, n))
			}
			is.True(undone > 0) // It was killed before a commit,
			is.True(done > 0)   // and finally it ended by itself.
		})
	}
}

// withProcesses skips a test that kills processes, one at a time, in runs that leave such tests out.
func withProcesses(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short leaves processes out")
	}
	race.Leave(t, "what one process does alone")
}

// kill runs the process that kills itself, and reports whether it survived.
func kill(t *testing.T, order string) bool {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestVictim$", "-test.v")
	cmd.Env = append(os.Environ(), victim+"="+order)
	told, err := cmd.CombinedOutput()
	if err == nil {
		return true
	}
	if ended, ok := errors.AsType[*exec.ExitError](err); !ok || ended.Exited() {
		t.Fatalf("the victim died of something else: %v\n%s", err, told)
	}
	return false
}

// mortal returns all changes during which a process may die: mutations, calls with an idempotency key, and sales in a
// host's transaction.
func mortal() []mutation {
	return append(mutations(),
		mutation{
			name: "sell",
			do: func(ctx context.Context, f fixture, n int) error {
				_, err := f.svc.Checkout(ctx, f.caller, f.key(n), ticketingtest.Basket(f.event, "VIP", 100_00, 1))
				return err
			},
			made: saleMade,
		},
		mutation{
			name: "sell in the host's transaction",
			do: func(ctx context.Context, f fixture, n int) error {
				return f.hosts.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
					bound, err := testdb.Host{WithoutBun: n%2 == 1}.Bind(ctx, f.store, tx)
					if err != nil {
						return err
					}
					if err := book(ctx, tx, f.key(n)); err != nil {
						return err
					}
					_, err = f.svc.WithStore(bound).Checkout(ctx, f.caller, f.key(n),
						ticketingtest.Basket(f.event, "VIP", 100_00, 1))
					return err
				})
			},
			made: func(ctx context.Context, f fixture, n int) (bool, error) {
				booked, err := f.hosts.NewSelect().Table("bookings").Where("name = ?", f.key(n)).Exists(ctx)
				if err != nil {
					return false, err
				}
				made, err := saleMade(ctx, f, n)
				if err == nil && made != booked {
					err = errHalfDone
				}
				return made, err
			},
		},
		mutation{
			name: "rebuild the sums of sales",
			ready: func(ctx context.Context, f fixture, n int) error {
				_, err := f.svc.Checkout(ctx, f.caller, f.key(n), ticketingtest.Basket(f.event, "VIP", 100_00, 1))
				if err != nil {
					return err
				}
				svc, err := ticketing.New(f.store, &ticketing.Config{
					SecretKeys: [][]byte{secretKey('k')}, Sender: new(everyOther),
				})
				if err != nil {
					return err
				}
				if _, err := svc.SendWebhooks(ctx); err != nil {
					return err
				}
				// Sums are left over, so the rebuild has some to remove.
				return f.store.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
					if _, err := tx.Begin(ctx, driver.BeginOptions{Exclusive: []uuid.UUID{f.company}}); err != nil {
						return err
					}
					return tx.PutSalesProgress(ctx, driver.SalesProgress{CompanyID: f.company, Uncounted: driver.SalesReset})
				})
			},
			do: func(ctx context.Context, f fixture, _ int) error {
				_, err := f.svc.As(ticketing.Staff("test")).RebuildSales(ctx, f.company)
				return err
			},
			made: func(ctx context.Context, f fixture, _ int) (made bool, err error) {
				err = f.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
					progress, err := tx.SalesProgress(ctx, []uuid.UUID{f.company})
					made = err == nil && progress[0].Uncounted == 0
					return err
				})
				return made, err
			},
		},
		mutation{
			name: "validate",
			ready: func(ctx context.Context, f fixture, n int) error {
				_, err := f.svc.Checkout(ctx, f.caller, f.key(n), ticketingtest.Basket(f.event, "VIP", 100_00, 1))
				return err
			},
			do: func(ctx context.Context, f fixture, n int) error {
				orders, err := f.svc.ListOrders(ctx, f.caller, ticketing.OrderFilter{})
				if err == nil {
					_, err = f.svc.ValidateAdmission(ctx, f.caller, f.event, orders.Items[0].Lines[0].AdmissionID, f.key(n),
						ticketing.ValidateParams{})
				}
				return err
			},
			made: func(ctx context.Context, f fixture, n int) (bool, error) {
				return f.spent(ctx, "admissions.validate", f.key(n))
			},
		},
		mutation{
			name: "add inventory",
			do: func(ctx context.Context, f fixture, n int) error {
				_, err := f.svc.CreateInventory(ctx, f.caller, f.event, f.key(n),
					ticketingtest.InventoryParams("REGULAR", 1_00, 7))
				return err
			},
			made: func(ctx context.Context, f fixture, n int) (bool, error) {
				return f.spent(ctx, "inventory.create", f.key(n))
			},
		},
		mutation{
			name: "create an event",
			do: func(ctx context.Context, f fixture, n int) error {
				_, err := f.svc.CreateEvent(ctx, f.caller, f.key(n), ticketingtest.EventParams())
				return err
			},
			made: func(ctx context.Context, f fixture, n int) (bool, error) {
				return f.spent(ctx, "events.create", f.key(n))
			},
		},
	)
}

func (f fixture) key(n int) string { return "number-" + strconv.Itoa(1000+n) }

func saleMade(ctx context.Context, f fixture, n int) (bool, error) {
	return f.spent(ctx, "checkouts.create", f.key(n))
}

// spent reports whether a key has a result. The verification of the books checks what the result stands for.
func (f fixture) spent(ctx context.Context, operation, key string) (spent bool, err error) {
	err = f.store.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{f.company}}); err != nil {
			return err
		}
		results, err := tx.Results(ctx, []driver.IdempotencyKey{{CompanyID: f.company, Operation: operation, Key: key}})
		spent = err == nil && results[0].Digest != ""
		return err
	})
	return spent, err
}
