package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/floatgate/ticketing/driver"
)

// claimNotifications claims notifications of company A, at a time and for one second.
func claimNotifications(
	ctx context.Context, s driver.Store, when time.Time, limit int,
) ([]driver.Notification, error) {
	return claimOldNotifications(ctx, s, when, time.Time{}, limit)
}

// claimOldNotifications claims notifications that were created before a time; zero: all.
func claimOldNotifications(
	ctx context.Context, s driver.Store, when, before time.Time, limit int,
) ([]driver.Notification, error) {
	var claimed []driver.Notification
	err := share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		var err error
		claimed, err = tx.ClaimNotifications(ctx, driver.NotificationClaim{
			CompanyID: companyA, At: when, Until: when.Add(time.Second), CreatedBefore: before, Limit: limit,
		})
		return err
	})
	return claimed, err
}

// leasedAt returns the notifications as a claim at that time leaves them.
func leasedAt(when time.Time, notifications ...driver.Notification) []driver.Notification {
	leased := slices.Clone(notifications)
	for i := range leased {
		leased[i].DueAt, leased[i].LeasedUntil = when.Add(time.Second), when.Add(time.Second)
	}
	return leased
}

// firstCopies returns the first notification of each of the orders from 1 on, each due a millisecond after the one
// before.
func firstCopies(orders int) []driver.Notification {
	var all []driver.Notification
	for i := range orders {
		all = append(all, newNotification(companyA, int64(i+1), 1, at(i)))
	}
	return all
}

func notificationsClaimed(ctx context.Context, s driver.Store) error {
	all := firstCopies(4)
	if err := keepNotifications(ctx, s, append([]driver.Notification{
		newNotification(companyB, 1, 1, at(0)),
		over(newNotification(companyA, 1, 2, at(0)), driver.NotificationFailed, at(1)),
		over(newNotification(companyA, 1, 3, at(0)), driver.NotificationCancelled, at(1)),
	}, all...)...); err != nil {
		return err
	}
	now, later := at(100), at(600)
	none := []driver.Notification(nil)
	return steps(
		func() error {
			return want("the first two", leasedAt(now, all[:2]...)).from(claimNotifications(ctx, s, now, 2))
		},
		func() error {
			return want("the rest", leasedAt(later, all[2:]...)).from(claimNotifications(ctx, s, later, 9))
		},
		func() error {
			return want("while all are claimed", none).from(claimNotifications(ctx, s, now.Add(999*time.Millisecond), 9))
		},
		func() error {
			return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
				return want("as it is kept", leasedAt(now, all[1])).
					from(tx.OrderNotifications(ctx, []driver.OrderNumber{all[1].OrderNumber()}))
			})
		},
		func() error {
			again := now.Add(time.Second)
			return want("when the first claim runs out", leasedAt(again, all[:2]...)).
				from(claimNotifications(ctx, s, again, 9))
		},
		func() error { return want("for nothing", none).from(claimNotifications(ctx, s, now.Add(time.Hour), 0)) },
		func() error { return want("of nobody", none).from(claimNotifications(ctx, s, at(-1), 9)) },
		// A notification that is final is not claimed again, nor one whose next attempt is due later.
		func() error {
			again := all[1]
			again.DueAt = at(3_000_000)
			again.Attempts = []driver.NotificationAttempt{{At: driver.Time{Time: now}, Code: "450 4.2.0"}}
			return updateNotifications(ctx, s, over(all[0], driver.NotificationSent, now), again,
				over(all[2], driver.NotificationFailed, now))
		},
		func() error {
			end := at(2_000_000)
			return want("what is left", leasedAt(end, all[3])).from(claimNotifications(ctx, s, end, 9))
		},
	)
}

// notificationsDue has notifications that become due in another order than that of their keys.
func notificationsDue(ctx context.Context, s driver.Store) error {
	all := firstCopies(6)
	for i, due := range []int{50, 10, 40, 20, 30, 200} {
		all[i].DueAt = at(due)
	}
	if err := keepNotifications(ctx, s, all...); err != nil {
		return err
	}
	now := at(100)
	return steps(
		// A claim returns them by number.
		func() error {
			return want("the longest due", leasedAt(now, all[1], all[3], all[4])).from(claimNotifications(ctx, s, now, 3))
		},
		func() error {
			return want("all that is due", leasedAt(now, all[0], all[2])).from(claimNotifications(ctx, s, now, 9))
		},
	)
}

// oldNotificationsClaimed has old notifications that are due after new ones.
func oldNotificationsClaimed(ctx context.Context, s driver.Store) error {
	all := firstCopies(5)
	for i, created := range []int{50, 10, 40, 20, 30} {
		all[i].CreatedAt = at(created)
	}
	if err := keepNotifications(ctx, s, all...); err != nil {
		return err
	}
	now := at(100)
	return steps(
		func() error {
			return want("none that is older", []driver.Notification(nil)).
				from(claimOldNotifications(ctx, s, now, at(10), 9))
		},
		func() error {
			return want("the longest due of the old", leasedAt(now, all[1])).
				from(claimOldNotifications(ctx, s, now, at(30), 1))
		},
		func() error {
			return want("the rest of the old", leasedAt(now, all[3])).from(claimOldNotifications(ctx, s, now, at(30), 9))
		},
		func() error {
			return want("all others", leasedAt(now, all[0], all[2], all[4])).from(claimNotifications(ctx, s, now, 9))
		},
	)
}

func notificationClaimTakenBack(ctx context.Context, s driver.Store) error {
	all := firstCopies(2)
	if err := keepNotifications(ctx, s, all...); err != nil {
		return err
	}
	claim := driver.NotificationClaim{CompanyID: companyA, At: at(100), Until: at(9000), Limit: 9}
	err := failing(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		claimed, err := tx.ClaimNotifications(ctx, claim)
		if err != nil || len(claimed) != 2 {
			return fmt.Errorf("claimed %d: %w", len(claimed), err)
		}
		again, err := tx.ClaimNotifications(ctx, claim)
		if err := want("claimed again", []driver.Notification(nil)).from(again, err); err != nil {
			return err
		}
		return tx.UpdateNotifications(ctx, []driver.Notification{over(claimed[0], driver.NotificationSent, at(200))})
	})
	if err != nil {
		return err
	}
	return errors.Join(
		holdsNotifications(ctx, s, "after an Update that failed", all[1], all[0]),
		want("claimed after it", leasedAt(at(100), all...)).from(claimNotifications(ctx, s, at(100), 9)),
	)
}

// notificationsClaimedOnce claims concurrently: no notification is claimed twice.
func notificationsClaimedOnce(ctx context.Context, s driver.Store) error {
	all := firstCopies(30)
	if err := keepNotifications(ctx, s, all...); err != nil {
		return err
	}
	found, err := takenAtOnce(ctx, func(limit int) ([]driver.Notification, error) {
		return claimNotifications(ctx, s, at(100), limit)
	})
	slices.SortFunc(found, func(a, b driver.Notification) int { return int(a.Number - b.Number) })
	return want("claimed by anybody", leasedAt(at(100), all...)).from(found, err)
}
