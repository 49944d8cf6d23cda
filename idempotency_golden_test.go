package ticketing_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ticketingtest"
)

// TestKeptResultsStayAsTheyWereWritten checks that the stored result of a used key outlives the release that wrote it:
// the digest that recognizes the same input, and the body. The golden file only ever grows. After a change that breaks
// it, a replay of an older key would be a CONFLICT, or return another result.
func TestKeptResultsStayAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	shop := ticketingtest.New(t, nil)
	ctx, caller := t.Context(), shop.Caller
	event, err := shop.CreateEvent(ctx, caller, "event-0001", ticketing.CreateEventParams{
		Title: "Lagos <Night>", Description: "Line one\r\n\tLine two", Date: "2026-12-21", StartsAt: "19:00",
		EndsAt: "02:00", Timezone: "Africa/Lagos", Location: "Lagos", Venue: "The Shrine",
		ImageURL: "https://img.example.com/a?b=c&d", OrganizerName: "Adire", TicketCategories: []string{"Balcony"},
		Status: ticketing.EventPublished,
	})
	is.NoErr(err)
	_, err = shop.CreateInventory(ctx, caller, event.ID, "stock-0001", ticketing.CreateInventoryParams{
		Tier: "Balcony", Title: "Balcony seat", Description: "Above", UnitPrice: 150_05, Currency: "NGN", Quantity: 10,
		Status: ticketing.InventoryAvailable,
	})
	is.NoErr(err)
	order, err := shop.Checkout(ctx, caller, "cart-00001", ticketing.CheckoutParams{
		EventID: event.ID,
		Buyer:   ticketing.BuyerParams{Email: "ada@example.com", Fullname: "Ada Obi", Phone: "+2348012345678"},
		Lines:   []ticketing.CheckoutLineParams{{Tier: "Balcony", Quantity: 2, ExpectedUnitPrice: 150_05, Currency: "NGN"}},
	})
	is.NoErr(err)
	_, err = shop.ValidateAdmission(ctx, caller, event.ID, order.Lines[0].AdmissionID, "scan-00001",
		ticketing.ValidateParams{Location: "Gate 1"})
	is.NoErr(err)

	type kept struct {
		Operation, Key, Digest, Outcome string
		Body                            json.RawMessage `json:",omitempty"`
	}
	var got []kept
	is.NoErr(shop.Store.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, driver.BeginOptions{}); err != nil {
			return err
		}
		refs := []driver.IdempotencyKey{
			{CompanyID: shop.Company.ID, Operation: "events.create", Key: "event-0001"},
			{CompanyID: shop.Company.ID, Operation: "inventory.create", Key: "stock-0001"},
			{CompanyID: shop.Company.ID, Operation: "checkouts.create", Key: "cart-00001"},
			{CompanyID: shop.Company.ID, Operation: "admissions.validate", Key: "scan-00001"},
		}
		found, err := tx.Results(ctx, refs)
		got = nil
		for _, r := range found {
			got = append(got, kept{r.Operation, r.Key, r.Digest, r.Outcome, r.Body})
		}
		return err
	}))
	text, err := json.MarshalIndent(got, "", "  ")
	is.NoErr(err)
	want, err := os.ReadFile(filepath.Join("testdata", "results.json"))
	is.NoErr(err)
	is.Equal(string(text), strings.TrimSpace(string(want)))
}
