package driver

import (
	"time"

	"github.com/google/uuid"
)

// AuditEntry is an action as a store keeps it. It never changes.
//
// Records are ordered by time, then id.
type AuditEntry struct {
	CompanyID uuid.UUID // zero: it was about no company
	At        time.Time
	ID        uuid.UUID
	Actor     string
	Action    string
	Subject   string
	Changes   string // a JSON object
}

// AuditQuery selects a part of the audit log, newest first.
type AuditQuery struct {
	CompanyID uuid.UUID // zero: actions about any company, and about none
	After     Position  // zero: from the newest
	Limit     int
}
