package examples_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"testing"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/client"
	"github.com/floatgate/ticketing/httpapi"
	"github.com/floatgate/ticketing/internal/contracttest"
	"github.com/floatgate/ticketing/money"
)

func Example_client() {
	ctx := context.Background()
	baseURL, apiKey, eventID := serveAPI(ctx) // such as https://tickets.example/api/public/v1

	api, err := client.New(baseURL, apiKey, nil)
	check(err)
	quote, err := api.Quote(ctx, ticketing.QuoteParams{
		EventID: eventID, Lines: []ticketing.QuoteLineParams{{Tier: "VIP", Quantity: 2}},
	})
	check(err)
	order, err := api.Checkout(ctx, "cart-0001", ticketing.CheckoutParams{ // Keep key and parameters before you call.
		EventID: eventID, Buyer: ticketing.BuyerParams{Email: "ada@example.com"},
		Lines: []ticketing.CheckoutLineParams{{
			Tier: "VIP", Quantity: 2, ExpectedUnitPrice: quote.Lines[0].UnitPrice, Currency: money.Currency,
		}},
	})
	switch {
	case errors.Is(err, client.ErrAmbiguous):
		fmt.Println("perhaps sold: make the same call again, later or after a restart")
	case errors.Is(err, ticketing.CodeInventoryUnavailable):
		fmt.Println("quote again")
	case err != nil:
		fmt.Println("not sold:", err)
	default:
		fmt.Println(order.Status, order.Gross)
	}
	for order, err := range api.Orders(ctx, ticketing.OrderFilter{EventID: eventID}) { // all, page by page
		check(err)
		fmt.Println(order.Buyer.Email, len(order.Lines))
	}
	// Output:
	// CONFIRMED 30000.00
	// ada@example.com 2
}

// serveAPI serves the API of a company that can sell, until the process ends.
func serveAPI(ctx context.Context) (baseURL, apiKey string, eventID uuid.UUID) {
	_, _, svc, caller, basket := openHost(ctx)
	staff := svc.As(ticketing.Staff("onboarding"))
	issued, err := staff.IssueAPIKey(ctx, caller.CompanyID(), "storefront", ticketing.AllGrants())
	check(err)
	server := httptest.NewServer(contracttest.New(contracttest.Panic, svc, nil))
	return server.URL + httpapi.DefaultPrefix, issued.Key, basket.EventID
}

// Every Go block of docs/api.md is the body of an example above, byte for byte.
func TestAPIPageShowsTheExamples(t *testing.T) {
	t.Parallel()
	shows(t, "../docs/api.md", "api_test.go")
}
