package client_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/client"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/ticketingtest"
)

// says returns a fault that responds with 200 and the given body.
func says(body string) fault {
	return func(*http.Request, func() *http.Response) (*http.Response, error) { return made(200, "", body), nil }
}

// rewrites returns a fault that replaces old in the service's own answer. The test fails if old does not occur in it.
func rewrites(old, changed string) fault {
	return func(_ *http.Request, serve func() *http.Response) (*http.Response, error) {
		body, err := io.ReadAll(serve().Body)
		if err != nil || !strings.Contains(string(body), old) {
			return made(http.StatusTeapot, "", ""), err
		}
		return made(http.StatusOK, "", strings.ReplaceAll(string(body), old, changed)), nil
	}
}

type operation struct {
	object  string
	listed  bool
	changes bool
	call    func(context.Context, *client.Client) error
}

// operations returns every operation of the client by its name.
func operations() map[string]operation {
	id, other := uuid.New(), uuid.New()
	return map[string]operation{
		"create event": {"event", false, true, func(ctx context.Context, api *client.Client) error {
			_, err := api.CreateEvent(ctx, "event-0001", ticketing.CreateEventParams{})
			return err
		}},
		"list events": {"event", true, false, func(ctx context.Context, api *client.Client) error {
			_, err := api.ListEvents(ctx, ticketing.EventFilter{})
			return err
		}},
		"get event": {"event", false, false, func(ctx context.Context, api *client.Client) error {
			_, err := api.GetEvent(ctx, id)
			return err
		}},
		"update event": {"event", false, true, func(ctx context.Context, api *client.Client) error {
			_, err := api.UpdateEvent(ctx, id, ticketing.UpdateEventParams{})
			return err
		}},
		"cancel event": {"event", false, true, func(ctx context.Context, api *client.Client) error {
			_, err := api.CancelEvent(ctx, id)
			return err
		}},
		"list inventory": {"inventory_tier", true, false, func(ctx context.Context, api *client.Client) error {
			_, err := api.ListInventory(ctx, id)
			return err
		}},
		"create inventory": {"inventory_tier", false, true, func(ctx context.Context, api *client.Client) error {
			_, err := api.CreateInventory(ctx, id, "batch-0001", ticketing.CreateInventoryParams{})
			return err
		}},
		"update inventory": {"inventory_tier", false, true, func(ctx context.Context, api *client.Client) error {
			_, err := api.UpdateInventory(ctx, id, "VIP", ticketing.UpdateInventoryParams{})
			return err
		}},
		"cancel inventory": {"inventory_tier", false, true, func(ctx context.Context, api *client.Client) error {
			_, err := api.CancelInventory(ctx, id, "VIP")
			return err
		}},
		"quote": {"pricing_quote", false, false, func(ctx context.Context, api *client.Client) error {
			_, err := api.Quote(ctx, ticketing.QuoteParams{})
			return err
		}},
		"checkout": {"order", false, true, func(ctx context.Context, api *client.Client) error {
			_, err := api.Checkout(ctx, "cart-0001", ticketing.CheckoutParams{})
			return err
		}},
		"list orders": {"order", true, false, func(ctx context.Context, api *client.Client) error {
			_, err := api.ListOrders(ctx, ticketing.OrderFilter{})
			return err
		}},
		"get order": {"order", false, false, func(ctx context.Context, api *client.Client) error {
			_, err := api.GetOrder(ctx, id)
			return err
		}},
		"validate": {"ticket_validation", false, true, func(ctx context.Context, api *client.Client) error {
			_, err := api.ValidateAdmission(ctx, id, other, "scan-0001", ticketing.ValidateParams{})
			return err
		}},
	}
}

// A success with data of another operation is an error: no caller gets an empty resource that looks read or created.
func TestSuccessesThatAreNone(t *testing.T) {
	t.Parallel()
	const meta = `,"meta":{"requestId":"r","page":{"hasMore":false,"nextCursor":null}}}`
	id := uuid.NewString()
	for name, operation := range operations() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				is := is.New(t)
				_, _, l, api := connect(t, client.Config{Attempts: 1})
				named := `{"object":"` + operation.object + `","id":"` + id + `","eventId":"` + id + `","tier":"VIP"}`
				stranger := `{"object":"webhook","id":"` + id + `","eventId":"` + id + `","tier":"VIP"}`
				nameless := `{"object":"` + operation.object + `"}`
				wrong := []string{`null`, `{}`, `""`, `0`, `[{}]`, `[null]`, stranger, nameless}
				right := named
				if operation.listed {
					right = `[` + named + `]`
					wrong = append(wrong, named, `[`+named+`,`+stranger+`]`, `[`+nameless+`]`)
				} else {
					wrong = append(wrong, `[]`, `[`+named+`]`)
				}
				l.faults = []fault{says(`{"data":` + right + meta)}
				is.NoErr(operation.call(t.Context(), api))
				for _, data := range wrong {
					l.faults = []fault{says(`{"data":` + data + meta)}
					err := operation.call(t.Context(), api)
					is.True(errors.Is(err, client.ErrAnswer))
					is.Equal(errors.Is(err, client.ErrAmbiguous), operation.changes)
				}
			})
		})
	}
}

// Of a refusal outside the contract the client takes only the status.
func TestRefusalsThatAreNone(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		is := is.New(t)
		_, event, l, api := connect(t, client.Config{})
		for _, body := range []string{
			``, `null`, `[]`, `<html>CONFLICT</html>`, `{"error":"CONFLICT"}`, `{"error":{"code":"CONFLICT","message":5}}`,
		} {
			l.sent, l.faults = nil, []fault{func(*http.Request, func() *http.Response) (*http.Response, error) {
				return made(http.StatusConflict, "", body), nil
			}}
			_, err := api.GetEvent(t.Context(), event.ID)
			refused, ok := errors.AsType[*client.Error](err)
			is.True(ok && !errors.Is(err, ticketing.CodeConflict))
			is.Equal(refused.Status, http.StatusConflict)
			is.Equal(refused.Refusal, &ticketing.Error{})
			is.Equal(refused.Error(), "client: HTTP 409 (request "+l.sent[0].id+")")
		}
	})
}

// Nothing of a malformed answer stays in the answer of the next attempt.
func TestNothingStaysOfWhatWasNone(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		is := is.New(t)
		_, event, l, api := connect(t, client.Config{})
		l.faults = []fault{
			says(`{"data":{"object":"event","title":"stale"}}`),
			says(`{"data":{"object":"event","id":"` + event.ID.String() + `"}}`),
		}
		got, err := api.GetEvent(t.Context(), event.ID)
		is.NoErr(err)
		is.Equal(got, ticketing.Event{ID: event.ID, Object: "event"})
		is.Equal(len(l.sent), 2)
	})
}

// A page that does not say whether more pages follow is an error: the list would end early, or never.
func TestPagesThatShowNothing(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		is := is.New(t)
		_, _, l, api := connect(t, client.Config{Attempts: 1})
		for _, meta := range []string{
			`{}`, `{"page":null}`, `{"page":{"hasMore":true,"nextCursor":null}}`, `{"page":{"hasMore":true}}`,
			`{"page":{"hasMore":"no","nextCursor":null}}`,
		} {
			l.faults = []fault{says(`{"data":[],"meta":` + meta + `}`), says(`{"data":[],"meta":` + meta + `}`)}
			_, err := api.ListEvents(t.Context(), ticketing.EventFilter{})
			is.True(errors.Is(err, client.ErrAnswer))
			_, err = api.ListOrders(t.Context(), ticketing.OrderFilter{})
			is.True(errors.Is(err, client.ErrAnswer))
		}
	})
}

// Cursors that repeat in a circle end a sequence, whatever the length of the circle and wherever it begins. Otherwise a
// sequence may have any number of pages, including empty ones.
func TestPagesThatGoRound(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		is := is.New(t)
		_, _, l, api := connect(t, client.Config{})
		page := func(next int) fault {
			return says(`{"data":[],"meta":{"page":{"hasMore":true,"nextCursor":"c` + strconv.Itoa(next) + `"}}}`)
		}
		for _, test := range []struct{ before, circle int }{{0, 1}, {0, 2}, {1, 1}, {5, 3}, {3, 40}, {100, 7}} {
			l.sent, l.faults = nil, nil
			for i := range 4 * (test.before + test.circle) {
				if i >= test.before {
					i = test.before + (i-test.before)%test.circle
				}
				l.faults = append(l.faults, page(i))
			}
			var failures []error
			for _, err := range api.Orders(t.Context(), ticketing.OrderFilter{}) {
				failures = append(failures, err)
			}
			is.Equal(len(failures), 1)
			is.True(errors.Is(failures[0], client.ErrAnswer))
			is.True(len(l.sent) > test.before+test.circle)
			is.True(len(l.sent) <= 3*(test.before+test.circle)+1)
		}

		// A cursor of the caller that leads to itself is a circle, too.
		l.sent, l.faults = nil, []fault{page(7)}
		for _, err := range api.Events(t.Context(), ticketing.EventFilter{PageParams: ticketing.PageParams{Cursor: "c7"}}) {
			is.True(errors.Is(err, client.ErrAnswer))
		}
		is.Equal(len(l.sent), 1)

		l.sent, l.faults = nil, nil
		for i := range 300 {
			l.faults = append(l.faults, page(i))
		}
		l.faults = append(l.faults, says(`{"data":[],"meta":{"page":{"hasMore":false,"nextCursor":null}}}`))
		for _, err := range api.Orders(t.Context(), ticketing.OrderFilter{}) {
			is.NoErr(err)
		}
		is.Equal(len(l.sent), 301)
	})
}

// A sequence requests no page before it needs it. It requests the largest pages if the caller sets no limit. It ends
// with the first failure, and when its context ends.
func TestSequences(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		is := is.New(t)
		shop, event, l, api := connect(t, client.Config{Attempts: 1})
		for range 4 {
			shop.Sell(t, event.ID, "VIP", 1)
		}
		paged := ticketing.OrderFilter{PageParams: ticketing.PageParams{Limit: 2}}
		seen := 0
		for _, err := range api.Orders(t.Context(), paged) {
			is.NoErr(err)
			if seen++; seen == 2 {
				break
			}
		}
		is.Equal(len(l.sent), 1)

		for _, err := range api.Orders(t.Context(), ticketing.OrderFilter{}) {
			is.NoErr(err)
			break
		}
		for _, err := range api.Events(t.Context(), ticketing.EventFilter{}) {
			is.NoErr(err)
			break
		}
		is.True(strings.Contains(l.sent[0].what, "?limit=2 "))
		is.True(strings.Contains(l.sent[1].what, "/orders?limit=100 "))
		is.True(strings.Contains(l.sent[2].what, "/events?limit=100 "))

		passes := func(_ *http.Request, serve func() *http.Response) (*http.Response, error) { return serve(), nil }
		l.faults = []fault{passes, unreached}
		orders, failures := 0, []error(nil)
		for order, err := range api.Orders(t.Context(), paged) {
			if err != nil {
				is.Equal(order.ID, uuid.Nil)
				failures = append(failures, err)
				continue // A caller that continues gets no second error.
			}
			orders++
		}
		is.Equal(orders, 2)
		is.Equal(len(failures), 1)
		is.True(errors.Is(failures[0], errLine))

		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		orders = 0
		for _, err := range api.Orders(ctx, paged) {
			if orders++; orders <= 2 {
				is.NoErr(err)
				cancel()
				continue
			}
			is.True(errors.Is(err, context.Canceled))
		}
		is.Equal(orders, 3)
	})
}

// The client ignores members that it does not know, wherever they are. A value of an enum that it does not know arrives
// unchanged (section 9).
func TestWhatIsNewIsNoObstacle(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		is := is.New(t)
		shop, event, l, api := connect(t, client.Config{Attempts: 1})
		l.faults = []fault{rewrites(`{"data":{`, `{"news":[1],"data":{"seats":{"a":1},`)}
		got, err := api.GetEvent(t.Context(), event.ID)
		is.NoErr(err)
		is.Equal(got, event)

		l.faults = []fault{rewrites(`"status":"PUBLISHED"`, `"status":"POSTPONED"`)}
		got, err = api.GetEvent(t.Context(), event.ID)
		is.NoErr(err)
		is.Equal(got.Status, ticketing.EventStatus("POSTPONED"))

		order := shop.Sell(t, event.ID, "VIP", 1)
		l.faults = []fault{rewrites(`"currency":"`+money.Currency+`"}`, `"currency":"`+money.Currency+`","minor":1000}`)}
		found, err := api.GetOrder(t.Context(), order.ID)
		is.NoErr(err)
		is.Equal(found, order)
	})
}

// Text that is not valid UTF-8 is refused before anything is sent, with the path of the member, since JSON would
// replace it by other text.
func TestTextsThatAreNone(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	ctx, id := t.Context(), uuid.New()
	nowhere := dial(t, "http://127.0.0.1:1", "key")
	bad := "a\xff"
	tell := func(err error) []string {
		refused, ok := errors.AsType[*ticketing.Error](err)
		is.True(ok && errors.Is(err, ticketing.CodeInvalidRequest) && !errors.Is(err, client.ErrAmbiguous))
		var told []string
		for _, violation := range refused.Violations {
			path, what, _ := strings.Cut(violation.Message, ": ")
			is.Equal(what, "must be valid UTF-8")
			told = append(told, path)
		}
		return told
	}
	_, err := nowhere.CreateEvent(ctx, "event-0001", ticketing.CreateEventParams{
		Title: bad, Description: bad, Date: bad, StartsAt: bad, EndsAt: bad, Timezone: bad, Location: bad, Venue: bad,
		ImageURL: bad, OrganizerName: bad, TicketCategories: []string{"BALCONY", bad}, Status: ticketing.EventStatus(bad),
	})
	is.Equal(tell(err), []string{
		"date", "description", "endsAt", "imageUrl", "location", "organizerName", "startsAt", "status", "ticketCategories[1]",
		"timezone", "title", "venue",
	})
	_, err = nowhere.UpdateEvent(ctx, id, ticketing.UpdateEventParams{Title: &bad, TicketCategories: &[]string{bad}})
	is.Equal(tell(err), []string{"ticketCategories[0]", "title"})
	_, err = nowhere.CreateInventory(ctx, id, "batch-0001", ticketing.CreateInventoryParams{Tier: bad, Description: bad})
	is.Equal(tell(err), []string{"description", "tier"})
	_, err = nowhere.UpdateInventory(ctx, id, "VIP", ticketing.UpdateInventoryParams{Currency: &bad})
	is.Equal(tell(err), []string{"currency"})
	_, err = nowhere.Quote(ctx, ticketing.QuoteParams{Lines: []ticketing.QuoteLineParams{{Tier: "VIP"}, {Tier: bad}}})
	is.Equal(tell(err), []string{"lines[1].tier"})
	basket := ticketingtest.Basket(id, bad, 10_00, 1)
	basket.Buyer.Fullname = bad
	_, err = nowhere.Checkout(ctx, "cart-0001", basket)
	is.Equal(tell(err), []string{"buyer.fullname", "lines[0].tier"})
	_, err = nowhere.ValidateAdmission(ctx, id, id, "scan-0001", ticketing.ValidateParams{Location: bad})
	is.Equal(tell(err), []string{"location"})
}

// The service judges empty and impossible values: they arrive, and are refused as the library refuses them. The
// exception is an empty optional text, which is left out.
func TestEmptyParamsAreRefusedAsByTheService(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	ctx := t.Context()
	shop, api := serve(t)
	event := shop.Event(t)
	same := func(got, want error) {
		t.Helper()
		told, ok := errors.AsType[*ticketing.Error](got)
		is.True(ok && told.Code == ticketing.CodeInvalidRequest)
		refused, ok := errors.AsType[*ticketing.Error](want)
		is.True(ok)
		is.Equal(told, refused)
	}
	_, got := api.UpdateEvent(ctx, event.ID, ticketing.UpdateEventParams{})
	_, want := shop.UpdateEvent(ctx, shop.Caller, event.ID, ticketing.UpdateEventParams{})
	same(got, want)
	negative := ticketing.CreateInventoryParams{Tier: "VIP", UnitPrice: -1, Quantity: -1}
	_, got = api.CreateInventory(ctx, event.ID, "batch-0001", negative)
	is.True(errors.Is(got, ticketing.CodeInvalidRequest)) // A negative price is not a money input: reported first.
	_, got = api.CreateInventory(ctx, event.ID, "batch-0001", ticketing.CreateInventoryParams{})
	_, want = shop.CreateInventory(ctx, shop.Caller, event.ID, "batch-0001", ticketing.CreateInventoryParams{})
	same(got, want)
	_, got = api.UpdateInventory(ctx, event.ID, "VIP", ticketing.UpdateInventoryParams{})
	_, want = shop.UpdateInventory(ctx, shop.Caller, event.ID, "VIP", ticketing.UpdateInventoryParams{})
	same(got, want)
	for _, lines := range [][]ticketing.QuoteLineParams{nil, {}, {{Tier: "VIP"}}, {{Quantity: 1}}} {
		_, got = api.Quote(ctx, ticketing.QuoteParams{EventID: event.ID, Lines: lines})
		_, want = shop.Quote(ctx, shop.Caller, ticketing.QuoteParams{EventID: event.ID, Lines: lines})
		same(got, want)
	}
	_, got = api.Checkout(ctx, "cart-0001", ticketing.CheckoutParams{EventID: event.ID})
	_, want = shop.Checkout(ctx, shop.Caller, "cart-0001", ticketing.CheckoutParams{EventID: event.ID})
	same(got, want)
	for _, call := range []func() error{
		func() error { _, err := api.GetEvent(ctx, uuid.Nil); return err },
		func() error { _, err := api.GetOrder(ctx, uuid.Nil); return err },
		func() error { _, err := api.Quote(ctx, ticketing.QuoteParams{}); return err },
		func() error {
			_, err := api.ListEvents(ctx, ticketing.EventFilter{PageParams: ticketing.PageParams{Limit: -1}})
			return err
		},
		func() error { _, err := api.ListEvents(ctx, ticketing.EventFilter{Status: "OPEN"}); return err },
	} {
		is.True(errors.Is(call(), ticketing.CodeInvalidRequest))
	}
}
