package ticketing_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ticketingtest"
)

// stagedStore is a store that can act before its next Update or hold it.
type stagedStore struct {
	driver.Store

	mu       sync.Mutex
	before   func()
	hold     *hold
	entrance driver.BeginOptions // of the last Update that entered the gate
}

// hold is an Update that waits after it has entered the gate.
type hold struct {
	entered chan struct{}
	enter   sync.Once // a store may run fn again
	release chan struct{}
	failure error // the error of Begin after the release
}

// once runs a function just before the next Update begins, when its caller is already authenticated.
func (s *stagedStore) once(before func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = before
}

// holdNext makes the next Update wait after it has entered the gate.
func (s *stagedStore) holdNext() *hold {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hold = &hold{entered: make(chan struct{}), release: make(chan struct{})}
	return s.hold
}

func (s *stagedStore) staged() (func(), *hold) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before, held := s.before, s.hold
	s.before, s.hold = nil, nil
	return before, held
}

func (s *stagedStore) Update(ctx context.Context, fn func(context.Context, driver.Tx) error) error {
	before, held := s.staged()
	if before != nil {
		before()
	}
	return s.Store.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		return fn(ctx, stagedTx{tx, s, held})
	})
}

type stagedTx struct {
	driver.Tx

	stage *stagedStore
	held  *hold
}

func (tx stagedTx) Begin(ctx context.Context, in driver.BeginOptions) ([]bool, error) {
	for i, claim := range in.Keys {
		if slices.Contains(in.Keys[:i], claim) {
			return nil, errors.New("an entrance holds two equal claims")
		}
	}
	inFlight, err := tx.Tx.Begin(ctx, in)
	tx.stage.mu.Lock()
	tx.stage.entrance = in
	tx.stage.mu.Unlock()
	if tx.held != nil {
		tx.held.enter.Do(func() { close(tx.held.entered) })
		<-tx.held.release
		err = errors.Join(err, tx.held.failure)
	}
	return inFlight, err
}

// onStages is onShops over a stagedStore.
func onStages(t *testing.T, test func(t *testing.T, shop *ticketingtest.Shop, stage *stagedStore)) {
	t.Helper()
	for _, store := range stores() {
		t.Run(store.Name, func(t *testing.T) {
			t.Parallel()
			stage := &stagedStore{Store: store.Open(t)}
			test(t, ticketingtest.New(t, &ticketingtest.Config{Store: stage}), stage)
		})
	}
}

// keyed is one of the four idempotent operations, with all its input but the key.
type keyed struct {
	name string
	call func(ctx context.Context, caller ticketing.Caller, key string) (any, error)
}

// keyedOperations returns the four operations on a service, which need not be that of the shop.
func keyedOperations(
	service *ticketing.Service, event ticketing.Event, order ticketing.Order,
) []keyed {
	return []keyed{
		{"create event", func(ctx context.Context, caller ticketing.Caller, key string) (any, error) {
			return service.CreateEvent(ctx, caller, key, ticketingtest.EventParams())
		}},
		{"create inventory", func(ctx context.Context, caller ticketing.Caller, key string) (any, error) {
			return service.CreateInventory(ctx, caller, event.ID, key, ticketingtest.InventoryParams("VIP", 150_00, 5))
		}},
		{"checkout", func(ctx context.Context, caller ticketing.Caller, key string) (any, error) {
			return service.Checkout(ctx, caller, key, ticketingtest.Basket(event.ID, "VIP", 150_00, 2))
		}},
		{"validate", func(ctx context.Context, caller ticketing.Caller, key string) (any, error) {
			return service.ValidateAdmission(ctx, caller, event.ID, order.Lines[0].AdmissionID, key,
				ticketing.ValidateParams{Location: "Gate"})
		}},
	}
}

// ready creates an event on sale and sells an order of it.
func ready(t testing.TB, shop *ticketingtest.Shop) (ticketing.Event, ticketing.Order) {
	t.Helper()
	event := shop.Event(t)
	shop.Inventory(t, event.ID, "VIP", 150_00, 100)
	return event, shop.Sell(t, event.ID, "VIP", 1)
}

// answer is the outcome of an asynchronous call.
type answer struct {
	result any
	err    error
}

// TestDuplicateInFlightIsRefusedAtOnce checks Section 4.11, item 4. While the original is in flight, a call with the
// same key is 409 at once, for every operation, also by another service on the same store. The original continues, and
// later calls with the key return its result.
func TestDuplicateInFlightIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	onStages(t, func(t *testing.T, shop *ticketingtest.Shop, stage *stagedStore) {
		is := is.New(t)
		event, order := ready(t, shop)
		again := keyedOperations(shop.Reopen(t).Service, event, order)
		for i, operation := range keyedOperations(shop.Service, event, order) {
			key := shop.Key()
			held := stage.holdNext()
			original := make(chan answer, 1)
			go func() {
				result, err := operation.call(t.Context(), shop.Caller, key)
				original <- answer{result, err}
			}()
			<-held.entered
			for _, duplicate := range []keyed{operation, again[i]} {
				_, err := duplicate.call(t.Context(), shop.Caller, key)
				is.Equal(code(err), ticketing.CodeConflict)
				is.Equal(said(err), "Idempotent request is still processing")
			}
			// A caller without the grant gets PERMISSION_DENIED all the same.
			_, err := operation.call(t.Context(), shop.With(), key)
			is.Equal(code(err), ticketing.CodePermissionDenied)
			close(held.release)
			first := <-original
			is.NoErr(first.err)
			result, err := operation.call(t.Context(), shop.Caller, key)
			is.NoErr(err)
			is.Equal(show(t, result), show(t, first.result))
		}
	})
}

// TestKeysInFlightAreOfCompanyAndOperation checks that a key in flight does not affect an equal key of another company
// or another operation.
func TestKeysInFlightAreOfCompanyAndOperation(t *testing.T) {
	t.Parallel()
	onStages(t, func(t *testing.T, shop *ticketingtest.Shop, stage *stagedStore) {
		is := is.New(t)
		other := shop.Neighbour(t)
		event, order := ready(t, shop)
		key := shop.Key()
		held := stage.holdNext()
		original, foreign, second := make(chan answer, 1), make(chan answer, 1), make(chan answer, 1)
		go func() {
			result, err := keyedOperations(shop.Service, event, order)[0].call(t.Context(), shop.Caller, key)
			original <- answer{result, err}
		}()
		<-held.entered
		go func() { // They may wait for the original, but are not duplicates of it.
			result, err := keyedOperations(shop.Service, event, order)[0].call(t.Context(), other.Caller, key)
			foreign <- answer{result, err}
		}()
		go func() {
			result, err := keyedOperations(shop.Service, event, order)[1].call(t.Context(), shop.Caller, key)
			second <- answer{result, err}
		}()
		close(held.release)
		for _, answers := range []chan answer{original, foreign, second} {
			is.NoErr((<-answers).err)
		}
	})
}

// TestRefusalsComeBeforeTheKeyInFlight checks that a missing authority is reported before a key in flight: the
// verification (Section 4.7), the company, the API key.
func TestRefusalsComeBeforeTheKeyInFlight(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		lose func(ctx context.Context, shop *ticketingtest.Shop) error
		want ticketing.Code
	}{
		"verification": {func(ctx context.Context, shop *ticketingtest.Shop) error {
			_, err := shop.Staff.RevokeVerification(ctx, shop.Company.ID)
			return err
		}, ticketing.CodeVerificationRequired},
		"company": {func(ctx context.Context, shop *ticketingtest.Shop) error {
			_, err := shop.Staff.SuspendCompany(ctx, shop.Company.ID)
			return err
		}, ticketing.CodePermissionDenied},
		"key": {func(ctx context.Context, shop *ticketingtest.Shop) error {
			_, err := shop.Staff.RevokeAPIKey(ctx, shop.Caller.KeyID())
			return err
		}, ticketing.CodePermissionDenied},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onStages(t, func(t *testing.T, shop *ticketingtest.Shop, stage *stagedStore) {
				is := is.New(t)
				event, _ := ready(t, shop)
				is.NoErr(test.lose(t.Context(), shop))
				basket, key := ticketingtest.Basket(event.ID, "VIP", 150_00, 1), shop.Key()
				held := stage.holdNext()
				original := make(chan error, 1)
				go func() {
					_, err := shop.Checkout(t.Context(), shop.Caller, key, basket)
					original <- err
				}()
				<-held.entered
				_, err := shop.Checkout(t.Context(), shop.Caller, key, basket)
				is.Equal(code(err), test.want)
				close(held.release)
				is.Equal(code(<-original), test.want)
			})
		})
	}
}

// TestIdenticalCheckoutsAtOnceMakeOneOrder checks that 20 concurrent identical requests make one order. Each returns
// that order, or fails because the order is still being processed.
func TestIdenticalCheckoutsAtOnceMakeOneOrder(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event, _ := ready(t, shop)
		before, key := holdings(t, shop), shop.Key()
		orders, errs := make([]ticketing.Order, 20), make([]error, 20)
		var done sync.WaitGroup
		for i := range orders {
			done.Go(func() {
				orders[i], errs[i] = shop.Checkout(t.Context(), shop.Caller, key, ticketingtest.Basket(event.ID, "VIP", 150_00, 3))
			})
		}
		done.Wait()
		first, err := shop.Checkout(t.Context(), shop.Caller, key, ticketingtest.Basket(event.ID, "VIP", 150_00, 3))
		is.NoErr(err)
		for i, order := range orders {
			if errs[i] != nil {
				is.Equal(code(errs[i]), ticketing.CodeConflict)
				is.Equal(said(errs[i]), "Idempotent request is still processing")
				continue
			}
			is.Equal(show(t, order), show(t, first))
		}
		is.True(slices.Contains(errs, nil))
		is.Equal(holdings(t, shop).Orders, before.Orders+1)
		is.Equal(shop.Wallets(t).Float, before.Wallets.Float-450_00)
	})
}

// TestAFailedTransactionSpendsNoKey checks that an error of the store is not a refusal and uses no key up: the same
// call succeeds when the store works again.
func TestAFailedTransactionSpendsNoKey(t *testing.T) {
	t.Parallel()
	onStages(t, func(t *testing.T, shop *ticketingtest.Shop, stage *stagedStore) {
		is := is.New(t)
		event, order := ready(t, shop)
		for _, operation := range keyedOperations(shop.Service, event, order) {
			before, key := holdings(t, shop), shop.Key()
			held := stage.holdNext()
			held.failure = ticketing.ErrUnavailable
			original := make(chan error, 1)
			go func() {
				_, err := operation.call(t.Context(), shop.Caller, key)
				original <- err
			}()
			<-held.entered
			close(held.release)
			is.True(errors.Is(<-original, ticketing.ErrUnavailable))
			is.Equal(holdings(t, shop), before)
			_, err := operation.call(t.Context(), shop.Caller, key)
			is.NoErr(err)
		}
	})
}

// TestTimeIsReadOncePerOperation checks that time is read once, so that all records of one sale have the same time.
func TestTimeIsReadOncePerOperation(t *testing.T) {
	t.Parallel()
	for _, store := range stores() {
		t.Run(store.Name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			shop := openShop(t, store, nil)
			event, _ := ready(t, shop)
			var mu sync.Mutex
			at := shop.Clock.Now()
			running, err := ticketing.New(shop.Store, &ticketing.Config{
				SecretKeys: [][]byte{secretKey('k')},
				Clock: func() time.Time {
					mu.Lock()
					defer mu.Unlock()
					at = at.Add(time.Second)
					return at
				},
			})
			is.NoErr(err)
			order, err := running.Checkout(t.Context(), shop.Caller, shop.Key(),
				ticketingtest.Basket(event.ID, "VIP", 150_00, 1))
			is.NoErr(err)
			is.Equal(order.CreatedAt, order.ConfirmedAt)
			var last []driver.Fact
			is.NoErr(shop.Store.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
				facts, err := tx.ListFacts(ctx, shop.Company.ID, driver.Position{}, 100)
				for _, fact := range facts {
					if fact.Subject == order.ID {
						last = append(last, fact)
					}
				}
				return err
			}))
			is.Equal(len(last), 1)
			for _, fact := range last {
				is.Equal(fact.At, order.ConfirmedAt.Time)
			}
		})
	}
}

// TestOnlyChangesOfStatusAndNewEventsCloseTheGate checks that an operation that changes what a sale only reads closes
// the company's gate. So does the creation of an event, for its place in the list. All others share the gate. The
// idempotent operations claim their key.
func TestOnlyChangesOfStatusAndNewEventsCloseTheGate(t *testing.T) {
	t.Parallel()
	onStages(t, func(t *testing.T, shop *ticketingtest.Shop, stage *stagedStore) {
		is := is.New(t)
		event, order := ready(t, shop)
		all := operations(shop, event, order)
		all = append(all, granted{name: "end event", write: true, call: func(ctx context.Context, _ ticketing.Caller) error {
			_, err := shop.Staff.EndEvent(ctx, shop.Event(t).ID)
			return err
		}}, granted{name: "end events", write: true, call: func(ctx context.Context, _ ticketing.Caller) error {
			shop.Event(t)
			shop.Clock.Set(utc(t, "2026-12-22 00:00"))
			_, err := shop.EndEvents(ctx)
			return err
		}})
		closing := []string{"create event", "publish event", "cancel event", "end event", "end events"}
		claiming := []string{"create event", "create inventory", "checkout", "validate"}
		company := []uuid.UUID{shop.Company.ID}
		for _, operation := range all {
			if !operation.write {
				continue
			}
			is.NoErr(operation.call(t.Context(), shop.Caller))
			stage.mu.Lock()
			in := stage.entrance
			stage.mu.Unlock()
			if slices.Contains(closing, operation.name) {
				is.Equal(in.Exclusive, company)
				is.Equal(len(in.Shared), 0)
			} else {
				is.Equal(in.Shared, company)
				is.Equal(len(in.Exclusive), 0)
			}
			is.Equal(len(in.Keys) == 1, slices.Contains(claiming, operation.name))
		}
	})
}

// againStore runs the next Update twice, as a store does after a transient failure, and calls a function in between.
type againStore struct {
	driver.Store

	mu      sync.Mutex
	between func()
}

func (s *againStore) nextTime(between func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.between = between
}

var errTakenBack = errors.New("taken back")

func (s *againStore) Update(ctx context.Context, fn func(context.Context, driver.Tx) error) error {
	s.mu.Lock()
	between := s.between
	s.between = nil
	s.mu.Unlock()
	if between == nil {
		return s.Store.Update(ctx, fn)
	}
	err := s.Store.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		_ = fn(ctx, tx) // Its decision is rolled back.
		return errTakenBack
	})
	if !errors.Is(err, errTakenBack) {
		return err
	}
	between()
	return s.Store.Update(ctx, fn)
}

// TestEveryOutcomeIsAssignedAfresh checks that a transaction that runs again decides again: nothing of the first run is
// left, neither a refusal nor a result.
func TestEveryOutcomeIsAssignedAfresh(t *testing.T) {
	t.Parallel()
	for _, store := range stores() {
		t.Run(store.Name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			ctx := t.Context()
			again := &againStore{Store: store.Open(t)}
			shop := ticketingtest.New(t, &ticketingtest.Config{Store: again})
			event, order := ready(t, shop)
			suspend := func() {
				_, err := shop.Staff.SuspendCompany(ctx, shop.Company.ID)
				is.NoErr(err)
			}
			activate := func() {
				_, err := shop.Staff.ActivateCompany(ctx, shop.Company.ID)
				is.NoErr(err)
			}
			for i, operation := range keyedOperations(shop.Service, event, order) {
				before, key := holdings(t, shop), shop.Key()
				again.nextTime(suspend) // It is accepted, then refused.
				result, err := operation.call(ctx, shop.Caller, key)
				is.Equal(code(err), ticketing.CodePermissionDenied)
				is.True(reflect.ValueOf(result).IsZero())
				is.Equal(holdings(t, shop), before)

				again.nextTime(activate) // It is refused, then accepted.
				result, err = operation.call(ctx, shop.Caller, key)
				is.NoErr(err)
				replayed, err := operation.call(ctx, shop.Caller, key)
				is.NoErr(err)
				is.Equal(show(t, replayed), show(t, result))

				var first any
				key = shop.Key()
				again.nextTime(func() { // It is accepted, then found done by an equal request.
					var err error
					first, err = keyedOperations(shop.Reopen(t).Service, event, order)[i].call(ctx, shop.Caller, key)
					is.NoErr(err)
				})
				result, err = operation.call(ctx, shop.Caller, key)
				is.NoErr(err)
				is.Equal(show(t, result), show(t, first))

				key = shop.Key()
				_, err = operation.call(ctx, shop.Caller, key)
				is.NoErr(err)
				again.nextTime(suspend) // It is replayed, then refused.
				result, err = operation.call(ctx, shop.Caller, key)
				is.Equal(code(err), ticketing.CodePermissionDenied)
				is.True(reflect.ValueOf(result).IsZero())
				activate()
			}

			last := shop.Event(t)
			shop.Inventory(t, last.ID, "VIP", 1_00, 1)
			again.nextTime(func() { shop.Reopen(t).Sell(t, last.ID, "VIP", 1) }) // Another sale comes first.
			sold, err := shop.Checkout(ctx, shop.Caller, shop.Key(), ticketingtest.Basket(last.ID, "VIP", 1_00, 1))
			is.Equal(code(err), ticketing.CodeInventoryUnavailable)
			is.True(reflect.ValueOf(sold).IsZero())

			again.nextTime(suspend)
			changed, err := shop.UpdateEvent(ctx, shop.Caller, last.ID, ticketing.UpdateEventParams{Title: of("New")})
			is.Equal(code(err), ticketing.CodePermissionDenied)
			is.True(reflect.ValueOf(changed).IsZero())
			activate()
			again.nextTime(suspend)
			tier, err := shop.UpdateInventory(ctx, shop.Caller, event.ID, "VIP",
				ticketing.UpdateInventoryParams{Status: of(ticketing.InventoryAvailable)})
			is.Equal(code(err), ticketing.CodePermissionDenied)
			is.True(reflect.ValueOf(tier).IsZero())
			activate()
			cancel := func() { // This is another service, since in this one the running call has the company's turn.
				_, err := shop.Reopen(t).CancelEvent(ctx, shop.Caller, last.ID)
				is.NoErr(err)
			}
			again.nextTime(cancel)
			changed, err = shop.CancelEvent(ctx, shop.Caller, last.ID)
			is.Equal(code(err), ticketing.CodeConflict)
			is.True(reflect.ValueOf(changed).IsZero())
			last = shop.Event(t)
			again.nextTime(cancel)
			changed, err = shop.Staff.EndEvent(ctx, last.ID)
			is.Equal(code(err), ticketing.CodeConflict)
			is.True(reflect.ValueOf(changed).IsZero())

			for _, operation := range operations(shop, event, order) {
				if !operation.write {
					continue
				}
				again.nextTime(suspend)
				is.Equal(code(operation.call(ctx, shop.Caller)), ticketing.CodePermissionDenied)
				again.nextTime(activate)
				is.NoErr(operation.call(ctx, shop.Caller))
			}
		})
	}
}
