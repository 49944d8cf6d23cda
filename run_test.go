package ticketing_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/store"
	"github.com/floatgate/ticketing/store/memory"
	"github.com/floatgate/ticketing/ticketingtest"
)

// A fact is told after the commit that wrote it: whoever hears of an order can read it, and its money has moved.
func TestFactsAreToldAfterTheCommit(t *testing.T) {
	t.Parallel()
	for _, store := range stores() {
		t.Run(store.Name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			var shop *ticketingtest.Shop
			read := make(chan error, 10)
			shop = openShop(t, store, &ticketingtest.Config{OnFact: func(
				ctx context.Context, fact ticketing.Fact,
			) error {
				if email, ok := fact.Data.(ticketing.TicketEmail); ok {
					found, err := shop.GetOrder(ctx, shop.Caller, email.Order.ID)
					if err == nil && found.ID != email.Order.ID {
						err = errors.New("another order")
					}
					read <- err
				}
				return nil
			}})
			shop.Work(t)
			ready(t, shop)
			is.NoErr(<-read)
			_, err := shop.Facts.Wait(t.Context(), 3)
			is.NoErr(err)
		})
	}
}

// A fact that OnFact refuses, also by a panic, is told again half a minute later under the same id, and the others are
// told once. Whatever goes wrong is logged, and the log names no buyer.
func TestARefusedFactIsToldAgain(t *testing.T) {
	t.Parallel()
	for name, refuse := range map[string]func() error{
		"error": func() error { return errors.New("full") },
		"panic": func() error { panic("ada@example.com") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onStages(t, func(t *testing.T, shop *ticketingtest.Shop, _ *stagedStore) {
				is := is.New(t)
				told := make(chan ticketing.Fact, 100)
				refused := make(chan ticketing.Fact, 100)
				log := new(lockedLog)
				service, err := ticketing.New(shop.Store, &ticketing.Config{
					SecretKeys: [][]byte{secretKey('k')}, Clock: shop.Clock.Now,
					Logger: slog.New(slog.NewTextHandler(log, nil)),
					OnFact: func(_ context.Context, fact ticketing.Fact) error {
						if fact.Type == ticketing.FactOrderCreated && len(refused) == 0 {
							refused <- fact
							return refuse()
						}
						told <- fact
						return nil
					},
				})
				is.NoErr(err)
				ended := running(t, service)
				ready(t, shop)
				service.Wake()
				one, two, first := <-told, <-told, <-refused
				refused <- first // From here on it is taken.
				is.True(one.Type != two.Type && one.ID != first.ID && two.ID != first.ID)

				is.True(!due(t, shop, 30*time.Second-time.Millisecond))
				is.True(due(t, shop, 30*time.Second))
				shop.Clock.Advance(30 * time.Second)
				service.Wake()
				again := <-told
				is.Equal(again, first)
				ended()
				is.Equal(len(told), 0)
				is.True(strings.Contains(log.String(), first.ID.String()))
				is.True(!strings.Contains(log.String(), "ada@example.com"))
			})
		})
	}
}

// due tells whether a fact will wait to be told, so long from now on.
func due(t testing.TB, shop *ticketingtest.Shop, in time.Duration) (found bool) {
	t.Helper()
	is.New(t).NoErr(shop.Store.View(t.Context(), func(ctx context.Context, tx ticketing.ReadTx) error {
		work, err := tx.DueWork(ctx, ticketing.WorkQuery{
			At: shop.Clock.Now().Add(in), Limit: 1,
			After: []ticketing.DueWork{{Kind: ticketing.WorkDispatch}, {Kind: ticketing.WorkTell}},
		})
		found = len(work) > 0
		return err
	}))
	return found
}

// running runs a service's background work; the function ends it and waits for that.
func running(t testing.TB, service *ticketing.Service) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- service.Run(ctx) }()
	return func() {
		t.Helper()
		cancel()
		is.New(t).NoErr(<-done) // It ends with nil.
	}
}

type lockedLog struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Several processes on one database share the work: each fact is told once among them, over many companies and more
// facts than are taken at a time.
func TestProcessesShareTheFacts(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		const companies, sales = 3, 80 // 240 facts each.
		for range companies {
			ready(t, shop.Neighbour(t))
		}
		for range sales {
			ready(t, shop)
		}
		var facts ticketingtest.Facts
		var ends []func()
		for range 3 {
			service, err := ticketing.New(shop.Store, &ticketing.Config{
				SecretKeys: [][]byte{secretKey('k')}, Clock: shop.Clock.Now, OnFact: facts.Tell,
			})
			is.NoErr(err)
			ends = append(ends, running(t, service))
		}
		const want = 3 * (companies + sales)
		_, err := facts.Wait(t.Context(), want)
		is.NoErr(err)
		for _, end := range ends {
			end()
		}
		seen := make(map[uuid.UUID]bool)
		for _, fact := range facts.All() {
			seen[fact.ID] = true
		}
		is.Equal([]int{len(seen), len(facts.All())}, []int{want, want})
		is.True(!due(t, shop, 365*24*time.Hour)) // All are handled.
	})
}

// What a process leaves behind, the next one tells.
func TestFactsOutliveTheService(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		ready(t, shop) // Nothing runs.
		is.Equal(len(shop.Facts.All()), 0)
		again := shop.Reopen(t)
		again.Work(t)
		_, err := again.Facts.Wait(t.Context(), 3)
		is.NoErr(err)
	})
}

// Run ends when its context ends, also where that has ended before; its end is no error.
func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		is.NoErr(shop.Run(ctx))
		running(t, shop.Service)()
	})
}

// Run ends events within a minute after their end, and tells facts that other processes left, without being woken.
func TestRunFindsWorkByItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		clock := ticketingtest.NewClock(time.Now())
		var facts ticketingtest.Facts
		store := memory.New()
		shop := ticketingtest.New(t, &ticketingtest.Config{Store: store, Clock: clock})
		runner, err := ticketing.New(store, &ticketing.Config{
			SecretKeys: [][]byte{secretKey('k')}, Clock: time.Now, OnFact: facts.Tell,
		})
		is.NoErr(err)
		event := shop.Event(t, func(p *ticketing.CreateEventParams) {
			end := clock.Now().UTC().Add(90 * time.Minute).Truncate(time.Minute)
			p.Date, p.StartsAt, p.EndsAt, p.Timezone = end.Format(time.DateOnly), "00:00", end.Format("15:04"), "UTC"
		})
		end := running(t, runner)
		shop.Inventory(t, event.ID, "VIP", 1_00, 1)
		synctest.Wait()
		shop.Sell(t, event.ID, "VIP", 1)
		time.Sleep(time.Second) // The time of the bubble: it passes at once.
		synctest.Wait()
		is.Equal(len(facts.All()), 3)

		time.Sleep(90*time.Minute - 2*time.Second)
		synctest.Wait()
		is.Equal(status(t, shop, event), ticketing.EventPublished)
		time.Sleep(time.Minute)
		synctest.Wait()
		is.Equal(status(t, shop, event), ticketing.EventEnded)
		end()
	})
}

// A host that takes its time with facts keeps no event from ending.
func TestEventsEndWhileAFactIsBeingTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		clock := ticketingtest.NewClock(time.Now())
		store := memory.New()
		shop := ticketingtest.New(t, &ticketingtest.Config{Store: store, Clock: clock})
		runner, err := ticketing.New(store, &ticketing.Config{
			SecretKeys: [][]byte{secretKey('k')}, Clock: time.Now,
			OnFact: func(ctx context.Context, _ ticketing.Fact) error {
				<-ctx.Done()
				return ctx.Err()
			},
		})
		is.NoErr(err)
		event := shop.Event(t, func(p *ticketing.CreateEventParams) {
			end := clock.Now().UTC().Add(10 * time.Minute).Truncate(time.Minute)
			p.Date, p.StartsAt, p.EndsAt, p.Timezone = end.Format(time.DateOnly), "00:00", end.Format("15:04"), "UTC"
		})
		shop.Inventory(t, event.ID, "VIP", 1_00, 1)
		shop.Sell(t, event.ID, "VIP", 1)
		end := running(t, runner)
		time.Sleep(11 * time.Minute) // The time of the bubble: it passes at once.
		synctest.Wait()
		is.Equal(status(t, shop, event), ticketing.EventEnded)
		end()
	})
}

// A store that fails stops nothing: what it kept from being done is done when it works again.
func TestBackgroundWorkGoesOnAfterAFailure(t *testing.T) {
	t.Parallel()
	onStages(t, func(t *testing.T, shop *ticketingtest.Shop, stage *stagedStore) {
		is := is.New(t)
		failing := &failingStore{Store: stage}
		var facts ticketingtest.Facts
		log := new(lockedLog)
		service, err := ticketing.New(failing, &ticketing.Config{
			SecretKeys: [][]byte{secretKey('k')}, Clock: shop.Clock.Now, OnFact: facts.Tell,
			Logger: slog.New(slog.NewTextHandler(log, nil)),
		})
		is.NoErr(err)
		ready(t, shop)
		failed := failing.failNext()
		end := running(t, service)
		<-failed
		service.Wake()
		_, err = facts.Wait(t.Context(), 3)
		is.NoErr(err)
		end()
		is.True(strings.Contains(log.String(), "background work failed"))
	})
}

// failingStore fails one Update.
type failingStore struct {
	ticketing.Store

	mu     sync.Mutex
	failed chan struct{}
}

func (s *failingStore) failNext() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = make(chan struct{})
	return s.failed
}

func (s *failingStore) Update(ctx context.Context, fn func(context.Context, ticketing.Tx) error) error {
	s.mu.Lock()
	failed := s.failed
	s.failed = nil
	s.mu.Unlock()
	if failed != nil {
		close(failed)
		return fmt.Errorf("update: %w", ticketing.ErrBusy)
	}
	return s.Store.Update(ctx, fn)
}

// A company whose gate somebody holds keeps no other company's facts from being told, and its own are told afterwards.
func TestHeldGateKeepsNoOtherFactsBack(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	dsn := pgtest.Database(t)
	db := postgres(t, dsn, &store.Config{BusyTimeout: 500 * time.Millisecond})
	shop := newShop(t, db)
	shops := []*ticketingtest.Shop{shop, shop.Neighbour(t), shop.Neighbour(t)}
	for _, s := range shops {
		ready(t, s)
	}
	// Companies come in the order of their ids.
	slices.SortFunc(shops, func(a, b *ticketingtest.Shop) int {
		return bytes.Compare(a.Company.ID[:], b.Company.ID[:])
	})
	told := make(chan uuid.UUID, 100)
	svc, err := ticketing.New(db, &ticketing.Config{
		SecretKeys: [][]byte{secretKey('k')}, Clock: shop.Clock.Now, PollInterval: 10 * time.Millisecond,
		OnFact: func(_ context.Context, fact ticketing.Fact) error {
			told <- fact.CompanyID
			return nil
		},
	})
	is.NoErr(err)
	release := holdGate(t, dsn, shops[0].Company.ID)
	ended := running(t, svc)
	heard := map[uuid.UUID]bool{}
	await := func(company uuid.UUID) {
		t.Helper()
		for !heard[company] {
			select {
			case id := <-told:
				heard[id] = true
			case <-time.After(patience):
				t.Fatal("the facts of a company were not told")
			}
		}
	}
	await(shops[1].Company.ID)
	await(shops[2].Company.ID)
	is.True(!heard[shops[0].Company.ID])
	release()
	await(shops[0].Company.ID)
	ended()
}
