package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/floatgate/ticketing"
)

func (o *orders) admission(ref ticketing.AdmissionRef) ticketing.AdmissionRecord {
	return o.admissions[ref]
}

// linesOf are the admissions of an order, in the order of its lines.
func (o *orders) linesOf(number ticketing.OrderNumber) []ticketing.AdmissionRecord {
	of, ok := o.lines[number]
	if !ok {
		return nil
	}
	return each(of.keys, func(l line) ticketing.AdmissionRecord {
		return o.admission(ticketing.AdmissionRef{CompanyID: number.CompanyID, ID: l.admission})
	})
}

func (r reading) OrderLines(
	ctx context.Context, orders []ticketing.OrderNumber,
) ([]ticketing.AdmissionRecord, error) {
	orders = slices.Clone(orders)
	slices.SortFunc(orders, func(a, b ticketing.OrderNumber) int {
		return cmp.Or(compareIDs(a.CompanyID, b.CompanyID), cmp.Compare(a.Number, b.Number))
	})
	orders = slices.Compact(orders)
	return ask(ctx, r, func(s *state) []ticketing.AdmissionRecord {
		return slices.Concat(each(orders, s.orders.linesOf)...)
	})
}

func (r reading) Admissions(
	ctx context.Context, refs []ticketing.AdmissionRef,
) ([]ticketing.AdmissionRecord, error) {
	return ask(ctx, r, func(s *state) []ticketing.AdmissionRecord { return each(refs, s.orders.admission) })
}

// LockAdmissions reads admissions: their writer is alone.
func (tx *updating) LockAdmissions(
	ctx context.Context, refs []ticketing.AdmissionRef,
) ([]ticketing.AdmissionRecord, error) {
	return tx.Admissions(ctx, refs)
}

func (tx *updating) AppendAdmissions(ctx context.Context, admissions []ticketing.AdmissionRecord) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		for _, admission := range admissions {
			admission.ValidatedAt = moment(admission.ValidatedAt)
			if err := s.orders.admit(u, admission); err != nil {
				return err
			}
			event := ticketing.EventRef{CompanyID: admission.CompanyID, ID: admission.EventID}
			if of := s.inventory.find(event, admission.Tier); of != nil {
				set(u, &of.admissions, of.admissions+1)
			}
		}
		return nil
	})
}

func (o *orders) admit(u *undo, admission ticketing.AdmissionRecord) error {
	ref := ticketing.AdmissionRef{CompanyID: admission.CompanyID, ID: admission.ID}
	if err := create(u, o.admissions, ref, admission, "admissions_id_key"); err != nil {
		return err
	}
	order := ticketing.OrderNumber{CompanyID: admission.CompanyID, Number: admission.OrderNumber}
	lines := need(o.lines, order, newLines)
	at := line{admission.Line, admission.ID}
	if _, taken := lines.search(at); taken {
		return broken("admissions_pkey")
	}
	lines.add(u, at)
	numbers := need(o.withLines, admission.CompanyID, newNumbers)
	if _, known := numbers.search(admission.OrderNumber); !known {
		numbers.add(u, admission.OrderNumber)
	}
	return nil
}

func (tx *updating) UpdateAdmissions(ctx context.Context, admissions []ticketing.AdmissionRecord) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		for _, admission := range admissions {
			ref := ticketing.AdmissionRef{CompanyID: admission.CompanyID, ID: admission.ID}
			kept, ok := s.orders.admissions[ref]
			if !ok {
				return ticketing.ErrNotFound
			}
			kept.Voided, kept.ValidationID = admission.Voided, admission.ValidationID
			kept.ValidatedAt, kept.Location = moment(admission.ValidatedAt), admission.Location
			put(u, s.orders.admissions, ref, kept)
		}
		return nil
	})
}

func (r reading) Buyers(ctx context.Context, refs []ticketing.BuyerRef) ([]ticketing.BuyerRecord, error) {
	return ask(ctx, r, func(s *state) []ticketing.BuyerRecord {
		return each(refs, func(ref ticketing.BuyerRef) ticketing.BuyerRecord { return s.orders.buyers[ref] })
	})
}

func (tx *updating) PutBuyers(ctx context.Context, buyers []ticketing.BuyerRecord) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		for _, buyer := range buyers {
			buyer.CreatedAt, buyer.UpdatedAt = moment(buyer.CreatedAt), moment(buyer.UpdatedAt)
			ref := ticketing.BuyerRef{CompanyID: buyer.CompanyID, Email: buyer.Email}
			if known, ok := s.orders.buyers[ref]; ok {
				buyer.CreatedAt = known.CreatedAt
			}
			put(u, s.orders.buyers, ref, buyer)
		}
		return nil
	})
}
