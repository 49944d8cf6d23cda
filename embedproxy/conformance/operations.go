package conformance

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// operationChecks returns the checks of the table of operations.
func operationChecks() []step {
	return []step{
		{"operations", "events.list reads the list of published events, with limit and cursor", checkList},
		{"operations", "events.list without fields forces status=PUBLISHED, too", checkPlainList},
		{"operations", "events.inventory reads the event, the inventory and the event", checkInventory},
		{"operations", "pricing.quote reads the event and posts the quote", checkQuote},
		{"operations", "checkout.create reads the event and posts the checkout", checkCheckout},
		{"operations", "checkout.create moves idempotencyKey into the header", checkKeyMoved},
	}
}

func checkList(ctx context.Context, c *check) {
	c.expectList(ctx, listPayload(), url.Values{"status": {"PUBLISHED"}, "limit": {"7"}, "cursor": {listCursor}})
	c.expectList(ctx, object{"limit": 1}, url.Values{"status": {"PUBLISHED"}, "limit": {"1"}})
	c.expectList(ctx, object{"limit": 100}, url.Values{"status": {"PUBLISHED"}, "limit": {"100"}})
	longest := strings.Repeat("aZ09_-xx", 64)
	c.expectList(ctx, object{"limit": 2, "cursor": longest},
		url.Values{"status": {"PUBLISHED"}, "limit": {"2"}, "cursor": {longest}})
}

func checkPlainList(ctx context.Context, c *check) {
	c.expectList(ctx, object{}, url.Values{"status": {"PUBLISHED"}})
}

// expectList expects one call with this query. A limit that the browser did not give is the proxy's choice.
func (c *check) expectList(ctx context.Context, payload object, want url.Values) {
	q := request{body: operation(opList, payload)}
	got := c.send(ctx, q, nil)
	if !c.expectCalls(q, got, "GET /events") {
		return
	}
	query := got.calls[0].query
	if limit, err := strconv.Atoi(query.Get("limit")); !want.Has("limit") && err == nil && limit >= 1 && limit <= 100 {
		query.Del("limit")
	}
	if query.Encode() != want.Encode() {
		c.failf("sent %s: want the query %s, got %s", q, short([]byte(want.Encode())), short([]byte(query.Encode())))
	}
	c.expectStatus(q, got, http.StatusOK)
}

func checkInventory(ctx context.Context, c *check) {
	q := request{body: operation(opInventory, inventoryPayload())}
	got := c.send(ctx, q, nil)
	event := "GET /events/" + eventID
	c.expectCalls(q, got, event, event+"/inventory", event)
	c.expectStatus(q, got, http.StatusOK)
}

func checkQuote(ctx context.Context, c *check) {
	q := request{body: operation(opQuote, quotePayload())}
	got := c.send(ctx, q, nil)
	if c.expectCalls(q, got, "GET /events/"+eventID, "POST /pricing/quote") {
		c.expectBody(q, got.calls[1], quotePayload())
	}
	c.expectStatus(q, got, http.StatusOK)
}

func checkCheckout(ctx context.Context, c *check) {
	whole := checkoutPayload()
	several := with(whole, "lines", list{
		object{"tier": "GENERAL_ADMISSION", "quantity": 49, "expectedUnitPrice": "5000.00", "currency": "NGN"},
		object{"tier": "VIP", "quantity": 1, "expectedUnitPrice": "999999999999.99", "currency": "NGN"},
	})
	onlyEmail := without(without(whole, "buyer.fullname"), "buyer.phone")
	free := with(whole, "lines.0.expectedUnitPrice", "0.00")
	for _, payload := range []any{whole, several, onlyEmail, free} {
		q := request{body: operation(opCheckout, payload)}
		got := c.send(ctx, q, nil)
		if c.expectCalls(q, got, "GET /events/"+eventID, "POST /checkouts") {
			c.expectBody(q, got.calls[1], without(payload, "idempotencyKey"))
		}
		c.expectStatus(q, got, http.StatusOK, http.StatusCreated)
	}
}

func checkKeyMoved(ctx context.Context, c *check) {
	for _, key := range []string{"abcdefgh", "A.b_c:d-9", "0" + strings.Repeat("x", 127)} {
		q := request{body: operation(opCheckout, with(checkoutPayload(), "idempotencyKey", key))}
		got := c.send(ctx, q, nil)
		post, ok := checkoutOf(got.calls)
		switch {
		case !ok:
			c.failf("sent %s: want POST /checkouts, got %s", q, sent(got.calls))
		case !slices.Equal(post.header.Values("Idempotency-Key"), []string{key}):
			c.failf("sent %s: want the header Idempotency-Key: %s, got %q",
				q, short([]byte(key)), post.header.Values("Idempotency-Key"))
		case strings.Contains(string(post.body), "idempotencyKey"):
			c.failf("sent %s: want no idempotencyKey in the upstream body, got one", q)
		}
	}
}

// checkoutOf returns the first checkout among calls.
func checkoutOf(calls []call) (call, bool) {
	for _, c := range calls {
		if of, _ := routeOf(c.method, c.path); of == routeCheckout {
			return c, true
		}
	}
	return call{}, false
}

// expectCalls expects exactly these calls, one after the other, and reports whether they were made. It ignores queries,
// except that only the list of events may have one.
func (c *check) expectCalls(q request, got result, want ...string) bool {
	made := make([]string, len(got.calls))
	for i, call := range got.calls {
		if of, _ := routeOf(call.method, call.path); of == routeList {
			made[i] = string(of)
		} else {
			made[i] = call.String()
		}
		if call.overlapped {
			c.failf("sent %s: want one upstream call after the other, got %s before the one before had ended", q, call)
			return false
		}
	}
	if !slices.Equal(made, want) {
		c.failf("sent %s: want %s, got %s", q, strings.Join(want, ", "), sent(got.calls))
		return false
	}
	return true
}

// expectBody expects a JSON body with exactly this content.
func (c *check) expectBody(q request, got call, want any) {
	media, _, _ := strings.Cut(got.header.Get("Content-Type"), ";")
	if !strings.EqualFold(strings.TrimSpace(media), "application/json") {
		c.failf("sent %s: want %s with Content-Type: application/json, got %q", q, got, got.header.Get("Content-Type"))
	}
	value, err := decode(got.body)
	if err != nil {
		c.failf("sent %s: want %s with a JSON body, got %s", q, got, short(got.body))
		return
	}
	if said := difference(canonical(want), value, ""); said != "" {
		c.failf("sent %s: want %s with the same content, got another: %s", q, got, said)
	}
}

func (c *check) expectStatus(q request, got result, want ...int) {
	if got.err != nil || !slices.Contains(want, got.status) {
		c.failf("sent %s: want status %s, got %s", q, wanted(want), got.saw())
	}
}
