package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// newDelivery returns a pending delivery that is due when it is created.
func newDelivery(companyID uuid.UUID, n int, when time.Time) driver.Delivery {
	return driver.Delivery{
		CompanyID: companyID, CreatedAt: when, ID: id(n), Endpoint: 1, EndpointID: id(300_001), MessageAt: at(7),
		MessageID: id(n + 1000), Type: driver.FactOrderCreated, URL: "https://example.com/%20a?b=c#d", SecretVersion: 1,
		ReplayOf: id(8), Status: driver.DeliveryPending, DueAt: when,
	}
}

func deliveryRef(delivery driver.Delivery) driver.DeliveryRef {
	return driver.DeliveryRef{CompanyID: delivery.CompanyID, CreatedAt: delivery.CreatedAt, ID: delivery.ID}
}

// final returns the delivery with a final status.
func final(delivery driver.Delivery, status driver.DeliveryStatus) driver.Delivery {
	delivery.Status, delivery.FinishedAt, delivery.LeasedUntil, delivery.Cancelling = status, at(5000), time.Time{}, false
	return delivery
}

func deliveryKinds() []record {
	kept := newDelivery(companyA, 10, at(0))
	kept.Attempts = []driver.DeliveryAttempt{
		{At: driver.Time{Time: at(1)}, Status: 503, DurationMS: 12, Error: awkward},
		{At: driver.Time{Time: at(2)}, DurationMS: 10_000, Error: "none"},
	}
	kept.Cancelling, kept.LeasedUntil, kept.DueAt = true, at(30), at(30)
	changed := final(kept, driver.DeliverySucceeded)
	changed.DueAt = at(40)
	last := driver.DeliveryAttempt{At: driver.Time{Time: at(3)}, Status: 200}
	changed.Attempts = append(slices.Clone(kept.Attempts), last)
	holds := func(found driver.Delivery, listed ...driver.Delivery) reads {
		return func(ctx context.Context, tx driver.ReadTx) error {
			query := driver.DeliveryQuery{CompanyID: companyA, Limit: 9}
			oldest := query
			oldest.OldestFirst = true
			return errors.Join(
				want("FindDelivery", found).from(tx.FindDelivery(ctx, kept.ID)),
				want("ListDeliveries", listed).from(tx.ListDeliveries(ctx, query)),
				want("ListDeliveries, oldest first", listed).from(tx.ListDeliveries(ctx, oldest)),
				want("CountDeliveries", len(listed)).from(tx.CountDeliveries(ctx, query, 0)),
			)
		}
	}
	put := func(delivery driver.Delivery) writes {
		return func(ctx context.Context, tx driver.Tx) error {
			return tx.AppendDeliveries(ctx, []driver.Delivery{delivery})
		}
	}
	sameID := newDelivery(companyA, 10, at(1))
	return []record{{
		name: "deliveries", create: put(kept), created: holds(kept, kept), absent: holds(driver.Delivery{}),
		change: func(ctx context.Context, tx driver.Tx) error {
			// What a delivery is about, and where it goes, must stay unchanged.
			other := changed
			other.Endpoint, other.EndpointID, other.MessageAt, other.MessageID = 2, id(9), at(9), id(9)
			other.Type, other.URL, other.SecretVersion, other.ReplayOf = driver.FactBalanceLow, "other", 2, uuid.Nil
			return tx.UpdateDeliveries(ctx, []driver.Delivery{other})
		},
		changed: holds(changed, changed), taken: map[string]writes{"place": put(kept), "id": put(sameID)},
	}}
}

func deliveryChecks() []Check {
	return []Check{
		{"deliveries/list is in order and in pages under every filter", grounded(deliveriesListed)},
		{"deliveries/are sound", grounded(deliveriesSound)},
		{"deliveries/a claim keeps others away until it runs out", grounded(deliveriesClaimed)},
		{"deliveries/the longest due are claimed", grounded(deliveriesDue)},
		{"deliveries/a claim is taken back", grounded(claimTakenBack)},
		{"deliveries/a delivery is claimed once", grounded(deliveriesClaimedOnce)},
		{"deliveries/locks are aligned and of their company", grounded(deliveriesLocked)},
		{"deliveries/those that are pending are locked", grounded(pendingLocked)},
		{"deliveries/a secret is needed while one is pending", grounded(deliveriesUnder)},
		{"deliveries/those of a message are listed", grounded(deliveriesOfMessage)},
		{"deliveries/show the health of endpoints", grounded(endpointHealth)},
		{"deliveries/old ones that are final are removed", grounded(deliveriesPruned)},
		{"deliveries/those of all companies that failed are counted", grounded(deadLettersCounted)},
	}
}

func keepDeliveries(ctx context.Context, s driver.Store, deliveries ...driver.Delivery) error {
	err := share(ctx, s, func(ctx context.Context, tx driver.Tx) error { return tx.AppendDeliveries(ctx, deliveries) })
	if err != nil {
		return fmt.Errorf("append deliveries: %w", err)
	}
	return nil
}

func updateDeliveries(ctx context.Context, s driver.Store, deliveries ...driver.Delivery) error {
	err := share(ctx, s, func(ctx context.Context, tx driver.Tx) error { return tx.UpdateDeliveries(ctx, deliveries) })
	if err != nil {
		return fmt.Errorf("update deliveries: %w", err)
	}
	return nil
}

// manyDeliveries returns deliveries of two endpoints, three types and all statuses, in order. Some share a time and
// some are replays.
func manyDeliveries() []driver.Delivery {
	var deliveries []driver.Delivery
	statuses := []driver.DeliveryStatus{
		driver.DeliveryPending, driver.DeliverySucceeded, driver.DeliveryFailed, driver.DeliveryCancelled,
		driver.DeliveryFailed,
	}
	types := []driver.FactType{driver.FactOrderCreated, driver.FactTicketValidated, driver.FactBalanceLow}
	for i := range 20 {
		delivery := newDelivery(companyA, 40+i, at(i/2))
		delivery.Endpoint, delivery.Type = int64(1+i%2), types[i%3]
		if status := statuses[i%5]; status != driver.DeliveryPending {
			delivery = final(delivery, status)
		}
		if i%4 != 3 {
			delivery.ReplayOf = uuid.Nil
		}
		deliveries = append(deliveries, delivery)
	}
	return deliveries
}

func deliveriesListed(ctx context.Context, s driver.Store) error {
	all := manyDeliveries()
	shuffled := append([]driver.Delivery{newDelivery(companyB, 70, at(3))}, all...)
	slices.Reverse(shuffled)
	if err := keepDeliveries(ctx, s, shuffled...); err != nil {
		return err
	}
	for _, query := range []driver.DeliveryQuery{
		{},
		{Endpoint: 2},
		{Endpoint: 3},
		{Status: driver.DeliveryPending},
		{Status: driver.DeliverySucceeded},
		{Status: driver.DeliveryFailed},
		{Status: driver.DeliveryCancelled},
		{Type: driver.FactBalanceLow},
		{Since: at(4)},
		{Until: at(4)},
		{Since: at(2), Until: at(8)},
		{Since: at(8), Until: at(2)},
		{Since: at(100)},
		{Endpoint: 1, Status: driver.DeliveryFailed, Type: driver.FactOrderCreated, Since: at(1), Until: at(9)},
		{Endpoint: 2, Status: driver.DeliveryPending, Since: at(1)},
		{Status: driver.DeliveryCancelled, Until: at(5)},
		{Replays: true},
		{Replays: true, Since: at(3)},
		{Replays: true, Status: driver.DeliveryFailed, Endpoint: 2},
	} {
		query.CompanyID = companyA
		if err := everywhere(ctx, s, deliveriesFiltered(query, all)); err != nil {
			return fmt.Errorf("endpoint %d, status %q, type %q, replays %t, since %v, until %v: %w", query.Endpoint,
				query.Status, query.Type, query.Replays, query.Since, query.Until, err)
		}
	}
	return nil
}

// deliveriesFiltered compares the lists of a query, in both directions, and its count with all deliveries that match
// it.
func deliveriesFiltered(query driver.DeliveryQuery, all []driver.Delivery) reads {
	var order []place
	for _, d := range all {
		if (query.Endpoint == 0 || d.Endpoint == query.Endpoint) && (query.Status == "" || d.Status == query.Status) &&
			(query.Type == "" || d.Type == query.Type) && (!query.Replays || d.ReplayOf != uuid.Nil) &&
			!d.CreatedAt.Before(query.Since) && (query.Until.IsZero() || d.CreatedAt.Before(query.Until)) {
			order = append(order, place{
				id: int(d.ID[15]), ms: int(d.CreatedAt.Sub(at(0)) / time.Millisecond),
			})
		}
	}
	list := func(ctx context.Context, tx driver.ReadTx, oldest bool) func(after *place, limit int) ([]place, error) {
		return func(after *place, limit int) ([]place, error) {
			query.OldestFirst, query.Limit, query.After = oldest, limit, driver.Position{}
			if after != nil {
				query.After = after.position()
			}
			found, err := tx.ListDeliveries(ctx, query)
			return placesOf(found, err, func(d driver.Delivery) (time.Time, uuid.UUID) { return d.CreatedAt, d.ID })
		}
	}
	return func(ctx context.Context, tx driver.ReadTx) error {
		newest := slices.Clone(order)
		slices.Reverse(newest)
		if err := pages(newest, list(ctx, tx, false)); err != nil {
			return fmt.Errorf("the newest first: %w", err)
		}
		if err := pages(order, list(ctx, tx, true)); err != nil {
			return fmt.Errorf("the oldest first: %w", err)
		}
		// The count ignores the position and the limit.
		query.After, query.Limit = driver.Position{At: at(5), ID: id(50)}, 1
		return errors.Join(
			want("count", len(order)).from(tx.CountDeliveries(ctx, query, 0)),
			want("count of at most one", min(1, len(order))).from(tx.CountDeliveries(ctx, query, 1)),
			want("count of more than there are", len(order)).from(tx.CountDeliveries(ctx, query, len(order)+1)),
		)
	}
}

func deliveriesSound(ctx context.Context, s driver.Store) error {
	if err := keepDeliveries(ctx, s, newDelivery(companyA, 10, at(0))); err != nil {
		return err
	}
	for name, spoil := range map[string]func(d *driver.Delivery){
		"a status of its own":        func(d *driver.Delivery) { d.Status = "LOST" },
		"an end while it is pending": func(d *driver.Delivery) { d.FinishedAt = at(9) },
		"no end although it failed":  func(d *driver.Delivery) { d.Status = driver.DeliveryFailed },
		"a lease although it failed": func(d *driver.Delivery) {
			*d = final(*d, driver.DeliveryFailed)
			d.LeasedUntil = at(9)
		},
		"cancelling although it failed": func(d *driver.Delivery) {
			*d = final(*d, driver.DeliveryFailed)
			d.Cancelling = true
		},
	} {
		created, changed := newDelivery(companyA, 11, at(0)), newDelivery(companyA, 10, at(0))
		spoil(&created)
		spoil(&changed)
		err := errors.Join(
			refuses("append a delivery with "+name, keepDeliveries(ctx, s, created)),
			refuses("change a delivery to one with "+name, updateDeliveries(ctx, s, changed)),
		)
		if err != nil {
			return err
		}
	}
	return nil
}

func deliveriesUnder(ctx context.Context, s driver.Store) error {
	under := func(n int, endpoint, version int64) driver.Delivery {
		delivery := newDelivery(companyA, n, at(n))
		delivery.Endpoint, delivery.SecretVersion = endpoint, version
		return delivery
	}
	leased := under(13, 2, 4)
	leased.LeasedUntil = at(9000)
	if err := keepDeliveries(ctx, s, under(10, 1, 2), under(11, 1, 2),
		final(under(12, 1, 3), driver.DeliverySucceeded), leased); err != nil {
		return err
	}
	needed := func(expected bool, ref driver.WebhookSecretRef) func() error {
		return func() error {
			return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
				return want(fmt.Sprintf("endpoint %d, version %d", ref.Endpoint, ref.Version), expected).
					from(tx.DeliversUnder(ctx, ref))
			})
		}
	}
	second := signingSecretRef(companyA, 1, 2)
	return steps(
		needed(true, second), needed(true, signingSecretRef(companyA, 2, 4)), needed(false, signingSecretRef(companyA, 1, 3)),
		needed(false, signingSecretRef(companyA, 1, 1)), needed(false, signingSecretRef(companyA, 2, 2)),
		needed(false, signingSecretRef(companyB, 1, 2)),
		func() error { return updateDeliveries(ctx, s, final(under(10, 1, 2), driver.DeliveryFailed)) },
		needed(true, second),
		func() error { return updateDeliveries(ctx, s, final(under(11, 1, 2), driver.DeliveryCancelled)) },
		needed(false, second),
	)
}

func deliveriesPruned(ctx context.Context, s driver.Store) error {
	statuses := []driver.DeliveryStatus{
		driver.DeliverySucceeded, driver.DeliveryFailed, driver.DeliveryPending, driver.DeliveryCancelled,
		driver.DeliverySucceeded, driver.DeliverySucceeded,
	}
	var all []driver.Delivery
	for i, status := range statuses {
		delivery := newDelivery(companyA, 10+i, at(i))
		if status != driver.DeliveryPending {
			delivery = final(delivery, status)
		}
		all = append(all, delivery)
	}
	foreign := final(newDelivery(companyB, 30, at(0)), driver.DeliveryFailed)
	if err := keepDeliveries(ctx, s, append(all, foreign)...); err != nil {
		return err
	}
	prune := func(limit int) (pruned int, err error) {
		err = share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
			pruned, err = tx.PruneDeliveries(ctx, companyA, at(5), limit)
			return err
		})
		return pruned, err
	}
	left := func(deliveries ...driver.Delivery) error {
		return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
			query := driver.DeliveryQuery{CompanyID: companyA, OldestFirst: true, Limit: 9}
			found, err := tx.FindDelivery(ctx, all[0].ID)
			return errors.Join(err,
				want("left", deliveries).from(tx.ListDeliveries(ctx, query)),
				want("left by its id", len(deliveries) == len(all)).from(found.ID == all[0].ID, nil),
				want("of another company", foreign).from(tx.FindDelivery(ctx, foreign.ID)),
			)
		})
	}
	err := failing(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		return want("removed in an Update that fails", 4).from(tx.PruneDeliveries(ctx, companyA, at(5), 9))
	})
	return errors.Join(err,
		left(all...),
		want("none", 0).from(prune(0)),
		want("the oldest three", 3).from(prune(3)), left(all[2], all[4], all[5]),
		want("the rest", 1).from(prune(9)), left(all[2], all[5]),
		want("no more", 0).from(prune(9)),
	)
}
