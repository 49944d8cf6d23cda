// Package conformance checks a browser proxy, in any language, against section 4.12 of the contract.
//
// [Run] plays both the browser and the public API. It sends operations to the proxy under test, and serves the API that
// the proxy calls. So it sees what the proxy sends to the API and what it returns to the browser, and it can make the
// API return anything. [Run] returns a [Report] of all checks. A [Check] has the number of its rule:
//
//	operations   the table of the four operations
//	1 to 10      the proxy rules
//
// What section 4.12 leaves open is not checked: which status between 400 and 499 the proxy gives its own refusals, and
// which of 502 to 504 it returns if the API returns nothing. Nor are the lengths of upstream texts checked.
//
// # How to set up the proxy
//
// Point the proxy at the upstream: the path /api/public/v1 of a listener. See [Config].Listener and [Upstream]. Give it
// any key of the form svc_live.ID.SECRET. Allow some two thousand requests of one session; if the proxy allows fewer,
// the run waits as long as Retry-After says. If a hook of the proxy refuses purchases, make it accept them.
//
// Package [github.com/floatgate/ticketing/embedproxy] is a proxy in Go that passes.
package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"time"
)

// Config holds the options of a run. Proxy and Header are required.
type Config struct {
	// Proxy is the http or https URL of the proxy under test. Required.
	Proxy string

	// Listener is where Run serves Upstream. Run closes it. If it is nil, the caller serves Upstream.
	Listener net.Listener

	// Upstream is the API that the proxy calls. One run uses it at a time. Defaults to a new one, which needs a Listener.
	Upstream *Upstream

	// Header holds the header of a storefront session, such as a Cookie. Required, since a proxy must refuse requests
	// without a session.
	Header http.Header

	// Client sends the browser's requests. Redirects are never followed. Defaults to a client with a timeout of 30
	// seconds; with Slow, the timeout is 30 seconds plus Slow.
	Client *http.Client

	// InProcess says that the proxy calls Upstream without a network and a key. The checks of keys and of broken
	// connections are then skipped.
	InProcess bool

	// Limits adds the check of the proxy's rate limit. It sends up to a thousand requests at the end.
	Limits bool

	// Slow adds the check of an upstream that returns nothing. It is how long the proxy may take to give up. Defaults to
	// no such check.
	Slow time.Duration

	// Wait is how long Run waits until the proxy listens, since the proxy may need the upstream to start. Defaults to 30
	// seconds.
	Wait time.Duration

	// Logf is called with the reason of each delay of the run. Defaults to none.
	Logf func(format string, args ...any)
}

// Status is the result of a check.
type Status string

// The results of a check.
const (
	Passed  Status = "PASSED"
	Failed  Status = "FAILED"
	Skipped Status = "SKIPPED"
)

// Check is one check and its result.
type Check struct {
	Rule   string `json:"rule"` // "operations", or the number of a rule of section 4.12
	Name   string `json:"name"`
	Status Status `json:"status"`
	Got    string `json:"got"` // Why it failed, one line for each request, or why it was skipped. Empty if it passed.
}

// Report is the result of a run.
type Report struct {
	Checks []Check // in the order of the rules
}

// OK reports whether no check failed.
func (r Report) OK() bool { return r.Count(Failed) == 0 }

// Count returns how many checks have a status.
func (r Report) Count(status Status) int {
	n := 0
	for _, check := range r.Checks {
		if check.Status == status {
			n++
		}
	}
	return n
}

const (
	defaultTimeout = 30 * time.Second
	defaultWait    = 30 * time.Second
)

// Run checks a proxy and reports what it found. Its error is about the run itself: the proxy cannot be reached or
// refuses the session, another run uses the Upstream, or ctx ended.
func Run(ctx context.Context, config Config) (Report, error) {
	if config.Listener != nil {
		defer config.Listener.Close()
	}
	r, err := newRunner(config)
	if err != nil {
		return Report{}, err
	}
	if !r.upstream.acquire() {
		return Report{}, errors.New("conformance: another run uses the Upstream")
	}
	defer r.upstream.release()
	if config.Listener != nil {
		stop := r.upstream.serve(config.Listener)
		defer stop()
	}
	if err := r.awaitProxy(ctx, cmp.Or(config.Wait, defaultWait)); err != nil {
		return Report{}, err
	}
	for _, group := range [][]step{
		operationChecks(), requestChecks(), sessionChecks(), headerChecks(), publicationChecks(), shapeChecks(),
		orderChecks(), valueChecks(), failureChecks(), rejectionChecks(), retryChecks(), finalChecks(),
	} {
		for _, step := range group {
			if err := r.take(ctx, step); err != nil {
				return Report{}, err
			}
		}
	}
	return Report{Checks: byRule(r.checks)}, nil
}

func newRunner(config Config) (*runner, error) {
	proxy, err := url.Parse(config.Proxy)
	if err != nil || (proxy.Scheme != "http" && proxy.Scheme != "https") || proxy.Host == "" {
		return nil, errors.New("conformance: malformed URL of the proxy")
	}
	if config.Upstream == nil && config.Listener == nil {
		return nil, errors.New("conformance: neither a Listener nor an Upstream is given")
	}
	upstream := config.Upstream
	if upstream == nil {
		upstream = NewUpstream()
	}
	client := &http.Client{Timeout: defaultTimeout + config.Slow}
	if config.Client != nil {
		*client = *config.Client
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	logf := config.Logf
	if logf == nil {
		logf = func(string, ...any) {}
	}
	return &runner{config: config, proxy: proxy, upstream: upstream, client: client, logf: logf}, nil
}

// serve serves the upstream until the returned function is called.
func (u *Upstream) serve(listener net.Listener) (stop func()) {
	server := &http.Server{
		Handler:           u,
		ReadHeaderTimeout: defaultTimeout,
		ErrorLog:          slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener)
	}()
	return func() {
		_ = server.Close()
		<-done
	}
}

// awaitProxy waits until the proxy answers, and returns an error if it refuses the session.
func (r *runner) awaitProxy(ctx context.Context, wait time.Duration) error {
	giveUp := time.Now().Add(wait)
	for first := true; ; first = false {
		r.upstream.begin(nil)
		got, err := r.post(ctx, request{body: operation(opList, object{})})
		r.upstream.end()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil && (got.status == http.StatusUnauthorized || got.status == http.StatusForbidden):
			return fmt.Errorf("conformance: the proxy refused the session (%d): give the header of a valid one", got.status)
		case err == nil:
			return nil
		case time.Now().After(giveUp):
			return fmt.Errorf("conformance: the proxy cannot be reached: %w", withoutURL(err))
		}
		if first {
			r.logf("waiting for the proxy at %s", r.proxy.Redacted())
		}
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// sleep waits, and returns an error if ctx ends first.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// withoutURL returns the cause of an HTTP client's error, without the URL.
func withoutURL(err error) error {
	if of, ok := errors.AsType[*url.Error](err); ok {
		return of.Err
	}
	return err
}
