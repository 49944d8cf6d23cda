package ticketing_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/store/memory"
	"github.com/floatgate/ticketing/ticketingtest"
)

// This example embeds the service in a program. It sets a company up, puts an event on sale, sells one order and admits
// its holder.
func Example() {
	ctx := context.Background()
	svc, err := ticketing.New(memory.New(), &ticketing.Config{
		// A fixed clock and fixed ids make the output the same every time. A real program leaves them out.
		Clock: ticketingtest.NewClock(time.Time{}).Now, NewID: ticketingtest.NewIDs(1),
	})
	if err != nil {
		panic(err)
	}

	// Staff of the platform does this once for each company.
	staff := svc.As(ticketing.Staff("onboarding"))
	company, err := staff.CreateCompany(ctx, "Adire Concerts")
	if err != nil {
		panic(err)
	}
	if _, err := staff.ApproveVerification(ctx, company.ID, ticketing.ApprovalParams{}); err != nil {
		panic(err)
	}
	rate, err := money.ParseRate("2.5", money.Percent)
	if err != nil {
		panic(err)
	}
	if _, err := staff.ScheduleCommission(ctx, company.ID, ticketing.CommissionParams{Rate: rate}); err != nil {
		panic(err)
	}
	if _, err := staff.CreditFloat(ctx, company.ID, "PSK-2026-0001", 1_000_000_00); err != nil {
		panic(err)
	}

	// The company does the rest. The host trusts itself here. For a request with an API key, Authenticate returns the
	// caller.
	caller := ticketing.TrustedCaller(company.ID, ticketing.AllGrants()...)
	event, err := svc.CreateEvent(ctx, caller, "lagos-night-2026", ticketing.CreateEventParams{
		Title: "Lagos Night", Date: "2026-12-21", StartsAt: "19:00", EndsAt: "02:00", Timezone: "Africa/Lagos",
		ImageURL: "https://img.example.com/night.jpg", Status: ticketing.EventPublished,
	})
	if err != nil {
		panic(err)
	}
	if _, err := svc.CreateInventory(ctx, caller, event.ID, "lagos-night-vip", ticketing.CreateInventoryParams{
		Tier: "VIP", Title: "VIP", UnitPrice: 150_00, Currency: money.Currency, Quantity: 100,
		Status: ticketing.InventoryAvailable,
	}); err != nil {
		panic(err)
	}

	// A sale takes a quote, and then checks out at the quoted price.
	quote, err := svc.Quote(ctx, caller, ticketing.QuoteParams{
		EventID: event.ID, Lines: []ticketing.QuoteLineParams{{Tier: "VIP", Quantity: 2}},
	})
	if err != nil {
		panic(err)
	}
	order, err := svc.Checkout(ctx, caller, "cart-1001", ticketing.CheckoutParams{
		EventID: event.ID,
		Buyer:   ticketing.BuyerParams{Email: "ada@example.com"},
		Lines: []ticketing.CheckoutLineParams{{
			Tier: "VIP", Quantity: 2, ExpectedUnitPrice: quote.Lines[0].UnitPrice, Currency: money.Currency,
		}},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(order.Status, order.Gross, "commission", order.Commission.Amount, "float left", order.Balances.FloatAfter)

	// At the gate each scan has its own idempotency key.
	for _, scan := range []string{"gate-1-scan-1", "gate-1-scan-2"} {
		validation, err := svc.ValidateAdmission(ctx, caller, event.ID, order.Lines[0].AdmissionID, scan,
			ticketing.ValidateParams{})
		if err != nil {
			panic(err)
		}
		fmt.Println(validation.Outcome, validation.Ticket.Title, validation.ValidatedAt)
	}
	// Output:
	// CONFIRMED 300.00 commission 7.50 float left 999700.00
	// ADMITTED VIP 2026-11-21T09:30:00.000Z
	// ALREADY_VALIDATED VIP 2026-11-21T09:30:00.000Z
}

// This example distinguishes errors. An error that a caller can act on is an *Error with a code. Any other error is a
// fault, which belongs in the log only.
func ExampleCode() {
	svc, err := ticketing.New(memory.New(), nil)
	if err != nil {
		panic(err)
	}
	caller := ticketing.TrustedCaller(uuid.New(), ticketing.GrantEventRead)
	_, err = svc.GetEvent(context.Background(), caller, uuid.New())
	switch {
	case errors.Is(err, ticketing.CodeNotFound):
		fmt.Println("404:", err)
	case err != nil:
		fmt.Println("500: An unexpected error occurred.")
	}

	_, err = svc.ListEvents(context.Background(), caller, ticketing.EventFilter{
		PageParams: ticketing.PageParams{Limit: 101}, Status: "OVER",
	})
	if refused, ok := errors.AsType[*ticketing.Error](err); ok {
		fmt.Println(refused.Code)
		for _, violation := range refused.Violations {
			fmt.Println("-", violation.Message)
		}
	}
	// Output:
	// 404: NOT_FOUND: The event was not found.
	// INVALID_REQUEST
	// - limit: must be from 1 to 100
	// - status: must be DRAFT, PUBLISHED, ENDED or CANCELLED
}

// This example shows that a caller may do what its grants allow and nothing else. A read grant never implies the manage
// grant.
func ExampleTrustedCaller() {
	companyID := uuid.MustParse("5f0c2c1e-6a34-4c59-9a53-0b1f8f2f6a10")
	gate := ticketing.TrustedCaller(companyID, ticketing.GrantTicketValidate)
	fmt.Println(gate.Require(ticketing.GrantTicketValidate))
	fmt.Println(gate.Require(ticketing.GrantOrderRead))
	// Output:
	// <nil>
	// PERMISSION_DENIED: The API key does not have the permission for this operation.
}

// This example passes facts to Go code. Run calls OnFact with each fact at least once, after the commit.
func ExampleService_Run() {
	ctx, stop := context.WithCancel(context.Background())
	clock, facts := ticketingtest.NewClock(time.Time{}), new(ticketingtest.Facts)
	svc, err := ticketing.New(memory.New(), &ticketing.Config{Clock: clock.Now, OnFact: facts.OnFact})
	if err != nil {
		panic(err)
	}
	ended := make(chan error)
	go func() { ended <- svc.Run(ctx) }()

	// … sales happen …

	stop()
	fmt.Println(<-ended, len(facts.All()))
	// Output: <nil> 0
}
