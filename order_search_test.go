package ticketing_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/ticketingtest"
)

// TestOrdersOfABuyerAreFoundWhereTheIndexEnds checks that the orders of a buyer are found whether their facts are
// dispatched or wait, also where so many were sold since that the place of the oldest fact is only found roughly.
func TestOrdersOfABuyerAreFoundWhereTheIndexEnds(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	shop := ticketingtest.New(t, nil)
	event := shop.Event(t)
	shop.Inventory(t, event.ID, "VIP", 1_00, 1000)
	shop.Inventory(t, event.ID, "VIP", 1_00, 1000)
	const before, since = 900, 700 // The index is only known to a few hundred orders.
	var want []uuid.UUID           // newest first
	for i := range before + since {
		if i == before {
			dispatch(t, shop)
		}
		shop.Clock.Advance(time.Second)
		basket := ticketingtest.Basket(event.ID, "VIP", 1_00, 1)
		basket.Buyer.Email = fmt.Sprintf("buyer-%d@example.com", i)
		if i%50 == 0 || max(i-before, before-i) < 5 {
			basket.Buyer.Email = "ada@example.com"
		}
		order, err := shop.Checkout(t.Context(), shop.Caller, shop.Key(), basket)
		is.NoErr(err)
		if basket.Buyer.Email == "ada@example.com" {
			want = slices.Insert(want, 0, order.ID)
		}
	}
	found := func(search ticketing.OrderSearch) (ids []uuid.UUID) {
		search.Email = "ada@example.com"
		for {
			page, err := shop.Staff.ListOrders(t.Context(), shop.Company.ID, search)
			is.NoErr(err)
			for _, order := range page.Items {
				ids = append(ids, order.ID)
			}
			if !page.HasMore {
				return ids
			}
			search.Cursor = page.NextCursor
		}
	}
	for _, limit := range []int{1, 7, ticketing.MaxPageLimit} {
		search := ticketing.OrderSearch{}
		search.Limit = limit
		is.Equal(found(search), want) // limit
	}
	preview, err := shop.Staff.PreviewErasure(t.Context(), shop.Company.ID, "ada@example.com")
	is.NoErr(err)
	is.Equal(preview.Orders, len(want))
}
