package ticketing

import (
	"context"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// RecordAuditExport records in the audit log that the actor exports the log as a file. The entry belongs to the
// company, or to none for the zero id, and its changes are the filter. Call it before the first row leaves the server.
// It needs the permission of [Operator.ListAudit], and refuses the same filters.
//
// An email address that was typed as the actor may be a buyer's, so the entry records only that there was one.
func (o Operator) RecordAuditExport(ctx context.Context, companyID uuid.UUID, filter AuditFilter) error {
	permission := o.readsAudit(companyID)
	if err := o.allow(permission, companyID); err != nil {
		return err
	}
	var v violations
	filter = filter.check(&v)
	if err := v.err(); err != nil {
		return err
	}
	return o.recordExport(ctx, permission, companyID, "audit", filter.exported())
}

// exported returns the filter as the entry of an export keeps it.
func (f AuditFilter) exported() map[string]any {
	kept := map[string]any{}
	switch {
	case strings.Contains(f.Actor, "@"):
		kept["actor"] = "an address"
	case f.Actor != "":
		kept["actor"] = f.Actor
	}
	if f.Action != "" {
		kept["action"] = f.Action
	}
	for name, at := range map[string]time.Time{"since": f.Since, "until": f.Until} {
		if !at.IsZero() {
			kept[name] = Time{Time: at}
		}
	}
	return kept
}

// recordExport appends to the audit log that a list of a company is taken away as a file, or with the zero id one of
// the platform. The filter must hold nothing of a buyer, since the log outlives their erasure.
func (o Operator) recordExport(
	ctx context.Context, permission Permission, companyID uuid.UUID, list string, filter map[string]any,
) error {
	action, filtered := list+".export", changes{after: filter}
	if companyID == uuid.Nil {
		return o.updatePlatform(ctx, permission, func(ctx context.Context, tx driver.Tx, at time.Time) error {
			return o.audit(ctx, tx, at, action, uuid.Nil, "platform", filtered)
		})
	}
	return o.changeShared(ctx, permission, companyID,
		func(ctx context.Context, tx driver.Tx, at time.Time, _ *driver.Company) error {
			return o.audit(ctx, tx, at, action, companyID, about("company", companyID), filtered)
		})
}
