package store

import (
	"cmp"
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

const (
	deliveryColumns = `company_id, created_at, id, endpoint, endpoint_id, message_at, message_id, type, url,
	secret_version, replay_of, status, cancelling, attempts, due_at, leased_until, finished_at`
	pendingDeliveries   = "ticketing_webhook_deliveries_pending"
	failedDeliveries    = "ticketing_webhook_deliveries_failed"
	cancelledDeliveries = "ticketing_webhook_deliveries_cancelled"
)

func scanDelivery(row *sql.Rows, d *ticketing.DeliveryRecord) error {
	return row.Scan((*id)(&d.CompanyID), (*moment)(&d.CreatedAt), (*id)(&d.ID), &d.Endpoint, (*id)(&d.EndpointID),
		(*moment)(&d.MessageAt), (*id)(&d.MessageID), (*string)(&d.Type), &d.URL, &d.SecretVersion, (*id)(&d.ReplayOf),
		(*string)(&d.Status), &d.Cancelling, (*attempts)(&d.Attempts), (*moment)(&d.DueAt), (*moment)(&d.LeasedUntil),
		(*moment)(&d.FinishedAt))
}

func deliveryKeyOf(d ticketing.DeliveryRecord) timedKey {
	return timedKey{d.CompanyID, d.CreatedAt.UnixMilli(), d.ID}
}

// FindDelivery finds a delivery by its id alone.
func (s *session) FindDelivery(ctx context.Context, id uuid.UUID) (ticketing.DeliveryRecord, error) {
	return one(query(ctx, s, "FindDelivery", scanDelivery,
		"SELECT "+deliveryColumns+" FROM ticketing_webhook_deliveries WHERE id = ? LIMIT 1", id))
}

// deliveriesOf is what a query asks for, without its order, and the index of its status: all but those that succeeded are
// few. SQLite knows such an index by the text of its condition.
func deliveriesOf(ask ticketing.DeliveryQuery) (where, index string, args []any) {
	where, args = " WHERE company_id = ?", []any{ask.CompanyID}
	condition := func(text string, values ...any) {
		where += " AND " + text
		args = append(args, values...)
	}
	switch ask.Status {
	case "":
	case ticketing.DeliveryPending:
		index = pendingDeliveries
		condition("status = 'PENDING'")
	case ticketing.DeliveryFailed:
		index = failedDeliveries
		condition("status = 'FAILED'")
	case ticketing.DeliveryCancelled:
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

// ListDeliveries answers with a part of a company's deliveries, the newest first or the oldest.
func (s *session) ListDeliveries(
	ctx context.Context, ask ticketing.DeliveryQuery,
) ([]ticketing.DeliveryRecord, error) {
	where, index, args := deliveriesOf(ask)
	behind, order := "<", " DESC"
	if ask.OldestFirst {
		behind, order = ">", ""
	}
	if ask.Beyond != (ticketing.Position{}) {
		where += " AND (created_at, id) " + behind + " (?, ?)"
		args = append(args, ask.Beyond.At.UnixMilli(), ask.Beyond.ID)
	}
	if index != "" {
		index = s.store.engine.useIndex(index)
	}
	return query(ctx, s, "ListDeliveries", scanDelivery,
		"SELECT "+deliveryColumns+" FROM ticketing_webhook_deliveries"+index+where+
			" ORDER BY created_at"+order+", id"+order+" LIMIT (SELECT ?)", append(args, max(ask.Limit, 0))...)
}

// CountDeliveries counts them all.
func (s *session) CountDeliveries(ctx context.Context, ask ticketing.DeliveryQuery) (int, error) {
	scan := func(row *sql.Rows, count *int) error { return row.Scan(count) }
	where, index, args := deliveriesOf(ask)
	if index != "" {
		index = s.store.engine.useIndex(index)
	}
	return one(query(ctx, s, "CountDeliveries", scan,
		"SELECT count(*) FROM ticketing_webhook_deliveries"+index+where, args...))
}

// DeliversUnder looks through what is pending of an endpoint.
func (s *session) DeliversUnder(ctx context.Context, secret ticketing.WebhookSecretRef) (bool, error) {
	scan := func(row *sql.Rows, found *bool) error { return row.Scan(found) }
	return one(query(ctx, s, "DeliversUnder", scan,
		"SELECT EXISTS (SELECT 1 FROM ticketing_webhook_deliveries"+s.store.engine.useIndex(pendingDeliveries)+`
		WHERE company_id = ? AND endpoint = ? AND status = 'PENDING' AND secret_version = ?)`,
		secret.CompanyID, secret.Endpoint, secret.Version))
}

// AppendDeliveries keeps new deliveries.
func (tx *transaction) AppendDeliveries(ctx context.Context, deliveries []ticketing.DeliveryRecord) error {
	return inParts(deliveries, func(deliveries []ticketing.DeliveryRecord) error {
		return tx.insert(ctx, "AppendDeliveries", "ticketing_webhook_deliveries", of(deliveryColumns, deliveries,
			func(d ticketing.DeliveryRecord) []any {
				return []any{
					d.CompanyID, d.CreatedAt.UnixMilli(), d.ID, d.Endpoint, d.EndpointID, d.MessageAt.UnixMilli(),
					d.MessageID, string(d.Type), d.URL, d.SecretVersion, optional(d.ReplayOf), string(d.Status),
					d.Cancelling, attempts(d.Attempts).encode(), d.DueAt.UnixMilli(), d.LeasedUntil, d.FinishedAt,
				}
			}))
	})
}

// ClaimDeliveries takes deliveries of an endpoint that are due. It chooses them as LeaseFacts does.
func (tx *transaction) ClaimDeliveries(
	ctx context.Context, claim ticketing.DeliveryClaim,
) ([]ticketing.DeliveryRecord, error) {
	claimed, err := query(ctx, &tx.session, "ClaimDeliveries", scanDelivery,
		`WITH due AS MATERIALIZED (
			SELECT company_id, created_at, id FROM ticketing_webhook_deliveries`+tx.store.engine.useIndex(pendingDeliveries)+`
			WHERE company_id = ? AND endpoint = ? AND status = 'PENDING' AND due_at <= ?
			ORDER BY due_at LIMIT (SELECT ?)`+tx.store.engine.skipLocked()+`
		)
		UPDATE ticketing_webhook_deliveries SET due_at = ?, leased_until = ? WHERE ? RETURNING `+deliveryColumns,
		claim.CompanyID, claim.Endpoint, claim.At.UnixMilli(), max(claim.Limit, 0), claim.Until.UnixMilli(), claim.Until,
		due{claim.CompanyID, "created_at, id", claim.Limit})
	// RETURNING promises no order.
	slices.SortFunc(claimed, func(a, b ticketing.DeliveryRecord) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), slices.Compare(a.ID[:], b.ID[:]))
	})
	return claimed, err
}

// LockDeliveries locks deliveries, in the order of their keys.
func (tx *transaction) LockDeliveries(
	ctx context.Context, refs []ticketing.DeliveryRef,
) ([]ticketing.DeliveryRecord, error) {
	keys := make([]timedKey, len(refs))
	for i, ref := range refs {
		keys[i] = timedKey{ref.CompanyID, ref.CreatedAt.UnixMilli(), ref.ID}
	}
	return lookUp(keys, deliveryKeyOf, func(keys []timedKey) ([]ticketing.DeliveryRecord, error) {
		return query(ctx, &tx.session, "LockDeliveries", scanDelivery, "SELECT "+deliveryColumns+" FROM ?",
			found{table: "ticketing_webhook_deliveries d", lock: true, set: of("company_id, created_at, id", keys,
				func(k timedKey) []any { return []any{k.company, k.at, k.id} })})
	})
}

// LockPending locks deliveries of an endpoint that are pending and not cancelling.
func (tx *transaction) LockPending(
	ctx context.Context, endpoint ticketing.WebhookEndpointRef, limit int,
) ([]ticketing.DeliveryRecord, error) {
	return query(ctx, &tx.session, "LockPending", scanDelivery,
		"SELECT "+deliveryColumns+" FROM ticketing_webhook_deliveries"+tx.store.engine.useIndex(pendingDeliveries)+`
		WHERE company_id = ? AND endpoint = ? AND status = 'PENDING' AND NOT cancelling LIMIT ?`+
			tx.store.engine.rowLock(),
		endpoint.CompanyID, endpoint.Number, max(limit, 0))
}

// UpdateDeliveries keeps what changes of deliveries.
func (tx *transaction) UpdateDeliveries(ctx context.Context, deliveries []ticketing.DeliveryRecord) error {
	const keys = 3
	deliveries = folded(deliveries, deliveryKeyOf)
	return inParts(deliveries, func(deliveries []ticketing.DeliveryRecord) error {
		return tx.update(ctx, "UpdateDeliveries", "ticketing_webhook_deliveries", keys,
			of("company_id, created_at, id, status, cancelling, attempts, due_at, leased_until, finished_at", deliveries,
				func(d ticketing.DeliveryRecord) []any {
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
	return tx.prune(ctx, pruning{
		name: "PruneDeliveries", table: "ticketing_webhook_deliveries", key: "created_at, id",
		due: "created_at < ? AND status <> 'PENDING'", args: []any{before.UnixMilli()}, lock: tx.store.engine.skipLocked(),
	}, companyID, limit)
}
