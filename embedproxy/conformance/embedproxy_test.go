package conformance_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/embedproxy"
	"github.com/floatgate/ticketing/embedproxy/conformance"
)

// Package embedproxy passes, over HTTP and in one process, and nothing of a rejected body is in its log.
func TestEmbedproxy(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		api  func(t *testing.T, upstream *conformance.Upstream) embedproxy.Upstream
	}{
		{"Remote", func(t *testing.T, upstream *conformance.Upstream) embedproxy.Upstream {
			t.Helper()
			server := httptest.NewServer(upstream)
			t.Cleanup(server.Close)
			api, err := embedproxy.Remote(t.Context(), server.URL+conformance.Prefix, "svc_live."+eventKey, nil)
			is.New(t).NoErr(err)
			return api
		}},
		{"Local", func(_ *testing.T, upstream *conformance.Upstream) embedproxy.Upstream {
			return embedproxy.Local(upstream)
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			upstream := conformance.NewUpstream()
			var log bytes.Buffer
			proxy, err := embedproxy.New(test.api(t, upstream), &embedproxy.Config{
				Session: func(r *http.Request) (string, error) {
					cookie, err := r.Cookie("session")
					if err != nil || cookie.Value != "7f3c0d9e" {
						return "", embedproxy.ErrNoSession
					}
					return cookie.Value, nil
				},
				MayBuy:            embedproxy.AnyoneMayBuy,
				RequestsPerMinute: -1, CheckoutsPerMinute: -1,
				Logger: slog.New(slog.NewJSONHandler(&log, nil)),
			})
			is.NoErr(err)
			server := httptest.NewServer(proxy)
			t.Cleanup(server.Close)
			report, err := conformance.Run(t.Context(), conformance.Config{
				Proxy: server.URL, Upstream: upstream, InProcess: test.name == "Local",
				Header: http.Header{"Cookie": {sessionCookie}},
			})
			is.NoErr(err)
			expectOK(t, report)
			is.True(report.OK())
			is.True(log.Len() > 0)
			is.True(!strings.Contains(log.String(), "zq7"))
		})
	}
}

const eventKey = "0d7d1cfb-3a5e-4d55-8a6c-2f4f3a1b9c77.c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3JldA"
