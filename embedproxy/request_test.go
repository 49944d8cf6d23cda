package embedproxy_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/embedproxy"
)

// line and buyer of the checkouts in the tables.
const (
	aLine  = `{"tier":"VIP","quantity":1,"expectedUnitPrice":"5000.00","currency":"NGN"}`
	aBuyer = `{"email":"ada@example.com"}`
)

// checkoutOf returns a post whose members have these values; "-" leaves one out.
func checkoutOf(event, buyer, lines, key string) string {
	var members []string
	for _, member := range [][2]string{{"eventId", event}, {"buyer", buyer}, {"lines", lines}, {"idempotencyKey", key}} {
		if member[1] != "-" {
			members = append(members, `"`+member[0]+`":`+member[1])
		}
	}
	return `{"operation":"checkout.create","payload":{` + strings.Join(members, ",") + `}}`
}

// withLine returns a checkout with one line.
func withLine(line string) string {
	return checkoutOf(`"`+eventID+`"`, aBuyer, "["+line+"]", `"cart-1001"`)
}

// withBuyer returns a checkout of a buyer.
func withBuyer(buyer string) string {
	return checkoutOf(`"`+eventID+`"`, buyer, "["+aLine+"]", `"cart-1001"`)
}

func lines(n int, line string) string {
	var all []string
	for i := range n {
		all = append(all, strings.ReplaceAll(line, "VIP", "T"+strings.Repeat("i", i)))
	}
	return "[" + strings.Join(all, ",") + "]"
}

// inventoryOf returns a post that reads the tiers of an event.
func inventoryOf(event string) string {
	return `{"operation":"events.inventory","payload":{"eventId":"` + event + `"}}`
}

// quoteOf returns a post that reads the price of lines.
func quoteOf(lines string) string {
	return `{"operation":"pricing.quote","payload":{"eventId":"` + eventID + `","lines":` + lines + `}}`
}

// hostile are bodies that the proxy refuses, with the beginning of the message.
var hostile = []struct{ body, message string }{
	{``, "body: is required"},
	{`null`, "body: must be an object"},
	{`[` + postList + `]`, "body: must be an object"},
	{`"events.list"`, "body: must be an object"},
	{postList + postList, "body: must be one JSON value"},
	{`{"operation":"events.list"`, "body: is not valid JSON"},
	{"{\"operation\":\"events.list\",\"payload\":{\"cursor\":\"\xff\"}}", "payload.cursor: is not valid JSON"},
	{`{"operation":"events.list","payload":{"cursor":"\ud800"}}`, "payload.cursor: is not valid JSON"},
	{`{}`, "operation: is required"},
	{`{"payload":{}}`, "operation: is required"},
	{`{"operation":"events.list"}`, "payload: is required"},
	{`{"operation":null,"payload":{}}`, "operation: must not be null"},
	{`{"operation":["events.list"],"payload":{}}`, "operation: must be a string"},
	{`{"operation":"events.get","payload":{"eventId":"` + eventID + `"}}`, "operation: must be events.list"},
	{`{"operation":"orders.list","payload":{}}`, "operation: must be events.list"},
	{`{"operation":"Events.list","payload":{}}`, "operation: must be events.list"},
	{`{"operation":"__proto__","payload":{}}`, "operation: must be events.list"},
	{`{"operation":"constructor","payload":{}}`, "operation: must be events.list"},
	{`{"operation":"events.list","operation":"events.list","payload":{}}`, "operation: must be there once"},
	{`{"operation":"events.list","payload":{},"payload":{}}`, "payload: must be there once"},
	{`{"operation":"events.list","payload":null}`, "payload: must not be null"},
	{`{"operation":"events.list","payload":[]}`, "payload: must be an object"},
	{`{"operation":"events.list","payload":{},"url":"https://evil.example"}`, "url: is not a known member"},
	{`{"operation":"events.list","payload":{},"path":"/orders"}`, "path: is not a known member"},
	{`{"operation":"events.list","payload":{},"method":"DELETE"}`, "method: is not a known member"},
	{`{"operation":"events.list","payload":{},"headers":{"Authorization":"Bearer x"}}`, "headers: is not a known member"},
	{`{"operation":"events.list","payload":{},"tenantId":"` + otherID + `"}`, "tenantId: is not a known member"},
	{`{"operation":"events.list","payload":{},"__proto__":{"admin":true}}`, "__proto__: is not a known member"},
	{`{"operation":"events.list","payload":{"status":"DRAFT"}}`, "payload.status: is not a known member"},
	{`{"operation":"events.list","payload":{"__proto__":{"limit":1}}}`, "payload.__proto__: is not a known member"},
	{`{"operation":"events.list","payload":{"Limit":1}}`, "payload.Limit: is not a known member"},
	{`{"operation":"events.list","payload":{"limit":1,"limit":1}}`, "payload.limit: must be there once"},
	{`{"operation":"events.list","payload":{"limit":0}}`, "payload.limit: must be a whole number from 1 to 100"},
	{`{"operation":"events.list","payload":{"limit":101}}`, "payload.limit: must be a whole number from 1 to 100"},
	{`{"operation":"events.list","payload":{"limit":-1}}`, "payload.limit: must be a whole number"},
	{`{"operation":"events.list","payload":{"limit":1.0}}`, "payload.limit: must be an integer"},
	{`{"operation":"events.list","payload":{"limit":"1"}}`, "payload.limit: must be an integer"},
	{`{"operation":"events.list","payload":{"limit":null}}`, "payload.limit: must not be null"},
	{`{"operation":"events.list","payload":{"cursor":""}}`, "payload.cursor: must be 1 to 512"},
	{`{"operation":"events.list","payload":{"cursor":"a/b"}}`, "payload.cursor: must be 1 to 512"},
	{`{"operation":"events.list","payload":{"cursor":"a&status=DRAFT"}}`, "payload.cursor: must be 1 to 512"},
	{`{"operation":"events.list","payload":{"cursor":"a\r\nX: y"}}`, "payload.cursor: must be 1 to 512"},
	{`{"operation":"events.list","payload":{"cursor":` + long(513) + `}}`, "payload.cursor: must be 1 to 512"},
	{`{"operation":"events.inventory","payload":{}}`, "payload.eventId: is required"},
	{inventoryOf("../orders"), "payload.eventId: must be a UUID"},
	{inventoryOf(eventID + "/inventory"), "payload.eventId: must be a UUID"},
	{inventoryOf("6f1c8e0e-5a52-1f6c-9d0c-2f6f2b7f3a11"), "payload.eventId: must be a UUID"},
	{inventoryOf(eventID + `","tier":"VIP`), "payload.tier: is not a known member"},
	{`{"operation":"pricing.quote","payload":{"eventId":"` + eventID + `"}}`, "payload.lines: is required"},
	{quoteOf(`[]`), "payload.lines: must be 1 to 50 lines"},
	{quoteOf(`{}`), "payload.lines: must be a list"},
	{quoteOf(`[` + aLine + `]`), "payload.lines[0].expectedUnitPrice: is not a known member"},
	{
		quoteOf(`[{"tier":"A","quantity":50},{"tier":"B","quantity":1}]`),
		"payload.lines: must be for at most 50 admissions in all",
	},
	{checkoutOf("-", aBuyer, "["+aLine+"]", `"cart-1001"`), "payload.eventId: is required"},
	{checkoutOf(`"`+eventID+`"`, "-", "["+aLine+"]", `"cart-1001"`), "payload.buyer: is required"},
	{checkoutOf(`"`+eventID+`"`, aBuyer, "-", `"cart-1001"`), "payload.lines: is required"},
	{checkoutOf(`"`+eventID+`"`, aBuyer, "["+aLine+"]", "-"), "payload.idempotencyKey: is required"},
	{checkoutOf(`"`+eventID+`"`, aBuyer, "["+aLine+"]", `"short"`), "payload.idempotencyKey: must be 8 to 128"},
	{checkoutOf(`"`+eventID+`"`, aBuyer, "["+aLine+"]", `"cart 1001"`), "payload.idempotencyKey: must be 8 to 128"},
	{checkoutOf(`"`+eventID+`"`, aBuyer, "["+aLine+"]", `"cart-1001\r\nX: y"`), "payload.idempotencyKey: must be 8"},
	{checkoutOf(`"`+eventID+`"`, aBuyer, "["+aLine+"]", long(129)), "payload.idempotencyKey: must be 8 to 128"},
	{checkoutOf(`"`+eventID+`"`, aBuyer, lines(51, aLine), `"cart-1001"`), "payload.lines: must be 1 to 50 lines"},
	{checkoutOf(`"`+eventID+`"`, aBuyer, repeated("0", 1001), `"cart-1001"`), "payload.lines: has too many"},
	{checkoutOf(`"`+eventID+`"`, aBuyer, "["+aLine+","+aLine+"]", `"cart-1001"`), "payload.lines: must not have a tier"},
	{withLine(`null`), "payload.lines[0]: must not be null"},
	{withLine(`[]`), "payload.lines[0]: must be an object"},
	{withLine(`{}`), "payload.lines[0].tier: is required"},
	{withLine(aLine + `,{"tier":"A"}`), "payload.lines[1].quantity: is required"},
	{withLine(strings.Replace(aLine, `"VIP"`, `""`, 1)), "payload.lines[0].tier: must be 1 to 60 characters"},
	{withLine(strings.Replace(aLine, `"VIP"`, long(61), 1)), "payload.lines[0].tier: must be 1 to 60 characters"},
	{withLine(strings.Replace(aLine, `"VIP"`, `"A\u0000"`, 1)), "payload.lines[0].tier: must not contain U+0000"},
	{withLine(strings.Replace(aLine, `:1,`, `:0,`, 1)), "payload.lines[0].quantity: must be a whole number from 1 to 50"},
	{withLine(strings.Replace(aLine, `:1,`, `:51,`, 1)), "payload.lines[0].quantity: must be a whole number from 1 to 50"},
	{withLine(strings.Replace(aLine, `:1,`, `:1e0,`, 1)), "payload.lines[0].quantity: must be an integer"},
	{withLine(strings.Replace(aLine, `:1,`, `:"1",`, 1)), "payload.lines[0].quantity: must be an integer"},
	{withLine(strings.Replace(aLine, `"5000.00"`, `5000`, 1)), "payload.lines[0].expectedUnitPrice: must be a string"},
	{withLine(strings.Replace(aLine, `5000.00`, `-1`, 1)), "payload.lines[0].expectedUnitPrice: must be a plain decimal"},
	{withLine(strings.Replace(aLine, `5000.00`, `1.000`, 1)), "payload.lines[0].expectedUnitPrice: must be a plain"},
	{withLine(strings.Replace(aLine, `5000.00`, `1000000000000`, 1)), "payload.lines[0].expectedUnitPrice: must be a"},
	{withLine(strings.Replace(aLine, `NGN`, `USD`, 1)), "payload.lines[0].currency: must be NGN"},
	{withLine(strings.Replace(aLine, `"NGN"`, `null`, 1)), "payload.lines[0].currency: must not be null"},
	{withLine(strings.Replace(aLine, `}`, `,"url":"x"}`, 1)), "payload.lines[0].url: is not a known member"},
	{withLine(strings.Replace(aLine, `}`, `,"__proto__":{}}`, 1)), "payload.lines[0].__proto__: is not a known member"},
	{withLine(strings.Replace(aLine, `}`, `,"tier":"A"}`, 1)), "payload.lines[0].tier: must be there once"},
	{withBuyer(`null`), "payload.buyer: must not be null"},
	{withBuyer(`"ada@example.com"`), "payload.buyer: must be an object"},
	{withBuyer(`{}`), "payload.buyer.email: is required"},
	{withBuyer(`{"email":null}`), "payload.buyer.email: must not be null"},
	{withBuyer(`{"email":"  "}`), "payload.buyer.email: must be one email address"},
	{withBuyer(`{"email":"ada"}`), "payload.buyer.email: must be one email address"},
	{withBuyer(`{"email":"@example.com"}`), "payload.buyer.email: must be one email address"},
	{withBuyer(`{"email":"ada@localhost"}`), "payload.buyer.email: must be one email address"},
	{withBuyer(`{"email":"` + strings.Repeat("a", 310) + `@example.com"}`), "payload.buyer.email: must be at most 320"},
	{withBuyer(`{"email":"a\nb@example.com"}`), "payload.buyer.email: must not contain control characters"},
	{withBuyer(`{"email":"ada@example.com","fullname":` + long(201) + `}`), "payload.buyer.fullname: must be at most 200"},
	{withBuyer(`{"email":"ada@example.com","phone":` + long(51) + `}`), "payload.buyer.phone: must be at most 50"},
	{withBuyer(`{"email":"ada@example.com","phone":234}`), "payload.buyer.phone: must be a string"},
	{withBuyer(`{"email":"ada@example.com","tenantId":"x"}`), "payload.buyer.tenantId: is not a known member"},
	{withBuyer(`{"email":"ada@example.com","email":"b@example.com"}`), "payload.buyer.email: must be there once"},
	{
		checkoutOf(`"`+eventID+`","headers":{}`, aBuyer, "["+aLine+"]", `"cart-1001"`),
		"payload.headers: is not a known member",
	},
	{`{"operation":"events.list","payload":{"cursor":` + long(70000) + `}}`, "body: must be at most 65536 bytes"},
	{`{"operation":"events.list","payload":{"cursor":` + long(1<<20) + `}}`, "body: must be at most 65536 bytes"},
}

// A body that is not one of an operation is refused with the path of its first violation, and nothing is sent.
func TestHostileBodies(t *testing.T) {
	t.Parallel()
	api := &script{}
	shop := open(t, api.remote(t, nil), nil)
	for _, test := range hostile {
		got := shop.post(t, test.body)
		if message := got.failed(t, 400, "INVALID_REQUEST"); !strings.HasPrefix(message, test.message) {
			t.Errorf("%.200s: %q, want %q", test.body, message, test.message)
		}
		if sent := api.routes(); len(sent) > 0 {
			t.Errorf("%.200s: %v was sent", test.body, sent)
		}
	}
	is.New(t).Equal(shop.log.String(), "") // It is the browser's failure.
}

// What the contract leaves open passes, and is sent in the form of the API.
func TestBodiesAtTheirLimits(t *testing.T) {
	t.Parallel()
	api := &script{}
	shop := open(t, api.remote(t, nil), nil)
	upper := strings.ToUpper(eventID)
	for _, test := range []struct{ body, sent string }{
		{
			withBuyer(`{"email":" ADA@Example.com ","fullname":null,"phone":"  "}`),
			`{"eventId":"` + eventID + `","buyer":{"email":"ada@example.com"},"lines":[` + aLine + `]}`,
		},
		{
			checkoutOf(`"`+upper+`"`, aBuyer, "["+strings.Replace(aLine, "5000.00", "5000", 1)+"]", `"cart-1001"`),
			`{"eventId":"` + eventID + `","buyer":{"email":"ada@example.com"},"lines":[` + aLine + `]}`,
		},
		{
			withLine(strings.Replace(strings.Replace(aLine, `:1,`, `:50,`, 1), "VIP", "<é & \\\"/>", 1)),
			`{"eventId":"` + eventID + `","buyer":{"email":"ada@example.com"},"lines":[` +
				strings.Replace(strings.Replace(aLine, `:1,`, `:50,`, 1), "VIP", "<é & \\\"/>", 1) + `]}`,
		},
		{
			checkoutOf(`"`+eventID+`"`, aBuyer, lines(50, aLine), `"cart-1001"`),
			`{"eventId":"` + eventID + `","buyer":{"email":"ada@example.com"},"lines":` + lines(50, aLine) + `}`,
		},
	} {
		if got := shop.post(t, test.body); got.status != 201 {
			t.Fatalf("%.300s: %s", test.body, got.body)
		}
		sent := api.got()
		is.New(t).Equal(sent[len(sent)-1].body, test.sent)
	}
}

// Only one Content-Type, application/json in UTF-8, passes: forms send the others.
func TestContentTypes(t *testing.T) {
	t.Parallel()
	api := &script{}
	shop := open(t, api.remote(t, nil), nil)
	for _, refused := range []string{
		"-", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/json-patch",
		"application/json; charset=latin1", "application/json; a=b", "application/json|application/json", "",
		"text/plain; application/json",
	} {
		got := shop.post(t, postList, "Content-Type", refused)
		is.New(t).Equal(got.failed(t, 400, "INVALID_REQUEST"), "Content-Type: must be application/json")
	}
	is.New(t).Equal(len(api.got()), 0)
	for _, taken := range []string{"application/json", "Application/JSON", "application/json;charset=UTF-8"} {
		shop.post(t, postList, "Content-Type", taken).ok(t, 200, shownPage)
	}
}

// FuzzBody posts any body. The answer is a success of a known operation, or a refusal. Only the calls of section 4.12
// are sent, and nothing is sent for a refused body.
func FuzzBody(f *testing.F) {
	for _, post := range posts {
		f.Add([]byte(post.body))
	}
	for _, test := range hostile {
		if len(test.body) < 1000 {
			f.Add([]byte(test.body))
		}
	}
	api := &script{}
	proxy := handler(f, embedproxy.Local(api))
	f.Fuzz(func(t *testing.T, body []byte) {
		api.got()
		got := serve(t, proxy, body)
		routes := api.routes()
		if got.status == 400 && len(routes) > 0 {
			t.Fatalf("%v was sent for a body that was refused: %s", routes, got.body)
		}
		for _, route := range routes {
			if route != routeList && !strings.HasPrefix(route, "GET /events/") && route != routeQuote && route != routeCheckout {
				t.Fatalf("%s was sent", route)
			}
		}
		if got.status < 400 && !bytes.Contains(body, []byte("operation")) && !bytes.Contains(body, []byte(`\`)) {
			t.Fatalf("status %d for %q", got.status, body)
		}
	})
}
