// Package examples_test holds the Go code of the documents, and tests that they show exactly this code.
package examples_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/delivery"
	"github.com/floatgate/ticketing/embedproxy"
	"github.com/floatgate/ticketing/httpapi"
	"github.com/floatgate/ticketing/mail"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/store"
	"github.com/floatgate/ticketing/store/memory"
	"github.com/floatgate/ticketing/webhook"
)

func Example_sale() {
	ctx := context.Background()
	svc, err := ticketing.New(memory.New(), nil)
	check(err)

	// The platform's staff makes a company ready to sell.
	staff := svc.As(ticketing.Staff("onboarding"))
	company, err := staff.CreateCompany(ctx, "Lagos Live")
	check(err)
	_, err = staff.ApproveVerification(ctx, company.ID, ticketing.ApprovalParams{}) // never expires
	check(err)
	rate, err := money.ParseRate("2.5", money.Percent)
	check(err)
	_, err = staff.ScheduleCommission(ctx, company.ID, ticketing.CommissionParams{Rate: rate}) // from now on
	check(err)
	_, err = staff.CreditFloat(ctx, company.ID, "settlement-0001", 1_000_000_00) // amounts are kobo
	check(err)

	// The company puts an event on sale. Repeating a write with its key changes nothing and returns the same result.
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

	// A buyer asks for the price and buys at it.
	quote, err := svc.Quote(ctx, caller, ticketing.QuoteParams{
		EventID: event.ID, Lines: []ticketing.QuoteLineParams{{Tier: "VIP", Quantity: 2}},
	})
	check(err)
	order, err := svc.Checkout(ctx, caller, "cart-0001", ticketing.CheckoutParams{
		EventID: event.ID, Buyer: ticketing.BuyerParams{Email: "ada@example.com"},
		Lines: []ticketing.CheckoutLineParams{{
			Tier: "VIP", Quantity: 2, ExpectedUnitPrice: quote.Lines[0].UnitPrice, Currency: money.Currency,
		}},
	})
	check(err)
	fmt.Println(order.Status, order.Gross, order.Commission.Amount, order.Balances.FloatAfter)

	// At the gate, once.
	scan, err := svc.ValidateAdmission(ctx, caller, event.ID, order.Lines[0].AdmissionID, "gate-1-scan-0001",
		ticketing.ValidateParams{Location: "Gate 1"})
	check(err)
	fmt.Println(scan.Outcome)
	// Output:
	// CONFIRMED 30000.00 750.00 970000.00
	// ADMITTED
}

func Example_hostTransaction() {
	ctx := context.Background()
	tickets, db, svc, caller, basket := openHost(ctx) // a store, your own pool on its database, a company that can sell

	book := func(ctx context.Context, tx bun.Tx) error {
		bound, err := tickets.Bind(ctx, tx)
		if err != nil {
			return err
		}
		order, err := svc.WithStore(bound).Checkout(ctx, caller, "trip-0001", basket)
		if err != nil {
			return err
		}
		_, err = tx.NewRaw("INSERT INTO trips (order_id) VALUES (?) ON CONFLICT DO NOTHING", order.ID.String()).Exec(ctx)
		return err // After an error there is no trip, no order, and the key is unspent.
	}
	check(db.RunInTx(ctx, nil, book))
	check(db.RunInTx(ctx, nil, book)) // Again, as after a lost response: one trip, one order.
	svc.Wake()                        // Publish the facts of the sale now.

	trips, err := db.NewSelect().Table("trips").Count(ctx)
	check(err)
	fmt.Println("trips:", trips)
	// Output: trips: 1
}

// TestMain removes the files of the examples.
func TestMain(m *testing.M) {
	folder, err := os.MkdirTemp("", "examples")
	check(err)
	check(os.Setenv("TMPDIR", folder))
	m.Run()
	check(os.RemoveAll(folder))
}

// openHost opens a store, and a host's own pool on its database.
func openHost(ctx context.Context) (
	*store.Store, *bun.DB, *ticketing.Service, ticketing.Caller, ticketing.CheckoutParams,
) {
	folder, err := os.MkdirTemp("", "readme")
	check(err)
	name := "sqlite:" + filepath.Join(folder, "tickets.db")
	tickets, err := store.Open(ctx, name, nil)
	check(err)
	check(tickets.Migrate(ctx))
	pool, err := store.OpenPool(name)
	check(err)
	db := bun.NewDB(pool, sqlitedialect.New())
	_, err = db.ExecContext(ctx, "CREATE TABLE trips (order_id TEXT PRIMARY KEY)")
	check(err)
	svc, err := ticketing.New(tickets, &ticketing.Config{SecretKeys: [][]byte{make([]byte, 32)}})
	check(err)
	caller, eventID := readyToSell(ctx, svc)
	return tickets, db, svc, caller, ticketing.CheckoutParams{
		EventID: eventID, Buyer: ticketing.BuyerParams{Email: "ada@example.com"},
		Lines: []ticketing.CheckoutLineParams{{
			Tier: "VIP", Quantity: 2, ExpectedUnitPrice: 15_000_00, Currency: money.Currency,
		}},
	}
}

func Example_facts() {
	sender, err := delivery.New(nil) // only to public HTTPS addresses
	check(err)
	defer sender.Close()
	svc, err := ticketing.New(memory.New(), &ticketing.Config{
		Sender: sender,
		OnFact: func(ctx context.Context, fact ticketing.Fact) error {
			switch about := fact.Data.(type) {
			case webhook.OrderCreated:
				slog.InfoContext(ctx, "sold", "order", about.Order.ID, "gross", about.Order.GrossAmount)
			case webhook.BalanceLow:
				slog.WarnContext(ctx, "the float runs out", "balance", about.BalanceAfter)
			}
			return nil // After an error it is called again in half a minute.
		},
	})
	check(err)
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- svc.Run(ctx) }() // sends webhooks, publishes facts, ends events, until ctx ends

	// A company's own systems get what happens from now on.
	staff := svc.As(ticketing.Staff("onboarding"))
	company, err := staff.CreateCompany(ctx, "Lagos Live")
	check(err)
	hook, err := staff.CreateWebhookEndpoint(ctx, company.ID, ticketing.WebhookEndpointParams{
		URL: "https://lagos.example/hooks", Events: ticketing.WebhookEventTypes(),
	})
	check(err)
	fmt.Println(hook.URL, hook.Status) // hook.Secret is for their developers, and is shown only once.

	stop()
	check(<-done)
	// Output:
	// https://lagos.example/hooks ENABLED
}

func Example_mail() {
	ctx := context.Background()
	server, err := mail.NewSMTP(smtpURL(), nil) // such as smtps://user:password@smtp.example
	check(err)
	defer func() { check(server.Close()) }()
	svc, err := ticketing.New(memory.New(), &ticketing.Config{
		Mailer: server,
		OnMailFailed: func(ctx context.Context, failed ticketing.Notification) {
			slog.WarnContext(ctx, "a buyer has no tickets", "order", failed.OrderID)
		},
	})
	check(err)
	sender, err := svc.As(ticketing.Staff("onboarding")).SetMailSender(ctx, ticketing.MailSenderParams{
		Address: "tickets@lagos.example", Name: "Lagos Tickets",
	})
	check(err)
	fmt.Println("from now on each sale makes a mail from", sender.Address)

	sent, err := svc.SendMails(ctx) // once; svc.Run does it all the time
	check(err)
	fmt.Println(sent, "mails")
	// Output:
	// from now on each sale makes a mail from tickets@lagos.example
	// 0 mails
}

// smtpURL names a mail server.
func smtpURL() string { return "smtps://smtp.example" }

func Example_errors() {
	svc, err := ticketing.New(memory.New(), nil)
	check(err)
	_, err = svc.Authenticate(context.Background(), "svc_live.not-a-key")
	refused, ok := errors.AsType[*ticketing.Error](err)
	switch {
	case errors.Is(err, ticketing.CodeInventoryUnavailable):
		fmt.Println("quote again")
	case ok:
		fmt.Println(refused.Code, "is for the client:", refused.Message)
	case err != nil:
		fmt.Println("a fault of the service: for the log, not for the client")
	}
	// Output:
	// AUTHENTICATION_FAILED is for the client: The API key is missing, malformed, revoked or not usable.
}

func Example_shop() {
	ctx := context.Background()
	svc, companyID, mux, session, hasPaid := openShop(ctx) // the service, a company, and your own shop
	// In the process of the service, without a key. Elsewhere it is embedproxy.Remote, with the API's address and a key.
	api := httpapi.New(svc, &httpapi.Config{
		RateLimit: -1, // The proxy has limits of its own.
		Caller: func(*http.Request) (ticketing.Caller, error) {
			return ticketing.TrustedCaller(companyID, embedproxy.Grants()...), nil
		},
	})
	proxy, err := embedproxy.New(embedproxy.Local(api), &embedproxy.Config{
		Session: session, // whose storefront session is this
		MayBuy:  hasPaid, // may this session buy this basket now
	})
	check(err)
	mux.Handle("/tickets", proxy)
	// Output:
}

// openShop makes a company, and what a shop has already.
func openShop(ctx context.Context) (
	*ticketing.Service, uuid.UUID, *http.ServeMux, func(*http.Request) (string, error),
	func(context.Context, embedproxy.Purchase) error,
) {
	_, _, svc, caller, _ := openHost(ctx)
	session := func(*http.Request) (string, error) { return "", embedproxy.ErrNoSession }
	return svc, caller.CompanyID(), http.NewServeMux(), session, embedproxy.AnyoneMayBuy
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// Every Go block of docs/library.md is the body of an example above, byte for byte.
func TestLibraryPageShowsTheExamples(t *testing.T) {
	t.Parallel()
	shows(t, "../docs/library.md", "library_test.go")
}
