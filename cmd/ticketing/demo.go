package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/client"
	"github.com/floatgate/ticketing/httpapi"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
)

type demoCommand struct {
	serving `set:"level=warn"`

	Once       bool   `help:"End after the sale. There is no shop then."`
	ShopAddr   string `default:"127.0.0.1:8081" help:"Address of the shop; port 0 picks a free port." placeholder:"HOST:PORT"`
	TLS        bool   `help:"Make a certificate for localhost, and serve the API and the shop over HTTPS. It is kept in PATH.tls beside the SQLite database, otherwise in a temporary folder." name:"tls"`
	MailFolder string `help:"Folder that ticket mails are written to; none is sent. Defaults to PATH.mail beside the SQLite database, otherwise to a temporary folder." placeholder:"DIR"`
}

func (*demoCommand) Help() string {
	return `In an empty database it creates a company that is verified, funded and has an event on sale. In the ` +
		`database of an earlier demo it continues with that company and issues new keys; to make room it revokes keys of ` +
		`earlier demos. It refuses any other database.

At a second address it serves a shop: a website that sells through the API, with the embed SDK, the browser proxy ` +
		`and an embed key. Buy a ticket there. With --tls the shop has a second page with the widget in a frame, which ` +
		`browsers show only over HTTPS; make your browser trust the certificate authority whose file is printed.

It also creates an owner of the company and an administrator of the platform, and prints a sign-in link for each. ` +
		`Open them to see the console.

    ticketing demo
    ticketing demo --tls
    ticketing demo --once --database memory: --addr 127.0.0.1:0`
}

// The properties of the demo company.
const (
	demoCompany   = "Lagos Live (demo)"
	demoKey       = "demo"
	demoEvent     = "Lagos Live: Highlife Night"
	demoTier      = "GENERAL_ADMISSION"
	demoZone      = "Africa/Lagos"
	demoAhead     = 60 * 24 * time.Hour
	demoStock     = 500
	demoLeast     = 10 // with less on sale, the demo adds to it
	demoRate      = "250"
	demoFloat     = money.Amount(1_000_000_00)
	demoLowFloat  = money.Amount(100_000_00) // with less, the demo credits it again
	demoPrice     = money.Amount(5_000_00)
	activeKeys    = 2 // limit of a company (section 5.1)
	demoBuyer     = "ada@example.com"
	demoBuyerName = "Ada Obi"
)

// stage is everything that a sale needs, ready to use.
type stage struct {
	companyID, eventID uuid.UUID
	key                string
	shopKey            string // the embed key; empty: there is no shop
}

func (c *demoCommand) Run(ctx context.Context, p *program) error {
	c.TimerSlack.set(p)
	shop, err := c.openShop(ctx, p)
	if err != nil {
		return err
	}
	defer shop.close()
	folder := c.mailFolder(p)
	mails := &mailFlags{mailerFlags: mailerFlags{MailFolder: folder}}
	return p.serve(ctx, &c.serving, mails, false, func(ctx context.Context, opened *database) error {
		return opened.migrate(ctx)
	}, func(ctx context.Context, r *running) (err error) {
		set, err := setStage(ctx, r.svc, p.operator(r.svc), shop)
		if err != nil {
			return err
		}
		if err := shop.keep(); err != nil {
			return err
		}
		order, err := c.sell(ctx, r, set)
		if refused, ok := errors.AsType[*client.Error](err); ok {
			err = &failure{code: string(refused.Refusal.Code), text: refused.Error()}
		}
		if err != nil {
			return fmt.Errorf("sell a ticket: %w", err)
		}
		mailed, err := findDemoMail(ctx, p.operator(r.svc), folder, order.ID)
		if err != nil {
			return err
		}
		stop, err := shop.serve(ctx, c, r, set.shopKey)
		if err != nil {
			return fmt.Errorf("serve the shop: %w", err)
		}
		defer func() {
			if stop() != nil && err == nil {
				err = errDrainTimeout
			}
		}()
		shown := &demoHome{svc: r.svc, baseURL: r.baseURL, authority: shop.authority, set: set}
		if shop.sells() {
			shown.shop = shop.origin
		}
		r.home.demo.Store(shown)
		links, err := c.signInLinks(ctx, p, r, set)
		if err != nil {
			return err
		}
		if err := c.show(p, r, set, shop, order, mailed, links); err != nil || c.Once {
			return err
		}
		if !p.JSON && !p.Quiet {
			fmt.Fprintln(p.stdout, "The server runs until you press Ctrl-C.")
		}
		<-ctx.Done()
		return nil
	})
}

// sell quotes a ticket and buys it at the quoted price, through the API. It uses a temporary listener, so that its
// requests do not count against the rate limit of the demo's user.
func (c *demoCommand) sell(ctx context.Context, r *running, set stage) (ticketing.Order, error) {
	var none ticketing.Order
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return none, err
	}
	unlimited := c.serving
	unlimited.RateLimit = 0
	server := &http.Server{Handler: unlimited.handler(r.svc, newMetrics(), r.logger), ReadHeaderTimeout: headerTimeout}
	defer func() { _ = server.Close() }()
	go func() { _ = server.Serve(listener) }()
	api, err := client.New(localOrigin("http", listener.Addr())+httpapi.DefaultPrefix, set.key, nil)
	if err != nil {
		return none, err
	}
	quote, err := api.Quote(ctx, ticketing.QuoteParams{
		EventID: set.eventID, Lines: []ticketing.QuoteLineParams{{Tier: demoTier, Quantity: 1}},
	})
	if err != nil {
		return none, err
	}
	if len(quote.Lines) != 1 {
		return none, errors.New("the quote does not have the line that was asked for")
	}
	return api.Checkout(ctx, "demo-"+uuid.NewString(), ticketing.CheckoutParams{
		EventID: set.eventID, Buyer: ticketing.BuyerParams{Email: demoBuyer, Fullname: demoBuyerName},
		Lines: []ticketing.CheckoutLineParams{{
			Tier: demoTier, Quantity: 1, ExpectedUnitPrice: quote.Lines[0].UnitPrice, Currency: money.Currency,
		}},
	})
}

// setStage creates the demo company, or finds it and restores what it lacks.
func setStage(
	ctx context.Context, svc *ticketing.Service, op ticketing.Operator, shop *demoShop,
) (stage, error) {
	company, err := findDemoCompany(ctx, op)
	if err != nil {
		return stage{}, err
	}
	// Activating an active wallet changes nothing.
	if _, err := op.ActivateWallet(ctx, company.ID, ledger.Earnings); err != nil {
		return stage{}, err
	}
	wallets, err := op.ActivateWallet(ctx, company.ID, ledger.Float)
	if err != nil {
		return stage{}, err
	}
	now := time.Now()
	expires := company.Verification.ApprovalExpiresAt
	if company.Verification.Status != ticketing.VerificationApproved || (expires != nil && !now.Before(expires.Time)) {
		if _, err := op.ApproveVerification(ctx, company.ID, ticketing.ApprovalParams{}); err != nil {
			return stage{}, err
		}
	}
	rates, err := op.ListCommissionRates(ctx, company.ID)
	if err != nil {
		return stage{}, err
	}
	holds := func(rate ticketing.CommissionRate) bool { return !now.Before(rate.EffectiveFrom.Time) }
	if !slices.ContainsFunc(rates, holds) {
		rate, err := money.ParseRate(demoRate, money.BasisPoints)
		if err != nil {
			return stage{}, err
		}
		if _, err := op.ScheduleCommission(ctx, company.ID, ticketing.CommissionParams{Rate: rate}); err != nil {
			return stage{}, err
		}
	}
	if wallets.Float < demoLowFloat {
		if _, err := op.CreditFloat(ctx, company.ID, "demo-"+uuid.NewString(), demoFloat); err != nil {
			return stage{}, err
		}
	}
	if err := setDemoSender(ctx, op); err != nil {
		return stage{}, err
	}
	if err := addDemoPeople(ctx, op, company.ID); err != nil {
		return stage{}, err
	}
	key, err := issueDemoKey(ctx, op, company.ID, shop)
	if err != nil {
		return stage{}, err
	}
	shopKey, err := shop.issueShopKey(ctx, op, company.ID)
	if err != nil {
		return stage{}, err
	}
	eventID, err := putOnSale(ctx, svc, company.ID, shop.picture())
	if err != nil {
		return stage{}, err
	}
	return stage{companyID: company.ID, eventID: eventID, key: key, shopKey: shopKey}, nil
}

// findDemoCompany returns the company of an earlier demo, or creates one in an empty database. It refuses a database
// that is in use for anything else.
func findDemoCompany(ctx context.Context, op ticketing.Operator) (ticketing.Company, error) {
	var found ticketing.Company
	others := 0
	err := eachCompany(ctx, op, func(company ticketing.Company) error {
		if company.Name == demoCompany {
			found = company
		} else {
			others++
		}
		return nil
	})
	switch {
	case err != nil:
		return found, err
	case found.ID != uuid.Nil && found.Status != ticketing.CompanyActive:
		return op.ActivateCompany(ctx, found.ID)
	case found.ID != uuid.Nil:
		return found, nil
	case others > 0:
		return found, &failure{code: "NOT_EMPTY", text: "the database holds companies that no demo made: " +
			"give the demo its own, such as --database sqlite:demo.db"}
	default:
		return op.CreateCompany(ctx, demoCompany)
	}
}

// issueDemoKey issues a key. A company can have at most two active keys, so keys of earlier demos are revoked to make
// room. If the shop needs a key, too, these are all of them. Otherwise it is the oldest one; a shop's key is revoked
// only if there is no other.
func issueDemoKey(
	ctx context.Context, op ticketing.Operator, companyID uuid.UUID, shop *demoShop,
) (string, error) {
	keys, err := op.ListAPIKeys(ctx, companyID)
	if err != nil {
		return "", err
	}
	keys = slices.DeleteFunc(keys, func(key ticketing.APIKey) bool { return key.Status != ticketing.APIKeyActive })
	free := activeKeys - len(keys)
	for _, name := range []string{demoKey, demoShopKey} {
		for _, key := range slices.Backward(keys) {
			if key.Name != name || (!shop.sells() && free > 0) {
				continue
			}
			if _, err := op.RevokeAPIKey(ctx, key.ID); err != nil {
				return "", err
			}
			free++
		}
	}
	issued, err := op.IssueAPIKey(ctx, companyID, demoKey, ticketing.AllGrants())
	return issued.Key, err
}

// putOnSale returns the event of an earlier demo that still sells, or creates one. It shows the picture, if any.
func putOnSale(
	ctx context.Context, svc *ticketing.Service, companyID uuid.UUID, picture string,
) (uuid.UUID, error) {
	caller := ticketing.TrustedCaller(companyID, ticketing.AllGrants()...)
	events, err := svc.ListEvents(ctx, caller, ticketing.EventFilter{
		PageParams: ticketing.PageParams{Limit: ticketing.MaxPageLimit}, Status: ticketing.EventPublished,
	})
	if err != nil {
		return uuid.Nil, err
	}
	for _, event := range events.Items {
		if event.Title != demoEvent {
			continue
		}
		tiers, err := svc.ListInventory(ctx, caller, event.ID)
		if err != nil {
			return uuid.Nil, err
		}
		for _, tier := range tiers {
			if tier.Tier == demoTier && tier.AvailableQuantity >= demoLeast {
				if picture != "" && picture != event.ImageURL {
					_, err = svc.UpdateEvent(ctx, caller, event.ID, ticketing.UpdateEventParams{ImageURL: &picture})
				}
				return event.ID, err
			}
		}
	}
	event, err := svc.CreateEvent(ctx, caller, "demo-"+uuid.NewString(), ticketing.CreateEventParams{
		Title:       demoEvent,
		Description: "An evening of highlife by the lagoon.",
		Date:        time.Now().Add(demoAhead).UTC().Format(time.DateOnly),
		StartsAt:    "19:00", EndsAt: "23:00", Timezone: demoZone,
		Location: "Lagos", Venue: "Freedom Park", ImageURL: cmp.Or(picture, demoPicture),
		OrganizerName: "Lagos Live", Status: ticketing.EventPublished,
	})
	if err != nil {
		return uuid.Nil, err
	}
	_, err = svc.CreateInventory(ctx, caller, event.ID, "demo-"+uuid.NewString(), ticketing.CreateInventoryParams{
		Tier: demoTier, Title: "General admission", UnitPrice: demoPrice, Currency: money.Currency, Quantity: demoStock,
		Status: ticketing.InventoryAvailable,
	})
	return event.ID, err
}

// The bodies of the requests that the demo prints.
type quoteRequest struct {
	EventID uuid.UUID   `json:"eventId"`
	Lines   []quoteLine `json:"lines"`
}

type quoteLine struct {
	Tier     string `json:"tier"`
	Quantity int    `json:"quantity"`
}

type checkoutRequest struct {
	EventID uuid.UUID      `json:"eventId"`
	Buyer   checkoutBuyer  `json:"buyer"`
	Lines   []checkoutLine `json:"lines"`
}

type checkoutBuyer struct {
	Email    string `json:"email"`
	Fullname string `json:"fullname"`
}

type checkoutLine struct {
	Tier              string `json:"tier"`
	Quantity          int    `json:"quantity"`
	ExpectedUnitPrice string `json:"expectedUnitPrice"`
	Currency          string `json:"currency"`
}

func demoQuote(eventID uuid.UUID) quoteRequest {
	return quoteRequest{EventID: eventID, Lines: []quoteLine{{Tier: demoTier, Quantity: 1}}}
}

func demoCheckout(eventID uuid.UUID) checkoutRequest {
	return checkoutRequest{
		EventID: eventID,
		Buyer:   checkoutBuyer{Email: demoBuyer, Fullname: demoBuyerName},
		Lines: []checkoutLine{{
			Tier: demoTier, Quantity: 1, ExpectedUnitPrice: demoPrice.String(), Currency: money.Currency,
		}},
	}
}

// demoed is the demo's output with --json.
type demoed struct {
	BaseURL     string          `json:"baseUrl"`
	WebOrigin   string          `json:"webOrigin"`
	CompanyID   uuid.UUID       `json:"companyId"`
	APIKey      string          `json:"apiKey"`
	EventID     uuid.UUID       `json:"eventId"`
	ShopURL     *string         `json:"shopUrl"`    // nil: there is no shop
	ConsoleURL  *string         `json:"consoleUrl"` // signs the owner of the company in; nil: there is no console
	PlatformURL *string         `json:"platformUrl"`
	Authority   string          `json:"authorityFile"` // of the certificate that --tls made, or empty
	Order       ticketing.Order `json:"order"`
	Mail        *string         `json:"mail"` // the file with the order's mail; nil: it is not there
}

// show prints the sale, and how to make the next one while the server runs.
func (c *demoCommand) show(
	p *program, r *running, set stage, shop *demoShop, order ticketing.Order, mailed *string, links demoLinks,
) error {
	if p.Quiet {
		return p.printID(order.ID.String())
	}
	if p.JSON {
		shown := demoed{
			BaseURL: r.baseURL, WebOrigin: r.webOrigin, CompanyID: set.companyID, APIKey: set.key,
			EventID: set.eventID, Authority: shop.authority, Order: order, Mail: mailed,
			ConsoleURL: links.owner, PlatformURL: links.administrator,
		}
		if shop.sells() {
			shown.ShopURL = &shop.origin
		}
		return encode(p.stdout, shown)
	}
	var text bytes.Buffer
	text.WriteString("Sold one ticket through the API. The order:\n\n")
	shown := json.NewEncoder(&text)
	shown.SetIndent("", "  ")
	if err := shown.Encode(order); err != nil {
		return fmt.Errorf("show the order: %w", err)
	}
	fmt.Fprintf(&text, "\nIts mail  %s\n", orDash(mailed))
	if c.Once {
		p.describeEnded(&text, set)
		_, err := p.stdout.Write(text.Bytes())
		return outputError(err)
	}
	fmt.Fprintf(&text, "\nBase URL  %s\nReference %s/docs\nGuide     %s/guide\nAPI key   %s\nCompany   %s\nEvent     %s\n",
		r.baseURL, r.baseURL, r.baseURL, set.key, set.companyID, set.eventID)
	fmt.Fprintf(&text, "\nOpen %s/ in a browser: it shows all of this.\n",
		strings.TrimSuffix(r.baseURL, httpapi.DefaultPrefix))
	text.WriteString("\n" + shop.String() + links.String())
	text.WriteString("\nAsk for a quote:\n\n")
	text.WriteString(curl(shop.authority, r.baseURL+"/pricing/quote", set.key, "", demoQuote(set.eventID)))
	text.WriteString("\nBuy a ticket (the same Idempotency-Key never buys a second one; change it to buy again):\n\n")
	text.WriteString(curl(shop.authority, r.baseURL+"/checkouts", set.key, "cart-"+uuid.NewString(),
		demoCheckout(set.eventID)))
	if p.Database != inMemory {
		text.WriteString("\nRelay the webhooks of what you buy, signed, to an address on this machine:\n\n")
		text.WriteString(p.listening(set.companyID))
	}
	text.WriteString("\n")
	_, err := p.stdout.Write(text.Bytes())
	return outputError(err)
}

// describeEnded writes what remains after a demo that has ended.
func (p *program) describeEnded(text *bytes.Buffer, set stage) {
	if p.Database == inMemory {
		text.WriteString("\nThe demo has ended, and its database in memory is gone. Without --once it serves the API and a " +
			"shop.\n")
		return
	}
	fmt.Fprintf(text, "\nAPI key   %s\nCompany   %s\nEvent     %s\n", set.key, set.companyID, set.eventID)
	text.WriteString("\nThe demo has ended. Without --once it serves this company and a shop.\n")
}

// listening returns a command that relays a company's webhooks. It contains no server's URL, which may contain a
// password.
func (p *program) listening(companyID uuid.UUID) string {
	line := "ticketing webhook listen " + companyID.String() + " --forward-to http://127.0.0.1:3000/hooks"
	if path, ok := strings.CutPrefix(p.Database, sqlitePrefix); ok && path != "ticketing.db" {
		line += " --database " + shellWord(p.Database)
	}
	return line + "\n"
}

// shellWord returns a text as one word of a shell.
func shellWord(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// curl returns a request as a command to paste into a shell. With an authority the command trusts only that file. The
// other arguments contain no quotes.
func curl(authority, url, key, idempotencyKey string, body any) string {
	trusts := ""
	if authority != "" {
		trusts = "--cacert " + shellWord(authority) + " "
	}
	lines := []string{
		`curl -sS -w '\n' ` + trusts + url,
		"-H 'Authorization: Bearer " + key + "'",
		"-H 'Content-Type: application/json'",
	}
	if idempotencyKey != "" {
		lines = append(lines, "-H 'Idempotency-Key: "+idempotencyKey+"'")
	}
	text, err := json.Marshal(body)
	if err != nil {
		panic(err) // Strings and numbers always encode.
	}
	lines = append(lines, "-d '"+string(text)+"'")
	return strings.Join(lines, " \\\n  ") + "\n"
}
