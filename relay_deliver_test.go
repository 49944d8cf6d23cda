package ticketing_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/store/memory"
	"github.com/floatgate/ticketing/ticketingtest"
)

// TestSaleIsDelivered checks that the events of a sale, the order and its commission, are delivered once to each
// subscribed endpoint, signed, and with the fact's id. An event without a subscriber makes no message.
func TestSaleIsDelivered(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		in := newInbox(shop.Clock.Now)
		all := in.register(t, shop)
		orders := in.register(t, shop, ticketing.FactOrderCreated)
		gate := in.register(t, shop, ticketing.FactTicketValidated)
		ready(t, shop)
		svc := sender(t, shop, in)
		is.Equal(send(t, svc), 3)
		is.Equal(len(in.of(t, all.ID)), 2)
		is.Equal(len(in.of(t, gate.ID)), 0)
		got := in.of(t, orders.ID)
		is.Equal(len(got), 1)
		for _, p := range in.of(t, all.ID) {
			if p.EventType == ticketing.FactOrderCreated {
				is.Equal(p.EventID, got[0].EventID)           // There is one event,
				is.Equal(string(p.Body), string(got[0].Body)) // rendered once,
				is.True(p.DeliveryID != got[0].DeliveryID)    // and a delivery for each endpoint.
			}
		}
		for _, d := range deliveries(t, shop) {
			is.Equal(d.Status, ticketing.DeliverySucceeded)
			is.Equal(len(d.Attempts), 1)
			is.Equal(d.Attempts[0].Status, 200)
		}
		is.Equal(send(t, svc), 0)
	})
}

// TestDeliveryIsRetried checks Section 6.5: eight attempts with waits of 5, 10, 20 … 320 seconds and up to a tenth
// more, all with the same ids, URL, body and secret, whatever is changed meanwhile. After that the delivery is FAILED,
// and OnExhausted is called once.
func TestDeliveryIsRetried(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		in := newInbox(shop.Clock.Now)
		h := in.register(t, shop, ticketing.FactOrderCreated)
		in.answer(h.ID, func(context.Context, posted) (int, error) {
			if len(in.of(t, h.ID))%2 == 0 {
				return 0, errors.New("connection\nrefused " + strings.Repeat("é", 300))
			}
			return 503, nil
		})
		told := make(chan ticketing.WebhookDelivery, 10)
		svc := sender(t, shop, in, func(c *ticketing.Config) {
			c.OnExhausted = func(_ context.Context, d ticketing.WebhookDelivery) { told <- d; panic("ada@example.com") }
		})
		ready(t, shop)
		wait := 5 * time.Second
		for attempt := 1; attempt <= 8; attempt++ {
			is.Equal(send(t, svc), 1)
			d := deliveries(t, shop)[0]
			is.Equal(len(d.Attempts), attempt)
			last := d.Attempts[attempt-1]
			is.True(last.At.Equal(shop.Clock.Now()))
			if attempt%2 == 1 {
				is.Equal(last.Error, "HTTP 503")
				is.Equal(last.Status, 503)
			} else {
				is.True(strings.HasPrefix(last.Error, "connection refused é"))
				is.Equal(len([]rune(last.Error)), 200)
				is.Equal(last.Status, 0)
			}
			if attempt == 8 {
				is.Equal(d.Status, ticketing.DeliveryFailed)
				is.True(d.FinishedAt.Equal(shop.Clock.Now()))
				break
			}
			is.Equal(d.Status, ticketing.DeliveryPending)
			due := d.DueAt.Sub(shop.Clock.Now())
			is.True(due >= wait && due <= wait+wait/10)
			shop.Clock.Advance(due - time.Millisecond)
			is.Equal(send(t, svc), 0) // It is not due yet.
			shop.Clock.Advance(time.Millisecond)
			_, err := shop.Staff.UpdateWebhookEndpoint(t.Context(), h.ID, ticketing.WebhookEndpointUpdate{
				URL: of("https://elsewhere.example.com"), Events: []ticketing.FactType{ticketing.FactBalanceLow},
			})
			is.NoErr(err)
			in.rotate(t, shop, h.ID)
			wait *= 2
		}
		shop.Clock.Advance(time.Hour)
		is.Equal(send(t, svc), 0)
		got := in.of(t, h.ID)
		is.Equal(len(got), 8)
		for _, p := range got {
			is.Equal(p.EventID, got[0].EventID)
			is.Equal(p.DeliveryID, got[0].DeliveryID)
			is.Equal(p.URL, h.URL)
			is.Equal(string(p.Body), string(got[0].Body))
			is.Equal(p.Secret, 1)
		}
		d := <-told
		is.Equal(d.ID, got[0].DeliveryID)
		is.Equal(d.Status, ticketing.DeliveryFailed)
		is.Equal(d.Attempts, 8)
		is.Equal(len(told), 0)
	})
}

// TestExhaustionIsLogged checks that an exhausted delivery is logged once, with its ids and the last response's status.
// The log contains no URL, no secret and no buyer, even if the sender's error does.
func TestExhaustionIsLogged(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		status int // 0: there was no response
	}{{"answered", 503}, {"unanswered", 0}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			shop := ticketingtest.New(t, &ticketingtest.Config{Store: memory.New()})
			in := newInbox(shop.Clock.Now)
			h := in.register(t, shop, ticketing.FactOrderCreated)
			hidden := []string{h.URL, in.secrets[h.ID][0], "ada@example.com"}
			in.answer(h.ID, func(context.Context, posted) (int, error) {
				if test.status == 0 {
					return 0, errors.New(strings.Join(hidden, " "))
				}
				return test.status, nil
			})
			sellMany(t, shop, 1)
			log := new(lockedLog)
			svc := sender(t, shop, in, func(c *ticketing.Config) { c.Logger = slog.New(slog.NewTextHandler(log, nil)) })
			const exhausted = "a webhook delivery is exhausted"
			for range 8 {
				is.True(!strings.Contains(log.String(), exhausted)) // It is not exhausted yet.
				is.Equal(send(t, svc), 1)
				shop.Clock.Advance(time.Hour)
			}
			is.Equal(send(t, svc), 0)
			d := deliveries(t, shop)[0]
			is.Equal(d.Status, ticketing.DeliveryFailed)
			is.Equal(strings.Count(log.String(), exhausted), 1)
			is.True(strings.Contains(log.String(), fmt.Sprintf("level=WARN msg=%q endpoint=%s delivery=%s type=%s status=%d",
				exhausted, h.ID, d.ID, ticketing.FactOrderCreated, test.status)))
			for _, text := range hidden {
				is.True(!strings.Contains(log.String(), text))
			}
		})
	}
}

// TestAttemptsCutByTheSenderDoNotCount checks that an attempt that the sender cut off is not a failed attempt. A sender
// does so if it is closed before its process ends. The attempt is not recorded, the delivery waits, and another process
// sends it.
func TestAttemptsCutByTheSenderDoNotCount(t *testing.T) {
	t.Parallel()
	onWires(t, func(t *testing.T, w *wired) {
		is := is.New(t)
		r, _ := w.hook(t, ticketing.FactOrderCreated)
		w.sell(t)
		is.NoErr(w.sender.Close())
		send(t, w.svc) // This returns, since a delivery that was cut off is not due at once.
		d := deliveries(t, w.Shop)[0]
		is.Equal(d.Status, ticketing.DeliveryPending)
		is.Equal(len(d.Attempts), 0)
		is.True(d.LeasedUntil.IsZero())
		w.Clock.Advance(6 * time.Second)
		is.Equal(send(t, sender(t, w.Shop, w.net.sender(t))), 1)
		is.Equal(len(r.All()), 1)
		d = deliveries(t, w.Shop)[0]
		is.Equal(d.Status, ticketing.DeliverySucceeded)
		is.Equal(len(d.Attempts), 1)
	})
}

// TestOnlyTheSendersOwnEndDoesNotCount checks that a delivery that was cut off while its endpoint was disabled is
// cancelled. A delivery whose receiver did not respond in time has failed, whatever error its sender returns.
func TestOnlyTheSendersOwnEndDoesNotCount(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, shop *ticketingtest.Shop, in *inbox) {
		is := is.New(t)
		h := in.register(t, shop, ticketing.FactOrderCreated)
		in.answer(h.ID, func(ctx context.Context, _ posted) (int, error) {
			<-ctx.Done()
			return 0, context.Canceled
		})
		sellMany(t, shop, 1)
		is.Equal(send(t, sender(t, shop, in, realTime)), 1)
		is.Equal(len(deliveries(t, shop)[0].Attempts), 1)
		time.Sleep(6 * time.Second)
		in.answer(h.ID, func(context.Context, posted) (int, error) {
			_, err := shop.Staff.DisableWebhookEndpoint(t.Context(), h.ID)
			is.NoErr(err)
			return 0, context.Canceled
		})
		is.Equal(send(t, sender(t, shop, in, realTime)), 1)
		d := deliveries(t, shop)[0]
		is.Equal(d.Status, ticketing.DeliveryCancelled)
		is.Equal(len(d.Attempts), 1)
	})
}

// TestAPassSendsEverything checks that one pass sends the deliveries of all facts while time goes on, also those that
// endpoints had no room for at first. Deliveries that failed meanwhile wait for another pass.
func TestAPassSendsEverything(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, shop *ticketingtest.Shop, in *inbox) {
		is := is.New(t)
		h := in.register(t, shop, ticketing.FactOrderCreated)
		down := in.register(t, shop, ticketing.FactOrderCreated)
		in.answer(h.ID, func(context.Context, posted) (int, error) {
			time.Sleep(100 * time.Millisecond)
			return 200, nil
		})
		var attempts atomic.Int64
		in.answer(down.ID, func(context.Context, posted) (int, error) {
			time.Sleep(time.Second)
			if attempts.Add(1) <= 40 {
				return 200, nil // This lets the number of concurrent attempts grow.
			}
			return 503, nil
		})
		const sales = 300
		sellMany(t, shop, sales)
		is.Equal(send(t, sender(t, shop, in, realTime)), 2*sales)
		is.Equal(len(in.of(t, h.ID)), sales)
		is.Equal(len(in.of(t, down.ID)), sales)
	})
}
