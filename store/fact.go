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
	factColumns  = "company_id, at, id, type, subject, endpoints"
	undispatched = "ticketing_outbox_undispatched"
	unpublished  = "ticketing_outbox_untold"
	// free is the condition that a fact is dispatched, and neither handled nor leased at a time.
	free = "dispatched AND NOT handled AND (leased_until IS NULL OR leased_until <= ?)"
)

func scanFact(row rowSet, f *driver.Fact) error {
	return row.Scan((*id)(&f.CompanyID), (*moment)(&f.At), (*id)(&f.ID), (*string)(&f.Type), (*id)(&f.Subject),
		&f.Endpoints)
}

// ListFacts returns a company's facts by time, then id, after a position.
func (s *session) ListFacts(
	ctx context.Context, companyID uuid.UUID, after driver.Position, limit int,
) ([]driver.Fact, error) {
	return query(ctx, s, "ListFacts", scanFact,
		"SELECT "+factColumns+` FROM ticketing_outbox WHERE company_id = ? AND (at, id) > (?, ?)
		ORDER BY at, id LIMIT ?`,
		companyID, after.At.UnixMilli(), after.ID, max(limit, 0))
}

// UndispatchedFacts returns a company's facts after a position that are not dispatched.
func (s *session) UndispatchedFacts(
	ctx context.Context, companyID uuid.UUID, after driver.Position, limit int,
) ([]driver.Fact, error) {
	return query(ctx, s, "UndispatchedFacts", scanFact,
		"SELECT "+factColumns+" FROM ticketing_outbox"+s.store.engine.traits().useIndex(undispatched)+`
		WHERE company_id = ? AND NOT dispatched AND (at, id) > (?, ?) ORDER BY at, id LIMIT (SELECT ?)`,
		companyID, after.At.UnixMilli(), after.ID, max(limit, 0))
}

// AppendFacts inserts facts.
func (tx *transaction) AppendFacts(ctx context.Context, facts []driver.Fact) error {
	never := func(*driver.Fact) bool { return false }
	return insertRecords(ctx, tx, "AppendFacts", "ticketing_outbox", []column[driver.Fact]{
		idColumn("company_id", func(f *driver.Fact) uuid.UUID { return f.CompanyID }),
		numberColumn("at", func(f *driver.Fact) int64 { return f.At.UnixMilli() }),
		idColumn("id", func(f *driver.Fact) uuid.UUID { return f.ID }),
		textColumn("type", func(f *driver.Fact) string { return string(f.Type) }),
		idColumn("subject", func(f *driver.Fact) uuid.UUID { return f.Subject }),
		numberColumn("endpoints", func(f *driver.Fact) int64 { return f.Endpoints }),
		// dispatched is explicit: its default in SQLite is for facts that were written before the column existed.
		boolColumn("dispatched", never),
		boolColumn("handled", never),
	}, facts, 1)
}

// TakeFacts locks a company's oldest facts that are not dispatched.
func (tx *transaction) TakeFacts(
	ctx context.Context, companyID uuid.UUID, limit int,
) ([]driver.Fact, error) {
	return query(ctx, &tx.session, "TakeFacts", scanFact,
		"SELECT "+factColumns+" FROM ticketing_outbox"+tx.store.engine.traits().useIndex(undispatched)+`
		WHERE company_id = ? AND NOT dispatched ORDER BY at, id LIMIT (SELECT ?)`+tx.store.engine.traits().skipLocked,
		companyID, max(limit, 0))
}

// DispatchFacts marks facts as dispatched, and also as handled if there is no one to publish them to.
func (tx *transaction) DispatchFacts(ctx context.Context, facts []driver.Fact, handled bool) error {
	if !handled {
		return tx.mark(ctx, "DispatchFacts", facts, "dispatched")
	}
	return tx.mark(ctx, "DispatchFacts", facts, "dispatched", "handled")
}

// LeaseFacts leases a company's oldest free facts until a time. They are selected once (MATERIALIZED), so that never
// more are leased than the limit. The subquery hides the limit from the planner, so the planner reads the facts in the
// order of the index. If it knew the limit and believed the queue to be short, it would read and sort all of them.
func (tx *transaction) LeaseFacts(
	ctx context.Context, companyID uuid.UUID, at, until time.Time, limit int,
) ([]driver.Fact, error) {
	leased, err := query(ctx, &tx.session, "LeaseFacts", scanFact,
		`WITH due AS MATERIALIZED (
			SELECT company_id, at, id FROM ticketing_outbox`+tx.store.engine.traits().useIndex(unpublished)+`
			WHERE company_id = ? AND `+free+` ORDER BY at, id LIMIT (SELECT ?)`+tx.store.engine.traits().skipLocked+`
		)
		UPDATE ticketing_outbox SET leased_until = ? WHERE ? RETURNING `+factColumns,
		companyID, at.UnixMilli(), max(limit, 0), until, dueRows{companyID, "at, id", limit})
	// RETURNING has no defined order.
	slices.SortFunc(leased, func(a, b driver.Fact) int {
		return cmp.Or(a.At.Compare(b.At), slices.Compare(a.ID[:], b.ID[:]))
	})
	return leased, err
}

// CompleteFacts marks facts as handled.
func (tx *transaction) CompleteFacts(ctx context.Context, facts []driver.Fact) error {
	return tx.mark(ctx, "CompleteFacts", facts, "handled")
}

// mark sets flags of facts, which must exist.
func (tx *transaction) mark(ctx context.Context, name string, facts []driver.Fact, flags ...string) error {
	facts = lastChanges(facts, func(f driver.Fact) timedKey {
		return timedKey{f.CompanyID, f.At.UnixMilli(), f.ID}
	})
	const keys = 3
	return inParts(facts, func(facts []driver.Fact) error {
		rows := newSet("company_id, at, id", facts, func(f driver.Fact) []any {
			row := []any{f.CompanyID, f.At.UnixMilli(), f.ID}
			for range flags {
				row = append(row, true)
			}
			return row
		})
		rows.columns = append(rows.columns, flags...)
		return tx.update(ctx, name, "ticketing_outbox", keys, rows)
	})
}

// PruneFacts removes a company's oldest facts up to the first that is not handled. Unlike other removals, it waits for
// rows that another transaction has locked: if it skipped them, it would remove newer facts before older ones.
func (tx *transaction) PruneFacts(
	ctx context.Context, companyID uuid.UUID, before time.Time, limit int,
) (int, error) {
	first := func(index, waits string) *bun.SelectQuery {
		return tx.newSelect().TableExpr("ticketing_outbox"+tx.store.engine.traits().useIndex(index)).ColumnExpr("at").
			Where("company_id = ?", id(companyID)).Where(waits).OrderExpr("at, id").Limit(1)
	}
	return tx.prune(ctx, "PruneFacts", "ticketing_outbox", "at, id", companyID, limit,
		func(facts *bun.SelectQuery) *bun.SelectQuery {
			return facts.Where("at < ?", integer(before.UnixMilli())).Where("dispatched AND handled").
				Where("at < COALESCE((?), ?)", first(undispatched, "NOT dispatched"), int64(math.MaxInt64)).
				Where("at < COALESCE((?), ?)", first(unpublished, "dispatched AND NOT handled"), int64(math.MaxInt64)).
				Apply(tx.locked)
		})
}
