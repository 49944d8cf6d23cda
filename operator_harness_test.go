package ticketing_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/race"
	"github.com/floatgate/ticketing/internal/search"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/store/memory"
	"github.com/floatgate/ticketing/store/storetest"
)

// stores are those that the rules of the service are tested on. With -short they are memory and SQLite.
func stores() []testdb.Store {
	all := []testdb.Store{{Name: "memory", Open: func(testing.TB) ticketing.Store { return memory.New() }}}
	if !testing.Short() {
		rerun := func(testing.TB) ticketing.Store { return storetest.Rerun(memory.New()) }
		all = append(all, testdb.Store{Name: "rerun", Open: rerun})
	}
	return append(all, testdb.Stores()...)
}

// desk is a service on an empty store, a clock that stands still, and staff that may do everything.
type desk struct {
	*ticketing.Service

	store ticketing.Store
	clock *standingClock
	staff ticketing.Operator
	log   *strings.Builder
	// broken says that the books are meant to be wrong.
	broken bool
}

// storesFor are the stores that a test runs on. They are memory, SQLite and PostgreSQL. One test in six runs on the
// partitioned tables as well, and one row in four of a table on those instead of the plain ones, unless tests search
// everywhere. Under the race detector a row, in which nobody acts beside the test, runs in memory: what stores do at once
// is seen by whole tests.
func storesFor(t *testing.T) []testdb.Store {
	t.Helper()
	row := strings.Contains(t.Name(), "/")
	if race.Enabled && row {
		return stores()[:1]
	}
	left := "partitioned"
	switch {
	case search.Everywhere(), !row && search.Turn(t.Name(), 6) == 0:
		left = ""
	case row && search.Turn(t.Name(), 4) == 0:
		left = "postgres"
	}
	return slices.DeleteFunc(stores(), func(store testdb.Store) bool { return store.Name == left })
}

// onDesks runs a test on an empty desk for each store, and looks at the books when it ends.
func onDesks(t *testing.T, test func(t *testing.T, d *desk)) {
	t.Helper()
	for _, store := range storesFor(t) {
		t.Run(store.Name, func(t *testing.T) {
			t.Parallel()
			test(t, newDesk(t, store.Open(t)))
		})
	}
}

func newDesk(tb testing.TB, store ticketing.Store) *desk {
	tb.Helper()
	d := &desk{store: store, clock: &standingClock{at: opening}, log: new(strings.Builder)}
	d.Service = d.service(tb, secretKey('a'))
	d.staff = d.As(ticketing.Staff("test"))
	tb.Cleanup(func() {
		if d.broken {
			return
		}
		report, err := d.staff.VerifyLedger(context.WithoutCancel(tb.Context()), uuid.Nil)
		if err != nil || !report.OK {
			tb.Errorf("the books are wrong at the end: %v %v", report, err)
		}
	})
	return d
}

// service is another service on the same store.
func (d *desk) service(tb testing.TB, keys ...[]byte) *ticketing.Service {
	tb.Helper()
	svc, err := ticketing.New(d.store, &ticketing.Config{
		SecretKeys: keys, Clock: d.clock.now, Logger: slog.New(slog.NewTextHandler(d.log, nil)),
	})
	is.New(tb).NoErr(err)
	return svc
}

func secretKey(fill byte) []byte {
	return []byte(strings.Repeat(string(rune(fill)), 32))
}

// unverified is a new company.
func (d *desk) unverified(tb testing.TB) uuid.UUID {
	tb.Helper()
	company, err := d.staff.CreateCompany(tb.Context(), "Adire Concerts")
	is.New(tb).NoErr(err)
	return company.ID
}

// verified is a new company that is approved.
func (d *desk) verified(tb testing.TB) uuid.UUID {
	tb.Helper()
	id := d.unverified(tb)
	_, err := d.staff.ApproveVerification(tb.Context(), id, time.Time{})
	is.New(tb).NoErr(err)
	return id
}

func (d *desk) credit(tb testing.TB, companyID uuid.UUID, amount money.Amount, reference string) ticketing.FloatCredit {
	tb.Helper()
	credit, err := d.staff.CreditFloat(tb.Context(), companyID, amount, reference)
	is.New(tb).NoErr(err)
	return credit
}

func (d *desk) issue(tb testing.TB, companyID uuid.UUID) ticketing.IssuedAPIKey {
	tb.Helper()
	key, err := d.staff.IssueAPIKey(tb.Context(), companyID, "gate", []ticketing.Grant{ticketing.GrantTicketValidate})
	is.New(tb).NoErr(err)
	return key
}

// write runs fn in an Update that has the company to itself.
func (d *desk) write(tb testing.TB, companyID uuid.UUID, fn func(ctx context.Context, tx ticketing.Tx) error) {
	tb.Helper()
	is.New(tb).NoErr(d.store.Update(tb.Context(), func(ctx context.Context, tx ticketing.Tx) error {
		if _, err := tx.Enter(ctx, ticketing.Entrance{Close: []uuid.UUID{companyID}}); err != nil {
			return err
		}
		return fn(ctx, tx)
	}))
}

// opening is when the clock of every desk begins.
var opening = time.Date(2026, time.November, 21, 9, 30, 0, 0, time.UTC)

type standingClock struct {
	mu sync.Mutex
	at time.Time
}

func (c *standingClock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *standingClock) advance(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(by)
}

// code is the contract's code of an error, empty for none, and the error's text for any other.
func code(err error) ticketing.Code {
	var refusal *ticketing.Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &refusal):
		return refusal.Code
	default:
		return ticketing.Code("not of the contract: " + err.Error())
	}
}

// said is what a refusal tells: its violations, or its message where it has none.
func said(err error) string {
	var refusal *ticketing.Error
	if !errors.As(err, &refusal) {
		return ""
	}
	if len(refusal.Violations) == 0 {
		return refusal.Message
	}
	texts := make([]string, len(refusal.Violations))
	for i, violation := range refusal.Violations {
		texts[i] = violation.Message
	}
	return strings.Join(texts, "; ")
}

func of[T any](value T) *T { return new(value) }
