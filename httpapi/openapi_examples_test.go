package httpapi_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/httpapi"
	"github.com/floatgate/ticketing/store/memory"
	"github.com/floatgate/ticketing/ticketingtest"
	"github.com/floatgate/ticketing/webhook"
)

// fillExamples rewrites the examples of openapi.json, and nothing else of it.
var fillExamples = flag.Bool("fill-examples", false, "write the examples of openapi.json as they are answered")

// The examples of the document are the requests and answers of one story over HTTP, byte for byte except for white
// space. Those of the webhooks are the story's events. No example is missing, and there is no other.
func TestOpenAPIExamples(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	text, err := os.ReadFile(openAPIFile)
	is.NoErr(err)
	story := tellStory(t)
	filled, unused := fill(t, text, story)
	is.Equal(unused, nil) // in the story, and not in the document
	if *fillExamples {
		is.NoErr(os.WriteFile(openAPIFile, filled, 0o600))
		return
	}
	if !bytes.Equal(text, filled) {
		t.Fatalf("%s has other examples than are answered: %s\nSee what changed: go test ./httpapi -run %s -fill-examples",
			openAPIFile, firstDifference(text, filled), t.Name())
	}
}

// Each example is valid by the schema beside it, and each is referred to.
func TestOpenAPIExamplesAreOfTheirSchemas(t *testing.T) {
	t.Parallel()
	c := theContract(t)
	shown := make(map[string]bool)
	var look func(n node, path []string)
	look = func(n node, path []string) {
		if examples, ok := n["examples"].(node); ok && n["schema"] != nil {
			for name, example := range examples {
				shown[name] = true
				value := c.Follow(example.(node))["value"]
				if err := c.Check(value, append(slices.Clone(path), "schema")...); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
		for name, next := range n {
			if next, ok := next.(node); ok && name != "schema" {
				look(next, append(slices.Clone(path), name))
			}
		}
	}
	for _, part := range []string{"paths", "webhooks"} {
		look(c.At(part), []string{part})
	}
	look(c.At("components", "responses"), []string{"components", "responses"})
	for name := range c.At("components", "examples") {
		if !shown[name] {
			t.Errorf("%s is shown nowhere", name)
		}
	}
}

// fill puts the story into the text: each example keeps its place and its summary. It also returns the names of the
// story that the document has no example for.
func fill(tb testing.TB, text []byte, story map[string]string) (filled []byte, unused []string) {
	tb.Helper()
	is := is.New(tb)
	const within = "/components/examples/"
	decoder := jsontext.NewDecoder(bytes.NewBuffer(text))
	used, done := 0, int64(0)
	for {
		_, err := decoder.ReadToken()
		if err != nil {
			break // the end
		}
		name, inside := strings.CutPrefix(string(decoder.StackPointer()), within)
		if !inside || strings.Contains(name, "/") {
			continue
		}
		value, err := decoder.ReadValue()
		is.NoErr(err)
		end := decoder.InputOffset()
		summary := memberValue(tb, value, "summary")
		told, ok := story[name]
		if !ok {
			tb.Fatalf("the story does not tell %s", name)
		}
		used++
		shown := jsontext.Value(`{"summary":` + string(summary) + `,"value":` + told + `}`)
		filled = append(filled, text[done:end-int64(len(value))]...)
		filled = append(filled, layout(tb, shown, 6, len(name)+len(`"": `))...)
		done = end
		delete(story, name)
	}
	is.True(used > 0)
	for name := range story {
		unused = append(unused, name)
	}
	return append(filled, text[done:]...), unused
}

func memberValue(tb testing.TB, object jsontext.Value, name string) jsontext.Value {
	tb.Helper()
	for key, value := range members(tb, object) {
		if key == `"`+name+`"` {
			return value
		}
	}
	tb.Fatalf("%s lacks %s", object, name)
	return nil
}

// members iterates over an object or a list; the items of a list have no names.
func members(tb testing.TB, value jsontext.Value) func(yield func(string, jsontext.Value) bool) {
	tb.Helper()
	is := is.New(tb)
	return func(yield func(string, jsontext.Value) bool) {
		decoder := jsontext.NewDecoder(bytes.NewReader(value))
		_, err := decoder.ReadToken()
		is.NoErr(err)
		for decoder.PeekKind() != '}' && decoder.PeekKind() != ']' {
			name := ""
			if value.Kind() == '{' {
				raw, err := decoder.ReadValue()
				is.NoErr(err)
				name = string(raw)
			}
			item, err := decoder.ReadValue()
			is.NoErr(err)
			if !yield(name, item.Clone()) {
				return
			}
		}
	}
}

// layout writes a value as the document does: on one line if it fits into 120 characters after what precedes it, else
// with a line for each member.
func layout(tb testing.TB, value jsontext.Value, indent, before int) string {
	tb.Helper()
	const width = 120
	line := value.Clone()
	is.New(tb).NoErr(line.Format(jsontext.SpaceAfterColon(true), jsontext.SpaceAfterComma(true),
		jsontext.PreserveRawStrings(true)))
	kind := value.Kind()
	if kind != '{' && kind != '[' || len(line) == len(`{}`) || indent+before+utf8.RuneCount(line)+1 <= width {
		return string(line)
	}
	var lines []string
	for name, item := range members(tb, value) {
		if name != "" {
			name += ": "
		}
		lines = append(lines, strings.Repeat(" ", indent+2)+name+layout(tb, item, indent+2, utf8.RuneCountInString(name)))
	}
	closing := map[jsontext.Kind]string{'{': "}", '[': "]"}[kind]
	return string(rune(kind)) + "\n" + strings.Join(lines, ",\n") + "\n" + strings.Repeat(" ", indent) + closing
}

func firstDifference(a, b []byte) string {
	old, young := strings.Split(string(a), "\n"), strings.Split(string(b), "\n")
	for i := range min(len(old), len(young)) {
		if old[i] != young[i] {
			return fmt.Sprintf("line %d is\n%s\nand would be\n%s", i+1, old[i], young[i])
		}
	}
	return "one is longer"
}

// narrator sends the requests of the story, and records it.
type narrator struct {
	*deployment

	t     *testing.T
	store *failing
	story map[string]string
	keys  int
}

// send sends a request, and records its answer under the name if that is not empty.
func (n *narrator) send(name, method, path, key string, with headers, body string) answer {
	n.t.Helper()
	a := n.call(n.t, method, path, key, with, body)
	if name != "" {
		n.story[name] = a.body
	}
	return a
}

// do sends a request that succeeds, with a new idempotency key.
func (n *narrator) do(name, method, path, body string) answer {
	n.t.Helper()
	a := n.send(name, method, path, n.key, n.fresh(), body)
	is.New(n.t).True(a.status < 300)
	return a
}

// refuse sends a request that is refused.
func (n *narrator) refuse(name string, code ticketing.Code, method, path, body string) {
	n.t.Helper()
	a := n.send(name, method, path, n.key, n.fresh(), body)
	is.New(n.t).Equal(a.code(), code)
}

func (n *narrator) fresh() headers {
	n.keys++
	return keyed(fmt.Sprintf("story-%04d", n.keys))
}

// tellStory sells tickets in memory, with a fixed clock and repeatable ids: each run gives the same answers. It returns
// every example of the document by its name.
func tellStory(t *testing.T) map[string]string {
	t.Helper()
	is := is.New(t)
	const requestID = "0d3f6c4e-8a52-4b7d-9c1e-5f2a7b8c9d01"
	store := &failing{Store: memory.New()}
	shop := ticketingtest.New(t, &ticketingtest.Config{Store: store, Float: 40_500_00})
	serve := func(limit int) *httptest.Server {
		return newServer(t, shop.Service, &httpapi.Config{
			RateLimit: limit, NewRequestID: func() string { return requestID },
		})
	}
	n := &narrator{
		deployment: &deployment{
			svc: shop.Service, staff: shop.Staff, server: serve(-1), company: shop.Company.ID, key: shop.APIKey,
		},
		t: t, store: store, story: make(map[string]string),
	}
	ask := func(operation, body string) string { n.story[operation+".request"] = body; return body }

	// An event, its inventory, a quote and a sale.
	n.do("", "POST", "/events", with(withoutCategory(createEventBody.members), "title", `"Jazz at the Harbour"`))
	shop.Clock.Advance(time.Minute)
	event := n.do("createEvent", "POST", "/events", ask("createEvent", `{"title":"Night Market","description":"Food, `+
		`crafts and music.\nDoors open at five.",`+
		`"date":"2026-12-12","startsAt":"18:00","endsAt":"02:00","timezone":"Africa/Lagos","location":"Lagos",`+
		`"venue":"Harbour Hall",`+
		`"imageUrl":"https://images.example.com/night-market.png","organizerName":"Adire Concerts",`+
		`"ticketCategories":["Balcony"],"status":"DRAFT"}`)).
		text(t, "data", "id")
	path := "/events/" + event
	n.do("createInventory", "POST", path+"/inventory", ask("createInventory", `{"tier":"VIP","title":"VIP, with dinner",`+
		`"description":null,"unitPrice":"15000.00","currency":"NGN","isFree":false,"quantity":100,"status":"AVAILABLE"}`))
	n.do("", "POST", path+"/inventory",
		`{"tier":"GENERAL_ADMISSION","title":"Entry","unitPrice":"5000","currency":"NGN","isFree":false,"quantity":500,`+
			`"status":"AVAILABLE"}`)
	n.refuse("EventNotPublished", ticketing.CodeConflict, "POST", "/checkouts", checkoutJSON(event, "VIP", 1, "15000.00"))
	shop.Clock.Advance(time.Minute)
	n.do("updateEvent", "PATCH", path, ask("updateEvent", `{"venue":"Main Hall","status":"PUBLISHED"}`))
	n.do("updateInventory", "PATCH", path+"/inventory/VIP",
		ask("updateInventory", `{"unitPrice":"17500.00","currency":"NGN","isFree":false}`))
	n.do("getEvent", "GET", path, "")
	cursor := n.do("listEvents", "GET", "/events?limit=1", "").text(t, "meta", "page", "nextCursor")
	n.do("listInventory", "GET", path+"/inventory", "")
	n.do("createQuote", "POST", "/pricing/quote", ask("createQuote",
		`{"eventId":"`+event+`","lines":[{"tier":"VIP","quantity":2},{"tier":"GENERAL_ADMISSION","quantity":1}]}`))
	shop.Clock.Advance(time.Minute)
	sale := ask("createCheckout", `{"eventId":"`+event+`","buyer":{"email":"ada@example.com","fullname":"Ada Obi",`+
		`"phone":null},"lines":[{"tier":"VIP","quantity":2,"expectedUnitPrice":"17500.00","currency":"NGN"},`+
		`{"tier":"GENERAL_ADMISSION","quantity":1,"expectedUnitPrice":"5000.00","currency":"NGN"}]}`)
	sold := n.send("createCheckout", "POST", "/checkouts", n.key, keyed("cart-1001"), sale)
	is.Equal(sold.status, http.StatusCreated)
	order := sold.text(t, "data", "id")
	n.do("getOrder", "GET", "/orders/"+order, "")
	n.do("listOrders", "GET", "/orders?eventId="+event+"&status=CONFIRMED", "")
	shop.Clock.Set(time.Date(2026, time.December, 12, 17, 4, 31, 0, time.UTC))
	admission := path + "/admissions/" + sold.text(t, "data", "lines", "admissionId") + "/validate"
	n.do("validateAdmission", "POST", admission, ask("validateAdmission", `{"location":"Gate 2"}`))
	shop.Clock.Advance(time.Minute)
	n.do("validateAdmission.again", "POST", admission, `{"location":"Gate 1"}`)

	n.tellRefusals(event, cursor, sale)
	n.tellWhatIsAway(event, serve(1))
	n.tellEnds(shop, event, order)

	shop.Work(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	const told = 5 // two of the sale, its mail, the balance and the scan
	facts, err := shop.Facts.Wait(ctx, told)
	is.NoErr(err)
	for _, fact := range facts {
		if fact.Type == ticketing.FactTicketEmail {
			continue
		}
		body, err := webhook.NewEvent(fact.ID.String(), fact.CreatedAt.Time, fact.Data).Encode()
		is.NoErr(err)
		n.story["webhook."+string(fact.Type)] = string(body)
	}
	return n.story
}

// tellRefusals adds the refusals that depend on the request alone.
func (n *narrator) tellRefusals(event, cursor, sale string) {
	n.t.Helper()
	path := "/events/" + event
	n.refuse("InvalidRequest", ticketing.CodeInvalidRequest, "POST", "/checkouts",
		strings.NewReplacer("ada@example.com", "ada", `"quantity":2`, `"quantity":0`).Replace(sale))
	n.send("IdempotencyKeyRequired", "POST", "/checkouts", n.key, nil, sale)
	n.refuse("InvalidCursor", ticketing.CodeInvalidCursor, "GET", "/orders?cursor="+cursor, "")
	n.send("AuthenticationFailed", "GET", "/events", "", nil, "")
	n.refuse("EventNotFound", ticketing.CodeNotFound, "GET", "/events/"+someID, "")
	n.refuse("TierNotFound", ticketing.CodeNotFound, "DELETE", path+"/inventory/Terrace", "")
	n.refuse("OrderNotFound", ticketing.CodeNotFound, "GET", "/orders/"+someID, "")
	n.refuse("AdmissionNotFound", ticketing.CodeNotFound, "POST", path+"/admissions/"+someID+"/validate", "")
	n.refuse("PricingUnavailable", ticketing.CodePricingUnavailable, "POST", "/pricing/quote",
		`{"eventId":"`+event+`","lines":[{"tier":"STUDENT","quantity":1}]}`)
	n.send("KeyUsed", "POST", "/checkouts", n.key, keyed("cart-1001"), checkoutJSON(event, "VIP", 1, "17500.00"))
	n.refuse("InventoryUnavailable", ticketing.CodeInventoryUnavailable, "POST", "/checkouts",
		checkoutJSON(event, "VIP", 1, "15000.00"))
	n.refuse("InsufficientFloat", ticketing.CodeInsufficientFloat, "POST", "/checkouts",
		checkoutJSON(event, "VIP", 1, "17500.00"))

	limited := n.issue(n.t, n.company, ticketing.GrantOrderRead)
	n.send("GrantMissing", "GET", "/events", limited, nil, "")
	n.revoke(n.t, limited)
	revoked := n.issue(n.t, n.company, ticketing.AllGrants()...)
	n.store.before(func(context.Context) error { n.revoke(n.t, revoked); return nil })
	n.send("AuthorityLost", "PATCH", path, revoked, nil, `{"venue":"Harbour Hall"}`)
}

// tellWhatIsAway adds the refusals while something is unavailable, suspended or in progress.
func (n *narrator) tellWhatIsAway(event string, limited *httptest.Server) {
	n.t.Helper()
	is := is.New(n.t)
	ctx := n.t.Context()
	one := checkoutJSON(event, "GENERAL_ADMISSION", 1, "5000.00")

	entered, leave := make(chan struct{}), make(chan struct{})
	n.store.before(func(context.Context) error { close(entered); <-leave; return nil })
	with, first := n.fresh(), make(chan answer)
	go func() { first <- n.call(n.t, "POST", "/checkouts", n.key, with, one) }()
	<-entered
	n.send("StillProcessing", "POST", "/checkouts", n.key, with, one)
	close(leave)
	is.Equal((<-first).code(), ticketing.CodeInsufficientFloat)

	_, err := n.staff.SuspendWallet(ctx, n.company, "EARNINGS")
	is.NoErr(err)
	n.refuse("CheckoutUnavailable", ticketing.CodeCheckoutUnavailable, "POST", "/checkouts", one)
	_, err = n.staff.ActivateWallet(ctx, n.company, "EARNINGS")
	is.NoErr(err)
	_, err = n.staff.RevokeVerification(ctx, n.company)
	is.NoErr(err)
	n.refuse("CompanyVerificationRequired", ticketing.CodeVerificationRequired, "POST", "/checkouts", one)
	_, err = n.staff.ApproveVerification(ctx, n.company, ticketing.ApprovalParams{})
	is.NoErr(err)

	n.store.set(func(context.Context) error { return errors.New("the disk is on fire") })
	n.refuse("InternalError", ticketing.CodeInternal, "GET", "/events", "")
	n.store.set(func(context.Context) error { return ticketing.ErrUnavailable })
	n.refuse("Unavailable", ticketing.CodeInternal, "GET", "/events", "")
	n.store.set(nil)

	open := n.server
	n.server = limited
	n.do("", "GET", "/events", "")
	n.refuse("RateLimited", ticketing.CodeRateLimited, "GET", "/events", "")
	n.server = open
}

// tellEnds adds the answers about a full or cancelled tier, a cancelled order, ended events and a company without a
// rate.
func (n *narrator) tellEnds(shop *ticketingtest.Shop, event, order string) {
	n.t.Helper()
	is := is.New(n.t)
	ctx := n.t.Context()
	path := "/events/" + event
	const batch = 1000
	for range ticketing.MaxTierAdmissions / batch {
		n.stock(n.t, event, "REGULAR", "10.00", batch)
	}
	n.refuse("TierTooLarge", ticketing.CodeConflict, "POST", path+"/inventory",
		`{"tier":"REGULAR","title":"Entry","unitPrice":"10.00","currency":"NGN","isFree":false,"quantity":1,`+
			`"status":"AVAILABLE"}`)
	n.do("cancelInventory", "DELETE", path+"/inventory/VIP", "")
	n.refuse("NothingUnsold", ticketing.CodeConflict, "DELETE", path+"/inventory/VIP", "")

	orderID, err := ticketing.ParseID(order)
	is.NoErr(err)
	detail, err := shop.GetOrder(ctx, shop.Caller, orderID)
	is.NoErr(err)
	_, err = n.staff.CancelOrder(ctx, orderID, "Called off")
	is.NoErr(err)
	n.refuse("AdmissionVoid", ticketing.CodeConflict, "POST",
		path+"/admissions/"+detail.Lines[1].AdmissionID.String()+"/validate", "")

	n.do("cancelEvent", "DELETE", path, "")
	n.refuse("EventCancelled", ticketing.CodeConflict, "PATCH", path, `{"venue":"Main Hall"}`)
	ended := n.newEvent(n.t, "PUBLISHED")
	endedID, err := ticketing.ParseID(ended)
	is.NoErr(err)
	_, err = n.staff.EndEvent(ctx, endedID)
	is.NoErr(err)
	n.refuse("EventEnded", ticketing.CodeConflict, "PATCH", "/events/"+ended, `{"venue":"Main Hall"}`)

	company, err := n.staff.CreateCompany(ctx, "No Rate Yet")
	is.NoErr(err)
	_, err = n.staff.ApproveVerification(ctx, company.ID, ticketing.ApprovalParams{})
	is.NoErr(err)
	n.key = n.issue(n.t, company.ID, ticketing.AllGrants()...)
	other := n.newEvent(n.t, "PUBLISHED")
	n.stock(n.t, other, "VIP", "10.00", 1)
	n.refuse("CommissionRateUnavailable", ticketing.CodeCommissionUnavailable, "POST", "/checkouts",
		checkoutJSON(other, "VIP", 1, "10.00"))
}
