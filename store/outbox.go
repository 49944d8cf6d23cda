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
	factColumns = "company_id, at, id, type, subject"
	unhandled   = "ticketing_outbox_unhandled"
	// free is a fact that is neither handled nor leased at a time.
	free = "NOT handled AND (leased_until IS NULL OR leased_until <= ?)"
)

func scanFact(row *sql.Rows, f *ticketing.FactRecord) error {
	return row.Scan((*id)(&f.CompanyID), (*moment)(&f.At), (*id)(&f.ID), (*string)(&f.Type), (*id)(&f.Subject))
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

// DueCompanies answers with companies that have free facts, by id. It steps from company to company through the
// unhandled facts, so that a long queue of one costs no more than a short one. A distributed engine takes no such steps
// across its nodes: it is asked plainly.
func (s *session) DueCompanies(ctx context.Context, at time.Time, limit int) ([]uuid.UUID, error) {
	scan := func(row *sql.Rows, company *uuid.UUID) error { return row.Scan((*id)(company)) }
	if s.store.Grouping().ByCompany {
		return query(ctx, s, "DueCompanies", scan,
			"SELECT DISTINCT company_id FROM ticketing_outbox WHERE "+free+" ORDER BY company_id LIMIT ?",
			at.UnixMilli(), max(limit, 0))
	}
	return query(ctx, s, "DueCompanies", scan,
		`WITH RECURSIVE waiting (company_id) AS (
			SELECT (SELECT company_id FROM ticketing_outbox WHERE NOT handled ORDER BY company_id LIMIT 1)
			UNION ALL
			SELECT (SELECT o.company_id FROM ticketing_outbox o
				WHERE NOT o.handled AND o.company_id > waiting.company_id ORDER BY o.company_id LIMIT 1)
			FROM waiting WHERE waiting.company_id IS NOT NULL
		)
		SELECT company_id FROM waiting WHERE EXISTS (
			SELECT 1 FROM ticketing_outbox`+s.store.engine.useIndex(unhandled)+`
			WHERE ticketing_outbox.company_id = waiting.company_id AND `+free+`)
		ORDER BY company_id LIMIT ?`,
		at.UnixMilli(), max(limit, 0))
}

// AppendFacts keeps new facts.
func (tx *transaction) AppendFacts(ctx context.Context, facts []ticketing.FactRecord) error {
	return inParts(facts, func(facts []ticketing.FactRecord) error {
		return tx.insert(ctx, "AppendFacts", "ticketing_outbox", of(factColumns+", handled",
			facts, func(f ticketing.FactRecord) []any {
				return []any{f.CompanyID, f.At.UnixMilli(), f.ID, string(f.Type), f.Subject, false}
			}))
	})
}

// LeaseFacts takes a company's oldest free facts until a time. They are chosen once, so that never more are taken than
// was asked for. The second limit cuts nothing off: the planner cannot know it, expects few rows and looks each up by its
// key, where it would else read all facts that the company has.
func (tx *transaction) LeaseFacts(
	ctx context.Context, companyID uuid.UUID, at, until time.Time, limit int,
) ([]ticketing.FactRecord, error) {
	leased, err := query(ctx, &tx.session, "LeaseFacts", scanFact,
		`WITH due AS MATERIALIZED (
			SELECT at, id FROM ticketing_outbox`+tx.store.engine.useIndex(unhandled)+`
			WHERE company_id = ? AND `+free+` ORDER BY at, id LIMIT ?`+tx.store.engine.skipLocked()+`
		)
		UPDATE ticketing_outbox SET leased_until = ? WHERE company_id = ?
			AND (at, id) IN (SELECT at, id FROM due LIMIT (SELECT ?)) RETURNING `+factColumns,
		companyID, at.UnixMilli(), max(limit, 0), until, companyID, max(limit, 0))
	// RETURNING promises no order.
	slices.SortFunc(leased, func(a, b ticketing.FactRecord) int {
		return cmp.Or(a.At.Compare(b.At), slices.Compare(a.ID[:], b.ID[:]))
	})
	return leased, err
}

// CompleteFacts marks facts as handled.
func (tx *transaction) CompleteFacts(ctx context.Context, facts []ticketing.FactRecord) error {
	type key struct {
		company uuid.UUID
		at      int64
		id      uuid.UUID
	}
	facts = folded(facts, func(f ticketing.FactRecord) key { return key{f.CompanyID, f.At.UnixMilli(), f.ID} })
	const keys = 3
	return inParts(facts, func(facts []ticketing.FactRecord) error {
		return tx.update(ctx, "CompleteFacts", "ticketing_outbox", keys,
			of("company_id, at, id, handled", facts, func(f ticketing.FactRecord) []any {
				return []any{f.CompanyID, f.At.UnixMilli(), f.ID, true}
			}))
	})
}
