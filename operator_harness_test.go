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
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/race"
	"github.com/floatgate/ticketing/internal/search"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/store/memory"
	"github.com/floatgate/ticketing/store/storetest"
)

// stores returns the stores on which the rules of the service are tested. With -short these are memory and SQLite.
func stores() []testdb.Store { return append(inMemory(), testdb.Stores()...) }

func inMemory() []testdb.Store {
	all := []testdb.Store{{Name: "memory", Open: func(testing.TB) driver.Store { return memory.New() }}}
	if !testing.Short() {
		rerun := func(testing.TB) driver.Store { return storetest.Rerun(memory.New()) }
		all = append(all, testdb.Store{Name: "rerun", Open: rerun})
	}
	return all
}

// env is a test environment: a service on an empty store, a clock that stands still, and staff with all permissions.
type env struct {
	*ticketing.Service

	store driver.Store
	clock *standingClock
	staff ticketing.Operator
	log   *strings.Builder
	// broken reports whether the books are wrong on purpose.
	broken bool
}

// storesFor returns the stores that a test runs on: memory, memory whose transactions all run again, SQLite and
// PostgreSQL. One test in six also runs on the partitioned tables. A row of a table test runs in memory, where its
// transactions run again, and on one of the SQL stores, as its name chooses: four rows in eight on SQLite, three on
// PostgreSQL and one on partitioned tables. If tests search everywhere, all run on all.
//
// With -short a row runs in memory only. It does so under the race detector, too, since nothing runs concurrently with
// it. There a test without rows runs in memory and on one SQL store: many such tests run the same code of each store.
// It is SQLite for one test in eight, since the detector makes that ten times slower.
func storesFor(t *testing.T) []testdb.Store {
	t.Helper()
	row := strings.Contains(t.Name(), "/")
	tables := testdb.Stores()
	turns := []int{0, 0, 0, 0, 1, 1, 1, 2}
	if race.Enabled {
		turns = []int{0, 1, 1, 1, 1, 1, 1, 2}
	}
	chosen := turns[search.Turn(t.Name(), 8)]
	table := tables[min(chosen, len(tables)-1)] // With -short there is SQLite only.
	switch {
	case search.Everywhere():
		return stores()
	case row && (race.Enabled || testing.Short()):
		return stores()[:1]
	case race.Enabled:
		return append(stores()[:1:1], table)
	case row:
		return append(stores()[1:2:2], table)
	case search.Turn(t.Name(), 6) == 0:
		return stores()
	}
	return slices.DeleteFunc(stores(), func(store testdb.Store) bool { return store.Name == "partitioned" })
}

// onEnvs runs a test in an empty test environment on each store, and verifies the books when the test ends.
func onEnvs(t *testing.T, test func(t *testing.T, e *env)) {
	t.Helper()
	for _, store := range storesFor(t) {
		t.Run(store.Name, func(t *testing.T) {
			t.Parallel()
			test(t, newEnv(t, store.Open(t)))
		})
	}
}

func newEnv(tb testing.TB, store driver.Store) *env {
	tb.Helper()
	e := &env{store: store, clock: &standingClock{at: opening}, log: new(strings.Builder)}
	e.Service = e.service(tb, secretKey('a'))
	e.staff = e.As(ticketing.Staff("test"))
	tb.Cleanup(func() {
		if e.broken {
			return
		}
		report, err := e.staff.VerifyLedger(context.WithoutCancel(tb.Context()), uuid.Nil)
		if err != nil || !report.OK {
			tb.Errorf("the books are wrong at the end: %v %v", report, err)
		}
	})
	return e
}

// service returns another service on the same store.
func (e *env) service(tb testing.TB, keys ...[]byte) *ticketing.Service {
	tb.Helper()
	svc, err := ticketing.New(e.store, &ticketing.Config{
		SecretKeys: keys, Clock: e.clock.now, Logger: slog.New(slog.NewTextHandler(e.log, nil)),
		MailRenderer: newMailServer(),
	})
	is.New(tb).NoErr(err)
	return svc
}

func secretKey(fill byte) []byte {
	return []byte(strings.Repeat(string(rune(fill)), 32))
}

// unverified creates a company.
func (e *env) unverified(tb testing.TB) uuid.UUID {
	tb.Helper()
	company, err := e.staff.CreateCompany(tb.Context(), "Adire Concerts")
	is.New(tb).NoErr(err)
	return company.ID
}

// verified creates an approved company.
func (e *env) verified(tb testing.TB) uuid.UUID {
	tb.Helper()
	id := e.unverified(tb)
	_, err := e.staff.ApproveVerification(tb.Context(), id, ticketing.ApprovalParams{})
	is.New(tb).NoErr(err)
	return id
}

func (e *env) credit(tb testing.TB, companyID uuid.UUID, amount money.Amount, reference string) ticketing.FloatCredit {
	tb.Helper()
	credit, err := e.staff.CreditFloat(tb.Context(), companyID, reference, amount)
	is.New(tb).NoErr(err)
	return credit
}

func (e *env) issue(tb testing.TB, companyID uuid.UUID) ticketing.IssuedAPIKey {
	tb.Helper()
	key, err := e.staff.IssueAPIKey(tb.Context(), companyID, "gate", []ticketing.Grant{ticketing.GrantTicketValidate})
	is.New(tb).NoErr(err)
	return key
}

// write runs fn in an Update that holds the company's closed gate.
func (e *env) write(tb testing.TB, companyID uuid.UUID, fn func(ctx context.Context, tx driver.Tx) error) {
	tb.Helper()
	is.New(tb).NoErr(e.store.Update(tb.Context(), func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, driver.BeginOptions{Exclusive: []uuid.UUID{companyID}}); err != nil {
			return err
		}
		return fn(ctx, tx)
	}))
}

// opening is the time at which the clock of every test environment starts.
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

// code returns the contract's code of an error, "" for nil, and a text for any other error.
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

// said returns the violations of an error of the contract, or its message if it has none.
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
