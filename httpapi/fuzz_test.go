package httpapi_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/floatgate/ticketing/httpapi"
)

// serve passes a request to the handler without a network, and checks what holds for every answer: no 5xx, and the
// envelope.
func (d *deployment) serve(t *testing.T, r *http.Request) answer {
	t.Helper()
	a := served(t, d.server.Config.Handler, httpapi.DefaultPrefix, r)
	if a.status >= http.StatusInternalServerError {
		t.Fatalf("%d: %s\n%s", a.status, a.body, d.log)
	}
	return a
}

func (d *deployment) request(t *testing.T, method, path, body string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, httpapi.DefaultPrefix+path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+d.key)
	r.Header.Set("Idempotency-Key", "fuzz-key-1")
	r.Header.Set("Content-Type", "application/json")
	return r
}

// FuzzBody sends any bytes to each operation that reads a body. What is accepted is valid
// JSON for encoding/json, too, and valid UTF-8.
func FuzzBody(f *testing.F) {
	for i, b := range bodies {
		f.Add(i, []byte(with(b.members, "", "")))
		f.Add(i, []byte(`{"\ud800":"\u0000","lines":[{"quantity":1e2},null],"buyer":[],"ticketCategories":[{}]}`))
	}
	d := deploy(f, nil)
	f.Fuzz(func(t *testing.T, operation int, text []byte) {
		b := bodies[uint(operation)%uint(len(bodies))]
		a := d.serve(t, d.request(t, b.method, b.path, string(text)))
		if a.status < 300 && len(text) > 0 && (!json.Valid(text) || !utf8.Valid(text)) {
			t.Fatalf("accepted: %q", text)
		}
	})
}

// FuzzRequestLine sends any method and target that the server lets through.
func FuzzRequestLine(f *testing.F) {
	for _, e := range endpoints {
		f.Add(e.method, httpapi.DefaultPrefix+at(e.path))
	}
	f.Add("DELETE", httpapi.DefaultPrefix+"/events/"+someID+"/inventory/%2F%00%FF|..")
	f.Add("GeT", httpapi.DefaultPrefix+"/events")
	f.Add("OPTIONS", "*")
	f.Add("CONNECT", "example.com:443")
	f.Add("GET", "http://example.com"+httpapi.DefaultPrefix+"/events?limit=1&cursor=%zz")
	d := deploy(f, nil)
	f.Fuzz(func(t *testing.T, method, target string) {
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(method + " " + target + " HTTP/1.1\r\nHost: x\r\n\r\n")))
		if err != nil {
			return
		}
		r.Header.Set("Authorization", "Bearer "+d.key)
		r.Header.Set("Idempotency-Key", "fuzz-key-1")
		d.serve(t, r.WithContext(t.Context()))
	})
}

// FuzzTier sends any tier as a path parameter.
func FuzzTier(f *testing.F) {
	for _, tier := range []string{"VIP", "%2F", "a|b%2F", "%00", "%C0%80", "..", "é😀", "%"} {
		f.Add(tier)
	}
	d := deploy(f, nil)
	path := "/events/" + d.newEvent(f, "PUBLISHED") + "/inventory/"
	f.Fuzz(func(t *testing.T, tier string) {
		head := "DELETE " + httpapi.DefaultPrefix + path + tier + " HTTP/1.1\r\nHost: x\r\n\r\n"
		r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(head)))
		if err != nil {
			return
		}
		r.Header.Set("Authorization", "Bearer "+d.key)
		d.serve(t, r.WithContext(t.Context()))
	})
}

// FuzzQuery sends any query to both listings.
func FuzzQuery(f *testing.F) {
	for _, query := range []string{
		"", "limit=25&cursor=abc&status=DRAFT", "status=CONFIRMED,REFUNDED&eventId=" + someID, "limit=%31&%zz=&;=&&=&limit",
		"cursor=",
	} {
		f.Add(query)
	}
	d := deploy(f, nil)
	f.Fuzz(func(t *testing.T, query string) {
		for _, path := range []string{"/events", "/orders"} {
			r := d.request(t, http.MethodGet, path, "")
			r.URL.RawQuery = query
			d.serve(t, r)
		}
	})
}

// FuzzCursor sends any cursor to both listings. No cursor is accepted that was not issued.
func FuzzCursor(f *testing.F) {
	d := deploy(f, nil)
	for range 2 {
		d.newEvent(f, "DRAFT")
	}
	issued := d.call(f, "GET", "/events?limit=1", d.key, nil, "").text(f, "meta", "page", "nextCursor")
	f.Add(issued)
	f.Add(issued[:len(issued)-1])
	f.Add("")
	f.Fuzz(func(t *testing.T, cursor string) {
		for _, path := range []string{"/events", "/orders"} {
			r := d.request(t, http.MethodGet, path, "")
			values := r.URL.Query()
			values.Set("cursor", cursor)
			r.URL.RawQuery = values.Encode()
			a := d.serve(t, r)
			if (a.status == http.StatusOK) != (cursor == issued && path == "/events") {
				t.Fatalf("%s with cursor %q: %d", path, cursor, a.status)
			}
		}
	})
}

// FuzzBearer sends any Authorization. Only the key is accepted.
func FuzzBearer(f *testing.F) {
	d := deploy(f, nil)
	f.Add("Bearer " + d.key)
	f.Add("bearer " + d.key[:len(d.key)-1])
	f.Add("Basic eDp5")
	f.Add("Bearer svc_live." + someID + ".")
	f.Fuzz(func(t *testing.T, authorization string) {
		r := d.request(t, http.MethodGet, "/events", "")
		r.Header.Set("Authorization", authorization)
		a := d.serve(t, r)
		scheme, key, _ := strings.Cut(authorization, " ")
		if right := strings.EqualFold(scheme, "bearer") && key == d.key; right != (a.status == http.StatusOK) {
			t.Fatalf("%q: %d", authorization, a.status)
		}
	})
}

// FuzzHeaders sends any Idempotency-Key, X-Request-Id, X-Forwarded-For and Content-Type.
func FuzzHeaders(f *testing.F) {
	f.Add("12345678", "id", "1.1.1.1", "application/json")
	f.Add("", "", "", "")
	f.Add("é", "a b", "::1, x", "application/json; charset=utf-8; x")
	d := deploy(f, nil)
	s := d.soldOut(f)
	path := "/events/" + s.event + "/admissions/" + s.admission + "/validate"
	f.Fuzz(func(t *testing.T, key, id, forwarded, contentType string) {
		r := d.request(t, http.MethodPost, path, "{}")
		r.Header.Set("Idempotency-Key", key)
		r.Header.Set("X-Request-Id", id)
		r.Header.Set("X-Forwarded-For", forwarded)
		r.Header.Set("Content-Type", contentType)
		r.Body = io.NopCloser(bytes.NewReader([]byte("{}")))
		a := d.serve(t, r)
		if got := a.header.Get("X-Request-Id"); got != id && len(got) != len(someID) {
			t.Fatalf("request id %q", got)
		}
	})
}
