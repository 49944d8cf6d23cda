package store

import (
	"context"

	"github.com/floatgate/ticketing/driver"
)

const admissionColumns = `a.company_id, a.order_number, a.line, a.id, a.line_id, a.order_id, a.event_id, a.tier,
	a.batch, a.title, a.unit_price, a.voided, a.validation_id, a.validated_at, a.location`

func scanAdmission(row rowSet, a *driver.Admission) error {
	return row.Scan((*id)(&a.CompanyID), &a.OrderNumber, &a.Line, (*id)(&a.ID), (*id)(&a.LineID), (*id)(&a.OrderID),
		(*id)(&a.EventID), &a.Tier, &a.Batch, &a.Title, (*int64)(&a.UnitPrice), &a.Voided, (*id)(&a.ValidationID),
		(*moment)(&a.ValidatedAt), &a.Location)
}

func admissionRef(a driver.Admission) driver.AdmissionRef {
	return driver.AdmissionRef{CompanyID: a.CompanyID, ID: a.ID}
}

// OrderLines returns the admissions of the orders, by company, number and line.
func (s *session) OrderLines(
	ctx context.Context, orders []driver.OrderNumber,
) ([]driver.Admission, error) {
	if len(orders) == 0 {
		return nil, nil
	}
	return query(ctx, s, "OrderLines", scanAdmission,
		"SELECT "+admissionColumns+` FROM ?
		ORDER BY a.company_id, a.order_number, a.line`,
		keyedRows{table: "ticketing_admissions a", set: newSet("company_id, order_number", orders,
			func(o driver.OrderNumber) []any { return []any{o.CompanyID, o.Number} })})
}

// Admissions finds sold admissions.
func (s *session) Admissions(
	ctx context.Context, refs []driver.AdmissionRef,
) ([]driver.Admission, error) {
	return s.admissions(ctx, "Admissions", refs, false)
}

func (s *session) admissions(
	ctx context.Context, name string, refs []driver.AdmissionRef, lock bool,
) ([]driver.Admission, error) {
	return findByRefs(refs, admissionRef,
		func(refs []driver.AdmissionRef) ([]driver.Admission, error) {
			return query(ctx, s, name, scanAdmission,
				"SELECT "+admissionColumns+" FROM ?",
				keyedRows{table: "ticketing_admissions a", lock: lock, set: newSet("company_id, id", refs,
					func(r driver.AdmissionRef) []any { return []any{r.CompanyID, r.ID} })})
		})
}

// AppendAdmissions inserts admissions as they are sold.
func (tx *transaction) AppendAdmissions(ctx context.Context, admissions []driver.Admission) error {
	return inParts(admissions, func(admissions []driver.Admission) error {
		return tx.insert(ctx, "AppendAdmissions", "ticketing_admissions", newSet(
			`company_id, order_number, line, id, line_id, order_id, event_id, tier, batch, title, unit_price, voided,
			validation_id, validated_at, location`,
			admissions, func(a driver.Admission) []any {
				return []any{
					a.CompanyID, a.OrderNumber, a.Line, a.ID, a.LineID, a.OrderID, a.EventID, a.Tier, a.Batch,
					a.Title, int64(a.UnitPrice), a.Voided, optional(a.ValidationID), a.ValidatedAt, a.Location,
				}
			}))
	})
}

// LockAdmissions reads admissions and locks them against other writers.
func (tx *transaction) LockAdmissions(
	ctx context.Context, refs []driver.AdmissionRef,
) ([]driver.Admission, error) {
	return tx.admissions(ctx, "LockAdmissions", refs, true)
}

// UpdateAdmissions writes the validation and Voided of admissions that were locked.
func (tx *transaction) UpdateAdmissions(ctx context.Context, admissions []driver.Admission) error {
	return inParts(lastChanges(admissions, admissionRef), func(admissions []driver.Admission) error {
		return tx.update(ctx, "UpdateAdmissions", "ticketing_admissions", 2, newSet(
			"company_id, id, voided, validation_id, validated_at, location",
			admissions, func(a driver.Admission) []any {
				return []any{a.CompanyID, a.ID, a.Voided, optional(a.ValidationID), a.ValidatedAt, a.Location}
			}))
	})
}
