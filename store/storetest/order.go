package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

func orderKinds() []record {
	kept := newOrder(eventA, 7)
	holds := func(found driver.Order, listed ...driver.Order) reads {
		return func(ctx context.Context, tx driver.ReadTx) error {
			query := driver.OrderQuery{CompanyID: companyA, Limit: 9}
			ofEvent, ofStatus := query, query
			ofEvent.EventID = eventA.ID
			ofStatus.Statuses = []driver.OrderStatus{driver.OrderCancelled, driver.OrderConfirmed}
			return errors.Join(
				want("Orders", []driver.Order{found}).
					from(tx.Orders(ctx, []driver.OrderRef{{CompanyID: companyA, ID: kept.ID}})),
				want("FindOrder", found).from(tx.FindOrder(ctx, kept.ID)),
				want("ListOrders", listed).from(tx.ListOrders(ctx, query)),
				want("ListOrders of the event", listed).from(tx.ListOrders(ctx, ofEvent)),
				want("ListOrders of statuses", listed).from(tx.ListOrders(ctx, ofStatus)),
			)
		}
	}
	put := func(order driver.Order) writes {
		return func(ctx context.Context, tx driver.Tx) error {
			// If one order of a call breaks a constraint, the call keeps none.
			return tx.AppendOrders(ctx, []driver.Order{order})
		}
	}
	sameNumber, sameID := newOrder(eventA, 8), newOrder(eventA, 8)
	sameNumber.Number, sameID.ID = kept.Number, kept.ID
	return []record{{
		name: "orders", create: put(kept), created: holds(kept, kept), absent: holds(driver.Order{}),
		taken: map[string]writes{"number": put(sameNumber), "id": put(sameID)},
	}}
}

func orderChecks() []Check {
	return []Check{
		{"orders/answers are aligned and of their company", grounded(ordersAligned)},
		{"orders/list is in order and in pages under every filter", grounded(ordersListed)},
		{"orders/one refused of many keeps none", grounded(ordersTogether)},
	}
}

func appendOrders(ctx context.Context, s driver.Store, orders ...driver.Order) error {
	err := share(ctx, s, func(ctx context.Context, tx driver.Tx) error { return tx.AppendOrders(ctx, orders) })
	if err != nil {
		return fmt.Errorf("append orders: %w", err)
	}
	return nil
}

func ordersAligned(ctx context.Context, s driver.Store) error {
	// Orders of two companies may have the same number.
	a, b := newOrder(eventA, 1), newOrder(eventB, 1)
	b.ID, b.BuyerFullname, b.BuyerPhone = id(300), "", ""
	if err := appendOrders(ctx, s, a, b); err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return errors.Join(
			want("with gaps, out of order and twice", []driver.Order{b, {}, a, {}, b}).
				from(tx.Orders(ctx, []driver.OrderRef{
					{CompanyID: companyB, ID: b.ID},
					{CompanyID: companyA, ID: b.ID},
					{CompanyID: companyA, ID: a.ID},
					{},
					{CompanyID: companyB, ID: b.ID},
				})),
			want("none", []driver.Order(nil)).from(tx.Orders(ctx, nil)),
			want("by id alone", b).from(tx.FindOrder(ctx, b.ID)),
			want("by an unknown id", driver.Order{}).from(tx.FindOrder(ctx, id(90))),
			want("of another company's event", []driver.Order(nil)).
				from(tx.ListOrders(ctx, driver.OrderQuery{CompanyID: companyA, EventID: eventB.ID, Limit: 9})),
		)
	})
}

func ordersListed(ctx context.Context, s driver.Store) error {
	statuses := []driver.OrderStatus{driver.OrderConfirmed, driver.OrderRefunded, driver.OrderCancelled}
	second := driver.EventRef{CompanyID: companyA, ID: id(70)}
	var orders []driver.Order
	for i := range 14 {
		// Numbers have gaps, and times descend while numbers ascend: only the number determines the order.
		order := newOrder(eventA, int64(3*i+1))
		if i%3 == 0 {
			order.EventID = second.ID
		}
		order.Status = statuses[i%4%3]
		order.CreatedAt, order.ConfirmedAt = at(100-i), at(100-i)
		orders = append(orders, order)
	}
	other := newOrder(eventB, 20)
	if err := createEvents(ctx, s, newEvent(second)); err != nil {
		return err
	}
	if err := appendOrders(ctx, s, slices.Concat(orders[:5], []driver.Order{other}, orders[5:])...); err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		for _, event := range []uuid.UUID{{}, eventA.ID, second.ID, id(90)} {
			for _, of := range [][]driver.OrderStatus{
				nil, statuses[:1], statuses[1:2], statuses[2:], statuses[:2], {statuses[2], statuses[0]}, statuses,
			} {
				query := driver.OrderQuery{CompanyID: companyA, EventID: event, Statuses: of}
				if err := orderPages(ctx, tx, query, orders); err != nil {
					return fmt.Errorf("of event %v and statuses %v: %w", event, of, err)
				}
			}
		}
		return nil
	})
}

func orderPages(
	ctx context.Context, tx driver.ReadTx, query driver.OrderQuery, orders []driver.Order,
) error {
	var numbers []int64
	for _, order := range slices.Backward(orders) {
		if (query.EventID == uuid.Nil || query.EventID == order.EventID) &&
			(len(query.Statuses) == 0 || slices.Contains(query.Statuses, order.Status)) {
			numbers = append(numbers, order.Number)
		}
	}
	return pages(numbers, func(after *int64, limit int) ([]int64, error) {
		query.Limit, query.After = limit, 0
		if after != nil {
			query.After = *after
		}
		found, err := tx.ListOrders(ctx, query)
		listed := make([]int64, len(found))
		for i, order := range found {
			listed[i] = order.Number
		}
		return listed, err
	})
}

func ordersTogether(ctx context.Context, s driver.Store) error {
	if err := appendOrders(ctx, s, newOrder(eventA, 2)); err != nil {
		return err
	}
	err := appendOrders(ctx, s, newOrder(eventA, 1), newOrder(eventA, 2), newOrder(eventA, 3))
	if err := refuses("orders of which one is there already", err); err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return want("orders", []driver.Order{newOrder(eventA, 2)}).
			from(tx.ListOrders(ctx, driver.OrderQuery{CompanyID: companyA, Limit: 9}))
	})
}
