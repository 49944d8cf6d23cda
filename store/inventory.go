package store

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

const tierColumns = "t.company_id, t.event_id, t.tier, t.batches, t.total, t.cancelled"

func tierFields(t *driver.Tier) []any {
	return []any{(*id)(&t.CompanyID), (*id)(&t.EventID), &t.Name, &t.Batches, &t.Total, &t.Cancelled}
}

func scanTier(row rowSet, t *driver.Tier) error { return row.Scan(tierFields(t)...) }

// amongTiers returns the end of a condition on a company and an event, for the named tiers or for all (nil). It returns
// false if the list of names is empty, so that no query is needed.
func amongTiers(tier string, event driver.EventRef, names []string) (string, []any, bool) {
	args := []any{event.CompanyID, event.ID}
	if names == nil {
		return "", args, true
	}
	return " AND ?", append(args, inRows(set{columns: []string{tier}, rows: columnOf(names)})), len(names) > 0
}

// CountTiers returns tiers with the totals of their open batches, in lexicographic order.
func (s *session) CountTiers(
	ctx context.Context, event driver.EventRef, tiers []string,
) ([]driver.TierCount, error) {
	among, args, some := amongTiers("t.tier", event, tiers)
	if !some {
		return nil, nil
	}
	scan := func(row rowSet, t *driver.TierCount) error {
		return row.Scan(append(tierFields(&t.Tier), &t.Available, &t.Paused, (*int64)(&t.LowestPrice))...)
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

// ListBatches returns the batches of an event, by tier, then position.
func (s *session) ListBatches(ctx context.Context, event driver.EventRef, limit int) ([]driver.Batch, error) {
	return query(ctx, s, "ListBatches", scanBatch,
		"SELECT "+batchColumns+` FROM ticketing_inventory_batches b
		WHERE b.company_id = ? AND b.event_id = ? ORDER BY b.tier, b.position LIMIT ?`,
		event.CompanyID, event.ID, max(limit, 0))
}

// SumBatches returns the totals of the batches of the named tiers, in lexicographic order.
func (s *session) SumBatches(
	ctx context.Context, event driver.EventRef, tiers []string,
) ([]driver.BatchSum, error) {
	among, args, some := amongTiers("b.tier", event, tiers)
	if !some {
		return nil, nil
	}
	scan := func(row rowSet, b *driver.BatchSum) error {
		return row.Scan(&b.Tier, &b.Total, &b.Sold, &b.Available, &b.Paused, &b.Cancelled, (*int64)(&b.LowestPrice))
	}
	return query(ctx, s, "SumBatches", scan, `SELECT b.tier,
			CAST(SUM(b.quantity) AS BIGINT), CAST(SUM(b.sold) AS BIGINT),
			CAST(COALESCE(SUM(CASE WHEN b.status = 'AVAILABLE' THEN b.quantity - b.sold END), 0) AS BIGINT),
			CAST(COALESCE(SUM(CASE WHEN b.status = 'PAUSED' THEN b.quantity - b.sold END), 0) AS BIGINT),
			CAST(COALESCE(SUM(CASE WHEN b.status = 'CANCELLED' THEN b.quantity - b.sold END), 0) AS BIGINT),
			COALESCE(MIN(CASE WHEN b.open THEN b.unit_price END), 0)
		FROM ticketing_inventory_batches b WHERE b.company_id = ? AND b.event_id = ?`+among+`
		GROUP BY b.tier ORDER BY b.tier`, args...)
}

// CountEvents adds up the batches of each event. It looks each event up on its own: for a list of events PostgreSQL may
// read the batches of all events. An event that is given twice must be looked up once, or it would count double.
func (s *session) CountEvents(ctx context.Context, events []driver.EventRef) ([]driver.EventCount, error) {
	type count struct {
		driver.EventCount

		companyID uuid.UUID
	}
	scan := func(row rowSet, c *count) error {
		return row.Scan((*id)(&c.companyID), (*id)(&c.EventID), &c.Total, &c.Sold, &c.Available, &c.Paused)
	}
	counts, err := findByRefs(events, func(c count) driver.EventRef {
		return driver.EventRef{CompanyID: c.companyID, ID: c.EventID}
	}, func(events []driver.EventRef) ([]count, error) {
		return query(ctx, s, "CountEvents", scan, `SELECT b.company_id, b.event_id, CAST(SUM(b.quantity) AS BIGINT),
			CAST(SUM(b.sold) AS BIGINT),
			CAST(COALESCE(SUM(CASE WHEN b.status = 'AVAILABLE' THEN b.quantity - b.sold END), 0) AS BIGINT),
			CAST(COALESCE(SUM(CASE WHEN b.status = 'PAUSED' THEN b.quantity - b.sold END), 0) AS BIGINT)
			FROM ? GROUP BY b.company_id, b.event_id`,
			keyedRows{table: "ticketing_inventory_batches b", set: newSet("company_id, event_id", distinct(events),
				func(e driver.EventRef) []any { return []any{e.CompanyID, e.ID} })})
	})
	if err != nil {
		return nil, err
	}
	found := make([]driver.EventCount, len(counts))
	for i, one := range counts {
		found[i] = one.EventCount
	}
	return found, nil
}

// PriceList returns the status of an event and the prices on sale, by tier, then price.
func (s *session) PriceList(
	ctx context.Context, event driver.EventRef, tiers []string,
) (driver.PriceList, error) {
	type row struct {
		status string
		band   driver.PriceBand
	}
	scan := func(rows rowSet, r *row) error {
		return rows.Scan(&r.status, &r.band.Tier, (*int64)(&r.band.UnitPrice), &r.band.Available)
	}
	// The event's row comes first, because no tier has an empty name. With UNION each half is planned on its own.
	text := "SELECT status, '' AS tier, 0 AS unit_price, 0 AS available " +
		"FROM ticketing_events WHERE id = ? AND company_id = ?"
	args := []any{event.ID, event.CompanyID}
	if among, of, some := amongTiers("tier", event, tiers); some {
		text += `
			UNION ALL SELECT '', tier, unit_price, CAST(SUM(quantity - sold) AS BIGINT) FROM ticketing_inventory_batches
			WHERE company_id = ? AND event_id = ?` + among + ` AND open AND status = 'AVAILABLE'
			GROUP BY tier, unit_price ORDER BY tier, unit_price`
		args = append(args, of...)
	}
	rows, err := queryOf(ctx, s, "PriceList", event.CompanyID, scan, text, args...)
	if err != nil {
		return driver.PriceList{}, err
	}
	var list driver.PriceList
	for _, r := range rows {
		if r.band.Tier == "" {
			list.EventStatus = driver.EventStatus(r.status)
		} else {
			list.Bands = append(list.Bands, r.band)
		}
	}
	return list, nil
}

// PriceLists does what PriceList does for each query, in one statement. A distributed engine keeps each company on one
// node, so there it makes one for each query.
func (s *session) PriceLists(ctx context.Context, queries []driver.PriceQuery) ([]driver.PriceList, error) {
	most := maxRows
	if s.store.Grouping().ByCompany {
		most = 1
		s.Announce(ctx, func(ctx context.Context, tx driver.ReadTx) {
			for _, q := range queries {
				_, _ = tx.PriceList(ctx, q.EventRef, q.Tiers)
			}
		})
	}
	lists := make([]driver.PriceList, 0, len(queries))
	for len(queries) > 0 {
		n, tiers := 1, len(queries[0].Tiers)
		for n < min(len(queries), most) && tiers+len(queries[n].Tiers) <= maxRows {
			tiers += len(queries[n].Tiers)
			n++
		}
		found, err := s.priceLists(ctx, queries[:n])
		if err != nil {
			return nil, err
		}
		lists, queries = append(lists, found...), queries[n:]
	}
	return lists, nil
}

// priceLists looks up each event and each tier on its own, and reads only the batches of a tier that are on sale.
func (s *session) priceLists(ctx context.Context, queries []driver.PriceQuery) ([]driver.PriceList, error) {
	if len(queries) == 1 {
		list, err := s.PriceList(ctx, queries[0].EventRef, queries[0].Tiers)
		return []driver.PriceList{list}, err
	}
	type tierRef struct {
		driver.EventRef

		tier string
	}
	type row struct {
		driver.EventRef

		status string
		band   driver.PriceBand
	}
	scan := func(rows rowSet, r *row) error {
		return rows.Scan((*id)(&r.CompanyID), (*id)(&r.ID), &r.status, &r.band.Tier, (*int64)(&r.band.UnitPrice),
			&r.band.Available)
	}
	var events []driver.EventRef
	var tiers []tierRef
	for _, q := range queries {
		events = append(events, q.EventRef)
		for _, tier := range q.Tiers {
			tiers = append(tiers, tierRef{q.EventRef, tier})
		}
	}
	// The rows of events have no tier. No tier has an empty name.
	text := "SELECT e.company_id, e.id, e.status, '' AS tier, 0 AS unit_price, 0 AS available FROM ?"
	args := []any{keyedRows{table: "ticketing_events e", set: newSet("company_id, id", distinct(events),
		func(e driver.EventRef) []any { return []any{e.CompanyID, e.ID} })}}
	if len(tiers) > 0 {
		text += ` UNION ALL
			SELECT b.company_id, b.event_id, '', b.tier, b.unit_price, CAST(SUM(b.quantity - b.sold) AS BIGINT)
			FROM ? GROUP BY b.company_id, b.event_id, b.tier, b.unit_price`
		args = append(args, keyedRows{
			table: "ticketing_inventory_batches b", where: "open AND status = 'AVAILABLE'",
			set: newSet("company_id, event_id, tier", distinct(tiers), func(t tierRef) []any {
				return []any{t.CompanyID, t.ID, t.tier}
			}),
		})
	}
	rows, err := query(ctx, s, "PriceLists", scan, text, args...)
	if err != nil {
		return nil, err
	}
	statuses := make(map[driver.EventRef]driver.EventStatus, len(events))
	bands := make(map[tierRef][]driver.PriceBand, len(tiers))
	for _, r := range rows {
		if r.band.Tier == "" {
			statuses[r.EventRef] = driver.EventStatus(r.status)
		} else {
			of := tierRef{r.EventRef, r.band.Tier}
			bands[of] = append(bands[of], r.band)
		}
	}
	for _, of := range bands {
		slices.SortFunc(of, func(a, b driver.PriceBand) int { return cmp.Compare(a.UnitPrice, b.UnitPrice) })
	}
	lists := make([]driver.PriceList, len(queries))
	for i, q := range queries {
		lists[i].EventStatus = statuses[q.EventRef]
		for _, tier := range slices.Compact(slices.Sorted(slices.Values(q.Tiers))) {
			lists[i].Bands = append(lists[i].Bands, bands[tierRef{q.EventRef, tier}]...)
		}
	}
	return lists, nil
}

// StockTotals reads every batch and admission of a company. It is for verification, not for speed.
func (s *session) StockTotals(ctx context.Context, companyID uuid.UUID) ([]driver.StockTotal, error) {
	scan := func(row rowSet, t *driver.StockTotal) error {
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

// LockTier locks the counter of a tier. It creates one at zero if there is none.
func (tx *transaction) LockTier(
	ctx context.Context, event driver.EventRef, tier string,
) (driver.Tier, error) {
	err := tx.exec(ctx, "LockTier",
		`INSERT INTO ticketing_inventory_tiers (company_id, event_id, tier, batches, total, cancelled)
		VALUES (?, ?, ?, 0, 0, ?) ON CONFLICT (company_id, event_id, tier) DO NOTHING`,
		event.CompanyID, event.ID, tier, false)
	if err != nil {
		return driver.Tier{}, err
	}
	return firstRow(tx.lockTiers(ctx, "LockTier", event, []string{tier}))
}

// LockTiers locks the existing counters of the named tiers, or of all (nil), in lexicographic order.
func (tx *transaction) LockTiers(
	ctx context.Context, event driver.EventRef, tiers []string,
) ([]driver.Tier, error) {
	return tx.lockTiers(ctx, "LockTiers", event, tiers)
}

func (tx *transaction) lockTiers(
	ctx context.Context, name string, event driver.EventRef, tiers []string,
) ([]driver.Tier, error) {
	among, args, some := amongTiers("t.tier", event, tiers)
	if !some {
		return nil, nil
	}
	return query(ctx, &tx.session, name, scanTier,
		"SELECT "+tierColumns+" FROM ticketing_inventory_tiers t WHERE t.company_id = ? AND t.event_id = ?"+among+
			" ORDER BY t.tier"+tx.store.engine.traits().rowLock, args...)
}

// UpdateTiers writes the counts of tiers that were locked.
func (tx *transaction) UpdateTiers(ctx context.Context, tiers []driver.Tier) error {
	type key struct {
		event driver.EventRef
		tier  string
	}
	tiers = lastChanges(tiers, func(t driver.Tier) key {
		return key{driver.EventRef{CompanyID: t.CompanyID, ID: t.EventID}, t.Name}
	})
	return inParts(tiers, func(tiers []driver.Tier) error {
		return tx.update(ctx, "UpdateTiers", "ticketing_inventory_tiers", 3, newSet(
			"company_id, event_id, tier, batches, total, cancelled",
			tiers, func(t driver.Tier) []any {
				return []any{t.CompanyID, t.EventID, t.Name, t.Batches, t.Total, t.Cancelled}
			}))
	})
}
