package httpapi_test

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/httpapi"
	"github.com/floatgate/ticketing/internal/testdb"
)

// asker sends requests, and records which documented answers came.
type asker struct {
	*deployment

	t     *testing.T
	store *failing
	seen  map[documentedAnswer]bool
}

func (k *asker) ask(method, path, key string, with headers, body string) answer {
	k.t.Helper()
	a := k.call(k.t, method, path, key, with, body)
	found, err := theContract(k.t).Answered(method, path, a.sent())
	is.New(k.t).NoErr(err)
	k.seen[found] = true
	return a
}

// target is a request that succeeds on its operation.
type target struct {
	path, body string
	absent     string // the body with an unknown id, if the id is in the body
}

// The service gives every answer that the document has, by operation, status and code, and no other.
func TestEveryDocumentedAnswer(t *testing.T) {
	t.Parallel()
	store := &failing{Store: testdb.Chosen(t)}
	k := &asker{deployment: deployOn(t, store, nil), t: t, store: store, seen: make(map[documentedAnswer]bool)}
	event := k.newEvent(t, "PUBLISHED")
	k.stock(t, event, "VIP", "10.00", 20)
	k.stock(t, event, "REGULAR", "10.00", 1)
	cancelled := k.newEvent(t, "PUBLISHED")
	sold := k.soldOut(t)
	at := "/events/" + event
	targets := map[string]target{
		"POST /events": {
			path: "/events", body: with(withoutCategory(createEventBody.members), "", ""),
		},
		"GET /events":                {path: "/events"},
		"GET /events/{id}":           {path: at},
		"PATCH /events/{id}":         {path: at, body: `{"venue":"Harbour"}`},
		"DELETE /events/{id}":        {path: "/events/" + cancelled},
		"GET /events/{id}/inventory": {path: at + "/inventory"},
		"POST /events/{id}/inventory": {
			path: at + "/inventory", body: with(createInventoryBody.members, "", ""),
		},
		"PATCH /events/{id}/inventory/VIP":  {path: at + "/inventory/VIP", body: `{"status":"AVAILABLE"}`},
		"DELETE /events/{id}/inventory/VIP": {path: at + "/inventory/REGULAR"},
		"POST /pricing/quote": {
			path: "/pricing/quote", body: quoteJSON(event, "VIP"), absent: quoteJSON(someID, "VIP"),
		},
		"POST /checkouts": {
			path: "/checkouts", body: checkoutJSON(event, "VIP", 1, "10.00"), absent: checkoutJSON(someID, "VIP", 1, "10.00"),
		},
		"GET /orders":      {path: "/orders"},
		"GET /orders/{id}": {path: "/orders/" + sold.order},
		"POST /events/{id}/admissions/{id}/validate": {
			path: "/events/" + sold.event + "/admissions/" + sold.admission + "/validate",
		},
	}
	limited := newServer(t, k.svc, &httpapi.Config{RateLimit: 1})
	open := k.server
	k.server = limited
	k.call(t, "GET", "/events", k.key, nil, "")
	k.server = open
	for _, e := range endpoints {
		k.askEverywhere(e.method, e.path, e.grant, e.keyed, targets[e.method+" "+e.path], limited)
	}
	k.askInConflict(event, cancelled, sold)
	k.askCheckouts(event)

	documented := theContract(t).everyAnswer()
	for _, one := range slices.SortedFunc(maps.Keys(documented), compareTold) {
		if !k.seen[one] {
			t.Errorf("documented, and never given: %+v", one)
		}
	}
	for one := range k.seen {
		if !documented[one] {
			t.Errorf("given, and not documented: %+v", one)
		}
	}
}

func compareTold(a, b documentedAnswer) int {
	return cmp.Or(cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Status, b.Status), cmp.Compare(a.Code, b.Code))
}

func quoteJSON(event, tier string) string {
	return `{"eventId":"` + event + `","lines":[{"tier":` + jsonText(tier) + `,"quantity":1}]}`
}

// askEverywhere makes an operation give each answer that any request may get, and its success last.
func (k *asker) askEverywhere(
	method, path string, grant ticketing.Grant, needsKey bool, to target, limited *httptest.Server,
) {
	k.t.Helper()
	is := is.New(k.t)
	fresh := func() headers { return keyed(uuid.NewString()) }
	refused := func(a answer, status int, code ticketing.Code) {
		k.t.Helper()
		a.refused(k.t, status, code)
	}
	refused(k.ask(method, to.path, "", fresh(), to.body), 401, ticketing.CodeAuthenticationFailed)
	others := slices.DeleteFunc(ticketing.AllGrants(), func(g ticketing.Grant) bool { return g == grant })
	refused(k.ask(method, to.path, k.issue(k.t, k.newCompany(k.t), others...), fresh(), to.body), 403,
		ticketing.CodePermissionDenied)
	refused(k.ask(method, to.path+"?x=1", k.key, fresh(), to.body), 400, ticketing.CodeInvalidRequest)
	if needsKey {
		refused(k.ask(method, to.path, k.key, nil, to.body), 400, ticketing.CodeIdempotencyKeyRequired)
	}
	if method == "GET" && (path == "/events" || path == "/orders") {
		refused(k.ask(method, to.path+"?cursor=x", k.key, nil, ""), 400, ticketing.CodeInvalidCursor)
	}
	switch {
	case to.absent != "":
		refused(k.ask(method, to.path, k.key, fresh(), to.absent), 404, ticketing.CodeNotFound)
	case strings.Contains(path, "{id}"):
		refused(k.ask(method, at(path), k.key, fresh(), to.body), 404, ticketing.CodeNotFound)
	}
	k.store.set(func(context.Context) error { return errors.New("the disk is on fire") })
	refused(k.ask(method, to.path, k.key, fresh(), to.body), 500, ticketing.CodeInternal)
	k.store.set(func(context.Context) error { return ticketing.ErrBusy })
	refused(k.ask(method, to.path, k.key, fresh(), to.body), 503, ticketing.CodeInternal)
	k.store.set(nil)
	open := k.server
	k.server = limited
	refused(k.ask(method, to.path, k.key, fresh(), to.body), 429, ticketing.CodeRateLimited)
	k.server = open

	// Section 5, rule 5: a write is refused if its key is revoked before it commits.
	if method != "GET" && path != "/pricing/quote" {
		revoked := k.issue(k.t, k.company, ticketing.AllGrants()...)
		k.store.before(func(context.Context) error { k.revoke(k.t, revoked); return nil })
		refused(k.ask(method, to.path, revoked, fresh(), to.body), 403, ticketing.CodePermissionDenied)
	}
	// No other grant is needed.
	only := k.issue(k.t, k.company, grant)
	is.True(k.ask(method, to.path, only, fresh(), to.body).status < 300)
	k.revoke(k.t, only)
}

// askInConflict makes requests that the state of an event, a tier, an order or a key does not allow.
func (k *asker) askInConflict(event, cancelled string, sold sold) {
	k.t.Helper()
	is := is.New(k.t)
	conflict := func(method, path string, with headers, body string) {
		k.t.Helper()
		k.ask(method, path, k.key, with, body).refused(k.t, 409, ticketing.CodeConflict)
	}
	key := keyed(uuid.NewString())
	members := withoutCategory(createEventBody.members)
	is.Equal(k.ask("POST", "/events", k.key, key, with(members, "", "")).status, 201)
	conflict("POST", "/events", key, with(members, "title", `"Another"`))
	at := "/events/" + cancelled
	conflict("PATCH", at, nil, `{"venue":"Harbour"}`)
	conflict("DELETE", at, nil, "")
	conflict("POST", at+"/inventory", keyed(uuid.NewString()), with(createInventoryBody.members, "", ""))
	conflict("PATCH", at+"/inventory/VIP", nil, `{"status":"PAUSED"}`)
	conflict("DELETE", "/events/"+event+"/inventory/REGULAR", nil, "")
	key = keyed(uuid.NewString())
	gate := "/events/" + sold.event + "/admissions/" + sold.admission + "/validate"
	is.Equal(k.ask("POST", gate, k.key, key, "").status, 200)
	conflict("POST", gate, key, `{"location":"Gate 2"}`)
	k.ask("POST", "/pricing/quote", k.key, nil, quoteJSON(event, "STUDENT")).refused(k.t, 409,
		ticketing.CodePricingUnavailable)
}

// askCheckouts makes a checkout for each reason to refuse one.
func (k *asker) askCheckouts(event string) {
	k.t.Helper()
	is := is.New(k.t)
	ctx := k.t.Context()
	refused := func(code ticketing.Code, body string) {
		k.t.Helper()
		k.ask("POST", "/checkouts", k.key, keyed("the-same-key"), body).refused(k.t, 409, code)
	}
	one := checkoutJSON(event, "VIP", 1, "10.00")
	refused(ticketing.CodeConflict, checkoutJSON(k.newEvent(k.t, "DRAFT"), "VIP", 1, "10.00"))
	refused(ticketing.CodeInventoryUnavailable, checkoutJSON(event, "VIP", 1, "10.01"))
	k.stock(k.t, event, "VVIP", "900000.00", 2)
	refused(ticketing.CodeInsufficientFloat, checkoutJSON(event, "VVIP", 2, "900000.00"))
	_, err := k.staff.SuspendWallet(ctx, k.company, "EARNINGS")
	is.NoErr(err)
	refused(ticketing.CodeCheckoutUnavailable, one)
	_, err = k.staff.RevokeVerification(ctx, k.company)
	is.NoErr(err)
	refused(ticketing.CodeVerificationRequired, one)

	company, err := k.staff.CreateCompany(ctx, "No Rate")
	is.NoErr(err)
	_, err = k.staff.ApproveVerification(ctx, company.ID, ticketing.ApprovalParams{})
	is.NoErr(err)
	k.key = k.issue(k.t, company.ID, ticketing.AllGrants()...)
	event = k.newEvent(k.t, "PUBLISHED")
	k.stock(k.t, event, "VIP", "10.00", 1)
	refused(ticketing.CodeCommissionUnavailable, checkoutJSON(event, "VIP", 1, "10.00"))
}
