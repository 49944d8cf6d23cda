package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
)

const (
	someID    = "6f1e0c9a-4b7d-4c52-9a3e-0d2f5b8c7a61"
	anotherID = "0a4f8b1d-93c2-4e7f-8d15-b6a2c9e07f34"
)

// endpoints are the rows of section 4's table.
var endpoints = []struct {
	method, path string
	grant        ticketing.Grant
	keyed        bool
	body         bool
}{
	{"POST", "/events", ticketing.GrantEventManage, true, true},
	{"GET", "/events", ticketing.GrantEventRead, false, false},
	{"GET", "/events/{id}", ticketing.GrantEventRead, false, false},
	{"PATCH", "/events/{id}", ticketing.GrantEventManage, false, true},
	{"DELETE", "/events/{id}", ticketing.GrantEventManage, false, false},
	{"GET", "/events/{id}/inventory", ticketing.GrantInventoryRead, false, false},
	{"POST", "/events/{id}/inventory", ticketing.GrantInventoryManage, true, true},
	{"PATCH", "/events/{id}/inventory/VIP", ticketing.GrantInventoryManage, false, true},
	{"DELETE", "/events/{id}/inventory/VIP", ticketing.GrantInventoryManage, false, false},
	{"POST", "/pricing/quote", ticketing.GrantInventoryRead, false, true},
	{"POST", "/checkouts", ticketing.GrantCheckoutCreate, true, true},
	{"GET", "/orders", ticketing.GrantOrderRead, false, false},
	{"GET", "/orders/{id}", ticketing.GrantOrderRead, false, false},
	{"POST", "/events/{id}/admissions/{id}/validate", ticketing.GrantTicketValidate, true, false},
}

func at(path string) string { return strings.ReplaceAll(path, "{id}", someID) }

// What is not in the table of section 4 is 404, with and without a credential, and never a redirect.
func TestUnknownPathsAndMethodsAreNotFound(t *testing.T) {
	t.Parallel()
	d := deploy(t, nil)
	id := "/events/" + someID
	for _, test := range []struct{ method, path string }{
		{"GET", ""},
		{"GET", "/"},
		{"GET", "/event"},
		{"GET", "/Events"},
		{"GET", "/events/"},
		{"GET", "//events"},
		{"GET", "/./events"},
		{"GET", "/orders/../events"},
		{"GET", "/events%2F"},
		{"GET", "/%65vents/x/y"},
		{"GET", id + "/"},
		{"GET", id + "/Inventory"},
		{"GET", id + "/inventory/"},
		{"GET", "/events//inventory"},
		{"DELETE", id + "/inventory/"},
		{"DELETE", id + "/inventory/A/B"},
		{"GET", id + "/inventory/VIP"},
		{"PUT", "/events"},
		{"OPTIONS", "/events"},
		{"TRACE", "/events"},
		{"get", "/events"},
		{"BREW", "/events"},
		{"GET", "/checkouts"},
		{"HEAD", "/checkouts"},
		{"POST", "/orders"},
		{"POST", id},
		{"GET", "/pricing/quote"},
		{"GET", id + "/admissions/" + someID + "/validate"},
		{"POST", "/events//admissions/" + someID + "/validate"},
	} {
		for _, key := range []string{d.key, "", "wrong"} {
			a := d.call(t, test.method, test.path, key, nil, "")
			if a.status != http.StatusNotFound {
				t.Errorf("%s %s: %d", test.method, test.path, a.status)
			}
			if test.method != http.MethodHead {
				a.refused(t, http.StatusNotFound, ticketing.CodeNotFound)
			}
		}
	}
	for _, target := range []string{"/", "/api/public/v2/events", "/api/public/v1x/events", "/api%2Fpublic/v1/events"} {
		d.raw(t, "GET "+target+" HTTP/1.1\r\nHost: x\r\n\r\n").refused(t, http.StatusNotFound, ticketing.CodeNotFound)
	}
}

// Section 5: whatever is wrong with the credential is the very same 401, on every operation.
func TestEveryOperationAsksForAKey(t *testing.T) {
	t.Parallel()
	d := deploy(t, nil)
	revoked := d.issue(t, d.newCompany(t), ticketing.AllGrants()...)
	suspended := d.newCompany(t)
	ofSuspended := d.issue(t, suspended, ticketing.AllGrants()...)
	is := is.New(t)
	_, err := d.staff.SuspendCompany(t.Context(), suspended)
	is.NoErr(err)
	keyID, err := ticketing.ParseID(strings.Split(revoked, ".")[1])
	is.NoErr(err)
	_, err = d.staff.RevokeAPIKey(t.Context(), keyID)
	is.NoErr(err)

	auth := func(values ...string) headers {
		var h headers
		for _, v := range values {
			h = append(h, [2]string{"Authorization", v})
		}
		return append(h, [2]string{"X-Request-Id", "same"})
	}
	var said string
	for _, with := range []headers{
		auth(),
		auth(""),
		auth("Bearer"),
		auth("Bearer "),
		auth("Bearer  " + d.key),
		auth("Bearer " + d.key + "x"),
		auth("Bearer " + d.key + ", Bearer " + d.key),
		auth("Bearer\t" + d.key),
		auth("Basic " + d.key),
		auth(d.key),
		auth("Bearer "+d.key, "Bearer "+d.key),
		auth("Bearer "+d.key, "Bearer wrong"),
		auth("Bearer svc_live." + someID + ".c2VjcmV0"),
		auth("Bearer " + revoked),
		auth("Bearer " + ofSuspended),
		append(auth(), [2]string{"X-Api-Key", d.key}),
	} {
		a := d.call(t, "GET", "/events", "", with, "")
		a.refused(t, http.StatusUnauthorized, ticketing.CodeAuthenticationFailed)
		is.Equal(a.header["Www-Authenticate"], []string{"Bearer"})
		if said == "" {
			said = a.body
		}
		is.Equal(a.body, said)
	}
	for _, e := range endpoints {
		d.call(t, e.method, at(e.path), "", nil, "").
			refused(t, http.StatusUnauthorized, ticketing.CodeAuthenticationFailed)
	}
	for _, scheme := range []string{"bearer ", "BEARER "} {
		a := d.call(t, "GET", "/events/x", "", auth(scheme+d.key), "")
		a.refused(t, http.StatusBadRequest, ticketing.CodeInvalidRequest, "eventId: ")
	}
}

// Section 5, rules 2 and 6: each operation requires exactly its grant, before it checks the rest of the request.
func TestEveryOperationAsksForItsGrant(t *testing.T) {
	t.Parallel()
	d := deploy(t, nil)
	for _, e := range endpoints {
		t.Run(e.method+" "+e.path, func(t *testing.T) {
			t.Parallel()
			company := d.newCompany(t)
			var others []ticketing.Grant
			for _, g := range ticketing.AllGrants() {
				if g != e.grant {
					others = append(others, g)
				}
			}
			d.call(t, e.method, at(e.path)+"?x=1", d.issue(t, company, others...), nil, "{").
				refused(t, http.StatusForbidden, ticketing.CodePermissionDenied)
			d.call(t, e.method, at(e.path)+"?x=1", d.issue(t, company, e.grant), keyed("key-0001"), `{"x":1}`).
				refused(t, http.StatusBadRequest, ticketing.CodeInvalidRequest)
		})
	}
}

// Sections 4.1 and 4.11: the key of an idempotent operation. A missing key is reported first.
func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	d := deploy(t, nil)
	for _, e := range endpoints {
		path := strings.ReplaceAll(e.path, "{id}", "x") + "?x=1"
		if !e.keyed {
			a := d.call(t, e.method, path, d.key, headers{{"Idempotency-Key", "!"}, {"Idempotency-Key", "!"}}, "")
			a.refused(t, http.StatusBadRequest, ticketing.CodeInvalidRequest)
			is.New(t).True(!strings.Contains(a.body, "Idempotency-Key"))
			continue
		}
		for _, with := range []headers{nil, keyed("")} {
			d.call(t, e.method, path, d.key, with, "{").
				refused(t, http.StatusBadRequest, ticketing.CodeIdempotencyKeyRequired)
		}
		for _, with := range []headers{
			keyed("1234567"),
			keyed(strings.Repeat("k", 129)),
			keyed("-2345678"),
			keyed("1234 5678"),
			keyed("1234567é"),
			keyed("12345678, 12345678"),
			{{"Idempotency-Key", "12345678"}, {"Idempotency-Key", "12345678"}},
			{{"Idempotency-Key", ""}, {"Idempotency-Key", ""}},
		} {
			a := d.call(t, e.method, at(e.path), d.key, with, `{"x":1}`)
			a.refused(t, http.StatusBadRequest, ticketing.CodeInvalidRequest)
			is.New(t).True(strings.Contains(a.body, `"Idempotency-Key: must be `))
		}
		for _, key := range []string{"12345678", strings.Repeat("k", 128), "A.b_c:d-e"} {
			a := d.call(t, e.method, at(e.path), d.key, keyed(key), `{"x":1}`)
			a.refused(t, http.StatusBadRequest, ticketing.CodeInvalidRequest)
			is.New(t).True(!strings.Contains(a.body, "Idempotency-Key"))
		}
	}
}

// Section 2.1: an id is a UUID of version 4, in a path, too.
func TestPathIDs(t *testing.T) {
	t.Parallel()
	d := deploy(t, nil)
	for _, id := range []string{
		"x", "%20", "%00", "%FF", someID + "%20", someID[1:], someID + "0", "{" + someID + "}",
		"urn:uuid:" + someID, strings.ReplaceAll(someID, "-", ""), "%2F", "..",
		"6f1e0c9a-4b7d-1c52-9a3e-0d2f5b8c7a61", "6f1e0c9a-4b7d-4c52-1a3e-0d2f5b8c7a61",
		"00000000-0000-0000-0000-000000000000",
	} {
		for _, e := range endpoints {
			if !strings.Contains(e.path, "{id}") {
				continue
			}
			body := ""
			if e.body {
				body = "{}"
			}
			a := d.call(t, e.method, strings.ReplaceAll(e.path, "{id}", id), d.key, keyed("key-0001"), body)
			a.refused(t, http.StatusBadRequest, ticketing.CodeInvalidRequest)
			is.New(t).True(strings.Contains(a.body, `Id: must be a UUID of version 4"`))
		}
	}
	a := d.call(t, "POST", "/events/x/admissions/y/validate", d.key, keyed("key-0001"), "")
	a.refused(t, http.StatusBadRequest, ticketing.CodeInvalidRequest, "eventId: ", "admissionId: ")
}

// A query is strict everywhere: unknown, repeated and malformed parameters are refused, also by operations without
// parameters.
func TestQueryForm(t *testing.T) {
	t.Parallel()
	d := deploy(t, nil)
	for _, e := range endpoints {
		body := ""
		if e.body {
			body = "{}"
		}
		a := d.call(t, e.method, at(e.path)+"?nonsense=1", d.key, keyed("key-0001"), body)
		a.refused(t, http.StatusBadRequest, ticketing.CodeInvalidRequest)
		is.New(t).True(strings.Contains(a.body, `"nonsense: is not a known query parameter"`))
	}
	for _, test := range []struct {
		query      string
		violations []string
	}{
		{"limit=0", []string{"limit: "}},
		{"limit=101", []string{"limit: "}},
		{"limit=-1", []string{"limit: "}},
		{"limit=%2B1", []string{"limit: "}},
		{"limit=+1", []string{"limit: "}},
		{"limit=01", []string{"limit: "}},
		{"limit=1.0", []string{"limit: "}},
		{"limit=1e1", []string{"limit: "}},
		{"limit=0x1", []string{"limit: "}},
		{"limit=%201", []string{"limit: "}},
		{"limit=1%00", []string{"limit: "}},
		{"limit=" + strings.Repeat("9", 40), []string{"limit: "}},
		{"limit=", []string{"limit: "}},
		{"limit", []string{"limit: "}},
		{"limit=ten", []string{"limit: "}},
		{"limit=5;status=x", []string{"limit: "}},
		{"limit=1&limit=1", []string{"limit: must be sent once"}},
		{"limit=1&%6cimit=1", []string{"limit: must be sent once"}},
		{"cursor=a&cursor=b", []string{"cursor: must be sent once"}},
		{"status=", []string{"status: "}},
		{"Limit=1", []string{"Limit: "}},
		{"limit[]=1", []string{"limit[]: "}},
		{"=1", []string{`"": is not`}},
		{"limit=%zz", []string{"query: "}},
		{"%zz=1", []string{"query: "}},
		{"limit=%", []string{"query: "}},
		{"limit=x&a=1&b=2&status=", []string{"limit: ", "status: ", "a: ", "b: "}},
		{"cursor=&limit=0", []string{"limit: "}},
	} {
		for _, path := range []string{"/events?", "/orders?"} {
			d.call(t, "GET", path+test.query, d.key, nil, "").
				refused(t, http.StatusBadRequest, ticketing.CodeInvalidRequest, test.violations...)
		}
	}
	d.call(t, "GET", "/orders?status=CONFIRMED&status=CANCELLED", d.key, nil, "").
		refused(t, http.StatusBadRequest, ticketing.CodeInvalidRequest, "status: must be sent once")
	for _, list := range []string{",", "CONFIRMED,", ",CONFIRMED", "CONFIRMED,,CANCELLED", "CONFIRMED,CONFIRMED"} {
		d.call(t, "GET", "/orders?status="+list, d.key, nil, "").
			refused(t, http.StatusBadRequest, ticketing.CodeInvalidRequest, "status: ")
	}
	for _, id := range []string{"", "x", someID + "%20", "{" + someID + "}"} {
		d.call(t, "GET", "/orders?eventId="+id, d.key, nil, "").
			refused(t, http.StatusBadRequest, ticketing.CodeInvalidRequest, "eventId: ")
	}
	for _, path := range []string{"/events", "/orders"} {
		d.call(t, "GET", path+"?cursor=", d.key, nil, "").
			refused(t, http.StatusBadRequest, ticketing.CodeInvalidCursor)
	}
}
