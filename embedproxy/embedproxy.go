// Package embedproxy is the server side of a shop in a browser: the proxy of section 4.12, as an [http.Handler].
//
// A browser never holds an API key and never calls the API. It posts {"operation": …, "payload": …} to a path of the
// shop's own server. There this handler checks the session, calls the API, and returns only what a browser may see.
// Mount it at any path:
//
//	upstream, err := embedproxy.Remote(ctx, "https://tickets.example.com/api/public/v1", embedKey, nil)
//	…
//	proxy, err := embedproxy.New(upstream, &embedproxy.Config{Session: session, MayBuy: paid})
//	…
//	mux.Handle("/shop/tickets", proxy)
//
// # Where to begin
//
//   - [Remote] is the API at an address, with an embed key. [Local] is the API in the same process, without a key.
//   - [New] returns the handler. [Config].Session and [Config].MayBuy are required. They find the session of a request,
//     and decide whether a [Purchase] may be made now.
//   - [Refusal] and [ErrPaymentRequired] refuse a purchase. [AnyoneMayBuy] refuses none.
//   - [Counter] is the interface of limits that several processes share.
//
// Package [github.com/floatgate/ticketing/embedproxy/conformance] checks a proxy in any language against the same
// rules.
//
// # Operations
//
// There are four. Each accepts only the members of its payload. A question mark is for a member that may be left out.
//
//   - events.list {limit?, cursor?}: the published events, in pages.
//   - events.inventory {eventId}: the tiers of a published event.
//   - pricing.quote {eventId, lines: [{tier, quantity}]}: what lines cost now.
//   - checkout.create {eventId, buyer: {email, fullname?, phone?}, lines: [{tier, quantity, expectedUnitPrice,
//     currency}], idempotencyKey}: an order.
//
// The last three read the event first. If it is not published, the answer is NOT_FOUND. events.inventory reads the
// event again after the tiers and discards them if it is no longer published. After a checkout nothing is read, since a
// committed order must not look ambiguous.
//
// # Answers
//
// A success is {"data": …, "meta": {"requestId": …}} with the status of the API. An event has all of section 2.3 but
// createdAt and updatedAt; a tier and a quote are whole; an order has id, object, eventId, status, gross, branding
// without its private members, lines and confirmedAt.
//
// Each body of the API is read strictly. An unknown, missing or repeated member, and any value against the contract,
// make the answer 502 INVALID_UPSTREAM_RESPONSE, with a request id of the proxy's own. So does an API that returns no
// answer. Either leaves open whether an order was made: repeat the same checkout with the same idempotency key to find
// out. No answer and no log contains anything of such a body.
//
// A failure is {"error": {"code": …, "message": …}, "meta": {"requestId": …}}. Failures of the API keep status, code,
// message and Retry-After. These are the proxy's own:
//
//   - 400 INVALID_REQUEST: the body is not one of an operation. The message begins with the path of the member.
//   - 401 AUTHENTICATION_FAILED: there is no session.
//   - 402 PAYMENT_REQUIRED: Config.MayBuy returned [ErrPaymentRequired].
//   - 403 PERMISSION_DENIED: the request comes from another origin.
//   - 404 NOT_FOUND: the event is not published.
//   - 405 METHOD_NOT_ALLOWED: the method is not POST.
//   - 429 RATE_LIMITED, with Retry-After: the request exceeds a limit of the proxy.
//   - 500 INTERNAL_ERROR: a hook failed.
//   - 502 INVALID_UPSTREAM_RESPONSE, see above.
//
// Every answer has X-Request-Id, which equals its meta.requestId, "Cache-Control: no-store" and
// "X-Content-Type-Options: nosniff". The browser's X-Request-Id is kept if it is well-formed, and sent to the API.
//
// # Order of checks
//
// Method (405), limit of the address (429), origin (403), session (401), limit of the session (429), form of the body
// (400), limits of checkouts (429), publication of the event (404), Config.MayBuy.
//
// # Retries
//
// The proxy sends each call to the API once. The browser repeats a checkout, with the same idempotency key. A checkout
// continues when its browser goes away, because the buyer may have paid.
package embedproxy

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/internal/clientaddr"
	"github.com/floatgate/ticketing/internal/ratewindow"
)

// The defaults of a [Config].
const (
	DefaultRequestsPerMinute  = 60
	DefaultCheckoutsPerMinute = 10
	DefaultMaxBodyBytes       = 64 << 10
	DefaultTimeout            = 15 * time.Second
)

// Config holds the options of a proxy. Session and MayBuy are required. Every other zero field means its default.
//
// The functions are called concurrently. If one returns an error that has no other meaning, or panics, the answer is a
// 500, and the failure is logged once. Only http.ErrAbortHandler passes through.
type Config struct {
	// Session returns the id of the storefront session that a request belongs to, for example from a signed cookie. An
	// empty id, and [ErrNoSession], give a 401. It must not read the body.
	Session func(*http.Request) (id string, err error)
	// MayBuy decides whether a session may buy a basket now. A checkout spends the company's FLOAT, so this is where a
	// shop checks that the buyer has paid. It is called after the event was found to be published, and right before the
	// checkout is sent. nil means yes; [ErrPaymentRequired] gives a 402; a [*Refusal] gives its own status, code and
	// message. After a refusal no checkout is sent.
	//
	// A browser repeats a checkout whose answer was lost, with the same idempotency key. MayBuy is called for each repeat.
	// Bind a payment to [Purchase.IdempotencyKey], and return nil again for a key that was paid. [AnyoneMayBuy] is for
	// free events.
	MayBuy func(context.Context, Purchase) error
	// RequestsPerMinute is how many requests a session may make in a minute, and also how many an address may make. An
	// IPv6 address counts by its /64, and by its /56 at eight times the limit. A negative number means no limit. Defaults
	// to [DefaultRequestsPerMinute].
	RequestsPerMinute int
	// CheckoutsPerMinute is how many of these may be well-formed checkouts, repeats included. A negative number means no
	// limit. Defaults to [DefaultCheckoutsPerMinute].
	CheckoutsPerMinute int
	// TrustedProxies are the addresses whose X-Forwarded-For is trusted. The buyer's address is then the rightmost
	// address in it that is none of these. Defaults to none: the header is not read.
	TrustedProxies []netip.Prefix
	// Counter counts requests. Defaults to a counter in memory, which is right for one process.
	Counter Counter
	// MaxBodyBytes is the size of the largest request body that is read, in bytes. Defaults to [DefaultMaxBodyBytes].
	MaxBodyBytes int64
	// Timeout bounds an operation, with all its calls to the API and to hooks. Defaults to [DefaultTimeout].
	Timeout time.Duration
	// Logger logs each failure that somebody at the shop can act on, once: a failed hook, an invalid answer of the API, a
	// failure of the API, a company that cannot sell. A credential that the API refuses is logged once a minute. The line
	// has the request id, the operation, status and code. The proxy logs no key, no buyer and no body. But it logs the
	// error of a hook or of Counter as it is, so that error must hold none of them. Of a panic, it logs only the text of a
	// runtime error. Defaults to no log.
	Logger *slog.Logger
	// OnAnswer is called with each answer after it was sent, for metrics. The browser does not wait for it, but its
	// connection does. The context has the values of the request's context, and does not end when the browser goes away. A
	// panic is logged. Defaults to none.
	OnAnswer func(context.Context, Answer)
	// NewRequestID makes the id of a request that came without a valid one. Defaults to random UUIDs.
	NewRequestID func() string
	// Clock returns the time for the limits and for durations. Defaults to time.Now.
	Clock func() time.Time
}

// Counter counts requests in fixed windows of a minute. The first request of a key begins its window, and so does the
// first one after a window has ended. A key is an address, a network or the SHA-256 of a session's id, each with the
// kind of request that is counted. A Counter must be safe for concurrent use.
type Counter interface {
	// Count adds a request of a key. It returns the number of requests in the key's window, and when the window ends. An
	// error is logged and the request passes.
	Count(ctx context.Context, key string, now time.Time) (requests int, ends time.Time, err error)
}

// Answer describes the answer to one request. Operation and Code have few values, so they can label a metric.
type Answer struct {
	Operation string // empty if the request was refused before its operation was known
	Status    int
	Code      string // empty for a success
	RequestID string
	Duration  time.Duration
}

// proxy is the handler.
type proxy struct {
	upstream   Upstream
	config     Config
	addresses  *clientaddr.Proxies
	origins    *http.CrossOriginProtection
	ofAddress  limits
	ofSession  limits
	operations map[string]operation
	credential onceAMinute // bounds the log of a credential that the API refuses
}

// New returns the handler. It sends nothing and starts nothing. The handler is safe for concurrent use. The error says
// which field of the config is missing or malformed.
func New(upstream Upstream, config *Config) (http.Handler, error) {
	var c Config
	if config != nil {
		c = *config
	}
	switch {
	case upstream == nil:
		return nil, errors.New("embedproxy: an upstream is required: Remote or Local")
	case c.Session == nil:
		return nil, errors.New("embedproxy: Config.Session is required: without it anybody could buy")
	case c.MayBuy == nil:
		return nil, errors.New("embedproxy: Config.MayBuy is required: a checkout spends the company's FLOAT; " +
			"for free events there is AnyoneMayBuy")
	}
	for _, prefix := range c.TrustedProxies {
		if !prefix.IsValid() {
			return nil, errors.New("embedproxy: a trusted proxy is not a valid range of addresses")
		}
	}
	c.setDefaults()
	p := &proxy{
		upstream: upstream, config: c, addresses: clientaddr.New(c.TrustedProxies, c.Logger),
		origins: http.NewCrossOriginProtection(), operations: operations(),
	}
	p.ofAddress, p.ofSession = newLimits("address", &c), newLimits("session", &c)
	return p, nil
}

func (c *Config) setDefaults() {
	if c.RequestsPerMinute == 0 {
		c.RequestsPerMinute = DefaultRequestsPerMinute
	}
	if c.CheckoutsPerMinute == 0 {
		c.CheckoutsPerMinute = DefaultCheckoutsPerMinute
	}
	if c.MaxBodyBytes <= 0 {
		c.MaxBodyBytes = DefaultMaxBodyBytes
	}
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.NewRequestID == nil {
		c.NewRequestID = uuid.NewString
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
}

// limits are the limits of addresses, or those of sessions.
type limits struct {
	kind                string
	requests, checkouts ratewindow.Limit
}

// newLimits returns limits of a kind. In memory each kind has its own counter, so that any number of sessions cannot
// push out the windows of addresses.
func newLimits(kind string, c *Config) limits {
	var counter ratewindow.Counter = c.Counter
	if c.Counter == nil {
		counter = ratewindow.NewMemory(ratewindow.Window)
	}
	return limits{
		kind:      kind,
		requests:  ratewindow.Limit{Counter: counter, Requests: c.RequestsPerMinute},
		checkouts: ratewindow.Limit{Counter: counter, Requests: c.CheckoutsPerMinute},
	}
}
