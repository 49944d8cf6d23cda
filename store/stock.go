package store

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/money"
)

const batchColumns = `b.company_id, b.event_id, b.tier, b.position, b.title, b.description, b.unit_price, b.status,
	b.quantity, b.sold, b.created_at`

func scanBatch(row rowSet, b *driver.Batch) error {
	return row.Scan((*id)(&b.CompanyID), (*id)(&b.EventID), &b.Tier, &b.Position, &b.Title, &b.Description,
		(*int64)(&b.UnitPrice), (*string)(&b.Status), &b.Quantity, &b.Sold, (*moment)(&b.CreatedAt))
}

// isOpen reports whether the partial indexes contain the batch.
func isOpen(b driver.Batch) bool {
	return b.Status != driver.InventoryCancelled && b.Sold < b.Quantity
}

// Every writer of batches first locks the counter of their tier, which is the one lock on all stock of a tier. If a
// statement waited for a batch itself, it would read that batch as of then, but its neighbours as of before.

func (tx *transaction) lockTiersOf(ctx context.Context, tiers set) error {
	return tx.lock(ctx, tierRows(tiers))
}

// tierRows are tiers to lock.
func tierRows(tiers set) keyedRows {
	return keyedRows{table: "ticketing_inventory_tiers i", set: tiers, lock: true}
}

// LockBatches locks batches.
func (tx *transaction) LockBatches(
	ctx context.Context, refs []driver.BatchRef,
) ([]driver.Batch, error) {
	if len(refs) == 0 {
		return nil, nil
	}
	tiers := lastChanges(refs, func(r driver.BatchRef) driver.BatchRef {
		r.Position = 0
		return r
	})
	if err := tx.lockTiersOf(ctx, newSet("company_id, event_id, tier", tiers,
		func(r driver.BatchRef) []any { return []any{r.CompanyID, r.EventID, r.Tier} })); err != nil {
		return nil, err
	}
	return findByRefs(refs, batchRef, func(refs []driver.BatchRef) ([]driver.Batch, error) {
		return query(ctx, &tx.session, "LockBatches", scanBatch,
			"SELECT "+batchColumns+" FROM ?",
			keyedRows{table: "ticketing_inventory_batches b", set: newSet("company_id, event_id, tier, position", refs,
				func(r driver.BatchRef) []any { return []any{r.CompanyID, r.EventID, r.Tier, r.Position} })})
	})
}

func batchRef(b driver.Batch) driver.BatchRef {
	return driver.BatchRef{CompanyID: b.CompanyID, EventID: b.EventID, Tier: b.Tier, Position: b.Position}
}

// LockOpenBatches locks the open batches of the named tiers, or of all (nil), by tier, then position.
func (tx *transaction) LockOpenBatches(
	ctx context.Context, event driver.EventRef, tiers []string,
) ([]driver.Batch, error) {
	if _, err := tx.lockTiers(ctx, "LockOpenBatches", event, tiers); err != nil {
		return nil, err
	}
	among, args, some := amongTiers("b.tier", event, tiers)
	if !some {
		return nil, nil
	}
	return query(ctx, &tx.session, "LockOpenBatches", scanBatch,
		"SELECT "+batchColumns+` FROM ticketing_inventory_batches b
		WHERE b.company_id = ? AND b.event_id = ?`+among+` AND b.open
		ORDER BY b.tier, b.position`, args...)
}

// LockStock locks the oldest open batches on sale that cover each query. An open batch holds at least one admission, so
// it reads no more batches than the number of admissions wanted.
func (tx *transaction) LockStock(
	ctx context.Context, queries []driver.StockQuery,
) ([]driver.Batch, error) {
	if len(queries) == 0 {
		return nil, nil
	}
	if err := tx.lockStock(ctx, queries); err != nil {
		return nil, err
	}
	return tx.lockedStock(ctx, queries)
}

// LockSale locks stock, and then wallets. Where one message can do both, the locks come first and then the reads. If
// both came with the message that began the transaction, it sends none.
func (tx *transaction) LockSale(
	ctx context.Context, queries []driver.StockQuery, wallets []driver.WalletRef,
) ([]driver.Batch, []driver.LockedWallet, error) {
	joined := tx.engineAt(ctx, "LockStock", stock(queries).soleCompany()).traits().joinsReads
	if !joined || len(queries) == 0 || len(wallets) == 0 || len(wallets) > maxRows {
		batches, err := tx.LockStock(ctx, queries)
		if err != nil {
			return nil, nil, err
		}
		locked, err := tx.LockWallets(ctx, wallets)
		return batches, locked, err
	}
	if !tx.ahead.holds(queries, wallets) {
		if err := tx.lockStock(ctx, queries); err != nil {
			return nil, nil, err
		}
		if err := tx.lock(ctx, walletRows(wallets)); err != nil {
			return nil, nil, err
		}
	}
	tx.Announce(ctx, func(ctx context.Context, _ driver.ReadTx) { _, _ = tx.lockedWallets(ctx, wallets, false) })
	batches, err := tx.lockedStock(ctx, queries)
	if err != nil {
		return nil, nil, err
	}
	locked, err := tx.lockedWallets(ctx, wallets, false)
	if err != nil {
		return nil, nil, err
	}
	return batches, inOrder(wallets, lockedRef, locked), nil
}

// announceLocks announces the locks of a sale, and the reads that LockSale makes under them, for the message that
// begins the transaction.
func (tx *transaction) announceLocks(ctx context.Context, engine *postgresEngine, locks driver.SaleLocks) {
	if len(locks.Stock) == 0 || len(locks.Wallets) == 0 || len(locks.Wallets) > maxRows {
		return
	}
	statements := &builder{}
	for _, rows := range []keyedRows{tierRows(stockTiers(locks.Stock)), walletRows(locks.Wallets)} {
		table, _, _ := strings.Cut(rows.table, " ")
		lock := build(engine, "SELECT 1 FROM ?", rows)
		if lock.err != nil || !engine.appendClaimedLock(statements, table, lock) {
			return // LockSale locks, or returns the error.
		}
	}
	tx.announceTo(func() {
		_, _ = tx.lockedStock(ctx, locks.Stock)
		_, _ = tx.lockedWallets(ctx, locks.Wallets, false)
	})
	tx.ahead.locks = &announcedLocks{sale: locks, statements: statements}
}

// lockStock locks the tiers of the queries.
func (tx *transaction) lockStock(ctx context.Context, queries []driver.StockQuery) error {
	return tx.lockTiersOf(ctx, stockTiers(queries))
}

// stockTiers returns the keys of the tiers of the queries.
func stockTiers(queries []driver.StockQuery) set {
	tiers := lastChanges(queries, func(q driver.StockQuery) driver.StockQuery {
		return stockKey(q.CompanyID, q.EventID, q.Tier, 0)
	})
	return newSet("company_id, event_id, tier", tiers,
		func(q driver.StockQuery) []any { return []any{q.CompanyID, q.EventID, q.Tier} })
}

// lockedStock reads the batches of the queries, whose tiers are locked.
func (tx *transaction) lockedStock(ctx context.Context, queries []driver.StockQuery) ([]driver.Batch, error) {
	found, err := queryRefs(ctx, &tx.session, queries, refsQuery[driver.StockQuery, driver.Batch]{
		name: "LockStock", scan: scanBatch, text: "?",
		value: func(queries []driver.StockQuery) fragment { return stock(queries) },
	})
	if err != nil {
		return nil, err
	}
	missing := make(map[driver.StockQuery]int64, len(queries))
	for _, q := range queries {
		missing[stockKey(q.CompanyID, q.EventID, q.Tier, q.UnitPrice)] = q.Quantity
	}
	return slices.DeleteFunc(found, func(b driver.Batch) bool {
		of := stockKey(b.CompanyID, b.EventID, b.Tier, b.UnitPrice)
		covered := missing[of] <= 0
		missing[of] -= b.Quantity - b.Sold
		return covered
	}), nil
}

// stockKey returns a query without its quantity, as a map key.
func stockKey(company, event uuid.UUID, tier string, price money.Amount) driver.StockQuery {
	return driver.StockQuery{CompanyID: company, EventID: event, Tier: tier, UnitPrice: price}
}

// CreateBatch inserts a batch.
func (tx *transaction) CreateBatch(ctx context.Context, b driver.Batch) error {
	return tx.exec(ctx, "CreateBatch",
		`INSERT INTO ticketing_inventory_batches (company_id, event_id, tier, position, title, description,
			unit_price, status, quantity, sold, open, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		b.CompanyID, b.EventID, b.Tier, b.Position, b.Title, b.Description, int64(b.UnitPrice), string(b.Status),
		b.Quantity, b.Sold, isOpen(b), b.CreatedAt)
}

// UpdateBatches writes the price, the status, the quantity and sold of locked batches.
func (tx *transaction) UpdateBatches(ctx context.Context, batches []driver.Batch) error {
	batches = lastChanges(batches, batchRef)
	return inParts(batches, func(batches []driver.Batch) error {
		return tx.update(ctx, "UpdateBatches", "ticketing_inventory_batches", 4, newSet(
			"company_id, event_id, tier, position, unit_price, status, quantity, sold, open",
			batches, func(b driver.Batch) []any {
				return []any{
					b.CompanyID, b.EventID, b.Tier, b.Position, int64(b.UnitPrice), string(b.Status), b.Quantity,
					b.Sold, isOpen(b),
				}
			}))
	})
}

// stock is a fragment: the statement that finds the batches of the queries.
type stock []driver.StockQuery

func (s stock) appendTo(to *builder) {
	if len(s) > 1 {
		to.engine.appendStock(to, s)
		return
	}
	q := s[0]
	to.add("SELECT "+batchColumns+` FROM ticketing_inventory_batches b
		WHERE b.company_id = ? AND b.event_id = ? AND b.tier = ? AND b.unit_price = ? AND b.open
			AND b.status = 'AVAILABLE'
		ORDER BY b.position LIMIT ?`,
		q.CompanyID, q.EventID, q.Tier, int64(q.UnitPrice), q.Quantity)
}
