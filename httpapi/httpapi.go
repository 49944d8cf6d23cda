// Package httpapi serves the Service Public API, version 1, over a [ticketing.Service].
//
// It does routing, API keys, strict decoding, the envelope, request ids and the rate limit. The service holds the rules
// of tickets and money. An HTTP caller and a Go caller see one model: this package adds only the envelope to a result.
//
// # Where to begin
//
//   - [New] returns the handler. [Config] has its options.
//   - [Listener] wraps the server's listener, so that requests that net/http cannot parse get the envelope, too.
//   - [Config].Caller replaces API keys where the host itself decides who may act.
//   - [Config].OnRequest is called with an [Answer] for each request, for metrics.
//   - [Counter] is the interface of a rate limit that several processes share.
//
// Package [github.com/floatgate/ticketing/client] is the client for Go, and package
// [github.com/floatgate/ticketing/embedproxy] the proxy for a shop in a browser.
//
// # Mounting
//
// The handler answers every request that reaches it, in the envelope, and never redirects. Mount it at the top of a
// server, or under a dispatcher of your own that passes requests on unchanged. Do not mount it under [http.ServeMux]: a
// ServeMux cleans paths first and redirects to the cleaned path. A tier whose name holds "//" would be lost, and an
// unknown path would not be a 404 of the contract. [http.StripPrefix] is harmless, but seldom needed: set Config.Prefix
// to the path of the API.
//
// No handler sees a request that net/http cannot parse. Wrap the server's listener in [Listener] to send the envelope
// for these, too. net/http itself answers "OPTIONS *" unless DisableGeneralOptionsHandler is set.
//
// Timeouts and the limit of a request's header belong to the server: set ReadHeaderTimeout, ReadTimeout, WriteTimeout,
// IdleTimeout and MaxHeaderBytes of your [http.Server].
//
// # Headers of every answer
//
// X-Request-Id, the caller's or a new one; "Content-Type: application/json; charset=utf-8"; "Cache-Control: no-store";
// "X-Content-Type-Options: nosniff". A 401 adds "WWW-Authenticate: Bearer". A 429, and a 503 of a database that is busy
// or unavailable, add Retry-After.
//
// # Documents
//
// GET and HEAD of these paths return documents:
//
//   - /openapi.json is the contract in OpenAPI 3.1. Its server is Config.Prefix.
//   - /docs is a page that shows the contract and calls the API from a browser.
//   - /guide is a page that leads from the first key to a receiver of webhooks.
//
// The files that the pages load are below them. Their Content-Security-Policy forbids requests to any other host. A key
// that is entered in /docs stays in the memory of that page.
//
// No document needs a key, and each counts towards the rate limit; a query is ignored. A cache may store a document,
// and revalidates it with its ETag ("Cache-Control: public, no-cache"). A client that accepts gzip gets it compressed.
// No other page can frame it, and links from it send no referrer. What this comment says of JSON answers holds only for
// the operations.
//
// # Order of checks
//
// Rate limit (429), path and method (404), credential (401), grant (403), presence of the Idempotency-Key (400), form
// of path, query, header and body (400), and then the checks of the service. All violations of the form of one request
// are reported at once, up to 50. The service checks the values only if the form is right.
//
// # Credentials
//
// "Authorization: Bearer <key>", sent once. The scheme may be in any case, as RFC 9110 allows; one space follows it. No
// other header and no query parameter carries a key. A host that authenticates its callers itself sets Config.Caller.
package httpapi

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/julienschmidt/httprouter"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/clientaddr"
	"github.com/floatgate/ticketing/internal/ratewindow"
	"github.com/floatgate/ticketing/internal/webpage"
)

// The defaults of a [Config].
const (
	DefaultPrefix       = "/api/public/v1"
	DefaultRateLimit    = 100
	DefaultMaxBodyBytes = 256 << 10
)

// Config holds the options of a host. A nil *Config, and every zero field, means the default.
type Config struct {
	// Caller returns the caller of a request. It replaces the API key: the Authorization header is then not read. It is
	// for a host that knows by itself who may act for a company, and commonly returns a [ticketing.TrustedCaller]. The
	// zero Caller, and [ticketing.CodeAuthenticationFailed], give a 401. Any other code gives its status of section 7, and
	// any other error a 500. It is called concurrently. Defaults to the holder of the API key.
	Caller func(*http.Request) (ticketing.Caller, error)
	// Prefix is the path of the API, without escapes; "/" means the root. Defaults to [DefaultPrefix].
	Prefix string
	// Title is the name of the service on the pages /docs and /guide: at most 60 printable characters on one line.
	// Otherwise New panics. Defaults to "Ticketing". The title of openapi.json is the contract's and stays.
	Title string
	// RateLimit is how many requests a client may make in a [RateWindow]. A negative number means no limit. Defaults to
	// [DefaultRateLimit].
	RateLimit int
	// Counter counts the requests of clients. Defaults to a counter in memory, which is right for one process.
	Counter Counter
	// ClientKey returns the key that a client's requests are counted under for the rate limit. Defaults to the address
	// that the request came from. An IPv6 address counts by its /64, since one customer commonly holds all of that, and by
	// its /56 at eight times the limit.
	ClientKey func(*http.Request) string
	// TrustedProxies are the addresses whose X-Forwarded-For is trusted. The client is then the rightmost address in it
	// that is none of these. An entry may carry a port, which is dropped. If an entry cannot be parsed, all clients of
	// that proxy share one limit, and Logger gets one warning. Defaults to none: the header is not read.
	TrustedProxies []netip.Prefix
	// MaxBodyBytes is the size of the largest request body that is read, in bytes. Defaults to [DefaultMaxBodyBytes].
	MaxBodyBytes int64
	// Logger logs each request (id, method, route, status, code, duration, company) and each internal error, once. The log
	// never contains a key, a buyer, a query or a body. Defaults to no log.
	Logger *slog.Logger
	// OnRequest is called with each answer after it was sent, for metrics. It is called concurrently. Defaults to none.
	OnRequest func(context.Context, Answer)
	// NewRequestID makes the id of a request that came without a valid one. Defaults to random UUIDs.
	NewRequestID func() string
	// Clock returns the time for the rate limit and for durations. Defaults to time.Now.
	Clock func() time.Time
}

// Answer describes the answer to one request. Its strings have few values, so they can label a metric.
type Answer struct {
	// Method and Route are the operation or document as the contract writes it, such as "GET" and "/events/:eventId". Both
	// are empty if the request matches none, and if the rate limit refused it first. A HEAD counts as its GET.
	Method, Route string
	Status        int
	Code          ticketing.Code // empty for a success
	Duration      time.Duration
}

type api struct {
	svc       *ticketing.Service
	router    *httprouter.Router
	prefix    string
	limit     ratewindow.Limit
	clients   func(*http.Request) (client, wider string) // the keys that a request is counted under
	caller    func(context.Context, *http.Request) (ticketing.Caller, error)
	maxBody   int64
	log       *slog.Logger
	onRequest func(context.Context, Answer)
	newID     func() string
	now       func() time.Time
}

// New returns the handler of the API over a service. It starts nothing. The handler is safe for concurrent use. New
// panics when the service is nil, when a trusted proxy is the zero prefix, and when the title is malformed.
func New(svc *ticketing.Service, config *Config) http.Handler {
	if svc == nil {
		panic("httpapi: a handler needs a service")
	}
	var c Config
	if config != nil {
		c = *config
	}
	if c.Prefix == "" {
		c.Prefix = DefaultPrefix
	}
	if c.RateLimit == 0 {
		c.RateLimit = DefaultRateLimit
	}
	if c.Counter == nil {
		c.Counter = ratewindow.NewMemory(ratewindow.Window)
	}
	if c.MaxBodyBytes <= 0 {
		c.MaxBodyBytes = DefaultMaxBodyBytes
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
	title, err := webpage.ParseTitle(c.Title)
	if err != nil {
		panic("httpapi: Config.Title " + err.Error())
	}
	prefix := normalPrefix(c.Prefix)
	a := &api{
		svc: svc, router: newRouter(operations(), documents(prefix, title)), prefix: prefix,
		limit: ratewindow.Limit{Counter: c.Counter, Requests: c.RateLimit}, maxBody: c.MaxBodyBytes, log: c.Logger,
		onRequest: c.OnRequest, newID: c.NewRequestID, now: c.Clock,
	}
	a.clients = clientaddr.New(c.TrustedProxies, c.Logger).Keys
	if c.ClientKey != nil {
		a.clients = func(r *http.Request) (client, wider string) { return c.ClientKey(r), "" }
	}
	a.caller = a.keyHolder
	if c.Caller != nil {
		a.caller = func(_ context.Context, r *http.Request) (ticketing.Caller, error) { return c.Caller(r) }
	}
	return a
}

// normalPrefix returns the prefix with a leading slash and without a trailing one. The root becomes "".
func normalPrefix(prefix string) string {
	if trimmed := strings.Trim(prefix, "/"); trimmed != "" {
		return "/" + trimmed
	}
	return ""
}
