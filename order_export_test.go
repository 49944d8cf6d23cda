package ticketing_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/ticketingtest"
)

// TestExportHasEachOrderOnce checks that the pages of an export have the orders of the list, each once and with its
// figures, whatever the filter is.
func TestExportHasEachOrderOnce(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 150_00, 20)
		shop.Inventory(t, event.ID, "REGULAR", 50_00, 20)
		var first ticketing.Order
		for i := range 7 {
			params := ticketingtest.Basket(event.ID, "VIP", 150_00, 2)
			params.Lines = append(params.Lines, ticketingtest.Basket(event.ID, "REGULAR", 50_00, 1).Lines...)
			order, err := shop.Checkout(t.Context(), shop.Caller, shop.Key(), params)
			is.NoErr(err)
			if i == 0 {
				first = order
				shop.Scan(t, event.ID, order.Lines[2].AdmissionID)
			}
			shop.Clock.Advance(time.Minute)
		}
		_, err := shop.Staff.RefundOrder(t.Context(), first.ID, ticketing.RefundParams{Reason: "The buyer is ill"})
		is.NoErr(err)

		for _, search := range []ticketing.OrderSearch{
			{},
			{OrderFilter: ticketing.OrderFilter{EventID: event.ID}},
			{Email: first.Buyer.Email},
			{From: first.ConfirmedAt.Add(time.Minute), To: first.ConfirmedAt.Add(4 * time.Minute)},
			{OrderFilter: ticketing.OrderFilter{Statuses: []ticketing.OrderStatus{ticketing.OrderRefunded}}},
		} {
			search.Limit = ticketing.MaxPageLimit
			listed, err := shop.Staff.ListOrders(t.Context(), shop.Company.ID, search)
			is.NoErr(err)
			is.True(len(listed.Items) > 0)
			search.Limit = 3
			var exported []ticketing.ExportedOrder
			for more := true; more; more = search.Cursor != "" {
				page, err := shop.Staff.ExportOrders(t.Context(), shop.Company.ID, search)
				is.NoErr(err)
				exported, search.Cursor = append(exported, page.Items...), page.NextCursor
			}
			is.Equal(len(exported), len(listed.Items))
			for i, order := range listed.Items {
				admitted := 0
				if order.ID == first.ID {
					admitted = 1
				}
				is.Equal(exported[i], ticketing.ExportedOrder{
					ID: order.ID, Status: order.Status, ConfirmedAt: order.ConfirmedAt, EventID: order.EventID,
					EventTitle: order.EventTitle, Buyer: order.Buyer,
					Tiers:    []ticketing.ExportedTier{{Tier: "REGULAR", Tickets: 1}, {Tier: "VIP", Tickets: 2}},
					Admitted: admitted, Gross: order.Gross, Commission: order.Commission.Amount, Ending: order.Ending,
				})
			}
		}
		all := ticketing.OrderSearch{}
		all.Limit = ticketing.MaxExportLimit + 1
		_, err = shop.Staff.ExportOrders(t.Context(), shop.Company.ID, all)
		is.Equal(code(err), ticketing.CodeInvalidRequest)
		all.Limit, all.Cursor = 0, "x"
		_, err = shop.Staff.ExportOrders(t.Context(), shop.Company.ID, all)
		is.Equal(code(err), ticketing.CodeInvalidCursor)
		_, err = shop.Staff.ExportOrders(t.Context(), uuid.New(), ticketing.OrderSearch{})
		is.Equal(code(err), ticketing.CodeNotFound)
	})
}
