package store

import (
	"context"
	"database/sql"
	"math"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

// What reads a company's books reads millions of rows, so each statement asks for no column that the one who asks can
// do without.

// upTo is the end of a range; 0 is none.
func upTo(last int64) int64 {
	if last == 0 {
		return math.MaxInt64
	}
	return last
}

// ListSoldOrders answers with orders, by number, without their buyers.
func (s *session) ListSoldOrders(ctx context.Context, ask ticketing.SoldQuery) ([]ticketing.OrderRecord, error) {
	scan := func(row *sql.Rows, o *ticketing.OrderRecord) error {
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

// ListSoldAdmissions answers with admissions, by order and line, without their LineID, Title and Location.
func (s *session) ListSoldAdmissions(
	ctx context.Context, ask ticketing.SoldQuery,
) ([]ticketing.AdmissionRecord, error) {
	scan := func(row *sql.Rows, a *ticketing.AdmissionRecord) error {
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

// FloatCredits finds a company's fundings by their references.
func (s *session) FloatCredits(
	ctx context.Context, companyID uuid.UUID, references []string,
) ([]ticketing.FloatCreditRecord, error) {
	scan := func(row *sql.Rows, c *ticketing.FloatCreditRecord) error {
		return row.Scan((*id)(&c.CompanyID), &c.Reference, (*int64)(&c.Amount), &c.Sequence)
	}
	return lookUp(references,
		func(c ticketing.FloatCreditRecord) string { return c.Reference },
		func(references []string) ([]ticketing.FloatCreditRecord, error) {
			return query(ctx, s, "FloatCredits", scan, "SELECT company_id, reference, amount, sequence FROM ?",
				found{table: "ticketing_float_credits c", set: of("company_id, reference", references, func(r string) []any {
					return []any{companyID, r}
				})})
		})
}

// CountResults counts the spent keys of an operation that had an outcome.
func (s *session) CountResults(
	ctx context.Context, companyID uuid.UUID, operation, outcome string,
) (int64, error) {
	scan := func(row *sql.Rows, count *int64) error { return row.Scan(count) }
	return one(query(ctx, s, "CountResults", scan,
		"SELECT count(*) FROM ticketing_idempotency_keys WHERE company_id = ? AND operation = ? AND outcome = ?",
		companyID, operation, outcome))
}

// RepeatedSubjects answers with the subjects that more than one of those keys name, by id.
func (s *session) RepeatedSubjects(
	ctx context.Context, companyID uuid.UUID, operation, outcome string, limit int,
) ([]uuid.UUID, error) {
	scan := func(row *sql.Rows, subject *uuid.UUID) error { return row.Scan((*id)(subject)) }
	return query(ctx, s, "RepeatedSubjects", scan,
		`SELECT subject FROM ticketing_idempotency_keys WHERE company_id = ? AND operation = ? AND outcome = ?
		GROUP BY subject HAVING count(*) > 1 ORDER BY subject LIMIT ?`,
		companyID, operation, outcome, max(limit, 0))
}
