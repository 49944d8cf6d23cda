package client_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/client"
	"github.com/floatgate/ticketing/httpapi"
	"github.com/floatgate/ticketing/internal/contracttest"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/store/memory"
)

// A client for a gate: few attempts, short times, and its own request id.
func ExampleNew() {
	baseURL, apiKey, _, end := deployment()
	defer end()

	api, err := client.New(baseURL, apiKey, &client.Config{Attempts: 2, Timeout: 3 * time.Second})
	if err != nil {
		panic(err)
	}
	ctx := client.WithRequestID(context.Background(), "gate-1-0001")
	if err := api.Verify(ctx); err != nil { // The first call does so, too; this fails early.
		panic(err)
	}
	_, err = api.ValidateAdmission(ctx, uuid.New(), uuid.New(), "scan-0001", ticketing.ValidateParams{Location: "Gate 1"})
	if errors.Is(err, ticketing.CodeNotFound) {
		fmt.Println(err)
	}
	// Output:
	// client: HTTP 404: NOT_FOUND: The admission was not found. (request gate-1-0001)
}

// A sale: quote, check out at the quoted prices, and handle every failure.
func ExampleClient_Checkout() {
	baseURL, apiKey, eventID, end := deployment()
	defer end()
	ctx := context.Background()
	api, err := client.New(baseURL, apiKey, nil)
	if err != nil {
		panic(err)
	}

	quote, err := api.Quote(ctx, ticketing.QuoteParams{
		EventID: eventID, Lines: []ticketing.QuoteLineParams{{Tier: "VIP", Quantity: 2}},
	})
	if err != nil {
		panic(err)
	}
	// The program keeps the key and the parameters before the call: after ErrAmbiguous it sends them again unchanged.
	key, basket := "cart-0001", ticketing.CheckoutParams{
		EventID: eventID, Buyer: ticketing.BuyerParams{Email: "ada@example.com"},
		Lines: []ticketing.CheckoutLineParams{{
			Tier: "VIP", Quantity: 2, ExpectedUnitPrice: quote.Lines[0].UnitPrice, Currency: quote.Currency,
		}},
	}
	order, err := api.Checkout(ctx, key, basket)
	refused, _ := errors.AsType[*client.Error](err)
	switch {
	case err == nil:
		fmt.Println(order.Status, order.Gross)
	case errors.Is(err, client.ErrAmbiguous):
		fmt.Println("perhaps sold: the same call again tells")
	case errors.Is(err, ticketing.CodeInventoryUnavailable):
		fmt.Println("quote again")
	case refused != nil:
		fmt.Println("not sold:", refused.Status, refused.Refusal.Code, refused.RequestID)
	default:
		fmt.Println("not sent:", err)
	}
	// Output:
	// CONFIRMED 300.00
}

// A transport sees every request and answer: here it logs them.
func ExampleConfig() {
	baseURL, apiKey, _, end := deployment()
	defer end()

	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{} // The example's output is the same each time.
			}
			return a
		},
	}))
	api, err := client.New(baseURL, apiKey, &client.Config{
		Transport: logged{http.DefaultTransport, logger},
		UserAgent: "shop/2.1",
		OnRetry: func(ctx context.Context, failure error, wait time.Duration) {
			logger.WarnContext(ctx, "trying again", "failure", failure, "wait", wait)
		},
	})
	if err != nil {
		panic(err)
	}
	ctx := client.WithRequestID(context.Background(), "nightly-0001")
	if _, err := api.ListOrders(ctx, ticketing.OrderFilter{}); err != nil {
		panic(err)
	}
	// Output:
	// level=INFO msg=called method=GET path=/api/public/v1/openapi.json status=200 request=nightly-0001
	// level=INFO msg=called method=GET path=/api/public/v1/orders status=200 request=nightly-0001
}

// logged logs what section 7 allows: no Authorization header and no body.
type logged struct {
	next   http.RoundTripper
	logger *slog.Logger
}

func (l logged) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := l.next.RoundTrip(r)
	if err == nil {
		l.logger.InfoContext(r.Context(), "called", "method", r.Method, "path", r.URL.Path,
			"status", response.StatusCode, "request", response.Header.Get("X-Request-Id"))
	}
	return response, err
}

// An iterator requests the pages.
func ExampleClient_Events() {
	baseURL, apiKey, _, end := deployment()
	defer end()
	api, err := client.New(baseURL, apiKey, nil)
	if err != nil {
		panic(err)
	}
	for event, err := range api.Events(context.Background(), ticketing.EventFilter{Status: ticketing.EventPublished}) {
		if err != nil {
			panic(err)
		}
		fmt.Println(event.Title)
	}
	// Output:
	// Highlife Night
}

// deployment serves the API of a company that can sell.
func deployment() (baseURL, apiKey string, eventID uuid.UUID, end func()) {
	ctx := context.Background()
	must := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	svc, err := ticketing.New(memory.New(), nil)
	must(err)
	staff := svc.As(ticketing.Staff("onboarding"))
	company, err := staff.CreateCompany(ctx, "Lagos Live")
	must(err)
	_, err = staff.ApproveVerification(ctx, company.ID, ticketing.ApprovalParams{})
	must(err)
	rate, err := money.ParseRate("2.5", money.Percent)
	must(err)
	_, err = staff.ScheduleCommission(ctx, company.ID, ticketing.CommissionParams{Rate: rate})
	must(err)
	_, err = staff.CreditFloat(ctx, company.ID, "settlement-0001", 1_000_000_00)
	must(err)
	issued, err := staff.IssueAPIKey(ctx, company.ID, "shop", ticketing.AllGrants())
	must(err)
	caller := ticketing.TrustedCaller(company.ID, ticketing.AllGrants()...)
	event, err := svc.CreateEvent(ctx, caller, "event-0001", ticketing.CreateEventParams{
		Title: "Highlife Night", Date: "2030-12-24", StartsAt: "19:00", EndsAt: "23:00", Timezone: "Africa/Lagos",
		ImageURL: "https://images.example/highlife.jpg", Status: ticketing.EventPublished,
	})
	must(err)
	_, err = svc.CreateInventory(ctx, caller, event.ID, "batch-0001", ticketing.CreateInventoryParams{
		Tier: "VIP", Title: "VIP seat", UnitPrice: 150_00, Currency: money.Currency, Quantity: 10,
		Status: ticketing.InventoryAvailable,
	})
	must(err)
	server := httptest.NewServer(contracttest.New(contracttest.Panic, svc, nil))
	return server.URL + httpapi.DefaultPrefix, issued.Key, event.ID, server.Close
}
