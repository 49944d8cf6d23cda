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

// newNotification returns a pending notification that is due when it is created.
func newNotification(companyID uuid.UUID, number int64, copies int, when time.Time) driver.Notification {
	return driver.Notification{
		CompanyID: companyID, Number: number, Copy: copies, OrderID: id(100_000 + int(number)), EventID: eventA.ID,
		Recipient: awkward, Status: driver.NotificationPending, DueAt: when, CreatedAt: when,
	}
}

// over returns the notification with a final status, finished at a time.
func over(n driver.Notification, status driver.NotificationStatus, when time.Time) driver.Notification {
	n.Status, n.FinishedAt, n.LeasedUntil = status, when, time.Time{}
	return n
}

func notificationKinds() []record {
	kept := newNotification(companyA, 3, 2, at(0))
	kept.Attempts = []driver.NotificationAttempt{
		{At: driver.Time{Time: at(1)}, Code: "450 4.2.0 " + awkward, Error: awkward},
		{At: driver.Time{Time: at(2)}, Error: "none"},
	}
	kept.Reason, kept.LeasedUntil, kept.DueAt = awkward, at(30), at(30)
	changed := over(kept, driver.NotificationFailed, at(5000))
	changed.Recipient, changed.Reason, changed.DueAt = "", "changed "+awkward, at(40)
	last := driver.NotificationAttempt{At: driver.Time{Time: at(3)}, Code: "550 5.1.1"}
	changed.Attempts = append(slices.Clone(kept.Attempts), last)
	holds := func(locked driver.Notification, listed ...driver.Notification) reads {
		return func(ctx context.Context, tx driver.ReadTx) error {
			query := driver.NotificationQuery{CompanyID: companyA, Limit: 9}
			order := driver.OrderNumber{CompanyID: companyA, Number: 3}
			err := errors.Join(
				want("OrderNotifications", listed).from(tx.OrderNotifications(ctx, []driver.OrderNumber{order})),
				want("ListNotifications", listed).from(tx.ListNotifications(ctx, query)),
				want("CountNotifications", len(listed)).from(tx.CountNotifications(ctx, query)),
				want("PrunedNotifications", int64(0)).from(tx.PrunedNotifications(ctx, companyA)),
			)
			if updating, ok := tx.(driver.NotificationWriter); ok {
				err = errors.Join(err, want("LockNotifications", []driver.Notification{locked}).
					from(updating.LockNotifications(ctx, []driver.NotificationRef{kept.Ref()})))
			}
			return err
		}
	}
	return []record{{
		name: "notifications", created: holds(kept, kept), absent: holds(driver.Notification{}),
		create: func(ctx context.Context, tx driver.Tx) error {
			return tx.AppendNotifications(ctx, []driver.Notification{kept})
		},
		change: func(ctx context.Context, tx driver.Tx) error {
			// What a notification is about must stay unchanged.
			other := changed
			other.OrderID, other.EventID, other.CreatedAt = id(9), id(9), at(9)
			return tx.UpdateNotifications(ctx, []driver.Notification{other})
		},
		changed: holds(changed, changed),
	}}
}

func notificationChecks() []Check {
	return []Check{
		{"notifications/list is in order and in pages under every filter", grounded(notificationsListed)},
		{"notifications/those of orders are found in order", grounded(notificationsOfOrders)},
		{"notifications/one whose key exists is left out", grounded(notificationsLeftOut)},
		{"notifications/are made once by several at a time", grounded(notificationsMadeOnce)},
		{"notifications/are sound", grounded(notificationsSound)},
		{"notifications/a claim keeps others away until it runs out", grounded(notificationsClaimed)},
		{"notifications/the longest due are claimed", grounded(notificationsDue)},
		{"notifications/old ones alone are claimed where that is asked", grounded(oldNotificationsClaimed)},
		{"notifications/a claim is taken back", grounded(notificationClaimTakenBack)},
		{"notifications/a notification is claimed once", grounded(notificationsClaimedOnce)},
		{"notifications/locks are aligned and of their company", grounded(notificationsLocked)},
		{"notifications/old ones that are final are removed", grounded(notificationsPruned)},
		{"notifications/the highest number removed is kept", grounded(notificationsPrunedUpTo)},
	}
}

func keepNotifications(ctx context.Context, s driver.Store, notifications ...driver.Notification) error {
	err := share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		return tx.AppendNotifications(ctx, notifications)
	})
	if err != nil {
		return fmt.Errorf("append notifications: %w", err)
	}
	return nil
}

func updateNotifications(ctx context.Context, s driver.Store, notifications ...driver.Notification) error {
	err := share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		return tx.UpdateNotifications(ctx, notifications)
	})
	if err != nil {
		return fmt.Errorf("update notifications: %w", err)
	}
	return nil
}

// holdsNotifications expects these notifications of company A, highest first.
func holdsNotifications(ctx context.Context, s driver.Store, what string, expected ...driver.Notification) error {
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		query := driver.NotificationQuery{CompanyID: companyA, Limit: 99}
		return want(what, expected).from(tx.ListNotifications(ctx, query))
	})
}

// manyNotifications returns notifications of two events, of several orders and copies, in all statuses, highest first.
// They were created in another order.
func manyNotifications() []driver.Notification {
	statuses := []driver.NotificationStatus{
		driver.NotificationSent, driver.NotificationPending, driver.NotificationFailed, driver.NotificationCancelled,
		driver.NotificationSent,
	}
	var all []driver.Notification
	for i := range 20 {
		one := newNotification(companyA, int64(1+2*(i/3)), 1+i%3, at(i*7%20))
		if i%2 == 1 {
			one.EventID = id(9)
		}
		if status := statuses[i%5]; status != driver.NotificationPending {
			one = over(one, status, at(100-i))
		}
		all = append(all, one)
	}
	slices.Reverse(all)
	return all
}

func notificationsListed(ctx context.Context, s driver.Store) error {
	all := manyNotifications()
	shuffled := append([]driver.Notification{newNotification(companyB, 3, 1, at(3))}, all...)
	slices.SortFunc(shuffled, func(a, b driver.Notification) int { return a.CreatedAt.Compare(b.CreatedAt) })
	if err := keepNotifications(ctx, s, shuffled...); err != nil {
		return err
	}
	for _, query := range []driver.NotificationQuery{
		{},
		{EventID: id(9)},
		{EventID: id(90)},
		{Number: 5},
		{Number: 6},
		{Status: driver.NotificationPending},
		{Status: driver.NotificationSent},
		{Status: driver.NotificationFailed},
		{Status: driver.NotificationCancelled},
		{Since: at(4)},
		{Until: at(4)},
		{Since: at(2), Until: at(8)},
		{Since: at(8), Until: at(2)},
		{Since: at(100)},
		{EventID: eventA.ID, Status: driver.NotificationFailed, Since: at(1), Until: at(19)},
		{EventID: id(9), Status: driver.NotificationPending, Since: at(1)},
		{Number: 7, Status: driver.NotificationSent},
		{Status: driver.NotificationCancelled, Until: at(12)},
	} {
		query.CompanyID = companyA
		if err := everywhere(ctx, s, notificationsFiltered(query, all)); err != nil {
			return fmt.Errorf("event %s, order %d, status %q, since %v, until %v: %w", query.EventID, query.Number,
				query.Status, query.Since, query.Until, err)
		}
	}
	return nil
}

// notificationsFiltered compares the list of a query and its count with all notifications that match it.
func notificationsFiltered(query driver.NotificationQuery, all []driver.Notification) reads {
	var order []driver.NotificationRef
	for _, n := range all {
		if (query.EventID == uuid.Nil || n.EventID == query.EventID) && (query.Number == 0 || n.Number == query.Number) &&
			(query.Status == "" || n.Status == query.Status) && !n.CreatedAt.Before(query.Since) &&
			(query.Until.IsZero() || n.CreatedAt.Before(query.Until)) {
			order = append(order, n.Ref())
		}
	}
	return func(ctx context.Context, tx driver.ReadTx) error {
		// The company of the place must be ignored.
		for _, company := range []uuid.UUID{companyA, companyB, {}} {
			err := pages(order, func(after *driver.NotificationRef, limit int) ([]driver.NotificationRef, error) {
				query.Limit, query.After = limit, driver.NotificationRef{CompanyID: company}
				if after != nil {
					query.After = driver.NotificationRef{CompanyID: company, Number: after.Number, Copy: after.Copy}
				}
				found, err := tx.ListNotifications(ctx, query)
				refs := make([]driver.NotificationRef, len(found))
				for i, n := range found {
					refs[i] = n.Ref()
				}
				return refs, err
			})
			if err != nil {
				return err
			}
		}
		query.After, query.Limit = driver.NotificationRef{}, 0
		none := want("of no limit", []driver.Notification(nil)).from(tx.ListNotifications(ctx, query))
		// The count ignores the place and the limit.
		query.After, query.Limit = driver.NotificationRef{CompanyID: companyA, Number: 5, Copy: 2}, 1
		return errors.Join(none, want("count", len(order)).from(tx.CountNotifications(ctx, query)))
	}
}

func notificationsOfOrders(ctx context.Context, s driver.Store) error {
	of := func(number int64, copies int) driver.Notification {
		return newNotification(companyA, number, copies, at(int(number)))
	}
	foreign := newNotification(companyB, 2, 1, at(0))
	sent := over(of(2, 1), driver.NotificationSent, at(9))
	if err := keepNotifications(ctx, s, of(3, 1), of(2, 10), foreign, sent, of(2, 2), of(1, 1), of(4, 1)); err != nil {
		return err
	}
	order := func(companyID uuid.UUID, number int64) driver.OrderNumber {
		return driver.OrderNumber{CompanyID: companyID, Number: number}
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return errors.Join(
			want("of several orders", []driver.Notification{of(1, 1), sent, of(2, 2), of(2, 10), foreign}).
				from(tx.OrderNotifications(ctx, []driver.OrderNumber{
					order(companyB, 2), order(companyA, 2), order(companyA, 9), order(companyA, 1), order(companyA, 2),
				})),
			want("of one order", []driver.Notification{sent, of(2, 2), of(2, 10)}).
				from(tx.OrderNotifications(ctx, []driver.OrderNumber{order(companyA, 2)})),
			want("of an order of another company", []driver.Notification(nil)).
				from(tx.OrderNotifications(ctx, []driver.OrderNumber{order(companyB, 1)})),
			want("of no order", []driver.Notification(nil)).from(tx.OrderNotifications(ctx, nil)),
		)
	})
}

// notificationsLeftOut appends notifications whose keys exist already: from before, from the same Update and from the
// same call.
func notificationsLeftOut(ctx context.Context, s driver.Store) error {
	kept := over(newNotification(companyA, 2, 1, at(0)), driver.NotificationSent, at(1))
	leased := newNotification(companyA, 3, 1, at(0))
	leased.LeasedUntil, leased.DueAt = at(9000), at(9000)
	other := func(n driver.Notification) driver.Notification {
		n.OrderID, n.EventID, n.Recipient, n.CreatedAt = id(9), id(9), "other", at(5)
		n.Status, n.FinishedAt, n.LeasedUntil, n.DueAt = driver.NotificationPending, time.Time{}, time.Time{}, at(5)
		return n
	}
	second, third := newNotification(companyA, 2, 2, at(6)), newNotification(companyA, 1, 1, at(7))
	foreign := newNotification(companyB, 2, 1, at(8))
	return steps(
		func() error { return keepNotifications(ctx, s, kept, leased) },
		func() error { return keepNotifications(ctx, s, other(leased), second, other(kept), foreign) },
		func() error { return holdsNotifications(ctx, s, "after those that exist", leased, second, kept) },
		func() error {
			return share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
				return errors.Join(
					tx.AppendNotifications(ctx, []driver.Notification{third, other(third)}),
					tx.AppendNotifications(ctx, []driver.Notification{other(third), other(second)}),
					want("in the same Update", []driver.Notification{third}).from(tx.OrderNotifications(ctx,
						[]driver.OrderNumber{{CompanyID: companyA, Number: 1}})),
				)
			})
		},
		func() error { return keepNotifications(ctx, s, other(third)) },
		func() error { return holdsNotifications(ctx, s, "in the end", leased, second, kept, third) },
		func() error {
			return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
				query := driver.NotificationQuery{CompanyID: companyB, Limit: 9}
				return want("of another company", []driver.Notification{foreign}).from(tx.ListNotifications(ctx, query))
			})
		},
	)
}

// notificationsMadeOnce appends the same keys concurrently, in different orders: all succeed, and each key is kept
// once.
func notificationsMadeOnce(ctx context.Context, s driver.Store) error {
	const workers, orders = 8, 20
	err := together(ctx, workers, func(n int) error {
		var mine []driver.Notification
		for number := range orders {
			one := newNotification(companyA, int64(number+1), 1, at(0))
			one.Recipient = fmt.Sprint("worker ", n)
			mine = append(mine, one)
		}
		if n%2 == 1 {
			slices.Reverse(mine)
		}
		return keepNotifications(ctx, s, mine...)
	})
	if err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		query := driver.NotificationQuery{CompanyID: companyA, Limit: 99}
		found, err := tx.ListNotifications(ctx, query)
		return errors.Join(
			want("notifications", orders).from(len(found), err),
			want("counted", orders).from(tx.CountNotifications(ctx, query)),
		)
	})
}

func notificationsSound(ctx context.Context, s driver.Store) error {
	made := newNotification(companyA, 2, 1, at(0))
	if err := keepNotifications(ctx, s, made); err != nil {
		return err
	}
	for name, spoil := range map[string]func(n *driver.Notification){
		"a status of its own":        func(n *driver.Notification) { n.Status = "LOST" },
		"an end while it is pending": func(n *driver.Notification) { n.FinishedAt = at(9) },
		"no end although it was sent": func(n *driver.Notification) {
			n.Status = driver.NotificationSent
		},
		"a lease although it failed": func(n *driver.Notification) {
			*n = over(*n, driver.NotificationFailed, at(9))
			n.LeasedUntil = at(9)
		},
	} {
		created, changed := newNotification(companyA, 3, 1, at(0)), made
		spoil(&created)
		spoil(&changed)
		err := errors.Join(
			refuses("append a notification with "+name, keepNotifications(ctx, s, created)),
			refuses("change a notification to one with "+name, updateNotifications(ctx, s, changed)),
		)
		if err != nil {
			return err
		}
	}
	// A mail that was accepted while its notification was cancelled was sent.
	cancelled, sent := over(made, driver.NotificationCancelled, at(9)), over(made, driver.NotificationSent, at(10))
	return errors.Join(
		refuses("append a notification of no order", keepNotifications(ctx, s, newNotification(companyA, 0, 1, at(0)))),
		refuses("append a notification of no copy", keepNotifications(ctx, s, newNotification(companyA, 3, 0, at(0)))),
		holdsNotifications(ctx, s, "after those that were refused", made),
		updateNotifications(ctx, s, cancelled), updateNotifications(ctx, s, sent),
		holdsNotifications(ctx, s, "sent although it was cancelled", sent),
	)
}

func notificationsLocked(ctx context.Context, s driver.Store) error {
	one, two := newNotification(companyA, 2, 1, at(1)), newNotification(companyA, 2, 2, at(1))
	foreign := newNotification(companyB, 3, 1, at(1))
	if err := keepNotifications(ctx, s, two, foreign, one); err != nil {
		return err
	}
	elsewhere := foreign.Ref()
	elsewhere.CompanyID = companyA
	return share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		return errors.Join(
			want("locked", []driver.Notification{two, {}, one, {}, foreign, two}).
				from(tx.LockNotifications(ctx, []driver.NotificationRef{
					two.Ref(), elsewhere, one.Ref(), {}, foreign.Ref(), two.Ref(),
				})),
			want("none", []driver.Notification(nil)).from(tx.LockNotifications(ctx, nil)),
		)
	})
}

// pruneNotifications removes notifications of company A that were finished before a time.
func pruneNotifications(ctx context.Context, s driver.Store, before time.Time, limit int) (pruned int, err error) {
	err = share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		pruned, err = tx.PruneNotifications(ctx, companyA, before, limit)
		return err
	})
	return pruned, err
}

// notificationsPruned has notifications that were not finished in the order in which they were made. The oldest one is
// pending.
func notificationsPruned(ctx context.Context, s driver.Store) error {
	made := func(number int64, status driver.NotificationStatus, finished int) driver.Notification {
		return over(newNotification(companyA, number, 1, at(0)), status, at(finished))
	}
	all := []driver.Notification{
		made(7, driver.NotificationSent, 5), made(6, driver.NotificationCancelled, 1), made(5, driver.NotificationFailed, 4),
		newNotification(companyA, 4, 1, at(0)), made(3, driver.NotificationSent, 2), made(2, driver.NotificationSent, 3),
	}
	foreign := over(newNotification(companyB, 1, 1, at(0)), driver.NotificationFailed, at(0))
	if err := keepNotifications(ctx, s, append(all, foreign)...); err != nil {
		return err
	}
	err := failing(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		return want("removed in an Update that fails", 4).from(tx.PruneNotifications(ctx, companyA, at(5), 9))
	})
	removes := func(what string, number, limit int) func() error {
		return func() error { return want(what, number).from(pruneNotifications(ctx, s, at(5), limit)) }
	}
	left := func(notifications ...driver.Notification) func() error {
		return func() error { return holdsNotifications(ctx, s, "left", notifications...) }
	}
	return errors.Join(err, steps(
		left(all...),
		removes("none", 0, 0), left(all...),
		removes("the three that were finished first", 3, 3), left(all[0], all[2], all[3]),
		removes("the rest", 1, 9), left(all[0], all[3]),
		removes("no more", 0, 9),
		func() error {
			return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
				query := driver.NotificationQuery{CompanyID: companyB, Limit: 9}
				return want("of another company", []driver.Notification{foreign}).from(tx.ListNotifications(ctx, query))
			})
		},
		// The key of a removed notification is free again.
		func() error { return keepNotifications(ctx, s, all[1]) }, left(all[0], all[1], all[3]),
	))
}

// notificationsPrunedUpTo removes notifications of orders with ever lower numbers after the highest one.
func notificationsPrunedUpTo(ctx context.Context, s driver.Store) error {
	made := func(number int64, finished int) driver.Notification {
		return over(newNotification(companyA, number, 1, at(0)), driver.NotificationSent, at(finished))
	}
	if err := keepNotifications(ctx, s, made(3, 1), made(8, 2), made(5, 3), made(6, 4), made(9, 5)); err != nil {
		return err
	}
	upTo := func(expected int64) func() error {
		return func() error {
			return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
				return errors.Join(
					want("the highest number", expected).from(tx.PrunedNotifications(ctx, companyA)),
					want("of another company", int64(0)).from(tx.PrunedNotifications(ctx, companyB)),
				)
			})
		}
	}
	removes := func(before, number int) func() error {
		return func() error { return want("removed", number).from(pruneNotifications(ctx, s, at(before), 9)) }
	}
	return steps(
		upTo(0), removes(1, 0), upTo(0),
		func() error {
			return failing(ctx, s, func(ctx context.Context, tx driver.Tx) error {
				_, err := tx.PruneNotifications(ctx, companyA, at(9), 9)
				return errors.Join(err, want("in the same Update", int64(9)).from(tx.PrunedNotifications(ctx, companyA)))
			})
		},
		upTo(0),
		removes(2, 1), upTo(3), removes(3, 1), upTo(8), removes(5, 2), upTo(8), removes(5, 0), upTo(8),
		removes(9, 1), upTo(9),
	)
}
