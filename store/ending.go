package store

import (
	"context"
	"database/sql"

	"github.com/floatgate/ticketing"
)

const orderEndingColumns = `company_id, number, order_id, status, reason, restocked, float_sequence,
	earnings_sequence, at`

func scanOrderEnding(row *sql.Rows, e *ticketing.OrderEndingRecord) error {
	return row.Scan((*id)(&e.CompanyID), &e.Number, (*id)(&e.OrderID), (*string)(&e.Status), &e.Reason, &e.Restocked,
		&e.FloatSequence, &e.EarningsSequence, (*moment)(&e.At))
}

// OrderEndings finds what ended orders.
func (s *session) OrderEndings(
	ctx context.Context, orders []ticketing.OrderNumber,
) ([]ticketing.OrderEndingRecord, error) {
	return lookUp(orders,
		func(e ticketing.OrderEndingRecord) ticketing.OrderNumber {
			return ticketing.OrderNumber{CompanyID: e.CompanyID, Number: e.Number}
		},
		func(orders []ticketing.OrderNumber) ([]ticketing.OrderEndingRecord, error) {
			return query(ctx, s, "OrderEndings", scanOrderEnding,
				"SELECT "+orderEndingColumns+" FROM ?",
				found{table: "ticketing_order_endings x", set: of("company_id, number", orders,
					func(o ticketing.OrderNumber) []any { return []any{o.CompanyID, o.Number} })})
		})
}

// ListOrderEndings answers with a part of what ended a company's orders, lowest number first.
func (s *session) ListOrderEndings(
	ctx context.Context, ask ticketing.OrderEndingQuery,
) ([]ticketing.OrderEndingRecord, error) {
	return query(ctx, s, "ListOrderEndings", scanOrderEnding,
		"SELECT "+orderEndingColumns+` FROM ticketing_order_endings
		WHERE company_id = ? AND number > ? ORDER BY number LIMIT ?`, ask.CompanyID, ask.After, max(ask.Limit, 0))
}

// AppendOrderEnding keeps what ended an order. A trigger refuses to change or remove it.
func (tx *transaction) AppendOrderEnding(ctx context.Context, e ticketing.OrderEndingRecord) error {
	return tx.exec(ctx, "AppendOrderEnding",
		"INSERT INTO ticketing_order_endings ("+orderEndingColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
		e.CompanyID, e.Number, e.OrderID, string(e.Status), e.Reason, e.Restocked, e.FloatSequence,
		e.EarningsSequence, e.At)
}

// UpdateOrderStatus keeps the status of an order.
func (tx *transaction) UpdateOrderStatus(
	ctx context.Context, order ticketing.OrderNumber, status ticketing.OrderStatus,
) error {
	return tx.changed(ctx, "UpdateOrderStatus",
		"UPDATE ticketing_orders SET status = ? WHERE company_id = ? AND number = ?",
		string(status), order.CompanyID, order.Number)
}
