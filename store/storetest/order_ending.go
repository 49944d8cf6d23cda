package storetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

func newOrderEnding(companyID uuid.UUID, number int64) driver.OrderEnding {
	return driver.OrderEnding{
		CompanyID: companyID, Number: number, OrderID: id(100_000 + int(number)), Status: driver.OrderRefunded,
		Reason: awkward, Restocked: true, FloatSequence: 1 << 40, EarningsSequence: 8, At: at(int(number)),
	}
}

func orderEndingKinds() []record {
	kept, order := newOrderEnding(companyA, 7), newOrder(eventA, 7)
	ended := order
	ended.Status = driver.OrderRefunded
	number := driver.OrderNumber{CompanyID: companyA, Number: 7}
	holds := func(found driver.OrderEnding, listed ...driver.OrderEnding) reads {
		return func(ctx context.Context, tx driver.ReadTx) error {
			return errors.Join(
				want("OrderEndings", []driver.OrderEnding{found}).
					from(tx.OrderEndings(ctx, []driver.OrderNumber{number})),
				want("ListOrderEndings", listed).
					from(tx.ListOrderEndings(ctx, driver.OrderEndingQuery{CompanyID: companyA, Limit: 9})),
			)
		}
	}
	put := func(ctx context.Context, tx driver.Tx) error { return tx.AppendOrderEnding(ctx, kept) }
	// The status of an order is in every list of orders.
	listed := func(kept driver.Order) reads {
		return func(ctx context.Context, tx driver.ReadTx) error {
			if kept.ID == uuid.Nil {
				return want("FindOrder", kept).from(tx.FindOrder(ctx, order.ID))
			}
			errs := []error{want("FindOrder", kept).from(tx.FindOrder(ctx, order.ID))}
			for _, status := range []driver.OrderStatus{
				driver.OrderConfirmed, driver.OrderRefunded, driver.OrderCancelled,
			} {
				var expected []driver.Order
				if status == kept.Status {
					expected = append(expected, kept)
				}
				query := driver.OrderQuery{CompanyID: companyA, Statuses: []driver.OrderStatus{status}, Limit: 9}
				ofEvent := query
				ofEvent.EventID = eventA.ID
				errs = append(errs,
					want("ListOrders "+string(status), expected).from(tx.ListOrders(ctx, query)),
					want("ListOrders of the event "+string(status), expected).from(tx.ListOrders(ctx, ofEvent)),
				)
			}
			return errors.Join(errs...)
		}
	}
	return []record{
		{
			name: "order endings", create: put, created: holds(kept, kept), absent: holds(driver.OrderEnding{}),
			taken: map[string]writes{"number": put},
		},
		{
			name: "order statuses",
			create: func(ctx context.Context, tx driver.Tx) error {
				return tx.AppendOrders(ctx, []driver.Order{order})
			},
			created: listed(order), absent: listed(driver.Order{}),
			change: func(ctx context.Context, tx driver.Tx) error {
				return tx.UpdateOrderStatus(ctx, number, driver.OrderRefunded)
			},
			changed: listed(ended),
		},
	}
}

func orderEndingChecks() []Check {
	return []Check{
		{"order endings/answers are aligned and of their company", grounded(endingsAligned)},
		{"order endings/list is in order and in pages", grounded(endingsListed)},
		{"order endings/money goes with a refund alone", grounded(endingsBounded)},
		{"order endings/what went back is counted", grounded(endingsCounted)},
		{"orders/those of a buyer, in a part of the list", grounded(ordersOfBuyer)},
	}
}

func appendEndings(ctx context.Context, s driver.Store, endings ...driver.OrderEnding) error {
	err := share(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		for _, ending := range endings {
			if err := tx.AppendOrderEnding(ctx, ending); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("append order endings: %w", err)
	}
	return nil
}

func endingsAligned(ctx context.Context, s driver.Store) error {
	// Orders of two companies may have the same number.
	a, b := newOrderEnding(companyA, 1), newOrderEnding(companyB, 1)
	b.Status, b.Restocked, b.FloatSequence, b.EarningsSequence = driver.OrderCancelled, false, 0, 0
	if err := appendEndings(ctx, s, a, b); err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return errors.Join(
			want("with gaps, out of order and twice", []driver.OrderEnding{b, {}, a, {}, b}).
				from(tx.OrderEndings(ctx, []driver.OrderNumber{
					{CompanyID: companyB, Number: 1},
					{CompanyID: companyA, Number: 2},
					{CompanyID: companyA, Number: 1},
					{},
					{CompanyID: companyB, Number: 1},
				})),
			want("none", []driver.OrderEnding(nil)).from(tx.OrderEndings(ctx, nil)),
		)
	})
}

func endingsListed(ctx context.Context, s driver.Store) error {
	var numbers []int64
	for i := range 7 {
		number := int64(3*i + 1)
		if err := appendEndings(ctx, s, newOrderEnding(companyA, number), newOrderEnding(companyB, number+1)); err != nil {
			return err
		}
		numbers = append(numbers, number)
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return pages(numbers, func(after *int64, limit int) ([]int64, error) {
			query := driver.OrderEndingQuery{CompanyID: companyA, Limit: limit}
			if after != nil {
				query.After = *after
			}
			found, err := tx.ListOrderEndings(ctx, query)
			listed := make([]int64, len(found))
			for i, ending := range found {
				listed[i] = ending.Number
			}
			return listed, err
		})
	})
}

func endingsBounded(ctx context.Context, s driver.Store) error {
	for name, wrong := range map[string]func(e *driver.OrderEnding){
		"a refund that FLOAT knows nothing of":    func(e *driver.OrderEnding) { e.FloatSequence = 0 },
		"a refund that EARNINGS knows nothing of": func(e *driver.OrderEnding) { e.EarningsSequence = 0 },
		"a cancellation with money": func(e *driver.OrderEnding) {
			e.Status, e.Restocked = driver.OrderCancelled, false
		},
		"a cancellation that puts back": func(e *driver.OrderEnding) {
			e.Status, e.FloatSequence, e.EarningsSequence = driver.OrderCancelled, 0, 0
		},
		"no ending": func(e *driver.OrderEnding) {
			e.Status, e.Restocked, e.FloatSequence, e.EarningsSequence = driver.OrderConfirmed, false, 0, 0
		},
	} {
		ending := newOrderEnding(companyA, 1)
		wrong(&ending)
		if err := refuses(name, appendEndings(ctx, s, ending)); err != nil {
			return err
		}
	}
	return nil
}

// endingsCounted ends an order of two tiers that is restocked, and one that is not.
func endingsCounted(ctx context.Context, s driver.Store) error {
	err := stocked(ctx, s, lot{"a", 1, 100, onSale, 9, 3}.batch(eventA), lot{"b", 1, 100, onSale, 9, 2}.batch(eventA))
	if err != nil {
		return err
	}
	line := func(number int64, n int, tier string) driver.Admission {
		admission := newAdmission(eventA, number, n)
		admission.Tier = tier
		return admission
	}
	err = appendAdmissions(ctx, s, line(1, 1, "a"), line(1, 2, "a"), line(1, 3, "b"), line(2, 1, "a"), line(3, 1, "b"))
	if err != nil {
		return err
	}
	first, second, foreign := newOrderEnding(companyA, 1), newOrderEnding(companyA, 2), newOrderEnding(companyB, 3)
	second.Restocked = false
	counts := func(a, b int64) reads {
		return func(ctx context.Context, tx driver.ReadTx) error {
			return want("totals", []driver.StockTotal{
				{EventID: eventA.ID, Tier: "a", Quantity: 9, Sold: 3, Admissions: 3, Restocked: a},
				{EventID: eventA.ID, Tier: "b", Quantity: 9, Sold: 2, Admissions: 2, Restocked: b},
			}).from(tx.StockTotals(ctx, companyA))
		}
	}
	if err := everywhere(ctx, s, counts(0, 0)); err != nil {
		return err
	}
	err = failing(ctx, s, func(ctx context.Context, tx driver.Tx) error { return tx.AppendOrderEnding(ctx, first) })
	if err != nil {
		return err
	}
	if err := everywhere(ctx, s, counts(0, 0)); err != nil {
		return err
	}
	if err := appendEndings(ctx, s, foreign, second, first); err != nil {
		return err
	}
	return everywhere(ctx, s, counts(2, 1))
}

func ordersOfBuyer(ctx context.Context, s driver.Store) error {
	var orders []driver.Order
	for i := range 12 {
		order := newOrder(eventA, int64(3*i+1))
		if i%3 == 0 {
			order.BuyerEmail = "bob@example.com"
		}
		if i%4 == 0 {
			order.Status = driver.OrderRefunded
		}
		orders = append(orders, order)
	}
	other := newOrder(eventB, 5)
	other.BuyerEmail = "bob@example.com"
	if err := appendOrders(ctx, s, append(orders, other)...); err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		for _, query := range []driver.OrderQuery{
			{BuyerEmail: "bob@example.com"},
			{BuyerEmail: "Bob@example.com"},
			{BuyerEmail: "bob@example.com", EventID: eventA.ID},
			{BuyerEmail: "bob@example.com", EventID: id(90)},
			{BuyerEmail: "bob@example.com", Statuses: []driver.OrderStatus{driver.OrderRefunded}},
			{BuyerEmail: "bob@example.com", Statuses: []driver.OrderStatus{driver.OrderConfirmed}, EventID: eventA.ID},
			{BuyerEmail: "bob@example.com", AboveNumber: 10},
			{AboveNumber: 9},
			{AboveNumber: 10},
			{AboveNumber: 34},
			{AboveNumber: 35},
			{AboveNumber: 4, After: 5},
			{AboveNumber: 10, After: 28, BuyerEmail: "ada@example.com"},
		} {
			query.CompanyID = companyA
			for _, query.Limit = range []int{1, 3, 100} {
				var expected []driver.Order
				for i := len(orders) - 1; i >= 0 && len(expected) < query.Limit; i-- {
					order := orders[i]
					if (query.BuyerEmail == "" || query.BuyerEmail == order.BuyerEmail) && order.Number > query.AboveNumber &&
						(query.After == 0 || order.Number < query.After) &&
						(query.EventID == uuid.Nil || query.EventID == order.EventID) &&
						(len(query.Statuses) == 0 || query.Statuses[0] == order.Status) {
						expected = append(expected, order)
					}
				}
				if err := want(fmt.Sprintf("%+v", query), expected).from(tx.ListOrders(ctx, query)); err != nil {
					return err
				}
			}
		}
		return nil
	})
}
