package ticketing_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/store/memory"
	"github.com/floatgate/ticketing/ticketingtest"
)

// station is a shop with a service that records its groups, on a store whose transactions can be held.
type station struct {
	*ticketing.Service

	shop  *ticketingtest.Shop
	stage *stagedStore
	mu    sync.Mutex
	runs  []ticketing.GroupRun
	open  sync.WaitGroup
}

func newStation(t *testing.T, float money.Amount, grouping ticketing.Grouping) *station {
	t.Helper()
	s := &station{stage: &stagedStore{Store: memory.New()}}
	s.shop = ticketingtest.New(t, &ticketingtest.Config{Store: s.stage, Float: float})
	grouping.OnGroup = func(run ticketing.GroupRun) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.runs = append(s.runs, run)
	}
	var err error
	s.Service, err = ticketing.New(s.stage, &ticketing.Config{
		SecretKeys: [][]byte{bytes.Repeat([]byte("k"), 32)}, Clock: s.shop.Clock.Now, NewID: ticketingtest.NewIDs(2),
		Grouping: grouping,
	})
	is.New(t).NoErr(err)
	return s
}

// sizes returns the sizes of the groups so far.
func (s *station) sizes() (sizes []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, run := range s.runs {
		sizes = append(sizes, run.Calls)
	}
	return sizes
}

// later begins a call, and returns when it runs or waits.
func later[R any](s *station, call func() (R, error)) *outcome[R] {
	o := &outcome[R]{}
	s.open.Go(func() { o.result, o.err = call(); o.answered = true })
	synctest.Wait()
	return o
}

type outcome[R any] struct {
	result   R
	err      error
	answered bool
}

func (s *station) buy(
	ctx context.Context, shop *ticketingtest.Shop, key string, basket ticketing.CheckoutParams,
) *outcome[ticketing.Order] {
	return later(s, func() (ticketing.Order, error) { return s.Checkout(ctx, shop.Caller, key, basket) })
}

// leader makes a sale whose transaction is held, so that later sales wait for it, until release is called.
func (s *station) leader(t *testing.T, event uuid.UUID) (release func()) {
	t.Helper()
	held := s.stage.holdNext()
	s.buy(t.Context(), s.shop, s.shop.Key(), ticketingtest.Basket(event, "VIP", 1_00, 1))
	<-held.entered
	return func() { close(held.release); s.open.Wait() }
}

// TestCallsThatWaitGoTogether checks that checkouts that arrive while a group runs, of several companies, form the next
// group. Each has the outcome that it would have alone: sales, refusals and replays are decided in the order of
// arrival. No call returns before the commit.
func TestCallsThatWaitGoTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		s := newStation(t, 1000_00, ticketing.Grouping{Lanes: 1})
		event := s.shop.Event(t)
		s.shop.Inventory(t, event.ID, "VIP", 1_00, 5)
		neighbour := s.shop.Neighbour(t)
		theirs := neighbour.Event(t)
		neighbour.Inventory(t, theirs.ID, "VIP", 2_00, 1)
		spent := s.shop.Key()
		first, err := s.Checkout(t.Context(), s.shop.Caller, spent, ticketingtest.Basket(event.ID, "VIP", 1_00, 1))
		is.NoErr(err)

		release := s.leader(t, event.ID)
		ctx, basket := t.Context(), ticketingtest.Basket
		three := s.buy(ctx, s.shop, s.shop.Key(), basket(event.ID, "VIP", 1_00, 3))
		none := s.buy(ctx, s.shop, s.shop.Key(), basket(event.ID, "VIP", 1_00, 1))
		wrong := s.buy(ctx, s.shop, s.shop.Key(), basket(event.ID, "VIP", 3_00, 1))
		again := s.buy(ctx, s.shop, spent, basket(event.ID, "VIP", 1_00, 1))
		reused := s.buy(ctx, s.shop, spent, basket(event.ID, "VIP", 1_00, 2))
		missing := s.buy(ctx, s.shop, s.shop.Key(), basket(theirs.ID, "VIP", 2_00, 1))
		other := s.buy(ctx, neighbour, neighbour.Key(), basket(theirs.ID, "VIP", 2_00, 1))
		is.True(!three.answered && !none.answered && !again.answered && !other.answered)
		release()

		is.Equal(s.sizes(), []int{1, 1, 6}) // These are the first sale, the leader, and all that waited.
		is.NoErr(three.err)
		is.Equal(len(three.result.Lines), 3)
		is.Equal(code(none.err), ticketing.CodeInventoryUnavailable) // It came later.
		is.Equal(code(wrong.err), ticketing.CodeInventoryUnavailable)
		is.NoErr(again.err)
		is.Equal(show(t, again.result), show(t, first))
		is.Equal(code(reused.err), ticketing.CodeConflict) // The key is in flight.
		is.Equal(code(missing.err), ticketing.CodeNotFound)
		is.NoErr(other.err)
	})
}

// TestAGroupSpendsFloatInTheOrderOfArrival checks that a FLOAT that does not suffice for all calls is spent in the
// order of arrival, and that the balances of the orders form one chain.
func TestAGroupSpendsFloatInTheOrderOfArrival(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		s := newStation(t, 8_00, ticketing.Grouping{Lanes: 1})
		event := s.shop.Event(t)
		s.shop.Inventory(t, event.ID, "VIP", 1_00, 100)
		release := s.leader(t, event.ID)
		var calls []*outcome[ticketing.Order]
		for _, quantity := range []int{3, 5, 4, 1} {
			basket := ticketingtest.Basket(event.ID, "VIP", 1_00, quantity)
			calls = append(calls, s.buy(t.Context(), s.shop, s.shop.Key(), basket))
		}
		release()
		is.Equal(s.sizes(), []int{1, 4})
		var codes []ticketing.Code
		for _, call := range calls {
			codes = append(codes, code(call.err))
		}
		is.Equal(codes, []ticketing.Code{"", ticketing.CodeInsufficientFloat, "", ticketing.CodeInsufficientFloat})
		is.Equal(calls[0].result.Balances.FloatAfter, calls[2].result.Balances.FloatBefore)
		is.Equal(calls[2].result.Balances.FloatAfter, money.Amount(0))
	})
}

// TestAGroupIsKeptWholeOrNotAtAll checks that a failed transaction fails every call of the group and keeps nothing. The
// keys can be used again.
func TestAGroupIsKeptWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		s := newStation(t, 1000_00, ticketing.Grouping{Lanes: 1})
		event := s.shop.Event(t)
		s.shop.Inventory(t, event.ID, "VIP", 1_00, 100)
		release := s.leader(t, event.ID)
		before := holdings(t, s.shop)
		gone := s.stage.holdNext() // This is the group after the leader.
		gone.failure = ticketing.ErrUnavailable
		close(gone.release)
		key := s.shop.Key()
		one := s.buy(t.Context(), s.shop, key, ticketingtest.Basket(event.ID, "VIP", 1_00, 1))
		two := s.buy(t.Context(), s.shop, s.shop.Key(), ticketingtest.Basket(event.ID, "VIP", 1_00, 2))
		release()
		is.True(errors.Is(one.err, ticketing.ErrUnavailable))
		is.True(errors.Is(two.err, ticketing.ErrUnavailable))
		is.Equal(holdings(t, s.shop).Orders, before.Orders+1) // This is the leader's order.
		_, err := s.Checkout(t.Context(), s.shop.Caller, key, ticketingtest.Basket(event.ID, "VIP", 1_00, 1))
		is.NoErr(err)
	})
}

// TestCallersThatLeave checks that a caller that leaves while its call waits has sold nothing. A caller that leaves
// while its call runs in a group has, and the key is in flight until the group ends.
func TestCallersThatLeave(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		s := newStation(t, 1000_00, ticketing.Grouping{Lanes: 1})
		event := s.shop.Event(t)
		s.shop.Inventory(t, event.ID, "VIP", 1_00, 100)
		basket := ticketingtest.Basket(event.ID, "VIP", 1_00, 1)

		first := s.stage.holdNext()
		s.buy(t.Context(), s.shop, s.shop.Key(), basket)
		<-first.entered
		held := s.stage.holdNext()
		key, waiting := s.shop.Key(), s.shop.Key()
		ctx, leave := context.WithCancel(t.Context())
		running := s.buy(ctx, s.shop, key, basket)
		close(first.release)
		<-held.entered
		queued := s.buy(ctx, s.shop, waiting, basket)
		leave()
		synctest.Wait()
		is.True(errors.Is(running.err, context.Canceled))
		is.True(errors.Is(queued.err, context.Canceled))
		_, err := s.Checkout(t.Context(), s.shop.Caller, key, basket)
		is.Equal(code(err), ticketing.CodeConflict)
		close(held.release)
		synctest.Wait()
		is.Equal(holdings(t, s.shop).Orders, 2)
		_, err = s.Checkout(t.Context(), s.shop.Caller, key, basket)
		is.NoErr(err)
		is.Equal(holdings(t, s.shop).Orders, 2) // This is the order of the first call.
		_, err = s.Checkout(t.Context(), s.shop.Caller, waiting, basket)
		is.NoErr(err)
		is.Equal(holdings(t, s.shop).Orders, 3)
	})
}

// TestQueuesAreBounded checks that a full queue refuses calls at once, and that a draining service refuses all calls.
func TestQueuesAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		s := newStation(t, 1000_00, ticketing.Grouping{Lanes: 1, Queue: 1})
		event := s.shop.Event(t)
		s.shop.Inventory(t, event.ID, "VIP", 1_00, 100)
		basket := ticketingtest.Basket(event.ID, "VIP", 1_00, 1)
		release := s.leader(t, event.ID)
		waits := s.buy(t.Context(), s.shop, s.shop.Key(), basket)
		full := s.buy(t.Context(), s.shop, s.shop.Key(), basket)
		is.True(full.answered && !waits.answered)
		is.True(errors.Is(full.err, ticketing.ErrBusy))
		drained := later(s, func() (struct{}, error) { return struct{}{}, s.Drain(t.Context()) })
		late := s.buy(t.Context(), s.shop, s.shop.Key(), basket)
		is.True(errors.Is(late.err, ticketing.ErrBusy))
		is.True(!drained.answered)
		release()
		is.NoErr(waits.err)
		is.NoErr(drained.err)
	})
}

// TestGroupsAreConfined checks that groups hold one company if they are confined to it, at most Grouping.Calls calls,
// and that there are no groups if grouping is off.
func TestGroupsAreConfined(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		grouping ticketing.Grouping
		// the groups after the leader, for two companies with two waiting calls each
		sizes []int
	}{
		{"across companies", ticketing.Grouping{Lanes: 1}, []int{4}},
		{"one company", ticketing.Grouping{Lanes: 1, ByCompany: true}, []int{2, 2}},
		{"three calls", ticketing.Grouping{Lanes: 1, Calls: 3}, []int{1, 3}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				s := newStation(t, 1000_00, test.grouping)
				event := s.shop.Event(t)
				s.shop.Inventory(t, event.ID, "VIP", 1_00, 100)
				neighbour := s.shop.Neighbour(t)
				theirs := neighbour.Event(t)
				neighbour.Inventory(t, theirs.ID, "VIP", 1_00, 100)
				release := s.leader(t, event.ID)
				for range 2 {
					s.buy(t.Context(), s.shop, s.shop.Key(), ticketingtest.Basket(event.ID, "VIP", 1_00, 1))
					s.buy(t.Context(), neighbour, neighbour.Key(), ticketingtest.Basket(theirs.ID, "VIP", 1_00, 1))
				}
				release()
				sizes := s.sizes()[1:]
				slices.Sort(sizes)
				is.Equal(sizes, test.sizes)
			})
		})
	}

	t.Run("off", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			is := is.New(t)
			s := newStation(t, 1000_00, ticketing.Grouping{Off: true})
			event := s.shop.Event(t)
			s.shop.Inventory(t, event.ID, "VIP", 1_00, 100)
			basket := ticketingtest.Basket(event.ID, "VIP", 1_00, 1)
			_, err := s.Checkout(t.Context(), s.shop.Caller, s.shop.Key(), basket)
			is.NoErr(err)
			is.Equal(len(s.sizes()), 0)
			is.NoErr(s.Drain(t.Context()))
		})
	})
}

// TestScansGoTogether checks that the scans of a group are decided in their order, so only the first scan of an
// admission admits. The shop checks at the end of the test that each admitted scan has a fact.
func TestScansGoTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		s := newStation(t, 1000_00, ticketing.Grouping{Lanes: 1})
		event := s.shop.Event(t)
		s.shop.Inventory(t, event.ID, "VIP", 1_00, 100)
		order := s.shop.Sell(t, event.ID, "VIP", 3)
		scan := func(line int) *outcome[ticketing.TicketValidation] {
			key := s.shop.Key()
			return later(s, func() (ticketing.TicketValidation, error) {
				return s.ValidateAdmission(t.Context(), s.shop.Caller, event.ID, order.Lines[line].AdmissionID, key,
					ticketing.ValidateParams{})
			})
		}
		held := s.stage.holdNext()
		leader := scan(0)
		<-held.entered
		admitted, twice, late, beside := scan(1), scan(1), scan(0), scan(2)
		close(held.release)
		s.open.Wait()
		is.Equal(s.sizes(), []int{1, 4})
		is.Equal(leader.result.Outcome, ticketing.OutcomeAdmitted)
		is.Equal(admitted.result.Outcome, ticketing.OutcomeAdmitted)
		is.Equal(beside.result.Outcome, ticketing.OutcomeAdmitted)
		is.Equal(twice.result.Outcome, ticketing.OutcomeAlreadyValidated)
		is.Equal(twice.result.ID, admitted.result.ID)
		is.Equal(late.result.ID, leader.result.ID)
	})
}

// traceID is the key of a trace's id in a context.
type traceID struct{}

// traceHandler adds the trace of a line's context, as a host's handler does.
type traceHandler struct{ slog.Handler }

func (h traceHandler) Handle(ctx context.Context, r slog.Record) error {
	if id, ok := ctx.Value(traceID{}).(string); ok {
		r.AddAttrs(slog.String("trace", id))
	}
	return h.Handler.Handle(ctx, r)
}

// TestPanicsOfTheHostAreContained checks that a panic of a host's function does not end the process and does not keep a
// call from returning. It is logged once, without its value. The lines about the call carry its trace.
func TestPanicsOfTheHostAreContained(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		s := newStation(t, 1000_00, ticketing.Grouping{})
		event := s.shop.Event(t)
		s.shop.Inventory(t, event.ID, "VIP", 1_00, 100)
		log := new(lockedLog)
		var err error
		s.Service, err = ticketing.New(s.stage, &ticketing.Config{
			SecretKeys: [][]byte{secretKey('k')}, Clock: s.shop.Clock.Now, NewID: ticketingtest.NewIDs(3),
			Logger: slog.New(traceHandler{slog.NewTextHandler(log, nil)}),
			Grouping: ticketing.Grouping{
				Lanes: 1, Queue: 2,
				OnGroup:     func(ticketing.GroupRun) { panic("ada@example.com") },
				OnQueueFull: func(string) { panic("ada@example.com") },
			},
		})
		is.NoErr(err)
		basket := ticketingtest.Basket(event.ID, "VIP", 1_00, 1)
		release := s.leader(t, event.ID)
		one := s.buy(t.Context(), s.shop, s.shop.Key(), basket)
		two := s.buy(t.Context(), s.shop, s.shop.Key(), basket)
		full := s.buy(context.WithValue(t.Context(), traceID{}, "0af7651916cd"), s.shop, s.shop.Key(), basket)
		is.True(errors.Is(full.err, ticketing.ErrBusy))
		release()
		is.NoErr(one.err)
		is.NoErr(two.err)
		is.NoErr(s.Drain(t.Context()))
		is.Equal(strings.Count(log.String(), "panicked"), 1)
		is.Equal(strings.Count(log.String(), "trace=0af7651916cd"), 2) // the refusal and the panic
		is.True(strings.Contains(log.String(), "type=string"))
		is.True(!strings.Contains(log.String(), "ada@example.com"))
	})
}

// TestGroupingIsChecked checks that New refuses numbers that no lane works with, by name.
func TestGroupingIsChecked(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		grouping ticketing.Grouping
		refused  string
	}{
		{"most", ticketing.Grouping{Lanes: 64, Calls: 1000, Queue: 1_000_000}, ""},
		{"negative lanes", ticketing.Grouping{Lanes: -1}, "Grouping.Lanes"},
		{"negative calls", ticketing.Grouping{Calls: -1}, "Grouping.Calls"},
		{"negative queue", ticketing.Grouping{Queue: -1}, "Grouping.Queue"},
		{"too many lanes", ticketing.Grouping{Lanes: 65}, "Grouping.Lanes"},
		{"too many calls", ticketing.Grouping{Calls: 1001}, "Grouping.Calls"},
		{"too long a queue", ticketing.Grouping{Queue: 1_000_001}, "Grouping.Queue"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			_, err := ticketing.New(memory.New(), &ticketing.Config{Grouping: test.grouping})
			if test.refused == "" {
				is.NoErr(err)
				return
			}
			is.True(err != nil)
			is.True(strings.Contains(err.Error(), test.refused))
		})
	}
}
