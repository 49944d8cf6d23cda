package store

import (
	"context"

	"github.com/floatgate/ticketing/driver"
)

// ReplaceBuyer replaces the record of a buyer by another one of the same company. The time of creation stays.
func (tx *transaction) ReplaceBuyer(ctx context.Context, ref driver.BuyerRef, b driver.Buyer) error {
	return tx.updateOne(ctx, "ReplaceBuyer",
		`UPDATE ticketing_buyers SET email = ?, fullname = ?, phone = ?, updated_at = ?
		WHERE company_id = ? AND email = ?`,
		b.Email, b.Fullname, b.Phone, b.UpdatedAt, ref.CompanyID, ref.Email)
}

// UpdateOrderBuyers writes the email, the name and the phone of orders, which are found by their numbers.
func (tx *transaction) UpdateOrderBuyers(ctx context.Context, orders []driver.Order) error {
	const keys = 2
	orders = lastChanges(orders, func(o driver.Order) driver.OrderNumber {
		return driver.OrderNumber{CompanyID: o.CompanyID, Number: o.Number}
	})
	return inParts(orders, func(orders []driver.Order) error {
		return tx.update(ctx, "UpdateOrderBuyers", "ticketing_orders", keys,
			newSet("company_id, number, buyer_email, buyer_fullname, buyer_phone", orders,
				func(o driver.Order) []any {
					return []any{o.CompanyID, o.Number, o.BuyerEmail, o.BuyerFullname, o.BuyerPhone}
				}))
	})
}
