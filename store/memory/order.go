package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

// orders are listed by number, of a company and of an event, each whole and parted by status. Four numbers for each
// order buy pages that cost the same at any depth and under any filter.
type orders struct {
	byNumber   map[ticketing.OrderNumber]ticketing.OrderRecord
	byID       map[ticketing.OrderRef]int64
	ofCompany  map[uuid.UUID]*orderLists
	ofEvent    map[ticketing.EventRef]*orderLists
	lines      map[ticketing.OrderNumber]*index[line]
	withLines  map[uuid.UUID]*index[int64] // the numbers in lines, of a company
	admissions map[ticketing.AdmissionRef]ticketing.AdmissionRecord
	buyers     map[ticketing.BuyerRef]ticketing.BuyerRecord
}

type orderLists = lists[int64, ticketing.OrderStatus]

// line is an admission at its place in an order.
type line struct {
	number    int
	admission uuid.UUID
}

func newOrders() orders {
	return orders{
		byNumber:   make(map[ticketing.OrderNumber]ticketing.OrderRecord),
		byID:       make(map[ticketing.OrderRef]int64),
		ofCompany:  make(map[uuid.UUID]*orderLists),
		ofEvent:    make(map[ticketing.EventRef]*orderLists),
		lines:      make(map[ticketing.OrderNumber]*index[line]),
		withLines:  make(map[uuid.UUID]*index[int64]),
		admissions: make(map[ticketing.AdmissionRef]ticketing.AdmissionRecord),
		buyers:     make(map[ticketing.BuyerRef]ticketing.BuyerRecord),
	}
}

func newOrderLists() *orderLists {
	return newLists[int64, ticketing.OrderStatus](cmp.Compare[int64])
}

func newNumbers() *index[int64] { return newIndex(cmp.Compare[int64]) }

func newLines() *index[line] {
	return newIndex(func(a, b line) int { return cmp.Compare(a.number, b.number) })
}

// list are the numbers of a page.
func (o *orders) list(query ticketing.OrderQuery) []int64 {
	of, ok := o.ofCompany[query.CompanyID]
	if query.EventID != uuid.Nil {
		of, ok = o.ofEvent[ticketing.EventRef{CompanyID: query.CompanyID, ID: query.EventID}]
	}
	if !ok {
		return nil
	}
	parts := []*index[int64]{of.all}
	if len(query.Statuses) > 0 {
		parts = parts[:0]
		for _, status := range query.Statuses {
			if part, ok := of.parts[status]; ok {
				parts = append(parts, part)
			}
		}
	}
	ends := each(parts, func(part *index[int64]) []int64 {
		keys := part.keys
		if query.Before != 0 {
			keys = part.below(query.Before)
		}
		if query.After > 0 {
			keys = keys[min(len(part.below(query.After+1)), len(keys)):]
		}
		if query.BuyerEmail != "" {
			keys = slices.DeleteFunc(slices.Clone(keys), func(number int64) bool {
				order := o.byNumber[ticketing.OrderNumber{CompanyID: query.CompanyID, Number: number}]
				return order.BuyerEmail != query.BuyerEmail
			})
		}
		return keys
	})
	return last(ends, query.Limit, cmp.Compare[int64])
}

func (r reading) Orders(ctx context.Context, refs []ticketing.OrderRef) ([]ticketing.OrderRecord, error) {
	return ask(ctx, r, func(s *state) []ticketing.OrderRecord {
		return each(refs, func(ref ticketing.OrderRef) ticketing.OrderRecord {
			number, ok := s.orders.byID[ref]
			if !ok {
				return ticketing.OrderRecord{}
			}
			return s.orders.byNumber[ticketing.OrderNumber{CompanyID: ref.CompanyID, Number: number}]
		})
	})
}

// FindOrder looks for the order in every company that has any.
func (r reading) FindOrder(ctx context.Context, id uuid.UUID) (ticketing.OrderRecord, error) {
	return ask(ctx, r, func(s *state) ticketing.OrderRecord {
		for company := range s.orders.ofCompany {
			if number, ok := s.orders.byID[ticketing.OrderRef{CompanyID: company, ID: id}]; ok {
				return s.orders.byNumber[ticketing.OrderNumber{CompanyID: company, Number: number}]
			}
		}
		return ticketing.OrderRecord{}
	})
}

func (r reading) ListOrders(ctx context.Context, query ticketing.OrderQuery) ([]ticketing.OrderRecord, error) {
	return ask(ctx, r, func(s *state) []ticketing.OrderRecord {
		return each(s.orders.list(query), func(number int64) ticketing.OrderRecord {
			return s.orders.byNumber[ticketing.OrderNumber{CompanyID: query.CompanyID, Number: number}]
		})
	})
}

func (tx *updating) AppendOrders(ctx context.Context, orders []ticketing.OrderRecord) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		for _, order := range orders {
			if err := s.orders.append(u, order); err != nil {
				return err
			}
		}
		return nil
	})
}

func (o *orders) append(u *undo, order ticketing.OrderRecord) error {
	order.ConfirmedAt, order.CreatedAt = moment(order.ConfirmedAt), moment(order.CreatedAt)
	number := ticketing.OrderNumber{CompanyID: order.CompanyID, Number: order.Number}
	if err := create(u, o.byNumber, number, order, "orders_pkey"); err != nil {
		return err
	}
	ref := ticketing.OrderRef{CompanyID: order.CompanyID, ID: order.ID}
	if err := create(u, o.byID, ref, order.Number, "orders_id_key"); err != nil {
		return err
	}
	event := ticketing.EventRef{CompanyID: order.CompanyID, ID: order.EventID}
	need(o.ofCompany, order.CompanyID, newOrderLists).add(u, order.Number, order.Status)
	need(o.ofEvent, event, newOrderLists).add(u, order.Number, order.Status)
	return nil
}
