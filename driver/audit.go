package driver

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// AuditEntry is an action as a store keeps it. It never changes. Entries are ordered by time, then id.
type AuditEntry struct {
	CompanyID uuid.UUID // zero: the action was about no company
	// UserID is the user whose node keeps an action about no company, on a store of several nodes. Zero: none. It is
	// zero for an action about a company.
	UserID  uuid.UUID
	At      time.Time
	ID      uuid.UUID
	Actor   string
	Action  string
	Subject string
	Changes string // a JSON object
}

// AuditQuery selects a part of the audit log, newest first.
type AuditQuery struct {
	CompanyID uuid.UUID // zero: actions about any company, and about none
	Actor     string    // empty: of every actor
	Action    string    // empty: every action
	Since     time.Time // then or later; zero: from the beginning
	Until     time.Time // before; zero: to the end
	After     Position  // zero: from the newest
	Limit     int
}

// AuditReader reads the audit log.
type AuditReader interface {
	// ListAudit returns actions of the audit log, newest first; actions of the same time are ordered by id, highest first.
	// It reads no more actions than it returns, whatever the query selects by.
	ListAudit(ctx context.Context, query AuditQuery) ([]AuditEntry, error)
	// FindAuditEntry finds an action by its id alone. It returns the zero record where there is none.
	FindAuditEntry(ctx context.Context, id uuid.UUID) (AuditEntry, error)
	// NewestAudit returns the position of the newest action about each company, in the order of the companies, or the zero
	// position where there is none. It reads one action for each of them.
	NewestAudit(ctx context.Context, companies []uuid.UUID) ([]Position, error)
}

// AuditWriter writes the audit log.
type AuditWriter interface {
	// AppendAudit keeps actions in the audit log. They can never be changed or removed.
	AppendAudit(ctx context.Context, entries []AuditEntry) error
}
