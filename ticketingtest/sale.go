package ticketingtest

import (
	"testing"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/money"
)

// EventParams returns the params of the event that [Shop.Event] creates: a published evening in Lagos, a month after
// Opening.
func EventParams() ticketing.CreateEventParams {
	return ticketing.CreateEventParams{
		Title: "Lagos Night", Date: "2026-12-21", StartsAt: "19:00", EndsAt: "23:30", Timezone: "Africa/Lagos",
		Location: "Lagos", Venue: "The Shrine", ImageURL: "https://img.example.com/night.jpg",
		Status: ticketing.EventPublished,
	}
}

// Event creates an event from EventParams after the changes.
func (s *Shop) Event(t testing.TB, changes ...func(*ticketing.CreateEventParams)) ticketing.Event {
	t.Helper()
	params := EventParams()
	for _, change := range changes {
		change(&params)
	}
	event, err := s.CreateEvent(t.Context(), s.Caller, s.Key(), params)
	check(t, "create an event", err)
	return event
}

// Draft is a change for Event: the event is not published.
func Draft(p *ticketing.CreateEventParams) { p.Status = ticketing.EventDraft }

// InventoryParams returns the params of the batch that [Shop.Inventory] adds: on sale, titled like its tier.
func InventoryParams(tier string, price money.Amount, quantity int) ticketing.CreateInventoryParams {
	return ticketing.CreateInventoryParams{
		Tier: tier, Title: tier, UnitPrice: price, Currency: money.Currency, IsFree: price == 0, Quantity: quantity,
		Status: ticketing.InventoryAvailable,
	}
}

// Inventory adds admissions to a tier from InventoryParams after the changes. The price is in kobo.
func (s *Shop) Inventory(
	t testing.TB, eventID uuid.UUID, tier string, price money.Amount, quantity int,
	changes ...func(*ticketing.CreateInventoryParams),
) ticketing.InventoryTier {
	t.Helper()
	params := InventoryParams(tier, price, quantity)
	for _, change := range changes {
		change(&params)
	}
	added, err := s.CreateInventory(t.Context(), s.Caller, eventID, s.Key(), params)
	check(t, "create inventory", err)
	return added
}

// Paused is a change for Inventory: the batch is not on sale.
func Paused(p *ticketing.CreateInventoryParams) { p.Status = ticketing.InventoryPaused }

// Basket returns a checkout of one line for a buyer without a name, at a price in kobo.
func Basket(eventID uuid.UUID, tier string, price money.Amount, quantity int) ticketing.CheckoutParams {
	return ticketing.CheckoutParams{
		EventID: eventID, Buyer: ticketing.BuyerParams{Email: "ada@example.com"},
		Lines: []ticketing.CheckoutLineParams{
			{Tier: tier, Quantity: quantity, ExpectedUnitPrice: price, Currency: money.Currency},
		},
	}
}

// Sell quotes and checks out at the quoted price.
func (s *Shop) Sell(t testing.TB, eventID uuid.UUID, tier string, quantity int) ticketing.Order {
	t.Helper()
	quote, err := s.Quote(t.Context(), s.Caller, ticketing.QuoteParams{
		EventID: eventID, Lines: []ticketing.QuoteLineParams{{Tier: tier, Quantity: quantity}},
	})
	check(t, "quote", err)
	order, err := s.Checkout(t.Context(), s.Caller, s.Key(), Basket(eventID, tier, quote.Lines[0].UnitPrice, quantity))
	check(t, "check out", err)
	return order
}

// Scan validates an admission as a new scan at the gate.
func (s *Shop) Scan(t testing.TB, eventID, admissionID uuid.UUID) ticketing.TicketValidation {
	t.Helper()
	validation, err := s.ValidateAdmission(
		t.Context(), s.Caller, eventID, admissionID, s.Key(), ticketing.ValidateParams{Location: "Main gate"},
	)
	check(t, "validate an admission", err)
	return validation
}

// Credit funds FLOAT with an amount in kobo, under a new provider reference.
func (s *Shop) Credit(t testing.TB, amount money.Amount) {
	t.Helper()
	_, err := s.Staff.CreditFloat(t.Context(), s.Company.ID, s.Key(), amount)
	check(t, "credit FLOAT", err)
}

// Wallets returns the company's current balances.
func (s *Shop) Wallets(t testing.TB) ticketing.Wallets {
	t.Helper()
	wallets, err := s.Staff.GetWallets(t.Context(), s.Company.ID)
	check(t, "read the wallets", err)
	return wallets
}
