package ticketing_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/ticketingtest"
)

// halved is a group of two sales whose transaction failed, so that each half runs again. The first half is held while
// it runs. The caller of the other, which has yet to run again, has left.
type halved struct {
	*station

	key    string // of the sale whose caller has left
	basket ticketing.CheckoutParams
	half   *hold
}

func newHalved(t *testing.T) *halved {
	t.Helper()
	is := is.New(t)
	s := newStation(t, 1000_00, ticketing.Grouping{Lanes: 1})
	event := s.shop.Event(t)
	s.shop.Inventory(t, event.ID, "VIP", 1_00, 100)
	h := &halved{station: s, key: s.shop.Key(), basket: ticketingtest.Basket(event.ID, "VIP", 1_00, 1)}
	leader := s.stage.holdNext()
	s.buy(t.Context(), s.shop, s.shop.Key(), h.basket)
	<-leader.entered
	whole := s.stage.holdNext()
	whole.failure = errors.New("a value that the database does not take")
	s.buy(t.Context(), s.shop, s.shop.Key(), h.basket)
	ctx, leave := context.WithCancel(t.Context())
	left := s.buy(ctx, s.shop, h.key, h.basket)
	close(leader.release)
	<-whole.entered
	h.half = s.stage.holdNext()
	leave()
	synctest.Wait()
	is.True(errors.Is(left.err, context.Canceled))
	close(whole.release)
	<-h.half.entered
	return h
}

func (h *halved) again(t *testing.T) *outcome[ticketing.Order] {
	t.Helper()
	return h.buy(t.Context(), h.shop, h.key, h.basket)
}

// TestKeyIsInFlightUntilItsCallHasRunAgain checks that a key stays in flight if its caller leaves during a run that
// fails, until its call has run again. A retry after that returns the order of that call.
func TestKeyIsInFlightUntilItsCallHasRunAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		h := newHalved(t)
		early := h.again(t)
		is.True(early.answered)
		is.Equal(code(early.err), ticketing.CodeConflict)
		its := h.stage.holdNext()
		close(h.half.release)
		<-its.entered
		time.Sleep(10 * time.Second) // The run takes long.
		early = h.again(t)
		is.True(early.answered)
		is.Equal(code(early.err), ticketing.CodeConflict)
		close(its.release)
		h.open.Wait()
		synctest.Wait()
		is.Equal(holdings(t, h.shop).Orders, 3) // These are the leader's order and one of each half.
		is.NoErr(h.again(t).err)
		is.Equal(holdings(t, h.shop).Orders, 3)
	})
}

// TestKeyOfACallThatIsGivenUpCanBeUsedAgain checks that a key does not stay in flight forever if its caller has left
// and its call is given up without another run.
func TestKeyOfACallThatIsGivenUpCanBeUsedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		h := newHalved(t)
		h.half.failure = ticketing.ErrUnavailable // Nothing runs again after this error.
		close(h.half.release)
		h.open.Wait()
		synctest.Wait()
		is.Equal(holdings(t, h.shop).Orders, 1)
		time.Sleep(10 * time.Second)
		is.NoErr(h.again(t).err)
		is.Equal(holdings(t, h.shop).Orders, 2)
	})
}

// TestLateCallLeavesTheKeyOfItsSuccessorInFlight checks a key that was used again while its first call took very long.
// It stays in flight until the second call returns, whenever the first one ends.
func TestLateCallLeavesTheKeyOfItsSuccessorInFlight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		h := newHalved(t)
		time.Sleep(10 * time.Second)
		second := h.again(t)
		is.True(!second.answered) // It is queued after the first call.
		first := h.stage.holdNext()
		close(h.half.release)
		<-first.entered
		its := h.stage.holdNext()
		close(first.release)
		<-its.entered
		third := h.again(t)
		is.True(third.answered)
		is.Equal(code(third.err), ticketing.CodeConflict)
		close(its.release)
		h.open.Wait()
		is.NoErr(second.err)
		is.Equal(holdings(t, h.shop).Orders, 3) // The second call returned the order of the first.
	})
}

// TestKeyIsInFlightWhileItsCallRuns checks that a key whose caller leaves while its call runs is in flight until that
// run has ended. Other calls with the key are refused at once.
func TestKeyIsInFlightWhileItsCallRuns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		s := newStation(t, 1000_00, ticketing.Grouping{Lanes: 1})
		event := s.shop.Event(t)
		s.shop.Inventory(t, event.ID, "VIP", 1_00, 100)
		key, basket := s.shop.Key(), ticketingtest.Basket(event.ID, "VIP", 1_00, 1)
		release := s.leader(t, event.ID)
		held := s.stage.holdNext()
		s.buy(t.Context(), s.shop, s.shop.Key(), basket)
		ctx, leave := context.WithCancel(t.Context())
		left := s.buy(ctx, s.shop, key, basket)
		go release()
		<-held.entered
		leave()
		synctest.Wait()
		is.True(errors.Is(left.err, context.Canceled))
		for range 2 {
			early := s.buy(t.Context(), s.shop, key, basket)
			is.True(early.answered)
			is.Equal(said(early.err), "Idempotent request is still processing")
			time.Sleep(6 * time.Second)
		}
		close(held.release)
		s.open.Wait()
		synctest.Wait()
		is.NoErr(s.buy(t.Context(), s.shop, key, basket).err) // This returns the order.
		is.Equal(holdings(t, s.shop).Orders, 3)
		is.NoErr(s.Drain(t.Context())) // The lane waits for more calls.
	})
}

// TestGroupRefusesKeysInFlightElsewhere checks that the calls of a group whose keys are in flight in another service
// are refused, whatever the outcome of the others is.
func TestGroupRefusesKeysInFlightElsewhere(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		s := newStation(t, 1000_00, ticketing.Grouping{Lanes: 1})
		other, err := ticketing.New(s.stage, &ticketing.Config{
			SecretKeys: [][]byte{secretKey('k')}, Clock: s.shop.Clock.Now, NewID: ticketingtest.NewIDs(3),
			Grouping: ticketing.Grouping{Off: true},
		})
		is.NoErr(err)
		event := s.shop.Event(t)
		s.shop.Inventory(t, event.ID, "VIP", 1_00, 100)
		key, basket := s.shop.Key(), ticketingtest.Basket(event.ID, "VIP", 1_00, 1)
		release := s.leader(t, event.ID)
		elsewhere := s.stage.holdNext()
		first := later(s, func() (ticketing.Order, error) { return other.Checkout(t.Context(), s.shop.Caller, key, basket) })
		second := s.buy(t.Context(), s.shop, key, basket)
		beside := s.buy(t.Context(), s.shop, s.shop.Key(), basket)
		go release()
		<-elsewhere.entered
		synctest.Wait()
		is.True(!first.answered && !second.answered && !beside.answered)
		close(elsewhere.release)
		s.open.Wait()
		is.Equal(s.sizes(), []int{1, 2})
		is.NoErr(first.err)
		is.Equal(said(second.err), "Idempotent request is still processing")
		is.NoErr(beside.err)
		is.Equal(holdings(t, s.shop).Orders, 3)
	})
}
