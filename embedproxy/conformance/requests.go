package conformance

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// requestChecks returns the checks of what a browser may send.
func requestChecks() []step {
	return []step{
		{"1", "an operation other than the four is refused", checkOperations},
		{"1", "a request of another form is refused", checkForm},
		{"1", "an unknown member at any depth is refused", checkUnknownMembers},
		{"1", "no URL, path, method, header or tenant is taken from the browser", checkSteering},
		{"1", "a member that is missing or of another type is refused", checkTypes},
		{"1", "events.list: limit and cursor within the public constraints", checkListLimits},
		{"1", "ids are UUIDs of version 4", checkIDs},
		{"1", "lines: unique tiers, and 1 to 50 admissions in all", checkLines},
		{"1", "checkout: money, currency, buyer and idempotency key within the public constraints", checkCheckoutLimits},
		{"1", "a name that is there twice is refused", checkDuplicates},
		{"1", "methods and content types other than POST of JSON are refused", checkMethods},
		{"1", "a body that is no JSON, or has 1 MB, is refused", checkBodies},
		{"1", "headers and query of the browser do not reach the upstream", checkBrowserHeaders},
	}
}

// refuse sends bodies, each of which the proxy must refuse itself.
func (c *check) refuse(ctx context.Context, requests ...request) {
	for _, q := range requests {
		c.expectRefused(q, c.send(ctx, q, nil))
	}
}

// refusePayload sends an operation that the proxy must refuse itself.
func (c *check) refusePayload(ctx context.Context, name string, payload any) {
	c.refuse(ctx, request{body: operation(name, payload)})
}

// withValue returns an operation with another value at a path of its payload.
func withValue(name string, payload any, path string, value any) request {
	return request{
		name: fmt.Sprintf("%s with %s %s", name, path, short(encode(value))),
		body: operation(name, with(payload, path, value)),
	}
}

func checkOperations(ctx context.Context, c *check) {
	for _, name := range []any{
		"orders.list", "orders.get", "events.get", "events.create", "inventory.create", "ticket.validate", "events",
		"EVENTS.LIST", " events.list", "events.list ", "", "__proto__", "constructor", "toString", nil, 1, true,
		list{"events.list"},
		object{"events.list": true},
	} {
		c.refuse(ctx, request{body: encode(object{"operation": name, "payload": object{}})})
	}
	c.refuse(ctx, request{body: encode(object{"payload": object{}})})
}

func checkForm(ctx context.Context, c *check) {
	right := object{"operation": opList, "payload": object{}}
	for _, body := range []any{nil, 1, "events.list", list{}, list{right}, object{}} {
		c.refuse(ctx, request{body: encode(body)})
	}
	for _, payload := range []any{nil, 1, "x", true, list{}, list{object{}}} {
		c.refusePayload(ctx, opList, payload)
		c.refusePayload(ctx, opCheckout, payload)
	}
	c.refuse(ctx, request{body: encode(object{"operation": opInventory})})
}

// unknownNames returns names of members that no operation has.
func unknownNames() []string {
	return []string{
		markPrefix + "unknown", "url", "path", "method", "header", "headers", "tenantId", "companyId", "baseUrl",
		"authorization", "apiKey", "status", "__proto__", "constructor",
	}
}

// added returns a request with one additional member.
func added(body object, path string, value any) request {
	return request{
		name: fmt.Sprintf("%s with %s added", body["operation"], path), body: encode(with(body, path, value)),
	}
}

func checkUnknownMembers(ctx context.Context, c *check) {
	for _, of := range payloads() {
		body := object{"operation": of.operation, "payload": of.payload}
		walk(body, "", func(path string, value any) {
			members, ok := value.(object)
			if !ok {
				return
			}
			for _, name := range unknownNames() {
				c.refuse(ctx, added(body, join(path, name), "PUBLISHED"))
			}
			for _, name := range slices.Sorted(maps.Keys(members)) {
				// Names of members are case-sensitive.
				c.refuse(ctx, added(body, join(path, strings.ToUpper(name)), members[name]))
			}
		})
	}
	// Members of another operation.
	c.refusePayload(ctx, opInventory, object{"eventId": eventID, "limit": 1})
	c.refuse(ctx, withValue(opQuote, quotePayload(), "idempotencyKey", "abcdefgh"))
	c.refuse(ctx, withValue(opQuote, quotePayload(), "lines.0.expectedUnitPrice", "1.00"))
}

func checkSteering(ctx context.Context, c *check) {
	c.refusePayload(ctx, opInventory, object{"eventId": eventID + "/../../orders"})
	c.refusePayload(ctx, opInventory, object{"eventId": "../orders"})
	c.refusePayload(ctx, opInventory, object{"eventId": eventID + "?status=DRAFT"})
	c.refusePayload(ctx, opInventory, object{"eventId": eventID + "#x"})
	c.refusePayload(ctx, opInventory, object{"eventId": "%2e%2e%2forders"})
	c.refusePayload(ctx, opInventory, object{"eventId": eventID + "\r\nX-Tenant-Id: 1"})
	c.refusePayload(ctx, opList, object{"cursor": "abc&status=DRAFT"})
	c.refusePayload(ctx, opList, object{"limit": "7&status=DRAFT"})
	c.refusePayload(ctx, opList, object{"cursor": "http://127.0.0.1/"})
	c.refuse(ctx, withValue(opCheckout, checkoutPayload(), "idempotencyKey", "abcdefgh\r\nX-Tenant-Id: 1"))
	for _, name := range []string{"url", "path", "method", "headers", "tenantId", "query"} {
		for _, value := range []any{"DELETE", object{"X-Tenant-Id": "1"}, nil} {
			c.refuse(ctx, request{body: encode(object{"operation": opList, "payload": object{}, name: value})})
		}
	}
}

func checkTypes(ctx context.Context, c *check) {
	optional := []string{"limit", "cursor", "buyer.fullname", "buyer.phone"}
	for _, of := range payloads() {
		walk(of.payload, "", func(path string, value any) {
			if path == "" {
				return
			}
			for _, other := range []any{nil, 7, "x", true, list{}, object{}, 1.5} {
				nullable := strings.HasPrefix(path, "buyer.") && slices.Contains(optional, path)
				if sameType(value, other) || (other == nil && nullable) {
					continue
				}
				c.refuse(ctx, withValue(of.operation, of.payload, path, other))
			}
			if !slices.Contains(optional, path) && !strings.HasSuffix(path, ".0") {
				c.refuse(ctx, request{
					name: of.operation + " without " + path, body: operation(of.operation, without(of.payload, path)),
				})
			}
		})
	}
}

// sameType reports whether two values have the same type. All lists have one type whatever they hold, and so have all
// objects: an empty one is refused for other reasons.
func sameType(a, b any) bool { return fmt.Sprintf("%T", a) == fmt.Sprintf("%T", b) }

func checkListLimits(ctx context.Context, c *check) {
	for _, limit := range []any{0, -1, 101, 1000000, 7.5} {
		c.refusePayload(ctx, opList, object{"limit": limit})
	}
	for _, cursor := range []string{"", strings.Repeat("a", 513), "a/b", "a+b", "a=", "a b", "a.b", "ä", "a\n"} {
		c.refusePayload(ctx, opList, object{"cursor": cursor})
	}
}

func checkIDs(ctx context.Context, c *check) {
	for _, of := range payloads()[1:] {
		for _, id := range []string{
			"", "1", "lagos-nights", strings.ReplaceAll(eventID, "-", ""), "{" + eventID + "}", "urn:uuid:" + eventID,
			"7b0c8a52-5d0e-1c53-9d55-0a4f0d7f2c11", "7b0c8a52-5d0e-4c53-0d55-0a4f0d7f2c11", eventID + "\n", " " + eventID,
			"00000000-0000-0000-0000-000000000000",
		} {
			c.refuse(ctx, withValue(of.operation, of.payload, "eventId", id))
		}
	}
}

func checkLines(ctx context.Context, c *check) {
	for _, of := range payloads()[2:] {
		line, _ := at(of.payload, "lines.0").(object)
		tier := func(name string, quantity any) object {
			other, _ := with(with(line, "tier", name), "quantity", quantity).(object)
			return other
		}
		var tooMany list
		for i := range 51 {
			tooMany = append(tooMany, tier(fmt.Sprintf("T%d", i), 1))
		}
		for _, lines := range []list{
			{},
			tooMany,
			{tier("VIP", 1), tier("VIP", 2)},
			{tier("VIP", 51)},
			{tier("VIP", 26), tier("REGULAR", 25)},
			{tier("VIP", 0)},
			{tier("VIP", -1)},
			{tier("VIP", 1.5)},
			{tier("VIP", "1")},
			{tier("VIP", 1e18)},
			{tier("", 1)},
			{tier(strings.Repeat("x", 61), 1)},
		} {
			c.refuse(ctx, withValue(of.operation, of.payload, "lines", lines))
		}
	}
}

func checkCheckoutLimits(ctx context.Context, c *check) {
	refuse := func(path string, values ...any) {
		for _, value := range values {
			c.refuse(ctx, withValue(opCheckout, checkoutPayload(), path, value))
		}
	}
	refuse("lines.0.expectedUnitPrice",
		5000, "-1", "-1.00", "1.234", "1e3", "", "abc", "NaN", "1,000.00", "1000000000000.00")
	refuse("lines.0.currency", "USD", "ngn", "", "NGN ")
	refuse("buyer.email", strings.Repeat("a", 310)+"@example.com")
	refuse("buyer.fullname", strings.Repeat("a", 201))
	refuse("buyer.phone", strings.Repeat("1", 51))
	refuse("idempotencyKey", "", "abcdefg", strings.Repeat("a", 129), ".abcdefgh", "-abcdefgh", "abcd efgh", "abcd/efgh",
		"abcdefgä", "abcdefgh\n")
}

func checkDuplicates(ctx context.Context, c *check) {
	event := `"eventId":"` + eventID + `"`
	for _, body := range []string{
		`{"operation":"events.list","operation":"events.list","payload":{}}`,
		`{"operation":"events.list","payload":{},"payload":{}}`,
		`{"operation":"events.list","payload":{"limit":1,"limit":2}}`,
		`{"operation":"events.list","payload":{"limit":1,"\u006cimit":2}}`,
		`{"operation":"events.inventory","payload":{` + event + `,` + event + `}}`,
		`{"operation":"pricing.quote","payload":{` + event + `,"lines":[{"tier":"VIP","quantity":1,"quantity":2}]}}`,
	} {
		c.refuse(ctx, request{body: []byte(body)})
	}
}

func checkMethods(ctx context.Context, c *check) {
	body := operation(opList, object{})
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		q := request{name: method + " " + string(body), method: method, body: body}
		if got := c.send(ctx, q, nil); got.status != http.StatusNotImplemented || len(got.calls) > 0 {
			c.expectRefused(q, got)
		}
	}
	for _, media := range []string{
		"", "text/plain", "text/plain;charset=UTF-8", "application/x-www-form-urlencoded",
		"multipart/form-data; boundary=x", "application/jsonp", "text/json", "application/xml",
	} {
		c.refuse(ctx, request{
			name: fmt.Sprintf("%s with Content-Type %q", body, media), body: body,
			header: map[string]string{"Content-Type": media},
		})
	}
}

func checkBodies(ctx context.Context, c *check) {
	right := string(operation(opList, object{}))
	for _, body := range []string{
		"", "{", right + "}", right + right, right + " x", "operation=events.list", "\xef\xbb\xbf{", "null",
		`'` + right + `'`, strings.TrimSuffix(right, "}") + ",}", strings.TrimSuffix(right, "}") + ",\"\xff\":1}",
		"{\"operation\":\"events.list\xff\"}",
		`{"operation":"events.list","payload":{"limit":NaN}}`, `{"operation":"events.list","payload":{"limit":01}}`,
		strings.Repeat("[", 20_000),
	} {
		c.refuse(ctx, request{body: []byte(body)})
	}
	const megabyte = 1 << 20
	c.refuse(ctx,
		request{
			name: "events.list with a cursor of 1 MB",
			body: operation(opList, object{"cursor": strings.Repeat("a", megabyte)}),
		},
		request{name: "events.list with 1 MB of spaces", body: []byte(right + strings.Repeat(" ", megabyte))},
	)
}

func checkBrowserHeaders(ctx context.Context, c *check) {
	planted := map[string]string{
		"X-API-Key": mark, "X-Tenant-Id": mark, "X-Company-Id": mark, "Idempotency-Key": mark + "-browser",
		"X-HTTP-Method-Override": "DELETE", "X-Original-URL": "/" + mark, "X-Rewrite-URL": "/" + mark,
		"Referer": "https://" + mark + ".example/",
	}
	session := c.config.Header.Clone()
	if session == nil {
		session = http.Header{}
	}
	if session.Get("Authorization") == "" {
		planted["Authorization"] = "Bearer svc_live." + mark + "." + mark
	}
	if cookie := session.Get("Cookie"); cookie != "" {
		session.Set("Cookie", cookie+"; planted="+mark)
	}
	for _, of := range payloads() {
		q := request{
			body: operation(of.operation, of.payload), header: planted, session: session,
			query: "url=http://" + mark + "/&path=" + mark + "&status=DRAFT&method=DELETE",
		}
		got := c.send(ctx, q, nil)
		for _, call := range got.calls {
			_, secret, _ := strings.Cut(call.header.Get("Authorization"), " ")
			switch {
			case headerHas(call.header, mark):
				c.failf("sent %s with headers of its own: want none of them upstream, got one with %s", q, call)
			case call.header.Get("Cookie") != "" || (secret != "" && headerHas(c.config.Header, secret)):
				c.failf("sent %s: want no session of the browser upstream, got it with %s", q, call)
			case strings.Contains(call.path+call.query.Encode(), mark), call.query.Get("status") == "DRAFT",
				call.method == http.MethodDelete:
				c.failf("sent %s with a query of its own: want none of it upstream, got %s", q, call)
			}
		}
		if got.err != nil || got.status >= 500 {
			c.failf("sent %s with headers of its own: want an answer, got %s", q, got.saw())
		}
	}
}
