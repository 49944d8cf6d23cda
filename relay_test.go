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
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/store"
	"github.com/floatgate/ticketing/store/memory"
	"github.com/floatgate/ticketing/ticketingtest"
)

// TestFactsArePublishedAfterTheCommit checks that a fact is published after the commit that wrote it: OnFact can read
// the order, and its money has moved.
func TestFactsArePublishedAfterTheCommit(t *testing.T) {
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

// TestRefusedFactIsPublishedAgain checks that a fact for which OnFact fails or panics is published again half a minute
// later under the same id, and that the other facts are published once. The failure is logged without naming a buyer.
func TestRefusedFactIsPublishedAgain(t *testing.T) {
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
				refused <- first // From here on OnFact accepts the fact.
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

// due reports whether a fact is due for dispatch or publication after the given time.
func due(t testing.TB, shop *ticketingtest.Shop, in time.Duration) (found bool) {
	t.Helper()
	is.New(t).NoErr(shop.Store.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
		work, err := tx.DueWork(ctx, driver.WorkQuery{
			At: shop.Clock.Now().Add(in), Limit: 1,
			After: []driver.DueWork{{Kind: driver.WorkDispatch}, {Kind: driver.WorkPublish}},
		})
		found = len(work) > 0
		return err
	}))
	return found
}

// running runs a service's background work. The returned function ends it and waits until Run returns.
func running(t testing.TB, service *ticketing.Service) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- service.Run(ctx) }()
	return func() {
		t.Helper()
		cancel()
		is.New(t).NoErr(<-done) // Run returns nil.
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

// TestProcessesShareTheFacts checks that several processes on one database share the work: each fact is published by
// one of them, over several companies and with more facts than one batch takes.
func TestProcessesShareTheFacts(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		const companies, sales = 3, 80 // 240 facts each
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
				SecretKeys: [][]byte{secretKey('k')}, Clock: shop.Clock.Now, OnFact: facts.OnFact,
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
		is.True(!due(t, shop, 365*24*time.Hour)) // All facts are handled.
	})
}

// TestFactsOutliveTheService checks that the next process publishes the facts that an earlier one left.
func TestFactsOutliveTheService(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		ready(t, shop) // There is no background work yet.
		is.Equal(len(shop.Facts.All()), 0)
		again := shop.Reopen(t)
		again.Work(t)
		_, err := again.Facts.Wait(t.Context(), 3)
		is.NoErr(err)
	})
}

// TestRunEndsWithItsContext checks that Run returns nil when its context ends, even if the context ended before.
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

// TestRunFindsWorkByItself checks that Run ends events within a minute after their end, and publishes facts of other
// processes, without a wake-up.
func TestRunFindsWorkByItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		clock := ticketingtest.NewClock(time.Now())
		var facts ticketingtest.Facts
		store := memory.New()
		shop := ticketingtest.New(t, &ticketingtest.Config{Store: store, Clock: clock})
		runner, err := ticketing.New(store, &ticketing.Config{
			SecretKeys: [][]byte{secretKey('k')}, Clock: time.Now, OnFact: facts.OnFact,
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
		time.Sleep(time.Second) // This is time in the bubble, which passes at once.
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

// TestEventsEndWhileAFactIsBeingPublished checks that a slow OnFact does not delay the end of an event.
func TestEventsEndWhileAFactIsBeingPublished(t *testing.T) {
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
		time.Sleep(11 * time.Minute) // This is time in the bubble, which passes at once.
		synctest.Wait()
		is.Equal(status(t, shop, event), ticketing.EventEnded)
		end()
	})
}

// TestBackgroundWorkGoesOnAfterAFailure checks that a failure of the store does not stop the background work, which is
// done when the store works again.
func TestBackgroundWorkGoesOnAfterAFailure(t *testing.T) {
	t.Parallel()
	onStages(t, func(t *testing.T, shop *ticketingtest.Shop, stage *stagedStore) {
		is := is.New(t)
		failing := &failingStore{Store: stage}
		var facts ticketingtest.Facts
		log := new(lockedLog)
		service, err := ticketing.New(failing, &ticketing.Config{
			SecretKeys: [][]byte{secretKey('k')}, Clock: shop.Clock.Now, OnFact: facts.OnFact,
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

// failingStore is a store that fails one Update.
type failingStore struct {
	driver.Store

	mu     sync.Mutex
	failed chan struct{}
}

func (s *failingStore) failNext() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = make(chan struct{})
	return s.failed
}

func (s *failingStore) Update(ctx context.Context, fn func(context.Context, driver.Tx) error) error {
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

// TestHeldGateKeepsNoOtherFactsBack checks that a held gate of one company does not delay the facts of others, and that
// the company's own facts are published after its release.
func TestHeldGateKeepsNoOtherFactsBack(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	dsn := testdb.FreshDSN(t)
	db := postgres(t, dsn, &store.Config{BusyTimeout: 500 * time.Millisecond})
	shop := newShop(t, db)
	shops := []*ticketingtest.Shop{shop, shop.Neighbour(t), shop.Neighbour(t)}
	for _, s := range shops {
		ready(t, s)
	}
	// The service takes companies in the order of their ids.
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
