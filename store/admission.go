package store

import (
	"context"
	"database/sql"

	"github.com/floatgate/ticketing"
)

const admissionColumns = `a.company_id, a.order_number, a.line, a.id, a.line_id, a.order_id, a.event_id, a.tier,
	a.batch, a.title, a.unit_price, a.voided, a.validation_id, a.validated_at, a.location`

func scanAdmission(row *sql.Rows, a *ticketing.AdmissionRecord) error {
	return row.Scan((*id)(&a.CompanyID), &a.OrderNumber, &a.Line, (*id)(&a.ID), (*id)(&a.LineID), (*id)(&a.OrderID),
		(*id)(&a.EventID), &a.Tier, &a.Batch, &a.Title, (*int64)(&a.UnitPrice), &a.Voided, (*id)(&a.ValidationID),
		(*moment)(&a.ValidatedAt), &a.Location)
}

func admissionRef(a ticketing.AdmissionRecord) ticketing.AdmissionRef {
	return ticketing.AdmissionRef{CompanyID: a.CompanyID, ID: a.ID}
}

// OrderLines answers with the admissions of the orders, by company, number and line.
func (s *session) OrderLines(
	ctx context.Context, orders []ticketing.OrderNumber,
) ([]ticketing.AdmissionRecord, error) {
	if len(orders) == 0 {
		return nil, nil
	}
	return query(ctx, s, "OrderLines", scanAdmission,
		"SELECT "+admissionColumns+` FROM ?
		ORDER BY a.company_id, a.order_number, a.line`,
		found{table: "ticketing_admissions a", set: of("company_id, order_number", orders, func(o ticketing.OrderNumber) []any {
			return []any{o.CompanyID, o.Number}
		})})
}

// Admissions finds sold admissions.
func (s *session) Admissions(
	ctx context.Context, refs []ticketing.AdmissionRef,
) ([]ticketing.AdmissionRecord, error) {
	return s.admissions(ctx, "Admissions", refs, false)
}

func (s *session) admissions(
	ctx context.Context, name string, refs []ticketing.AdmissionRef, lock bool,
) ([]ticketing.AdmissionRecord, error) {
	return lookUp(refs, admissionRef,
		func(refs []ticketing.AdmissionRef) ([]ticketing.AdmissionRecord, error) {
			return query(ctx, s, name, scanAdmission,
				"SELECT "+admissionColumns+" FROM ?",
				found{table: "ticketing_admissions a", lock: lock, set: of("company_id, id", refs, func(r ticketing.AdmissionRef) []any {
					return []any{r.CompanyID, r.ID}
				})})
		})
}

// AppendAdmissions keeps admissions as they are sold.
func (tx *transaction) AppendAdmissions(ctx context.Context, admissions []ticketing.AdmissionRecord) error {
	return inParts(admissions, func(admissions []ticketing.AdmissionRecord) error {
		return tx.insert(ctx, "AppendAdmissions", "ticketing_admissions", of(
			`company_id, order_number, line, id, line_id, order_id, event_id, tier, batch, title, unit_price, voided,
			validation_id, validated_at, location`,
			admissions, func(a ticketing.AdmissionRecord) []any {
				return []any{
					a.CompanyID, a.OrderNumber, a.Line, a.ID, a.LineID, a.OrderID, a.EventID, a.Tier, a.Batch,
					a.Title, int64(a.UnitPrice), a.Voided, optional(a.ValidationID), a.ValidatedAt, a.Location,
				}
			}))
	})
}

// LockAdmissions reads admissions and keeps other writers from them.
func (tx *transaction) LockAdmissions(
	ctx context.Context, refs []ticketing.AdmissionRef,
) ([]ticketing.AdmissionRecord, error) {
	return tx.admissions(ctx, "LockAdmissions", refs, true)
}

// UpdateAdmissions keeps the validation and Voided of admissions that were locked.
func (tx *transaction) UpdateAdmissions(ctx context.Context, admissions []ticketing.AdmissionRecord) error {
	return inParts(folded(admissions, admissionRef), func(admissions []ticketing.AdmissionRecord) error {
		return tx.update(ctx, "UpdateAdmissions", "ticketing_admissions", 2, of(
			"company_id, id, voided, validation_id, validated_at, location",
			admissions, func(a ticketing.AdmissionRecord) []any {
				return []any{a.CompanyID, a.ID, a.Voided, optional(a.ValidationID), a.ValidatedAt, a.Location}
			}))
	})
}
