package store

import (
	"context"
	"database/sql"
	"slices"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/money"
)

const batchColumns = `b.company_id, b.event_id, b.tier, b.position, b.title, b.description, b.unit_price, b.status,
	b.quantity, b.sold, b.created_at`

func scanBatch(row *sql.Rows, b *ticketing.BatchRecord) error {
	return row.Scan((*id)(&b.CompanyID), (*id)(&b.EventID), &b.Tier, &b.Position, &b.Title, &b.Description,
		(*int64)(&b.UnitPrice), (*string)(&b.Status), &b.Quantity, &b.Sold, (*moment)(&b.CreatedAt))
}

// open is what the partial indexes hold.
func open(b ticketing.BatchRecord) bool {
	return b.Status != ticketing.InventoryCancelled && b.Sold < b.Quantity
}

// LockBatch locks one batch; the zero record where there is none.
func (tx *transaction) LockBatch(ctx context.Context, ref ticketing.BatchRef) (ticketing.BatchRecord, error) {
	return one(query(ctx, &tx.session, "LockBatch", scanBatch,
		"SELECT "+batchColumns+` FROM ticketing_inventory_batches b
		WHERE b.company_id = ? AND b.event_id = ? AND b.tier = ? AND b.position = ?`+tx.store.engine.rowLock(),
		ref.CompanyID, ref.EventID, ref.Tier, ref.Position))
}

// LockOpenBatches locks the open batches of the named tiers, or of all (nil), by tier, then position.
func (tx *transaction) LockOpenBatches(
	ctx context.Context, event ticketing.EventRef, tiers []string,
) ([]ticketing.BatchRecord, error) {
	among, args, some := amongTiers("b.tier", event, tiers)
	if !some {
		return nil, nil
	}
	return query(ctx, &tx.session, "LockOpenBatches", scanBatch,
		"SELECT "+batchColumns+` FROM ticketing_inventory_batches b
		WHERE b.company_id = ? AND b.event_id = ?`+among+` AND b.open
		ORDER BY b.tier, b.position`+tx.store.engine.rowLock(), args...)
}

// LockStock locks the oldest open batches on sale that cover each query. An open batch holds one admission at least,
// so that as many batches as admissions are wanted are enough to look at.
func (tx *transaction) LockStock(
	ctx context.Context, queries []ticketing.StockQuery,
) ([]ticketing.BatchRecord, error) {
	if len(queries) == 0 {
		return nil, nil
	}
	largest := int64(1)
	for _, q := range queries {
		largest = max(largest, q.Quantity)
	}
	found, err := query(ctx, &tx.session, "LockStock", scanBatch,
		`WITH q (company_id, event_id, tier, unit_price) AS (VALUES ?)
		SELECT `+batchColumns+` FROM q JOIN ticketing_inventory_batches b
			ON b.company_id = q.company_id AND b.event_id = q.event_id AND b.tier = q.tier
			AND b.unit_price = q.unit_price AND b.open AND b.status = 'AVAILABLE'
			AND b.position <= COALESCE((
				SELECT last.position FROM ticketing_inventory_batches last
				WHERE last.company_id = q.company_id AND last.event_id = q.event_id AND last.tier = q.tier
					AND last.unit_price = q.unit_price AND last.open AND last.status = 'AVAILABLE'
				ORDER BY last.position LIMIT 1 OFFSET ?), ?)
		ORDER BY b.company_id, b.event_id, b.tier, b.position`+tx.store.engine.rowLock(),
		rows(queries, func(q ticketing.StockQuery) []any {
			return []any{q.CompanyID, q.EventID, q.Tier, int64(q.UnitPrice)}
		}), largest-1, ticketing.MaxTierAdmissions)
	if err != nil {
		return nil, err
	}
	missing := make(map[ticketing.StockQuery]int64, len(queries))
	for _, q := range queries {
		missing[stockKey(q.CompanyID, q.EventID, q.Tier, q.UnitPrice)] = q.Quantity
	}
	return slices.DeleteFunc(found, func(b ticketing.BatchRecord) bool {
		of := stockKey(b.CompanyID, b.EventID, b.Tier, b.UnitPrice)
		covered := missing[of] <= 0
		missing[of] -= b.Quantity - b.Sold
		return covered
	}), nil
}

// stockKey is a query whatever its quantity.
func stockKey(company, event uuid.UUID, tier string, price money.Amount) ticketing.StockQuery {
	return ticketing.StockQuery{CompanyID: company, EventID: event, Tier: tier, UnitPrice: price}
}

// CreateBatch keeps a new batch.
func (tx *transaction) CreateBatch(ctx context.Context, b ticketing.BatchRecord) error {
	_, err := tx.exec(ctx, "CreateBatch",
		`INSERT INTO ticketing_inventory_batches (company_id, event_id, tier, position, title, description,
			unit_price, status, quantity, sold, open, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		b.CompanyID, b.EventID, b.Tier, b.Position, b.Title, b.Description, int64(b.UnitPrice), string(b.Status),
		b.Quantity, b.Sold, open(b), b.CreatedAt)
	return err
}

// UpdateBatches keeps price, status, quantity and sold of batches that were locked.
func (tx *transaction) UpdateBatches(ctx context.Context, batches []ticketing.BatchRecord) error {
	batches = folded(batches, func(b ticketing.BatchRecord) ticketing.BatchRef {
		return ticketing.BatchRef{CompanyID: b.CompanyID, EventID: b.EventID, Tier: b.Tier, Position: b.Position}
	})
	return inParts(batches, func(batches []ticketing.BatchRecord) error {
		return tx.changed(ctx, "UpdateBatches", len(batches),
			`WITH v (company_id, event_id, tier, position, unit_price, status, quantity, sold, open) AS (VALUES ?)
			UPDATE ticketing_inventory_batches AS b
			SET unit_price = v.unit_price, status = v.status, quantity = v.quantity, sold = v.sold, open = v.open
			FROM v WHERE b.company_id = v.company_id AND b.event_id = v.event_id AND b.tier = v.tier
				AND b.position = v.position`,
			rows(batches, func(b ticketing.BatchRecord) []any {
				return []any{
					b.CompanyID, b.EventID, b.Tier, b.Position, int64(b.UnitPrice), string(b.Status), b.Quantity,
					b.Sold, open(b),
				}
			}))
	})
}
