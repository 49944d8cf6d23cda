package store

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/floatgate/ticketing/driver"
)

const (
	notificationColumns = `company_id, number, copy, order_id, event_id, recipient, status, reason, attempts, due_at,
	leased_until, finished_at, created_at`
	dueNotifications       = "ticketing_notifications_due"
	failedNotifications    = "ticketing_notifications_failed"
	cancelledNotifications = "ticketing_notifications_cancelled"
	finalNotifications     = "ticketing_notifications_final"
)

func scanNotification(row rowSet, n *driver.Notification) error {
	return row.Scan((*id)(&n.CompanyID), &n.Number, &n.Copy, (*id)(&n.OrderID), (*id)(&n.EventID), &n.Recipient,
		(*string)(&n.Status), &n.Reason, (*mailAttempts)(&n.Attempts), (*moment)(&n.DueAt), (*moment)(&n.LeasedUntil),
		(*moment)(&n.FinishedAt), (*moment)(&n.CreatedAt))
}

// compareNotifications orders notifications by their keys.
func compareNotifications(a, b driver.Notification) int {
	return cmp.Or(slices.Compare(a.CompanyID[:], b.CompanyID[:]), cmp.Compare(a.Number, b.Number),
		cmp.Compare(a.Copy, b.Copy))
}

// OrderNotifications returns the notifications of the orders, by company, number and copy. The orders are sorted first,
// so that the results of several statements follow each other in order.
func (s *session) OrderNotifications(
	ctx context.Context, orders []driver.OrderNumber,
) ([]driver.Notification, error) {
	orders = slices.SortedFunc(slices.Values(orders), func(a, b driver.OrderNumber) int {
		return cmp.Or(slices.Compare(a.CompanyID[:], b.CompanyID[:]), cmp.Compare(a.Number, b.Number))
	})
	var all []driver.Notification
	err := inParts(slices.Compact(orders), func(orders []driver.OrderNumber) error {
		found, err := query(ctx, s, "OrderNotifications", scanNotification,
			"SELECT "+notificationColumns+" FROM ? ORDER BY n.company_id, n.number, n.copy",
			keyedRows{table: "ticketing_notifications n", set: newSet("company_id, number", orders,
				func(o driver.OrderNumber) []any { return []any{o.CompanyID, o.Number} })})
		all = append(all, found...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// notificationsOf returns the table and the condition of a query, without its order. Only pending, failed and cancelled
// notifications have an index, because they are few. Sent ones are many. SQLite matches such an index by the text of
// its condition.
func (s *session) notificationsOf(ask driver.NotificationQuery) (from string, args []any) {
	var index string
	where, args := " WHERE company_id = ?", []any{ask.CompanyID}
	condition := func(text string, values ...any) {
		where += " AND " + text
		args = append(args, values...)
	}
	if ask.EventID != uuid.Nil {
		condition("event_id = ?", ask.EventID)
	}
	if ask.Number != 0 {
		condition("number = ?", ask.Number)
	}
	if !ask.Since.IsZero() {
		condition("created_at >= ?", ask.Since.UnixMilli())
	}
	if !ask.Until.IsZero() {
		condition("created_at < ?", ask.Until.UnixMilli())
	}
	switch ask.Status {
	case "":
	case driver.NotificationPending:
		index = dueNotifications
		condition("status = 'PENDING'")
	case driver.NotificationFailed:
		index = failedNotifications
		condition("status = 'FAILED'")
	case driver.NotificationCancelled:
		index = cancelledNotifications
		condition("status = 'CANCELLED'")
	default:
		condition("status = ?", string(ask.Status))
	}
	// An order has few notifications, and they are next to each other in the primary key.
	if ask.Number != 0 {
		index = ""
	}
	if index != "" {
		index = s.store.engine.traits().useIndex(index)
	}
	return " FROM ticketing_notifications" + index + where, args
}

// ListNotifications returns a page of a company's notifications, those of the highest order first. It reads the primary
// key, or the index of a status, backwards. No index has the times of creation. So a query whose times select few rows
// also reads the rows between them.
func (s *session) ListNotifications(
	ctx context.Context, ask driver.NotificationQuery,
) ([]driver.Notification, error) {
	from, args := s.notificationsOf(ask)
	number, copies := ask.After.Number, ask.After.Copy
	if number == 0 && copies == 0 {
		number, copies = math.MaxInt64, math.MaxInt32
	}
	return query(ctx, s, "ListNotifications", scanNotification, "SELECT "+notificationColumns+from+
		" AND (number, copy) < (?, ?) ORDER BY number DESC, copy DESC LIMIT (SELECT ?)",
		append(args, number, copies, max(ask.Limit, 0))...)
}

// CountNotifications counts all notifications that match the query.
func (s *session) CountNotifications(ctx context.Context, ask driver.NotificationQuery) (int, error) {
	scan := func(row rowSet, count *int) error { return row.Scan(count) }
	from, args := s.notificationsOf(ask)
	return firstRow(query(ctx, s, "CountNotifications", scan, "SELECT count(*)"+from, args...))
}

// PrunedNotifications returns the number that PruneNotifications keeps.
func (s *session) PrunedNotifications(ctx context.Context, companyID uuid.UUID) (int64, error) {
	scan := func(row rowSet, number *int64) error { return row.Scan(number) }
	return firstRow(query(ctx, s, "PrunedNotifications", scan,
		"SELECT number FROM ticketing_notification_prunes WHERE company_id = ?", companyID))
}

// AppendNotifications inserts notifications, but leaves out those that exist. It inserts rows in the order of their
// keys: a transaction waits for another one that inserts the same key, so the order prevents deadlocks.
func (tx *transaction) AppendNotifications(ctx context.Context, notifications []driver.Notification) error {
	notifications = slices.SortedStableFunc(slices.Values(notifications), compareNotifications)
	return inParts(notifications, func(notifications []driver.Notification) error {
		return tx.put(ctx, "AppendNotifications", "ticketing_notifications", newSet(notificationColumns, notifications,
			func(n driver.Notification) []any {
				return []any{
					n.CompanyID, n.Number, int64(n.Copy), n.OrderID, n.EventID, n.Recipient, string(n.Status), n.Reason,
					mailAttempts(n.Attempts).encode(), n.DueAt.UnixMilli(), n.LeasedUntil, n.FinishedAt,
					n.CreatedAt.UnixMilli(),
				}
			}), " ON CONFLICT (company_id, number, copy) DO NOTHING")
	})
}

// ClaimNotifications leases notifications of a company that are due. It selects them as LeaseFacts does.
func (tx *transaction) ClaimNotifications(
	ctx context.Context, claim driver.NotificationClaim,
) ([]driver.Notification, error) {
	old, args := "", []any{claim.CompanyID, claim.At.UnixMilli()}
	if !claim.CreatedBefore.IsZero() {
		old, args = " AND created_at < ?", append(args, claim.CreatedBefore.UnixMilli())
	}
	claimed, err := query(ctx, &tx.session, "ClaimNotifications", scanNotification,
		`WITH due AS MATERIALIZED (
			SELECT company_id, number, copy FROM ticketing_notifications`+
			tx.store.engine.traits().useIndex(dueNotifications)+`
			WHERE company_id = ? AND status = 'PENDING' AND due_at <= ?`+old+`
			ORDER BY due_at LIMIT (SELECT ?)`+tx.store.engine.traits().skipLocked+`
		)
		UPDATE ticketing_notifications SET due_at = ?, leased_until = ? WHERE ? RETURNING `+notificationColumns,
		append(args, max(claim.Limit, 0), claim.Until.UnixMilli(), claim.Until,
			dueRows{claim.CompanyID, "number, copy", claim.Limit})...)
	// RETURNING has no defined order.
	slices.SortFunc(claimed, compareNotifications)
	return claimed, err
}

// LockNotifications locks notifications, in the order of their keys.
func (tx *transaction) LockNotifications(
	ctx context.Context, refs []driver.NotificationRef,
) ([]driver.Notification, error) {
	return findByRefs(refs, driver.Notification.Ref, func(refs []driver.NotificationRef) ([]driver.Notification, error) {
		return query(ctx, &tx.session, "LockNotifications", scanNotification, "SELECT "+notificationColumns+" FROM ?",
			keyedRows{table: "ticketing_notifications n", lock: true, set: newSet("company_id, number, copy", refs,
				func(r driver.NotificationRef) []any { return []any{r.CompanyID, r.Number, int64(r.Copy)} })})
	})
}

// UpdateNotifications writes the columns of notifications that change.
func (tx *transaction) UpdateNotifications(ctx context.Context, notifications []driver.Notification) error {
	const keys = 3
	notifications = lastChanges(notifications, driver.Notification.Ref)
	return inParts(notifications, func(notifications []driver.Notification) error {
		return tx.update(ctx, "UpdateNotifications", "ticketing_notifications", keys, newSet(
			"company_id, number, copy, recipient, status, reason, attempts, due_at, leased_until, finished_at",
			notifications, func(n driver.Notification) []any {
				return []any{
					n.CompanyID, n.Number, int64(n.Copy), n.Recipient, string(n.Status), n.Reason,
					mailAttempts(n.Attempts).encode(), n.DueAt.UnixMilli(), n.LeasedUntil, n.FinishedAt,
				}
			}))
	})
}

// PruneNotifications removes a company's notifications that were finished first. In the same transaction it keeps the
// highest number among them, unless a higher one is kept already.
func (tx *transaction) PruneNotifications(
	ctx context.Context, companyID uuid.UUID, before time.Time, limit int,
) (int, error) {
	const name = "PruneNotifications"
	scan := func(row rowSet, number *int64) error { return row.Scan(number) }
	numbers, err := prunedRows(ctx, tx, name, pruning{
		table: "ticketing_notifications", index: finalNotifications, key: "number, copy",
		order: "finished_at, number, copy", companyID: companyID, limit: limit, returning: "number",
		selection: func(notifications *bun.SelectQuery) *bun.SelectQuery {
			return notifications.Where("finished_at < ?", integer(before.UnixMilli())).
				Where("status <> 'PENDING'").Apply(tx.lockedFree)
		},
	}, scan)
	if err != nil || len(numbers) == 0 {
		return 0, err
	}
	return len(numbers), tx.put(ctx, name, "ticketing_notification_prunes",
		newSet("company_id, number", []int64{slices.Max(numbers)},
			func(number int64) []any { return []any{companyID, number} }),
		` ON CONFLICT (company_id) DO UPDATE SET number = excluded.number
		WHERE excluded.number > ticketing_notification_prunes.number`)
}
