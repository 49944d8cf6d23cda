package store

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/floatgate/ticketing/driver"
)

// The SQL of SQLite. Values are bound arguments. A write of many rows is one statement that runs once for each row,
// since no run costs a round trip. So there are few different texts, and the connections keep them prepared. Statements
// that write several rows at once were no faster.

func (e *sqliteEngine) query(
	ctx context.Context, conn bun.IConn, statement *builder, scan func(rowSet) error,
) error {
	text := string(statement.text)
	// Bypass Bun, which would write the values into the text.
	var rows *sql.Rows
	var err error
	switch conn := conn.(type) {
	case *bun.DB:
		give, busy := e.share.take(ctx, e.timeout)
		if busy != nil {
			return busy
		}
		defer give()
		rows, err = conn.DB.QueryContext(ctx, text, statement.bound...)
	case bun.Conn:
		rows, err = conn.Conn.QueryContext(ctx, text, statement.bound...)
	default: // A host's transaction.
		rows, err = conn.QueryContext(ctx, text, statement.bound...)
	}
	if err != nil {
		return err
	}
	return scanAll(rows, scan)
}

func (e *sqliteEngine) message(ctx context.Context, statement *builder) (context.Context, string) {
	return ctx, string(statement.text)
}

// exec runs a statement, once for each of its rows.
func (e *sqliteEngine) exec(ctx context.Context, conn bun.IConn, statement *builder) (written int, err error) {
	rows := statement.rows
	if rows == nil {
		if statement.once {
			return execOnce(ctx, conn, string(statement.text), statement.bound)
		}
		rows = [][]any{statement.bound}
	}
	if tx, ok := conn.(*sql.Tx); ok {
		return execIn(ctx, tx, string(statement.text), rows)
	}
	err = conn.(bun.Conn).Raw(func(native any) error {
		written, err = native.(*sqliteConn).write(ctx, string(statement.text), rows)
		return err
	})
	return written, err
}

// execOnce runs a statement and does not keep it prepared.
func execOnce(ctx context.Context, conn bun.IConn, text string, values []any) (int, error) {
	var result sql.Result
	var err error
	if own, ok := conn.(bun.Conn); ok {
		result, err = own.Conn.ExecContext(ctx, text, values...)
	} else { // A host's transaction.
		result, err = conn.ExecContext(ctx, text, values...)
	}
	if err != nil {
		return 0, err
	}
	written, err := result.RowsAffected()
	return int(written), err
}

// execIn runs a statement in a host's transaction. Only database/sql is available there, not the driver's connection.
func execIn(ctx context.Context, tx *sql.Tx, text string, rows [][]any) (written int, err error) {
	prepared, err := tx.PrepareContext(ctx, text)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, prepared.Close()) }()
	for _, row := range rows {
		values := make([]any, len(row))
		for i, value := range row {
			values[i] = kept(value)
		}
		result, err := prepared.ExecContext(ctx, values...)
		if err != nil {
			return 0, err
		}
		number, err := result.RowsAffected()
		if err != nil {
			return 0, err
		}
		written += int(number)
	}
	return written, nil
}

func (e *sqliteEngine) appendExpecting(to, statement *builder, _ int) {
	to.text = append(to.text, statement.text...)
}

func (e *sqliteEngine) appendValue(to *builder, value any) {
	to.text = append(to.text, '?')
	to.bound = append(to.bound, kept(value))
}

// kept returns a value as SQLite stores it: ids are blobs, times are milliseconds.
func kept(value any) any {
	switch v := value.(type) {
	case uuid.UUID:
		return v[:]
	case optional:
		if uuid.UUID(v) == uuid.Nil {
			return nil
		}
		return v[:]
	case time.Time:
		if v.IsZero() {
			return nil
		}
		return v.UnixMilli()
	case int:
		return int64(v)
	default: // Texts, booleans, other numbers and blobs.
		return v
	}
}

// appendInRows writes one row as plain conditions, and several as a list of VALUES with one of a few lengths.
func (e *sqliteEngine) appendInRows(to *builder, of set) {
	if len(of.rows) == 1 {
		for i, column := range of.columns {
			if i > 0 {
				to.add(" AND ")
			}
			to.add(column+" = ?", of.rows[0][i])
		}
		return
	}
	to.add("(" + strings.Join(of.columns, ", ") + ") IN (VALUES ")
	to.values(padded(of))
	to.add(")")
}

func (e *sqliteEngine) appendRates(to *builder, companies []uuid.UUID, at int64) {
	to.add(`ticketing_companies c JOIN ticketing_commission_rates r ON r.company_id = c.id AND r.id = (
			SELECT e.id FROM ticketing_commission_rates e WHERE e.company_id = c.id AND e.effective_from <= ?
			ORDER BY e.effective_from DESC, e.position DESC LIMIT 1)
		WHERE ?`, at, inIDs("c.id", companies))
}

func (e *sqliteEngine) appendTerms(to *builder, terms terms) {
	to.add("WITH v (company_id, id, version) AS (VALUES ")
	to.values(padded(terms.of))
	to.add(`) SELECT v.company_id, v.id, v.version, `+termsColumns+`, NULL FROM v
		LEFT JOIN ticketing_events e ON e.id = v.id AND e.company_id = v.company_id
		LEFT JOIN ticketing_brandings b ON b.company_id = v.company_id AND b.version = v.version
		LEFT JOIN ticketing_commission_rates r ON r.company_id = v.company_id AND r.id = (
			SELECT t.id FROM ticketing_commission_rates t WHERE t.company_id = v.company_id AND t.effective_from <= ?
			ORDER BY t.effective_from DESC, t.position DESC LIMIT 1)
		WHERE v.company_id IS NOT NULL`, terms.at)
}

func (e *sqliteEngine) appendHeads(to *builder, wallets set, _ bool) {
	e.appendLookUp(to, "ticketing_wallets w", wallets)
	to.add(` LEFT JOIN ticketing_ledger_entries e
			ON e.company_id = w.company_id AND e.wallet = w.wallet AND e.sequence = w.sequence`)
	if len(wallets.rows) == 1 {
		to.add(" WHERE ?", inRows{columns: []string{"w.company_id", "w.wallet"}, rows: wallets.rows})
	}
}

func (e *sqliteEngine) appendKeyedRows(to *builder, of keyedRows) {
	e.appendLookUp(to, of.table, of.set)
	if len(of.rows) == 1 {
		to.add(" WHERE ?", inRows(of.set))
	}
	to.add(of.condition())
}

// appendLookUp writes a table. For several rows it also writes the join that finds each row by its whole key. For a
// list of pairs, SQLite would ignore key columns that look useless by the table's statistics, and read all rows of a
// company for each pair. CROSS JOIN makes SQLite keep this order.
func (e *sqliteEngine) appendLookUp(to *builder, table string, of set) {
	if len(of.rows) == 1 {
		to.add(table)
		return
	}
	to.add("(VALUES ")
	to.values(padded(of))
	to.add(") AS v CROSS JOIN " + table + " ON ")
	_, alias, _ := strings.Cut(table, " ")
	for i, column := range of.columns {
		if i > 0 {
			to.add(" AND ")
		}
		to.add(alias + "." + column + " = v.column" + strconv.Itoa(i+1))
	}
}

// padded returns the set, filled up to a power of two with rows of NULL, which match nothing.
func padded(of set) set {
	size := 1
	for size < len(of.rows) {
		size *= 2
	}
	none := make([]any, len(of.columns))
	rows := append(make([][]any, 0, size), of.rows...)
	for len(rows) < size {
		rows = append(rows, none)
	}
	return set{columns: of.columns, rows: rows}
}

func (e *sqliteEngine) appendInsert(to *builder, table string, of set) {
	marks := strings.Repeat(", ?", len(of.columns))[2:]
	to.add("INSERT INTO " + table + " (" + strings.Join(of.columns, ", ") + ") VALUES (" + marks + ")")
	to.run(of.rows)
}

func (e *sqliteEngine) appendUpdate(to *builder, table string, keys int, of set) {
	to.add("UPDATE " + table + " SET " + strings.Join(of.columns[keys:], " = ?, ") + " = ? WHERE " +
		strings.Join(of.columns[:keys], " = ? AND ") + " = ?")
	rows := make([][]any, len(of.rows))
	for i, row := range of.rows {
		rows[i] = slices.Concat(row[keys:], row[:keys])
	}
	to.run(rows)
}

func (e *sqliteEngine) appendStock(to *builder, queries []driver.StockQuery) {
	largest := int64(1)
	for _, q := range queries {
		largest = max(largest, q.Quantity)
	}
	to.add("WITH q (company_id, event_id, tier, unit_price) AS (VALUES ")
	to.values(padded(newSet("company_id, event_id, tier, unit_price", queries, func(q driver.StockQuery) []any {
		return []any{q.CompanyID, q.EventID, q.Tier, int64(q.UnitPrice)}
	})))
	to.add(`) SELECT `+batchColumns+` FROM q JOIN ticketing_inventory_batches b
			ON b.company_id = q.company_id AND b.event_id = q.event_id AND b.tier = q.tier
			AND b.unit_price = q.unit_price AND b.open AND b.status = 'AVAILABLE'
			AND b.position <= COALESCE((
				SELECT last.position FROM ticketing_inventory_batches last
				WHERE last.company_id = q.company_id AND last.event_id = q.event_id AND last.tier = q.tier
					AND last.unit_price = q.unit_price AND last.open AND last.status = 'AVAILABLE'
				ORDER BY last.position LIMIT 1 OFFSET ?), ?)
		ORDER BY b.company_id, b.event_id, b.tier, b.position`, largest-1, driver.MaxTierAdmissions)
}

// appendLock writes nothing: there are no row locks, see begin.
func (e *sqliteEngine) appendLock(_ *builder, _ string, _ *builder) bool { return true }
