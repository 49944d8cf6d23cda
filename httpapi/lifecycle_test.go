package httpapi_test

import (
	"errors"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/store/memory"
)

// The whole life of an event, with the Go client, is the same on every store: drafted, stocked, published, quoted,
// sold, admitted, listed and cancelled.
func TestLifecycleOnEveryStore(t *testing.T) {
	t.Parallel()
	stores := append([]testdb.Store{
		{Name: "memory", Open: func(testing.TB) driver.Store { return memory.New() }},
	}, testdb.Stores()...)
	for _, store := range stores {
		t.Run(store.Name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			ctx := t.Context()
			d := deployOn(t, store.Open(t), nil)
			api := d.api(t)

			event, err := api.CreateEvent(ctx, "event-0001", ticketing.CreateEventParams{
				Title: "Highlife Night", Date: "2030-12-24", StartsAt: "19:00", EndsAt: "23:00", Timezone: "Africa/Lagos",
				ImageURL: "https://images.example/a.jpg", TicketCategories: []string{"A/B 50%+"}, Status: ticketing.EventDraft,
			})
			is.NoErr(err)
			for i, tier := range []string{"A/B 50%+", "VIP"} {
				_, err = api.CreateInventory(ctx, event.ID, "batch-000"+string(rune('1'+i)), ticketing.CreateInventoryParams{
					Tier: tier, Title: "Seat", UnitPrice: 100_00, Currency: money.Currency, Quantity: 3,
					Status: ticketing.InventoryPaused,
				})
				is.NoErr(err)
			}
			asked := ticketing.QuoteParams{
				EventID: event.ID, Lines: []ticketing.QuoteLineParams{{Tier: "A/B 50%+", Quantity: 2}},
			}
			_, err = api.Quote(ctx, asked)
			is.True(errors.Is(err, ticketing.CodePricingUnavailable))
			_, err = api.UpdateEvent(ctx, event.ID, ticketing.UpdateEventParams{Status: new(ticketing.EventPublished)})
			is.NoErr(err)
			price := money.Amount(90_00)
			tier, err := api.UpdateInventory(ctx, event.ID, "A/B 50%+", ticketing.UpdateInventoryParams{
				UnitPrice: &price, Currency: new(money.Currency), IsFree: new(false),
			})
			is.NoErr(err)
			is.Equal(tier.AvailableQuantity, int64(3))

			quote, err := api.Quote(ctx, asked)
			is.NoErr(err)
			is.Equal(quote.Total, 2*price)
			basket := ticketing.CheckoutParams{
				EventID: event.ID, Buyer: ticketing.BuyerParams{Email: "Ada@Example.com"},
				Lines: []ticketing.CheckoutLineParams{{
					Tier: "A/B 50%+", Quantity: 2, ExpectedUnitPrice: 100_00, Currency: money.Currency,
				}},
			}
			_, err = api.Checkout(ctx, "cart-0001", basket) // at the old price
			is.True(errors.Is(err, ticketing.CodeInventoryUnavailable))
			basket.Lines[0].ExpectedUnitPrice = quote.Lines[0].UnitPrice
			order, err := api.Checkout(ctx, "cart-0001", basket) // The refusal has not used the key.
			is.NoErr(err)
			is.Equal(order.Gross, 2*price)
			is.Equal(order.Commission.Amount, money.Amount(4_50))
			again, err := api.Checkout(ctx, "cart-0001", basket)
			is.NoErr(err)
			is.Equal(again, order)
			basket.Lines[0].Quantity = 1
			_, err = api.Checkout(ctx, "cart-0001", basket)
			is.True(errors.Is(err, ticketing.CodeConflict))

			for i, want := range []ticketing.ValidationOutcome{ticketing.OutcomeAdmitted, ticketing.OutcomeAlreadyValidated} {
				scan, err := api.ValidateAdmission(ctx, event.ID, order.Lines[0].AdmissionID, "scan-000"+string(rune('1'+i)),
					ticketing.ValidateParams{Location: "Gate 1"})
				is.NoErr(err)
				is.Equal(scan.Outcome, want)
			}
			for listed, err := range api.Orders(ctx, ticketing.OrderFilter{EventID: event.ID}) {
				is.NoErr(err)
				is.Equal(listed, order)
			}
			for listed, err := range api.Events(ctx, ticketing.EventFilter{Status: ticketing.EventPublished}) {
				is.NoErr(err)
				is.Equal(listed.ID, event.ID)
			}

			_, err = api.CancelInventory(ctx, event.ID, "VIP")
			is.NoErr(err)
			cancelled, err := api.CancelEvent(ctx, event.ID)
			is.NoErr(err)
			is.Equal(cancelled.Status, ticketing.EventCancelled)
			got, err := api.GetEvent(ctx, event.ID)
			is.NoErr(err)
			is.Equal(got, cancelled)
			tiers, err := api.ListInventory(ctx, event.ID)
			is.NoErr(err)
			is.Equal(len(tiers), 2)
			is.Equal(tiers[0].TotalAdmissions, int64(3))
			is.Equal(tiers[0].Status, ticketing.InventoryCancelled)
			sold, err := api.GetOrder(ctx, order.ID)
			is.NoErr(err)
			is.Equal(sold, order)
			_, err = api.GetOrder(ctx, uuid.New())
			is.True(errors.Is(err, ticketing.CodeNotFound))
		})
	}
}
