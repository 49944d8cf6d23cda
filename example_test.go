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

// A service inside a program of yours: a company is made ready, an event is put on sale, one ticket is sold and its
// holder let in.
func Example() {
	ctx := context.Background()
	svc, err := ticketing.New(memory.New(), &ticketing.Config{
		// So that this example prints the same every time. Yours leaves them out.
		Clock: ticketingtest.NewClock(time.Time{}).Now, NewID: ticketingtest.NewIDs(1),
	})
	if err != nil {
		panic(err)
	}

	// Once for each company: what the platform's staff does.
	staff := svc.As(ticketing.Staff("onboarding"))
	company, err := staff.CreateCompany(ctx, "Adire Concerts")
	if err != nil {
		panic(err)
	}
	if _, err := staff.ApproveVerification(ctx, company.ID, time.Time{}); err != nil {
		panic(err)
	}
	rate, err := money.ParseRate("2.5", money.Percent)
	if err != nil {
		panic(err)
	}
	if _, err := staff.ScheduleCommission(ctx, company.ID, rate, time.Time{}); err != nil {
		panic(err)
	}
	if _, err := staff.CreditFloat(ctx, company.ID, 1_000_000_00, "PSK-2026-0001"); err != nil {
		panic(err)
	}

	// What the company does. The host trusts itself here; Authenticate makes a caller of an API key.
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

	// A sale: quote, then check out at the price that was quoted.
	quote, err := svc.Quote(ctx, caller, ticketing.QuoteParams{
		EventID: event.ID, Lines: []ticketing.QuoteParamsLine{{Tier: "VIP", Quantity: 2}},
	})
	if err != nil {
		panic(err)
	}
	order, err := svc.Checkout(ctx, caller, "cart-1001", ticketing.CheckoutParams{
		EventID: event.ID,
		Buyer:   ticketing.BuyerParams{Email: "ada@example.com"},
		Lines: []ticketing.CheckoutLine{{
			Tier: "VIP", Quantity: 2, ExpectedUnitPrice: quote.Lines[0].UnitPrice, Currency: money.Currency,
		}},
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(order.Status, order.Gross, "commission", order.Commission.Amount, "float left", order.Balances.FloatAfter)

	// At the gate: one key for each scan.
	for _, scan := range []string{"gate-1-scan-1", "gate-1-scan-2"} {
		validation, err := svc.ValidateAdmission(ctx, caller, event.ID, order.Lines[0].AdmissionID, scan, ticketing.ValidateParams{})
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

// What a caller can act on is an *Error with a code; everything else is a fault, for the log and nobody else.
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

// A caller may do what its grants say and nothing else; a read grant never implies the manage grant.
func ExampleTrustedCaller() {
	companyID := uuid.MustParse("5f0c2c1e-6a34-4c59-9a53-0b1f8f2f6a10")
	gate := ticketing.TrustedCaller(companyID, ticketing.GrantTicketValidate)
	fmt.Println(gate.Require(ticketing.GrantTicketValidate))
	fmt.Println(gate.Require(ticketing.GrantOrderRead))
	// Output:
	// <nil>
	// PERMISSION_DENIED: The API key does not have the permission for this operation.
}

// Facts reach Go code from Run, at least once each and after their commit.
func ExampleService_Run() {
	ctx, stop := context.WithCancel(context.Background())
	clock, facts := ticketingtest.NewClock(time.Time{}), new(ticketingtest.Facts)
	svc, err := ticketing.New(memory.New(), &ticketing.Config{Clock: clock.Now, OnFact: facts.Tell})
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
