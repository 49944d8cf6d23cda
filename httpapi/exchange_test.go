package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/httpapi"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/store/memory"
)

// Section 4.1: X-Request-Id is the caller's if it is well-formed and sent once, else a new UUID.
func TestRequestID(t *testing.T) {
	t.Parallel()
	d := deploy(t, nil)
	is := is.New(t)
	for _, id := range []string{"a", "0", "A1.b_c:d-e", strings.Repeat("x", 128)} {
		a := d.call(t, "GET", "/nowhere", "", headers{{"X-Request-Id", id}}, "")
		is.Equal(a.header.Get("X-Request-Id"), id)
	}
	for _, with := range []headers{
		nil,
		{{"X-Request-Id", ""}},
		{{"X-Request-Id", strings.Repeat("x", 129)}},
		{{"X-Request-Id", "-a"}},
		{{"X-Request-Id", "a b"}},
		{{"X-Request-Id", "a\"b"}},
		{{"X-Request-Id", "é"}},
		{{"X-Request-Id", "a"}, {"X-Request-Id", "a"}},
	} {
		a := d.call(t, "GET", "/nowhere", "", with, "")
		_, err := ticketing.ParseID(a.header.Get("X-Request-Id"))
		is.NoErr(err)
	}
}

// The table of section 7, for every code.
func TestEveryCodeHasItsStatus(t *testing.T) {
	t.Parallel()
	statuses := map[ticketing.Code]int{
		ticketing.CodeInvalidRequest:         400,
		ticketing.CodeInvalidCursor:          400,
		ticketing.CodeIdempotencyKeyRequired: 400,
		ticketing.CodeAuthenticationFailed:   401,
		ticketing.CodePermissionDenied:       403,
		ticketing.CodeNotFound:               404,
		ticketing.CodeConflict:               409,
		ticketing.CodeInventoryUnavailable:   409,
		ticketing.CodePricingUnavailable:     409,
		ticketing.CodeCommissionUnavailable:  409,
		ticketing.CodeInsufficientFloat:      409,
		ticketing.CodeCheckoutUnavailable:    409,
		ticketing.CodeVerificationRequired:   409,
		ticketing.CodeRateLimited:            429,
		ticketing.CodeInternal:               500,
	}
	is := is.New(t)
	is.Equal(len(statuses), len(ticketing.Codes()))
	store := &failing{Store: testdb.Chosen(t)}
	d := deployOn(t, store, nil)
	d.wire.invents = true
	for _, code := range ticketing.Codes() {
		told := &ticketing.Error{Code: code, Message: "As it is."}
		if code == ticketing.CodeInvalidRequest {
			told.Violations = []ticketing.Violation{{Message: "title: is wrong"}}
		}
		store.set(func(context.Context) error { return fmt.Errorf("wrapped: %w", told) })
		a := d.call(t, "GET", "/events", d.key, nil, "")
		a.refused(t, statuses[code], code)
		is.Equal(strings.Contains(a.body, "As it is."), code != ticketing.CodeInternal)
	}
}

// Section 7: an error that is not the client's fault is INTERNAL_ERROR without a reason. It is logged once with the
// request's id.
func TestInternalErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		fail   func(context.Context) error
		status int
		retry  string
		logged string // within the entry
	}{
		{
			name: "unknown", status: 500, logged: "disk on fire",
			fail: func(context.Context) error { return errors.New("disk on fire") },
		},
		{
			name: "unknown code", status: 500, logged: "NEW_CODE",
			fail: func(context.Context) error { return &ticketing.Error{Code: "NEW_CODE", Message: "new"} },
		},
		{
			name: "busy", status: 503, retry: "1", logged: "busy",
			fail: func(context.Context) error { return fmt.Errorf("store: %w", ticketing.ErrBusy) },
		},
		{
			name: "unavailable", status: 503, retry: "1", logged: "unavailable",
			fail: func(context.Context) error { return fmt.Errorf("store: %w", ticketing.ErrUnavailable) },
		},
		{
			name: "panic", status: 500, logged: "panic of type string",
			fail: func(context.Context) error { panic("buyer@example.com") },
		},
		{
			name: "runtime panic", status: 500, logged: "index out of range",
			fail: func(context.Context) error { return []error{nil}[len(t.Name())] },
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			store := &failing{Store: testdb.Chosen(t)}
			d := deployOn(t, store, nil)
			store.set(test.fail)
			a := d.call(t, "GET", "/events?limit=7", d.key, headers{{"X-Request-Id", "the-request"}}, "")
			a.refused(t, test.status, ticketing.CodeInternal)
			is.Equal(a.header.Get("Retry-After"), test.retry)
			d.server.Close()
			entries := d.log.lines(t, "internal error")
			is.Equal(len(entries), 1)
			is.Equal(entries[0]["requestId"], "the-request")
			is.True(strings.Contains(fmt.Sprint(entries[0]["error"]), test.logged))
			is.Equal(entries[0]["stack"] != nil, strings.Contains(test.name, "panic"))
			is.True(!strings.Contains(d.log.String(), "buyer@example.com"))
		})
	}
}

// http.ErrAbortHandler aborts the connection.
func TestAbortPassesOn(t *testing.T) {
	t.Parallel()
	store := &failing{Store: testdb.Chosen(t)}
	d := deployOn(t, store, nil)
	found := false
	store.set(func(context.Context) error {
		if found {
			panic(http.ErrAbortHandler)
		}
		found = true // The look-up of the key runs in a group, which contains its panics.
		return nil
	})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.server.URL+httpapi.DefaultPrefix+"/events",
		http.NoBody)
	is := is.New(t)
	is.NoErr(err)
	r.Header.Set("Authorization", "Bearer "+d.key)
	response, err := client.Do(r)
	if err == nil {
		response.Body.Close()
	}
	is.True(err != nil)
}

// A client that goes away is not an error of the service.
func TestClientThatGoesAwayIsNoError(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	store := &failing{Store: testdb.Chosen(t)}
	d := deployOn(t, store, nil)
	began := make(chan struct{})
	found := false
	store.set(func(ctx context.Context) error {
		if !found {
			found = true // The look-up of the key runs in a group, and goes on without its caller.
			return nil
		}
		close(began)
		<-ctx.Done()
		return fmt.Errorf("store: %w", ctx.Err())
	})
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, d.server.URL+httpapi.DefaultPrefix+"/events", http.NoBody)
	is.NoErr(err)
	r.Header.Set("Authorization", "Bearer "+d.key)
	go func() {
		<-began
		cancel()
	}()
	response, err := client.Do(r)
	if err == nil {
		response.Body.Close()
	}
	is.True(err != nil)
	d.server.Close()
	is.Equal(len(d.log.lines(t, "internal error")), 0)
	is.Equal(len(d.log.lines(t, "request")), 1)
}

// The log of a request holds what is needed to find the request, and no secret.
func TestAccessLog(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	var mu sync.Mutex
	var answers []httpapi.Answer
	d := deploy(t, &httpapi.Config{RateLimit: -1, OnRequest: func(_ context.Context, a httpapi.Answer) {
		mu.Lock()
		defer mu.Unlock()
		answers = append(answers, a)
	}})
	d.call(t, "PATCH", "/events/"+someID+"?token=in-the-query", d.key, headers{
		{"X-Request-Id", "first"}, {"Idempotency-Key", "in-the-key"}, {"Cookie", "in-the-cookie"},
	}, `{"buyer":{"email":"in-the-body@example.com"}}`)
	d.call(t, "HEAD", "/events/x", d.key, nil, "")
	d.call(t, "GET", "/in-the-path", "", nil, "")
	d.call(t, "IN-THE-METHOD", "/events", "", nil, "")
	d.server.Close()

	entries := d.log.lines(t, "request")
	is.Equal(len(entries), 4)
	is.Equal(entries[0]["requestId"], "first")
	is.Equal(entries[0]["method"], "PATCH")
	is.Equal(entries[0]["route"], "/events/:eventId")
	is.Equal(entries[0]["status"], 400.0)
	is.Equal(entries[0]["code"], "INVALID_REQUEST")
	is.Equal(entries[0]["companyId"], d.company.String())
	is.True(entries[0]["duration"] != nil)
	is.Equal(entries[1]["method"], "HEAD")
	is.Equal(entries[2]["route"], "")
	is.Equal(entries[2]["companyId"], nil)
	is.Equal(entries[3]["method"], "other")
	is.True(!strings.Contains(strings.ToLower(d.log.String()), "in-the-"))
	is.True(!strings.Contains(d.log.String(), "svc_live"))

	for i := range answers {
		is.True(answers[i].Duration >= 0)
		answers[i].Duration = 0
	}
	is.Equal(answers, []httpapi.Answer{
		{Method: "PATCH", Route: "/events/:eventId", Status: 400, Code: ticketing.CodeInvalidRequest},
		{Method: "GET", Route: "/events/:eventId", Status: 400, Code: ticketing.CodeInvalidRequest},
		{Status: 404, Code: ticketing.CodeNotFound},
		{Status: 404, Code: ticketing.CodeNotFound},
	})
}

// Section 8: 100 requests in the 60 seconds from a client's first; every request counts, whatever its answer.
func TestRateLimit(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	now := &clock{at: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	d := deploy(t, &httpapi.Config{Clock: now.now})
	for i := range httpapi.DefaultRateLimit {
		switch i % 3 {
		case 0:
			d.call(t, "GET", "/nowhere", "", nil, "").refused(t, 404, ticketing.CodeNotFound)
		case 1:
			d.call(t, "GET", "/events", "", nil, "").refused(t, 401, ticketing.CodeAuthenticationFailed)
		case 2:
			d.call(t, "GET", "/events/x", d.key, nil, "").refused(t, 400, ticketing.CodeInvalidRequest)
		}
		if i == 50 {
			now.move(20*time.Second + time.Millisecond)
		}
	}
	for _, path := range []string{"/nowhere", "/events", "/events/x"} {
		a := d.call(t, "GET", path, d.key, nil, "")
		a.refused(t, 429, ticketing.CodeRateLimited)
		is.Equal(a.header.Get("Retry-After"), "40")
	}
	now.move(39*time.Second + 998*time.Millisecond)
	a := d.call(t, "GET", "/events/x", d.key, nil, "")
	a.refused(t, 429, ticketing.CodeRateLimited)
	is.Equal(a.header.Get("Retry-After"), "1")
	now.move(time.Millisecond)
	d.call(t, "GET", "/events/x", d.key, nil, "").refused(t, 400, ticketing.CodeInvalidRequest)
	for name := range a.header {
		is.True(!strings.Contains(strings.ToLower(name), "ratelimit")) // no quota headers
	}
}

// The client is the address of the connection, unless trusted proxies say otherwise.
func TestClientTracker(t *testing.T) {
	t.Parallel()
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::ffff:192.0.2.0/120")}
	for _, test := range []struct {
		name          string
		config        httpapi.Config
		first, second http.Request
		same          bool
	}{
		{name: "one address, two ports", first: from("203.0.113.1:1"), second: from("203.0.113.1:2"), same: true},
		{name: "two addresses", first: from("203.0.113.1:1"), second: from("203.0.113.2:1")},
		{name: "one /64", first: from("[2001:db8::1]:1"), second: from("[2001:db8::2]:1"), same: true},
		{name: "two /64", first: from("[2001:db8::1]:1"), second: from("[2001:db8:0:1::1]:1")},
		{name: "mapped address", first: from("[::ffff:203.0.113.1]:1"), second: from("203.0.113.1:1"), same: true},
		{name: "two mapped", first: from("[::ffff:203.0.113.1]:1"), second: from("[::ffff:203.0.113.2]:1")},
		{
			name: "header of a stranger", first: from("203.0.113.1:1", "1.1.1.1"), second: from("203.0.113.1:1", "2.2.2.2"),
			same: true,
		},
		{
			name: "header of a stranger, proxies trusted", config: httpapi.Config{TrustedProxies: proxies},
			first: from("203.0.113.1:1", "1.1.1.1"), second: from("203.0.113.1:1", "2.2.2.2"), same: true,
		},
		{
			name: "two clients of a proxy", config: httpapi.Config{TrustedProxies: proxies},
			first: from("10.0.0.1:1", "1.1.1.1"), second: from("10.0.0.1:1", "2.2.2.2"),
		},
		{
			name: "two clients of a mapped proxy", config: httpapi.Config{TrustedProxies: proxies},
			first: from("192.0.2.7:1", "1.1.1.1"), second: from("192.0.2.7:1", "2.2.2.2"),
		},
		{
			name: "one client of two proxies", config: httpapi.Config{TrustedProxies: proxies},
			first: from("10.0.0.1:1", "1.1.1.1"), second: from("10.0.0.2:1", "1.1.1.1, 10.1.1.1"), same: true,
		},
		{
			name: "what the client wrote itself", config: httpapi.Config{TrustedProxies: proxies},
			first: from("10.0.0.1:1", "8.8.8.8, 1.1.1.1"), second: from("10.0.0.1:1", "9.9.9.9, 1.1.1.1"), same: true,
		},
		{
			name: "what the client wrote in a header of its own", config: httpapi.Config{TrustedProxies: proxies},
			first: from("10.0.0.1:1", "8.8.8.8", "1.1.1.1"), second: from("10.0.0.1:1", "9.9.9.9", "1.1.1.1"), same: true,
		},
		{
			name: "unreadable", config: httpapi.Config{TrustedProxies: proxies},
			first: from("10.0.0.1:1", "x"), second: from("10.0.0.1:1", "y"), same: true,
		},
		{
			name: "IPv6 clients of a proxy", config: httpapi.Config{TrustedProxies: proxies},
			first: from("10.0.0.1:1", "2001:db8::1"), second: from("10.0.0.1:1", "2001:db8::2"), same: true,
		},
		{name: "no address", first: from("@"), second: from("@"), same: true},
		{
			name:   "the host's own",
			config: httpapi.Config{ClientKey: func(r *http.Request) string { return r.Header.Get("X-Forwarded-For") }},
			first:  from("203.0.113.1:1", "a"), second: from("203.0.113.1:1", "b"),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			svc, err := ticketing.New(memory.New(), nil)
			is := is.New(t)
			is.NoErr(err)
			test.config.RateLimit = 1
			handler := newHandler(t, svc, &test.config)
			is.Equal(statusOf(handler, &test.first), 404)
			is.Equal(statusOf(handler, &test.second) == 429, test.same)
		})
	}
}

func from(remote string, forwarded ...string) http.Request {
	r := httptest.NewRequestWithContext(context.Background(), "GET", "/nowhere", nil)
	r.RemoteAddr = remote
	r.Header["X-Forwarded-For"] = forwarded
	return *r
}

// brokenCounter always fails.
type brokenCounter struct{}

func (brokenCounter) Count(context.Context, string, time.Time) (int, time.Time, error) {
	return 0, time.Time{}, errors.New("counter is away")
}

// If the counter fails, requests pass, and the error is logged.
func TestBrokenCounterLetsPass(t *testing.T) {
	t.Parallel()
	d := deploy(t, &httpapi.Config{RateLimit: 1, Counter: brokenCounter{}})
	for range 3 {
		d.call(t, "GET", "/nowhere", "", nil, "").refused(t, 404, ticketing.CodeNotFound)
	}
	d.server.Close()
	is.New(t).Equal(len(d.log.lines(t, "rate limit not counted")), 3)
}

// The API is served under its prefix, and nowhere else.
func TestPrefix(t *testing.T) {
	t.Parallel()
	svc, err := ticketing.New(memory.New(), nil)
	is := is.New(t)
	is.NoErr(err)
	for _, test := range []struct {
		prefix, path string
		status       int
	}{
		{"", "/api/public/v1/events", 401},
		{"/", "/events", 401},
		{"/", "/api/public/v1/events", 404},
		{"/tickets", "/tickets/events", 401},
		{"/tickets/", "/tickets/events", 401},
		{"/tickets", "/ticketsevents", 404},
		{"/tickets", "/events", 404},
		{"/a/b", "/a/b/events", 401},
		{"/a/b", "/a%2Fb/events", 404},
	} {
		handler := newHandler(t, svc, &httpapi.Config{Prefix: test.prefix})
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, test.path, nil)
		is.Equal(statusOf(handler, r), test.status)
	}
	stripped := http.StripPrefix("/outer", newHandler(t, svc, nil))
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/outer/api/public/v1/events/a%2Fb", nil)
	is.Equal(statusOf(stripped, r), 401)
}

// The host's NewRequestID is used.
func TestNewRequestID(t *testing.T) {
	t.Parallel()
	n := 0
	d := deploy(t, &httpapi.Config{NewRequestID: func() string { n++; return "id-" + strconv.Itoa(n) }})
	is := is.New(t)
	is.Equal(d.call(t, "GET", "/", "", nil, "").header.Get("X-Request-Id"), "id-1")
	is.Equal(d.call(t, "GET", "/", "", nil, "").header.Get("X-Request-Id"), "id-2")
}

// New panics without a service.
func TestNewNeedsAService(t *testing.T) {
	t.Parallel()
	defer func() { is.New(t).True(recover() != nil) }()
	httpapi.New(nil, nil)
}
