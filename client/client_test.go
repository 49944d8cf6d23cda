package client_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/client"
	"github.com/floatgate/ticketing/httpapi"
	"github.com/floatgate/ticketing/internal/contracttest"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/ticketingtest"
)

// serve returns a shop whose API is served by a real server, and a client of it.
func serve(t *testing.T) (*ticketingtest.Shop, *client.Client) {
	t.Helper()
	shop := ticketingtest.New(t, nil)
	server := httptest.NewServer(contracttest.New(t.Error, shop.Service, &httpapi.Config{RateLimit: -1}))
	t.Cleanup(server.Close)
	return shop, dial(t, server.URL+httpapi.DefaultPrefix, shop.APIKey)
}

// dial returns a client that fails the test when it retries a call.
func dial(t *testing.T, baseURL, key string) *client.Client {
	t.Helper()
	api, err := client.New(baseURL, key, &client.Config{
		OnRetry: func(_ context.Context, failure error, _ time.Duration) { t.Errorf("tried again after %v", failure) },
	})
	is.New(t).NoErr(err)
	return api
}

// For every operation the client returns what the service returns. The test compares with a replay, or with a read.
func TestOperationsAnswerAsTheService(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	ctx := t.Context()
	shop, api := serve(t)
	category, err := shop.Staff.CreateCategory(ctx, "Concerts", "concerts")
	is.NoErr(err)

	params := ticketing.CreateEventParams{
		Title: "Highlife <Night> & more", Description: "Line one\nline two", Date: "2030-12-24", StartsAt: "19:00",
		EndsAt:   "23:00",
		Timezone: "Africa/Lagos", Location: "Lagos", Venue: "The Shrine", ImageURL: "https://images.example/a.jpg?w=1&h=2",
		OrganizerName: "Ọmọ́ Èkó", CategoryID: category.ID, TicketCategories: []string{"BALCONY"},
		Status: ticketing.EventDraft,
	}
	event, err := api.CreateEvent(ctx, "event-0001", params)
	is.NoErr(err)
	again, err := shop.CreateEvent(ctx, shop.Caller, "event-0001", params)
	is.NoErr(err)
	is.Equal(event, again)

	// Each member of a change arrives, and a nil member stays unchanged.
	title, none, noCategory, added := "Juju Night", "", uuid.Nil, []string{"TERRACE"}
	event, err = api.UpdateEvent(ctx, event.ID, ticketing.UpdateEventParams{
		Title: &title, Description: &none, Location: &none, Venue: &none, OrganizerName: &none, CategoryID: &noCategory,
		TicketCategories: &added,
	})
	is.NoErr(err)
	is.Equal(event.Title, title)
	is.True(event.Description == nil && event.Location.Name == nil && event.Location.Venue == nil)
	is.True(event.OrganizerName == nil && event.Category == nil)
	is.Equal(event.TicketCategories[6:], []string{"BALCONY", "TERRACE"})
	date, starts, ends, zone := "2031-01-02", "20:00", "02:00", "Europe/Paris"
	image, published, noCategories := "https://images.example/b.jpg", ticketing.EventPublished, []string(nil)
	event, err = api.UpdateEvent(ctx, event.ID, ticketing.UpdateEventParams{
		Date: &date, StartsAt: &starts, EndsAt: &ends, Timezone: &zone, ImageURL: &image, Status: &published,
		CategoryID: &category.ID, TicketCategories: &noCategories,
	})
	is.NoErr(err)
	is.Equal(event.Schedule, ticketing.Schedule{Date: &date, StartsAt: &starts, EndsAt: &ends, Timezone: &zone})
	is.Equal(event.ImageURL, image)
	is.Equal(event.Category.ID, category.ID)
	is.Equal(event.Status, published)
	stored, err := shop.GetEvent(ctx, shop.Caller, event.ID)
	is.NoErr(err)
	is.Equal(event, stored)
	got, err := api.GetEvent(ctx, event.ID)
	is.NoErr(err)
	is.Equal(got, stored)

	batch := ticketing.CreateInventoryParams{
		Tier: "VIP", Title: "VIP seat", Description: "With a drink", UnitPrice: 150_00, Currency: money.Currency, Quantity: 5,
		Status: ticketing.InventoryAvailable,
	}
	tier, err := api.CreateInventory(ctx, event.ID, "batch-0001", batch)
	is.NoErr(err)
	sameTier, err := shop.CreateInventory(ctx, shop.Caller, event.ID, "batch-0001", batch)
	is.NoErr(err)
	is.Equal(tier, sameTier)
	_, err = api.CreateInventory(ctx, event.ID, "batch-0002", ticketing.CreateInventoryParams{
		Tier: "STUDENT", Title: "Free", Currency: money.Currency, IsFree: true, Quantity: 3,
		Status: ticketing.InventoryPaused,
	})
	is.NoErr(err)
	tiers, err := api.ListInventory(ctx, event.ID)
	is.NoErr(err)
	sameTiers, err := shop.ListInventory(ctx, shop.Caller, event.ID)
	is.NoErr(err)
	is.Equal(tiers, sameTiers)
	price, currency, free, available := money.Amount(25_50), money.Currency, false, ticketing.InventoryAvailable
	tier, err = api.UpdateInventory(ctx, event.ID, "STUDENT", ticketing.UpdateInventoryParams{
		UnitPrice: &price, Currency: &currency, IsFree: &free, Status: &available,
	})
	is.NoErr(err)
	is.Equal(*tier.UnitPrice, price)
	is.Equal(tier.AvailableQuantity, int64(3))
	tier, err = api.CancelInventory(ctx, event.ID, "STUDENT")
	is.NoErr(err)
	is.Equal(tier.Status, ticketing.InventoryCancelled)

	asked := ticketing.QuoteParams{EventID: event.ID, Lines: []ticketing.QuoteLineParams{{Tier: "VIP", Quantity: 2}}}
	quote, err := api.Quote(ctx, asked)
	is.NoErr(err)
	sameQuote, err := shop.Quote(ctx, shop.Caller, asked)
	is.NoErr(err)
	is.Equal(quote, sameQuote)

	basket := ticketingtest.Basket(event.ID, "VIP", 150_00, 2)
	basket.Buyer.Fullname, basket.Buyer.Phone = "Ada Obi", "+234 1"
	order, err := api.Checkout(ctx, "cart-0001", basket)
	is.NoErr(err)
	sameOrder, err := shop.Checkout(ctx, shop.Caller, "cart-0001", basket)
	is.NoErr(err)
	is.Equal(order, sameOrder)
	found, err := api.GetOrder(ctx, order.ID)
	is.NoErr(err)
	is.Equal(found, order)

	gate := ticketing.ValidateParams{Location: "Gate 1"}
	scan, err := api.ValidateAdmission(ctx, event.ID, order.Lines[0].AdmissionID, "scan-0001", gate)
	is.NoErr(err)
	sameScan, err := shop.ValidateAdmission(ctx, shop.Caller, event.ID, order.Lines[0].AdmissionID, "scan-0001", gate)
	is.NoErr(err)
	is.Equal(scan, sameScan)
	scan, err = api.ValidateAdmission(ctx, event.ID, order.Lines[0].AdmissionID, "scan-0002", ticketing.ValidateParams{})
	is.NoErr(err)
	is.Equal(scan.Outcome, ticketing.OutcomeAlreadyValidated)

	cancelled, err := api.CancelEvent(ctx, event.ID)
	is.NoErr(err)
	stored, err = shop.GetEvent(ctx, shop.Caller, event.ID)
	is.NoErr(err)
	is.Equal(cancelled, stored)
	is.Equal(cancelled.Status, ticketing.EventCancelled)
}

// The client returns the service's pages, and an iterator reads all of them, whatever their size.
func TestListings(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	ctx := t.Context()
	shop, api := serve(t)
	event := shop.Event(t)
	for range 4 {
		shop.Event(t, ticketingtest.Draft)
	}
	shop.Inventory(t, event.ID, "VIP", 10_00, 5)
	for range 5 {
		shop.Sell(t, event.ID, "VIP", 1)
	}

	filter := ticketing.EventFilter{PageParams: ticketing.PageParams{Limit: 3}, Status: ticketing.EventDraft}
	page, err := api.ListEvents(ctx, filter)
	is.NoErr(err)
	want, err := shop.ListEvents(ctx, shop.Caller, filter)
	is.NoErr(err)
	is.Equal(page, want)
	is.True(page.HasMore)
	filter.Cursor = page.NextCursor
	page, err = api.ListEvents(ctx, filter)
	is.NoErr(err)
	is.Equal(len(page.Items), 1)
	is.Equal(page.NextCursor, "")

	orders := ticketing.OrderFilter{
		PageParams: ticketing.PageParams{Limit: 2}, EventID: event.ID,
		Statuses: []ticketing.OrderStatus{ticketing.OrderConfirmed, ticketing.OrderRefunded},
	}
	firstTwo, err := api.ListOrders(ctx, orders)
	is.NoErr(err)
	wantTwo, err := shop.ListOrders(ctx, shop.Caller, orders)
	is.NoErr(err)
	is.Equal(firstTwo, wantTwo)
	all, err := shop.ListOrders(ctx, shop.Caller, ticketing.OrderFilter{})
	is.NoErr(err)
	sequence := api.Orders(ctx, orders)
	for range 2 { // Each use starts from the beginning.
		var seen []ticketing.Order
		for order, err := range sequence {
			is.NoErr(err)
			seen = append(seen, order)
		}
		is.Equal(seen, all.Items)
	}
	for _, err := range sequence {
		is.NoErr(err)
		break // A caller may stop early.
	}
	events := 0
	for _, err := range api.Events(ctx, ticketing.EventFilter{PageParams: ticketing.PageParams{Limit: 2}}) {
		is.NoErr(err)
		events++
	}
	is.Equal(events, 5)

	// A sequence ends with its error.
	var failures []error
	for _, err := range api.Orders(ctx, ticketing.OrderFilter{PageParams: ticketing.PageParams{Cursor: "none"}}) {
		failures = append(failures, err)
	}
	is.Equal(len(failures), 1)
	is.True(errors.Is(failures[0], ticketing.CodeInvalidCursor))
}

// Any tier name arrives unchanged; a name that a path cannot hold is refused without a request.
func TestTierNames(t *testing.T) {
	t.Parallel()
	names := []string{
		"A/B", "A//B", "../VIP", "50%", "%2F", "A+B", "Two Words", "Bàlùú", "席", "a?b=c&d", "#1", "semi;colon", "a:b@c", "😀",
		"...",
	}
	is := is.New(t)
	ctx := t.Context()
	shop, api := serve(t)
	event := shop.Event(t, func(p *ticketing.CreateEventParams) { p.TicketCategories = names })
	paused := ticketing.InventoryPaused
	for _, name := range names {
		shop.Inventory(t, event.ID, name, 10_00, 1)
		tier, err := api.UpdateInventory(ctx, event.ID, name, ticketing.UpdateInventoryParams{Status: &paused})
		is.NoErr(err)
		is.Equal(tier.Tier, name)
		is.Equal(tier.Status, paused)
		tier, err = api.CancelInventory(ctx, event.ID, name)
		is.NoErr(err)
		is.Equal(tier.Tier, name)
	}
	nowhere := dial(t, "http://127.0.0.1:1", "key")
	for _, name := range []string{"", ".", ".."} {
		_, err := nowhere.CancelInventory(ctx, event.ID, name)
		is.True(errors.Is(err, ticketing.CodeInvalidRequest))
		_, err = nowhere.UpdateInventory(ctx, event.ID, name, ticketing.UpdateInventoryParams{Status: &paused})
		is.True(errors.Is(err, ticketing.CodeInvalidRequest))
	}
}

// A refusal is the error of the library, with the status and the request id of HTTP.
func TestRefusals(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	shop, api := serve(t)
	ctx := client.WithRequestID(t.Context(), "scan-7")
	_, err := api.CreateEvent(ctx, "event-0001", ticketing.CreateEventParams{})
	_, want := shop.CreateEvent(ctx, shop.Caller, "event-0001", ticketing.CreateEventParams{})
	refused, ok := errors.AsType[*client.Error](err)
	is.True(ok)
	is.Equal(refused.Status, http.StatusBadRequest)
	is.Equal(refused.RequestID, "scan-7")
	told, ok := errors.AsType[*ticketing.Error](err)
	is.True(ok)
	is.True(len(told.Violations) > 3)
	is.Equal(told, want)
	is.True(errors.Is(err, ticketing.CodeInvalidRequest))
	is.True(strings.Contains(err.Error(), "HTTP 400: INVALID_REQUEST: title: ") && strings.HasSuffix(err.Error(),
		"(request scan-7)"))

	_, err = api.GetOrder(ctx, uuid.New())
	is.True(errors.Is(err, ticketing.CodeNotFound) && !errors.Is(err, client.ErrAmbiguous))

	// An id that no header may carry is replaced by the service's.
	_, err = api.GetOrder(client.WithRequestID(t.Context(), "a\nb"), uuid.New())
	refused, _ = errors.AsType[*client.Error](err)
	is.True(refused != nil && refused.Status == http.StatusNotFound && refused.RequestID != "")

	// A malformed idempotency key is refused before anything is sent.
	nowhere := dial(t, "http://127.0.0.1:1", "key")
	_, err = nowhere.Checkout(ctx, "", ticketing.CheckoutParams{})
	is.True(errors.Is(err, ticketing.CodeIdempotencyKeyRequired))
	_, err = nowhere.Checkout(ctx, " cart-0001", ticketing.CheckoutParams{})
	is.True(errors.Is(err, ticketing.CodeInvalidRequest))
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	const good = "https://tickets.example/api/public/v1"
	for name, test := range map[string]struct{ address, key string }{
		"no address":       {"", "key"},
		"a path":           {"/api/public/v1", "key"},
		"no host":          {"https://:443/api", "key"},
		"another scheme":   {"ftp://tickets.example", "key"},
		"no scheme":        {"tickets.example/api", "key"},
		"credentials":      {"https://u:secret@tickets.example", "key"},
		"a query":          {good + "?a=b", "key"},
		"an empty query":   {good + "?", "key"},
		"a fragment":       {good + "#a", "key"},
		"no key":           {good, ""},
		"a key of 2 lines": {good, "secret\nb"},
		"a spaced key":     {good, "secret "},
		"broken":           {"https://tickets.example/%zz", "key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			_, err := client.New(test.address, test.key, nil)
			is.True(err != nil)
			is.True(!strings.Contains(err.Error(), "secret"))
		})
	}
	for _, agent := range []string{"a\nb", "a\x7f", "é"} {
		_, err := client.New(good, "key", &client.Config{UserAgent: agent})
		is.New(t).True(err != nil)
	}
}

// The client adds no dependency to a program beyond those of the library and the standard library.
func TestImports(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	list := func(pattern string) map[string]bool {
		out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-json=ImportPath,Standard", pattern).Output()
		is.NoErr(err)
		found := map[string]bool{}
		for decoder := json.NewDecoder(bytes.NewReader(out)); decoder.More(); {
			var imported struct {
				ImportPath string
				Standard   bool
			}
			is.NoErr(decoder.Decode(&imported))
			if !imported.Standard {
				found[imported.ImportPath] = true
			}
		}
		return found
	}
	root := list("github.com/floatgate/ticketing")
	is.True(len(root) > 0)
	for path := range list(".") {
		is.True(root[path] || path == "github.com/floatgate/ticketing/client") // path is one of the library's own
	}
}
