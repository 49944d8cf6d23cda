package ticketing_test

import (
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"
	"pgregory.net/rapid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/store/memory"
	"github.com/floatgate/ticketing/ticketingtest"
)

// TestRestock checks that a refund with restock makes the admissions unsold again at the price of their batch. They are
// paused if the event is a draft, and not restocked if it is terminal. The total never changes.
func TestRestock(t *testing.T) {
	t.Parallel()
	patchTier := func(t *testing.T, shop *ticketingtest.Shop, event uuid.UUID, price money.Amount,
		status ticketing.InventoryStatus,
	) {
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
		// stock is how many admissions there are at 100.00 before two are sold.
		stock     int
		then      func(t *testing.T, shop *ticketingtest.Shop, event uuid.UUID)
		restocked bool
		// want is the status, the available and total number, and the price afterwards.
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
				unsell(t, shop, event)
			},
		},
		{
			name: "sold out in a tier of which the rest was cancelled", stock: 2, restocked: true, want: "CANCELLED 0 3 -",
			then: func(t *testing.T, shop *ticketingtest.Shop, event uuid.UUID) {
				shop.Inventory(t, event, "VIP", 70_00, 1)
				unsell(t, shop, event)
			},
		},
		{
			name: "cancelled tier on a draft", stock: 5, restocked: true, want: "CANCELLED 0 5 -",
			then: func(t *testing.T, shop *ticketingtest.Shop, event uuid.UUID) {
				unsell(t, shop, event)
				unpublish(t, shop, event)
			},
		},
		{
			name: "sold out in a tier of which the rest was cancelled, on a draft", stock: 2, restocked: true,
			want: "CANCELLED 0 3 -",
			then: func(t *testing.T, shop *ticketingtest.Shop, event uuid.UUID) {
				shop.Inventory(t, event, "VIP", 70_00, 1)
				unsell(t, shop, event)
				unpublish(t, shop, event)
			},
		},
		{
			name: "cancelled batch beside one that was added on a draft", stock: 5, restocked: true, want: "PAUSED 0 6 70.00",
			then: func(t *testing.T, shop *ticketingtest.Shop, event uuid.UUID) {
				unsell(t, shop, event)
				unpublish(t, shop, event)
				shop.Inventory(t, event, "VIP", 70_00, 1)
			},
		},
		{
			name: "sold out in a cancelled tier to which a batch was added", stock: 2, restocked: true,
			want: "AVAILABLE 3 4 70.00",
			then: func(t *testing.T, shop *ticketingtest.Shop, event uuid.UUID) {
				shop.Inventory(t, event, "VIP", 80_00, 1)
				unsell(t, shop, event)
				shop.Inventory(t, event, "VIP", 70_00, 1)
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

// TestACancelledTierStaysCancelled checks that a cancelled tier stays cancelled, whatever becomes of the event and of
// earlier orders. Publishing releases paused admissions, but the tier has none. Only new admissions put the tier back
// on sale, and they alone are sold.
func TestACancelledTierStaysCancelled(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		stock  int // of the first batch, of which two are sold
		before int // of the second batch, added before the tier is cancelled
		total  int64
	}{
		{name: "sold out, and a batch was added", stock: 2, before: 3, total: 5},
		{name: "not sold out", stock: 4, total: 4},
		{name: "not sold out, and a batch was added", stock: 4, before: 3, total: 7},
	}
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		for _, test := range tests {
			t.Run(test.name, func(t *testing.T) {
				is := is.New(t)
				event := shop.Event(t).ID
				shop.Inventory(t, event, "VIP", 100_00, test.stock)
				first, second := shop.Sell(t, event, "VIP", 1), shop.Sell(t, event, "VIP", 1)
				if test.before > 0 {
					shop.Inventory(t, event, "VIP", 70_00, test.before)
				}
				unsell(t, shop, event)
				refund := func(order ticketing.Order) {
					t.Helper()
					_, err := shop.Staff.RefundOrder(t.Context(), order.ID, ticketing.RefundParams{Reason: ill, Restock: true})
					is.NoErr(err)
				}
				stays := func() {
					t.Helper()
					tier := tiers(t, shop, event)["VIP"]
					is.Equal(tier.Status, ticketing.InventoryCancelled)
					is.Equal(tier.AvailableQuantity, int64(0))
					is.Equal(tier.TotalAdmissions, test.total)
					is.True(tier.UnitPrice == nil)
				}
				unpublish(t, shop, event)
				refund(first)
				stays()
				publish(t, shop, event)
				stays()
				_, err := shop.Quote(t.Context(), shop.Caller, ticketing.QuoteParams{
					EventID: event, Lines: []ticketing.QuoteLineParams{{Tier: "VIP", Quantity: 1}},
				})
				is.Equal(code(err), ticketing.CodePricingUnavailable)

				// From here on the tier has admissions again.
				unpublish(t, shop, event)
				shop.Inventory(t, event, "VIP", 90_00, 1)
				refund(second)
				publish(t, shop, event)
				tier := tiers(t, shop, event)["VIP"]
				is.Equal(tier.Status, ticketing.InventoryAvailable)
				is.Equal(tier.AvailableQuantity, int64(1))
				is.Equal(tier.UnitPrice.String(), "90.00")
			})
		}
	})
}

// unsell cancels the unsold admissions of VIP.
func unsell(t testing.TB, shop *ticketingtest.Shop, event uuid.UUID) {
	t.Helper()
	_, err := shop.CancelInventory(t.Context(), shop.Caller, event, "VIP")
	is.New(t).NoErr(err)
}

// TestRestockedAdmissionsAreSoldAgain checks that restocked admissions are sold again under new ids, and that the
// admissions of the refunded order stay void.
func TestRestockedAdmissionsAreSoldAgain(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		event := shop.Event(t)
		shop.Inventory(t, event.ID, "VIP", 100_00, 2)
		shop.Inventory(t, event.ID, "REGULAR", 50_00, 3)
		first, err := shop.Checkout(t.Context(), shop.Caller, shop.Key(), ticketing.CheckoutParams{
			EventID: event.ID, Buyer: ticketing.BuyerParams{Email: "ada@example.com"},
			Lines: []ticketing.CheckoutLineParams{
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
			_, err := shop.ValidateAdmission(t.Context(), shop.Caller, event.ID, line.AdmissionID, shop.Key(),
				ticketing.ValidateParams{})
			is.Equal(code(err), ticketing.CodeConflict)
		}
	})
}

// TestRestockedOnADraftIsReleased checks that admissions that were restocked on a draft are paused, and go on sale when
// it is published. The status of the other admissions does not matter.
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

// TestStockAgreesWithTheModel checks the same for random sequences of everything that changes a tier: batches of
// several prices, sales, cancellations, drafts, refunds.
func TestStockAgreesWithTheModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		drawn := drawnTB{TB: t, r: r}
		m := newModel(drawn, r, memory.New())
		event := func(status ticketing.EventStatus) func(*rapid.T) {
			return func(r *rapid.T) { m.publishOrNot(r, m.events[0], status) }
		}
		m.agree(r, map[string]func(*rapid.T){
			"draft":            event(ticketing.EventDraft),
			"publish":          event(ticketing.EventPublished),
			"cancel event":     m.cancelEvent,
			"create inventory": m.createInventory,
			"patch inventory":  m.patchInventory,
			"cancel inventory": m.cancelInventory,
			"checkout":         m.checkout,
			"checkout more":    m.checkout,
			"refund":           m.refund,
			"refund more":      m.refund,
			"":                 m.compare,
		})
	})
}
