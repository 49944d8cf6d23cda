package ticketing_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/faultproxy"
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/internal/race"
	"github.com/floatgate/ticketing/internal/search"
	"github.com/floatgate/ticketing/ticketingtest"
)

// scissors cut the connection to a database at one statement of a client.
type scissors struct {
	proxy *faultproxy.Proxy

	mu      sync.Mutex
	at      int // the statement, or the message of an answer, to cut at; 0: none
	cut     cut // no new connection is made afterwards, where it says so, until the scissors are put away
	seen    int
	commits int
	commit  bool // the latest statement is a COMMIT
	done    bool
	last    bool // it was when the scissors cut
}

// wire puts scissors between a store and its database.
func wire(tb testing.TB, dsn string) (*scissors, string) {
	tb.Helper()
	_, rest, _ := strings.Cut(dsn, "@")
	addr, _, _ := strings.Cut(rest, "/")
	s := &scissors{proxy: faultproxy.New(tb, addr)}
	s.proxy.OnMessage(s.pass)
	return s, through(dsn, addr, s.proxy.Addr())
}

func (s *scissors) pass(m faultproxy.Message) faultproxy.Action {
	text := m.SQL()
	s.mu.Lock()
	defer s.mu.Unlock()
	if text != "" {
		if s.commit = strings.HasSuffix(text, "COMMIT"); s.commit {
			s.commits++
		}
	}
	if s.done || s.at == 0 || m.Backend != s.cut.answer || !m.Backend && text == "" {
		return faultproxy.Pass
	}
	if s.seen++; s.seen != s.at {
		return faultproxy.Pass
	}
	s.done, s.last = true, s.commit
	if s.cut.refuse {
		s.proxy.Refuse(true)
	}
	return s.cut.how
}

// set readies the scissors for the next call.
func (s *scissors) set(how cut, at int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at, s.cut, s.seen, s.commits, s.commit, s.done, s.last = at, how, 0, 0, false, false, false
}

// away puts the scissors away, and tells how many COMMITs there were and whether they cut, and whether at a COMMIT.
func (s *scissors) away() (commits int, cut, last bool) {
	s.proxy.Refuse(false)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = 0
	return s.commits, s.done, s.last
}

// cut is a way to lose a connection.
type cut struct {
	name   string
	how    faultproxy.Action
	refuse bool
	answer bool // it counts the messages of answers instead of statements
	number int
}

// cuts lose a statement before it reached the database, or its answer or a part of it, with and without a way to
// connect again.
func cuts() []cut {
	return []cut{
		{name: "before", how: faultproxy.Cut},
		{name: "answer lost", how: faultproxy.PassAndCut},
		{name: "before, then away", how: faultproxy.Cut, refuse: true},
		{name: "answer lost, then away", how: faultproxy.PassAndCut, refuse: true},
		{name: "within the answer", how: faultproxy.Cut, answer: true},
		{name: "within the answer, then away", how: faultproxy.Cut, answer: true, refuse: true},
	}
}

// onCuts runs a test with a company whose service is on the other side of scissors.
func onCuts(t *testing.T, test func(t *testing.T, s *scissors, at cut, shop *ticketingtest.Shop)) {
	t.Helper()
	for number, at := range cuts() {
		at.number = number
		t.Run(at.name, func(t *testing.T) {
			t.Parallel()
			s, dsn := wire(t, pgtest.Database(t))
			test(t, s, at, newShop(t, postgres(t, dsn, nil)))
		})
	}
}

// everyStatement makes calls with a cut at the first statement, then at the second, and so on until one ends uncut. Of the
// messages of an answer, which are many and like the next, one in five is cut unless tests search everywhere.
func everyStatement(t *testing.T, s *scissors, at cut, call func(n int) error, check func(n int, err error)) {
	t.Helper()
	const most = 1000
	step := 1
	if at.answer && !search.Everywhere() {
		step = 5
	}
	for n := 1; n <= most && !search.Over(); n += step {
		s.set(at, n)
		err := call(n)
		_, cut, _ := s.away()
		if cut && at.refuse && err != nil && !errors.Is(err, ticketing.ErrUnavailable) {
			t.Fatalf("cut at statement %d: %v", n, err)
		}
		if err != nil && (!cut || !at.refuse) {
			t.Fatalf("cut at statement %d (%t): %v", n, cut, err)
		}
		check(n, err)
		if !cut {
			if n < 2 {
				t.Fatal("nothing was cut")
			}
			return
		}
	}
	if !search.Over() {
		t.Fatal("there is no end to the statements")
	}
}

// A checkout whose connection is cut, before whichever statement or before its answer, the COMMIT's included, is one
// order: the store finds out by itself what became of it, and where the database is away, so does the client who asks
// again.
func TestCheckoutCutAnywhere(t *testing.T) {
	t.Parallel()
	race.Leave(t, "changes that are cut one after the other")
	onCuts(t, func(t *testing.T, s *scissors, at cut, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 100_00, 1000)
		basket := ticketingtest.Basket(event.ID, "VIP", 100_00, 1)
		orders := 0
		var order ticketing.Order
		everyStatement(t, s, at, func(n int) (err error) {
			order, err = shop.Checkout(t.Context(), shop.Caller, fmt.Sprintf("checkout-%d", n), basket)
			return err
		}, func(n int, err error) {
			again, replayErr := settle(func() (ticketing.Order, error) {
				return shop.Checkout(t.Context(), shop.Caller, fmt.Sprintf("checkout-%d", n), basket)
			})
			is.NoErr(replayErr)
			if err == nil {
				is.Equal(show(t, again), show(t, order))
			}
			orders++
			is.Equal(holdings(t, shop).Orders, orders)
		})
	})
}

// The same of a group whose calls travel together: all are answered, and where the database is away told so; each is one
// order.
func TestGroupCutAnywhere(t *testing.T) {
	t.Parallel()
	onCuts(t, func(t *testing.T, s *scissors, at cut, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 100_00, 1000)
		basket := ticketingtest.Basket(event.ID, "VIP", 100_00, 1)
		const callers, statements, group = 6, 16, 7 // A group sends more than seven.
		orders, commits := 0, 0                     // commits that were cut
		for n := 1; n <= statements; n++ {
			if at.answer {
				const messages = 5 // Of about as many is the answer to a statement.
				s.set(at, messages*n)
			} else {
				s.set(at, n)
			}
			got := make([]ticketing.Order, callers)
			errs := make([]error, callers)
			var all sync.WaitGroup
			for i := range callers {
				all.Go(func() {
					got[i], errs[i] = shop.Checkout(t.Context(), shop.Caller, fmt.Sprintf("checkout-%d-%d", n, i), basket)
				})
			}
			all.Wait()
			_, cut, last := s.away()
			is.True(cut || n > group)
			if last {
				commits++
			}
			for i := range callers {
				if errs[i] != nil && (!at.refuse || !errors.Is(errs[i], ticketing.ErrUnavailable)) {
					t.Errorf("cut %d, call %d: %v", n, i, errs[i])
				}
				again, err := settle(func() (ticketing.Order, error) {
					return shop.Checkout(t.Context(), shop.Caller, fmt.Sprintf("checkout-%d-%d", n, i), basket)
				})
				is.NoErr(err)
				if errs[i] == nil {
					is.Equal(show(t, again), show(t, got[i]))
				}
			}
			orders += callers
			is.Equal(holdings(t, shop).Orders, orders)
		}
		is.True(commits > 0)
	})
}

// A validation that is cut anywhere is one validation.
func TestValidationCutAnywhere(t *testing.T) {
	t.Parallel()
	race.Leave(t, "changes that are cut one after the other")
	onCuts(t, func(t *testing.T, s *scissors, at cut, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 100_00, 1000)
		var sold []uuid.UUID
		for range 4 {
			for _, line := range shop.Sell(t, event.ID, "VIP", 50).Lines {
				sold = append(sold, line.AdmissionID)
			}
		}
		validate := func(n int) (ticketing.TicketValidation, error) {
			return shop.ValidateAdmission(t.Context(), shop.Caller, event.ID, sold[n],
				fmt.Sprintf("validation-%d", n), ticketing.ValidateParams{})
		}
		var first ticketing.TicketValidation
		everyStatement(t, s, at, func(n int) (err error) {
			first, err = validate(n)
			return err
		}, func(n int, err error) {
			again, replayErr := settle(func() (ticketing.TicketValidation, error) { return validate(n) })
			is.NoErr(replayErr)
			is.Equal(string(again.Outcome), "ADMITTED")
			if err == nil {
				is.Equal(show(t, again), show(t, first))
			}
		})
	})
}

// A key look-up and a read that are cut anywhere are made again.
func TestReadCutAnywhere(t *testing.T) {
	t.Parallel()
	race.Leave(t, "changes that are cut one after the other")
	onCuts(t, func(t *testing.T, s *scissors, at cut, shop *ticketingtest.Shop) {
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 100_00, 10)
		order := shop.Sell(t, event.ID, "VIP", 2)
		for _, read := range []func() error{
			func() error {
				_, err := shop.Authenticate(t.Context(), shop.APIKey)
				return err
			},
			func() error {
				again, err := shop.GetOrder(t.Context(), shop.Caller, order.ID)
				if err == nil && show(t, again) != show(t, order) {
					err = errors.New("another order")
				}
				return err
			},
		} {
			everyStatement(t, s, at, func(int) error { return read() }, func(_ int, err error) {
				if err != nil {
					is.New(t).NoErr(read())
				}
			})
		}
	})
}

// A change without a key whose COMMIT is cut is never made twice: whoever asked for it is told that nobody knows. Cut
// anywhere else it is made once, and nothing is ever half done.
func TestUnkeyedChangeCutAnywhere(t *testing.T) {
	t.Parallel()
	race.Leave(t, "changes that are cut one after the other")
	onCuts(t, func(t *testing.T, s *scissors, at cut, shop *ticketingtest.Shop) {
		is := is.New(t)
		o := openOffice(t, shop)
		for _, deed := range search.Every(len(cuts()), at.number, deeds()) { // Each deed has one way to be cut.
			ended := false
			for n := 1; !ended && !search.Over(); n++ {
				if at.answer && n%5 != 1 {
					continue // Messages of an answer are many, and one cut of it is like the next.
				}
				is.NoErr(deed.prepare(t.Context(), o, n))
				s.set(at, n)
				err := deed.do(t.Context(), o, n)
				commits, cut, last := s.away()
				ended = !cut
				is.True(commits <= 1) // Nothing may run twice.
				switch {
				case cut && last:
					is.True(errors.Is(err, ticketing.ErrUnavailable))
				case !cut || !at.refuse:
					is.NoErr(err)
				default:
					is.True(errors.Is(err, ticketing.ErrUnavailable))
				}
				want := err == nil || last && (at.answer || at.how == faultproxy.PassAndCut)
				eventually(t, func() bool {
					made, err := deed.made(t.Context(), o, n)
					if errors.Is(err, errHalfDone) {
						return false // It was seen in two looks, between which it came to be.
					}
					is.NoErr(err)
					return made == want
				})
				is.NoErr(deed.finish(t.Context(), o, n))
			}
		}
	})
}

// eventually returns when something holds, or fails the test.
func eventually(t *testing.T, holds func() bool) {
	t.Helper()
	for begun := time.Now(); !holds(); think() {
		if time.Since(begun) > patience {
			t.Fatal("it never came to be so")
		}
	}
}

// settle is the outcome of a call that is made again while its original is in flight: a database may be at work on what
// a lost connection brought it.
func settle[T any](call func() (T, error)) (T, error) {
	for {
		got, err := call()
		if said(err) != "Idempotent request is still processing" {
			return got, err
		}
		think()
	}
}
