package ticketing_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/ticketingtest"
)

// A refund with restock puts the admissions back as unsold at the price of their batch: paused if the event is a draft,
// not at all if it is terminal. How many there are in all never changes.
func TestRestock(t *testing.T) {
	t.Parallel()
	patchTier := func(t *testing.T, shop *ticketingtest.Shop, event uuid.UUID, price money.Amount, status ticketing.InventoryStatus) {
		t.Helper()
		params := ticketing.UpdateInventoryParams{Status: &status}
		if price > 0 {
			params.UnitPrice, params.Currency, params.IsFree = &price, of("NGN"), of(false)
		}
		_, err := shop.UpdateInventory(t.Context(), shop.Caller, event, "VIP", params)
		is.New(t).NoErr(err)
	}
	tests := []struct {
		name string
		// stock is how many there are at 100.00 before two are sold.
		stock     int
		then      func(t *testing.T, shop *ticketingtest.Shop, event uuid.UUID)
		restocked bool
		// want is status, available, total and price afterwards.
		want string
	}{
		{name: "some left", stock: 5, restocked: true, want: "AVAILABLE 5 5 100.00"},
		{name: "sold out", stock: 2, restocked: true, want: "AVAILABLE 2 2 100.00"},
		{
			name: "draft", stock: 5, restocked: true, want: "PAUSED 0 5 100.00",
			then: func(t *testing.T, shop *ticketingtest.Shop, event uuid.UUID) { unpublish(t, shop, event) },
		},
		{
			name: "sold out on a draft", stock: 2, restocked: true, want: "PAUSED 0 2 100.00",
			then: func(t *testing.T, shop *ticketingtest.Shop, event uuid.UUID) { unpublish(t, shop, event) },
		},
		{
			name: "draft whose stock is on sale", stock: 5, restocked: true, want: "AVAILABLE 3 5 100.00",
			then: func(t *testing.T, shop *ticketingtest.Shop, event uuid.UUID) {
				unpublish(t, shop, event)
				patchTier(t, shop, event, 0, ticketing.InventoryAvailable)
			},
		},
		{
			name: "paused", stock: 5, restocked: true, want: "PAUSED 0 5 100.00",
			then: func(t *testing.T, shop *ticketingtest.Shop, event uuid.UUID) {
				patchTier(t, shop, event, 0, ticketing.InventoryPaused)
			},
		},
		{
			name: "another price", stock: 5, restocked: true, want: "AVAILABLE 5 5 80.00",
			then: func(t *testing.T, shop *ticketingtest.Shop, event uuid.UUID) {
				patchTier(t, shop, event, 80_00, ticketing.InventoryAvailable)
			},
		},
		{
			name: "sold out beside a paused batch", stock: 2, restocked: true, want: "PAUSED 0 3 70.00",
			then: func(t *testing.T, shop *ticketingtest.Shop, event uuid.UUID) {
				shop.Inventory(t, event, "VIP", 70_00, 1, ticketingtest.Paused)
			},
		},
		{
			name: "sold out beside a batch on sale", stock: 2, restocked: true, want: "AVAILABLE 3 3 70.00",
			then: func(t *testing.T, shop *ticketingtest.Shop, event uuid.UUID) {
				shop.Inventory(t, event, "VIP", 70_00, 1)
			},
		},
		{
			name: "paused beside a batch on sale", stock: 5, restocked: true, want: "AVAILABLE 1 6 70.00",
			then: func(t *testing.T, shop *ticketingtest.Shop, event uuid.UUID) {
				patchTier(t, shop, event, 0, ticketing.InventoryPaused)
				shop.Inventory(t, event, "VIP", 70_00, 1)
			},
		},
		{
			name: "cancelled tier", stock: 5, restocked: true, want: "CANCELLED 0 5 -",
			then: func(t *testing.T, shop *ticketingtest.Shop, event uuid.UUID) {
				_, err := shop.CancelInventory(t.Context(), shop.Caller, event, "VIP")
				is.New(t).NoErr(err)
			},
		},
		{
			name: "sold out in a tier of which the rest was cancelled", stock: 2, restocked: true, want: "CANCELLED 0 3 -",
			then: func(t *testing.T, shop *ticketingtest.Shop, event uuid.UUID) {
				shop.Inventory(t, event, "VIP", 70_00, 1)
				_, err := shop.CancelInventory(t.Context(), shop.Caller, event, "VIP")
				is.New(t).NoErr(err)
			},
		},
		{
			name: "cancelled event", stock: 5, want: "CANCELLED 0 5 -",
			then: func(t *testing.T, shop *ticketingtest.Shop, event uuid.UUID) {
				_, err := shop.CancelEvent(t.Context(), shop.Caller, event)
				is.New(t).NoErr(err)
			},
		},
		{
			name: "ended event", stock: 5, want: "AVAILABLE 3 5 100.00",
			then: func(t *testing.T, shop *ticketingtest.Shop, event uuid.UUID) {
				_, err := shop.Staff.EndEvent(t.Context(), event)
				is.New(t).NoErr(err)
			},
		},
	}
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				is := is.New(t)
				event := shop.Event(t)
				shop.Inventory(t, event.ID, "VIP", 100_00, test.stock)
				order := shop.Sell(t, event.ID, "VIP", 2)
				if test.then != nil {
					test.then(t, shop, event.ID)
				}
				refunded, err := shop.Staff.RefundOrder(t.Context(), order.ID, ticketing.RefundParams{Reason: ill, Restock: true})
				is.NoErr(err)
				is.Equal(refunded.Status, ticketing.OrderRefunded)
				is.Equal(refunded.Ending.Restocked, test.restocked)
				tier, price := tiers(t, shop, event.ID)["VIP"], "-"
				if tier.UnitPrice != nil {
					price = tier.UnitPrice.String()
				}
				is.Equal(fmt.Sprint(tier.Status, " ", tier.AvailableQuantity, tier.TotalAdmissions, " ", price), test.want)
			})
		}
	})
}

// What was put back is sold again, under ids of its own; the tickets of the refunded order stay void.
func TestRestockedAdmissionsAreSoldAgain(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 100_00, 2)
		shop.Inventory(t, event.ID, "REGULAR", 50_00, 3)
		first, err := shop.Checkout(t.Context(), shop.Caller, shop.Key(), ticketing.CheckoutParams{
			EventID: event.ID, Buyer: ticketing.BuyerParams{Email: "ada@example.com"},
			Lines: []ticketing.CheckoutLine{
				{Tier: "VIP", Quantity: 2, ExpectedUnitPrice: 100_00, Currency: "NGN"},
				{Tier: "REGULAR", Quantity: 3, ExpectedUnitPrice: 50_00, Currency: "NGN"},
			},
		})
		is.NoErr(err)
		_, err = shop.Staff.RefundOrder(t.Context(), first.ID, ticketing.RefundParams{Reason: ill, Restock: true})
		is.NoErr(err)
		second := shop.Sell(t, event.ID, "VIP", 2)
		third := shop.Sell(t, event.ID, "REGULAR", 3)
		is.Equal(tiers(t, shop, event.ID)["VIP"].Status, ticketing.InventorySoldOut)
		is.Equal(tiers(t, shop, event.ID)["REGULAR"].Status, ticketing.InventorySoldOut)
		for _, line := range append(second.Lines, third.Lines...) {
			is.Equal(shop.Scan(t, event.ID, line.AdmissionID).Outcome, ticketing.OutcomeAdmitted)
		}
		for _, line := range first.Lines {
			_, err := shop.ValidateAdmission(t.Context(), shop.Caller, event.ID, line.AdmissionID, shop.Key(), ticketing.ValidateParams{})
			is.Equal(code(err), ticketing.CodeConflict)
		}
	})
}

// What was put back paused on a draft goes on sale with its publication, apart from what was on sale before or not.
func TestRestockedOnADraftIsReleased(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 100_00, 5)
		order := shop.Sell(t, event.ID, "VIP", 2)
		unpublish(t, shop, event.ID)
		_, err := shop.UpdateInventory(t.Context(), shop.Caller, event.ID, "VIP",
			ticketing.UpdateInventoryParams{Status: of(ticketing.InventoryAvailable)})
		is.NoErr(err)
		_, err = shop.Staff.RefundOrder(t.Context(), order.ID, ticketing.RefundParams{Reason: ill, Restock: true})
		is.NoErr(err)
		is.Equal(tiers(t, shop, event.ID)["VIP"].AvailableQuantity, int64(3))
		publish(t, shop, event.ID)
		is.Equal(tiers(t, shop, event.ID)["VIP"].AvailableQuantity, int64(5))
		shop.Sell(t, event.ID, "VIP", 5)
	})
}
