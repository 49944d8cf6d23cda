package httpapi_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/contracttest"
)

// operationIDs are the names of the operations in generated clients, each with its parameters besides the body, in the
// order of endpoints.
var operationIDs = []struct{ id, parameters string }{
	{"createEvent", "header:Idempotency-Key header:X-Request-Id"},
	{"listEvents", "query:limit query:cursor query:status header:X-Request-Id"},
	{"getEvent", "path:eventId header:X-Request-Id"},
	{"updateEvent", "path:eventId header:X-Request-Id"},
	{"cancelEvent", "path:eventId header:X-Request-Id"},
	{"listInventory", "path:eventId header:X-Request-Id"},
	{"createInventory", "path:eventId header:Idempotency-Key header:X-Request-Id"},
	{"updateInventory", "path:eventId path:tier header:X-Request-Id"},
	{"cancelInventory", "path:eventId path:tier header:X-Request-Id"},
	{"createQuote", "header:X-Request-Id"},
	{"createCheckout", "header:Idempotency-Key header:X-Request-Id"},
	{"listOrders", "query:limit query:cursor query:eventId query:status header:X-Request-Id"},
	{"getOrder", "path:orderId header:X-Request-Id"},
	{"validateAdmission", "path:eventId path:admissionId header:Idempotency-Key header:X-Request-Id"},
}

// The table of section 4 is the document's: the same operations, each with its name, its grant, its parameters and its
// body. Each has all answers that any request may get. Every call needs the one credential.
func TestOpenAPIOperations(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	c := theContract(t)
	found := 0
	for _, item := range c.At("paths") {
		found += len(item.(node))
	}
	is.Equal(found, len(endpoints))
	is.Equal(len(operationIDs), len(endpoints))
	is.Equal(c.At()["security"], []any{node{"apiKey": []any{}}})
	scheme := c.At("components", "securitySchemes", "apiKey")
	is.Equal([]any{scheme["type"], scheme["scheme"], scheme["bearerFormat"]},
		[]any{"http", "bearer", "svc_live.<key-id>.<secret>"})
	for i, e := range endpoints {
		template, verb := c.OperationOf(e.method, at(e.path))
		operation := c.At("paths", template, verb)
		is.Equal(operation["operationId"], operationIDs[i].id)
		is.Equal(operation["security"], nil) // The default of the document holds.
		is.Equal(operation["x-grant"], string(e.grant))
		is.True(strings.Contains(operation["description"].(string), "`"+string(e.grant)+"`"))
		var parameters []string
		for _, p := range operation["parameters"].([]any) {
			p := c.Follow(p.(node))
			in, name := p["in"].(string), p["name"].(string)
			parameters = append(parameters, in+":"+name)
			is.True(in != "path" || strings.Contains(template, "{"+name+"}"))
			required, _ := p["required"].(bool)
			is.Equal(required, in == "path" || name == "Idempotency-Key")
			_, nullable := typeOf(c.resolve(p["schema"].(node)))
			is.True(!nullable)
		}
		is.Equal(strings.Join(parameters, " "), operationIDs[i].parameters)
		is.Equal(strings.Contains(operationIDs[i].parameters, "Idempotency-Key"), e.keyed)
		optional := strings.HasSuffix(e.path, "/validate")
		body, ok := operation["requestBody"].(node)
		is.Equal(ok, e.body || optional)
		if ok {
			is.Equal(body["required"], !optional)
			is.Equal(slices.Collect(maps.Keys(body["content"].(node))), []string{"application/json"})
		}
		for _, status := range []string{"400", "401", "403", "429", "500", "503"} {
			is.True(operation["responses"].(node)[status] != nil)
		}
		for _, response := range operation["responses"].(node) {
			response := c.Follow(response.(node))
			is.Equal(slices.Collect(maps.Keys(response["content"].(node))), []string{"application/json"})
			for name, header := range response["headers"].(node) { // Each documented header is sent.
				is.Equal(header, node{"$ref": "#/components/headers/" + name})
				is.Equal(c.Follow(header.(node))["required"], true)
			}
		}
	}
}

// Sections 2.1 and 2.2: requests are strict, and every member of anything else is always there, except the details of
// an error. Each schema has a description and a type, and is used. A text has a form, a choice or a limit, a list has a
// limit, a number has two bounds, and an object or a list of objects has a name, for generated clients.
func TestOpenAPISchemasAreWhole(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	c := theContract(t)
	sent, told := c.Bodies()
	for name, schema := range c.At("components", "schemas") {
		if sent[name] == nil && told[name] == nil {
			t.Errorf("%s is used nowhere", name)
		}
		is.True(schema.(node)["description"] != nil)
	}
	for name, schema := range sent {
		eachPart(name, schema, func(path string, part node) {
			if part["type"] == "object" {
				is.Equal(part["additionalProperties"], false)
			}
			c.checkForm(t, path, part)
		})
	}
	for name, schema := range told {
		// Schemas of answers are narrower than those of requests.
		is.True(!strings.HasSuffix(name, "Input"))
		eachPart(name, schema, func(path string, part node) {
			c.checkForm(t, path, part)
			if want := toldAs(path); want != "" {
				is.Equal(part["$ref"], "#/components/schemas/"+want)
			}
			if part["type"] != "object" || strings.Contains(path, "&") {
				return // The second half of "an error with this code" narrows the first.
			}
			if sent[name] == nil {
				properties := slices.Sorted(maps.Keys(part["properties"].(node)))
				required := slices.Sorted(slices.Values(names(part["required"])))
				if path == "Error" {
					required = slices.Sorted(slices.Values(append(required, "details")))
				}
				if !slices.Equal(properties, required) {
					t.Errorf("%s: of %q only %q have to be there", path, properties, required)
				}
			}
		})
	}
}

// toldAs returns the schema that a member must have by its name, or "" if the name does not decide it.
func toldAs(path string) string {
	name := path[strings.LastIndexByte(path, '.')+1:]
	switch {
	case name == path, strings.HasPrefix(path, "EventSchedule."): // A schedule is returned as it was sent.
	case name == "requestId":
		return "RequestId"
	case name == "id" || strings.HasSuffix(name, "Id") || strings.HasSuffix(name, "_id"):
		return "Id"
	case strings.HasSuffix(name, "At") || strings.HasSuffix(name, "_at"):
		return "Time"
	}
	return ""
}

func eachPart(path string, schema node, look func(path string, part node)) {
	look(path, schema)
	for step, part := range contracttest.PartsOf(schema) {
		eachPart(path+step, part, look)
	}
}

// freeTexts are the texts for which the contract has neither a limit nor a form.
var freeTexts = []string{"Category.name", "Category.slug", "Violation.message"}

// checkForm checks that a schema states what a value must be.
func (c contract) checkForm(t *testing.T, path string, schema node) {
	t.Helper()
	if schema["$ref"] != nil || schema["anyOf"] != nil || schema["allOf"] != nil || strings.Contains(path, "&") {
		return
	}
	lacks := func(keywords ...string) bool {
		return !slices.ContainsFunc(keywords, func(keyword string) bool { return schema[keyword] != nil })
	}
	kind, _ := typeOf(schema)
	switch {
	case kind == "" || kind == "number": // Money is text.
		t.Errorf("%s has the type %q", path, kind)
	case kind == "string" && lacks("pattern", "enum", "const", "maxLength", "format") && !slices.Contains(freeTexts, path):
		t.Errorf("%s may be any text", path)
	case kind == "integer" && (lacks("minimum") || lacks("maximum")):
		t.Errorf("%s may be any integer", path)
	case kind == "array" && (lacks("maxItems") || lacks("items")):
		t.Errorf("%s may be any list", path)
	case kind == "object" && lacks("properties"):
		t.Errorf("%s may be any object", path)
	}
}

// Generators make a type of each named part, and capitalise its first letter. If two parts get the same name,
// oapi-codegen fails or appends a number. It also cannot read a member whose schema is true or false.
func TestOpenAPIPartsCanBeGenerated(t *testing.T) {
	t.Parallel()
	c := theContract(t)
	named := map[string]string{}
	for _, kind := range []string{"schemas", "parameters", "headers", "responses"} {
		for name := range c.At("components", kind) {
			spelt := strings.ToUpper(name[:1]) + name[1:]
			if other, taken := named[spelt]; taken {
				t.Errorf("%s and %s would be one type", other, kind+"/"+name)
			}
			named[spelt] = kind + "/" + name
		}
	}
	var look func(at string, value any)
	look = func(at string, value any) {
		switch value := value.(type) {
		case node:
			for name, member := range value {
				if _, bare := member.(bool); bare && strings.HasSuffix(at, "/properties") {
					t.Errorf("%s/%s is no object", at, name)
				}
				look(at+"/"+name, member)
			}
		case []any:
			for i, item := range value {
				look(fmt.Sprintf("%s/%d", at, i), item)
			}
		}
	}
	look("schemas", c.At("components", "schemas"))
}

// Section 2 gives the forms of texts. The test has matching and non-matching texts of each, so that none gets looser or
// stricter by accident.
func TestOpenAPIForms(t *testing.T) {
	t.Parallel()
	c := theContract(t)
	const digest = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	schema := func(names ...string) []string { return append([]string{"components", "schemas"}, names...) }
	header := func(name string) []string { return []string{"components", "parameters", name, "schema"} }
	answerHeader := func(name string) []string { return []string{"components", "headers", name, "schema"} }
	long := func(n int) string { return strings.Repeat("a", n) }
	amounts := []string{
		"", "0", ".50", "1.5", "1.234", "01.00", "-1.00", "+1.00", "1,00", "1e3", " 1.00", "1.00 ", "1.00\n",
	}
	for _, test := range []struct {
		at        []string
		good, bad []string
	}{
		{
			at:   schema("Id"),
			good: []string{someID, strings.Replace(someID, "-9a", "-aa", 1), strings.Replace(someID, "-9a", "-ba", 1)},
			bad:  append([]string{"", strings.ToUpper(someID)}, noIDs...),
		},
		{
			at: schema("Time"), good: []string{"2026-12-31T23:59:59.999Z", "2028-02-29T00:00:00.000Z"},
			bad: []string{
				"", "2026-12-31T23:59:59Z", "2026-12-31T23:59:59.99Z", "2026-12-31T23:59:59.9999Z", "2026-12-31T23:59:59.999+00:00",
				"2026-12-31 23:59:59.999Z", "2026-13-01T00:00:00.000Z", "12026-12-31T23:59:59.999Z", "2026-12-31T23:59:59.999Z ",
			},
		},
		{
			at: schema("MoneyText"), good: []string{"0.00", "0.05", "10.00", "999999999999999.99"},
			bad: append(amounts, "1000000000000000.00"),
		},
		{
			at: schema("CommissionRate", "properties", "value"), good: []string{"0", "10000", "2.5", "0.025", "0.123456789012"},
			bad: []string{"", "100000", "02", "2.", ".5", "-1", "1e3", "0.1234567890123", "2.5 "},
		},
		{at: schema("Branding", "properties", "primaryColor"), good: []string{"#0A1B2C", "#FFFFFF"}, bad: noColors},
		{at: schema("Branding", "properties", "accentColor"), good: []string{"#0A1B2C", "#FFFFFF"}, bad: noColors},
		{at: schema("Event", "properties", "imageUrl"), good: urls, bad: noURLs},
		{at: schema("Branding", "properties", "logoUrl"), good: urls, bad: noURLs},
		{
			at: schema("EventSchedule", "properties", "date"), good: []string{"2027-05-01", "2028-02-29"},
			bad: []string{"", "2027-02-29", "2027-5-1", "01.05.2027"},
		},
		{at: schema("EventSchedule", "properties", "startsAt"), good: clocks, bad: noClocks},
		{at: schema("EventSchedule", "properties", "endsAt"), good: clocks, bad: noClocks},
		{at: schema("EventSchedule", "properties", "timezone"), good: []string{"UTC", long(100)}, bad: []string{long(101)}},
		{at: schema("RequestId"), good: append(safeNames, "a"), bad: noSafeNames},
		{at: header("XRequestId"), good: append(safeNames, "a"), bad: noSafeNames},
		{at: header("IdempotencyKey"), good: safeNames, bad: append(noSafeNames, "a", "1234567")},
		{at: header("cursor"), good: cursors, bad: noCursors},
		{at: schema("Error", "properties", "message"), good: []string{"x", long(2000)}, bad: []string{"", long(2001)}},
		{
			at: header("WebhookUserAgent"), good: []string{"Service-Webhooks/1.0"},
			bad: []string{"", "Service-Webhooks/1.1", "service-webhooks/1.0"},
		},
		{at: header("WebhookEventId"), good: []string{someID}, bad: []string{"", strings.ToUpper(someID)}},
		{at: header("WebhookDeliveryId"), good: []string{someID}, bad: []string{"", strings.ToUpper(someID)}},
		{
			at: header("WebhookSignature"), good: []string{"t=1,v1=" + digest, "t=123456789012,v1=" + digest},
			bad: []string{
				"", "t=,v1=" + digest, "t=1234567890123,v1=" + digest, "t=1,v1=" + digest[1:], "t=1,v1=" + digest + "0",
				"t=1, v1=" + digest,
				"t=1,v1=" + strings.ToUpper(digest), "t=-1,v1=" + digest, "v1=" + digest, "t=1,v1=" + digest + ",v2=x",
				" t=1,v1=" + digest,
			},
		},
		{at: answerHeader("Cache-Control"), good: []string{"no-store"}, bad: []string{"", "no-cache", "no-store, max-age=0"}},
		{at: answerHeader("X-Content-Type-Options"), good: []string{"nosniff"}, bad: []string{"", "sniff"}},
		{at: answerHeader("WWW-Authenticate"), good: []string{"Bearer"}, bad: []string{"", "Basic"}},
		{at: schema("Page", "anyOf", "0", "properties", "nextCursor"), good: cursors, bad: noCursors},
		{at: answerHeader("X-Request-Id"), good: append(safeNames, "a"), bad: noSafeNames},
	} {
		for _, value := range test.good {
			if err := c.Check(value, test.at...); err != nil {
				t.Errorf("%v does not take %q: %v", test.at, value, err)
			}
		}
		for _, value := range test.bad {
			if c.Check(value, test.at...) == nil {
				t.Errorf("%v takes %q", test.at, value)
			}
		}
	}
}

var (
	clocks   = []string{"00:00", "09:30", "19:59", "23:59"}
	noClocks = []string{"", "24:00", "12:60", "9:30", "09:30:00", "0930", " 09:30"}

	safeNames   = []string{"12345678", "A1.b_c:d-e", strings.Repeat("x", 128)}
	noSafeNames = []string{
		"", "-2345678", ".2345678", "a b45678", "é2345678", "a\"345678", "a/345678", strings.Repeat("x", 129),
	}

	noColors = []string{"", "#0a1b2c", "0A1B2C", "#0A1B2", "#0A1B2C3", "#0A1B2G", "x#0A1B2C", "#0A1B2C;"}

	cursors   = []string{"a", "AZaz09_-", strings.Repeat("a", 512)}
	noCursors = []string{"", strings.Repeat("a", 513), "a.b", "a b", "a=", "é"}

	urls   = []string{"https://a.example", "HTTPS://a.example:8443/x@y.png?a=1", "https://[2001:db8::1]/é"}
	noURLs = []string{
		"", "a.example", "//a.example/", "http://a.example/", "ahttps://a.example/", "https://", "https:///x",
		"https://ada@a.example/",
		"https://ada:pw@a.example/", "https://a.example/#top", "https://a.example/#", "https://a.example/x y",
		"https://a.example\\@b.example/",
	}
)

// Sections 2 and 8 limit texts, lists and numbers of answers, each at its place, and nothing else is limited.
func TestOpenAPILimitsOfAnswers(t *testing.T) {
	t.Parallel()
	c := theContract(t)
	_, told := c.Bodies()
	var limits []string
	for name, schema := range told {
		eachPart(name, schema, func(path string, part node) {
			for least, most := range map[string]string{"minLength": "maxLength", "minItems": "maxItems", "minimum": "maximum"} {
				if part[least] != nil || part[most] != nil {
					limits = append(limits, fmt.Sprint(path, " ", cmp.Or(part[least], any("")), "..", cmp.Or(part[most], any(""))))
				}
			}
		})
	}
	slices.Sort(limits)
	is.New(t).Equal(limits, []string{
		"Branding.brandName ..120", "Branding.checkoutFooter ..500", "Branding.emailFooter ..500",
		"Branding.logoUrl ..2048", "Branding.supportEmail ..254", "Branding.ticketFooter ..500", "Buyer.email ..320",
		"Buyer.fullname ..200", "Buyer.phone ..50", "Error.details.violations 1..50", "Error.message 1..2000",
		"Event.description ..5000", "Event.imageUrl ..2000", "Event.organizerName ..200",
		"Event.ticketCategories ..50", "Event.title ..200", "EventLocation.name ..500", "EventLocation.venue ..500",
		"EventPage.data ..100", "EventSchedule.timezone ..100", "InventoryList.data ..50",
		"InventoryTier.availableQuantity 0..1000000", "InventoryTier.totalAdmissions 0..1000000", "Order.lines 1..50",
		"OrderLine.title ..200", "OrderPage.data ..100", "PricingQuote.lines 1..50",
		"QuoteLine.availableAtPrice 1..1000000", "QuoteLine.quantity 1..50", "Ticket.title ..200",
		"TicketCategory 1..60", "TicketValidation.location ..200", "Violation.message 1..", "WebhookBuyer.email ..320",
		"WebhookBuyer.name ..200", "WebhookBuyer.phone ..50", "WebhookLine.title ..200", "WebhookOrder.lines 1..50",
	})
}

// Retry-After is never 0, and a page has a cursor if and only if more follows.
func TestOpenAPIWaitsAndPages(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	c := theContract(t)
	for _, seconds := range []string{"1", "60"} {
		is.NoErr(c.Check(json.Number(seconds), "components", "headers", "Retry-After", "schema"))
	}
	for _, wrong := range []any{json.Number("0"), json.Number("0.5"), "1", nil} {
		is.True(c.Check(wrong, "components", "headers", "Retry-After", "schema") != nil)
	}
	for _, page := range []node{{"hasMore": true, "nextCursor": "x"}, {"hasMore": false, "nextCursor": nil}} {
		is.NoErr(c.Check(page, "components", "schemas", "Page"))
	}
	for _, wrong := range []node{
		{"hasMore": true, "nextCursor": nil},
		{"hasMore": false, "nextCursor": "x"},
		{"hasMore": nil, "nextCursor": nil},
		{"hasMore": true},
		{},
	} {
		is.True(c.Check(wrong, "components", "schemas", "Page") != nil)
	}
}

// noIDs are almost UUIDs of version 4.
var noIDs = []string{
	someID[1:], someID + "0", "0" + someID, "{" + someID + "}", "urn:uuid:" + someID, strings.ReplaceAll(someID, "-", ""),
	strings.Replace(someID, "-4c", "-1c", 1), strings.Replace(someID, "-9a", "-ca", 1),
	strings.Replace(someID, "6f", "xf", 1),
}

// Section 6 has four types of webhooks. Each is a POST without an API key of the company, and its headers say what it
// is.
func TestOpenAPIWebhooks(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	c := theContract(t)
	ids := map[string]string{
		"order.created": "orderCreated", "commission.accrued": "commissionAccrued",
		"balance.low": "balanceLow", "ticket.validated": "ticketValidated",
	}
	is.Equal(len(c.At("webhooks")), len(ids))
	for _, kind := range []ticketing.FactType{
		ticketing.FactOrderCreated, ticketing.FactCommissionAccrued, ticketing.FactBalanceLow, ticketing.FactTicketValidated,
	} {
		operation := c.At("webhooks", string(kind), "post")
		is.Equal(operation["operationId"], ids[string(kind)])
		is.Equal(operation["security"], []any{}) // The signature proves the sender.
		is.Equal(len(c.At("webhooks", string(kind))), 1)
		is.Equal(slices.Sorted(maps.Keys(operation["responses"].(node))), []string{"2XX", "default"})
		is.Equal(operation["requestBody"].(node)["required"], true)
		for _, p := range operation["parameters"].([]any) {
			p := c.Follow(p.(node))
			is.Equal([]any{p["in"], p["required"]}, []any{"header", true})
			if p["name"] == "X-Service-Event" {
				is.Equal(p["schema"], node{"type": "string", "const": string(kind)})
			}
		}
		envelope := c.Follow(contracttest.SchemaOf(operation["requestBody"].(node)))["properties"].(node)
		is.Equal(envelope["type"], node{"type": "string", "const": string(kind)})
		is.Equal(envelope["api_version"], node{"type": "string", "const": "v1"})
	}
}
