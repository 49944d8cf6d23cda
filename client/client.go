// Package client calls the Service Public API, version 1, from Go. It has a method for each operation of the contract,
// with the parameters and resources of the root package, so that a program reads alike whether the service is embedded
// or called.
//
//	api, err := client.New("https://tickets.example/api/public/v1", os.Getenv("TICKETING_API_KEY"), nil)
//	…
//	order, err := api.Checkout(ctx, "cart-1001", ticketing.CheckoutParams{…})
//	if errors.Is(err, ticketing.CodeInventoryUnavailable) { … quote again … }
//
// # Before the first call
//
// The client reads the deployment's openapi.json once and refuses to work with one that is not this contract
// (section 9): [ErrContract].
//
// # Retries
//
// Connection failures, time-outs, 429 and 5xx are tried again with capped exponential backoff and jitter, and not before
// Retry-After is over (section 7): reads and quotes; and creating events and inventory, checkouts and validations, with
// the identical body and key. What has no key and changes something (updating and cancelling) is tried again only after
// what did nothing: a 429, and a connection that did not come about. No other refusal is tried again, and no certificate
// that is not to be trusted.
//
// An error that is [ErrAmbiguous] leaves open whether the call was done. Keep the key and the parameters before the
// first call, and make the same call until it succeeds: a key is answered with what it did the first time. While that is
// still being worked on the answer is CONFLICT, which is the caller's to repeat later.
//
// # Errors
//
// errors.Is finds the codes of package ticketing, what this package declares, and context.Canceled or
// context.DeadlineExceeded where a context ended or an attempt took longer than [Config].Timeout. A refusal is an
// [*Error], which has the status, the request id and the violations:
//
//	switch refused, answered := errors.AsType[*client.Error](err); {
//	case errors.Is(err, client.ErrAmbiguous): // perhaps done: the same call again tells
//	case answered:                            // refused, or none of the contract's answers
//		log.Println(refused.Status, refused.Refusal.Code, refused.RequestID)
//	case err != nil: // never sent, or no answer to what changes nothing
//	}
//
// Before anything is sent the client refuses an idempotency key that is missing or malformed, the name of a tier that is
// empty, "." or "..", and text that is not valid UTF-8: with a [ticketing.Error] of the code INVALID_REQUEST or
// IDEMPOTENCY_KEY_REQUIRED, which is no [*Error]. All else is the service's to judge.
//
// What is new in the answers of a later service is no obstacle (section 9): members that this version does not know are
// ignored, and statuses that it does not know arrive as they are, so give a switch over them a default.
//
// # Logs
//
// Each call has a request id, the same for all its attempts: that of [WithRequestID], or one that [Config].NewRequestID
// makes. It is in every error, and the service's operator finds the call by it. [Config].OnRetry is told of failures that
// nobody else sees, and [Config].Transport sees every request and answer.
//
// # Secrets
//
// The API key is sent to the address that the client was made for and nowhere else; redirects are not followed. It is in
// no error, and not in what printing a [Client] shows. Errors hold no buyer, but for what a violation repeats; parts of a
// path or a query they do hold.
package client

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// The defaults of a [Config].
const (
	DefaultAttempts    = 5
	DefaultTimeout     = 30 * time.Second
	DefaultFirstWait   = 250 * time.Millisecond
	DefaultLongestWait = 10 * time.Second

	DefaultUserAgent = "floatgate-ticketing-go"

	// DefaultLongestRetryAfter is more than the minute of the service's rate limit.
	DefaultLongestRetryAfter = 90 * time.Second
)

// maxAnswer is the most of an answer that is read: a page of 100 orders of 50 lines is below a third of it, however long
// their texts.
const maxAnswer = 32 << 20

// Config are the choices of a caller. A nil *Config, and every zero field, means the default.
type Config struct {
	// Transport sends requests, each attempt by one call. It is the place to log, trace or count them all, the one for
	// the document, too; it sees the key in the Authorization header. Defaults to [http.DefaultTransport], which takes
	// its proxies from the environment and, without HTTP/2, keeps two idle connections: a program with many calls at
	// once gives one with more. Redirects are never followed: a key is for one address.
	Transport http.RoundTripper
	// UserAgent is what requests say of who sends them. Defaults to [DefaultUserAgent].
	UserAgent string
	// Attempts is how often a call is tried at most; 1 is no retries. Defaults to [DefaultAttempts].
	Attempts int
	// Timeout is for each attempt, from connecting to the end of the answer. Defaults to [DefaultTimeout]. The context
	// of a call bounds all of them.
	Timeout time.Duration
	// FirstWait is the longest wait before the second attempt; each further wait may be twice as long, up to
	// LongestWait. A wait is between half of that and all of it. Defaults to [DefaultFirstWait] and
	// [DefaultLongestWait].
	FirstWait   time.Duration
	LongestWait time.Duration
	// LongestRetryAfter is the longest Retry-After that is waited for, with jitter on top. An answer that asks for more
	// ends the call at once. Defaults to [DefaultLongestRetryAfter].
	LongestRetryAfter time.Duration
	// OnRetry is told of each failure that is tried again, and of the wait before, with the context of the call. Calls
	// that run at once call it at once. Defaults to nobody.
	OnRetry func(ctx context.Context, failure error, wait time.Duration)
	// NewRequestID makes the X-Request-Id of a call, the same for all its attempts. The id of a context made by
	// [WithRequestID] goes before it. Calls that run at once call it at once. Defaults to random UUIDs, which also stand
	// in for an id that is none of the contract.
	NewRequestID func() string
}

// Client calls one deployment with one API key. [New] makes it. It is safe for concurrent use; make one and share it, as
// it checks the contract once and its transport keeps connections.
type Client struct {
	base     string
	key      func() string // A func, since package fmt prints what a struct holds.
	http     http.Client
	config   Config
	verified atomic.Bool
	document shared
}

// New makes a client for a base address, which ends in /api/public/v1, and an API key. It calls nothing.
//
// It fails when the address is not an absolute http or https URL, when it has credentials, a query or a fragment, and
// when the key is empty, or it or the user agent holds what no header may. Plain http is for a server on your own machine
// or network: the key travels in it as it is.
func New(baseURL, apiKey string, config *Config) (*Client, error) {
	base, err := url.Parse(baseURL)
	if err != nil || base.Hostname() == "" || (base.Scheme != "https" && base.Scheme != "http") {
		return nil, errors.New("client: the base address is not an absolute http or https URL")
	}
	if base.User != nil || strings.ContainsAny(baseURL, "?#") {
		return nil, errors.New("client: the base address has credentials, a query or a fragment")
	}
	if apiKey == "" || strings.ContainsFunc(apiKey, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("client: the API key is empty or malformed")
	}
	var c Config
	if config != nil {
		c = *config
	}
	if c.Attempts <= 0 {
		c.Attempts = DefaultAttempts
	}
	if c.Timeout <= 0 {
		c.Timeout = DefaultTimeout
	}
	if c.FirstWait <= 0 {
		c.FirstWait = DefaultFirstWait
	}
	if c.LongestWait <= 0 {
		c.LongestWait = DefaultLongestWait
	}
	if c.LongestRetryAfter <= 0 {
		c.LongestRetryAfter = DefaultLongestRetryAfter
	}
	if c.UserAgent == "" {
		c.UserAgent = DefaultUserAgent
	}
	if strings.ContainsFunc(c.UserAgent, func(r rune) bool { return r < ' ' || r > '~' }) {
		return nil, errors.New("client: the user agent is malformed")
	}
	if c.NewRequestID == nil {
		c.NewRequestID = uuid.NewString
	}
	return &Client{
		base: strings.TrimSuffix(baseURL, "/"), key: func() string { return apiKey }, config: c,
		http: http.Client{
			Transport:     c.Transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

type requestIDKey struct{}

// WithRequestID is a context whose calls carry an id as X-Request-Id: 1 to 128 characters of A-Z a-z 0-9 . _ : - that
// begin with a letter or digit. For one that is none of that the client makes another.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}
