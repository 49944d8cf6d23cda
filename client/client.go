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
// Connection failures, timeouts, 429 and 5xx are retried with capped exponential backoff and jitter, and not before
// Retry-After is over (section 7). This holds for reads and quotes, and for the operations with an idempotency key
// (creating events and inventory, checkouts and validations), which send the identical body and key. Updating and
// cancelling have no key. They are retried only after an attempt that did nothing: a 429, or a connection that could
// not be made. No other refusal is retried, nor is a certificate that cannot be trusted.
//
// An error that is [ErrAmbiguous] leaves open whether the call was done. Keep the key and the parameters before the
// first call, and make the same call until it succeeds: the service returns what the key did the first time. While the
// first call is still in progress the answer is CONFLICT, which the caller repeats later.
//
// # Errors
//
// errors.Is finds the codes of package ticketing and the errors that this package declares. It finds context.Canceled
// or context.DeadlineExceeded where a context ended or an attempt took longer than [Config].Timeout. A refusal is an
// [*Error], which has the status, the request id and the violations:
//
//	switch refused, answered := errors.AsType[*client.Error](err); {
//	case errors.Is(err, client.ErrAmbiguous): // perhaps done: make the same call again
//	case answered:                            // refused, or not an answer of the contract
//		log.Println(refused.Status, refused.Refusal.Code, refused.RequestID)
//	case err != nil: // never sent, or no answer to a call that changes nothing
//	}
//
// Before anything is sent the client refuses an idempotency key that is missing or malformed, a tier name that is
// empty, "." or "..", and text that is not valid UTF-8. The error is a [ticketing.Error] with the code INVALID_REQUEST
// or IDEMPOTENCY_KEY_REQUIRED, not an [*Error]. All else is for the service to judge.
//
// The client accepts what a later service adds to its answers (section 9). It ignores members that this version does
// not know, and passes on statuses that it does not know, so give a switch over them a default.
//
// # Logs
//
// Each call has a request id, the same for all its attempts: that of [WithRequestID], or one that [Config].NewRequestID
// makes. It is in every error, and the service's operator finds the call by it. [Config].OnRetry is called with the
// failures that the caller does not get, and [Config].Transport sees every request and answer.
//
// # Secrets
//
// The API key is sent to the address that the client was made for and nowhere else; redirects are not followed. It is
// in no error, and not in what printing a [Client] shows. Errors hold no data of a buyer, except what a violation
// repeats. They do hold parts of a path or a query.
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

// maxAnswer is how many bytes of an answer are read at most. A page of 100 orders of 50 lines takes less than a third
// of it, however long their texts are.
const maxAnswer = 32 << 20

// Config holds the options of a [Client]. A nil *Config, and every zero field, means the default.
type Config struct {
	// Transport sends requests, one call for each attempt. It is the place to log, trace or count them all, including the
	// request for the document. It sees the API key in the Authorization header. Defaults to [http.DefaultTransport],
	// which takes its proxies from the environment and, without HTTP/2, keeps two idle connections: set one that keeps
	// more if the program makes many calls at once. Redirects are never followed: a key is for one address.
	Transport http.RoundTripper
	// UserAgent is the User-Agent header of requests. Defaults to [DefaultUserAgent].
	UserAgent string
	// Attempts is how often a call is tried at most; 1 means no retries. Defaults to [DefaultAttempts].
	Attempts int
	// Timeout bounds each attempt, from connecting to the end of the answer. Defaults to [DefaultTimeout]. The context
	// of a call bounds all its attempts.
	Timeout time.Duration
	// FirstWait is the longest wait before the second attempt; each further wait may be twice as long, up to
	// LongestWait. A wait is between half of its longest and all of it. They default to [DefaultFirstWait] and
	// [DefaultLongestWait].
	FirstWait   time.Duration
	LongestWait time.Duration
	// LongestRetryAfter is the longest Retry-After that the client waits for, with jitter on top. An answer that asks
	// for more ends the call at once. Defaults to [DefaultLongestRetryAfter].
	LongestRetryAfter time.Duration
	// OnRetry is called with each failure that is retried and the wait before the retry, with the context of the call.
	// Concurrent calls call it concurrently. Defaults to none.
	OnRetry func(ctx context.Context, failure error, wait time.Duration)
	// NewRequestID makes the X-Request-Id of a call, the same for all its attempts. The id of a context made by
	// [WithRequestID] takes precedence. Concurrent calls call it concurrently. Defaults to random UUIDs, which also
	// replace an id that the contract does not allow.
	NewRequestID func() string
}

// Client calls one deployment with one API key. [New] makes it. It is safe for concurrent use. Make one and share it:
// it checks the contract once, and its transport keeps connections.
type Client struct {
	base     string
	key      func() string // A func, since package fmt prints what a struct holds.
	http     http.Client
	config   Config
	verified atomic.Bool
	document shared
}

// New returns a client for a base address, which ends in /api/public/v1, and an API key. It sends nothing.
//
// It fails when the address is not an absolute http or https URL; when it has credentials, a query or a fragment; when
// the key is empty; and when the key or the user agent holds a character that a header may not hold. Use plain http
// only for a server on your own machine or network: the key travels in it unencrypted.
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

// WithRequestID returns a context whose calls carry id as X-Request-Id: 1 to 128 characters of A-Z a-z 0-9 . _ : - that
// begin with a letter or digit. The client replaces any other id by one that it makes.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}
