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
// a 429, which did nothing. No other refusal is tried again.
//
// An error that is [ErrAmbiguous] leaves open whether the call was done. Keep the key and the parameters before the
// first call, and make the same call until it succeeds: a key is answered with what it did the first time. While that is
// still being worked on the answer is CONFLICT, which is the caller's to repeat later.
//
// # Secrets
//
// The API key is sent to the address that the client was made for and nowhere else; redirects are not followed. It is in
// no error. Errors hold no buyer, but for what a violation repeats; parts of a path or a query they do hold.
package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// The title and version of the contract's document (section 9).
const (
	ContractTitle   = "Service Public API"
	ContractVersion = "1"
)

// The defaults of a [Config].
const (
	DefaultAttempts    = 5
	DefaultTimeout     = 30 * time.Second
	DefaultFirstWait   = 250 * time.Millisecond
	DefaultLongestWait = 10 * time.Second

	// DefaultLongestRetryAfter is more than the minute of the service's rate limit.
	DefaultLongestRetryAfter = 90 * time.Second
)

// maxAnswer is the most of an answer that is read: a page of 100 orders of 50 lines is below a tenth of it.
const maxAnswer = 32 << 20

// Config are the choices of a caller. A nil *Config, and every zero field, means the default.
type Config struct {
	// Transport sends requests. Defaults to [http.DefaultTransport]. Redirects are never followed: a key is for one
	// address.
	Transport http.RoundTripper
	// Attempts is how often a call is tried at most; 1 is no retries. Defaults to [DefaultAttempts].
	Attempts int
	// Timeout is for each attempt. Defaults to [DefaultTimeout]. The context of a call bounds all of them.
	Timeout time.Duration
	// FirstWait is the longest wait before the second attempt; each further wait may be twice as long, up to
	// LongestWait. A wait is between half of that and all of it. Defaults to [DefaultFirstWait] and
	// [DefaultLongestWait].
	FirstWait   time.Duration
	LongestWait time.Duration
	// LongestRetryAfter is the longest Retry-After that is waited for. An answer that asks for more ends the call at
	// once. Defaults to [DefaultLongestRetryAfter].
	LongestRetryAfter time.Duration
	// OnRetry is told of each failure that is tried again, and of the wait before. Defaults to nobody.
	OnRetry func(ctx context.Context, failure error, wait time.Duration)
	// NewRequestID makes the X-Request-Id of a call, the same for all its attempts. Defaults to random UUIDs. The id of
	// a context made by [WithRequestID] goes before it.
	NewRequestID func() string
}

// Client calls one deployment with one API key. [New] makes it. It is safe for concurrent use.
type Client struct {
	base     string
	key      string
	http     http.Client
	config   Config
	verified atomic.Bool
}

// New makes a client for a base address, which ends in /api/public/v1, and an API key. It calls nothing.
//
// It fails when the address is not an absolute http or https URL, when it has credentials, a query or a fragment, and
// when the key is empty or holds what no header may. Plain http is for a server on your own machine or network: the key
// travels in it as it is.
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
	if c.NewRequestID == nil {
		c.NewRequestID = uuid.NewString
	}
	return &Client{
		base: strings.TrimSuffix(baseURL, "/"), key: apiKey, config: c,
		http: http.Client{
			Transport:     c.Transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// Verify reads the deployment's openapi.json and checks that it is this contract; else it is [ErrContract]. Every other
// method does so before its first request, so a program calls it only to fail early. What was found right is not asked for
// again.
func (c *Client) Verify(ctx context.Context) error {
	if c.verified.Load() {
		return nil
	}
	var document struct {
		Info struct {
			Title   string `json:"title"`
			Version string `json:"version"`
		} `json:"info"`
	}
	question := call{method: http.MethodGet, path: "/openapi.json", safe: true, open: true}
	err := c.exchange(ctx, question, func(body []byte) error { return json.Unmarshal(body, &document) })
	_, answered := errors.AsType[*Error](err)
	if errors.Is(err, ErrAnswer) || answered && !question.again(err) {
		return fmt.Errorf("%w: %w", ErrContract, err)
	}
	if err != nil {
		return err
	}
	if document.Info.Title != ContractTitle || document.Info.Version != ContractVersion {
		return ErrContract
	}
	c.verified.Store(true)
	return nil
}

type requestIDKey struct{}

// WithRequestID is a context whose calls carry an id as X-Request-Id: 1 to 128 characters of A-Z a-z 0-9 . _ : - that
// begin with a letter or digit, or the service makes another.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}
