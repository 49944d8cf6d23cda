package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// orders are listed by number, for each company and each event, both together and by status. So an order is in four
// lists, and every page costs the same at any depth and under any filter.
type orders struct {
	byNumber   map[driver.OrderNumber]driver.Order
	byID       map[driver.OrderRef]int64
	ofCompany  map[uuid.UUID]*orderLists
	ofEvent    map[driver.EventRef]*orderLists
	lines      map[driver.OrderNumber]*index[line]
	withLines  map[uuid.UUID]*index[int64] // the numbers in lines, by company
	admissions map[driver.AdmissionRef]driver.Admission
	buyers     map[driver.BuyerRef]driver.Buyer
}

type orderLists = lists[int64, driver.OrderStatus]

// line is an admission and its place in an order.
type line struct {
	number    int
	admission uuid.UUID
}

func newOrders() orders {
	return orders{
		byNumber:   make(map[driver.OrderNumber]driver.Order),
		byID:       make(map[driver.OrderRef]int64),
		ofCompany:  make(map[uuid.UUID]*orderLists),
		ofEvent:    make(map[driver.EventRef]*orderLists),
		lines:      make(map[driver.OrderNumber]*index[line]),
		withLines:  make(map[uuid.UUID]*index[int64]),
		admissions: make(map[driver.AdmissionRef]driver.Admission),
		buyers:     make(map[driver.BuyerRef]driver.Buyer),
	}
}

func newOrderLists() *orderLists {
	return newLists[int64, driver.OrderStatus](cmp.Compare[int64])
}

func newNumbers() *index[int64] { return newIndex(cmp.Compare[int64]) }

func newLines() *index[line] {
	return newIndex(func(a, b line) int { return cmp.Compare(a.number, b.number) })
}

// list returns the numbers of a page. For one buyer, indexed holds the numbers in the index of buyers.
func (o *orders) list(query driver.OrderQuery, indexed *index[int64]) []int64 {
	of, ok := o.ofCompany[query.CompanyID]
	if query.EventID != uuid.Nil {
		of, ok = o.ofEvent[driver.EventRef{CompanyID: query.CompanyID, ID: query.EventID}]
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
		if query.After != 0 {
			keys = part.below(query.After)
		}
		if query.AboveNumber > 0 {
			keys = keys[min(len(part.below(query.AboveNumber+1)), len(keys)):]
		}
		if query.BuyerEmail != "" {
			keys = slices.DeleteFunc(slices.Clone(keys), func(number int64) bool {
				order := o.byNumber[driver.OrderNumber{CompanyID: query.CompanyID, Number: number}]
				if query.Indexed {
					if _, known := indexed.search(number); !known {
						return true
					}
				}
				return order.BuyerEmail != query.BuyerEmail
			})
		}
		return keys
	})
	return last(ends, query.Limit, cmp.Compare[int64])
}

func (r reading) Orders(ctx context.Context, refs []driver.OrderRef) ([]driver.Order, error) {
	return ask(ctx, r, func(s *state) []driver.Order {
		return each(refs, func(ref driver.OrderRef) driver.Order {
			number, ok := s.orders.byID[ref]
			if !ok {
				return driver.Order{}
			}
			return s.orders.byNumber[driver.OrderNumber{CompanyID: ref.CompanyID, Number: number}]
		})
	})
}

// FindOrder looks for the order in every company that has orders.
func (r reading) FindOrder(ctx context.Context, id uuid.UUID) (driver.Order, error) {
	return ask(ctx, r, func(s *state) driver.Order {
		for company := range s.orders.ofCompany {
			if number, ok := s.orders.byID[driver.OrderRef{CompanyID: company, ID: id}]; ok {
				return s.orders.byNumber[driver.OrderNumber{CompanyID: company, Number: number}]
			}
		}
		return driver.Order{}
	})
}

func (r reading) ListOrders(ctx context.Context, query driver.OrderQuery) ([]driver.Order, error) {
	return ask(ctx, r, func(s *state) []driver.Order {
		indexed, ok := s.sales.ofBuyer[driver.BuyerRef{CompanyID: query.CompanyID, Email: query.BuyerEmail}]
		if query.Indexed && !ok {
			return nil
		}
		return each(s.orders.list(query, indexed), func(number int64) driver.Order {
			return s.orders.byNumber[driver.OrderNumber{CompanyID: query.CompanyID, Number: number}]
		})
	})
}

func (tx *updating) AppendOrders(ctx context.Context, orders []driver.Order) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		for _, order := range orders {
			if err := s.orders.append(u, order); err != nil {
				return err
			}
		}
		return nil
	})
}

func (o *orders) append(u *undo, order driver.Order) error {
	order.ConfirmedAt, order.CreatedAt = moment(order.ConfirmedAt), moment(order.CreatedAt)
	number := driver.OrderNumber{CompanyID: order.CompanyID, Number: order.Number}
	if err := create(u, o.byNumber, number, order, "orders_pkey"); err != nil {
		return err
	}
	ref := driver.OrderRef{CompanyID: order.CompanyID, ID: order.ID}
	if err := create(u, o.byID, ref, order.Number, "orders_id_key"); err != nil {
		return err
	}
	event := driver.EventRef{CompanyID: order.CompanyID, ID: order.EventID}
	need(o.ofCompany, order.CompanyID, newOrderLists).add(u, order.Number, order.Status)
	need(o.ofEvent, event, newOrderLists).add(u, order.Number, order.Status)
	return nil
}
