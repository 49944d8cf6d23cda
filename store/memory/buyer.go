package memory

import (
	"context"
	"maps"
	"slices"
	"strings"

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

// ListBuyers sorts the buyers of the company.
func (r reading) ListBuyers(ctx context.Context, query driver.BuyerQuery) ([]driver.Buyer, error) {
	return ask(ctx, r, func(s *state) []driver.Buyer {
		emails := slices.DeleteFunc(slices.Collect(maps.Keys(s.orders.buyers)), func(ref driver.BuyerRef) bool {
			return ref.CompanyID != query.CompanyID || !strings.HasPrefix(ref.Email, query.Prefix) ||
				ref.Email <= query.After
		})
		slices.SortFunc(emails, func(a, b driver.BuyerRef) int { return strings.Compare(a.Email, b.Email) })
		return each(emails[:min(max(query.Limit, 0), len(emails))], func(ref driver.BuyerRef) driver.Buyer {
			return s.orders.buyers[ref]
		})
	})
}
