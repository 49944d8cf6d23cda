package ticketing_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/store/memory"
	"github.com/floatgate/ticketing/ticketingtest"
)

// inBubble runs a test with a shop in memory whose clock is that of a synctest bubble: waiting takes no time.
func inBubble(t *testing.T, test func(t *testing.T, shop *ticketingtest.Shop, in *inbox)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		clock := ticketingtest.NewClock(time.Now())
		shop := ticketingtest.New(t, &ticketingtest.Config{Store: memory.New(), Clock: clock})
		test(t, shop, newInbox(time.Now))
	})
}

// sellMany sells n admissions in orders of one.
func sellMany(t testing.TB, shop *ticketingtest.Shop, n int) {
	t.Helper()
	event := shop.Event(t)
	shop.Inventory(t, event.ID, "VIP", 1_00, n)
	for range n {
		shop.Sell(t, event.ID, "VIP", 1)
	}
}

// TestAHangingEndpointHoldsUpNobody checks that an endpoint that hangs on every request delays no other endpoint, not
// even of its own company. After a timeout it gets one attempt at a time, and all its deliveries once it works again.
func TestAHangingEndpointHoldsUpNobody(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, shop *ticketingtest.Shop, in *inbox) {
		is := is.New(t)
		hangs := in.register(t, shop, ticketing.FactOrderCreated)
		var now, most atomic.Int64
		well := make(chan struct{})
		in.answer(hangs.ID, func(ctx context.Context, _ posted) (int, error) {
			if n := now.Add(1); n > most.Load() {
				most.Store(n)
			}
			defer now.Add(-1)
			select {
			case <-ctx.Done():
				return 0, ctx.Err()
			case <-well:
				return 200, nil
			}
		})
		other := in.register(t, shop, ticketing.FactOrderCreated)
		neighbour := shop.Neighbour(t)
		theirs := in.register(t, neighbour, ticketing.FactOrderCreated)
		end := running(t, sender(t, shop, in, realTime))
		const sales = 50
		sellMany(t, shop, sales)
		sellMany(t, neighbour, sales)
		time.Sleep(2 * time.Second) // This is time in the bubble.
		synctest.Wait()
		is.Equal(len(in.of(t, other.ID)), sales)
		is.Equal(len(in.of(t, theirs.ID)), sales)
		is.True(most.Load() <= 2)

		time.Sleep(30 * time.Second)
		most.Store(0)
		time.Sleep(time.Minute)
		is.Equal(most.Load(), int64(1)) // It gets one attempt at a time.
		close(well)
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		end()
		for _, d := range deliveries(t, shop) {
			is.Equal(d.Status, ticketing.DeliverySucceeded)
		}
	})
}

// TestDeadEndpointsAtTheStartHoldUpNobody checks that dead endpoints do not delay an endpoint of another company,
// however many they are, in a process that has just started and does not yet know that they are dead.
func TestDeadEndpointsAtTheStartHoldUpNobody(t *testing.T) {
	t.Parallel()
	for _, companies := range []int{20, 200} {
		t.Run(fmt.Sprint(10*companies), func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, shop *ticketingtest.Shop, in *inbox) {
				is := is.New(t)
				shops := []*ticketingtest.Shop{shop}
				for range companies - 1 {
					shops = append(shops, shop.Neighbour(t))
				}
				for _, s := range shops {
					for range 10 {
						h := in.register(t, s, ticketing.FactOrderCreated)
						in.answer(h.ID, hang)
					}
				}
				alive := shop.Neighbour(t)
				h := in.register(t, alive, ticketing.FactOrderCreated)
				for _, s := range shops {
					sellMany(t, s, 5)
				}
				end := running(t, sender(t, shop, in, realTime))
				time.Sleep(time.Second)
				sellMany(t, alive, 10)
				begun := time.Now()
				for len(in.of(t, h.ID)) < 10 && time.Since(begun) < time.Minute {
					time.Sleep(100 * time.Millisecond)
					synctest.Wait()
				}
				is.True(time.Since(begun) < 2*time.Second)
				end()
			})
		})
	}
}

// TestManyDeadEndpointsHoldUpNobody checks that a hundred dead endpoints leave enough capacity for the others.
func TestManyDeadEndpointsHoldUpNobody(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, shop *ticketingtest.Shop, in *inbox) {
		is := is.New(t)
		shops := []*ticketingtest.Shop{shop}
		for range 9 {
			shops = append(shops, shop.Neighbour(t))
		}
		for _, s := range shops {
			for range 10 {
				h := in.register(t, s, ticketing.FactOrderCreated)
				in.answer(h.ID, hang)
			}
		}
		alive := shop.Neighbour(t)
		h := in.register(t, alive, ticketing.FactOrderCreated)
		end := running(t, sender(t, shop, in, realTime))
		for _, s := range shops {
			sellMany(t, s, 20)
		}
		time.Sleep(time.Second)
		for n := 1; n <= 3; n++ {
			sellMany(t, alive, 10)
			time.Sleep(time.Second)
			synctest.Wait()
			is.Equal(len(in.of(t, h.ID)), 10*n)
			time.Sleep(20 * time.Second)
		}
		end()
	})
}

// TestRunFinishesItsAttempts checks that Run returns after the attempts in flight and stores their outcomes. Deliveries
// that have not begun are released at once.
func TestRunFinishesItsAttempts(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, shop *ticketingtest.Shop, in *inbox) {
		is := is.New(t)
		h := in.register(t, shop, ticketing.FactOrderCreated)
		in.answer(h.ID, func(context.Context, posted) (int, error) {
			time.Sleep(3 * time.Second)
			return 200, nil
		})
		end := running(t, sender(t, shop, in, realTime))
		const sales = 40
		sellMany(t, shop, sales)
		time.Sleep(4 * time.Second) // Two have returned, and four are in flight.
		begun := time.Now()
		end()
		is.True(time.Since(begun) < 4*time.Second)
		posts := len(in.of(t, h.ID))
		is.True(posts > 2 && posts < sales)
		done := 0
		for _, d := range deliveries(t, shop) {
			if d.Status == ticketing.DeliverySucceeded {
				done++
			} else {
				is.True(d.LeasedUntil.IsZero()) // Another process may claim it now.
				is.True(!d.DueAt.After(time.Now()))
			}
		}
		is.Equal(done, posts)
		in.answer(h.ID, nil)
		is.Equal(send(t, sender(t, shop, in, realTime)), sales-posts)
	})
}

// TestAnIdleServiceHardlyAsks checks that an idle service calls the store at most twice a second, for all its work.
func TestAnIdleServiceHardlyAsks(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, shop *ticketingtest.Shop, in *inbox) {
		is := is.New(t)
		in.register(t, shop)
		counting := &countingStore{Store: shop.Store}
		quiet := *shop
		quiet.Store = counting
		end := running(t, sender(t, &quiet, in, realTime, func(c *ticketing.Config) {
			c.OnFact = func(context.Context, ticketing.Fact) error { return nil }
		}))
		sellMany(t, shop, 3)
		time.Sleep(time.Minute)
		before := counting.asked.Load()
		const minutes = 30
		time.Sleep(minutes * time.Minute)
		asked := counting.asked.Load() - before
		is.True(asked > 0)
		is.True(asked <= minutes*60*2)
		end()
	})
}

// countingStore counts transactions and reads.
type countingStore struct {
	driver.Store

	asked atomic.Int64
}

func (s *countingStore) View(ctx context.Context, fn func(context.Context, driver.ReadTx) error) error {
	s.asked.Add(1)
	return s.Store.View(ctx, fn)
}

func (s *countingStore) Snapshot(ctx context.Context, fn func(context.Context, driver.ReadTx) error) error {
	s.asked.Add(1)
	return s.Store.Snapshot(ctx, fn)
}

func (s *countingStore) Update(ctx context.Context, fn func(context.Context, driver.Tx) error) error {
	s.asked.Add(1)
	return s.Store.Update(ctx, fn)
}

// TestWebhooksSurviveAnOutage checks that a receiver that fails for five minutes then gets everything without any
// intervention, with the waits of the contract.
func TestWebhooksSurviveAnOutage(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, shop *ticketingtest.Shop, in *inbox) {
		is := is.New(t)
		h := in.register(t, shop)
		begun := time.Now()
		in.answer(h.ID, func(context.Context, posted) (int, error) {
			if time.Since(begun) < 5*time.Minute {
				return 500, nil
			}
			return 200, nil
		})
		end := running(t, sender(t, shop, in, realTime))
		const sales = 30
		sellMany(t, shop, sales)
		time.Sleep(12 * time.Minute)
		end()
		all := deliveries(t, shop)
		is.Equal(len(all), 2*sales)
		for _, d := range all {
			is.Equal(d.Status, ticketing.DeliverySucceeded)
			is.Equal(len(d.Attempts), 7) // These come after 0, 5, 15, 35, 75, 155 and 315 seconds.
			for i := 1; i < len(d.Attempts); i++ {
				wait, waited := 5*time.Second<<(i-1), d.Attempts[i].At.Sub(d.Attempts[i-1].At.Time)
				is.True(waited >= wait)
				is.True(waited <= wait+wait/10+1500*time.Millisecond) // The rest is the wait for a turn among sixty deliveries.
			}
		}
	})
}

// TestDisablingWhileInFlight checks that a delivery in flight finishes its attempt when its endpoint is disabled:
// SUCCEEDED if the attempt succeeds, else CANCELLED. The deliveries queued after it are cancelled and never sent.
func TestDisablingWhileInFlight(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, shop *ticketingtest.Shop, in *inbox) {
		is := is.New(t)
		h := in.register(t, shop, ticketing.FactOrderCreated)
		answers := make(chan int)
		in.answer(h.ID, func(context.Context, posted) (int, error) { return <-answers, nil })
		end := running(t, sender(t, shop, in, realTime))
		const sales = 10
		sellMany(t, shop, sales)
		time.Sleep(time.Second)
		synctest.Wait()
		is.Equal(len(in.of(t, h.ID)), 2)
		_, err := shop.Staff.DisableWebhookEndpoint(t.Context(), h.ID)
		is.NoErr(err)
		answers <- 200
		answers <- 500
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		is.Equal(len(in.of(t, h.ID)), 2)
		count := make(map[ticketing.DeliveryStatus]int)
		for _, d := range deliveries(t, shop) {
			count[d.Status]++
		}
		is.Equal(count, map[ticketing.DeliveryStatus]int{
			ticketing.DeliverySucceeded: 1, ticketing.DeliveryCancelled: sales - 1,
		})
		end()
	})
}

// TestDisablingSendsNothingThatWaits checks that disabling or deleting a working endpoint lets the deliveries in flight
// finish, and sends none of those queued in memory after them: they become CANCELLED. The process that disables the
// endpoint stops at once, and any other process stops, too.
func TestDisablingSendsNothingThatWaits(t *testing.T) {
	t.Parallel()
	for _, deletes := range []bool{false, true} {
		for _, same := range []bool{false, true} {
			t.Run(fmt.Sprint("deletes ", deletes, ", same process ", same), func(t *testing.T) {
				t.Parallel()
				inBubble(t, func(t *testing.T, shop *ticketingtest.Shop, in *inbox) {
					is := is.New(t)
					svc := sender(t, shop, in, realTime)
					staff := shop.Staff
					wait := 2 * time.Second
					if same {
						staff, wait = svc.As(ticketing.Staff("ada")), 20*time.Millisecond
					}
					stop := func(id uuid.UUID) error {
						if deletes {
							return staff.DeleteWebhookEndpoint(t.Context(), id)
						}
						_, err := staff.DisableWebhookEndpoint(t.Context(), id)
						return err
					}
					stopsWhatWaits(t, shop, in, svc, 50, 300, wait, stop)
					count := make(map[ticketing.DeliveryStatus]int)
					for _, d := range deliveries(t, shop) {
						count[d.Status]++
					}
					is.Equal(count[ticketing.DeliverySucceeded], 50+32)
					is.Equal(count[ticketing.DeliveryCancelled], 300-32)
				})
			})
		}
	}
}

// stopsWhatWaits sells first admissions, whose deliveries the endpoint accepts. It then sells more, of whose deliveries
// some are in flight and the rest is queued in memory, stops the endpoint, and checks that nothing more is sent.
func stopsWhatWaits(
	t *testing.T, shop *ticketingtest.Shop, in *inbox, svc *ticketing.Service, first, sales int, wait time.Duration,
	stop func(id uuid.UUID) error,
) {
	t.Helper()
	is := is.New(t)
	h := in.register(t, shop, ticketing.FactOrderCreated)
	quick := func(context.Context, posted) (int, error) { time.Sleep(time.Millisecond); return 200, nil }
	in.answer(h.ID, quick)
	end := running(t, svc)
	sellMany(t, shop, first)
	time.Sleep(time.Minute)
	synctest.Wait()
	is.Equal(len(in.of(t, h.ID)), first)

	held := make(chan struct{})
	in.answer(h.ID, func(ctx context.Context, p posted) (int, error) { <-held; return quick(ctx, p) })
	sellMany(t, shop, sales)
	svc.Wake()
	time.Sleep(wait)
	synctest.Wait()
	is.Equal(len(in.of(t, h.ID)), first+32) // The 32 are in flight.
	is.NoErr(stop(h.ID))
	close(held)
	time.Sleep(5 * time.Minute)
	synctest.Wait()
	is.Equal(len(in.of(t, h.ID)), first+32)
	end()
}

// slowStore is a store whose transactions take as long as those of a database over a network.
type slowStore struct{ driver.Store }

func (s slowStore) Update(ctx context.Context, fn func(ctx context.Context, tx driver.Tx) error) error {
	time.Sleep(10 * time.Millisecond)
	return s.Store.Update(ctx, fn)
}

// TestDisablingOnASlowStoreSendsNothingThatWaits checks the same if a transaction takes 10 ms and the receiver 1 ms.
func TestDisablingOnASlowStoreSendsNothingThatWaits(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, shop *ticketingtest.Shop, in *inbox) {
		shop.Store = slowStore{shop.Store}
		stopsWhatWaits(t, shop, in, sender(t, shop, in, realTime), 200, 1000, 2*time.Second, func(id uuid.UUID) error {
			_, err := shop.Staff.DisableWebhookEndpoint(t.Context(), id)
			return err
		})
	})
}

// TestDisablingInAStreamElsewhere disables an endpoint in another process while it accepts a stream of deliveries. No
// more than a few attempts begin after the commit.
func TestDisablingInAStreamElsewhere(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, shop *ticketingtest.Shop, in *inbox) {
		is := is.New(t)
		shop.Store = slowStore{shop.Store}
		h := in.register(t, shop, ticketing.FactOrderCreated)
		in.answer(h.ID, func(context.Context, posted) (int, error) { time.Sleep(time.Millisecond); return 200, nil })
		end := running(t, sender(t, shop, in, realTime))
		sellMany(t, shop, 200)
		time.Sleep(time.Minute)
		const sales = 1000
		sellMany(t, shop, sales)
		in.wait(t, h.ID, 500)
		before := len(in.of(t, h.ID))
		_, err := shop.Staff.DisableWebhookEndpoint(t.Context(), h.ID)
		is.NoErr(err)
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		is.True(len(in.of(t, h.ID)) < 200+sales) // It was disabled in the middle of the stream.
		is.True(len(in.of(t, h.ID))-before <= 2*32)
		end()
	})
}

// TestProcessesShareTheDeliveries checks that several services on one store share the deliveries: each is sent once.
func TestProcessesShareTheDeliveries(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		in := newInbox(shop.Clock.Now)
		h := in.register(t, shop)
		const sales = 100
		sellMany(t, shop, sales)
		var ends []func()
		for range 3 {
			ends = append(ends, running(t, sender(t, shop, in)))
		}
		in.wait(t, h.ID, 2*sales)
		for _, end := range ends {
			end()
		}
		is.Equal(len(in.of(t, h.ID)), 2*sales)
		for _, d := range deliveries(t, shop) {
			is.Equal(d.Status, ticketing.DeliverySucceeded)
		}
	})
}

// TestALateOutcomeDecidesNothing checks that a process that was held up for longer than its lease changes nothing that
// another has decided meanwhile. No delivery gets two final statuses or a ninth attempt.
func TestALateOutcomeDecidesNothing(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		for _, late := range []int{200, 500} {
			for _, meanwhile := range []int{200, 500} {
				is := is.New(t)
				in := newInbox(shop.Clock.Now)
				h := in.register(t, shop, ticketing.FactOrderCreated)
				come, release := make(chan struct{}), make(chan struct{})
				var n atomic.Int64
				in.answer(h.ID, func(context.Context, posted) (int, error) {
					if n.Add(1) > 1 {
						return meanwhile, nil
					}
					close(come)
					<-release
					return late, nil
				})
				sellMany(t, shop, 1)
				done := make(chan error, 1)
				go func() {
					_, err := sender(t, shop, in).SendWebhooks(t.Context())
					done <- err
				}()
				<-come
				shop.Clock.Advance(31 * time.Second)
				is.Equal(send(t, sender(t, shop, in)), 1)
				close(release)
				is.NoErr(<-done)
				all := deliveries(t, shop)
				d := all[len(all)-1]
				switch {
				case meanwhile == 200:
					is.Equal(d.Status, ticketing.DeliverySucceeded)
					is.Equal(len(d.Attempts), 1)
				case late == 200:
					is.Equal(d.Status, ticketing.DeliverySucceeded) // The receiver accepted it, whichever process held the lease.
					is.Equal(len(d.Attempts), 2)
				default:
					is.Equal(d.Status, ticketing.DeliveryPending)
					is.Equal(len(d.Attempts), 1)
				}
				is.NoErr(shop.Staff.DeleteWebhookEndpoint(t.Context(), h.ID))
			}
		}
	})
}

// TestASecretThatIsLost checks that a secret that does not decrypt fails the attempt with an error that says so, and
// that the log names no secret.
func TestASecretThatIsLost(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	shop := ticketingtest.New(t, nil)
	in := newInbox(shop.Clock.Now)
	in.register(t, shop, ticketing.FactOrderCreated)
	sellMany(t, shop, 1)
	other := sender(t, shop, in, func(c *ticketing.Config) { c.SecretKeys = [][]byte{secretKey('x')} })
	is.Equal(send(t, other), 1)
	is.Equal(len(in.all(t)), 0)
	d := deliveries(t, shop)[0]
	is.Equal(d.Status, ticketing.DeliveryPending)
	is.True(strings.Contains(d.Attempts[0].Error, "secret"))
	shop.Clock.Advance(6 * time.Second)
	is.Equal(send(t, sender(t, shop, in)), 1) // With the right keys it is sent.
	is.Equal(deliveries(t, shop)[0].Status, ticketing.DeliverySucceeded)
}

// TestAPoisonousFactStopsNobody checks that a fact that cannot be rendered does not prevent the delivery of others.
func TestAPoisonousFactStopsNobody(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		shop.BooksAreBroken()
		in := newInbox(shop.Clock.Now)
		h := in.register(t, shop)
		onCompany(t, shop, func(ctx context.Context, tx driver.Tx) error {
			var facts []driver.Fact
			for _, kind := range []ticketing.FactType{driver.FactSale, ticketing.FactTicketValidated} {
				facts = append(facts, driver.Fact{
					CompanyID: shop.Company.ID, At: shop.Clock.Now().Add(-time.Hour), ID: uuid.New(), Type: kind,
					Subject: uuid.New(), Endpoints: 1, // The order and the admission do not exist.
				})
			}
			return tx.AppendFacts(ctx, facts)
		})
		sellMany(t, shop, 1)
		is.Equal(send(t, sender(t, shop, in)), 2)
		is.Equal(len(in.of(t, h.ID)), 2)
		is.True(!due(t, shop, time.Hour))
	})
}

// TestErasedBuyersAreNotPublished checks that facts of a sale no longer contain the buyer after an erasure, in a retry
// and in a replay, under the same event id.
func TestErasedBuyersAreNotPublished(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		in := newInbox(shop.Clock.Now)
		h := in.register(t, shop)
		in.answer(h.ID, answering(500))
		sellMany(t, shop, 1)
		svc := sender(t, shop, in)
		is.Equal(send(t, svc), 2)
		_, err := shop.Staff.EraseBuyer(t.Context(), shop.Company.ID, "ada@example.com")
		is.NoErr(err)
		shop.Clock.Advance(6 * time.Second)
		in.answer(h.ID, nil)
		is.Equal(send(t, svc), 2)
		got := in.of(t, h.ID)
		is.Equal(len(got), 4)
		bodies := make(map[uuid.UUID]string)
		for i, p := range got {
			told := strings.Contains(string(p.Body), "ada@example.com")
			is.Equal(told, i < 2 && p.EventType == ticketing.FactOrderCreated)
			if p.EventType == ticketing.FactOrderCreated && i >= 2 {
				is.True(strings.Contains(string(p.Body), "@erased.invalid"))
				is.True(strings.Contains(string(p.Body), `"name":null`))
				bodies[p.EventID] = string(p.Body)
			}
		}
		_, err = shop.Staff.ReplayDelivery(t.Context(), deliveries(t, shop)[0].ID)
		is.NoErr(err)
		is.Equal(send(t, svc), 1)
		for _, p := range in.of(t, h.ID)[4:] {
			if p.EventType == ticketing.FactOrderCreated {
				is.Equal(string(p.Body), bodies[p.EventID]) // The body is stored as it was rendered after the erasure.
			}
		}
	})
}

// TestASenderThatPanics checks that a sender that panics fails its attempt only.
func TestASenderThatPanics(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	shop := ticketingtest.New(t, nil)
	in := newInbox(shop.Clock.Now)
	h := in.register(t, shop, ticketing.FactOrderCreated)
	var n atomic.Int64
	in.answer(h.ID, func(context.Context, posted) (int, error) {
		if n.Add(1) == 1 {
			panic("ada@example.com")
		}
		return 200, nil
	})
	sellMany(t, shop, 2)
	is.Equal(send(t, sender(t, shop, in)), 2)
	count := make(map[string]int)
	for _, d := range deliveries(t, shop) {
		count[fmt.Sprint(d.Status, " ", d.Attempts[0].Error)]++
	}
	is.Equal(count, map[string]int{"SUCCEEDED ": 1, "PENDING the sender panicked": 1})
}

// TestPruning checks that final deliveries are pruned after the retention, with their attempts and bodies. Facts are
// pruned only if that is configured, and retired secrets when nothing is signed with them any more. Pending deliveries
// stay.
func TestPruning(t *testing.T) {
	t.Parallel()
	for _, facts := range []bool{false, true} {
		t.Run(fmt.Sprint("facts ", facts), func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, shop *ticketingtest.Shop, in *inbox) {
				is := is.New(t)
				h := in.register(t, shop, ticketing.FactOrderCreated)
				dead := in.register(t, shop, ticketing.FactOrderCreated)
				sellMany(t, shop, 3)
				in.answer(dead.ID, answering(500))
				send(t, sender(t, shop, in, realTime))
				in.rotate(t, shop, h.ID)
				in.rotate(t, shop, dead.ID)
				left := func() (deliveries_, facts, secrets int) {
					is.NoErr(shop.Store.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
						all, err := tx.ListFacts(ctx, shop.Company.ID, driver.Position{}, 100)
						facts = len(all)
						retired, failed := tx.RetiredWebhookSecrets(ctx, driver.WebhookSecretRef{}, 100)
						secrets = len(retired)
						return errors.Join(err, failed)
					}))
					return len(deliveries(t, shop)), facts, secrets
				}
				end := running(t, sender(t, shop, nil, realTime, func(c *ticketing.Config) {
					c.WebhookRetention = time.Hour
					if facts {
						c.FactRetention = 2 * time.Hour
					}
				}))
				time.Sleep(30 * time.Minute)
				synctest.Wait()
				d, f, s := left()
				is.Equal([]int{d, f, s}, []int{6, 3, 1}) // The pending deliveries need their secret.
				time.Sleep(time.Hour)
				synctest.Wait()
				d, f, s = left()
				is.Equal([]int{d, f, s}, []int{3, 3, 1})
				time.Sleep(2 * time.Hour)
				synctest.Wait()
				_, f, _ = left()
				is.Equal(f, map[bool]int{false: 3, true: 0}[facts])
				end()
				in.answer(dead.ID, nil)
				is.Equal(send(t, sender(t, shop, in, realTime)), 3) // They were pending, and none was pruned.
				shop.Clock.Set(time.Now())                          // Pruned records are not missed.
			})
		})
	}
}

// TestPruningReachesEveryCompany checks that every company is pruned eventually, even if no process lives long: three
// processes of four minutes each prune twelve companies.
func TestPruningReachesEveryCompany(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, shop *ticketingtest.Shop, in *inbox) {
		is := is.New(t)
		shops := []*ticketingtest.Shop{shop}
		for range 11 {
			time.Sleep(time.Second)
			shops = append(shops, shop.Neighbour(t))
		}
		for _, s := range shops {
			in.register(t, s, ticketing.FactOrderCreated)
			sellMany(t, s, 1)
		}
		send(t, sender(t, shop, in, realTime))
		time.Sleep(3 * time.Hour)
		for range 3 {
			end := running(t, sender(t, shop, nil, realTime, func(c *ticketing.Config) { c.WebhookRetention = time.Hour }))
			time.Sleep(4 * time.Minute)
			synctest.Wait()
			end()
		}
		left := 0
		for _, s := range shops {
			left += len(deliveries(t, s))
		}
		is.Equal(left, 0)
	})
}

// TestPruningTakesBatches checks that pruning takes batches. No transaction removes more than a thousand deliveries of
// a company, and the batches follow each other until no delivery or message past the retention is left.
func TestPruningTakesBatches(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, shop *ticketingtest.Shop, in *inbox) {
		is := is.New(t)
		h := in.register(t, shop, ticketing.FactOrderCreated)
		const portion, final = 1000, 2500
		messages := make([]driver.Message, final)
		made := make([]driver.Delivery, final)
		for n := range made {
			at := time.Now().Add(time.Duration(n) * time.Millisecond)
			messages[n] = driver.Message{
				CompanyID: shop.Company.ID, At: at, ID: uuid.New(), Type: ticketing.FactOrderCreated, Subject: uuid.New(),
				Body: "{}",
			}
			made[n] = driver.Delivery{
				CompanyID: shop.Company.ID, CreatedAt: at, ID: uuid.New(), Endpoint: 1, EndpointID: h.ID, MessageAt: at,
				MessageID: messages[n].ID, Type: messages[n].Type, URL: h.URL, SecretVersion: 1,
				Status: ticketing.DeliverySucceeded, DueAt: at, FinishedAt: at,
			}
		}
		onCompany(t, shop, func(ctx context.Context, tx driver.Tx) error {
			return errors.Join(tx.AppendMessages(ctx, messages), tx.AppendDeliveries(ctx, made))
		})
		is.Equal(len(deliveries(t, shop)), final)
		time.Sleep(3 * time.Hour)
		pruning := &pruningStore{Store: shop.Store}
		quiet := *shop
		quiet.Store = pruning
		end := running(t, sender(t, &quiet, nil, realTime, func(c *ticketing.Config) { c.WebhookRetention = time.Hour }))
		time.Sleep(4 * time.Minute) // This is too short for a second round.
		synctest.Wait()
		end()
		is.Equal(len(deliveries(t, shop)), 0)
		var sum pruned
		for _, p := range pruning.kept {
			is.True(p.deliveries <= portion)
			sum.deliveries += p.deliveries
			sum.messages += p.messages
		}
		is.Equal(sum, pruned{final, final})
	})
}

// pruned is what one transaction removed.
type pruned struct{ deliveries, messages int }

// pruningStore records what each committed transaction removed. It is read after the service has ended.
type pruningStore struct {
	driver.Store

	mu   sync.Mutex
	kept []pruned
}

func (s *pruningStore) Update(ctx context.Context, fn func(context.Context, driver.Tx) error) error {
	var removed pruned
	err := s.Store.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		removed = pruned{}
		return fn(ctx, pruningTx{tx, &removed})
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.kept = append(s.kept, removed)
	}
	return err
}

type pruningTx struct {
	driver.Tx

	removed *pruned
}

func (tx pruningTx) PruneDeliveries(
	ctx context.Context, companyID uuid.UUID, before time.Time, limit int,
) (int, error) {
	n, err := tx.Tx.PruneDeliveries(ctx, companyID, before, limit)
	tx.removed.deliveries += n
	return n, err
}

func (tx pruningTx) PruneMessages(ctx context.Context, companyID uuid.UUID, before time.Time, limit int) (int, error) {
	n, err := tx.Tx.PruneMessages(ctx, companyID, before, limit)
	tx.removed.messages += n
	return n, err
}

// TestRetriesAreSpread checks that deliveries that failed together are not retried together: each waits 5 seconds plus
// a random time of up to a tenth more.
func TestRetriesAreSpread(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, shop *ticketingtest.Shop, in *inbox) {
		is := is.New(t)
		h := in.register(t, shop, ticketing.FactOrderCreated)
		in.answer(h.ID, answering(500))
		sellMany(t, shop, 20)
		is.Equal(send(t, sender(t, shop, in)), 20)
		waits := make(map[time.Duration]bool)
		for _, d := range deliveries(t, shop) {
			wait := d.DueAt.Sub(shop.Clock.Now())
			is.True(wait >= 5*time.Second)
			is.True(wait <= 5500*time.Millisecond)
			waits[wait] = true
		}
		is.True(len(waits) > 10)
	})
}
