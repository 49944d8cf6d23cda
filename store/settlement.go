package store

import (
	"context"
	"database/sql"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

const settlementColumns = `company_id, number, id, amount, status, bank_account, reason, requested_at, decided_at,
	refund_sequence`

func scanSettlement(row *sql.Rows, s *driver.Settlement) error {
	return row.Scan((*id)(&s.CompanyID), &s.Number, (*id)(&s.ID), (*int64)(&s.Amount), (*string)(&s.Status),
		&s.BankAccount, &s.Reason, (*moment)(&s.RequestedAt), (*moment)(&s.DecidedAt), &s.RefundSequence)
}

// Settlements finds settlements by their ids.
func (s *session) Settlements(
	ctx context.Context, refs []driver.SettlementRef,
) ([]driver.Settlement, error) {
	return lookUp(refs,
		func(s driver.Settlement) driver.SettlementRef {
			return driver.SettlementRef{CompanyID: s.CompanyID, ID: s.ID}
		},
		func(refs []driver.SettlementRef) ([]driver.Settlement, error) {
			return query(ctx, s, "Settlements", scanSettlement,
				"SELECT "+settlementColumns+" FROM ?",
				found{table: "ticketing_settlements s", set: of("company_id, id", refs,
					func(r driver.SettlementRef) []any { return []any{r.CompanyID, r.ID} })})
		})
}

// FindSettlement finds a settlement by its id alone.
func (s *session) FindSettlement(ctx context.Context, id uuid.UUID) (driver.Settlement, error) {
	return one(query(ctx, s, "FindSettlement", scanSettlement,
		"SELECT "+settlementColumns+" FROM ticketing_settlements WHERE id = ? LIMIT 1", id))
}

// OpenSettlement finds the company's open settlement. The condition is that of its unique index.
func (s *session) OpenSettlement(ctx context.Context, companyID uuid.UUID) (driver.Settlement, error) {
	return one(query(ctx, s, "OpenSettlement", scanSettlement,
		"SELECT "+settlementColumns+" FROM ticketing_settlements"+s.store.engine.useIndex("ticketing_settlements_company_id_idx")+`
		WHERE company_id = ? AND status IN ('PENDING', 'PROCESSING', 'APPROVED') LIMIT 1`, companyID))
}

// ListSettlements returns a page of a company's settlements, highest or lowest number first.
func (s *session) ListSettlements(
	ctx context.Context, ask driver.SettlementQuery,
) ([]driver.Settlement, error) {
	where, order, args := " WHERE company_id = ?", " ORDER BY number DESC LIMIT ?", []any{ask.CompanyID}
	switch {
	case ask.OldestFirst:
		where, order = where+" AND number > ?", " ORDER BY number LIMIT ?"
		args = append(args, ask.After)
	case ask.After > 0:
		where += " AND number < ?"
		args = append(args, ask.After)
	}
	return query(ctx, s, "ListSettlements", scanSettlement,
		"SELECT "+settlementColumns+" FROM ticketing_settlements"+where+order, append(args, max(ask.Limit, 0))...)
}

// CreateSettlement inserts a settlement.
func (tx *transaction) CreateSettlement(ctx context.Context, s driver.Settlement) error {
	return tx.exec(ctx, "CreateSettlement",
		"INSERT INTO ticketing_settlements ("+settlementColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		s.CompanyID, s.Number, s.ID, int64(s.Amount), string(s.Status), s.BankAccount, s.Reason, s.RequestedAt,
		s.DecidedAt, s.RefundSequence)
}

// LockSettlement reads a settlement and locks it against other writers.
func (tx *transaction) LockSettlement(
	ctx context.Context, ref driver.SettlementRef,
) (driver.Settlement, error) {
	return one(query(ctx, &tx.session, "LockSettlement", scanSettlement,
		"SELECT "+settlementColumns+" FROM ticketing_settlements WHERE company_id = ? AND id = ?"+
			tx.store.engine.rowLock(), ref.CompanyID, ref.ID))
}

// UpdateSettlement writes the status, the reason, the time of decision and the sequence of the refund of a locked
// settlement.
func (tx *transaction) UpdateSettlement(ctx context.Context, s driver.Settlement) error {
	return tx.changed(ctx, "UpdateSettlement",
		`UPDATE ticketing_settlements SET status = ?, reason = ?, decided_at = ?, refund_sequence = ?
		WHERE company_id = ? AND id = ?`,
		string(s.Status), s.Reason, s.DecidedAt, s.RefundSequence, s.CompanyID, s.ID)
}
