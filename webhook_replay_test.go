package ticketing_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/store/memory"
)

// deliveryRecord returns a delivery as it is stored.
func (e *env) deliveryRecord(tb testing.TB, id uuid.UUID) (record driver.Delivery) {
	tb.Helper()
	is.New(tb).NoErr(e.store.View(tb.Context(), func(ctx context.Context, tx driver.ReadTx) (err error) {
		record, err = tx.FindDelivery(ctx, id)
		return err
	}))
	return record
}

func failed(_ int, delivery *driver.Delivery) { delivery.Status = ticketing.DeliveryFailed }

// TestADeliveryIsReplayed checks Section 6.5: a replay has a "new delivery ID, same event ID and body, current endpoint
// URL and active signing secret".
func TestADeliveryIsReplayed(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.unverified(t)
		made := e.hook(t, company)
		original := e.delivered(t, made.ID, 1, failed)[0]
		e.clock.advance(time.Hour)
		_, err := e.staff.UpdateWebhookEndpoint(t.Context(), made.ID, ticketing.WebhookEndpointUpdate{
			URL: of("https://other.adire.ng/"), Events: []ticketing.FactType{ticketing.FactBalanceLow},
		})
		is.NoErr(err)
		_, err = e.staff.PrepareWebhookSecret(t.Context(), made.ID)
		is.NoErr(err)
		prepared, err := e.staff.ReplayDelivery(t.Context(), original.ID)
		is.NoErr(err)
		is.Equal(e.deliveryRecord(t, prepared.ID).SecretVersion, int64(1)) // A secret that is only prepared signs nothing.
		_, err = e.staff.ActivateWebhookSecret(t.Context(), made.ID)
		is.NoErr(err)

		replay, err := e.staff.ReplayDelivery(t.Context(), original.ID)
		is.NoErr(err)
		found, err := e.staff.GetDelivery(t.Context(), replay.ID)
		is.NoErr(err)
		is.Equal(found, replay)
		is.True(replay.ID != original.ID)
		is.Equal(*replay.ReplayOf, original.ID)
		is.Equal(e.deliveryRecord(t, replay.ID), driver.Delivery{
			CompanyID: company, CreatedAt: opening.Add(time.Hour), ID: replay.ID, Endpoint: original.Endpoint,
			EndpointID: made.ID, MessageAt: original.MessageAt, MessageID: original.MessageID, Type: original.Type,
			URL: "https://other.adire.ng/", SecretVersion: 2, ReplayOf: original.ID, Status: ticketing.DeliveryPending,
			DueAt: opening.Add(time.Hour),
		})
		is.Equal(e.deliveryRecord(t, original.ID), original) // The original stays as it was.
		acts := e.actsOf(t, company, "webhook.replay")
		is.Equal(len(acts), 2)
		is.Equal(acts[0].Subject, "delivery "+original.ID.String())
	})
}

// TestWhatIsReplayed checks that a replay is refused while the delivery is pending and while its endpoint is disabled
// (Section 3.5: "re-enabling is required before a replay"). It succeeds in every final status.
func TestWhatIsReplayed(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.unverified(t)
		made := e.hook(t, company)
		statuses := []ticketing.DeliveryStatus{
			ticketing.DeliverySucceeded, ticketing.DeliveryFailed, ticketing.DeliveryCancelled, ticketing.DeliveryPending,
		}
		all := e.delivered(t, made.ID, 4, func(n int, delivery *driver.Delivery) { delivery.Status = statuses[n] })
		for _, delivery := range all[:3] {
			_, err := e.staff.ReplayDelivery(t.Context(), delivery.ID)
			is.NoErr(err)
		}
		refused := func(id uuid.UUID, why string) {
			t.Helper()
			count := len(e.listed(t, company, ticketing.DeliveryFilter{}, 100))
			_, err := e.staff.ReplayDelivery(t.Context(), id)
			is.Equal(code(err), ticketing.CodeConflict)
			is.Equal(said(err), why)
			is.Equal(len(e.listed(t, company, ticketing.DeliveryFilter{}, 100)), count)
		}
		refused(all[3].ID, "The delivery is still being delivered.")
		_, err := e.staff.DisableWebhookEndpoint(t.Context(), made.ID)
		is.NoErr(err)
		const disabled = "The webhook endpoint is disabled. Enable it first, then replay."
		refused(all[0].ID, disabled)
		refused(all[3].ID, disabled)
		_, err = e.staff.EnableWebhookEndpoint(t.Context(), made.ID)
		is.NoErr(err)
		_, err = e.staff.ReplayDelivery(t.Context(), all[3].ID) // The delivery is CANCELLED now.
		is.NoErr(err)
		_, err = e.staff.ReplayDelivery(t.Context(), uuid.New())
		is.Equal(said(err), "The delivery was not found.")
	})
}

// TestADeliveryThatIsPrunedMeanwhileIsNotReplayed checks that a delivery that is pruned after it was found and before
// it is locked is NOT_FOUND. No replay and no audit entry is made.
func TestADeliveryThatIsPrunedMeanwhileIsNotReplayed(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.unverified(t)
		original := e.delivered(t, e.hook(t, company).ID, 1, failed)[0]
		pruning := *e
		pruning.store = beforeStore{e.store, func() {
			e.write(t, company, func(ctx context.Context, tx driver.Tx) error {
				return second(tx.PruneDeliveries(ctx, company, opening.Add(time.Hour), 9))
			})
		}}
		late := pruning.service(t, secretKey('a')).As(ticketing.Staff("test"))
		_, err := late.ReplayDelivery(t.Context(), original.ID)
		is.Equal(code(err), ticketing.CodeNotFound)
		is.Equal(said(err), "The delivery was not found.")
		is.Equal(len(e.listed(t, company, ticketing.DeliveryFilter{}, 100)), 0)
		is.Equal(len(e.actsOf(t, company, "webhook.replay")), 0)
	})
}

// beforeStore calls a function before each Update.
type beforeStore struct {
	driver.Store

	other func()
}

func (s beforeStore) Update(ctx context.Context, fn func(ctx context.Context, tx driver.Tx) error) error {
	s.other()
	return s.Store.Update(ctx, fn)
}

// TestAWindowIsReplayed checks that a window is replayed oldest first, each event once for an endpoint. A delivery that
// cannot be replayed is skipped and counted, one that was created after the call began is left alone, and every
// transaction has an audit entry.
func TestAWindowIsReplayed(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.unverified(t)
		made, stopped, gone := e.hook(t, company), e.hook(t, company), e.hook(t, company)
		const number = 250
		all := e.delivered(t, made.ID, number, func(n int, delivery *driver.Delivery) {
			failed(n, delivery)
			delivery.CreatedAt = opening.Add(time.Duration(n) * time.Millisecond)
			if n == 7 {
				delivery.Status = ticketing.DeliveryPending
			}
		})
		e.delivered(t, stopped.ID, 3, failed)
		e.delivered(t, gone.ID, 2, failed)
		_, err := e.staff.DisableWebhookEndpoint(t.Context(), stopped.ID)
		is.NoErr(err)
		is.NoErr(e.staff.DeleteWebhookEndpoint(t.Context(), gone.ID))
		e.clock.advance(time.Minute)
		var told []string
		done, err := e.staff.ReplayDeliveries(t.Context(), company, ticketing.ReplayParams{
			Rate: 10_000, Progress: func(done, total int) { told = append(told, fmt.Sprint(done, " of ", total)) },
		})
		is.NoErr(err)
		is.Equal(show(t, done), fmt.Sprintf(`{"replayed":%d,"skipped":6}`, number-1))
		is.Equal(told[len(told)-1], "255 of 255")
		is.Equal(told[0], "103 of 255") // These are a hundred replays, and the deliveries that were skipped meanwhile.

		replays := e.listed(t, company,
			ticketing.DeliveryFilter{Status: ticketing.DeliveryPending, Since: opening.Add(time.Minute)}, 100)
		is.Equal(len(replays), number-1)
		of := make(map[uuid.UUID]bool)
		for _, id := range replays {
			replay := e.deliveryRecord(t, id)
			is.True(!of[replay.ReplayOf]) // once
			of[replay.ReplayOf] = true
		}
		for n, original := range all {
			is.Equal(of[original.ID], n != 7)
		}
		acts := e.actsOf(t, company, "webhook.replay")
		is.Equal(len(acts), 3)
		is.True(acts[0].Subject == "company "+company.String())
	})
}

// TestAWindowOfADisabledEndpointIsRefused checks that a window of an endpoint that is disabled or deleted is refused,
// as a single delivery is. Nothing is replayed.
func TestAWindowOfADisabledEndpointIsRefused(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.unverified(t)
		made := e.hook(t, company)
		e.delivered(t, made.ID, 2, failed)
		params := ticketing.ReplayParams{DeliveryFilter: ticketing.DeliveryFilter{EndpointID: made.ID}}
		refused := func(why string, code ticketing.Code) {
			t.Helper()
			done, err := e.staff.ReplayDeliveries(t.Context(), company, params)
			is.True(errors.Is(err, code))
			is.Equal(said(err), why)
			is.Equal(done, ticketing.ReplayResult{})
			is.Equal(len(e.listed(t, company, ticketing.DeliveryFilter{}, 100)), 2)
		}
		_, err := e.staff.DisableWebhookEndpoint(t.Context(), made.ID)
		is.NoErr(err)
		refused("The webhook endpoint is disabled. Enable it first, then replay.", ticketing.CodeConflict)
		is.NoErr(e.staff.DeleteWebhookEndpoint(t.Context(), made.ID))
		refused("The webhook endpoint was not found.", ticketing.CodeNotFound)
	})
}

// TestAnEventIsReplayedOnce checks that an event that was replayed before, with any outcome, is replayed to its
// endpoint once. With a filter, only matching deliveries count.
func TestAnEventIsReplayedOnce(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.unverified(t)
		made, second := e.hook(t, company), e.hook(t, company)
		original := e.delivered(t, made.ID, 1, func(_ int, delivery *driver.Delivery) {
			delivery.Status = ticketing.DeliverySucceeded
		})[0]
		again := func(of driver.Delivery, after time.Duration, status ticketing.DeliveryStatus) driver.Delivery {
			replay := of
			replay.ID, replay.ReplayOf, replay.Status = uuid.New(), of.ID, status
			replay.CreatedAt, replay.FinishedAt = opening.Add(after), opening.Add(after)
			return replay
		}
		// There are two replays of the original, one of which was replayed itself, and the event's delivery to another
		// endpoint.
		one, two := again(original, time.Second, ticketing.DeliveryFailed), again(original, 2*time.Second,
			ticketing.DeliveryFailed)
		three := again(one, 3*time.Second, ticketing.DeliveryFailed)
		elsewhere := again(original, 4*time.Second, ticketing.DeliveryFailed)
		elsewhere.ReplayOf, elsewhere.Endpoint, elsewhere.EndpointID = uuid.Nil, 2, second.ID
		e.write(t, company, func(ctx context.Context, tx driver.Tx) error {
			return tx.AppendDeliveries(ctx, []driver.Delivery{one, two, three, elsewhere})
		})
		e.clock.advance(time.Minute)
		for _, test := range []struct {
			name   string
			filter ticketing.DeliveryFilter
			want   []driver.Delivery
			result string
		}{
			{"all", ticketing.DeliveryFilter{}, []driver.Delivery{original, elsewhere}, `{"replayed":2,"skipped":3}`},
			{
				"dead letters",
				ticketing.DeliveryFilter{Status: ticketing.DeliveryFailed},
				[]driver.Delivery{one, elsewhere},
				`{"replayed":2,"skipped":2}`,
			},
			{
				"the end",
				ticketing.DeliveryFilter{Since: opening.Add(2 * time.Second)},
				[]driver.Delivery{two, elsewhere},
				`{"replayed":2,"skipped":1}`,
			},
			{
				"an endpoint",
				ticketing.DeliveryFilter{EndpointID: second.ID},
				[]driver.Delivery{elsewhere},
				`{"replayed":1,"skipped":0}`,
			},
			{"another type", ticketing.DeliveryFilter{Type: ticketing.FactBalanceLow}, nil, `{"replayed":0,"skipped":0}`},
		} {
			t.Run(test.name, func(t *testing.T) {
				is := is.New(t)
				e.clock.advance(time.Minute)
				began := e.clock.now()
				if test.filter.Until.IsZero() {
					test.filter.Until = opening.Add(time.Minute)
				}
				done, err := e.staff.ReplayDeliveries(t.Context(), company,
					ticketing.ReplayParams{DeliveryFilter: test.filter, Rate: 10_000})
				is.NoErr(err)
				is.Equal(show(t, done), test.result)
				of := make(map[uuid.UUID]int)
				for _, id := range e.listed(t, company, ticketing.DeliveryFilter{Since: began}, 100) {
					of[e.deliveryRecord(t, id).ReplayOf]++
				}
				want := make(map[uuid.UUID]int)
				for _, delivery := range test.want {
					want[delivery.ID]++
				}
				is.Equal(of, want)
			})
		}
	})
}

// TestAReplayKeepsItsRate checks that a window is replayed at its rate. The replay ends when its context ends, with the
// result so far. The same call again replays all of the window.
func TestAReplayKeepsItsRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		e := newEnv(t, memory.New())
		company := e.unverified(t)
		made := e.hook(t, company)
		e.delivered(t, made.ID, 40, func(n int, delivery *driver.Delivery) {
			failed(n, delivery)
			delivery.CreatedAt = opening.Add(time.Duration(n) * time.Millisecond)
		})
		e.clock.advance(time.Minute)
		for _, test := range []struct {
			rate int
			took time.Duration
		}{{1, 39 * time.Second}, {20, 1900 * time.Millisecond}, {0, 700 * time.Millisecond}, {10_000, 0}} {
			begun := time.Now()
			until := ticketing.DeliveryFilter{Until: opening.Add(time.Minute)}
			done, err := e.staff.ReplayDeliveries(t.Context(), company,
				ticketing.ReplayParams{DeliveryFilter: until, Rate: test.rate})
			is.NoErr(err)
			is.Equal(done.Replayed, 40)
			is.Equal(time.Since(begun), test.took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second+1)
		defer cancel()
		before := len(e.listed(t, company, ticketing.DeliveryFilter{}, 100))
		done, err := e.staff.ReplayDeliveries(ctx, company, ticketing.ReplayParams{
			DeliveryFilter: ticketing.DeliveryFilter{Until: opening.Add(time.Minute)}, Rate: 1,
		})
		is.True(errors.Is(err, context.DeadlineExceeded))
		is.Equal(done, ticketing.ReplayResult{Replayed: 11})
		is.Equal(len(e.listed(t, company, ticketing.DeliveryFilter{}, 100)), before+11)

		for _, rate := range []int{-1, 10_001} {
			_, err := e.staff.ReplayDeliveries(t.Context(), company, ticketing.ReplayParams{Rate: rate})
			is.Equal(said(err), "rate: must be from 1 to 10000 deliveries a second, or 0 for 50")
		}
	})
}

// TestAReplayHeedsWhatIsDisabledMeanwhile checks that deliveries to an endpoint that is disabled during a replay are
// skipped from then on.
func TestAReplayHeedsWhatIsDisabledMeanwhile(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.unverified(t)
		made := e.hook(t, company)
		e.delivered(t, made.ID, 250, func(n int, delivery *driver.Delivery) {
			failed(n, delivery)
			delivery.CreatedAt = opening
		})
		e.clock.advance(time.Minute)
		done, err := e.staff.ReplayDeliveries(t.Context(), company, ticketing.ReplayParams{
			Rate: 10_000, Progress: func(done, _ int) {
				if done == 100 {
					_, err := e.staff.DisableWebhookEndpoint(t.Context(), made.ID)
					is.NoErr(err)
				}
			},
		})
		is.NoErr(err)
		is.Equal(done, ticketing.ReplayResult{Replayed: 100, Skipped: 150})
		count, err := e.staff.CountDeliveries(t.Context(), company,
			ticketing.DeliveryFilter{Status: ticketing.DeliveryPending})
		is.NoErr(err)
		is.Equal(count, 0)
	})
}
