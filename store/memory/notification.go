package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

type notifications struct {
	byRef     map[driver.NotificationRef]driver.Notification
	ofCompany map[uuid.UUID]*notificationLists
	pending   notificationQueue   // by the time at which they are due
	final     notificationQueue   // by the time at which they were finished
	pruned    map[uuid.UUID]int64 // the highest number of an order whose notification was removed
}

type notificationLists = lists[driver.NotificationRef, driver.NotificationStatus]

func newNotifications() notifications {
	return notifications{
		byRef:     make(map[driver.NotificationRef]driver.Notification),
		ofCompany: make(map[uuid.UUID]*notificationLists),
		pending:   newNotificationQueue(),
		final:     newNotificationQueue(),
		pruned:    make(map[uuid.UUID]int64),
	}
}

func newNotificationLists() *notificationLists {
	return newLists[driver.NotificationRef, driver.NotificationStatus](compareNotifications)
}

func compareNotifications(a, b driver.NotificationRef) int {
	return cmp.Or(compareIDs(a.CompanyID, b.CompanyID), cmp.Compare(a.Number, b.Number), cmp.Compare(a.Copy, b.Copy))
}

// notificationQueue holds the notifications of each company by a time.
type notificationQueue struct {
	of        map[uuid.UUID]*index[timedNotification]
	companies *index[uuid.UUID] // those that have any
}

type timedNotification struct {
	at  time.Time
	ref driver.NotificationRef
}

func newNotificationQueue() notificationQueue {
	return notificationQueue{of: make(map[uuid.UUID]*index[timedNotification]), companies: newIndex(compareIDs)}
}

func newTimedNotifications() *index[timedNotification] {
	return newIndex(func(a, b timedNotification) int {
		return cmp.Or(a.at.Compare(b.at), compareNotifications(a.ref, b.ref))
	})
}

func (q *notificationQueue) add(u *undo, at time.Time, ref driver.NotificationRef) {
	of := need(q.of, ref.CompanyID, newTimedNotifications)
	if len(of.keys) == 0 {
		q.companies.add(u, ref.CompanyID)
	}
	of.add(u, timedNotification{at, ref})
}

func (q *notificationQueue) drop(u *undo, at time.Time, ref driver.NotificationRef) {
	of := q.of[ref.CompanyID]
	of.drop(u, timedNotification{at, ref})
	if len(of.keys) == 0 {
		q.companies.drop(u, ref.CompanyID)
	}
}

// until returns the notifications of a company up to a time, the oldest first.
func (q *notificationQueue) until(companyID uuid.UUID, at time.Time) []timedNotification {
	of, ok := q.of[companyID]
	if !ok {
		return nil
	}
	to, _ := slices.BinarySearchFunc(of.keys, at, func(key timedNotification, at time.Time) int {
		return cmp.Or(key.at.Compare(at), -1)
	})
	return of.keys[:to]
}

// due returns the time of the longest overdue notification of a company, if one is due.
func (n *notifications) due(companyID uuid.UUID, at time.Time) []driver.Position {
	return firstTime(n.pending.until(companyID, at))
}

// prunable returns the time at which the first of a company's notifications was finished, if it was before a time.
func (n *notifications) prunable(companyID uuid.UUID, before time.Time) []driver.Position {
	return firstTime(n.finishedBefore(companyID, before))
}

func firstTime(found []timedNotification) []driver.Position {
	if len(found) == 0 {
		return nil
	}
	return []driver.Position{{At: found[0].at}}
}

// finishedBefore returns the notifications of a company that were finished before a time, in the order in which they
// were finished.
func (n *notifications) finishedBefore(companyID uuid.UUID, before time.Time) []timedNotification {
	// Times are kept in milliseconds, so this is the last moment before the time.
	return n.final.until(companyID, moment(before).Add(-time.Millisecond))
}

func checkNotification(n driver.Notification) error {
	final := true
	switch n.Status {
	case driver.NotificationPending:
		final = false
	case driver.NotificationSent, driver.NotificationFailed, driver.NotificationCancelled:
	default:
		return broken("notifications_status_check")
	}
	if err := check(n.Number >= 1, "notifications_number_check"); err != nil {
		return err
	}
	if err := check(n.Copy >= 1, "notifications_copy_check"); err != nil {
		return err
	}
	if err := check(final != n.FinishedAt.IsZero(), "notifications_status_check"); err != nil {
		return err
	}
	return check(!final || n.LeasedUntil.IsZero(), "notifications_pending_check")
}

func keptNotification(n driver.Notification) driver.Notification {
	n.DueAt, n.LeasedUntil, n.FinishedAt = moment(n.DueAt), moment(n.LeasedUntil), moment(n.FinishedAt)
	n.CreatedAt, n.Attempts = moment(n.CreatedAt), slices.Clone(n.Attempts)
	for i := range n.Attempts {
		n.Attempts[i].At.Time = moment(n.Attempts[i].At.Time)
	}
	return n
}

func (n *notifications) find(ref driver.NotificationRef) driver.Notification {
	found := n.byRef[ref]
	found.Attempts = slices.Clone(found.Attempts)
	return found
}

// enqueue adds a notification to the queue of its status, and dequeue removes it.
func (n *notifications) enqueue(u *undo, one driver.Notification) {
	if one.Status == driver.NotificationPending {
		n.pending.add(u, one.DueAt, one.Ref())
		return
	}
	n.final.add(u, one.FinishedAt, one.Ref())
}

func (n *notifications) dequeue(u *undo, one driver.Notification) {
	if one.Status == driver.NotificationPending {
		n.pending.drop(u, one.DueAt, one.Ref())
		return
	}
	n.final.drop(u, one.FinishedAt, one.Ref())
}

// append keeps a notification, unless its key exists already.
func (n *notifications) append(u *undo, one driver.Notification) error {
	if err := checkNotification(one); err != nil {
		return err
	}
	if _, exists := n.byRef[one.Ref()]; exists {
		return nil
	}
	one = keptNotification(one)
	put(u, n.byRef, one.Ref(), one)
	need(n.ofCompany, one.CompanyID, newNotificationLists).add(u, one.Ref(), one.Status)
	n.enqueue(u, one)
	return nil
}

// change writes the fields of a notification that may change. The notification must exist.
func (n *notifications) change(u *undo, changed driver.Notification) error {
	kept, ok := n.byRef[changed.Ref()]
	if !ok {
		return driver.ErrNotFound
	}
	if err := checkNotification(changed); err != nil {
		return err
	}
	n.dequeue(u, kept)
	n.ofCompany[kept.CompanyID].move(u, kept.Ref(), kept.Status, changed.Status)
	changed = keptNotification(changed)
	kept.Recipient, kept.Status, kept.Reason = changed.Recipient, changed.Status, changed.Reason
	kept.Attempts, kept.DueAt, kept.LeasedUntil = changed.Attempts, changed.DueAt, changed.LeasedUntil
	kept.FinishedAt = changed.FinishedAt
	put(u, n.byRef, kept.Ref(), kept)
	n.enqueue(u, kept)
	return nil
}

func (n *notifications) remove(u *undo, ref driver.NotificationRef) {
	kept := n.byRef[ref]
	n.dequeue(u, kept)
	of := n.ofCompany[ref.CompanyID]
	of.all.drop(u, ref)
	of.part(kept.Status).drop(u, ref)
	take(u, n.byRef, ref)
	put(u, n.pruned, ref.CompanyID, max(n.pruned[ref.CompanyID], ref.Number))
}

// list returns the references of a page. It looks at the notifications one by one, unless the query names a status.
func (n *notifications) list(query driver.NotificationQuery) []driver.NotificationRef {
	of, ok := n.ofCompany[query.CompanyID]
	if !ok {
		return nil
	}
	part := of.all
	if query.Status != "" {
		if part, ok = of.parts[query.Status]; !ok {
			return nil
		}
	}
	keys := part.keys
	if query.After.Number != 0 || query.After.Copy != 0 {
		query.After.CompanyID = query.CompanyID
		keys = part.below(query.After)
	}
	var found []driver.NotificationRef
	for _, ref := range slices.Backward(keys) {
		if len(found) >= query.Limit {
			break
		}
		if selects(query, n.byRef[ref]) {
			found = append(found, ref)
		}
	}
	return found
}

// selects reports whether a notification matches the filters of a query.
func selects(query driver.NotificationQuery, n driver.Notification) bool {
	return (query.EventID == uuid.Nil || n.EventID == query.EventID) &&
		(query.Number == 0 || n.Number == query.Number) && !n.CreatedAt.Before(moment(query.Since)) &&
		(query.Until.IsZero() || n.CreatedAt.Before(moment(query.Until)))
}

func (r reading) OrderNotifications(
	ctx context.Context, orders []driver.OrderNumber,
) ([]driver.Notification, error) {
	return ask(ctx, r, func(s *state) []driver.Notification {
		orders := slices.SortedFunc(slices.Values(orders), func(a, b driver.OrderNumber) int {
			return cmp.Or(compareIDs(a.CompanyID, b.CompanyID), cmp.Compare(a.Number, b.Number))
		})
		var found []driver.Notification
		for _, order := range slices.Compact(orders) {
			of, ok := s.notifications.ofCompany[order.CompanyID]
			if !ok {
				continue
			}
			from, _ := of.all.search(driver.NotificationRef{CompanyID: order.CompanyID, Number: order.Number})
			for _, ref := range of.all.keys[from:] {
				if ref.Number != order.Number {
					break
				}
				found = append(found, s.notifications.find(ref))
			}
		}
		return found
	})
}

func (r reading) ListNotifications(
	ctx context.Context, query driver.NotificationQuery,
) ([]driver.Notification, error) {
	return ask(ctx, r, func(s *state) []driver.Notification {
		return each(s.notifications.list(query), s.notifications.find)
	})
}

func (r reading) CountNotifications(ctx context.Context, query driver.NotificationQuery) (int, error) {
	return ask(ctx, r, func(s *state) int {
		query.After, query.Limit = driver.NotificationRef{}, len(s.notifications.byRef)
		return len(s.notifications.list(query))
	})
}

func (r reading) PrunedNotifications(ctx context.Context, companyID uuid.UUID) (int64, error) {
	return ask(ctx, r, func(s *state) int64 { return s.notifications.pruned[companyID] })
}

func (tx *updating) AppendNotifications(ctx context.Context, notifications []driver.Notification) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		for _, one := range notifications {
			if err := s.notifications.append(u, one); err != nil {
				return err
			}
		}
		return nil
	})
}

// ClaimNotifications leases the notifications that are due. No other transaction can have locked any.
func (tx *updating) ClaimNotifications(
	ctx context.Context, claim driver.NotificationClaim,
) ([]driver.Notification, error) {
	var claimed []driver.Notification
	err := tx.write(ctx, func(s *state, u *undo) error {
		for _, due := range s.notifications.pending.until(claim.CompanyID, claim.At) {
			if len(claimed) >= claim.Limit {
				break
			}
			one := s.notifications.find(due.ref)
			if claim.CreatedBefore.IsZero() || one.CreatedAt.Before(moment(claim.CreatedBefore)) {
				one.DueAt, one.LeasedUntil = moment(claim.Until), moment(claim.Until)
				claimed = append(claimed, one)
			}
		}
		for _, one := range claimed {
			if err := s.notifications.change(u, one); err != nil {
				return err
			}
		}
		return nil
	})
	slices.SortFunc(claimed, func(a, b driver.Notification) int { return compareNotifications(a.Ref(), b.Ref()) })
	return claimed, err
}

// LockNotifications only reads notifications, because there is no other writer.
func (tx *updating) LockNotifications(
	ctx context.Context, refs []driver.NotificationRef,
) ([]driver.Notification, error) {
	return ask(ctx, tx.reading, func(s *state) []driver.Notification { return each(refs, s.notifications.find) })
}

func (tx *updating) UpdateNotifications(ctx context.Context, notifications []driver.Notification) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		for _, one := range notifications {
			if err := s.notifications.change(u, one); err != nil {
				return err
			}
		}
		return nil
	})
}

func (tx *updating) PruneNotifications(
	ctx context.Context, companyID uuid.UUID, before time.Time, limit int,
) (pruned int, err error) {
	err = tx.write(ctx, func(s *state, u *undo) error {
		gone := s.notifications.finishedBefore(companyID, before)
		gone = slices.Clone(gone[:min(len(gone), max(limit, 0))])
		for _, one := range gone {
			s.notifications.remove(u, one.ref)
		}
		pruned = len(gone)
		return nil
	})
	return pruned, err
}
