package ticketing_test

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/store/memory"
	"github.com/floatgate/ticketing/ticketingtest"
)

// sellOne returns staff, a company and its order of two tickets, for examples.
func sellOne(ctx context.Context) (ticketing.Operator, uuid.UUID, ticketing.Order) {
	svc, err := ticketing.New(memory.New(), &ticketing.Config{Clock: ticketingtest.NewClock(time.Time{}).Now})
	check(err)
	staff := svc.As(ticketing.Staff("back office"))
	company, err := staff.CreateCompany(ctx, "Adire Concerts")
	check(err)
	_, err = staff.ApproveVerification(ctx, company.ID, ticketing.ApprovalParams{})
	check(err)
	rate, err := money.ParseRate("2.5", money.Percent)
	check(err)
	_, err = staff.ScheduleCommission(ctx, company.ID, ticketing.CommissionParams{Rate: rate})
	check(err)
	_, err = staff.CreditFloat(ctx, company.ID, "PSK-2026-0001", 1000_00)
	check(err)
	caller := ticketing.TrustedCaller(company.ID, ticketing.AllGrants()...)
	event, err := svc.CreateEvent(ctx, caller, "lagos-night", ticketingtest.EventParams())
	check(err)
	_, err = svc.CreateInventory(ctx, caller, event.ID, "lagos-night-vip",
		ticketingtest.InventoryParams("VIP", 150_00, 100))
	check(err)
	order, err := svc.Checkout(ctx, caller, "cart-1001", ticketingtest.Basket(event.ID, "VIP", 150_00, 2))
	check(err)
	return staff, company.ID, order
}

// check ends an example that fails.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

// This example refunds an order. FLOAT gets the gross back, and EARNINGS returns the commission. A repeated refund
// changes nothing.
func ExampleOperator_RefundOrder() {
	ctx := context.Background()
	staff, companyID, order := sellOne(ctx)
	for range 2 {
		refunded, err := staff.RefundOrder(ctx, order.ID, ticketing.RefundParams{
			Reason: "The buyer fell ill.", Restock: true,
		})
		check(err)
		wallets, err := staff.GetWallets(ctx, companyID)
		check(err)
		fmt.Println(refunded.Status, "float", wallets.Float, "earnings", wallets.Earnings)
	}
	// Output:
	// REFUNDED float 1000.00 earnings 0.00
	// REFUNDED float 1000.00 earnings 0.00
}

// This example reads the movements of a wallet, oldest first, and verifies the company's books.
func ExampleOperator_Ledger() {
	ctx := context.Background()
	staff, companyID, _ := sellOne(ctx)
	err := staff.Ledger(ctx, companyID, ledger.Float, func(entry ticketing.LedgerEntry) error {
		fmt.Println(entry.Sequence, entry.Kind, entry.Amount, "balance", entry.BalanceAfter)
		return nil
	})
	check(err)
	report, err := staff.VerifyLedger(ctx, companyID)
	check(err)
	fmt.Println("books in order:", report.OK)
	// Output:
	// 1 FLOAT_CREDIT 1000.00 balance 1000.00
	// 2 CHECKOUT_DEBIT -300.00 balance 700.00
	// books in order: true
}

// This example registers an endpoint for webhooks. The receiver verifies each delivery with the secret, which is shown
// only once: see package webhook.
func ExampleOperator_CreateWebhookEndpoint() {
	ctx := context.Background()
	staff, companyID, _ := sellOne(ctx)
	endpoint, err := staff.CreateWebhookEndpoint(ctx, companyID, ticketing.WebhookEndpointParams{
		URL: "https://shop.example.com/webhooks", Events: []ticketing.FactType{ticketing.FactOrderCreated},
	})
	check(err)
	secret := string(endpoint.Secret) // Hand it to the receiver.
	fmt.Println(endpoint.Status, endpoint.Events, secret != "", endpoint.Secret)
	// Output: ENABLED [order.created] true svc_whsec_…
}
