package store

import (
	"context"
	"math"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/floatgate/ticketing/driver"
)

type auditModel struct {
	bun.BaseModel `bun:"table:ticketing_audit_entries,alias:a"`
	auditFields
}

type auditFields struct {
	CompanyID uuid.UUID
	At        time.Time
	ID        uuid.UUID
	Actor     string
	Action    string
	Subject   string
	Changes   string
}

func (m auditModel) record() driver.AuditEntry { return driver.AuditEntry(m.auditFields) }

// ListAudit returns audit records, latest first, those of one time by descending id.
func (s *session) ListAudit(ctx context.Context, ask driver.AuditQuery) ([]driver.AuditEntry, error) {
	query := s.newSelect().Apply(page("at DESC, id DESC", ask.Limit))
	if ask.CompanyID != uuid.Nil {
		query.Where("company_id = ?", id(ask.CompanyID))
	}
	if ask.After == (driver.Position{}) {
		query.Where("(at, id) < (?, ?)", integer(math.MaxInt64), id(uuid.Max))
	} else {
		query.Where("(at, id) < (?, ?)", integer(ask.After.At.UnixMilli()), id(ask.After.ID))
	}
	return find(ctx, s, "ListAudit", auditModel.record, query)
}

// AppendAudit inserts audit records. A trigger refuses to change or remove one.
func (tx *transaction) AppendAudit(ctx context.Context, entries []driver.AuditEntry) error {
	return inParts(entries, func(entries []driver.AuditEntry) error {
		models := make([]auditModel, len(entries))
		for i, entry := range entries {
			models[i].auditFields = auditFields(entry)
		}
		return tx.create(ctx, "AppendAudit", &models)
	})
}
