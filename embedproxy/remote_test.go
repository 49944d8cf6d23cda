package embedproxy_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/embedproxy"
)

// startRemote starts a remote upstream on a scripted API.
func startRemote(t *testing.T, api http.Handler, key string) error {
	t.Helper()
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	_, err := embedproxy.Remote(t.Context(), server.URL+"/api/public/v1/", key, nil)
	if err != nil && strings.Contains(err.Error(), "secret") {
		t.Errorf("the error has the key or a body: %v", err)
	}
	return err
}

// The start makes eight requests that change nothing, and sends the key only once the contract was checked.
func TestRemoteStart(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	api := &script{}
	is.NoErr(startRemote(t, api, embedKey))
	got := api.got()
	is.Equal(len(got), 8)
	is.Equal(got[0].route, "GET /openapi.json")
	is.Equal(got[0].header["Authorization"], nil)
	for _, request := range got[1:] {
		is.Equal(request.header["Authorization"], []string{"Bearer " + embedKey})
		is.Equal(request.header["Idempotency-Key"], nil)
		if strings.HasPrefix(request.route, "POST") {
			is.Equal(request.body, "{}")
		} else {
			is.Equal(request.query, "limit=0")
		}
	}
}

// If the API or the key is unsuitable, the error says what to do, and does not contain the key.
func TestRemoteRefusesToStart(t *testing.T) {
	t.Parallel()
	refusal := func(code string) string { return strings.Replace(goodRefusal, "CONFLICT", code, 1) }
	for _, test := range []struct {
		name    string
		route   string
		status  int
		body    string
		problem string
	}{
		{"no document", "GET /openapi.json", 404, refusal("NOT_FOUND"), "is the base address right?"},
		{"another title", "GET /openapi.json", 200, `{"info":{"title":"secret","version":"1"}}`, `is not "Service`},
		{"another version", "GET /openapi.json", 200, `{"info":{"title":"Service Public API","version":"2"}}`, "version 1"},
		{"no JSON", "GET /openapi.json", 200, `<html>secret</html>`, "is the base address right?"},
		{"a revoked key", routeList, 401, refusal("AUTHENTICATION_FAILED"), "refuses the API key"},
		{"over the limit", routeList, 429, refusal("RATE_LIMITED"), "limits the rate"},
		{"an API that fails", routeQuote, 500, refusal("INTERNAL_ERROR"), "status 500, code INTERNAL_ERROR"},
		{"an API that accepts", routeQuote, 200, goodQuoted, "accepted an invalid request"},
		{"an API of another kind", routeQuote, 400, `secret`, "POST /pricing/quote"},
		{"no right to events", routeList, 403, refusal("PERMISSION_DENIED"), "it lacks COMPANY:event:read"},
		{"no right to inventory", routeQuote, 403, refusal("PERMISSION_DENIED"), "it lacks COMPANY:inventory:read"},
		{"no right to checkouts", routeCheckout, 403, refusal("PERMISSION_DENIED"), "it lacks COMPANY:checkout:create"},
		{"orders", "GET /orders", 400, refusal("INVALID_REQUEST"), "it must not hold COMPANY:order:read"},
		{"events", "POST /events", 400, refusal("IDEMPOTENCY_KEY_REQUIRED"), "it must not hold COMPANY:event:manage"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			api := &script{}
			api.send(test.route, test.status, test.body)
			err := startRemote(t, api, embedKey)
			is.True(err != nil)
			if !strings.Contains(err.Error(), test.problem) {
				t.Errorf("%v, want %q", err, test.problem)
			}
		})
	}
	t.Run("several grants", func(t *testing.T) {
		t.Parallel()
		is := is.New(t)
		api := &script{}
		api.send(routeQuote, 403, refusal("PERMISSION_DENIED"))
		api.send("GET /orders", 400, refusal("INVALID_REQUEST"))
		api.send("POST /events", 400, refusal("IDEMPOTENCY_KEY_REQUIRED"))
		is.Equal(startRemote(t, api, embedKey).Error(), "embedproxy: the API key is not an embed key: it lacks "+
			"COMPANY:inventory:read; it must not hold COMPANY:event:manage, COMPANY:order:read")
	})
	t.Run("arguments", func(t *testing.T) {
		t.Parallel()
		is := is.New(t)
		for _, base := range []string{
			"", "example.com", "ftp://example.com", "https://user:secret@example.com", "https://example.com?secret=1",
			"https://example.com#secret", "https://", "http://[::1", ":",
		} {
			_, err := embedproxy.Remote(t.Context(), base, embedKey, nil)
			is.True(err != nil)
			is.True(!strings.Contains(err.Error(), "secret"))
		}
		for _, key := range []string{"", "secret key", "secret\nX: y", "secret\u00e9"} {
			_, err := embedproxy.Remote(t.Context(), "https://example.com", key, nil)
			is.True(err != nil)
			is.True(!strings.Contains(err.Error(), "secret"))
		}
	})
	t.Run("nothing there", func(t *testing.T) {
		t.Parallel()
		is := is.New(t)
		listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		is.NoErr(err)
		listener.Close()
		_, err = embedproxy.Remote(t.Context(), "http://"+listener.Addr().String(), embedKey, nil)
		is.True(err != nil)
		is.True(strings.Contains(err.Error(), "connection refused"))
	})
	t.Run("a context that ended", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		server := httptest.NewServer(&script{})
		defer server.Close()
		_, err := embedproxy.Remote(ctx, server.URL, embedKey, nil)
		is.New(t).True(err != nil)
	})
}

// A redirect is an invalid answer: neither a call nor the key goes to its target.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	var elsewhere atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	t.Cleanup(other.Close)
	for _, status := range []int{301, 302, 303, 307, 308} {
		api := &script{}
		shop := open(t, api.remote(t, nil), nil)
		for _, post := range posts {
			api.on(post.routes[0], func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, other.URL, status)
			})
			shop.post(t, post.body).failed(t, 502, "INVALID_UPSTREAM_RESPONSE")
		}
	}
	is.New(t).Equal(elsewhere.Load(), int64(0))
}

// Each call reaches the API once, also if a kept connection breaks after it was sent. net/http would then repeat a GET
// and a request with an idempotency key.
func TestOneAttempt(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	api := &script{}
	shop := open(t, api.remote(t, nil), nil)
	for _, post := range posts {
		for i, route := range post.routes {
			if i == 2 {
				continue
			}
			shop.post(t, postList).ok(t, 200, shownPage) // The connection is kept.
			api.got()
			api.on(route, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
			shop.post(t, post.body).failed(t, 502, "INVALID_UPSTREAM_RESPONSE")
			is.Equal(api.routes(), post.routes[:i+1])
			api.on(route, nil)
			// The browser repeats the call, which is sent as a new one.
			is.True(shop.post(t, post.body).status < 300)
			is.Equal(api.routes(), post.routes)
		}
	}
}

// A GET is sent without a body.
func TestReadsHaveNoBody(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	api := &script{}
	var length atomic.Int64
	shop := open(t, api.remote(t, nil), nil)
	api.on(routeList, func(w http.ResponseWriter, r *http.Request) {
		length.Store(r.ContentLength + int64(len(r.TransferEncoding)))
		sendJSON(w, 200, goodPage)
	})
	length.Store(-1)
	shop.post(t, postList).ok(t, 200, shownPage)
	is.Equal(length.Load(), int64(0))
	is.Equal(api.got()[0].header["Content-Type"], nil)
}

// With ForwardAddress the API gets the buyer's address, never one that a browser chose. Without it, it gets none.
func TestForwardAddress(t *testing.T) {
	t.Parallel()
	trusted := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	for _, test := range []struct {
		name    string
		forward bool
		trusted []netip.Prefix
		sent    string
		want    []string
	}{
		{"not asked for", false, trusted, "203.0.113.9", nil},
		{"a browser's own", true, nil, "203.0.113.9", []string{"127.0.0.1"}},
		{"of a proxy", true, trusted, "203.0.113.9", []string{"203.0.113.9"}},
		{"of a proxy, after a browser's own", true, trusted, "198.51.100.1, 203.0.113.9", []string{"203.0.113.9"}},
		{"IPv6", true, trusted, "[2001:db8::1]:80", []string{"2001:db8::1"}},
		{"malformed", true, trusted, "203.0.113.9, unknown", []string{"127.0.0.1"}},
		{"none", true, trusted, "-", []string{"127.0.0.1"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			api := &script{}
			upstream := api.remote(t, &embedproxy.RemoteConfig{ForwardAddress: test.forward})
			shop := open(t, upstream, func(c *embedproxy.Config) { c.TrustedProxies = test.trusted })
			shop.post(t, postCheckout, "X-Forwarded-For", test.sent)
			got := api.got()
			is.Equal(len(got), 2)
			for _, call := range got {
				is.Equal(call.header["X-Forwarded-For"], test.want)
			}
		})
	}
}

// A handler in the process gets the buyer's address and the context of the browser's request.
func TestLocal(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	type key struct{}
	api := &script{}
	var seen atomic.Value
	api.on(routeList, func(w http.ResponseWriter, r *http.Request) {
		seen.Store([]any{r.RemoteAddr, r.Context().Value(key{}), r.Method, r.URL.Path})
		w.WriteHeader(http.StatusEarlyHints)
		sendJSON(w, 200, goodPage)
		w.WriteHeader(http.StatusTeapot) // without effect, as over HTTP
	})
	proxy := handler(t, embedproxy.Local(api))
	request := httptest.NewRequestWithContext(context.WithValue(t.Context(), key{}, "company"), http.MethodPost, "/",
		strings.NewReader(postList))
	request.Header.Set("Content-Type", "application/json")
	request.RemoteAddr = "203.0.113.9:1234"
	w := httptest.NewRecorder()
	proxy.ServeHTTP(w, request)
	is.Equal(w.Code, 200)
	is.Equal(seen.Load(), []any{"203.0.113.9:0", "company", "GET", "/api/public/v1/events"})

	// A handler that panics may have sold tickets.
	shop := open(t, embedproxy.Local(api), nil)
	for _, fault := range []any{"secret", http.ErrAbortHandler, errors.New("secret")} {
		api.on(routeCheckout, func(http.ResponseWriter, *http.Request) { panic(fault) })
		shop.post(t, postCheckout).failed(t, 502, "INVALID_UPSTREAM_RESPONSE")
	}
	api.on(routeCheckout, func(http.ResponseWriter, *http.Request) {})
	shop.post(t, postCheckout).failed(t, 502, "INVALID_UPSTREAM_RESPONSE")
	api.on(routeCheckout, func(w http.ResponseWriter, _ *http.Request) {
		sendJSON(w, 201, strings.Repeat(" ", 9<<20))
	})
	shop.post(t, postCheckout).failed(t, 502, "INVALID_UPSTREAM_RESPONSE")
	is.Equal(len(shop.log.lines(t)), 5)
	is.True(!slices.Contains(strings.Fields(shop.log.String()), "secret"))
	defer func() { is.True(recover() != nil) }()
	embedproxy.Local(nil)
}

// Over TLS and HTTP/2 the operations are the same. An error names an authority that is not trusted.
func TestRemoteOverTLS(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	api := &script{}
	server := httptest.NewUnstartedServer(api)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	_, err := embedproxy.Remote(t.Context(), server.URL+"/api/public/v1", embedKey, nil)
	is.True(err != nil)
	is.True(strings.Contains(err.Error(), "certificate"))

	upstream, err := embedproxy.Remote(t.Context(), server.URL+"/api/public/v1", embedKey,
		&embedproxy.RemoteConfig{Transport: server.Client().Transport})
	is.NoErr(err)
	shop := open(t, upstream, nil)
	var major atomic.Int64
	api.on(routeList, func(w http.ResponseWriter, r *http.Request) {
		major.Store(int64(r.ProtoMajor))
		sendJSON(w, 200, goodPage)
	})
	api.got()
	for _, post := range posts {
		is.True(shop.post(t, post.body).status < 300)
		is.Equal(api.routes(), post.routes)
	}
	is.Equal(major.Load(), int64(2))
}
