package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/floatgate/ticketing/driver"
)

func (o *orders) admission(ref driver.AdmissionRef) driver.Admission {
	return o.admissions[ref]
}

// linesOf returns the admissions of an order, in the order of its lines.
func (o *orders) linesOf(number driver.OrderNumber) []driver.Admission {
	of, ok := o.lines[number]
	if !ok {
		return nil
	}
	return each(of.keys, func(l line) driver.Admission {
		return o.admission(driver.AdmissionRef{CompanyID: number.CompanyID, ID: l.admission})
	})
}

func (r reading) OrderLines(
	ctx context.Context, orders []driver.OrderNumber,
) ([]driver.Admission, error) {
	orders = slices.Clone(orders)
	slices.SortFunc(orders, func(a, b driver.OrderNumber) int {
		return cmp.Or(compareIDs(a.CompanyID, b.CompanyID), cmp.Compare(a.Number, b.Number))
	})
	orders = slices.Compact(orders)
	return ask(ctx, r, func(s *state) []driver.Admission {
		return slices.Concat(each(orders, s.orders.linesOf)...)
	})
}

func (r reading) Admissions(
	ctx context.Context, refs []driver.AdmissionRef,
) ([]driver.Admission, error) {
	return ask(ctx, r, func(s *state) []driver.Admission { return each(refs, s.orders.admission) })
}

// LockAdmissions only reads admissions, because there is no other writer.
func (tx *updating) LockAdmissions(
	ctx context.Context, refs []driver.AdmissionRef,
) ([]driver.Admission, error) {
	return tx.Admissions(ctx, refs)
}

func (tx *updating) AppendAdmissions(ctx context.Context, admissions []driver.Admission) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		for _, admission := range admissions {
			admission.ValidatedAt = moment(admission.ValidatedAt)
			if err := s.orders.admit(u, admission); err != nil {
				return err
			}
			event := driver.EventRef{CompanyID: admission.CompanyID, ID: admission.EventID}
			if of := s.inventory.find(event, admission.Tier); of != nil {
				set(u, &of.admissions, of.admissions+1)
			}
		}
		return nil
	})
}

func (o *orders) admit(u *undo, admission driver.Admission) error {
	ref := driver.AdmissionRef{CompanyID: admission.CompanyID, ID: admission.ID}
	if err := create(u, o.admissions, ref, admission, "admissions_id_key"); err != nil {
		return err
	}
	order := driver.OrderNumber{CompanyID: admission.CompanyID, Number: admission.OrderNumber}
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

func (tx *updating) UpdateAdmissions(ctx context.Context, admissions []driver.Admission) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		for _, admission := range admissions {
			ref := driver.AdmissionRef{CompanyID: admission.CompanyID, ID: admission.ID}
			kept, ok := s.orders.admissions[ref]
			if !ok {
				return driver.ErrNotFound
			}
			kept.Voided, kept.ValidationID = admission.Voided, admission.ValidationID
			kept.ValidatedAt, kept.Location = moment(admission.ValidatedAt), admission.Location
			put(u, s.orders.admissions, ref, kept)
		}
		return nil
	})
}

func (r reading) Buyers(ctx context.Context, refs []driver.BuyerRef) ([]driver.Buyer, error) {
	return ask(ctx, r, func(s *state) []driver.Buyer {
		return each(refs, func(ref driver.BuyerRef) driver.Buyer { return s.orders.buyers[ref] })
	})
}

func (tx *updating) PutBuyers(ctx context.Context, buyers []driver.Buyer) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		for _, buyer := range buyers {
			buyer.CreatedAt, buyer.UpdatedAt = moment(buyer.CreatedAt), moment(buyer.UpdatedAt)
			ref := driver.BuyerRef{CompanyID: buyer.CompanyID, Email: buyer.Email}
			if known, ok := s.orders.buyers[ref]; ok {
				buyer.CreatedAt = known.CreatedAt
			}
			put(u, s.orders.buyers, ref, buyer)
		}
		return nil
	})
}
