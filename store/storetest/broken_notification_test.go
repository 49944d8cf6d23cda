package storetest_test

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

type lowestFirst struct{ driver.ReadTx }

func (l lowestFirst) ListNotifications(
	ctx context.Context, query driver.NotificationQuery,
) ([]driver.Notification, error) {
	found, err := l.ReadTx.ListNotifications(ctx, query)
	slices.Reverse(found)
	return found, err
}

type anyEvent struct{ driver.ReadTx }

func (a anyEvent) ListNotifications(
	ctx context.Context, query driver.NotificationQuery,
) ([]driver.Notification, error) {
	query.EventID = uuid.Nil
	return a.ReadTx.ListNotifications(ctx, query)
}

type anyOrder struct{ driver.ReadTx }

func (a anyOrder) ListNotifications(
	ctx context.Context, query driver.NotificationQuery,
) ([]driver.Notification, error) {
	query.Number = 0
	return a.ReadTx.ListNotifications(ctx, query)
}

type inclusiveMail struct{ driver.ReadTx }

func (i inclusiveMail) ListNotifications(
	ctx context.Context, query driver.NotificationQuery,
) ([]driver.Notification, error) {
	if !query.Until.IsZero() {
		query.Until = query.Until.Add(time.Millisecond)
	}
	return i.ReadTx.ListNotifications(ctx, query)
}

// skipsCopies pages by the number alone.
type skipsCopies struct{ driver.ReadTx }

func (s skipsCopies) ListNotifications(
	ctx context.Context, query driver.NotificationQuery,
) ([]driver.Notification, error) {
	query.After.Copy = min(query.After.Copy, 1)
	return s.ReadTx.ListNotifications(ctx, query)
}

// particular returns nothing after a place of another company.
type particular struct{ driver.ReadTx }

func (p particular) ListNotifications(
	ctx context.Context, query driver.NotificationQuery,
) ([]driver.Notification, error) {
	if query.After != (driver.NotificationRef{}) && query.After.CompanyID != query.CompanyID {
		return nil, nil
	}
	return p.ReadTx.ListNotifications(ctx, query)
}

type countsMailPage struct{ driver.ReadTx }

func (c countsMailPage) CountNotifications(ctx context.Context, query driver.NotificationQuery) (int, error) {
	page, err := c.ListNotifications(ctx, query)
	return len(page), err
}

type oneByOne struct{ driver.ReadTx }

func (o oneByOne) OrderNotifications(
	ctx context.Context, orders []driver.OrderNumber,
) (all []driver.Notification, err error) {
	for _, order := range orders {
		found, err := o.ReadTx.OrderNotifications(ctx, []driver.OrderNumber{order})
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

type overwriting struct{ driver.Tx }

func (o overwriting) AppendNotifications(ctx context.Context, notifications []driver.Notification) error {
	if err := o.Tx.AppendNotifications(ctx, notifications); err != nil {
		return err
	}
	return o.UpdateNotifications(ctx, notifications)
}

// existing returns those of the notifications whose keys exist.
func existing(
	ctx context.Context, tx driver.Tx, notifications []driver.Notification,
) ([]driver.Notification, error) {
	refs := make([]driver.NotificationRef, len(notifications))
	for i, n := range notifications {
		refs[i] = n.Ref()
	}
	found, err := tx.LockNotifications(ctx, refs)
	return slices.DeleteFunc(found, func(n driver.Notification) bool { return n.Number == 0 }), err
}

type refusing struct{ driver.Tx }

func (r refusing) AppendNotifications(ctx context.Context, notifications []driver.Notification) error {
	if found, err := existing(ctx, r.Tx, notifications); err != nil || len(found) > 0 {
		return &driver.ConstraintError{Constraint: "notifications_pkey"}
	}
	return r.Tx.AppendNotifications(ctx, notifications)
}

// leavingOutAll leaves out all notifications of a call if one of them exists.
type leavingOutAll struct{ driver.Tx }

func (l leavingOutAll) AppendNotifications(ctx context.Context, notifications []driver.Notification) error {
	if found, err := existing(ctx, l.Tx, notifications); err != nil || len(found) > 0 {
		return err
	}
	return l.Tx.AppendNotifications(ctx, notifications)
}

// finishing sets the time at which a final notification was finished, if it has none.
type finishing struct{ driver.Tx }

func (f finishing) AppendNotifications(ctx context.Context, notifications []driver.Notification) error {
	notifications = slices.Clone(notifications)
	for i, n := range notifications {
		if n.Status != driver.NotificationPending && n.FinishedAt.IsZero() {
			notifications[i].FinishedAt = n.CreatedAt
		}
	}
	return f.Tx.AppendNotifications(ctx, notifications)
}

// cancelledForGood does not change a cancelled notification.
type cancelledForGood struct{ driver.Tx }

func (c cancelledForGood) UpdateNotifications(ctx context.Context, notifications []driver.Notification) error {
	kept, err := existing(ctx, c.Tx, notifications)
	if err != nil {
		return err
	}
	cancelled := func(n driver.Notification) bool {
		return slices.ContainsFunc(kept, func(k driver.Notification) bool {
			return k.Ref() == n.Ref() && k.Status == driver.NotificationCancelled
		})
	}
	return c.Tx.UpdateNotifications(ctx, slices.DeleteFunc(slices.Clone(notifications), cancelled))
}

type unleasedMail struct{ driver.Tx }

func (u unleasedMail) ClaimNotifications(
	ctx context.Context, claim driver.NotificationClaim,
) ([]driver.Notification, error) {
	until := claim.Until
	claim.Until = claim.At
	claimed, err := u.Tx.ClaimNotifications(ctx, claim)
	for i := range claimed {
		claimed[i].DueAt, claimed[i].LeasedUntil = until, until
	}
	return claimed, err
}

type leasedForEver struct{ driver.Tx }

func (l leasedForEver) ClaimNotifications(
	ctx context.Context, claim driver.NotificationClaim,
) ([]driver.Notification, error) {
	until := claim.Until
	claim.Until = until.AddDate(100, 0, 0)
	claimed, err := l.Tx.ClaimNotifications(ctx, claim)
	for i := range claimed {
		claimed[i].DueAt, claimed[i].LeasedUntil = until, until
	}
	return claimed, err
}

type hastyMail struct{ driver.Tx }

func (h hastyMail) ClaimNotifications(
	ctx context.Context, claim driver.NotificationClaim,
) ([]driver.Notification, error) {
	claim.At = claim.At.Add(time.Hour)
	return h.Tx.ClaimNotifications(ctx, claim)
}

type backwardsMail struct{ driver.Tx }

func (b backwardsMail) ClaimNotifications(
	ctx context.Context, claim driver.NotificationClaim,
) ([]driver.Notification, error) {
	claimed, err := b.Tx.ClaimNotifications(ctx, claim)
	slices.Reverse(claimed)
	return claimed, err
}

type anyAge struct{ driver.Tx }

func (a anyAge) ClaimNotifications(
	ctx context.Context, claim driver.NotificationClaim,
) ([]driver.Notification, error) {
	claim.CreatedBefore = time.Time{}
	return a.Tx.ClaimNotifications(ctx, claim)
}

// claimedOutside records claims outside of the transaction.
type claimedOutside struct {
	driver.Tx

	claimed map[driver.NotificationRef]bool
}

func keepsMailClaims(s driver.Store) driver.Store {
	claimed := make(map[driver.NotificationRef]bool)
	return writing(func(tx driver.Tx) driver.Tx { return claimedOutside{tx, claimed} })(s)
}

func (c claimedOutside) ClaimNotifications(
	ctx context.Context, claim driver.NotificationClaim,
) ([]driver.Notification, error) {
	claimed, err := c.Tx.ClaimNotifications(ctx, claim)
	claimed = slices.DeleteFunc(claimed, func(n driver.Notification) bool { return c.claimed[n.Ref()] })
	for _, n := range claimed {
		c.claimed[n.Ref()] = true
	}
	return claimed, err
}

// claimingMailTwice also returns a notification that the first claim returned.
type claimingMailTwice struct {
	driver.Tx

	first *[]driver.Notification
}

func claimsMailTwice(s driver.Store) driver.Store {
	first := new([]driver.Notification)
	return writing(func(tx driver.Tx) driver.Tx { return claimingMailTwice{tx, first} })(s)
}

func (c claimingMailTwice) ClaimNotifications(
	ctx context.Context, claim driver.NotificationClaim,
) ([]driver.Notification, error) {
	claimed, err := c.Tx.ClaimNotifications(ctx, claim)
	if *c.first == nil {
		*c.first = slices.Clone(claimed)
		return claimed, err
	}
	if len(claimed) > 0 {
		claimed[0] = (*c.first)[0]
	}
	return claimed, err
}

type gaplessLocks struct{ driver.Tx }

func (g gaplessLocks) LockNotifications(
	ctx context.Context, refs []driver.NotificationRef,
) ([]driver.Notification, error) {
	found, err := g.Tx.LockNotifications(ctx, refs)
	return slices.DeleteFunc(found, func(n driver.Notification) bool { return n.Number == 0 }), err
}

// sweepingMail treats pending notifications as final.
type sweepingMail struct{ driver.Tx }

func (s sweepingMail) PruneNotifications(
	ctx context.Context, companyID uuid.UUID, before time.Time, limit int,
) (int, error) {
	waiting, err := s.ListNotifications(ctx, driver.NotificationQuery{
		CompanyID: companyID, Status: driver.NotificationPending, Limit: limit,
	})
	if err != nil {
		return 0, err
	}
	for i := range waiting {
		waiting[i].Status, waiting[i].FinishedAt = driver.NotificationFailed, waiting[i].CreatedAt
	}
	if err := s.UpdateNotifications(ctx, waiting); err != nil {
		return 0, err
	}
	return s.Tx.PruneNotifications(ctx, companyID, before, limit)
}

type timelessPrune struct{ driver.Tx }

func (t timelessPrune) PruneNotifications(
	ctx context.Context, companyID uuid.UUID, before time.Time, limit int,
) (int, error) {
	return t.Tx.PruneNotifications(ctx, companyID, before.Add(time.Hour), limit)
}

type neverPruned struct{ driver.ReadTx }

func (neverPruned) PrunedNotifications(context.Context, uuid.UUID) (int64, error) { return 0, nil }

// lastPruning keeps only the highest number of the last pruning.
type lastPruning struct {
	driver.Tx

	last map[uuid.UUID]int64
}

func lastPruned(s driver.Store) driver.Store {
	last := make(map[uuid.UUID]int64)
	return writing(func(tx driver.Tx) driver.Tx { return lastPruning{tx, last} })(s)
}

func (l lastPruning) PrunedNotifications(ctx context.Context, companyID uuid.UUID) (int64, error) {
	kept, err := l.Tx.PrunedNotifications(ctx, companyID)
	return min(kept, l.last[companyID]), err
}

func (l lastPruning) PruneNotifications(
	ctx context.Context, companyID uuid.UUID, before time.Time, limit int,
) (int, error) {
	query := driver.NotificationQuery{CompanyID: companyID, Limit: 99}
	old, err := l.ListNotifications(ctx, query)
	if err != nil {
		return 0, err
	}
	pruned, err := l.Tx.PruneNotifications(ctx, companyID, before, limit)
	if err != nil || pruned == 0 {
		return pruned, err
	}
	left, err := l.ListNotifications(ctx, query)
	l.last[companyID] = 0
	for _, n := range old {
		if !slices.ContainsFunc(left, func(other driver.Notification) bool { return other.Ref() == n.Ref() }) {
			l.last[companyID] = max(l.last[companyID], n.Number)
		}
	}
	return pruned, err
}

type codeless struct{ driver.Tx }

func (c codeless) AppendNotifications(ctx context.Context, notifications []driver.Notification) error {
	notifications = slices.Clone(notifications)
	for i := range notifications {
		notifications[i].Attempts = slices.Clone(notifications[i].Attempts)
		for j := range notifications[i].Attempts {
			notifications[i].Attempts[j].Code = ""
		}
	}
	return c.Tx.AppendNotifications(ctx, notifications)
}

type addressed struct{ driver.Tx }

func (a addressed) UpdateNotifications(ctx context.Context, notifications []driver.Notification) error {
	kept, err := existing(ctx, a.Tx, notifications)
	if err != nil {
		return err
	}
	notifications = slices.Clone(notifications)
	for i := range min(len(kept), len(notifications)) {
		notifications[i].Recipient = kept[i].Recipient
	}
	return a.Tx.UpdateNotifications(ctx, notifications)
}

// moving keeps every field of a change: it removes the notification and appends the changed one.
type moving struct{ driver.Tx }

func (m moving) UpdateNotifications(ctx context.Context, notifications []driver.Notification) error {
	if err := m.Tx.UpdateNotifications(ctx, notifications); err != nil {
		return err
	}
	for _, n := range notifications {
		if _, err := m.PruneNotifications(ctx, n.CompanyID, n.FinishedAt.Add(time.Millisecond), 1); err != nil {
			return err
		}
	}
	return m.AppendNotifications(ctx, notifications)
}

// making creates what is missing instead of failing.
type making struct{ driver.Tx }

func (m making) UpdateNotifications(ctx context.Context, notifications []driver.Notification) error {
	if err := m.AppendNotifications(ctx, notifications); err != nil {
		return err
	}
	return m.Tx.UpdateNotifications(ctx, notifications)
}

type coarseAttempts struct{ driver.Tx }

func (c coarseAttempts) AppendNotifications(ctx context.Context, notifications []driver.Notification) error {
	notifications = slices.Clone(notifications)
	for i := range notifications {
		notifications[i].Attempts = slices.Clone(notifications[i].Attempts)
		for j := range notifications[i].Attempts {
			at := &notifications[i].Attempts[j].At
			at.Time = at.Truncate(time.Second)
		}
	}
	return c.Tx.AppendNotifications(ctx, notifications)
}

// sharedLocks returns the same notifications each time, instead of copies.
type sharedLocks struct {
	driver.Tx

	once map[driver.NotificationRef]driver.Notification
}

func locksShared(s driver.Store) driver.Store {
	once := make(map[driver.NotificationRef]driver.Notification)
	return writing(func(tx driver.Tx) driver.Tx { return sharedLocks{tx, once} })(s)
}

func (s sharedLocks) share(found []driver.Notification) []driver.Notification {
	for i, n := range found {
		if kept, ok := s.once[n.Ref()]; ok {
			found[i] = kept
		}
		s.once[n.Ref()] = found[i]
	}
	return found
}

func (s sharedLocks) LockNotifications(
	ctx context.Context, refs []driver.NotificationRef,
) ([]driver.Notification, error) {
	found, err := s.Tx.LockNotifications(ctx, refs)
	return s.share(found), err
}

func (s sharedLocks) ListNotifications(
	ctx context.Context, query driver.NotificationQuery,
) ([]driver.Notification, error) {
	found, err := s.Tx.ListNotifications(ctx, query)
	return s.share(found), err
}
