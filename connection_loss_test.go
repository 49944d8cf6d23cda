package ticketing_test

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/faultproxy"
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/internal/race"
	"github.com/floatgate/ticketing/internal/search"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/ticketingtest"
)

// scissors cuts the connection to a database at a chosen statement of a client, or at rows that follow it.
type scissors struct {
	proxy *faultproxy.Proxy

	mu sync.Mutex
	at int // the statement or rows, or the message of a response, to cut at; 0: none
	// how to cut; with cut.refuse there are no new connections until away is called
	cut     cut
	seen    int
	commits int
	commit  bool // the latest statement is a COMMIT, and what the server needs to come to it was sent
	copies  int  // of the latest message, whose rows were not all sent
	ends    bool // the latest message ends with a COMMIT
	done    bool
	last    bool // it was when the connection was cut
	rows    bool // there were rows of a COPY
	// queries are the connections whose latest message is a simple one, and binds is set if there were rows of a COPY in
	// one of the extended protocol.
	queries map[int]bool
	binds   bool
	// commitNames are the names of COMMIT as a prepared statement, and bound those that the latest Binds named, by
	// connection. With an Execute the server comes to it.
	commitNames, bound map[int]string
}

// wire puts scissors between a store and its database.
func wire(tb testing.TB, dsn string) (*scissors, string) {
	tb.Helper()
	_, rest, _ := strings.Cut(dsn, "@")
	addr, _, _ := strings.Cut(rest, "/")
	s := &scissors{
		proxy: faultproxy.New(tb, addr), commitNames: make(map[int]string), bound: make(map[int]string),
		queries: make(map[int]bool),
	}
	s.proxy.OnMessage(s.pass)
	if pgtest.OwnServer() {
		s.proxy.KeepPorts() // So that the store writes rows by COPY.
	}
	return s, through(dsn, addr, s.proxy.Addr())
}

func (s *scissors) pass(m faultproxy.Message) faultproxy.Action {
	text := m.SQL()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !m.Backend && (m.Type == 'P' || m.Type == 'B') {
		s.prepare(m, text)
		return faultproxy.Pass
	}
	counts := m.Backend || text != ""
	switch {
	case !m.Backend && m.Type == 'E':
		s.copies, s.ends, counts = 0, false, true
		s.commit = s.bound[m.Connection] == s.commitNames[m.Connection]
	case text != "":
		s.queries[m.Connection] = true
		s.copies, s.ends = strings.Count(text, " FROM STDIN "), strings.HasSuffix(text, "COMMIT")
		s.commit = s.ends && s.copies == 0
	case !m.Backend && m.Type == 'd': // Rows of a COPY,
		s.rows, s.binds, counts = true, s.binds || !s.queries[m.Connection], true
	case !m.Backend && m.Type == 'c' && s.copies > 0: // and their end. With the last one the server comes to the COMMIT.
		s.copies--
		s.commit = s.ends && s.copies == 0
		counts = s.commit
	}
	if s.commit && !m.Backend && counts {
		s.commits++
	}
	if s.done || s.at == 0 || m.Backend != s.cut.answer || !counts {
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

// prepare remembers what a Parse prepares, or what a Bind names.
func (s *scissors) prepare(m faultproxy.Message, text string) {
	parts := bytes.SplitN(m.Payload, []byte{0}, 3)
	switch {
	case m.Type == 'B':
		s.bound[m.Connection], s.queries[m.Connection] = string(parts[1]), false
	case text == "COMMIT":
		s.commitNames[m.Connection] = string(parts[0])
	}
}

// set prepares the scissors for the next call.
func (s *scissors) set(how cut, at int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at, s.cut, s.seen, s.commits, s.commit, s.done, s.last = at, how, 0, 0, false, false, false
}

// away stops the cutting. It returns the number of COMMITs, whether the connection was cut, and whether it was cut at a
// COMMIT.
func (s *scissors) away() (commits int, cut, last bool) {
	s.proxy.Refuse(false)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at = 0
	return s.commits, s.done, s.last
}

// passed returns how many statements, or messages of responses, the call had that was not cut.
func (s *scissors) passed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen
}

// cut is a way to lose a connection.
type cut struct {
	name   string
	how    faultproxy.Action
	refuse bool
	answer bool // count the messages of responses instead of statements
	number int
}

// cuts returns the ways to lose a connection: before a statement reaches the database, after it, or within its
// response, each with and without a way to reconnect.
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

// next returns where to cut after a cut at n. Unless tests search everywhere, one in three statements is cut, and one
// in fifteen messages of a response, which are many and alike. Each way to cut takes others.
func (c cut) next(n int) int {
	step := 3
	switch {
	case search.Everywhere():
		step = 1
	case c.answer:
		step = 15
	}
	if n == 1 {
		return 2 + c.number%step
	}
	return n + step
}

// copied reports whether there were rows of a COPY, in messages of the extended protocol.
func (s *scissors) copied() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rows && s.binds
}

// onCuts runs a test with a company whose service reaches its database through scissors.
func onCuts(t *testing.T, test func(t *testing.T, s *scissors, at cut, shop *ticketingtest.Shop)) {
	t.Helper()
	for number, at := range cuts() {
		at.number = number
		t.Run(at.name, func(t *testing.T) {
			t.Parallel()
			s, dsn := wire(t, testdb.FreshDSN(t))
			test(t, s, at, newShop(t, postgres(t, dsn, nil)))
		})
	}
}

// atStatements makes calls with a cut at the first statement, then at the next, and so on until a call ends without a
// cut. If none was at a COMMIT, one more is at the last statement.
func atStatements(t *testing.T, s *scissors, at cut, call func(n int) error, check func(n int, err error)) {
	t.Helper()
	const most = 1000
	committed, statement := false, 1
	for n := 1; n <= most && !search.Over(); n++ {
		s.set(at, statement)
		err := call(n)
		_, cut, last := s.away()
		committed = committed || last
		if cut && at.refuse && err != nil && !errors.Is(err, ticketing.ErrUnavailable) {
			t.Fatalf("cut at statement %d: %v", statement, err)
		}
		if err != nil && (!cut || !at.refuse) {
			t.Fatalf("cut at statement %d (%t): %v", statement, cut, err)
		}
		check(n, err)
		if !cut {
			if n < 2 {
				t.Fatal("nothing was cut")
			}
			if committed {
				return
			}
			committed, statement = true, s.passed()
			continue
		}
		statement = at.next(statement)
	}
	if !search.Over() {
		t.Fatal("there is no end to the statements")
	}
}

// TestCheckoutCutAnywhere checks that a checkout whose connection is cut anywhere makes exactly one order. The cut
// comes before any statement or before its response, that of the COMMIT included. The store finds the outcome by
// itself. If the database is away, the client finds it with a retry.
func TestCheckoutCutAnywhere(t *testing.T) {
	t.Parallel()
	race.Leave(t, "changes that are cut one after the other")
	var ran, copied atomic.Bool
	t.Cleanup(func() { // Where a port of a client was taken, a connection had another one.
		if ran.Load() && !copied.Load() && pgtest.OwnServer() && runtime.GOOS == "linux" {
			t.Error("no checkout sent its rows by COPY, or none was bound") // After a FailNow here, Go would not name the test.
		}
	})
	onCuts(t, func(t *testing.T, s *scissors, at cut, shop *ticketingtest.Shop) {
		is := is.New(t)
		ran.Store(true)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 100_00, 1000)
		basket := ticketingtest.Basket(event.ID, "VIP", 100_00, 3) // Three admissions are copied, the other rows inserted.
		orders := 0
		var order ticketing.Order
		atStatements(t, s, at, func(n int) (err error) {
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
		if s.copied() {
			copied.Store(true)
		}
	})
}

// TestGroupCutAnywhere checks the same for a group of calls. All calls of the group return, with ErrUnavailable if the
// database is away, and each makes exactly one order.
func TestGroupCutAnywhere(t *testing.T) {
	t.Parallel()
	onCuts(t, func(t *testing.T, s *scissors, at cut, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 100_00, 1000)
		basket := ticketingtest.Basket(event.ID, "VIP", 100_00, 1)
		const callers, statements, most, group = 6, 12, 60, 5 // Two groups send more than five messages.
		orders, commits := 0, 0                               // commits that were cut
		for n := 1; n <= statements || n <= most && commits == 0; n++ {
			if at.answer {
				const messages = 5 // The response to a statement has about as many messages.
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

// TestValidationCutAnywhere checks that a validation that is cut anywhere is made exactly once.
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
		atStatements(t, s, at, func(n int) (err error) {
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

// TestReadCutAnywhere checks that a look-up of a key and a read are retried wherever they are cut.
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
			atStatements(t, s, at, func(int) error { return read() }, func(_ int, err error) {
				if err != nil {
					is.New(t).NoErr(read())
				}
			})
		}
	})
}

// TestUnkeyedChangeCutAnywhere checks that a change without an idempotency key is never made twice. If its COMMIT is
// cut, the error says that the outcome is unknown. If it is cut anywhere else, it is made once. It is never made in
// part.
func TestUnkeyedChangeCutAnywhere(t *testing.T) {
	t.Parallel()
	race.Leave(t, "changes that are cut one after the other")
	onCuts(t, func(t *testing.T, s *scissors, at cut, shop *ticketingtest.Shop) {
		is := is.New(t)
		f := openFixture(t, shop)
		for _, mutation := range search.Every(len(cuts()), at.number, mutations()) { // Each change is cut in one way.
			ended, committed, statement := false, false, 1
			for n := 1; !ended && !search.Over(); n++ {
				is.NoErr(mutation.prepare(t.Context(), f, n))
				s.set(at, statement)
				err := mutation.do(t.Context(), f, n)
				commits, cut, last := s.away()
				ended, committed = !cut && committed, committed || last || !cut
				statement = at.next(statement)
				if !cut { // If no COMMIT was cut, the last statement is.
					statement = s.passed()
				}
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
					made, err := mutation.made(t.Context(), f, n)
					if errors.Is(err, errHalfDone) {
						return false // The change was committed between the two reads of made.
					}
					is.NoErr(err)
					return made == want
				})
				is.NoErr(mutation.finish(t.Context(), f, n))
			}
		}
	})
}

// eventually returns when holds returns true, and fails the test after a timeout.
func eventually(t *testing.T, holds func() bool) {
	t.Helper()
	for begun := time.Now(); !holds(); think() {
		if time.Since(begun) > patience {
			t.Fatal("it never came to be so")
		}
	}
}

// settle repeats a call while its original is in flight, and returns the outcome. The database may still work on what
// it received before the connection was lost.
func settle[T any](call func() (T, error)) (T, error) {
	for {
		got, err := call()
		if said(err) != "Idempotent request is still processing" {
			return got, err
		}
		think()
	}
}
