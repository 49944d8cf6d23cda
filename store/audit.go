package store

import (
	"context"
	"database/sql"
	"math"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

const auditColumns = "company_id, at, id, actor, action, subject, changes"

func scanAudit(row *sql.Rows, a *driver.AuditEntry) error {
	return row.Scan((*id)(&a.CompanyID), (*moment)(&a.At), (*id)(&a.ID), &a.Actor, &a.Action, &a.Subject, &a.Changes)
}

// ListAudit returns audit records, latest first, those of one time by descending id.
func (s *session) ListAudit(ctx context.Context, ask driver.AuditQuery) ([]driver.AuditEntry, error) {
	where, args := "(at, id) < (?, ?)", []any{ask.After.At.UnixMilli(), ask.After.ID}
	if ask.After == (driver.Position{}) {
		args = []any{int64(math.MaxInt64), uuid.Max}
	}
	if ask.CompanyID != uuid.Nil {
		where, args = "company_id = ? AND "+where, append([]any{ask.CompanyID}, args...)
	}
	return query(ctx, s, "ListAudit", scanAudit,
		"SELECT "+auditColumns+" FROM ticketing_audit_entries WHERE "+where+" ORDER BY at DESC, id DESC LIMIT ?",
		append(args, max(ask.Limit, 0))...)
}

// AppendAudit inserts audit records. A trigger refuses to change or remove one.
func (tx *transaction) AppendAudit(ctx context.Context, acts []driver.AuditEntry) error {
	return inParts(acts, func(acts []driver.AuditEntry) error {
		return tx.insert(ctx, "AppendAudit", "ticketing_audit_entries", of(auditColumns,
			acts, func(a driver.AuditEntry) []any {
				return []any{a.CompanyID, a.At.UnixMilli(), a.ID, a.Actor, a.Action, a.Subject, a.Changes}
			}))
	})
}
