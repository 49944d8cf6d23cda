package store

import (
	"context"
	"database/sql"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

const tierColumns = "t.company_id, t.event_id, t.tier, t.batches, t.total, t.cancelled"

func tierFields(t *ticketing.TierRecord) []any {
	return []any{(*id)(&t.CompanyID), (*id)(&t.EventID), &t.Tier, &t.Batches, &t.Total, &t.Cancelled}
}

func scanTier(row *sql.Rows, t *ticketing.TierRecord) error { return row.Scan(tierFields(t)...) }

// amongTiers is the end of a condition on a company, an event and the named tiers of it, or all (nil). It tells false
// where none is named, so that there is nothing to ask.
func amongTiers(tier string, event ticketing.EventRef, names []string) (string, []any, bool) {
	args := []any{event.CompanyID, event.ID}
	if names == nil {
		return "", args, true
	}
	return " AND ?", append(args, among(set{columns: []string{tier}, rows: columnOf(names)})), len(names) > 0
}

// CountTiers answers with tiers and what their open batches add up to, in lexicographic order.
func (s *session) CountTiers(
	ctx context.Context, event ticketing.EventRef, tiers []string,
) ([]ticketing.TierCount, error) {
	among, args, some := amongTiers("t.tier", event, tiers)
	if !some {
		return nil, nil
	}
	scan := func(row *sql.Rows, t *ticketing.TierCount) error {
		return row.Scan(append(tierFields(&t.TierRecord), &t.Available, &t.Paused, (*int64)(&t.LowestPrice))...)
	}
	return query(ctx, s, "CountTiers", scan,
		"SELECT "+tierColumns+`,
			CAST(COALESCE(SUM(CASE WHEN b.status = 'AVAILABLE' THEN b.quantity - b.sold END), 0) AS BIGINT),
			CAST(COALESCE(SUM(CASE WHEN b.status = 'PAUSED' THEN b.quantity - b.sold END), 0) AS BIGINT),
			COALESCE(MIN(b.unit_price), 0)
		FROM ticketing_inventory_tiers t LEFT JOIN ticketing_inventory_batches b
			ON b.company_id = t.company_id AND b.event_id = t.event_id AND b.tier = t.tier AND b.open
		WHERE t.company_id = ? AND t.event_id = ?`+among+`
		GROUP BY t.company_id, t.event_id, t.tier ORDER BY t.tier`, args...)
}

// PriceBands answers with what is on sale, by tier, then price.
func (s *session) PriceBands(
	ctx context.Context, event ticketing.EventRef, tiers []string,
) ([]ticketing.PriceBand, error) {
	among, args, some := amongTiers("tier", event, tiers)
	if !some {
		return nil, nil
	}
	scan := func(row *sql.Rows, b *ticketing.PriceBand) error {
		return row.Scan(&b.Tier, (*int64)(&b.UnitPrice), &b.Available)
	}
	return query(ctx, s, "PriceBands", scan,
		`SELECT tier, unit_price, CAST(SUM(quantity - sold) AS BIGINT) FROM ticketing_inventory_batches
		WHERE company_id = ? AND event_id = ?`+among+` AND open AND status = 'AVAILABLE'
		GROUP BY tier, unit_price ORDER BY tier, unit_price`, args...)
}

// StockTotals reads every batch and admission of a company: it is asked for proof, not for speed.
func (s *session) StockTotals(ctx context.Context, companyID uuid.UUID) ([]ticketing.StockTotal, error) {
	scan := func(row *sql.Rows, t *ticketing.StockTotal) error {
		return row.Scan((*id)(&t.EventID), &t.Tier, &t.Total, &t.Quantity, &t.Sold, &t.Admissions, &t.Restocked)
	}
	return query(ctx, s, "StockTotals", scan,
		`SELECT event_id, tier, CAST(SUM(total) AS BIGINT), CAST(SUM(quantity) AS BIGINT), CAST(SUM(sold) AS BIGINT),
			CAST(SUM(admissions) AS BIGINT), CAST(SUM(restocked) AS BIGINT)
		FROM (
			SELECT event_id, tier, total, 0 AS quantity, 0 AS sold, 0 AS admissions, 0 AS restocked
			FROM ticketing_inventory_tiers WHERE company_id = ?
			UNION ALL
			SELECT event_id, tier, 0, quantity, sold, 0, 0 FROM ticketing_inventory_batches WHERE company_id = ?
			UNION ALL
			SELECT event_id, tier, 0, 0, 0, 1, 0 FROM ticketing_admissions WHERE company_id = ?
			UNION ALL
			SELECT a.event_id, a.tier, 0, 0, 0, 0, 1
			FROM ticketing_order_endings x JOIN ticketing_admissions a
				ON a.company_id = x.company_id AND a.order_number = x.number
			WHERE x.company_id = ? AND x.restocked
		) AS counted
		GROUP BY event_id, tier ORDER BY event_id, tier`, companyID, companyID, companyID, companyID)
}

// LockTier locks the counter of a tier, making it at zero where there is none.
func (tx *transaction) LockTier(
	ctx context.Context, event ticketing.EventRef, tier string,
) (ticketing.TierRecord, error) {
	err := tx.exec(ctx, "LockTier",
		`INSERT INTO ticketing_inventory_tiers (company_id, event_id, tier, batches, total, cancelled)
		VALUES (?, ?, ?, 0, 0, ?) ON CONFLICT (company_id, event_id, tier) DO NOTHING`,
		event.CompanyID, event.ID, tier, false)
	if err != nil {
		return ticketing.TierRecord{}, err
	}
	return one(tx.lockTiers(ctx, "LockTier", event, []string{tier}))
}

// LockTiers locks the counters of the named tiers, or of all (nil), that there are, in lexicographic order.
func (tx *transaction) LockTiers(
	ctx context.Context, event ticketing.EventRef, tiers []string,
) ([]ticketing.TierRecord, error) {
	return tx.lockTiers(ctx, "LockTiers", event, tiers)
}

func (tx *transaction) lockTiers(
	ctx context.Context, name string, event ticketing.EventRef, tiers []string,
) ([]ticketing.TierRecord, error) {
	among, args, some := amongTiers("t.tier", event, tiers)
	if !some {
		return nil, nil
	}
	return query(ctx, &tx.session, name, scanTier,
		"SELECT "+tierColumns+" FROM ticketing_inventory_tiers t WHERE t.company_id = ? AND t.event_id = ?"+among+
			" ORDER BY t.tier"+tx.store.engine.rowLock(), args...)
}

// UpdateTiers keeps the counts of tiers that were locked.
func (tx *transaction) UpdateTiers(ctx context.Context, tiers []ticketing.TierRecord) error {
	type key struct {
		event ticketing.EventRef
		tier  string
	}
	tiers = folded(tiers, func(t ticketing.TierRecord) key {
		return key{ticketing.EventRef{CompanyID: t.CompanyID, ID: t.EventID}, t.Tier}
	})
	return inParts(tiers, func(tiers []ticketing.TierRecord) error {
		return tx.update(ctx, "UpdateTiers", "ticketing_inventory_tiers", 3, of(
			"company_id, event_id, tier, batches, total, cancelled",
			tiers, func(t ticketing.TierRecord) []any {
				return []any{t.CompanyID, t.EventID, t.Tier, t.Batches, t.Total, t.Cancelled}
			}))
	})
}
