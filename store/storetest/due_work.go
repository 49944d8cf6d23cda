package storetest

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

func workChecks() []Check {
	return []Check{
		{"work/is due by kind, company and endpoint, in pages", grounded(workDue)},
		{"work/a delivery is due when its time has come", grounded(deliveryDue)},
		{"work/a notification is due when its time has come", grounded(notificationDue)},
		{"work/what waits is passed over", grounded(workWaits)},
		{"work/what is over is due to be removed", grounded(pruneDue)},
		{"work/what waits is counted", grounded(workCounted)},
	}
}

// allWork returns a query for work of all kinds that is not pruning, from the beginning.
func allWork() []driver.DueWork {
	// The kinds are in no order: the result has its own.
	return []driver.DueWork{
		{Kind: driver.WorkMail}, {Kind: driver.WorkDeliver}, {Kind: driver.WorkDispatch}, {Kind: driver.WorkPublish},
	}
}

func due(
	when time.Time, limit int, after ...driver.DueWork,
) func(context.Context, driver.ReadTx) ([]driver.DueWork, error) {
	return func(ctx context.Context, tx driver.ReadTx) ([]driver.DueWork, error) {
		return tx.DueWork(ctx, driver.WorkQuery{At: when, After: after, Limit: limit})
	}
}

// workDue has work of every kind in both companies.
func workDue(ctx context.Context, s driver.Store) error {
	of := func(company uuid.UUID, endpoint int64, n int) driver.Delivery {
		delivery := newDelivery(company, n, at(0))
		delivery.Endpoint = endpoint
		return delivery
	}
	// The delivery that was created first is due last.
	early, late := of(companyA, 2, 32), of(companyA, 2, 33)
	early.DueAt, late.DueAt, late.CreatedAt = at(6), at(5), at(1)
	undispatched := []driver.Fact{
		newFact(companyB, 10, at(0)), newFact(companyA, 10, at(1)), newFact(companyA, 11, at(2)),
	}
	err := errors.Join(
		share(ctx, s, func(ctx context.Context, tx driver.Tx) error { return tx.AppendFacts(ctx, undispatched) }),
		appendFacts(ctx, s, newFact(companyB, 20, at(4)), newFact(companyA, 20, at(3)), newFact(companyA, 21, at(5))),
		keepDeliveries(ctx, s, of(companyB, 1, 30), of(companyA, 10, 31), early, late, of(companyB, 7, 34)),
		keepNotifications(ctx, s, newNotification(companyB, 1, 1, at(2)), newNotification(companyA, 1, 1, at(8)),
			newNotification(companyA, 2, 1, at(7)),
			over(newNotification(companyA, 3, 1, at(0)), driver.NotificationSent, at(1))),
	)
	if err != nil {
		return err
	}
	kinds := map[driver.WorkKind][]driver.DueWork{
		driver.WorkDispatch: {{CompanyID: companyA, Since: at(1)}, {CompanyID: companyB, Since: at(0)}},
		driver.WorkPublish:  {{CompanyID: companyA, Since: at(3)}, {CompanyID: companyB, Since: at(4)}},
		driver.WorkDeliver: {
			{CompanyID: companyA, Endpoint: 2, Since: at(5)},
			{CompanyID: companyA, Endpoint: 10, Since: at(0)},
			{CompanyID: companyB, Endpoint: 1, Since: at(0)},
			{CompanyID: companyB, Endpoint: 7, Since: at(0)},
		},
		driver.WorkMail: {{CompanyID: companyA, Since: at(7)}, {CompanyID: companyB, Since: at(2)}},
	}
	var all, first []driver.DueWork
	for _, kind := range []driver.WorkKind{
		driver.WorkDispatch, driver.WorkPublish, driver.WorkDeliver, driver.WorkMail,
	} {
		for i := range kinds[kind] {
			kinds[kind][i].Kind = kind
		}
		all, first = append(all, kinds[kind]...), append(first, kinds[kind][0])
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		err := errors.Join(
			want("all work", all).from(due(at(9), 9, allWork()...)(ctx, tx)),
			want("the first of each kind", first).from(due(at(9), 1, allWork()...)(ctx, tx)),
			want("of no kind", []driver.DueWork(nil)).from(due(at(9), 9)(ctx, tx)),
			want("none", []driver.DueWork(nil)).from(due(at(9), 0, allWork()...)(ctx, tx)),
		)
		for kind, order := range kinds {
			err = errors.Join(err, pages(order, func(after *driver.DueWork, limit int) ([]driver.DueWork, error) {
				from := driver.DueWork{Kind: kind}
				if after != nil {
					from = *after
				}
				return due(at(9), limit, from)(ctx, tx)
			}))
		}
		return err
	})
}

// workCounted checks the counts of a store that has them.
func workCounted(ctx context.Context, s driver.Store) error {
	kinds := []driver.WorkKind{driver.WorkMail, driver.WorkDispatch, driver.WorkDeliver}
	counted := func(limit int) func(context.Context, driver.ReadTx) ([]driver.Waiting, error) {
		return func(ctx context.Context, tx driver.ReadTx) ([]driver.Waiting, error) {
			return tx.(driver.WaitingReader).Waiting(ctx, kinds, limit)
		}
	}
	counts := false
	err := s.View(ctx, func(_ context.Context, tx driver.ReadTx) error {
		_, counts = tx.(driver.WaitingReader)
		return nil
	})
	if err != nil || !counts {
		return err
	}
	none := []driver.Waiting{{Kind: driver.WorkMail}, {Kind: driver.WorkDispatch}, {Kind: driver.WorkDeliver}}
	// The oldest work is not that of the first company.
	due, later := newDelivery(companyB, 31, at(2)), newDelivery(companyA, 32, at(0))
	later.DueAt = at(70)
	return steps(
		func() error { return want("nothing", none).from(read(ctx, s, counted(9))) },
		func() error {
			return share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
				return tx.AppendFacts(ctx, []driver.Fact{
					newFact(companyB, 10, at(1)), newFact(companyA, 10, at(3)), newFact(companyA, 11, at(2)),
				})
			})
		},
		func() error { return appendFacts(ctx, s, newFact(companyA, 20, at(0))) }, // It is dispatched.
		func() error {
			return keepDeliveries(ctx, s, due, later, final(newDelivery(companyA, 33, at(0)), driver.DeliveryFailed))
		},
		func() error {
			return keepNotifications(ctx, s, newNotification(companyA, 1, 1, at(8)), newNotification(companyB, 1, 1, at(7)),
				over(newNotification(companyA, 3, 1, at(0)), driver.NotificationSent, at(1)))
		},
		func() error {
			return want("what waits", []driver.Waiting{
				{Kind: driver.WorkMail, Items: 2, Since: at(7)},
				{Kind: driver.WorkDispatch, Items: 3, Since: at(1)},
				{Kind: driver.WorkDeliver, Items: 2, Since: at(2)},
			}).from(read(ctx, s, counted(9)))
		},
		func() error {
			return want("one of each, since the oldest of all", []driver.Waiting{
				{Kind: driver.WorkMail, Items: 1, Since: at(7)},
				{Kind: driver.WorkDispatch, Items: 1, Since: at(1)},
				{Kind: driver.WorkDeliver, Items: 1, Since: at(2)},
			}).from(read(ctx, s, counted(1)))
		},
	)
}

func deliveryDue(ctx context.Context, s driver.Store) error {
	first, second := newDelivery(companyA, 10, at(0)), newDelivery(companyA, 11, at(0))
	first.DueAt, second.DueAt = at(50), at(60)
	if err := keepDeliveries(ctx, s, first, second); err != nil {
		return err
	}
	work := func(since time.Time) []driver.DueWork {
		return []driver.DueWork{{Kind: driver.WorkDeliver, CompanyID: companyA, Endpoint: 1, Since: since}}
	}
	is := func(expected string, when time.Time, wanted []driver.DueWork) func() error {
		return func() error { return want(expected, wanted).from(read(ctx, s, due(when, 9, allWork()...))) }
	}
	return steps(
		is("before its time", at(49), nil), is("at its time", at(50), work(at(50))),
		func() error { return updateDeliveries(ctx, s, final(first, driver.DeliveryFailed)) },
		is("when the first is final", at(59), nil), is("at the time of the second", at(60), work(at(60))),
		func() error { _, err := claimDeliveries(ctx, s, at(60), 9); return err },
		is("while it is claimed", at(60).Add(999*time.Millisecond), nil),
		is("when the claim runs out", at(60).Add(time.Second), work(at(60).Add(time.Second))),
	)
}

func notificationDue(ctx context.Context, s driver.Store) error {
	first, second := newNotification(companyA, 1, 1, at(0)), newNotification(companyA, 2, 1, at(0))
	first.DueAt, second.DueAt = at(50), at(60)
	if err := keepNotifications(ctx, s, first, second); err != nil {
		return err
	}
	work := func(since time.Time) []driver.DueWork {
		return []driver.DueWork{{Kind: driver.WorkMail, CompanyID: companyA, Since: since}}
	}
	is := func(expected string, when time.Time, wanted []driver.DueWork) func() error {
		return func() error { return want(expected, wanted).from(read(ctx, s, due(when, 9, allWork()...))) }
	}
	return steps(
		is("before its time", at(49), nil), is("at its time", at(50), work(at(50))),
		func() error { return updateNotifications(ctx, s, over(first, driver.NotificationCancelled, at(50))) },
		is("when the first is final", at(59), nil), is("at the time of the second", at(60), work(at(60))),
		func() error { _, err := claimNotifications(ctx, s, at(60), 9); return err },
		is("while it is claimed", at(60).Add(999*time.Millisecond), nil),
		is("when the claim runs out", at(60).Add(time.Second), work(at(60).Add(time.Second))),
	)
}

// pruneDue has old records, and some that must stay: pending, not handled, or of exactly the time of the query.
func pruneDue(ctx context.Context, s driver.Store) error {
	of := func(company uuid.UUID, n, seconds int) driver.Delivery {
		return newDelivery(company, n, at(seconds))
	}
	handled := newFact(companyB, 20, at(4))
	err := errors.Join(
		keepDeliveries(ctx, s, of(companyA, 30, 1), final(of(companyA, 31, 4), driver.DeliveryFailed),
			of(companyB, 32, 1), final(of(companyB, 33, 5), driver.DeliverySucceeded)),
		appendFacts(ctx, s, handled),
		// A notification is removed by the time at which it was finished.
		keepNotifications(ctx, s, newNotification(companyA, 1, 1, at(0)),
			over(newNotification(companyA, 2, 1, at(0)), driver.NotificationSent, at(6)),
			over(newNotification(companyA, 3, 1, at(0)), driver.NotificationFailed, at(5)),
			over(newNotification(companyB, 1, 1, at(0)), driver.NotificationCancelled, at(4))),
	)
	if err != nil {
		return err
	}
	prune := []driver.DueWork{{Kind: driver.WorkPruneMail}, {Kind: driver.WorkPruneFacts}, {Kind: driver.WorkPrune}}
	is := func(expected string, seconds int, wanted ...driver.DueWork) error {
		return want(expected, wanted).from(read(ctx, s, due(at(seconds), 9, prune...)))
	}
	a := driver.DueWork{Kind: driver.WorkPrune, CompanyID: companyA, Since: at(4)}
	b := driver.DueWork{Kind: driver.WorkPrune, CompanyID: companyB, Since: at(5)}
	facts := driver.DueWork{Kind: driver.WorkPruneFacts, CompanyID: companyB, Since: at(4)}
	mailA := driver.DueWork{Kind: driver.WorkPruneMail, CompanyID: companyA, Since: at(5)}
	mailB := driver.DueWork{Kind: driver.WorkPruneMail, CompanyID: companyB, Since: at(4)}
	return steps(
		func() error { return is("before", 4) },
		func() error { return is("what is over", 5, a, mailB) }, // The fact is not handled yet.
		func() error {
			return share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
				return errors.Join(tx.AppendFacts(ctx, []driver.Fact{newFact(companyA, 21, at(1))}),
					tx.CompleteFacts(ctx, []driver.Fact{handled}))
			})
		},
		func() error { return is("all", 6, a, b, facts, mailA, mailB) },
		func() error {
			return want("after one of each kind", []driver.DueWork{b, mailB}).
				from(read(ctx, s, due(at(6), 9, a, mailA)))
		},
		func() error {
			return want("the first", []driver.DueWork{a, facts, mailA}).from(read(ctx, s, due(at(6), 1, prune...)))
		},
	)
}

// workWaits has two places before the one that is due. They do not count towards the limit.
func workWaits(ctx context.Context, s driver.Store) error {
	a := newFact(companyA, 10, at(0))
	waits, later := newDelivery(companyA, 10, at(0)), newDelivery(companyA, 11, at(0))
	later.Endpoint = 2
	waits.DueAt, later.DueAt = at(900), at(900)
	err := errors.Join(
		appendFacts(ctx, s, a, newFact(companyB, 10, at(0))),
		keepDeliveries(ctx, s, waits, later, newDelivery(companyB, 12, at(0))),
		keepNotifications(ctx, s, newNotification(companyA, 1, 1, at(900)), newNotification(companyB, 1, 1, at(0))),
	)
	if err != nil {
		return err
	}
	if err := want("leased", []driver.Fact{a}).from(lease(ctx, s, at(9), 9)); err != nil {
		return err
	}
	return want("the one of each kind that is due", []driver.DueWork{
		{Kind: driver.WorkPublish, CompanyID: companyB, Since: at(0)},
		{Kind: driver.WorkDeliver, CompanyID: companyB, Endpoint: 1, Since: at(0)},
		{Kind: driver.WorkMail, CompanyID: companyB, Since: at(0)},
	}).from(read(ctx, s, due(at(9), 1, allWork()...)))
}
