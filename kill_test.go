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
	"github.com/floatgate/ticketing/internal/race"
	"github.com/floatgate/ticketing/internal/search"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/store"
	"github.com/floatgate/ticketing/ticketingtest"
)

// victim names what a process of this test is to do before it kills itself: the deed, its number, the statement after
// which it ends, the database, the company and the event.
const victim = "TICKETING_TEST_VICTIM"

// TestVictim is a process that is killed. Elsewhere it does nothing.
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
			select {} // Nothing more of this process is seen.
		}
	}})
	svc, err := ticketing.New(db, &ticketing.Config{SecretKeys: [][]byte{secretKey('k')}})
	if err != nil {
		t.Fatal(err)
	}
	o := newOffice(svc, uuid.MustParse(company), uuid.MustParse(event))
	o.hosts, o.store = bun.NewDB(testdb.Pool(t, dsn), sqlitedialect.New()), db
	if err := mortal()[number].do(t.Context(), o, n); err != nil {
		t.Fatal(err)
	}
	fmt.Println("it lived")
}

// A process that is killed between whichever two statements of a change leaves all of it or nothing, and clean books;
// and the change can be made by the next.
func TestKilledAnywhere(t *testing.T) {
	t.Parallel()
	withProcesses(t)
	step := 3 // Each change has another first statement.
	if search.Everywhere() {
		step = 1
	}
	numbers := make([]int, len(mortal()))
	for number := range numbers {
		numbers[number] = number
	}
	for _, number := range search.Every(1, 0, numbers) {
		deed := mortal()[number]
		t.Run(deed.name, func(t *testing.T) {
			t.Parallel()
			if search.Over() {
				return
			}
			is := is.New(t)
			dsn := testdb.SQLiteDSN(t)
			db := testdb.Open(t, dsn, nil)
			shop := newShop(t, db)
			o := openOffice(t, shop)
			o.hosts, o.store = bun.NewDB(testdb.Pool(t, dsn), sqlitedialect.New()), db
			_, err := o.hosts.ExecContext(t.Context(), "CREATE TABLE bookings (name TEXT PRIMARY KEY)")
			is.NoErr(err)
			undone, done := 0, 0
			for n, lived := 1+number%step, false; !lived; n += step {
				is.NoErr(deed.prepare(t.Context(), o, n))
				lived = kill(t, fmt.Sprintln(number, n, n, o.company, o.event, dsn))
				made, err := deed.made(t.Context(), o, n)
				is.NoErr(err)
				report, err := o.staff.VerifyLedger(t.Context(), uuid.Nil)
				is.NoErr(err)
				is.True(report.OK)
				if !made {
					undone++
					is.True(!lived)
					is.NoErr(deed.do(t.Context(), o, n))
					made, err = deed.made(t.Context(), o, n)
					is.NoErr(err)
					is.True(made)
				} else {
					done++
				}
				is.NoErr(deed.finish(t.Context(), o, n))
			}
			is.True(undone > 0) // It was killed before the commit,
			is.True(done > 0)   // and at last it lived.
		})
	}
}

// withProcesses skips a test that kills processes, one at a time, where these are left out.
func withProcesses(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short leaves processes out")
	}
	race.Leave(t, "what one process does alone")
}

// kill runs a victim, and tells whether it lived.
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

// mortal are all changes that a process may die in: deeds, calls with a key, and sales in a transaction of a host's.
func mortal() []deed {
	return append(deeds(),
		deed{
			name: "sell",
			do: func(ctx context.Context, o office, n int) error {
				_, err := o.svc.Checkout(ctx, o.caller, o.key(n), ticketingtest.Basket(o.event, "VIP", 100_00, 1))
				return err
			},
			made: saleMade,
		},
		deed{
			name: "sell in the host's transaction",
			do: func(ctx context.Context, o office, n int) error {
				return o.hosts.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
					bound, err := o.store.Bind(ctx, tx)
					if err != nil {
						return err
					}
					if err := book(ctx, tx, o.key(n)); err != nil {
						return err
					}
					_, err = o.svc.WithStore(bound).Checkout(ctx, o.caller, o.key(n),
						ticketingtest.Basket(o.event, "VIP", 100_00, 1))
					return err
				})
			},
			made: func(ctx context.Context, o office, n int) (bool, error) {
				booked, err := o.hosts.NewSelect().Table("bookings").Where("name = ?", o.key(n)).Exists(ctx)
				if err != nil {
					return false, err
				}
				made, err := saleMade(ctx, o, n)
				if err == nil && made != booked {
					err = errHalfDone
				}
				return made, err
			},
		},
		deed{
			name: "validate",
			ready: func(ctx context.Context, o office, n int) error {
				_, err := o.svc.Checkout(ctx, o.caller, o.key(n), ticketingtest.Basket(o.event, "VIP", 100_00, 1))
				return err
			},
			do: func(ctx context.Context, o office, n int) error {
				orders, err := o.svc.ListOrders(ctx, o.caller, ticketing.OrderFilter{})
				if err == nil {
					_, err = o.svc.ValidateAdmission(ctx, o.caller, o.event, orders.Items[0].Lines[0].AdmissionID, o.key(n),
						ticketing.ValidateParams{})
				}
				return err
			},
			made: func(ctx context.Context, o office, n int) (bool, error) {
				return o.spent(ctx, "admissions.validate", o.key(n))
			},
		},
		deed{
			name: "add inventory",
			do: func(ctx context.Context, o office, n int) error {
				_, err := o.svc.CreateInventory(ctx, o.caller, o.event, o.key(n),
					ticketingtest.InventoryParams("REGULAR", 1_00, 7))
				return err
			},
			made: func(ctx context.Context, o office, n int) (bool, error) {
				return o.spent(ctx, "inventory.create", o.key(n))
			},
		},
		deed{
			name: "create an event",
			do: func(ctx context.Context, o office, n int) error {
				_, err := o.svc.CreateEvent(ctx, o.caller, o.key(n), ticketingtest.EventParams())
				return err
			},
			made: func(ctx context.Context, o office, n int) (bool, error) {
				return o.spent(ctx, "events.create", o.key(n))
			},
		},
	)
}

func (o office) key(n int) string { return "number-" + strconv.Itoa(1000+n) }

func saleMade(ctx context.Context, o office, n int) (bool, error) {
	return o.spent(ctx, "checkouts.create", o.key(n))
}

// spent tells whether a key has a result. What it stands for, the books prove.
func (o office) spent(ctx context.Context, operation, key string) (spent bool, err error) {
	err = o.store.Update(ctx, func(ctx context.Context, tx ticketing.Tx) error {
		if _, err := tx.Enter(ctx, ticketing.Entrance{Share: []uuid.UUID{o.company}}); err != nil {
			return err
		}
		results, err := tx.Results(ctx, []ticketing.ResultRef{{CompanyID: o.company, Operation: operation, Key: key}})
		spent = err == nil && results[0].Digest != ""
		return err
	})
	return spent, err
}
