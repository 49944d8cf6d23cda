package ticketing

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// RecordMovementExport records in the audit log that the actor exports a list of movements as a file. The changes of
// the entry are the filter. Call it before the first row leaves the server. Its errors and its permission are those of
// [Operator.ListMovements].
func (o Operator) RecordMovementExport(ctx context.Context, companyID uuid.UUID, filter MovementFilter) error {
	if err := o.allow(PermissionWalletRead, companyID); err != nil {
		return err
	}
	var v violations
	filter = filter.check(&v)
	if err := v.err(); err != nil {
		return err
	}
	kept := exportedPeriod(filter.From, filter.To)
	kept["wallet"] = filter.Wallet
	if len(filter.Kinds) > 0 {
		kept["kinds"] = filter.Kinds
	}
	if filter.Reference != "" {
		kept["reference"] = filter.Reference
	}
	return o.recordExport(ctx, PermissionWalletRead, companyID, "movement", kept)
}

// RecordStatementExport records in the audit log that the actor exports a statement as a file, and its period. A To
// that is not later than From is INVALID_REQUEST. Call it before the first line leaves the server. It needs
// COMPANY:wallet:read.
func (o Operator) RecordStatementExport(ctx context.Context, companyID uuid.UUID, period Period) error {
	if err := o.allow(PermissionWalletRead, companyID); err != nil {
		return err
	}
	var v violations
	checkNamedPeriod(&v, "from", &period.From, "to", &period.To)
	if err := v.err(); err != nil {
		return err
	}
	return o.recordExport(ctx, PermissionWalletRead, companyID, "statement", exportedPeriod(period.From, period.To))
}

// RecordLedgerExport records in the audit log that the actor exports the signed bundle of a ledger. Call it before
// [Operator.ExportLedger] writes the bundle. It needs COMPANY:wallet:read.
func (o Operator) RecordLedgerExport(ctx context.Context, companyID uuid.UUID) error {
	return o.recordExport(ctx, PermissionWalletRead, companyID, "ledger", map[string]any{})
}

// exportedPeriod returns a period as the entry of an export keeps it.
func exportedPeriod(from, to time.Time) map[string]any {
	kept := map[string]any{}
	for name, at := range map[string]time.Time{"from": from, "to": to} {
		if !at.IsZero() {
			kept[name] = Time{Time: at}
		}
	}
	return kept
}
