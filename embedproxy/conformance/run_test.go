package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/embedproxy/conformance"
	"github.com/floatgate/ticketing/internal/race"
)

// find returns the check of a rule whose name has a part.
func find(t *testing.T, report conformance.Report, want string) conformance.Check {
	t.Helper()
	for _, check := range report.Checks {
		if isOf(check, want) {
			return check
		}
	}
	t.Fatalf("no check of rule %s", want)
	return conformance.Check{}
}

// A run waits for the proxy's limit, and says so. It finds that there is a limit. It finds that the proxy gives up an
// upstream that returns nothing, in the time that the caller allows.
func TestLimitsAndPatience(t *testing.T) {
	t.Parallel()
	race.Leave(t, "requests that are sent one after the other")
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		var said []string
		begun := time.Now()
		report := checkReference(t, &reference{limit: 700, timeout: 15 * time.Second}, conformance.Config{
			Limits: true, Slow: 20 * time.Second, Logf: func(format string, args ...any) {
				said = append(said, fmt.Sprintf(format, args...))
			},
		})
		expectOK(t, report)
		is.Equal(find(t, report, "2 limits requests by itself").Status, conformance.Passed)
		is.Equal(find(t, report, "9 given up").Status, conformance.Passed)
		is.True(time.Since(begun) > time.Minute)
		is.True(len(said) > 0)
		is.True(strings.Contains(said[0], "Raise its limits"))
	})
}

// A proxy without a limit, or one that waits too long, fails the check of that if the check was requested.
func TestNoLimitAndNoPatience(t *testing.T) {
	t.Parallel()
	race.Leave(t, "requests that are sent one after the other")
	synctest.Test(t, func(t *testing.T) {
		report := checkReference(t, &reference{timeout: time.Minute},
			conformance.Config{Limits: true, Slow: 20 * time.Second})
		expectFailures(t, report, []string{"2 limits requests by itself", "9 given up"})
	})
}

// A check that was not requested is skipped, and says how to request it. If a proxy drops Retry-After, that check is
// skipped, too, since the contract does not require the header.
func TestSkipped(t *testing.T) {
	t.Parallel()
	race.Leave(t, "requests that are sent one after the other")
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		report := checkReference(t, &reference{flaw: "no Retry-After"}, conformance.Config{})
		is.True(report.OK())
		for check, said := range map[string]string{
			"2 limits requests by itself": "--limits", "9 given up": "--slow", "8 Retry-After": "Retry-After: 17",
			"9 logged": `"zq7"`,
		} {
			skipped := find(t, report, check)
			is.Equal(skipped.Status, conformance.Skipped)
			is.True(strings.Contains(skipped.Got, said))
		}
		is.Equal(report.Count(conformance.Skipped), 4)
	})
}

// Another site cannot send a session that is not a cookie.
func TestSessionInAuthorization(t *testing.T) {
	t.Parallel()
	race.Leave(t, "requests that are sent one after the other")
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		upstream := conformance.NewUpstream()
		proxy := &reference{upstream: inMemory{upstream}, base: referenceHost + conformance.Prefix}
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") == "Bearer shop-session" {
				r.Header.Set("Cookie", sessionCookie)
			}
			proxy.ServeHTTP(w, r)
		})
		report, err := conformance.Run(t.Context(), conformance.Config{
			Proxy: "http://shop.test/proxy", Upstream: upstream, Client: &http.Client{Transport: inMemory{handler}},
			Header: http.Header{"Authorization": {"Bearer shop-session"}},
		})
		is.NoErr(err)
		expectOK(t, report)
		is.Equal(find(t, report, "2 another site").Status, conformance.Skipped)
		is.Equal(find(t, report, "2 made-up").Status, conformance.Passed)
	})
}

// A failure that prevents the checks is an error, not a report.
func TestRunErrors(t *testing.T) {
	t.Parallel()
	newUpstream := conformance.NewUpstream // Each case has one of its own: they run concurrently.
	proxy := &reference{upstream: inMemory{newUpstream()}, base: referenceHost + conformance.Prefix}
	reached := &http.Client{Transport: inMemory{proxy}}
	for _, test := range []struct {
		name   string
		ended  bool
		config conformance.Config
		want   string
	}{
		{"no URL", false, conformance.Config{Proxy: "shop", Upstream: newUpstream()}, "malformed URL"},
		{"another scheme", false, conformance.Config{Proxy: "ftp://shop/", Upstream: newUpstream()}, "malformed URL"},
		{"no upstream", false, conformance.Config{Proxy: "http://shop.test/"}, "neither a Listener nor an Upstream"},
		{
			"no session", false,
			conformance.Config{Proxy: "http://shop.test/", Upstream: newUpstream(), Client: reached},
			"refused the session (401)",
		},
		{"ended", true, conformance.Config{
			Proxy: "http://shop.test/", Upstream: newUpstream(), Client: reached, Header: http.Header{"Cookie": {sessionCookie}},
		}, "context canceled"},
		{"nobody there", false, conformance.Config{
			Proxy: "http://shop.test/", Upstream: newUpstream(), Client: &http.Client{Transport: unreachable{}},
		}, "cannot be reached"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if test.ended {
					cancel()
				}
				report, err := conformance.Run(ctx, test.config)
				is.True(err != nil)
				is.True(strings.Contains(err.Error(), test.want))
				is.Equal(len(report.Checks), 0)
			})
		})
	}
}

// Two runs at once cannot share an upstream, whose calls are those of one check. One after the other they can.
func TestUpstreamOfTwoRuns(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	upstream := conformance.NewUpstream()
	run := func(network http.RoundTripper) error {
		_, err := conformance.Run(t.Context(), conformance.Config{
			Proxy: "http://shop.test/", Upstream: upstream, Client: &http.Client{Transport: network}, Wait: time.Nanosecond,
		})
		return err
	}
	is.True(strings.Contains(run(meanwhile{func() {
		is.Equal(run(unreachable{}).Error(), "conformance: another run uses the Upstream")
	}}).Error(), "cannot be reached"))
	is.True(strings.Contains(run(unreachable{}).Error(), "cannot be reached"))
}

// Run closes its listener also if it refuses the configuration or an upstream that is in use.
func TestListenerIsClosed(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	refused := func(config conformance.Config) {
		t.Helper()
		config.Listener = listen(t)
		_, err := conformance.Run(t.Context(), config)
		is.True(err != nil)
		is.True(errors.Is(config.Listener.Close(), net.ErrClosed)) // It was closed before.
	}
	refused(conformance.Config{Proxy: "shop"})
	upstream := conformance.NewUpstream()
	_, err := conformance.Run(t.Context(), conformance.Config{
		Proxy: "http://shop.test/", Upstream: upstream, Wait: time.Nanosecond,
		Client: &http.Client{Transport: meanwhile{func() {
			refused(conformance.Config{Proxy: "http://shop.test/", Upstream: upstream})
		}}},
	})
	is.True(strings.Contains(err.Error(), "cannot be reached"))
}

// meanwhile is a network without the proxy, on which something happens during a request.
type meanwhile struct{ happens func() }

func (m meanwhile) RoundTrip(*http.Request) (*http.Response, error) {
	m.happens()
	return nil, errors.New("connection refused")
}

// unreachable is a network without the proxy.
type unreachable struct{}

func (unreachable) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("connection refused")
}

// The upstream behaves as the API does for a proxy that finds out at its start which grants its key holds.
func TestProbes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		method, target, key, body string
		status                    int
		want                      string
	}{
		{"POST", "/events", "k", "", 403, "PERMISSION_DENIED"},
		{"POST", "/events/7b0c8a52-5d0e-4c53-9d55-0a4f0d7f2c11/inventory", "k", "", 403, "PERMISSION_DENIED"},
		{"POST", "/events/x/admissions/y/validate", "k", "", 403, "PERMISSION_DENIED"},
		{"GET", "/orders?limit=0", "k", "", 403, "PERMISSION_DENIED"},
		{"POST", "/checkouts", "k", "", 400, "IDEMPOTENCY_KEY_REQUIRED"},
		{"GET", "/events?limit=0", "k", "", 400, "INVALID_REQUEST"},
		{"POST", "/pricing/quote", "k", "{}", 400, "INVALID_REQUEST"},
		{"GET", "/events", "", "", 401, "AUTHENTICATION_FAILED"},
		{"GET", "/openapi.json", "", "", 200, `"title":"Service Public API","version":"1"`},
		{"GET", "/nothing", "k", "", 404, "NOT_FOUND"},
	} {
		t.Run(test.method+" "+test.target, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			req, err := http.NewRequestWithContext(t.Context(), test.method, referenceHost+conformance.Prefix+test.target,
				strings.NewReader(test.body))
			is.NoErr(err)
			if test.key != "" {
				req.Header.Set("Authorization", "Bearer "+referenceKey)
			}
			response, err := (inMemory{conformance.NewUpstream()}).RoundTrip(req)
			is.NoErr(err)
			defer response.Body.Close()
			var body strings.Builder
			is.NoErr(response.Write(&body))
			is.Equal(response.StatusCode, test.status)
			is.True(strings.Contains(body.String(), test.want))
		})
	}
}
