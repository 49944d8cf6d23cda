package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/money"
)

type settlementModel struct {
	bun.BaseModel `bun:"table:ticketing_settlements,alias:s"`
	settlementFields
}

// settlementFields are found by company and id, which are unique as well as company and number.
type settlementFields struct {
	CompanyID      uuid.UUID `bun:",pk"`
	Number         int64
	ID             uuid.UUID `bun:",pk"`
	Amount         money.Amount
	Status         driver.SettlementStatus
	BankAccount    int64
	Reason         string
	RequestedAt    time.Time
	DecidedAt      time.Time
	RefundSequence int64
}

func (m settlementModel) record() driver.Settlement { return driver.Settlement(m.settlementFields) }

const settlementColumns = `company_id, number, id, amount, status, bank_account, reason, requested_at, decided_at,
	refund_sequence`

func scanSettlement(row rowSet, s *driver.Settlement) error {
	return row.Scan((*id)(&s.CompanyID), &s.Number, (*id)(&s.ID), (*int64)(&s.Amount), (*string)(&s.Status),
		&s.BankAccount, &s.Reason, (*moment)(&s.RequestedAt), (*moment)(&s.DecidedAt), &s.RefundSequence)
}

// Settlements finds settlements by their ids.
func (s *session) Settlements(
	ctx context.Context, refs []driver.SettlementRef,
) ([]driver.Settlement, error) {
	return findByRefs(refs,
		func(s driver.Settlement) driver.SettlementRef {
			return driver.SettlementRef{CompanyID: s.CompanyID, ID: s.ID}
		},
		func(refs []driver.SettlementRef) ([]driver.Settlement, error) {
			return query(ctx, s, "Settlements", scanSettlement, "SELECT "+settlementColumns+" FROM ?",
				keyedRows{table: "ticketing_settlements s", set: newSet("company_id, id", refs,
					func(r driver.SettlementRef) []any { return []any{r.CompanyID, r.ID} })})
		})
}

// FindSettlement finds a settlement by its id alone.
func (s *session) FindSettlement(ctx context.Context, settlement uuid.UUID) (driver.Settlement, error) {
	return firstRow(find(ctx, s, "FindSettlement", settlementModel.record,
		s.newSelect().Where("id = ?", id(settlement)).Limit(1)))
}

// OpenSettlement finds the company's open settlement. The condition is that of its unique index.
func (s *session) OpenSettlement(ctx context.Context, companyID uuid.UUID) (driver.Settlement, error) {
	return firstRow(find(ctx, s, "OpenSettlement", settlementModel.record, s.newSelect().
		ModelTableExpr("ticketing_settlements AS s"+s.store.engine.traits().useIndex("ticketing_settlements_company_id_idx")).
		Where("company_id = ?", id(companyID)).Where("status IN ('PENDING', 'PROCESSING', 'APPROVED')").Limit(1)))
}

// ListOpenSettlements returns the open settlements of all companies after a position, oldest first.
func (s *session) ListOpenSettlements(
	ctx context.Context, after driver.Position, limit int,
) ([]driver.Settlement, error) {
	return find(ctx, s, "ListOpenSettlements", settlementModel.record, s.newSelect().
		ModelTableExpr("ticketing_settlements AS s"+s.store.engine.traits().useIndex("ticketing_settlements_open")).
		Where("status IN ('PENDING', 'PROCESSING', 'APPROVED')").
		Where("(requested_at, company_id) > (?, ?)", integer(after.At.UnixMilli()), id(after.ID)).
		Apply(page("requested_at, company_id", limit)))
}

// ListSettlements returns a page of a company's settlements, highest or lowest number first.
func (s *session) ListSettlements(
	ctx context.Context, ask driver.SettlementQuery,
) ([]driver.Settlement, error) {
	query := s.newSelect().Where("company_id = ?", id(ask.CompanyID))
	switch {
	case ask.OldestFirst:
		query.Where("number > ?", integer(ask.After)).Apply(page("number", ask.Limit))
	case ask.After > 0:
		query.Where("number < ?", integer(ask.After)).Apply(page("number DESC", ask.Limit))
	default:
		query.Apply(page("number DESC", ask.Limit))
	}
	return find(ctx, s, "ListSettlements", settlementModel.record, query)
}

// CreateSettlement inserts a settlement.
func (tx *transaction) CreateSettlement(ctx context.Context, s driver.Settlement) error {
	return tx.create(ctx, "CreateSettlement", &settlementModel{settlementFields: settlementFields(s)})
}

// LockSettlement reads a settlement and locks it against other writers.
func (tx *transaction) LockSettlement(
	ctx context.Context, ref driver.SettlementRef,
) (driver.Settlement, error) {
	return firstRow(find(ctx, &tx.session, "LockSettlement", settlementModel.record, tx.newSelect().
		Where("company_id = ?", id(ref.CompanyID)).Where("id = ?", id(ref.ID)).Apply(tx.locked)))
}

// UpdateSettlement writes the status, the reason, the time of decision and the sequence of the refund of a locked
// settlement.
func (tx *transaction) UpdateSettlement(ctx context.Context, s driver.Settlement) error {
	return tx.save(ctx, "UpdateSettlement", &settlementModel{settlementFields: settlementFields(s)},
		"status", "reason", "decided_at", "refund_sequence")
}
