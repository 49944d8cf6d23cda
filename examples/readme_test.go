package examples_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/httpapi"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/store/memory"
)

func Example_readme() {
	ctx := context.Background()
	svc, err := ticketing.New(memory.New(), nil) // store.Open opens SQLite or PostgreSQL.
	check(err)
	caller, eventID := readyToSell(ctx, svc) // A company with float, and an event on sale.
	order, err := svc.Checkout(ctx, caller, "cart-0001", ticketing.CheckoutParams{
		EventID: eventID, Buyer: ticketing.BuyerParams{Email: "ada@example.com"},
		Lines: []ticketing.CheckoutLineParams{{Tier: "VIP", Quantity: 2, ExpectedUnitPrice: 15_000_00, Currency: "NGN"}},
	})
	check(err)
	fmt.Println(order.Status, order.Gross, order.Commission.Amount)

	listen(httpapi.New(svc, nil)) // The API over HTTP is an http.Handler.
	// Output:
	// CONFIRMED 30000.00 750.00
	// 200 OK
}

// readyToSell makes a company that can sell, with an event on sale.
func readyToSell(ctx context.Context, svc *ticketing.Service) (ticketing.Caller, uuid.UUID) {
	staff := svc.As(ticketing.Staff("onboarding"))
	company, err := staff.CreateCompany(ctx, "Lagos Live")
	check(err)
	_, err = staff.ApproveVerification(ctx, company.ID, ticketing.ApprovalParams{})
	check(err)
	rate, err := money.ParseRate("2.5", money.Percent)
	check(err)
	_, err = staff.ScheduleCommission(ctx, company.ID, ticketing.CommissionParams{Rate: rate})
	check(err)
	_, err = staff.CreditFloat(ctx, company.ID, "settlement-0001", 1_000_000_00)
	check(err)
	caller := ticketing.TrustedCaller(company.ID, ticketing.AllGrants()...)
	event, err := svc.CreateEvent(ctx, caller, "event-highlife", ticketing.CreateEventParams{
		Title: "Highlife Night", Date: "2030-12-24", StartsAt: "19:00", EndsAt: "23:00", Timezone: "Africa/Lagos",
		ImageURL: "https://images.example/highlife.jpg", Status: ticketing.EventPublished,
	})
	check(err)
	_, err = svc.CreateInventory(ctx, caller, event.ID, "batch-highlife-vip", ticketing.CreateInventoryParams{
		Tier: "VIP", Title: "VIP seat", UnitPrice: 15_000_00, Currency: money.Currency, Quantity: 200,
		Status: ticketing.InventoryAvailable,
	})
	check(err)
	return caller, event.ID
}

// listen asks a handler for its public document.
func listen(handler http.Handler) {
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, httpapi.DefaultPrefix+"/openapi.json", http.NoBody))
	fmt.Println(recorder.Result().Status)
}

// Every Go block of the README is the body of an example above, byte for byte.
func TestREADMEShowsTheExamples(t *testing.T) {
	t.Parallel()
	shows(t, "../README.md", "readme_test.go")
}
