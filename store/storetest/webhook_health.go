package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

func deliveriesOfMessage(ctx context.Context, s driver.Store) error {
	var order []place
	kept := []driver.Delivery{newDelivery(companyB, 70, at(3)), newDelivery(companyA, 71, at(4))}
	kept[0].MessageID = id(600)
	for _, where := range []place{{id: 45, ms: 9}, {id: 44, ms: 9}, {id: 60, ms: 5}, {id: 40, ms: 1}} {
		delivery := newDelivery(companyA, where.id, at(where.ms))
		delivery.MessageID = id(600)
		if where.id == 60 {
			delivery = final(delivery, driver.DeliverySucceeded)
		}
		order, kept = append(order, where), append(kept, delivery)
	}
	if err := keepDeliveries(ctx, s, kept...); err != nil {
		return err
	}
	of := func(d driver.Delivery) (time.Time, uuid.UUID) { return d.CreatedAt, d.ID }
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		for limit := range len(order) + 2 {
			found, err := tx.ListMessageDeliveries(ctx, companyA, id(600), limit)
			places, err := placesOf(found, err, of)
			if err := want("the newest", order[:min(limit, len(order))]).from(places, err); err != nil {
				return fmt.Errorf("%d: %w", limit, err)
			}
		}
		return want("of no message", []driver.Delivery(nil)).from(tx.ListMessageDeliveries(ctx, companyA, id(601), 9))
	})
}

// endpointHealth keeps deliveries to three endpoints, one of which was deleted, and to one of another company.
func endpointHealth(ctx context.Context, s driver.Store) error {
	n := 0
	to := func(endpoint int64, status driver.DeliveryStatus, ended, attempts int) driver.Delivery {
		n++
		// The delivery that was made last is not the one that ends last.
		delivery := newDelivery(companyA, 40+n, at(1000-n))
		delivery.Endpoint = endpoint
		for range attempts {
			delivery.Attempts = append(delivery.Attempts, driver.DeliveryAttempt{At: driver.Time{Time: at(1)}, Error: "none"})
		}
		if status != driver.DeliveryPending {
			delivery = final(delivery, status)
			delivery.FinishedAt = at(ended)
		}
		return delivery
	}
	kept := []driver.Delivery{
		to(1, driver.DeliverySucceeded, 5000, 1), to(1, driver.DeliverySucceeded, 7000, 1),
		to(1, driver.DeliverySucceeded, 6000, 1), to(1, driver.DeliveryCancelled, 9000, 0),
		to(1, driver.DeliveryFailed, 2999, 8), to(1, driver.DeliveryFailed, 3000, 8), to(1, driver.DeliveryFailed, 9000, 8),
		to(2, driver.DeliveryFailed, 8000, 8), to(2, driver.DeliveryPending, 0, 0), to(2, driver.DeliveryPending, 0, 2),
		to(2, driver.DeliveryPending, 0, 1), to(3, driver.DeliverySucceeded, 8000, 1),
	}
	// The newest delivery of all is to a deleted endpoint.
	kept = append(kept, to(3, driver.DeliveryPending, 0, 0))
	newest := &kept[len(kept)-1]
	newest.CreatedAt = at(2000)
	foreign := newDelivery(companyB, 90, at(0))
	foreign.Endpoint = 2
	foreign = final(foreign, driver.DeliverySucceeded)
	theirs := newEndpoint(companyB, 2)
	theirs.ID = id(91)
	err := update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		for _, endpoint := range []driver.WebhookEndpoint{newEndpoint(companyA, 2), newEndpoint(companyA, 1), theirs} {
			if err := tx.CreateWebhookEndpoint(ctx, endpoint); err != nil {
				return err
			}
		}
		return nil
	})
	if err := errors.Join(err, keepDeliveries(ctx, s, append(kept, foreign)...)); err != nil {
		return err
	}
	of := func(endpoint int64, health driver.EndpointHealth) driver.EndpointHealth {
		health.CompanyID, health.Endpoint, health.NewestID, health.NewestAt = companyA, endpoint, newest.ID, at(2000)
		return health
	}
	ofA := []driver.EndpointHealth{
		of(1, driver.EndpointHealth{LastSuccessAt: at(7000), Failed: 2}),
		of(2, driver.EndpointHealth{Failed: 1, Pending: 3, Retrying: 2}),
	}
	ofB := driver.EndpointHealth{
		CompanyID: companyB, Endpoint: 2, LastSuccessAt: foreign.FinishedAt, NewestID: foreign.ID, NewestAt: at(0),
	}
	ask := func(most int, companies ...uuid.UUID) driver.EndpointHealthQuery {
		return driver.EndpointHealthQuery{Companies: companies, Since: at(3000), Most: most}
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return errors.Join(
			want("all", ofA).from(tx.EndpointHealth(ctx, ask(9, companyA))),
			want("of both companies", append(ofA[:2:2], ofB)).from(tx.EndpointHealth(ctx, ask(9, companyB, id(99), companyA))),
			want("at most one", []driver.EndpointHealth{
				of(1, driver.EndpointHealth{LastSuccessAt: at(7000), Failed: 1}),
				// The delivery that is due first was made last, and had an attempt.
				of(2, driver.EndpointHealth{Failed: 1, Pending: 1, Retrying: 1}),
			}).from(tx.EndpointHealth(ctx, ask(1, companyA))),
			want("of no endpoints", []driver.EndpointHealth(nil)).from(tx.EndpointHealth(ctx, ask(9, id(99)))),
			want("of no companies", []driver.EndpointHealth(nil)).from(tx.EndpointHealth(ctx, ask(9))),
		)
	})
}
