package embedproxy

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// RemoteConfig holds the options of [Remote]. A nil *RemoteConfig, and every zero field, means the default.
type RemoteConfig struct {
	// Transport sends the requests. Defaults to one that speaks HTTP/1.1 and HTTP/2, keeps connections for 30 seconds and
	// takes its forward proxy from http.ProxyFromEnvironment. Redirects are never followed.
	Transport http.RoundTripper
	// ForwardAddress sends the buyer's address in X-Forwarded-For: the address that [Config.TrustedProxies] finds, never
	// one that a browser chose. The API counts requests by it if the proxy's own address is among the API's trusted
	// proxies. Without it, all buyers of a shop share the 100 requests a minute of one address. Defaults to false, since
	// an address is personal data.
	ForwardAddress bool
}

// remote calls the API over HTTP.
type remote struct {
	base      string
	key       func() string // A function, so that no printed value shows the key.
	transport http.RoundTripper
	forward   bool
}

// Remote returns the API at a base address, which ends in /api/public/v1. The API key must hold exactly the three
// grants of an embed key: COMPANY:event:read, COMPANY:inventory:read and COMPANY:checkout:create.
//
// Remote makes eight requests that change nothing. The first reads openapi.json, without the key, and checks that it is
// the document of this contract (section 9). The other seven find out which grants the key holds. For a missing grant
// the API returns 403 before it looks at the rest of a request, and the rest of these requests is invalid. An error
// names the missing grants and the excess ones. It never contains the key.
//
// A proxy sends each call once. The browser repeats a checkout, with the same idempotency key.
func Remote(ctx context.Context, baseURL, apiKey string, config *RemoteConfig) (Upstream, error) {
	base, err := url.Parse(baseURL)
	if err != nil || base.Hostname() == "" || (base.Scheme != "https" && base.Scheme != "http") {
		return nil, errors.New("embedproxy: the base address is not an absolute http or https URL")
	}
	if base.User != nil || strings.ContainsAny(baseURL, "?#") {
		return nil, errors.New("embedproxy: the base address has credentials, a query or a fragment")
	}
	if apiKey == "" || strings.ContainsFunc(apiKey, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("embedproxy: the API key is empty or malformed")
	}
	var c RemoteConfig
	if config != nil {
		c = *config
	}
	if c.Transport == nil {
		c.Transport = newTransport()
	}
	r := &remote{
		base: strings.TrimSuffix(baseURL, "/"), key: func() string { return apiKey }, transport: c.Transport,
		forward: c.ForwardAddress,
	}
	if err := r.checkContract(ctx); err != nil {
		return nil, err
	}
	if err := r.checkGrants(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

// newTransport returns the default transport. It keeps as many connections as a busy shop has calls at a time. It
// closes an idle connection sooner than servers commonly do, so that no call is sent over a connection that is about to
// close.
func newTransport() *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		ForceAttemptHTTP2:     true,
		MaxIdleConnsPerHost:   256,
		IdleConnTimeout:       30 * time.Second,
		TLSHandshakeTimeout:   10 * time.Second,
		ExpectContinueTimeout: time.Second,
	}
}

// exchange sends a call once. It uses the transport directly, which follows no redirect and keeps no cookies.
func (r *remote) exchange(ctx context.Context, c call) (answer, error) {
	request, err := r.request(ctx, c)
	if err != nil {
		return answer{}, &rejection{reason: "the request could not be made"}
	}
	response, err := r.transport.RoundTrip(request)
	if err != nil {
		return answer{}, &rejection{reason: unanswered(ctx, err)}
	}
	defer response.Body.Close()
	var body bytes.Buffer
	if response.ContentLength > 0 {
		// The buffer grows with what arrives, since a Content-Length alone proves nothing.
		const firstBody = 64 << 10
		body.Grow(int(min(response.ContentLength, firstBody)) + bytes.MinRead)
	}
	n, err := body.ReadFrom(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return answer{}, &rejection{reason: "cut off: " + unanswered(ctx, err)}
	case n > maxAnswer:
		return answer{}, &rejection{reason: "body: is too large"}
	}
	return answer{status: response.StatusCode, header: response.Header, body: body.Bytes()}, nil
}

// request makes a request that net/http does not repeat once any of it was sent: its body is not nil, and cannot be
// read twice. By itself http.Transport repeats a GET without a body, and any request with an idempotency key.
func (r *remote) request(ctx context.Context, c call) (*http.Request, error) {
	// net/http does not know the type of this reader, so it cannot make GetBody.
	body := struct{ io.Reader }{bytes.NewReader(c.body)}
	request, err := http.NewRequestWithContext(ctx, c.method, r.base+c.path, body)
	if err != nil {
		return nil, err
	}
	if c.body != nil {
		request.ContentLength = int64(len(c.body))
	}
	fill(request.Header, c)
	request.Header.Set("User-Agent", "Service-Embed-Proxy/1.0")
	if !c.anonymous {
		request.Header.Set("Authorization", "Bearer "+r.key())
	}
	if r.forward && c.buyer.IsValid() {
		request.Header.Set("X-Forwarded-For", c.buyer.String())
	}
	return request, nil
}

// fill sets the headers of every call.
func fill(header http.Header, c call) {
	header.Set("Accept", "application/json")
	header.Set("X-Request-Id", c.requestID)
	if c.body != nil {
		header.Set("Content-Type", "application/json")
	}
	if c.key != "" {
		header.Set("Idempotency-Key", c.key)
	}
}

// unanswered returns the reason why no answer came. It does not use the text of other errors, which may hold received
// data.
func unanswered(ctx context.Context, err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	case ctx.Err() != nil:
		return browserGone
	}
	if failed, ok := errors.AsType[*net.OpError](err); ok {
		return failed.Error()
	}
	if failed, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return failed.Error()
	}
	return "the connection broke, or did not speak HTTP"
}

// browserGone is the reason of a rejection that is not a failure.
const browserGone = "the browser went away"
