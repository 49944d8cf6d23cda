package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/matryer/is"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/delivery"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/httpapi"
	"github.com/floatgate/ticketing/internal/contracttest"
	"github.com/floatgate/ticketing/money"
	"github.com/floatgate/ticketing/store/memory"
	"github.com/floatgate/ticketing/ticketingtest"
)

// unreached are the edges of answers that no answer reaches, with the reason.
var unreached = map[string]string{
	"Error.message minLength":               "a message is a sentence",
	"Error.message maxLength":               "4.12, item 7: a browser proxy takes 2000",
	"EventSchedule.timezone maxLength":      "2.3; the longest name on the list has 32",
	"InventoryTier.totalAdmissions minimum": "2.4; a tier appears with its first admission",
	"Violation.message minLength":           "a message begins with a path",
}

// An answer or a webhook reaches every limit that the document sets, uses every word of an enumeration, and shows every
// nullable member as null and as a value. So the test finds a limit that is wider than the service's, or a word that it
// never uses.
func TestOpenAPIIsReached(t *testing.T) {
	t.Parallel()
	c := theContract(t)
	r := &reach{c: c, reached: make(map[string]bool)}
	r.lookAtExamples()
	newExtremes(t, r).goTo()
	_, told := c.Bodies()
	expected := make(map[string]bool)
	for _, name := range slices.Sorted(maps.Keys(told)) {
		eachPart(name, told[name], func(path string, part node) {
			for _, edge := range edgesOf(part) {
				what := path + " " + edge
				expected[what] = true
				switch _, known := unreached[what]; {
				case !known && !r.reached[of(part, edge)]:
					t.Errorf("no answer gets to %s", what)
				case known && r.reached[of(part, edge)]:
					t.Errorf("an answer gets to %s after all", what)
				}
			}
		})
	}
	for what := range unreached {
		if !expected[what] {
			t.Errorf("there is no %s", what)
		}
	}
}

// reach records which edges of the schemas were reached.
type reach struct {
	c       contract
	reached map[string]bool
}

// of names an edge of one schema, the same wherever the schema is referred to from.
func of(schema node, edge string) string { return fmt.Sprintf("%p %s", schema, edge) }

// edgesOf returns the edges of a schema.
func edgesOf(schema node) []string {
	var edges []string
	for _, keyword := range []string{"minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems"} {
		if schema[keyword] != nil {
			edges = append(edges, keyword)
		}
	}
	words, _ := schema["enum"].([]any)
	for _, word := range words {
		edges = append(edges, "enum "+word.(string))
	}
	kind, nullable := typeOf(schema)
	if nullable {
		edges = append(edges, "null", "value")
	}
	if kind == "boolean" && schema["const"] == nil {
		edges = append(edges, "true", "false")
	}
	choices, _ := schema["anyOf"].([]any)
	for i := range choices {
		edges = append(edges, "choice "+strconv.Itoa(i))
	}
	return edges
}

// look records the edges that a value and its members reach.
func (r *reach) look(schema node, value any) {
	if reference, ok := schema["$ref"].(string); ok {
		schema = r.c.Follow(node{"$ref": reference})
	}
	note := func(edge string, reached bool) {
		if reached {
			r.reached[of(schema, edge)] = true
		}
	}
	note("null", value == nil)
	note("value", value != nil)
	switch value := value.(type) {
	case string:
		note("enum "+value, true)
		note("minLength", utf8.RuneCountInString(value) == limit(schema, "minLength"))
		note("maxLength", utf8.RuneCountInString(value) == limit(schema, "maxLength"))
	case json.Number:
		note("minimum", value.String() == fmt.Sprint(schema["minimum"]))
		note("maximum", value.String() == fmt.Sprint(schema["maximum"]))
	case bool:
		note(strconv.FormatBool(value), true)
	case []any:
		note("minItems", len(value) == limit(schema, "minItems"))
		note("maxItems", len(value) == limit(schema, "maxItems"))
		for _, item := range value {
			r.look(schema["items"].(node), item)
		}
	case node:
		properties, _ := schema["properties"].(node)
		for name, property := range properties {
			if member, there := value[name]; there {
				r.look(property.(node), member)
			}
		}
	}
	for _, keyword := range []string{"anyOf", "allOf"} {
		choices, _ := schema[keyword].([]any)
		for i, choice := range choices {
			if choice := choice.(node); keyword == "allOf" || r.fits(choice, value) {
				note("choice "+strconv.Itoa(i), true)
				r.look(choice, value)
			}
		}
	}
}

// fits reports whether a value matches a choice: one of "this or null", or one of a page with a next page and the last.
func (r *reach) fits(choice node, value any) bool {
	if choice["type"] == "null" || value == nil {
		return choice["type"] == "null" && value == nil
	}
	properties, _ := r.c.resolve(choice)["properties"].(node)
	for name, property := range properties {
		if constant := property.(node)["const"]; constant != nil && value.(node)[name] != constant {
			return false
		}
	}
	return true
}

func (r *reach) lookAtExamples() {
	for path, item := range r.c.At("paths") {
		for verb := range item.(node) {
			for _, response := range r.c.At("paths", path, verb, "responses") {
				content := r.c.Follow(response.(node))["content"].(node)["application/json"].(node)
				for _, example := range content["examples"].(node) {
					r.look(content["schema"].(node), r.c.Follow(example.(node))["value"])
				}
			}
		}
	}
}

// extremes is a company whose data is as large and as small as possible, as the API and the webhooks show it.
type extremes struct {
	*deployment

	t        *testing.T
	r        *reach
	store    driver.Store
	receiver *ticketingtest.Webhooks
	keys     int
}

func newExtremes(t *testing.T, r *reach) *extremes {
	t.Helper()
	is := is.New(t)
	x := &extremes{t: t, r: r, store: memory.New(), receiver: ticketingtest.NewWebhooks(t)}
	at := &clock{at: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC), step: time.Millisecond}
	sender, err := delivery.New(&delivery.Config{AllowPrivate: true, RootCAs: x.receiver.Roots()})
	is.NoErr(err)
	t.Cleanup(func() { _ = sender.Close() })
	svc, err := ticketing.New(x.store, &ticketing.Config{
		SecretKeys: [][]byte{bytes.Repeat([]byte("k"), 32)}, Clock: at.now, Sender: sender, AllowPrivateWebhooks: true,
	})
	is.NoErr(err)
	x.deployment = &deployment{svc: svc, staff: svc.As(ticketing.Staff("test"))}
	x.server = newServer(t, svc, &httpapi.Config{RateLimit: -1})
	x.company = x.newCompany(t)
	x.key = x.issue(t, x.company, ticketing.AllGrants()...)
	hook, err := x.staff.CreateWebhookEndpoint(t.Context(), x.company, ticketing.WebhookEndpointParams{
		URL: x.receiver.URL, Events: []ticketing.FactType{
			ticketing.FactOrderCreated, ticketing.FactCommissionAccrued, ticketing.FactBalanceLow, ticketing.FactTicketValidated,
		},
	})
	is.NoErr(err)
	x.receiver.SetSecrets(string(hook.Secret))
	x.receiver.SetClock(at.now)
	return x
}

// ask sends a request, and records the edges of the answer.
func (x *extremes) ask(method, path, body string) answer {
	x.t.Helper()
	x.keys++
	a := x.call(x.t, method, path, x.key, keyed("extreme-"+strconv.Itoa(x.keys)), body)
	template, verb := x.r.c.OperationOf(method, path)
	read, err := jsonschema.UnmarshalJSON(strings.NewReader(a.body))
	is.New(x.t).NoErr(err)
	x.r.look(contracttest.SchemaOf(x.r.c.At("paths", template, verb, "responses", strconv.Itoa(a.status))), read)
	return a
}

// done is ask for a request that must succeed.
func (x *extremes) done(method, path, body string) answer {
	x.t.Helper()
	a := x.ask(method, path, body)
	if a.status >= 300 {
		x.t.Fatalf("%s %s: %s", method, path, a.body)
	}
	return a
}

func long(n int) string { return strings.Repeat("\u00e9", n) }

func (x *extremes) goTo() {
	x.t.Helper()
	is := is.New(x.t)
	ctx := x.t.Context()
	x.brand()
	x.ask("POST", "/events", `{`+strings.Repeat(`"x":1,`, 59)+`"x":1}`) // more violations than are reported
	x.ask("GET", "/events?limit=0", "")
	is.Equal(x.done("GET", "/orders", "").status, 200) // an empty page

	category, err := x.staff.CreateCategory(ctx, "Music", "music")
	is.NoErr(err)
	own := []string{jsonText("z"), jsonText(long(60))}
	for i := range ticketing.MaxTicketCategories - len(ticketing.PresetCategories()) - len(own) {
		own = append(own, jsonText(fmt.Sprintf("Tier %02d", i)))
	}
	const image = "https://img.example.com/"
	created := x.done("POST", "/events", fmt.Sprintf(`{"title":%q,"description":%q,"date":"2027-05-01",`+
		`"startsAt":"18:00","endsAt":"23:00",`+
		`"timezone":"Africa/Lagos","location":%q,"venue":%q,"imageUrl":%q,"organizerName":%q,"categoryId":%q,`+
		`"ticketCategories":[%s],"status":"PUBLISHED"}`,
		long(200), long(5000), long(500), long(500), image+strings.Repeat("x", 2000-len(image)), long(200),
		category.ID, strings.Join(own, ",")))
	event := created.text(x.t, "data", "id")
	x.tiers(event)
	x.pages()

	ended, err := ticketing.ParseID(x.newEvent(x.t, "PUBLISHED"))
	is.NoErr(err)
	_, err = x.staff.EndEvent(ctx, ended)
	is.NoErr(err)
	x.done("GET", "/events/"+ended.String(), "")
	x.done("DELETE", "/events/"+x.newEvent(x.t, "DRAFT"), "")
	x.importEvent()
	x.webhooks()
}

// brand gives the company the longest branding.
func (x *extremes) brand() {
	x.t.Helper()
	logo := "https://img.example.com/"
	logo += strings.Repeat("x", 2048-len(logo))
	name, footer, email := long(120), long(500), strings.Repeat("a", 254-len("@example.com"))+"@example.com"
	_, err := x.staff.UpdateBranding(x.t.Context(), x.company, ticketing.UpdateBrandingParams{
		BrandName: &name, LogoURL: &logo, CheckoutFooter: &footer, TicketFooter: &footer, EmailFooter: &footer,
		SupportEmail: &email,
	})
	is.New(x.t).NoErr(err)
}

// tiers sells out an event with 50 ticket categories. One of its tiers has the largest size.
func (x *extremes) tiers(event string) {
	x.t.Helper()
	is := is.New(x.t)
	ctx := x.t.Context()
	at := "/events/" + event
	const batch = 1000
	title := fmt.Sprintf(`"title":%q`, long(200))
	for range ticketing.MaxTierAdmissions / batch {
		x.stock(x.t, event, "VIP", "0.00", batch)
	}
	quote := func(lines ...string) {
		x.done("POST", "/pricing/quote", `{"eventId":"`+event+`","lines":[`+strings.Join(lines, ",")+`]}`)
	}
	x.done("GET", at+"/inventory", "")
	quote(`{"tier":"VIP","quantity":50}`)
	x.sell(event, "VIP", 50, "0.00", `"fullname":null,"phone":null`) // 50 lines
	var all struct {
		Data struct{ TicketCategories []string }
	}
	is.NoErr(json.Unmarshal([]byte(x.done("GET", at, "").body), &all))
	var lines []string
	for _, tier := range all.Data.TicketCategories {
		if tier != "VIP" {
			x.done("POST", at+"/inventory",
				`{"tier":`+jsonText(tier)+`,`+title+`,"unitPrice":"999.99","currency":"NGN","isFree":false,"quantity":1,`+
					`"status":"AVAILABLE"}`)
		}
		lines = append(lines, `{"tier":`+jsonText(tier)+`,"quantity":1}`)
	}
	quote(lines...)
	x.done("GET", at+"/inventory", "")
	x.done("PATCH", at+"/inventory/REGULAR", `{"status":"PAUSED"}`)
	x.done("DELETE", at+"/inventory/STUDENT", "")

	// Three orders, with each unit of a rate and each final status; the buyer's texts have their greatest length.
	email := strings.Repeat("A", 320-len("@example.com")) + "@example.com"
	buyer := fmt.Sprintf(`"fullname":%q,"phone":%q`, long(200), long(50))
	x.sellTo(email, event, "VVIP", 1, "999.99", buyer)
	x.rate("2.5", money.Percent)
	refunded := x.sell(event, "z", 1, "999.99", buyer)
	x.rate("0.025", money.Fraction)
	cancelled := x.sell(event, long(60), 1, "999.99", buyer)
	x.done("GET", at+"/inventory", "") // some are sold out
	first, again := refunded.text(x.t, "data", "lines", "admissionId"), `{"location":"`+long(200)+`"}`
	for _, body := range []string{again, ``} {
		x.done("POST", at+"/admissions/"+first+"/validate", body)
	}
	x.done("POST", at+"/admissions/"+cancelled.text(x.t, "data", "lines", "admissionId")+"/validate", `{"location":" "}`)
	for i, a := range []answer{refunded, cancelled} {
		order, err := ticketing.ParseID(a.text(x.t, "data", "id"))
		is.NoErr(err)
		if i == 0 {
			_, err = x.staff.RefundOrder(ctx, order, ticketing.RefundParams{Reason: "Rain"})
		} else {
			_, err = x.staff.CancelOrder(ctx, order, "Rain")
		}
		is.NoErr(err)
		x.done("GET", "/orders/"+order.String(), "")
	}
}

func (x *extremes) rate(value string, unit money.Unit) {
	x.t.Helper()
	is := is.New(x.t)
	rate, err := money.ParseRate(value, unit)
	is.NoErr(err)
	_, err = x.staff.ScheduleCommission(x.t.Context(), x.company, ticketing.CommissionParams{Rate: rate})
	is.NoErr(err)
}

func (x *extremes) sell(event, tier string, quantity int, price, buyer string) answer {
	x.t.Helper()
	return x.sellTo("ada@example.com", event, tier, quantity, price, buyer)
}

func (x *extremes) sellTo(email, event, tier string, quantity int, price, buyer string) answer {
	x.t.Helper()
	body := strings.Replace(checkoutJSON(event, tier, quantity, price), `"ada@example.com"`, `"`+email+`",`+buyer, 1)
	return x.done("POST", "/checkouts", body)
}

// pages lists more than a page holds.
func (x *extremes) pages() {
	x.t.Helper()
	event := x.newEvent(x.t, "PUBLISHED")
	x.stock(x.t, event, "VIP", "0.00", ticketing.MaxPageLimit+1)
	for range ticketing.MaxPageLimit + 1 {
		x.newEvent(x.t, "DRAFT")
		x.call(x.t, "POST", "/checkouts", x.key, keyed(uuid.NewString()), checkoutJSON(event, "VIP", 1, "0.00"))
	}
	x.done("GET", "/events?limit=100", "")
	x.done("GET", "/events?status=CANCELLED", "")
	x.done("GET", "/orders?limit=100", "")
}

// importEvent creates an event without a schedule, as a host may (its members are null by section 2.3).
func (x *extremes) importEvent() {
	x.t.Helper()
	id := uuid.New()
	is.New(x.t).NoErr(x.store.Update(x.t.Context(), func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{x.company}}); err != nil {
			return err
		}
		at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		return tx.CreateEvent(ctx, driver.Event{
			CompanyID: x.company, ID: id, Title: "Imported", Status: ticketing.EventDraft,
			ImageURL:  "https://img.example.com/a.png",
			CreatedAt: at, UpdatedAt: at,
		})
	}))
	x.done("GET", "/events/"+id.String(), "")
}

// webhooks takes FLOAT below its threshold, sends all pending webhooks, and checks each against the document.
func (x *extremes) webhooks() {
	x.t.Helper()
	is := is.New(x.t)
	event := x.newEvent(x.t, "PUBLISHED")
	x.stock(x.t, event, "VIP", "990000.00", 1)
	x.sell(event, "VIP", 1, "990000.00", `"phone":null`)
	x.stock(x.t, event, "REGULAR", "8000.00", 1)
	x.sell(event, "REGULAR", 1, "8000.00", `"phone":null`)
	for kind := range x.r.c.At("webhooks") { // The ones for a test of a receiver have the same form.
		_, err := x.staff.TriggerWebhook(x.t.Context(), x.company, ticketing.FactType(kind))
		is.NoErr(err)
	}
	for sent := 1; sent > 0; {
		var err error
		sent, err = x.svc.SendWebhooks(x.t.Context())
		is.NoErr(err)
	}
	came := make(map[string]int)
	for _, got := range x.receiver.All() {
		is.NoErr(got.Err) // It verifies.
		came[got.Event]++
		is.NoErr(x.r.c.delivered(got))
		read, err := jsonschema.UnmarshalJSON(bytes.NewReader(got.Body))
		is.NoErr(err)
		x.r.look(contracttest.SchemaOf(x.r.c.At("webhooks", got.Event, "post", "requestBody")), read)
	}
	for kind := range x.r.c.At("webhooks") {
		is.True(came[kind] > 1)
	}
}

// delivered checks a received webhook against the document: its method, its headers, no other header of the service,
// and its body.
func (c contract) delivered(got ticketingtest.Received) error {
	operation := c.At("webhooks", got.Event, strings.ToLower(got.Method))
	if operation == nil {
		return fmt.Errorf("%s of %q is not documented", got.Method, got.Event)
	}
	left := got.Header.Clone()
	for i, p := range operation["parameters"].([]any) {
		name := c.Follow(p.(node))["name"].(string)
		where := []string{"webhooks", got.Event, "post", "parameters", strconv.Itoa(i), "schema"}
		if reference, ok := p.(node)["$ref"].(string); ok {
			where = append(strings.Split(strings.TrimPrefix(reference, "#/"), "/"), "schema")
		}
		if len(left[name]) != 1 {
			return fmt.Errorf("%s came %d times", name, len(left[name]))
		}
		if err := c.Check(left.Get(name), where...); err != nil {
			return err
		}
		left.Del(name)
	}
	if left.Get("Content-Type") != "application/json; charset=utf-8" ||
		!strings.Contains(operation["description"].(string), left.Get("Content-Type")) {
		return fmt.Errorf("the type of the body is %q", left.Get("Content-Type"))
	}
	for name := range left {
		if !slices.Contains(contracttest.Transmitted(), name) {
			return fmt.Errorf("the header %s is not documented", name)
		}
	}
	read, err := jsonschema.UnmarshalJSON(bytes.NewReader(got.Body))
	if err != nil {
		return err
	}
	return c.Check(read, "webhooks", got.Event, "post", "requestBody", "content", "application/json", "schema")
}
