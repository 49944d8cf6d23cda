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
		"SELECT "+admissionColumns+` FROM ticketing_admissions a
		WHERE (a.company_id, a.order_number) IN (VALUES ?) ORDER BY a.company_id, a.order_number, a.line`,
		rows(orders, func(o ticketing.OrderNumber) []any { return []any{o.CompanyID, o.Number} }))
}

// Admissions finds sold admissions.
func (s *session) Admissions(
	ctx context.Context, refs []ticketing.AdmissionRef,
) ([]ticketing.AdmissionRecord, error) {
	return s.admissions(ctx, "Admissions", refs, "")
}

func (s *session) admissions(
	ctx context.Context, name string, refs []ticketing.AdmissionRef, lock string,
) ([]ticketing.AdmissionRecord, error) {
	return lookUp(refs, admissionRef,
		func(refs []ticketing.AdmissionRef) ([]ticketing.AdmissionRecord, error) {
			return query(ctx, s, name, scanAdmission,
				"SELECT "+admissionColumns+" FROM ticketing_admissions a WHERE (a.id, a.company_id) IN (VALUES ?)"+lock,
				rows(refs, func(r ticketing.AdmissionRef) []any { return []any{r.ID, r.CompanyID} }))
		})
}

// AppendAdmissions keeps admissions as they are sold.
func (tx *transaction) AppendAdmissions(ctx context.Context, admissions []ticketing.AdmissionRecord) error {
	return inParts(admissions, func(admissions []ticketing.AdmissionRecord) error {
		_, err := tx.exec(ctx, "AppendAdmissions",
			`INSERT INTO ticketing_admissions (company_id, order_number, line, id, line_id, order_id, event_id, tier,
				batch, title, unit_price, voided, validation_id, validated_at, location) VALUES ?`,
			rows(admissions, func(a ticketing.AdmissionRecord) []any {
				return []any{
					a.CompanyID, a.OrderNumber, a.Line, a.ID, a.LineID, a.OrderID, a.EventID, a.Tier, a.Batch,
					a.Title, int64(a.UnitPrice), a.Voided, optional(a.ValidationID), a.ValidatedAt, a.Location,
				}
			}))
		return err
	})
}

// LockAdmissions reads admissions and keeps other writers from them.
func (tx *transaction) LockAdmissions(
	ctx context.Context, refs []ticketing.AdmissionRef,
) ([]ticketing.AdmissionRecord, error) {
	return tx.admissions(ctx, "LockAdmissions", refs, tx.store.engine.rowLock())
}

// UpdateAdmissions keeps the validation and Voided of admissions that were locked.
func (tx *transaction) UpdateAdmissions(ctx context.Context, admissions []ticketing.AdmissionRecord) error {
	return inParts(folded(admissions, admissionRef), func(admissions []ticketing.AdmissionRecord) error {
		return tx.changed(ctx, "UpdateAdmissions", len(admissions),
			`WITH v (company_id, id, voided, validation_id, validated_at, location) AS (VALUES ?)
			UPDATE ticketing_admissions AS a
			SET voided = v.voided, validation_id = v.validation_id, validated_at = v.validated_at, location = v.location
			FROM v WHERE a.company_id = v.company_id AND a.id = v.id`,
			rows(admissions, func(a ticketing.AdmissionRecord) []any {
				return []any{a.CompanyID, a.ID, a.Voided, optional(a.ValidationID), a.ValidatedAt, a.Location}
			}))
	})
}
