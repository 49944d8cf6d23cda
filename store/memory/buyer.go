package memory

import (
	"context"

	"github.com/floatgate/ticketing/driver"
)

func (tx *updating) ReplaceBuyer(ctx context.Context, ref driver.BuyerRef, buyer driver.Buyer) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		old, ok := s.orders.buyers[ref]
		if !ok {
			return driver.ErrNotFound
		}
		take(u, s.orders.buyers, ref)
		buyer.CompanyID, buyer.CreatedAt, buyer.UpdatedAt = ref.CompanyID, old.CreatedAt, moment(buyer.UpdatedAt)
		return create(u, s.orders.buyers, driver.BuyerRef{CompanyID: ref.CompanyID, Email: buyer.Email}, buyer,
			"buyers_pkey")
	})
}

func (tx *updating) UpdateOrderBuyers(ctx context.Context, orders []driver.Order) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		for _, order := range orders {
			number := driver.OrderNumber{CompanyID: order.CompanyID, Number: order.Number}
			kept, ok := s.orders.byNumber[number]
			if !ok {
				return driver.ErrNotFound
			}
			kept.BuyerEmail, kept.BuyerFullname, kept.BuyerPhone = order.BuyerEmail, order.BuyerFullname, order.BuyerPhone
			put(u, s.orders.byNumber, number, kept)
		}
		return nil
	})
}
