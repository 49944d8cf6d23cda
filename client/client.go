// Package client calls the Service Public API, version 1, from Go.
//
// It has a method for each operation of the contract. Its parameters and resources are those of package
// [github.com/floatgate/ticketing], so a program reads the same whether it embeds the service or calls it.
//
//	api, err := client.New("https://tickets.example/api/public/v1", os.Getenv("TICKETING_API_KEY"), nil)
//	…
//	order, err := api.Checkout(ctx, "cart-1001", ticketing.CheckoutParams{…})
//	if errors.Is(err, ticketing.CodeInventoryUnavailable) { … quote again … }
//
// # Where to begin
//
//   - [New] makes a [Client] for an address and an API key. [Config] has its options.
//   - [Client.Verify] checks the address early, when the program starts.
//   - [Client.Quote] returns prices, [Client.Checkout] sells tickets, and [Client.ValidateAdmission] admits a holder.
//   - [Client.Events] and [Client.Orders] iterate over whole lists.
//   - [Error] is a refusal of the service. [ErrAmbiguous] marks a call that perhaps was done.
//
// # Before the first call
//
// The client reads the deployment's openapi.json once. If it is not the document of this contract (section 9), the call
// fails with [ErrContract].
//
// # Retries
//
// The client retries connection failures, timeouts, 429 and 5xx. It waits with capped exponential backoff and jitter,
// and at least as long as Retry-After says (section 7). This holds for reads and quotes, and for the operations with an
// idempotency key (creating events and inventory, checkouts and validations), which send the identical body and key.
// Updating and cancelling have no key. They are retried only after an attempt that did nothing: a 429, or a connection
// that could not be made. No other refusal is retried, nor is a certificate that cannot be trusted.
//
// After an error that is [ErrAmbiguous] the call may or may not have been done. Keep the key and the parameters before
// the first call, and repeat the same call until it succeeds: the service returns the original result of the key. While
// the first call is still in progress the service refuses the repeat with CONFLICT; repeat it later.
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
// or IDEMPOTENCY_KEY_REQUIRED, not an [*Error]. The service checks everything else.
//
// The client accepts what a later service adds to its answers (section 9). It ignores members that this version does
// not know, and passes on statuses that it does not know. Give a switch over statuses a default case.
//
// # Logs
//
// Each call has a request id, the same for all its attempts: that of [WithRequestID], or one that [Config].NewRequestID
// makes. Every error contains it. Give it to the service's operator to find the call in the logs. [Config].OnRetry is
// called with each failure that is retried, and [Config].Transport sees every request and answer.
//
// # Secrets
//
// The client sends the API key to its base address and nowhere else; redirects are not followed. No error contains the
// key, and printing a [Client] does not show it. Errors hold no data of a buyer, except what a violation repeats. They
// do hold parts of a path or a query.
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

	// DefaultLongestRetryAfter is longer than the minute of the service's rate limit.
	DefaultLongestRetryAfter = 90 * time.Second
)

// maxAnswer is the size of the largest answer that is read, in bytes. A page of 100 orders of 50 lines takes less than
// a third of it, however long their texts are.
const maxAnswer = 32 << 20

// Config holds the options of a [Client]. A nil *Config, and every zero field, means the default.
type Config struct {
	// Transport sends requests, one call for each attempt. It is the place to log, trace or count them all, including the
	// request for the document. It sees the API key in the Authorization header. Defaults to [http.DefaultTransport],
	// which takes its proxies from the environment and, without HTTP/2, keeps two idle connections. Set one that keeps
	// more if the program makes many calls at once. Redirects are never followed: a key is for one address.
	Transport http.RoundTripper
	// UserAgent is the User-Agent header of requests. Defaults to [DefaultUserAgent].
	UserAgent string
	// Attempts is the largest number of attempts of one call; 1 means no retries. Defaults to [DefaultAttempts].
	Attempts int
	// Timeout bounds each attempt, from connecting to the end of the answer. Defaults to [DefaultTimeout]. The context
	// of a call bounds all its attempts.
	Timeout time.Duration
	// FirstWait is the longest wait before the second attempt. Each further wait may be twice as long, up to LongestWait.
	// A wait is random, between half of its longest and all of it. They default to [DefaultFirstWait] and
	// [DefaultLongestWait].
	FirstWait   time.Duration
	LongestWait time.Duration
	// LongestRetryAfter is the longest Retry-After that the client waits for; it adds jitter. An answer that asks for more
	// ends the call at once. Defaults to [DefaultLongestRetryAfter].
	LongestRetryAfter time.Duration
	// OnRetry is called with each failure that is retried, the wait before the retry, and the context of the call. It may
	// be called concurrently. Defaults to none.
	OnRetry func(ctx context.Context, failure error, wait time.Duration)
	// NewRequestID makes the X-Request-Id of a call, the same for all its attempts. The id of a context made by
	// [WithRequestID] takes precedence. It may be called concurrently. Defaults to random UUIDs. A random UUID also
	// replaces an id that the contract does not allow.
	NewRequestID func() string
}

// Client calls one deployment with one API key. [New] makes it. It is safe for concurrent use. Make one and share it:
// it checks the contract once, and its transport keeps connections.
type Client struct {
	base     string
	key      func() string // A func, since package fmt would print a string field.
	http     http.Client
	config   Config
	verified atomic.Bool
	document shared
}

// New returns a client for a base address, which ends in /api/public/v1, and an API key. It sends nothing.
//
// It fails when the address is not an absolute http or https URL; when the address has credentials, a query or a
// fragment; when the key is empty; and when the key or the user agent holds a character that a header may not hold. Use
// plain http only for a server on your own machine or network: it sends the key unencrypted.
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
