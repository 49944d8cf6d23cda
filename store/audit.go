package store

import (
	"context"
	"database/sql"
	"math"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

const auditColumns = "company_id, at, id, actor, action, subject, changes"

func scanAudit(row *sql.Rows, a *ticketing.AuditRecord) error {
	return row.Scan((*id)(&a.CompanyID), (*moment)(&a.At), (*id)(&a.ID), &a.Actor, &a.Action, &a.Subject, &a.Changes)
}

// ListAudit answers with acts, the latest first, of one time the highest id first.
func (s *session) ListAudit(ctx context.Context, ask ticketing.AuditQuery) ([]ticketing.AuditRecord, error) {
	where, args := "(at, id) < (?, ?)", []any{ask.Before.At.UnixMilli(), ask.Before.ID}
	if ask.Before == (ticketing.Position{}) {
		args = []any{int64(math.MaxInt64), uuid.Max}
	}
	if ask.CompanyID != uuid.Nil {
		where, args = "company_id = ? AND "+where, append([]any{ask.CompanyID}, args...)
	}
	return query(ctx, s, "ListAudit", scanAudit,
		"SELECT "+auditColumns+" FROM ticketing_audit_entries WHERE "+where+" ORDER BY at DESC, id DESC LIMIT ?",
		append(args, max(ask.Limit, 0))...)
}

// AppendAudit keeps acts. A trigger refuses to change or remove one.
func (tx *transaction) AppendAudit(ctx context.Context, acts []ticketing.AuditRecord) error {
	return inParts(acts, func(acts []ticketing.AuditRecord) error {
		return tx.insert(ctx, "AppendAudit", "ticketing_audit_entries", of(auditColumns,
			acts, func(a ticketing.AuditRecord) []any {
				return []any{a.CompanyID, a.At.UnixMilli(), a.ID, a.Actor, a.Action, a.Subject, a.Changes}
			}))
	})
}
