package store

import (
	"context"

	"github.com/floatgate/ticketing/driver"
)

const orderEndingColumns = `company_id, number, order_id, status, reason, restocked, float_sequence,
	earnings_sequence, at`

func scanOrderEnding(row rowSet, e *driver.OrderEnding) error {
	return row.Scan((*id)(&e.CompanyID), &e.Number, (*id)(&e.OrderID), (*string)(&e.Status), &e.Reason, &e.Restocked,
		&e.FloatSequence, &e.EarningsSequence, (*moment)(&e.At))
}

// OrderEndings finds the endings of orders.
func (s *session) OrderEndings(
	ctx context.Context, orders []driver.OrderNumber,
) ([]driver.OrderEnding, error) {
	return findByRefs(orders,
		func(e driver.OrderEnding) driver.OrderNumber {
			return driver.OrderNumber{CompanyID: e.CompanyID, Number: e.Number}
		},
		func(orders []driver.OrderNumber) ([]driver.OrderEnding, error) {
			return query(ctx, s, "OrderEndings", scanOrderEnding,
				"SELECT "+orderEndingColumns+" FROM ?",
				keyedRows{table: "ticketing_order_endings x", set: newSet("company_id, number", orders,
					func(o driver.OrderNumber) []any { return []any{o.CompanyID, o.Number} })})
		})
}

// ListOrderEndings returns a page of the endings of a company's orders, lowest number first.
func (s *session) ListOrderEndings(
	ctx context.Context, ask driver.OrderEndingQuery,
) ([]driver.OrderEnding, error) {
	return query(ctx, s, "ListOrderEndings", scanOrderEnding,
		"SELECT "+orderEndingColumns+` FROM ticketing_order_endings
		WHERE company_id = ? AND number > ? ORDER BY number LIMIT ?`, ask.CompanyID, ask.After, max(ask.Limit, 0))
}

// AppendOrderEnding inserts the ending of an order. A trigger refuses to change or remove it.
func (tx *transaction) AppendOrderEnding(ctx context.Context, e driver.OrderEnding) error {
	return tx.exec(ctx, "AppendOrderEnding",
		"INSERT INTO ticketing_order_endings ("+orderEndingColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
		e.CompanyID, e.Number, e.OrderID, string(e.Status), e.Reason, e.Restocked, e.FloatSequence,
		e.EarningsSequence, e.At)
}

// UpdateOrderStatus writes the status of an order.
func (tx *transaction) UpdateOrderStatus(
	ctx context.Context, order driver.OrderNumber, status driver.OrderStatus,
) error {
	return tx.updateOne(ctx, "UpdateOrderStatus",
		"UPDATE ticketing_orders SET status = ? WHERE company_id = ? AND number = ?",
		string(status), order.CompanyID, order.Number)
}
