package ticketing_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ticketingtest"
)

// TestAMessageIsShownAsItWasSent checks that an event is shown with the bytes that an endpoint received, and with its
// deliveries and replays, newest first. After the erasure of its buyer it no longer names them.
func TestAMessageIsShownAsItWasSent(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		in := newInbox(shop.Clock.Now)
		h := in.register(t, shop)
		sold := shop.Clock.Now()
		sellMany(t, shop, 1)
		svc := sender(t, shop, in)
		is.Equal(send(t, svc), 2)
		page, err := shop.Staff.ListDeliveries(t.Context(), shop.Company.ID,
			ticketing.DeliveryFilter{Type: ticketing.FactOrderCreated}, ticketing.PageParams{})
		is.NoErr(err)
		is.Equal(len(page.Items), 1)
		delivery := page.Items[0]
		shown, err := shop.Staff.GetMessage(t.Context(), shop.Company.ID, delivery.EventID)
		is.NoErr(err)
		is.Equal(shown.EventID, delivery.EventID)
		is.Equal(shown.CompanyID, shop.Company.ID)
		is.Equal(shown.EventType, ticketing.FactOrderCreated)
		is.Equal(shown.CreatedAt.Time, sold)
		is.Equal(shown.Deliveries, page.Items)
		is.True(!shown.MoreDeliveries)
		var sent []string
		for _, post := range in.of(t, h.ID) {
			if post.EventID == delivery.EventID {
				sent = append(sent, string(post.Body))
			}
		}
		is.Equal(sent, []string{shown.Body})
		is.True(strings.Contains(shown.Body, "ada@example.com"))

		shop.Clock.Advance(time.Minute)
		replay, err := shop.Staff.ReplayDelivery(t.Context(), delivery.ID)
		is.NoErr(err)
		_, err = shop.Staff.EraseBuyer(t.Context(), shop.Company.ID, "ada@example.com")
		is.NoErr(err)
		shown, err = shop.Staff.GetMessage(t.Context(), shop.Company.ID, delivery.EventID)
		is.NoErr(err)
		is.Equal([]uuid.UUID{shown.Deliveries[0].ID, shown.Deliveries[1].ID}, []uuid.UUID{replay.ID, delivery.ID})
		is.True(!strings.Contains(shown.Body, "ada@example.com"))
		is.True(strings.Contains(shown.Body, delivery.EventID.String()))

		other := shop.Neighbour(t)
		_, err = shop.Staff.GetMessage(t.Context(), other.Company.ID, delivery.EventID)
		is.Equal(code(err), ticketing.CodeNotFound)
	})
}

// TestARemovedMessageIsNotFound checks that an event without a delivery is not found, and that of many deliveries the
// newest hundred are shown.
func TestARemovedMessageIsNotFound(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.unverified(t)
		hook := e.hook(t, company)
		one := e.delivered(t, hook.ID, 1, failed)[0]
		many := make([]driver.Delivery, 100)
		for n := range many {
			many[n] = one
			many[n].CreatedAt = one.CreatedAt.Add(time.Duration(n+1) * time.Second)
			many[n].ID, many[n].ReplayOf = uuid.New(), one.ID
		}
		e.write(t, company, func(ctx context.Context, tx driver.Tx) error { return tx.AppendDeliveries(ctx, many[:99]) })
		shown, err := e.staff.GetMessage(t.Context(), company, one.MessageID)
		is.NoErr(err)
		is.Equal(len(shown.Deliveries), 100)
		is.True(!shown.MoreDeliveries)
		e.write(t, company, func(ctx context.Context, tx driver.Tx) error { return tx.AppendDeliveries(ctx, many[99:]) })
		shown, err = e.staff.GetMessage(t.Context(), company, one.MessageID)
		is.NoErr(err)
		is.Equal(len(shown.Deliveries), 100)
		is.True(shown.MoreDeliveries)
		is.Equal(shown.Deliveries[0].ID, many[99].ID)

		_, err = e.staff.GetMessage(t.Context(), company, uuid.New())
		is.Equal(code(err), ticketing.CodeNotFound)
		e.write(t, company, func(ctx context.Context, tx driver.Tx) error {
			_, err := tx.PruneDeliveries(ctx, company, opening.Add(time.Hour), 1000)
			return err
		})
		_, err = e.staff.GetMessage(t.Context(), company, one.MessageID)
		is.Equal(code(err), ticketing.CodeNotFound)
	})
}

// TestTheHealthOfEndpointsIsShown checks the last success of each endpoint, what it failed within 24 hours, and what
// waits. Each count ends at a thousand.
func TestTheHealthOfEndpointsIsShown(t *testing.T) {
	t.Parallel()
	onEnvs(t, func(t *testing.T, e *env) {
		is := is.New(t)
		company := e.unverified(t)
		none, err := e.staff.EndpointHealth(t.Context(), company)
		is.NoErr(err)
		is.Equal(show(t, none), `[]`)
		well, ill, gone := e.hook(t, company), e.hook(t, company), e.hook(t, company)
		in := func(status ticketing.DeliveryStatus, attempts int) func(int, *driver.Delivery) {
			return func(_ int, delivery *driver.Delivery) {
				delivery.Status = status
				for range attempts {
					delivery.Attempts = append(delivery.Attempts, ticketing.DeliveryAttempt{
						At: ticketing.Time{Time: opening}, Error: "HTTP 503", Status: 503,
					})
				}
			}
		}
		e.delivered(t, well.ID, 2, in(ticketing.DeliverySucceeded, 0))
		e.delivered(t, well.ID, 3, in(ticketing.DeliveryFailed, 8)) // At 0, 1 and 2 seconds after the opening.
		e.delivered(t, gone.ID, 9, in(ticketing.DeliverySucceeded, 0))
		is.NoErr(e.staff.DeleteWebhookEndpoint(t.Context(), gone.ID))
		e.clock.advance(24*time.Hour + time.Second)
		e.delivered(t, ill.ID, 1001, in(ticketing.DeliveryFailed, 8))
		e.delivered(t, ill.ID, 2, in(ticketing.DeliveryPending, 0))
		e.delivered(t, ill.ID, 3, in(ticketing.DeliveryPending, 1))
		health, err := e.staff.EndpointHealth(t.Context(), company)
		is.NoErr(err)
		is.Equal(health, []ticketing.EndpointHealth{
			{EndpointID: well.ID, LastSuccessAt: &ticketing.Time{Time: opening.Add(time.Second)}, Failures24h: 2},
			{EndpointID: ill.ID, Failures24h: ticketing.MaxEndpointCount, Pending: 5, Retrying: 3},
		})
		is.Equal(show(t, health[1]), `{"endpointId":"`+ill.ID.String()+`",`+
			`"lastSuccessAt":null,"failures24h":1000,"pending":5,"retrying":3}`)
	})
}
