package store

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/floatgate/ticketing/driver"
)

const (
	deliveryColumns = `company_id, created_at, id, endpoint, endpoint_id, message_at, message_id, type, url,
	secret_version, replay_of, status, cancelling, attempts, due_at, leased_until, finished_at`
	pendingDeliveries   = "ticketing_webhook_deliveries_pending"
	failedDeliveries    = "ticketing_webhook_deliveries_failed"
	cancelledDeliveries = "ticketing_webhook_deliveries_cancelled"
	finalDeliveries     = "ticketing_webhook_deliveries_final"
	messageDeliveries   = "ticketing_webhook_deliveries_message"
)

func scanDelivery(row rowSet, d *driver.Delivery) error {
	return row.Scan((*id)(&d.CompanyID), (*moment)(&d.CreatedAt), (*id)(&d.ID), &d.Endpoint, (*id)(&d.EndpointID),
		(*moment)(&d.MessageAt), (*id)(&d.MessageID), (*string)(&d.Type), &d.URL, &d.SecretVersion, (*id)(&d.ReplayOf),
		(*string)(&d.Status), &d.Cancelling, (*attempts)(&d.Attempts), (*moment)(&d.DueAt), (*moment)(&d.LeasedUntil),
		(*moment)(&d.FinishedAt))
}

func deliveryKeyOf(d driver.Delivery) timedKey {
	return timedKey{d.CompanyID, d.CreatedAt.UnixMilli(), d.ID}
}

// FindDelivery finds a delivery by its id alone.
func (s *session) FindDelivery(ctx context.Context, id uuid.UUID) (driver.Delivery, error) {
	return firstRow(query(ctx, s, "FindDelivery", scanDelivery,
		"SELECT "+deliveryColumns+" FROM ticketing_webhook_deliveries WHERE id = ? LIMIT 1", id))
}

// deliveriesOf returns the condition of a query, without its order, and the partial index of its status. Only pending,
// failed and cancelled deliveries have an index, because they are few. SQLite matches such an index by the text of its
// condition.
func deliveriesOf(ask driver.DeliveryQuery) (where, index string, args []any) {
	where, args = " WHERE company_id = ?", []any{ask.CompanyID}
	condition := func(text string, values ...any) {
		where += " AND " + text
		args = append(args, values...)
	}
	switch ask.Status {
	case "":
	case driver.DeliveryPending:
		index = pendingDeliveries
		condition("status = 'PENDING'")
	case driver.DeliveryFailed:
		index = failedDeliveries
		condition("status = 'FAILED'")
	case driver.DeliveryCancelled:
		index = cancelledDeliveries
		condition("status = 'CANCELLED'")
	default:
		condition("status = ?", string(ask.Status))
	}
	if ask.Endpoint != 0 {
		condition("endpoint = ?", ask.Endpoint)
	}
	if ask.Type != "" {
		condition("type = ?", string(ask.Type))
	}
	if ask.Replays {
		condition("replay_of IS NOT NULL")
	}
	if !ask.Since.IsZero() {
		condition("created_at >= ?", ask.Since.UnixMilli())
	}
	if !ask.Until.IsZero() {
		condition("created_at < ?", ask.Until.UnixMilli())
	}
	return where, index, args
}

// ListDeliveries returns a page of a company's deliveries, newest or oldest first.
func (s *session) ListDeliveries(
	ctx context.Context, ask driver.DeliveryQuery,
) ([]driver.Delivery, error) {
	where, index, args := deliveriesOf(ask)
	behind, order := "<", " DESC"
	if ask.OldestFirst {
		behind, order = ">", ""
	}
	if ask.After != (driver.Position{}) {
		where += " AND (created_at, id) " + behind + " (?, ?)"
		args = append(args, ask.After.At.UnixMilli(), ask.After.ID)
	}
	if index != "" {
		index = s.store.engine.traits().useIndex(index)
	}
	return query(ctx, s, "ListDeliveries", scanDelivery,
		"SELECT "+deliveryColumns+" FROM ticketing_webhook_deliveries"+index+where+
			" ORDER BY created_at"+order+", id"+order+" LIMIT (SELECT ?)", append(args, max(ask.Limit, 0))...)
}

// CountDeliveries counts the deliveries that match the query.
func (s *session) CountDeliveries(ctx context.Context, ask driver.DeliveryQuery, most int) (int, error) {
	scan := func(row rowSet, count *int) error { return row.Scan(count) }
	where, index, args := deliveriesOf(ask)
	if index != "" {
		index = s.store.engine.traits().useIndex(index)
	}
	from := "ticketing_webhook_deliveries" + index + where
	if most > 0 {
		from = "(SELECT 1 FROM " + from + " LIMIT ?) AS bounded"
		args = append(args, most)
	}
	return firstRow(query(ctx, s, "CountDeliveries", scan, "SELECT count(*) FROM "+from, args...))
}

// CountDeadLetters counts the deliveries that failed last, by company.
func (s *session) CountDeadLetters(ctx context.Context, since time.Time, limit int) ([]driver.DeadLetters, error) {
	scan := func(row rowSet, d *driver.DeadLetters) error { return row.Scan((*id)(&d.CompanyID), &d.Count) }
	return query(ctx, s, "CountDeadLetters", scan,
		`SELECT company_id, count(*) FROM (SELECT company_id FROM ticketing_webhook_deliveries`+
			s.store.engine.traits().useIndex("ticketing_webhook_deliveries_dead")+`
			WHERE status = 'FAILED' AND finished_at >= ? ORDER BY finished_at DESC, company_id DESC LIMIT ?) AS dead
		GROUP BY company_id ORDER BY company_id`, since.UnixMilli(), max(limit, 0))
}

// ListMessageDeliveries returns deliveries of a message, newest first. They are few, so they are sorted after all of
// them were found. Otherwise the planner of PostgreSQL might read all deliveries of the company in order.
func (s *session) ListMessageDeliveries(
	ctx context.Context, companyID, messageID uuid.UUID, limit int,
) ([]driver.Delivery, error) {
	return query(ctx, s, "ListMessageDeliveries", scanDelivery,
		"WITH found AS MATERIALIZED (SELECT "+deliveryColumns+" FROM ticketing_webhook_deliveries"+
			s.store.engine.traits().useIndex(messageDeliveries)+" WHERE company_id = ? AND message_id = ?) "+
			"SELECT "+deliveryColumns+" FROM found ORDER BY created_at DESC, id DESC LIMIT ?",
		companyID, messageID, max(limit, 0))
}

// companyOf is the column that has one of some companies. For one company it is the value, so that a cluster sends the
// query only to the node of that company.
type companyOf struct {
	column    string
	companies []uuid.UUID
}

func (c companyOf) appendTo(to *builder) {
	if len(c.companies) == 1 {
		to.value(c.companies[0])
		return
	}
	to.add(c.column)
}

// EndpointHealth returns the health of the endpoints of companies. Each count is a subquery that reads the first rows
// of an index.
func (s *session) EndpointHealth(
	ctx context.Context, ask driver.EndpointHealthQuery,
) (all []driver.EndpointHealth, err error) {
	scan := func(row rowSet, h *driver.EndpointHealth) error {
		return row.Scan((*id)(&h.CompanyID), &h.Endpoint, (*moment)(&h.LastSuccessAt), &h.Failed, &h.Pending, &h.Retrying,
			(*id)(&h.NewestID), (*moment)(&h.NewestAt))
	}
	to := func(index string) string {
		return " FROM ticketing_webhook_deliveries d" + s.store.engine.traits().useIndex(index) +
			" WHERE d.company_id = ? AND d.endpoint = e.number AND d.status = "
	}
	newest := func(column string) string {
		return "(SELECT d." + column + ` FROM ticketing_webhook_deliveries d WHERE d.company_id = ?
			ORDER BY d.created_at DESC, d.id DESC LIMIT 1)`
	}
	most := max(ask.Most, 0)
	companies := slices.SortedFunc(slices.Values(ask.Companies), func(a, b uuid.UUID) int {
		return slices.Compare(a[:], b[:])
	})
	err = inParts(companies, func(companies []uuid.UUID) error {
		of := companyOf{"e.company_id", companies}
		found, err := query(ctx, s, "EndpointHealth", scan, `SELECT e.company_id, e.number,
			(SELECT d.finished_at`+to(finalDeliveries)+`'SUCCEEDED' AND d.finished_at IS NOT NULL
				ORDER BY d.finished_at DESC LIMIT 1),
			(SELECT count(*) FROM (SELECT 1`+to(finalDeliveries)+`'FAILED' AND d.finished_at >= ? LIMIT ?) failed),
			(SELECT count(*) FROM (SELECT 1`+to(pendingDeliveries)+`'PENDING' LIMIT ?) pending),
			(SELECT count(*) FROM (SELECT d.attempts`+to(pendingDeliveries)+`'PENDING' ORDER BY d.due_at LIMIT ?) retrying
				WHERE attempts <> '[]'),
			`+newest("id")+", "+newest("created_at")+`
			FROM ticketing_webhook_endpoints e WHERE ? ORDER BY e.company_id, e.number`,
			of, of, ask.Since.UnixMilli(), most, of, most, of, most, of, of, inIDs("e.company_id", companies))
		all = append(all, found...)
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// DeliversUnder reports whether a pending delivery of the endpoint uses this version of its secret. It scans the
// endpoint's pending deliveries.
func (s *session) DeliversUnder(ctx context.Context, secret driver.WebhookSecretRef) (bool, error) {
	scan := func(row rowSet, found *bool) error { return row.Scan(found) }
	return firstRow(query(ctx, s, "DeliversUnder", scan,
		"SELECT EXISTS (SELECT 1 FROM ticketing_webhook_deliveries"+s.store.engine.traits().useIndex(pendingDeliveries)+`
		WHERE company_id = ? AND endpoint = ? AND status = 'PENDING' AND secret_version = ?)`,
		secret.CompanyID, secret.Endpoint, secret.Version))
}

// AppendDeliveries inserts deliveries.
func (tx *transaction) AppendDeliveries(ctx context.Context, deliveries []driver.Delivery) error {
	return inParts(deliveries, func(deliveries []driver.Delivery) error {
		return tx.insert(ctx, "AppendDeliveries", "ticketing_webhook_deliveries", newSet(deliveryColumns, deliveries,
			func(d driver.Delivery) []any {
				return []any{
					d.CompanyID, d.CreatedAt.UnixMilli(), d.ID, d.Endpoint, d.EndpointID, d.MessageAt.UnixMilli(),
					d.MessageID, string(d.Type), d.URL, d.SecretVersion, optional(d.ReplayOf), string(d.Status),
					d.Cancelling, attempts(d.Attempts).encode(), d.DueAt.UnixMilli(), d.LeasedUntil, d.FinishedAt,
				}
			}))
	})
}

// ClaimDeliveries leases deliveries of an endpoint that are due. It selects them as LeaseFacts does.
func (tx *transaction) ClaimDeliveries(
	ctx context.Context, claim driver.DeliveryClaim,
) ([]driver.Delivery, error) {
	claimed, err := query(ctx, &tx.session, "ClaimDeliveries", scanDelivery,
		`WITH due AS MATERIALIZED (
			SELECT company_id, created_at, id FROM ticketing_webhook_deliveries`+
			tx.store.engine.traits().useIndex(pendingDeliveries)+`
			WHERE company_id = ? AND endpoint = ? AND status = 'PENDING' AND due_at <= ?
			ORDER BY due_at LIMIT (SELECT ?)`+tx.store.engine.traits().skipLocked+`
		)
		UPDATE ticketing_webhook_deliveries SET due_at = ?, leased_until = ? WHERE ? RETURNING `+deliveryColumns,
		claim.CompanyID, claim.Endpoint, claim.At.UnixMilli(), max(claim.Limit, 0), claim.Until.UnixMilli(), claim.Until,
		dueRows{claim.CompanyID, "created_at, id", claim.Limit})
	// RETURNING has no defined order.
	slices.SortFunc(claimed, func(a, b driver.Delivery) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), slices.Compare(a.ID[:], b.ID[:]))
	})
	return claimed, err
}

// LockDeliveries locks deliveries, in the order of their keys.
func (tx *transaction) LockDeliveries(
	ctx context.Context, refs []driver.DeliveryRef,
) ([]driver.Delivery, error) {
	keys := make([]timedKey, len(refs))
	for i, ref := range refs {
		keys[i] = timedKey{ref.CompanyID, ref.CreatedAt.UnixMilli(), ref.ID}
	}
	return findByRefs(keys, deliveryKeyOf, func(keys []timedKey) ([]driver.Delivery, error) {
		return query(ctx, &tx.session, "LockDeliveries", scanDelivery, "SELECT "+deliveryColumns+" FROM ?",
			keyedRows{table: "ticketing_webhook_deliveries d", lock: true, set: newSet("company_id, created_at, id", keys,
				func(k timedKey) []any { return []any{k.company, k.at, k.id} })})
	})
}

// LockPending locks deliveries of an endpoint that are pending and not being cancelled.
func (tx *transaction) LockPending(
	ctx context.Context, endpoint driver.WebhookEndpointRef, limit int,
) ([]driver.Delivery, error) {
	return query(ctx, &tx.session, "LockPending", scanDelivery,
		"SELECT "+deliveryColumns+" FROM ticketing_webhook_deliveries"+tx.store.engine.traits().useIndex(pendingDeliveries)+`
		WHERE company_id = ? AND endpoint = ? AND status = 'PENDING' AND NOT cancelling LIMIT ?`+
			tx.store.engine.traits().rowLock,
		endpoint.CompanyID, endpoint.Number, max(limit, 0))
}

// UpdateDeliveries writes the columns of deliveries that change.
func (tx *transaction) UpdateDeliveries(ctx context.Context, deliveries []driver.Delivery) error {
	const keys = 3
	deliveries = lastChanges(deliveries, deliveryKeyOf)
	return inParts(deliveries, func(deliveries []driver.Delivery) error {
		return tx.update(ctx, "UpdateDeliveries", "ticketing_webhook_deliveries", keys,
			newSet("company_id, created_at, id, status, cancelling, attempts, due_at, leased_until, finished_at", deliveries,
				func(d driver.Delivery) []any {
					return []any{
						d.CompanyID, d.CreatedAt.UnixMilli(), d.ID, string(d.Status), d.Cancelling,
						attempts(d.Attempts).encode(), d.DueAt.UnixMilli(), d.LeasedUntil, d.FinishedAt,
					}
				}))
	})
}

// PruneDeliveries removes a company's oldest deliveries that are final.
func (tx *transaction) PruneDeliveries(
	ctx context.Context, companyID uuid.UUID, before time.Time, limit int,
) (int, error) {
	return tx.prune(ctx, "PruneDeliveries", "ticketing_webhook_deliveries", "created_at, id", companyID, limit,
		func(deliveries *bun.SelectQuery) *bun.SelectQuery {
			return deliveries.Where("created_at < ?", integer(before.UnixMilli())).
				Where("status <> 'PENDING'").Apply(tx.lockedFree)
		})
}
