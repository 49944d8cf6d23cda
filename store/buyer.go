package store

import (
	"context"

	"github.com/floatgate/ticketing"
)

// ReplaceBuyer keeps another record, of the same company, in place of a buyer's; the time of creation stays.
func (tx *transaction) ReplaceBuyer(ctx context.Context, ref ticketing.BuyerRef, b ticketing.BuyerRecord) error {
	return tx.changed(ctx, "ReplaceBuyer",
		`UPDATE ticketing_buyers SET email = ?, fullname = ?, phone = ?, updated_at = ?
		WHERE company_id = ? AND email = ?`,
		b.Email, b.Fullname, b.Phone, b.UpdatedAt, ref.CompanyID, ref.Email)
}

// UpdateOrderBuyers keeps the email, the name and the phone of orders, found by their numbers.
func (tx *transaction) UpdateOrderBuyers(ctx context.Context, orders []ticketing.OrderRecord) error {
	const keys = 2
	orders = folded(orders, func(o ticketing.OrderRecord) ticketing.OrderNumber {
		return ticketing.OrderNumber{CompanyID: o.CompanyID, Number: o.Number}
	})
	return inParts(orders, func(orders []ticketing.OrderRecord) error {
		return tx.update(ctx, "UpdateOrderBuyers", "ticketing_orders", keys,
			of("company_id, number, buyer_email, buyer_fullname, buyer_phone", orders,
				func(o ticketing.OrderRecord) []any {
					return []any{o.CompanyID, o.Number, o.BuyerEmail, o.BuyerFullname, o.BuyerPhone}
				}))
	})
}
