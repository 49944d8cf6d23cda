// Package ticketingtest is for tests of programs that sell with package ticketing. It has a company that is ready to
// sell in one line, a clock that stands still, repeatable ids, the published facts, and a receiver of webhooks.
//
//	func TestBoxOffice(t *testing.T) {
//		shop := ticketingtest.New(t, nil)
//		event := shop.Event(t)
//		shop.Inventory(t, event.ID, "VIP", 150_00, 100)
//		order := shop.Sell(t, event.ID, "VIP", 2)
//		// order.Gross is 300.00; shop.Caller, shop.APIKey and shop.Staff act for the company.
//	}
//
// When the test ends, the books are verified: every ledger chain, every order against its movements, and every tier
// against its admissions. A test with wrong books fails with what is wrong.
//
// Everything here fails the test by itself: it takes a [testing.TB] or was made with one.
package ticketingtest

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/store/memory"
)

// Amounts of FLOAT for [Config].
const (
	DefaultFloat money.Amount = 1_000_000_00
	NoFloat      money.Amount = -1
)

// Config holds the options of a test. A nil *Config, and every zero field, means the default.
type Config struct {
	// Store holds the shop's records. A store that was used before also needs the Clock and NewID that were used with
	// it. Defaults to an empty store/memory.
	Store driver.Store
	// Clock is the service's clock. Defaults to one that shows Opening.
	Clock *Clock
	// NewID makes the ids. Defaults to NewIDs(1), so that a test sees the same ids in every run.
	NewID func() uuid.UUID
	// OnFact is called with each fact before Facts records it. Facts does not record a fact that OnFact refuses.
	// Defaults to none.
	OnFact func(ctx context.Context, fact ticketing.Fact) error
	// Float is the initial balance of FLOAT, in kobo, or NoFloat. Defaults to DefaultFloat, a million NGN.
	Float money.Amount
	// Rate is the commission, effective since a year ago. The zero Rate means 2.5 PERCENT; for no commission use 0
	// PERCENT.
	Rate money.Rate
	// NoRate leaves the company without a commission rate: its checkouts are COMMISSION_RATE_UNAVAILABLE.
	NoRate bool
	// PollInterval is that of [ticketing.Config].
	PollInterval time.Duration
}

// Shop is a company that is ready to sell: active, approved, funded, with a commission rate and an API key. It embeds
// the company's service.
type Shop struct {
	*ticketing.Service

	Store   driver.Store
	Clock   *Clock
	Facts   *Facts             // the published facts, once Work was called
	Staff   ticketing.Operator // may do everything
	Company ticketing.Company  // as it was when the shop was made
	APIKey  string             // the text after "Bearer "
	Caller  ticketing.Caller   // what Authenticate returns for APIKey: all seven grants
	config  ticketing.Config
	choices Config
	state   *state
}

// state is shared by the shops on one store.
type state struct {
	keys   atomic.Int64
	broken atomic.Bool
}

// New makes a shop, and verifies its books when the test ends. Any failure ends the test at once.
func New(t testing.TB, config *Config) *Shop {
	t.Helper()
	s := &Shop{Facts: new(Facts), state: new(state)}
	if config != nil {
		s.choices = *config
	}
	s.Store, s.Clock = s.choices.Store, s.choices.Clock
	if s.Store == nil {
		s.Store = memory.New()
	}
	if s.Clock == nil {
		s.Clock = NewClock(time.Time{})
	}
	if s.choices.NewID == nil {
		s.choices.NewID = NewIDs(1)
	}
	s.config = ticketing.Config{
		SecretKeys: [][]byte{bytes.Repeat([]byte("k"), 32)}, OnFact: s.tell, PollInterval: s.choices.PollInterval,
		Clock: s.Clock.Now, NewID: s.choices.NewID,
	}
	s.open(t)
	s.found(t, "Adire Concerts")
	t.Cleanup(func() { s.verify(t) })
	return s
}

func (s *Shop) tell(ctx context.Context, fact ticketing.Fact) error {
	if s.choices.OnFact != nil {
		if err := s.choices.OnFact(ctx, fact); err != nil {
			return err
		}
	}
	return s.Facts.OnFact(ctx, fact)
}

func (s *Shop) open(t testing.TB) {
	t.Helper()
	service, err := ticketing.New(s.Store, &s.config)
	check(t, "open the service", err)
	s.Service, s.Staff = service, service.As(ticketing.Staff("ticketingtest"))
}

// found creates the company and all that it needs to sell.
func (s *Shop) found(t testing.TB, name string) {
	t.Helper()
	company, err := s.Staff.CreateCompany(t.Context(), name)
	check(t, "create the company", err)
	s.Company, err = s.Staff.ApproveVerification(t.Context(), company.ID, ticketing.ApprovalParams{})
	check(t, "approve the company", err)
	if !s.choices.NoRate {
		rate := s.choices.Rate
		if rate == (money.Rate{}) {
			rate, err = money.ParseRate("2.5", money.Percent)
			check(t, "make a rate", err)
		}
		_, err = s.Staff.ScheduleCommission(t.Context(), company.ID, ticketing.CommissionParams{
			Rate: rate, EffectiveFrom: new(s.Clock.Now().AddDate(-1, 0, 0)),
		})
		check(t, "schedule the commission", err)
	}
	switch s.choices.Float {
	case NoFloat:
	case 0:
		s.Credit(t, DefaultFloat)
	default:
		s.Credit(t, s.choices.Float)
	}
	key, err := s.Staff.IssueAPIKey(t.Context(), company.ID, "ticketingtest", ticketing.AllGrants())
	check(t, "issue an API key", err)
	s.APIKey = key.Key
	s.Caller, err = s.Authenticate(t.Context(), s.APIKey)
	check(t, "authenticate", err)
}

// Neighbour returns another company on the same service, ready to sell like the first one and sharing nothing with it.
func (s *Shop) Neighbour(t testing.TB) *Shop {
	t.Helper()
	neighbour := *s
	neighbour.found(t, "Bata Shows")
	return &neighbour
}

// Reopen returns the same company on another service over the same store, as after a restart.
func (s *Shop) Reopen(t testing.TB) *Shop {
	t.Helper()
	again := *s
	again.open(t)
	return &again
}

// With returns a trusted caller for the company with these grants and no others.
func (s *Shop) With(grants ...ticketing.Grant) ticketing.Caller {
	return ticketing.TrustedCaller(s.Company.ID, grants...)
}

// Work runs the background work ([ticketing.Service.Run]) until the test ends, so that Facts records the facts.
func (s *Shop) Work(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("ticketingtest: the background work ended: %v", err)
		}
	})
}

// BooksAreBroken declares that the test breaks the books on purpose: they must be wrong when it ends.
func (s *Shop) BooksAreBroken() { s.state.broken.Store(true) }

// verify checks the books of all companies on the store.
func (s *Shop) verify(t testing.TB) {
	t.Helper()
	// The context of the test has ended by now.
	report, err := s.Staff.VerifyLedger(context.WithoutCancel(t.Context()), uuid.Nil)
	switch broken := s.state.broken.Load(); {
	case err != nil:
		t.Errorf("ticketingtest: verify the books: %v", err)
	case broken && report.OK:
		t.Errorf("ticketingtest: the books were to be broken, and are right")
	case !broken && !report.OK:
		t.Errorf("ticketingtest: the books are wrong:\n\t%s", strings.Join(report.Problems, "\n\t"))
	}
}

// Key returns an idempotency key that was not used before.
func (s *Shop) Key() string { return fmt.Sprintf("ticketingtest-%06d", s.state.keys.Add(1)) }

func check(t testing.TB, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("ticketingtest: %s: %v", what, err)
	}
}
