package memory

import (
	"cmp"
	"context"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

type settlements struct {
	byID      map[uuid.UUID]driver.Settlement
	ofCompany map[uuid.UUID]*settlementList
	open      *index[driver.Position] // the open settlements of all companies, by the time of request and the company
}

// settlementList holds a company's settlements by number, and the open one.
type settlementList struct {
	numbers *index[int64]
	ids     map[int64]uuid.UUID
	open    uuid.UUID
}

func newSettlements() settlements {
	return settlements{
		byID:      make(map[uuid.UUID]driver.Settlement),
		ofCompany: make(map[uuid.UUID]*settlementList),
		open:      newIndex(comparePositions),
	}
}

func newSettlementList() *settlementList {
	return &settlementList{numbers: newIndex(cmp.Compare[int64]), ids: make(map[int64]uuid.UUID)}
}

func openSettlement(status driver.SettlementStatus) bool {
	switch status {
	case driver.SettlementPending, driver.SettlementProcessing, driver.SettlementApproved:
		return true
	case driver.SettlementCompleted, driver.SettlementRejected, driver.SettlementFailed:
	}
	return false
}

func (s *settlements) find(ref driver.SettlementRef) driver.Settlement {
	if found := s.byID[ref.ID]; found.CompanyID == ref.CompanyID {
		return found
	}
	return driver.Settlement{}
}

func (s *settlements) list(query driver.SettlementQuery) []driver.Settlement {
	of, ok := s.ofCompany[query.CompanyID]
	if !ok {
		return nil
	}
	var numbers []int64
	switch {
	case query.OldestFirst:
		numbers = of.numbers.after(query.After, query.Limit)
	case query.After > 0:
		numbers = last([][]int64{of.numbers.below(query.After)}, query.Limit, cmp.Compare[int64])
	default:
		numbers = last([][]int64{of.numbers.keys}, query.Limit, cmp.Compare[int64])
	}
	return each(numbers, func(number int64) driver.Settlement { return s.byID[of.ids[number]] })
}

func (r reading) Settlements(
	ctx context.Context, refs []driver.SettlementRef,
) ([]driver.Settlement, error) {
	return ask(ctx, r, func(s *state) []driver.Settlement { return each(refs, s.settlements.find) })
}

func (r reading) FindSettlement(ctx context.Context, id uuid.UUID) (driver.Settlement, error) {
	return ask(ctx, r, func(s *state) driver.Settlement { return s.settlements.byID[id] })
}

func (r reading) OpenSettlement(ctx context.Context, companyID uuid.UUID) (driver.Settlement, error) {
	return ask(ctx, r, func(s *state) driver.Settlement {
		of, ok := s.settlements.ofCompany[companyID]
		if !ok {
			return driver.Settlement{}
		}
		return s.settlements.byID[of.open]
	})
}

func (r reading) ListSettlements(
	ctx context.Context, query driver.SettlementQuery,
) ([]driver.Settlement, error) {
	return ask(ctx, r, func(s *state) []driver.Settlement { return s.settlements.list(query) })
}

func (r reading) ListOpenSettlements(
	ctx context.Context, after driver.Position, limit int,
) ([]driver.Settlement, error) {
	return ask(ctx, r, func(s *state) []driver.Settlement {
		return each(s.settlements.open.after(after, limit), func(place driver.Position) driver.Settlement {
			return s.settlements.byID[s.settlements.ofCompany[place.ID].open]
		})
	})
}

func (tx *updating) CreateSettlement(ctx context.Context, settlement driver.Settlement) error {
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
		return of.follow(u, settlement, s.settlements.open)
	})
}

// follow checks a settlement and updates which one is open, also in the list of all companies. At most one may be open.
func (l *settlementList) follow(u *undo, settlement driver.Settlement, all *index[driver.Position]) error {
	place := driver.Position{At: settlement.RequestedAt, ID: settlement.CompanyID}
	refunded := settlement.Status == driver.SettlementRejected || settlement.Status == driver.SettlementFailed
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
		all.add(u, place)
	case open && l.open != settlement.ID:
		return broken("settlements_company_id_key")
	case !open && l.open == settlement.ID:
		set(u, &l.open, uuid.Nil)
		all.drop(u, place)
	}
	return nil
}

// LockSettlement only reads a settlement, because there is no other writer.
func (tx *updating) LockSettlement(
	ctx context.Context, ref driver.SettlementRef,
) (driver.Settlement, error) {
	return ask(ctx, tx.reading, func(s *state) driver.Settlement { return s.settlements.find(ref) })
}

func (tx *updating) UpdateSettlement(ctx context.Context, settlement driver.Settlement) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		kept := s.settlements.find(driver.SettlementRef{CompanyID: settlement.CompanyID, ID: settlement.ID})
		if kept.ID == uuid.Nil {
			return driver.ErrNotFound
		}
		kept.Status, kept.Reason, kept.DecidedAt = settlement.Status, settlement.Reason, moment(settlement.DecidedAt)
		kept.RefundSequence = settlement.RefundSequence
		put(u, s.settlements.byID, kept.ID, kept)
		return s.settlements.ofCompany[kept.CompanyID].follow(u, kept, s.settlements.open)
	})
}
