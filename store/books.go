package store

import (
	"bytes"
	"context"
	"math"
	"slices"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// Verifying a company's books reads millions of rows, so each statement selects only the columns that the caller needs.

// upTo returns the end of a range; 0 means that it has none.
func upTo(last int64) int64 {
	if last == 0 {
		return math.MaxInt64
	}
	return last
}

// ListSoldOrders returns orders, by number, without their buyers.
func (s *session) ListSoldOrders(ctx context.Context, ask driver.SoldQuery) ([]driver.Order, error) {
	scan := func(row rowSet, o *driver.Order) error {
		o.CompanyID = ask.CompanyID
		return row.Scan(&o.Number, (*id)(&o.ID), (*id)(&o.EventID), (*string)(&o.Status), (*int64)(&o.Gross),
			(*int64)(&o.Commission), (*id)(&o.RateID), &o.Branding, (*int64)(&o.FloatBefore),
			(*int64)(&o.EarningsBefore), (*moment)(&o.ConfirmedAt), (*moment)(&o.CreatedAt))
	}
	return query(ctx, s, "ListSoldOrders", scan,
		`SELECT number, id, event_id, status, gross, commission, rate_id, branding, float_before, earnings_before,
			confirmed_at, created_at
		FROM ticketing_orders WHERE company_id = ? AND number > ? AND number <= ? ORDER BY number LIMIT ?`,
		ask.CompanyID, ask.After.Number, upTo(ask.Last), max(ask.Limit, 0))
}

// ListSoldAdmissions returns admissions, by order and line, without their LineID, Title and Location.
func (s *session) ListSoldAdmissions(
	ctx context.Context, ask driver.SoldQuery,
) ([]driver.Admission, error) {
	scan := func(row rowSet, a *driver.Admission) error {
		a.CompanyID = ask.CompanyID
		return row.Scan(&a.OrderNumber, &a.Line, (*id)(&a.ID), (*id)(&a.OrderID), (*id)(&a.EventID), &a.Tier, &a.Batch,
			(*int64)(&a.UnitPrice), &a.Voided, (*id)(&a.ValidationID), (*moment)(&a.ValidatedAt))
	}
	return query(ctx, s, "ListSoldAdmissions", scan,
		`SELECT order_number, line, id, order_id, event_id, tier, batch, unit_price, voided, validation_id, validated_at
		FROM ticketing_admissions
		WHERE company_id = ? AND order_number >= ? AND order_number <= ? AND (order_number > ? OR line > ?)
		ORDER BY order_number, line LIMIT ?`,
		ask.CompanyID, ask.After.Number, upTo(ask.Last), ask.After.Number, ask.After.Line, max(ask.Limit, 0))
}

// ListSubjects returns the spent idempotency keys of an operation that had an outcome, with their subjects, by key.
func (s *session) ListSubjects(ctx context.Context, ask driver.SubjectQuery) ([]driver.KeySubject, error) {
	scan := func(row rowSet, k *driver.KeySubject) error { return row.Scan(&k.Key, (*id)(&k.Subject)) }
	return query(ctx, s, "ListSubjects", scan,
		`SELECT key, subject FROM ticketing_idempotency_keys
		WHERE company_id = ? AND operation = ? AND key > ? AND outcome = ? ORDER BY key LIMIT ?`,
		ask.CompanyID, ask.Operation, ask.After, ask.Outcome, max(ask.Limit, 0))
}

// UnindexedOrders finds orders without an entry in the index of buyers. A subquery that returns a value is run for each
// order, by the key of the entry. For NOT EXISTS the planner of PostgreSQL may read all entries of the company.
func (s *session) UnindexedOrders(ctx context.Context, ask driver.UnindexedQuery) ([]uuid.UUID, error) {
	scan := func(row rowSet, order *uuid.UUID) error { return row.Scan((*id)(order)) }
	return query(ctx, s, "UnindexedOrders", scan,
		`SELECT o.id FROM ticketing_orders o
		WHERE o.company_id = ? AND o.number > ? AND o.number <= ? AND o.confirmed_at < ? AND (
			SELECT b.number FROM ticketing_buyer_orders b
			WHERE b.company_id = ? AND b.email = o.buyer_email AND b.number = o.number) IS NULL
		ORDER BY o.number`, ask.CompanyID, ask.Above, ask.Through, until(ask.Before), ask.CompanyID)
}

// booksTables returns the tables of the books. Tables that a sale appends to reference their company without a foreign
// key.
func booksTables() []string {
	return []string{
		"orders", "admissions", "order_endings", "ledger_entries", "wallets", "float_credits", "settlements",
		"idempotency_keys",
	}
}

// OrphanCompanies returns the company ids in the records of the books that belong to no company.
func (s *session) OrphanCompanies(ctx context.Context, limit int) ([]uuid.UUID, error) {
	scan := func(row rowSet, stray *uuid.UUID) error { return row.Scan((*id)(stray)) }
	var strays []uuid.UUID
	for _, table := range booksTables() {
		found, err := query(ctx, s, "OrphanCompanies", scan,
			`SELECT company_id FROM (SELECT DISTINCT company_id FROM ticketing_`+table+`) AS t
			WHERE NOT EXISTS (SELECT 1 FROM ticketing_companies c WHERE c.id = t.company_id)
			ORDER BY company_id LIMIT ?`, max(limit, 0))
		if err != nil {
			return nil, err
		}
		strays = append(strays, found...)
	}
	slices.SortFunc(strays, func(a, b uuid.UUID) int { return bytes.Compare(a[:], b[:]) })
	strays = slices.Compact(strays)
	return strays[:min(max(limit, 0), len(strays))], nil
}
