package store

import (
	"context"
	"time"

	"github.com/google/uuid"

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
	inserted := 2
	if len(admissions) > 0 && admissions[0].OrderID != admissions[len(admissions)-1].OrderID {
		inserted = 0 // They are of several sales.
	}
	return insertRecords(ctx, tx, "AppendAdmissions", "ticketing_admissions", []column[driver.Admission]{
		idColumn("company_id", func(a *driver.Admission) uuid.UUID { return a.CompanyID }),
		numberColumn("order_number", func(a *driver.Admission) int64 { return a.OrderNumber }),
		numberColumn("line", func(a *driver.Admission) int64 { return int64(a.Line) }),
		idColumn("id", func(a *driver.Admission) uuid.UUID { return a.ID }),
		idColumn("line_id", func(a *driver.Admission) uuid.UUID { return a.LineID }),
		idColumn("order_id", func(a *driver.Admission) uuid.UUID { return a.OrderID }),
		idColumn("event_id", func(a *driver.Admission) uuid.UUID { return a.EventID }),
		textColumn("tier", func(a *driver.Admission) string { return a.Tier }),
		numberColumn("batch", func(a *driver.Admission) int64 { return int64(a.Batch) }),
		textColumn("title", func(a *driver.Admission) string { return a.Title }),
		numberColumn("unit_price", func(a *driver.Admission) int64 { return int64(a.UnitPrice) }),
		boolColumn("voided", func(a *driver.Admission) bool { return a.Voided }),
		optionalColumn("validation_id", func(a *driver.Admission) uuid.UUID { return a.ValidationID }),
		timeColumn("validated_at", func(a *driver.Admission) time.Time { return a.ValidatedAt }),
		textColumn("location", func(a *driver.Admission) string { return a.Location }),
	}, admissions, inserted)
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
