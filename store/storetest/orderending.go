package storetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

func orderEndingRecord(companyID uuid.UUID, number int64) ticketing.OrderEndingRecord {
	return ticketing.OrderEndingRecord{
		CompanyID: companyID, Number: number, OrderID: id(100_000 + int(number)), Status: ticketing.OrderRefunded,
		Reason: awkward, Restocked: true, FloatSequence: 1 << 40, EarningsSequence: 8, At: at(int(number)),
	}
}

func orderEndingKinds() []record {
	kept, order := orderEndingRecord(companyA, 7), orderRecord(eventA, 7)
	ended := order
	ended.Status = ticketing.OrderRefunded
	number := ticketing.OrderNumber{CompanyID: companyA, Number: 7}
	holds := func(found ticketing.OrderEndingRecord, listed ...ticketing.OrderEndingRecord) reads {
		return func(ctx context.Context, tx ticketing.ReadTx) error {
			return errors.Join(
				want("OrderEndings", []ticketing.OrderEndingRecord{found}).
					from(tx.OrderEndings(ctx, []ticketing.OrderNumber{number})),
				want("ListOrderEndings", listed).
					from(tx.ListOrderEndings(ctx, ticketing.OrderEndingQuery{CompanyID: companyA, Limit: 9})),
			)
		}
	}
	put := func(ctx context.Context, tx ticketing.Tx) error { return tx.AppendOrderEnding(ctx, kept) }
	// The status of an order is in every list of orders.
	listed := func(kept ticketing.OrderRecord) reads {
		return func(ctx context.Context, tx ticketing.ReadTx) error {
			if kept.ID == uuid.Nil {
				return want("FindOrder", kept).from(tx.FindOrder(ctx, order.ID))
			}
			errs := []error{want("FindOrder", kept).from(tx.FindOrder(ctx, order.ID))}
			for _, status := range []ticketing.OrderStatus{
				ticketing.OrderConfirmed, ticketing.OrderRefunded, ticketing.OrderCancelled,
			} {
				var expected []ticketing.OrderRecord
				if status == kept.Status {
					expected = append(expected, kept)
				}
				query := ticketing.OrderQuery{CompanyID: companyA, Statuses: []ticketing.OrderStatus{status}, Limit: 9}
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
			name: "order endings", create: put, created: holds(kept, kept), absent: holds(ticketing.OrderEndingRecord{}),
			taken: map[string]writes{"number": put},
		},
		{
			name: "order statuses",
			create: func(ctx context.Context, tx ticketing.Tx) error {
				return tx.AppendOrders(ctx, []ticketing.OrderRecord{order})
			},
			created: listed(order), absent: listed(ticketing.OrderRecord{}),
			change: func(ctx context.Context, tx ticketing.Tx) error {
				return tx.UpdateOrderStatus(ctx, number, ticketing.OrderRefunded)
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

func appendEndings(ctx context.Context, s ticketing.Store, endings ...ticketing.OrderEndingRecord) error {
	err := share(ctx, s, func(ctx context.Context, tx ticketing.Tx) error {
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

func endingsAligned(ctx context.Context, s ticketing.Store) error {
	// Of two companies, orders may have the same number.
	a, b := orderEndingRecord(companyA, 1), orderEndingRecord(companyB, 1)
	b.Status, b.Restocked, b.FloatSequence, b.EarningsSequence = ticketing.OrderCancelled, false, 0, 0
	if err := appendEndings(ctx, s, a, b); err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx ticketing.ReadTx) error {
		return errors.Join(
			want("with gaps, out of order and twice", []ticketing.OrderEndingRecord{b, {}, a, {}, b}).
				from(tx.OrderEndings(ctx, []ticketing.OrderNumber{
					{CompanyID: companyB, Number: 1},
					{CompanyID: companyA, Number: 2},
					{CompanyID: companyA, Number: 1},
					{},
					{CompanyID: companyB, Number: 1},
				})),
			want("none", []ticketing.OrderEndingRecord(nil)).from(tx.OrderEndings(ctx, nil)),
		)
	})
}

func endingsListed(ctx context.Context, s ticketing.Store) error {
	var numbers []int64
	for i := range 7 {
		number := int64(3*i + 1)
		if err := appendEndings(ctx, s, orderEndingRecord(companyA, number), orderEndingRecord(companyB, number+1)); err != nil {
			return err
		}
		numbers = append(numbers, number)
	}
	return everywhere(ctx, s, func(ctx context.Context, tx ticketing.ReadTx) error {
		return pages(numbers, func(after *int64, limit int) ([]int64, error) {
			query := ticketing.OrderEndingQuery{CompanyID: companyA, Limit: limit}
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

func endingsBounded(ctx context.Context, s ticketing.Store) error {
	for name, wrong := range map[string]func(e *ticketing.OrderEndingRecord){
		"a refund that FLOAT knows nothing of":    func(e *ticketing.OrderEndingRecord) { e.FloatSequence = 0 },
		"a refund that EARNINGS knows nothing of": func(e *ticketing.OrderEndingRecord) { e.EarningsSequence = 0 },
		"a cancellation with money": func(e *ticketing.OrderEndingRecord) {
			e.Status, e.Restocked = ticketing.OrderCancelled, false
		},
		"a cancellation that puts back": func(e *ticketing.OrderEndingRecord) {
			e.Status, e.FloatSequence, e.EarningsSequence = ticketing.OrderCancelled, 0, 0
		},
		"no ending": func(e *ticketing.OrderEndingRecord) {
			e.Status, e.Restocked, e.FloatSequence, e.EarningsSequence = ticketing.OrderConfirmed, false, 0, 0
		},
	} {
		ending := orderEndingRecord(companyA, 1)
		wrong(&ending)
		if err := refuses(name, appendEndings(ctx, s, ending)); err != nil {
			return err
		}
	}
	return nil
}

// endingsCounted ends one order of three tiers and another that is not put back.
func endingsCounted(ctx context.Context, s ticketing.Store) error {
	err := stocked(ctx, s, lot{"a", 1, 100, onSale, 9, 3}.record(eventA), lot{"b", 1, 100, onSale, 9, 2}.record(eventA))
	if err != nil {
		return err
	}
	line := func(number int64, n int, tier string) ticketing.AdmissionRecord {
		admission := admissionRecord(eventA, number, n)
		admission.Tier = tier
		return admission
	}
	err = appendAdmissions(ctx, s, line(1, 1, "a"), line(1, 2, "a"), line(1, 3, "b"), line(2, 1, "a"), line(3, 1, "b"))
	if err != nil {
		return err
	}
	first, second, foreign := orderEndingRecord(companyA, 1), orderEndingRecord(companyA, 2), orderEndingRecord(companyB, 3)
	second.Restocked = false
	counts := func(a, b int64) reads {
		return func(ctx context.Context, tx ticketing.ReadTx) error {
			return want("totals", []ticketing.StockTotal{
				{EventID: eventA.ID, Tier: "a", Quantity: 9, Sold: 3, Admissions: 3, Restocked: a},
				{EventID: eventA.ID, Tier: "b", Quantity: 9, Sold: 2, Admissions: 2, Restocked: b},
			}).from(tx.StockTotals(ctx, companyA))
		}
	}
	if err := everywhere(ctx, s, counts(0, 0)); err != nil {
		return err
	}
	err = failing(ctx, s, func(ctx context.Context, tx ticketing.Tx) error { return tx.AppendOrderEnding(ctx, first) })
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

func ordersOfBuyer(ctx context.Context, s ticketing.Store) error {
	var orders []ticketing.OrderRecord
	for i := range 12 {
		order := orderRecord(eventA, int64(3*i+1))
		if i%3 == 0 {
			order.BuyerEmail = "bob@example.com"
		}
		if i%4 == 0 {
			order.Status = ticketing.OrderRefunded
		}
		orders = append(orders, order)
	}
	other := orderRecord(eventB, 5)
	other.BuyerEmail = "bob@example.com"
	if err := appendOrders(ctx, s, append(orders, other)...); err != nil {
		return err
	}
	return everywhere(ctx, s, func(ctx context.Context, tx ticketing.ReadTx) error {
		for _, query := range []ticketing.OrderQuery{
			{BuyerEmail: "bob@example.com"},
			{BuyerEmail: "Bob@example.com"},
			{BuyerEmail: "bob@example.com", EventID: eventA.ID},
			{BuyerEmail: "bob@example.com", EventID: id(90)},
			{BuyerEmail: "bob@example.com", Statuses: []ticketing.OrderStatus{ticketing.OrderRefunded}},
			{BuyerEmail: "bob@example.com", Statuses: []ticketing.OrderStatus{ticketing.OrderConfirmed}, EventID: eventA.ID},
			{BuyerEmail: "bob@example.com", After: 10},
			{After: 9},
			{After: 10},
			{After: 34},
			{After: 35},
			{After: 4, Before: 5},
			{After: 10, Before: 28, BuyerEmail: "ada@example.com"},
		} {
			query.CompanyID = companyA
			for _, query.Limit = range []int{1, 3, 100} {
				var expected []ticketing.OrderRecord
				for i := len(orders) - 1; i >= 0 && len(expected) < query.Limit; i-- {
					order := orders[i]
					if (query.BuyerEmail == "" || query.BuyerEmail == order.BuyerEmail) && order.Number > query.After &&
						(query.Before == 0 || order.Number < query.Before) &&
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
