package client_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/client"
	"github.com/floatgate/ticketing/httpapi"
	"github.com/floatgate/ticketing/internal/contracttest"
	"github.com/floatgate/ticketing/ticketingtest"
)

// quiet starts a server that does not log connection errors.
func quiet(t *testing.T, handler http.Handler, start func(*httptest.Server)) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	start(server)
	t.Cleanup(server.Close)
	return server
}

// A redirect is an answer like any other: neither the call nor the API key goes to its target.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	for _, status := range []int{301, 302, 303, 307, 308} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
				t.Error("the redirect was followed")
			}))
			t.Cleanup(elsewhere.Close)
			shop := ticketingtest.New(t, nil)
			handler := contracttest.New(t.Error, shop.Service, nil)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/openapi.json") {
					handler.ServeHTTP(w, r)
					return
				}
				http.Redirect(w, r, elsewhere.URL, status)
			}))
			t.Cleanup(server.Close)
			api := dial(t, server.URL+httpapi.DefaultPrefix, shop.APIKey)
			for _, operation := range operations() {
				refused, ok := errors.AsType[*client.Error](operation.call(t.Context(), api))
				is.True(ok)
				is.Equal(refused.Status, status)
				is.Equal(refused.Refusal.Code, ticketing.Code(""))
			}
		})
	}
}

// An attempt is one request, over HTTP/1.1 and HTTP/2. net/http does not itself repeat a call that has an idempotency
// key, nor a call without one that changes something.
func TestAttemptsAreCounted(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*httptest.Server){
		"HTTP/1.1": (*httptest.Server).Start,
		"HTTP/2": func(s *httptest.Server) {
			s.EnableHTTP2 = true
			s.StartTLS()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			shop := ticketingtest.New(t, nil)
			handler := contracttest.New(t.Error, shop.Service, nil)
			var arrived atomic.Int64
			server := quiet(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					is.Equal(r.Proto, map[string]string{"HTTP/1.1": "HTTP/1.1", "HTTP/2": "HTTP/2.0"}[name])
					handler.ServeHTTP(w, r)
					return
				}
				arrived.Add(1)
				_, _ = io.Copy(io.Discard, r.Body)
				panic(http.ErrAbortHandler)
			}), start)
			api, err := client.New(server.URL+httpapi.DefaultPrefix, shop.APIKey, &client.Config{
				Attempts: 1, Transport: server.Client().Transport,
			})
			is.NoErr(err)
			for _, operation := range operations() {
				_, err = api.ListEvents(t.Context(), ticketing.EventFilter{}) // Its connection is used again.
				is.NoErr(err)
				if !operation.changes {
					continue
				}
				arrived.Store(0)
				err = operation.call(t.Context(), api)
				is.True(errors.Is(err, client.ErrAmbiguous))
				is.Equal(arrived.Load(), int64(1))
				is.True(!strings.Contains(err.Error(), shop.APIKey))
			}
		})
	}
}

// If no server listens at the address, nothing was done: every call is retried, and none is ambiguous.
func TestNobodyListens(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, document)
	}))
	t.Cleanup(server.Close)
	retries := 0
	api, err := client.New(server.URL, "key", &client.Config{
		Attempts: 3, FirstWait: 1, LongestWait: 1, Transport: &http.Transport{DisableKeepAlives: true},
		OnRetry: func(context.Context, error, time.Duration) { retries++ },
	})
	is.NoErr(err)
	is.NoErr(api.Verify(t.Context()))
	server.Close()
	for _, operation := range operations() {
		retries = 0
		err := operation.call(t.Context(), api)
		is.True(err != nil && !errors.Is(err, client.ErrAmbiguous))
		is.Equal(retries, 2)
	}
}

// A certificate that cannot be trusted is not a temporary failure: it is reported at once, and nothing is sent.
func TestCertificates(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	server := quiet(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request came") }),
		(*httptest.Server).StartTLS)
	_, err := dial(t, server.URL, "key").GetOrder(t.Context(), uuid.New())
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	is.True(untrusted && !errors.Is(err, client.ErrContract))
}

// One connection serves one call after the other, whatever the answer was.
func TestConnectionsAreUsedAgain(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	shop := ticketingtest.New(t, nil)
	var connections atomic.Int64
	server := quiet(t, contracttest.New(t.Error, shop.Service, &httpapi.Config{RateLimit: 30}), func(s *httptest.Server) {
		s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				connections.Add(1)
			}
		}
		s.Start()
	})
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	api, err := client.New(server.URL+httpapi.DefaultPrefix, shop.APIKey,
		&client.Config{Attempts: 1, Transport: transport})
	is.NoErr(err)
	limited := false
	for range 3 {
		for _, operation := range operations() {
			limited = errors.Is(operation.call(t.Context(), api), ticketing.CodeRateLimited)
		}
	}
	is.True(limited)
	is.Equal(connections.Load(), int64(1))
}

// A compressed answer is read as any other; the size limit applies to the decompressed bytes.
func TestCompressedAnswers(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	squeeze := func(text string) []byte {
		var squeezed bytes.Buffer
		w := gzip.NewWriter(&squeezed)
		_, err := io.WriteString(w, text)
		is.NoErr(err)
		is.NoErr(w.Close())
		return squeezed.Bytes()
	}
	answer, megabyte := squeeze(document), squeeze(strings.Repeat(" ", 1<<20))
	for megabytes, fits := range map[int]bool{1: true, 31: true, 33: false} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			is.Equal(r.Header.Get("Accept-Encoding"), "gzip")
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(answer)
			for range megabytes { // The sum of compressed parts is valid gzip.
				_, _ = w.Write(megabyte)
			}
		}))
		t.Cleanup(server.Close)
		err := dial(t, server.URL, "key").Verify(t.Context())
		is.Equal(errors.Is(err, client.ErrContract), !fits)
		is.Equal(err == nil, fits)
	}
}

// Requests carry the user agent and the content types, and the API key only where an operation needs it.
func TestHeaders(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ config, want string }{
		"by default": {"", client.DefaultUserAgent},
		"named":      {"shop/2.1 (Lagos)", "shop/2.1 (Lagos)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			api, err := client.New("http://tickets.example", "svc_live.id.secret", &client.Config{
				Attempts: 1, UserAgent: test.config, Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
					is.Equal(r.Header.Get("User-Agent"), test.want)
					is.Equal(r.Header.Get("Accept"), "application/json")
					is.Equal(r.Header.Get("Content-Type") != "", r.Body != nil)
					if r.URL.Path == "/openapi.json" {
						is.Equal(r.Header.Values("Authorization"), nil)
						return made(200, "", document), nil
					}
					is.Equal(r.Header.Values("Authorization"), []string{"Bearer svc_live.id.secret"})
					return made(404, "", `{}`), nil
				}),
			})
			is.NoErr(err)
			for _, operation := range operations() {
				refused, ok := errors.AsType[*client.Error](operation.call(t.Context(), api))
				is.True(ok && refused.Status == 404)
			}
		})
	}
}

// Printing or logging a client does not show its API key.
func TestClientsDoNotShowTheirKey(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	const secret = "verysecret"
	api, err := client.New("https://tickets.example", "svc_live.id."+secret, nil)
	is.NoErr(err)
	var logged bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewTextHandler(&logged, nil), slog.NewJSONHandler(&logged, nil)} {
		slog.New(handler).Info("made", "client", api, "all", map[string]any{"client": api})
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, value := range []any{api, struct{ API *client.Client }{api}, []*client.Client{api}} {
			fmt.Fprintf(&logged, verb+"\n", value)
		}
	}
	is.True(!strings.Contains(logged.String(), secret))
	is.True(!strings.Contains(logged.String(), fmt.Sprintf("%x", secret)))
}
