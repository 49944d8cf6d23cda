package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/floatgate/ticketing/driver"
)

// claimDeliveries claims deliveries of the first endpoint of company A, at a time and for one second.
func claimDeliveries(
	ctx context.Context, s driver.Store, when time.Time, limit int,
) ([]driver.Delivery, error) {
	var claimed []driver.Delivery
	err := share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		var err error
		claimed, err = tx.ClaimDeliveries(ctx, driver.DeliveryClaim{
			CompanyID: companyA, Endpoint: 1, At: when, Until: when.Add(time.Second), Limit: limit,
		})
		return err
	})
	return claimed, err
}

// claimedAt returns the deliveries as a claim at that time leaves them.
func claimedAt(when time.Time, deliveries ...driver.Delivery) []driver.Delivery {
	claimed := slices.Clone(deliveries)
	for i := range claimed {
		claimed[i].DueAt, claimed[i].LeasedUntil = when.Add(time.Second), when.Add(time.Second)
	}
	return claimed
}

func deliveriesClaimed(ctx context.Context, s driver.Store) error {
	var all []driver.Delivery
	for i := range 4 {
		all = append(all, newDelivery(companyA, 10+i, at(i)))
	}
	elsewhere := newDelivery(companyA, 20, at(0))
	elsewhere.Endpoint = 2
	if err := keepDeliveries(ctx, s, append([]driver.Delivery{
		newDelivery(companyB, 30, at(0)), elsewhere, final(newDelivery(companyA, 21, at(0)), driver.DeliveryFailed),
	}, all...)...); err != nil {
		return err
	}
	now, later := at(100), at(600)
	none := []driver.Delivery(nil)
	return steps(
		func() error {
			return want("the first two", claimedAt(now, all[:2]...)).from(claimDeliveries(ctx, s, now, 2))
		},
		func() error {
			return want("the rest", claimedAt(later, all[2:]...)).from(claimDeliveries(ctx, s, later, 9))
		},
		func() error {
			return want("while all are claimed", none).from(claimDeliveries(ctx, s, now.Add(999*time.Millisecond), 9))
		},
		func() error {
			return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
				return want("as it is kept", claimedAt(now, all[0])[0]).from(tx.FindDelivery(ctx, all[0].ID))
			})
		},
		func() error {
			again := now.Add(time.Second)
			return want("when the first claim runs out", claimedAt(again, all[:2]...)).from(claimDeliveries(ctx, s, again, 9))
		},
		func() error { return want("for nothing", none).from(claimDeliveries(ctx, s, now.Add(time.Hour), 0)) },
		func() error { return want("of nobody", none).from(claimDeliveries(ctx, s, at(-1), 9)) },
		// A delivery that is final is not claimed again, nor one whose retry is due later.
		func() error {
			retried := all[1]
			retried.DueAt, retried.Attempts = at(3_000_000), []driver.DeliveryAttempt{{At: driver.Time{Time: now}, Status: 500}}
			return updateDeliveries(ctx, s,
				final(all[0], driver.DeliverySucceeded), retried, final(all[2], driver.DeliveryFailed))
		},
		func() error {
			end := at(2_000_000)
			return want("what is left", claimedAt(end, all[3])).from(claimDeliveries(ctx, s, end, 9))
		},
	)
}

// deliveriesDue has deliveries that become due in another order than that of their creation.
func deliveriesDue(ctx context.Context, s driver.Store) error {
	var all []driver.Delivery
	for i, due := range []int{50, 10, 40, 20, 30, 200} {
		delivery := newDelivery(companyA, 10+i, at(i))
		delivery.DueAt = at(due)
		all = append(all, delivery)
	}
	if err := keepDeliveries(ctx, s, all...); err != nil {
		return err
	}
	now := at(100)
	return steps(
		// A claim returns them by time of creation.
		func() error {
			return want("the longest due", claimedAt(now, all[1], all[3], all[4])).from(claimDeliveries(ctx, s, now, 3))
		},
		func() error {
			return want("all that is due", claimedAt(now, all[0], all[2])).from(claimDeliveries(ctx, s, now, 9))
		},
	)
}

func claimTakenBack(ctx context.Context, s driver.Store) error {
	all := []driver.Delivery{newDelivery(companyA, 10, at(0)), newDelivery(companyA, 11, at(1))}
	if err := keepDeliveries(ctx, s, all...); err != nil {
		return err
	}
	claim := driver.DeliveryClaim{CompanyID: companyA, Endpoint: 1, At: at(100), Until: at(9000), Limit: 9}
	err := failing(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		claimed, err := tx.ClaimDeliveries(ctx, claim)
		if err != nil || len(claimed) != 2 {
			return fmt.Errorf("claimed %d: %w", len(claimed), err)
		}
		again, err := tx.ClaimDeliveries(ctx, claim)
		if err := want("claimed again", []driver.Delivery(nil)).from(again, err); err != nil {
			return err
		}
		return tx.UpdateDeliveries(ctx, []driver.Delivery{final(claimed[0], driver.DeliverySucceeded)})
	})
	if err != nil {
		return err
	}
	return errors.Join(
		everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
			query := driver.DeliveryQuery{CompanyID: companyA, OldestFirst: true, Limit: 9}
			pending := query
			pending.Status = driver.DeliveryPending
			return errors.Join(
				want("after an Update that failed", all).from(tx.ListDeliveries(ctx, query)),
				want("those pending", all).from(tx.ListDeliveries(ctx, pending)),
			)
		}),
		want("claimed after it", claimedAt(at(100), all...)).from(claimDeliveries(ctx, s, at(100), 9)),
	)
}

// deliveriesClaimedOnce claims concurrently: no delivery is claimed twice.
func deliveriesClaimedOnce(ctx context.Context, s driver.Store) error {
	var all []driver.Delivery
	for i := range 30 {
		all = append(all, newDelivery(companyA, 100+i, at(i)))
	}
	if err := keepDeliveries(ctx, s, all...); err != nil {
		return err
	}
	found, err := takenAtOnce(ctx, func(limit int) ([]driver.Delivery, error) {
		return claimDeliveries(ctx, s, at(100), limit)
	})
	slices.SortFunc(found, func(a, b driver.Delivery) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return want("claimed by anybody", claimedAt(at(100), all...)).from(found, err)
}

func deliveriesLocked(ctx context.Context, s driver.Store) error {
	one, two := newDelivery(companyA, 10, at(1)), newDelivery(companyA, 11, at(1))
	foreign := newDelivery(companyB, 12, at(1))
	if err := keepDeliveries(ctx, s, two, foreign, one); err != nil {
		return err
	}
	later := deliveryRef(one)
	later.CreatedAt = at(2)
	return share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		return errors.Join(
			want("locked", []driver.Delivery{two, {}, one, {}, foreign, two}).
				from(tx.LockDeliveries(ctx, []driver.DeliveryRef{
					deliveryRef(two), later, deliveryRef(one), {}, deliveryRef(foreign), deliveryRef(two),
				})),
			want("none", []driver.Delivery(nil)).from(tx.LockDeliveries(ctx, nil)),
		)
	})
}

func pendingLocked(ctx context.Context, s driver.Store) error {
	leased := newDelivery(companyA, 11, at(1))
	cancelling := newDelivery(companyA, 12, at(2))
	elsewhere := newDelivery(companyA, 13, at(3))
	leased.LeasedUntil, leased.DueAt = at(9000), at(9000)
	cancelling.Cancelling, cancelling.LeasedUntil = true, at(9000)
	elsewhere.Endpoint = 2
	plain := newDelivery(companyA, 10, at(0))
	if err := keepDeliveries(ctx, s, plain, leased, cancelling, elsewhere, newDelivery(companyB, 14, at(0)),
		final(newDelivery(companyA, 15, at(0)), driver.DeliveryCancelled)); err != nil {
		return err
	}
	lock := func(ctx context.Context, tx driver.Tx, limit int) ([]driver.Delivery, error) {
		locked, err := tx.LockPending(ctx, driver.WebhookEndpointRef{CompanyID: companyA, Number: 1}, limit)
		slices.SortFunc(locked, func(a, b driver.Delivery) int { return a.CreatedAt.Compare(b.CreatedAt) })
		return locked, err
	}
	return update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		some, err := lock(ctx, tx, 1)
		if err := want("at most one", 1).from(len(some), err); err != nil {
			return err
		}
		all, err := lock(ctx, tx, 9)
		if err := want("those pending", []driver.Delivery{plain, leased}).from(all, err); err != nil {
			return err
		}
		leased.Cancelling = true
		if err := tx.UpdateDeliveries(ctx, []driver.Delivery{
			final(plain, driver.DeliveryCancelled), leased,
		}); err != nil {
			return err
		}
		return want("none any more", []driver.Delivery(nil)).from(lock(ctx, tx, 9))
	})
}
