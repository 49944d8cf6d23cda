package memory

import (
	"cmp"
	"context"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

type settlements struct {
	byID      map[uuid.UUID]ticketing.SettlementRecord
	ofCompany map[uuid.UUID]*settlementList
}

// settlementList are a company's settlements by number, and the one that is open.
type settlementList struct {
	numbers *index[int64]
	ids     map[int64]uuid.UUID
	open    uuid.UUID
}

func newSettlements() settlements {
	return settlements{
		byID:      make(map[uuid.UUID]ticketing.SettlementRecord),
		ofCompany: make(map[uuid.UUID]*settlementList),
	}
}

func newSettlementList() *settlementList {
	return &settlementList{numbers: newIndex(cmp.Compare[int64]), ids: make(map[int64]uuid.UUID)}
}

func openSettlement(status ticketing.SettlementStatus) bool {
	switch status {
	case ticketing.SettlementPending, ticketing.SettlementProcessing, ticketing.SettlementApproved:
		return true
	case ticketing.SettlementCompleted, ticketing.SettlementRejected, ticketing.SettlementFailed:
	}
	return false
}

func (s *settlements) find(ref ticketing.SettlementRef) ticketing.SettlementRecord {
	if found := s.byID[ref.ID]; found.CompanyID == ref.CompanyID {
		return found
	}
	return ticketing.SettlementRecord{}
}

func (s *settlements) list(query ticketing.SettlementQuery) []ticketing.SettlementRecord {
	of, ok := s.ofCompany[query.CompanyID]
	if !ok {
		return nil
	}
	var numbers []int64
	switch {
	case query.OldestFirst:
		numbers = of.numbers.after(query.Beyond, query.Limit)
	case query.Beyond > 0:
		numbers = last([][]int64{of.numbers.below(query.Beyond)}, query.Limit, cmp.Compare[int64])
	default:
		numbers = last([][]int64{of.numbers.keys}, query.Limit, cmp.Compare[int64])
	}
	return each(numbers, func(number int64) ticketing.SettlementRecord { return s.byID[of.ids[number]] })
}

func (r reading) Settlements(
	ctx context.Context, refs []ticketing.SettlementRef,
) ([]ticketing.SettlementRecord, error) {
	return ask(ctx, r, func(s *state) []ticketing.SettlementRecord { return each(refs, s.settlements.find) })
}

func (r reading) FindSettlement(ctx context.Context, id uuid.UUID) (ticketing.SettlementRecord, error) {
	return ask(ctx, r, func(s *state) ticketing.SettlementRecord { return s.settlements.byID[id] })
}

func (r reading) OpenSettlement(ctx context.Context, companyID uuid.UUID) (ticketing.SettlementRecord, error) {
	return ask(ctx, r, func(s *state) ticketing.SettlementRecord {
		of, ok := s.settlements.ofCompany[companyID]
		if !ok {
			return ticketing.SettlementRecord{}
		}
		return s.settlements.byID[of.open]
	})
}

func (r reading) ListSettlements(
	ctx context.Context, query ticketing.SettlementQuery,
) ([]ticketing.SettlementRecord, error) {
	return ask(ctx, r, func(s *state) []ticketing.SettlementRecord { return s.settlements.list(query) })
}

func (tx *updating) CreateSettlement(ctx context.Context, settlement ticketing.SettlementRecord) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		settlement.RequestedAt, settlement.DecidedAt = moment(settlement.RequestedAt), moment(settlement.DecidedAt)
		of := need(s.settlements.ofCompany, settlement.CompanyID, newSettlementList)
		if err := create(u, of.ids, settlement.Number, settlement.ID, "settlements_pkey"); err != nil {
			return err
		}
		of.numbers.add(u, settlement.Number)
		if err := create(u, s.settlements.byID, settlement.ID, settlement, "settlements_id_key"); err != nil {
			return err
		}
		return of.follow(u, settlement)
	})
}

// follow keeps which settlement is open, and how many there may be.
func (l *settlementList) follow(u *undo, settlement ticketing.SettlementRecord) error {
	refunded := settlement.Status == ticketing.SettlementRejected || settlement.Status == ticketing.SettlementFailed
	given := refunded && settlement.RefundSequence > settlement.Number
	if err := check(settlement.RefundSequence == 0 || given, "settlements_refund_check"); err != nil {
		return err
	}
	if err := check(settlement.Amount >= 1, "settlements_amount_check"); err != nil {
		return err
	}
	switch open := openSettlement(settlement.Status); {
	case open && l.open == uuid.Nil:
		set(u, &l.open, settlement.ID)
	case open && l.open != settlement.ID:
		return broken("settlements_company_id_key")
	case !open && l.open == settlement.ID:
		set(u, &l.open, uuid.Nil)
	}
	return nil
}

// LockSettlement reads a settlement: its writer is alone.
func (tx *updating) LockSettlement(
	ctx context.Context, ref ticketing.SettlementRef,
) (ticketing.SettlementRecord, error) {
	return ask(ctx, tx.reading, func(s *state) ticketing.SettlementRecord { return s.settlements.find(ref) })
}

func (tx *updating) UpdateSettlement(ctx context.Context, settlement ticketing.SettlementRecord) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		kept := s.settlements.find(ticketing.SettlementRef{CompanyID: settlement.CompanyID, ID: settlement.ID})
		if kept.ID == uuid.Nil {
			return ticketing.ErrNotFound
		}
		kept.Status, kept.Reason, kept.DecidedAt = settlement.Status, settlement.Reason, moment(settlement.DecidedAt)
		kept.RefundSequence = settlement.RefundSequence
		put(u, s.settlements.byID, kept.ID, kept)
		return s.settlements.ofCompany[kept.CompanyID].follow(u, kept)
	})
}
