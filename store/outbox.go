package store

import (
	"cmp"
	"context"
	"database/sql"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

const (
	factColumns  = "company_id, at, id, type, subject, endpoints"
	undispatched = "ticketing_outbox_undispatched"
	untold       = "ticketing_outbox_untold"
	// free is a fact that is dispatched and neither handled nor leased at a time.
	free = "dispatched AND NOT handled AND (leased_until IS NULL OR leased_until <= ?)"
)

func scanFact(row *sql.Rows, f *ticketing.FactRecord) error {
	return row.Scan((*id)(&f.CompanyID), (*moment)(&f.At), (*id)(&f.ID), (*string)(&f.Type), (*id)(&f.Subject),
		&f.Endpoints)
}

// ListFacts answers with a company's facts by time, then id, after a position.
func (s *session) ListFacts(
	ctx context.Context, companyID uuid.UUID, after ticketing.Position, limit int,
) ([]ticketing.FactRecord, error) {
	return query(ctx, s, "ListFacts", scanFact,
		"SELECT "+factColumns+` FROM ticketing_outbox WHERE company_id = ? AND (at, id) > (?, ?)
		ORDER BY at, id LIMIT ?`,
		companyID, after.At.UnixMilli(), after.ID, max(limit, 0))
}

// AppendFacts keeps new facts.
func (tx *transaction) AppendFacts(ctx context.Context, facts []ticketing.FactRecord) error {
	return inParts(facts, func(facts []ticketing.FactRecord) error {
		// That they are not dispatched is said, since the default of SQLite tells of facts from before there was a dispatch.
		return tx.insert(ctx, "AppendFacts", "ticketing_outbox", of(factColumns+", dispatched, handled",
			facts, func(f ticketing.FactRecord) []any {
				return []any{f.CompanyID, f.At.UnixMilli(), f.ID, string(f.Type), f.Subject, f.Endpoints, false, false}
			}))
	})
}

// TakeFacts locks a company's oldest facts that are not dispatched.
func (tx *transaction) TakeFacts(
	ctx context.Context, companyID uuid.UUID, limit int,
) ([]ticketing.FactRecord, error) {
	return query(ctx, &tx.session, "TakeFacts", scanFact,
		"SELECT "+factColumns+" FROM ticketing_outbox"+tx.store.engine.useIndex(undispatched)+`
		WHERE company_id = ? AND NOT dispatched ORDER BY at, id LIMIT (SELECT ?)`+tx.store.engine.skipLocked(),
		companyID, max(limit, 0))
}

// DispatchFacts marks facts as dispatched, and as handled, too, where nobody is to be told.
func (tx *transaction) DispatchFacts(ctx context.Context, facts []ticketing.FactRecord, handled bool) error {
	if !handled {
		return tx.mark(ctx, "DispatchFacts", facts, "dispatched")
	}
	return tx.mark(ctx, "DispatchFacts", facts, "dispatched", "handled")
}

// LeaseFacts takes a company's oldest free facts until a time. They are chosen once, so that never more are taken than
// was asked for. The planner cannot know the limit: so it reads them as the index has them, where it would else, of a queue
// that it believes to be short, read all and sort.
func (tx *transaction) LeaseFacts(
	ctx context.Context, companyID uuid.UUID, at, until time.Time, limit int,
) ([]ticketing.FactRecord, error) {
	leased, err := query(ctx, &tx.session, "LeaseFacts", scanFact,
		`WITH due AS MATERIALIZED (
			SELECT company_id, at, id FROM ticketing_outbox`+tx.store.engine.useIndex(untold)+`
			WHERE company_id = ? AND `+free+` ORDER BY at, id LIMIT (SELECT ?)`+tx.store.engine.skipLocked()+`
		)
		UPDATE ticketing_outbox SET leased_until = ? WHERE ? RETURNING `+factColumns,
		companyID, at.UnixMilli(), max(limit, 0), until, due{companyID, "at, id", limit})
	// RETURNING promises no order.
	slices.SortFunc(leased, func(a, b ticketing.FactRecord) int {
		return cmp.Or(a.At.Compare(b.At), slices.Compare(a.ID[:], b.ID[:]))
	})
	return leased, err
}

// CompleteFacts marks facts as handled.
func (tx *transaction) CompleteFacts(ctx context.Context, facts []ticketing.FactRecord) error {
	return tx.mark(ctx, "CompleteFacts", facts, "handled")
}

// mark sets flags of facts that are there.
func (tx *transaction) mark(ctx context.Context, name string, facts []ticketing.FactRecord, flags ...string) error {
	facts = folded(facts, func(f ticketing.FactRecord) timedKey {
		return timedKey{f.CompanyID, f.At.UnixMilli(), f.ID}
	})
	const keys = 3
	return inParts(facts, func(facts []ticketing.FactRecord) error {
		rows := of("company_id, at, id", facts, func(f ticketing.FactRecord) []any {
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

// PruneFacts removes a company's oldest facts up to the first that is not handled. Unlike other removals it waits for
// rows that another one has locked: passing over them would remove newer facts before older ones.
func (tx *transaction) PruneFacts(
	ctx context.Context, companyID uuid.UUID, before time.Time, limit int,
) (int, error) {
	first := func(index, waits string) string {
		return "at < COALESCE((SELECT at FROM ticketing_outbox" + tx.store.engine.useIndex(index) +
			" WHERE company_id = ? AND " + waits + " ORDER BY at, id LIMIT 1), ?)"
	}
	return tx.prune(ctx, pruning{
		name: "PruneFacts", table: "ticketing_outbox", key: "at, id", lock: tx.store.engine.rowLock(),
		due: "at < ? AND dispatched AND handled AND " + first(undispatched, "NOT dispatched") + " AND " +
			first(untold, "dispatched AND NOT handled"),
		args: []any{before.UnixMilli(), companyID, int64(math.MaxInt64), companyID, int64(math.MaxInt64)},
	}, companyID, limit)
}

// pruning says which rows of a company are removed.
type pruning struct {
	name, table, key string
	due              string // true of what is removed
	args             []any  // of due
	lock             string // of the rows, at the end of a query
}

// prune removes rows of a company, the first ones by a key, and tells how many. It chooses them as LeaseFacts does.
func (tx *transaction) prune(ctx context.Context, p pruning, companyID uuid.UUID, limit int) (int, error) {
	scan := func(row *sql.Rows, one *int) error { return row.Scan(one) }
	args := slices.Concat([]any{companyID}, p.args, []any{max(limit, 0), due{companyID, p.key, limit}})
	gone, err := query(ctx, &tx.session, p.name, scan,
		`WITH due AS MATERIALIZED (
			SELECT company_id, `+p.key+" FROM "+p.table+" AS t WHERE company_id = ? AND "+p.due+" ORDER BY "+p.key+
			" LIMIT (SELECT ?)"+p.lock+`
		)
		DELETE FROM `+p.table+" WHERE ? RETURNING 1", args...)
	return len(gone), err
}
