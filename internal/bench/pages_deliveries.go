package bench

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
)

const (
	// mostPageDeliveries is how many deliveries there are at most while pages are measured.
	mostPageDeliveries = 100_000
	// deliveriesAtOnce is how many of them are written in a transaction.
	deliveriesAtOnce = 500
	// One delivery of so many is a dead letter.
	deliveriesOfDead = 100
	// deliverySpan is how far back the deliveries go.
	deliverySpan = 7 * 24 * time.Hour
	// The message that is delivered.
	deliveredURL  = "https://hooks.bench.example/ticketing"
	deliveredBody = `{"id":"bench","type":"order.created","data":{"order":{"status":"CONFIRMED"}}}`
)

// pageDeliveries returns how many deliveries there are: one for each event of the orders, up to a limit.
func (b *bench) pageDeliveries() int {
	return min(mostPageDeliveries, max(b.Preload, leastOrders)*eventsOfSale)
}

// makeDeliveries gives the first company an endpoint with a history but no receiver, and returns one of its deliveries.
// If there is background work, it first dispatches what was sold before, so that this is not delivered.
func (b *bench) makeDeliveries(ctx context.Context) (driver.Delivery, error) {
	if b.Background {
		if err := b.dispatchAll(ctx); err != nil {
			return driver.Delivery{}, err
		}
	}
	company, total := b.shops[0].Company, b.pageDeliveries()
	issued, err := b.filler.As(ticketing.Staff("bench")).CreateWebhookEndpoint(ctx, company,
		ticketing.WebhookEndpointParams{URL: deliveredURL, Events: []ticketing.FactType{ticketing.FactOrderCreated}})
	if err != nil {
		return driver.Delivery{}, err
	}
	var endpoint driver.WebhookEndpoint
	err = b.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) (err error) {
		endpoint, err = tx.FindWebhookEndpoint(ctx, issued.ID)
		return err
	})
	now, last := time.Now().UTC().Truncate(time.Millisecond), driver.Delivery{}
	for from := 0; from < total && err == nil; from += deliveriesAtOnce {
		b.Progress("making deliveries", "%d of %d", from, total)
		var messages []driver.Message
		var deliveries []driver.Delivery
		for i := from; i < min(from+deliveriesAtOnce, total); i++ {
			at := now.Add(-deliverySpan / time.Duration(total) * time.Duration(total-i)).Truncate(time.Millisecond)
			message := driver.Message{
				CompanyID: company, At: at, ID: uuid.New(), Type: ticketing.FactOrderCreated, Subject: uuid.New(),
				Body: deliveredBody,
			}
			messages = append(messages, message)
			last = pageDelivery(endpoint, message, i%deliveriesOfDead == deliveriesOfDead-1)
			deliveries = append(deliveries, last)
		}
		err = b.store.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
			if _, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{company}}); err != nil {
				return err
			}
			if err := tx.AppendMessages(ctx, messages); err != nil {
				return err
			}
			return tx.AppendDeliveries(ctx, deliveries)
		})
	}
	return last, err
}

// pageDelivery returns a delivery of a message that has ended.
func pageDelivery(endpoint driver.WebhookEndpoint, message driver.Message, dead bool) driver.Delivery {
	d := driver.Delivery{
		CompanyID: message.CompanyID, CreatedAt: message.At, ID: uuid.New(), Endpoint: endpoint.Number,
		EndpointID: endpoint.ID, MessageAt: message.At, MessageID: message.ID, Type: message.Type, URL: deliveredURL,
		SecretVersion: 1, Status: driver.DeliverySucceeded, DueAt: message.At, FinishedAt: message.At.Add(time.Second),
		Attempts: []driver.DeliveryAttempt{{At: driver.Time{Time: message.At}, Status: 204, DurationMS: 12}},
	}
	if dead {
		d.Status = driver.DeliveryFailed
		d.Attempts = nil
		for range ticketing.MaxDeliveryAttempts {
			d.Attempts = append(d.Attempts, driver.DeliveryAttempt{
				At: driver.Time{Time: message.At}, Status: 503, DurationMS: 12, Error: "HTTP 503",
			})
		}
	}
	return d
}
