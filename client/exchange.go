package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/safename"
)

// call is one operation with its parameters.
type call struct {
	method string
	path   string  // with its query, escaped
	key    string  // the idempotency key, well-formed; empty: none
	body   members // nil: none
	safe   bool    // it changes nothing, so a repeat is harmless
	open   bool    // a document: sent without the API key, and its answer has no envelope
	paged  bool    // the answer is a page of a list
}

// again reports whether a call that failed with err may be retried.
func (c call) again(err error) bool {
	refused, answered := errors.AsType[*Error](err)
	_, unsent := errors.AsType[unsentError](err)
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case untrusted:
		return false // A retry does not repair a certificate.
	case unsent || answered && refused.Status == http.StatusTooManyRequests:
		return true // It did nothing.
	case !c.safe && c.key == "":
		return false
	case errors.Is(err, ErrAnswer):
		return !c.open // A page that is not the document stays one. With a key, a retry returns the original result.
	}
	return !answered || refused.cut || refused.Status >= http.StatusInternalServerError
}

// doubtful reports whether a call that failed with err may have been done. An answer that is not the service's settles
// nothing: a proxy may have replaced the service's answer by its own page.
func (c call) doubtful(err error) bool {
	refused, answered := errors.AsType[*Error](err)
	_, unsent := errors.AsType[unsentError](err)
	switch {
	case c.safe, unsent:
		return false
	case answered && refused.Status == http.StatusTooManyRequests:
		return false // A server applies its rate limit before it does anything else.
	}
	return !answered || refused.Refusal.Code == "" || refused.Status >= http.StatusInternalServerError
}

// keyed makes one of the four calls with an idempotency key. It refuses a malformed key before anything is sent.
func keyed[T any](ctx context.Context, c *Client, path, key string, body members) (T, error) {
	if err := ticketing.CheckIdempotencyKey(key); err != nil {
		var none T
		return none, err
	}
	return do[T](ctx, c, call{method: http.MethodPost, path: path, key: key, body: body})
}

// exchange makes a call and retries it where that is allowed. All attempts have the same request id.
func (c *Client) exchange(ctx context.Context, what call, attempt func(id string) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("client: %w", err) // Nothing was sent.
	}
	id := c.requestID(ctx)
	doubtful := false
	longest := min(c.config.FirstWait, c.config.LongestWait)
	for attempts := 1; ; attempts++ {
		err := attempt(id)
		if err == nil {
			return nil
		}
		doubtful = doubtful || what.doubtful(err)
		if attempts < c.config.Attempts && what.again(err) {
			var waited bool
			if waited, err = c.wait(ctx, longest, err); waited {
				longest = min(longest, c.config.LongestWait-longest) + longest // twice, up to the longest
				continue
			}
		}
		if doubtful {
			return fmt.Errorf("%w: %w", ErrAmbiguous, err)
		}
		return err
	}
}

func (c *Client) requestID(ctx context.Context) string {
	id, given := ctx.Value(requestIDKey{}).(string)
	if !given {
		id = c.config.NewRequestID()
	}
	if !safename.Valid(id, 1, 128) {
		return uuid.NewString() // The service would make its own id, and a call without an answer would not return it.
	}
	return id
}

// wait sleeps before the next attempt. It returns false and the error for the caller if the context or
// LongestRetryAfter does not allow the wait, or if the context ends meanwhile.
func (c *Client) wait(ctx context.Context, longest time.Duration, failure error) (bool, error) {
	if err := ctx.Err(); err != nil {
		if errors.Is(failure, err) {
			return false, failure
		}
		return false, fmt.Errorf("client: %w after: %w", err, failure)
	}
	var asked time.Duration
	if refused, ok := errors.AsType[*Error](failure); ok {
		asked = refused.RetryAfter
	}
	pause := max(longest/2, asked) + rand.N(longest-longest/2) + 1 //nolint:gosec // Jitter is no secret.
	deadline, bounded := ctx.Deadline()
	if asked > c.config.LongestRetryAfter || bounded && time.Until(deadline) <= pause {
		return false, failure
	}
	if c.config.OnRetry != nil {
		c.config.OnRetry(ctx, failure, pause)
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false, fmt.Errorf("client: %w while waiting after: %w", ctx.Err(), failure)
	case <-timer.C:
		return true, nil
	}
}

// attempt sends a call once, and passes the body of a success to read.
func (c *Client) attempt(ctx context.Context, what call, body []byte, id string, read func([]byte) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, c.config.Timeout, timeoutError{c.config.Timeout})
	defer cancel()
	// If a transport does not report its connections, the request counts as perhaps sent.
	var sought, got atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { sought.Store(true) },
		GotConn: func(httptrace.GotConnInfo) { got.Store(true) },
	})
	request, err := c.request(ctx, what, body, id)
	if err != nil {
		return err
	}
	response, err := c.http.Do(request)
	if err != nil {
		err = fmt.Errorf("client: request %s: %w", id, err) // The URL is in it, and no header.
		if sought.Load() && !got.Load() {
			return unsentError{err}
		}
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case response.StatusCode/100 != 2:
		refused := refusal(response, text, id)
		refused.cut = err != nil
		return refused
	case err != nil:
		return fmt.Errorf("client: request %s: the response was cut off: %w", id, err)
	case len(text) > maxAnswer:
		return fmt.Errorf("%w: it has more than %d bytes (request %s)", ErrAnswer, maxAnswer, id)
	}
	if err := read(text); err != nil {
		return fmt.Errorf("%w: %w (request %s)", ErrAnswer, err, id)
	}
	return nil
}

func (c *Client) request(ctx context.Context, what call, body []byte, id string) (*http.Request, error) {
	var sent io.Reader
	if body != nil {
		sent = bytes.NewReader(body)
	}
	request, err := http.NewRequestWithContext(ctx, what.method, c.base+what.path, sent)
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	header := request.Header
	header.Set("Accept", "application/json")
	header.Set("User-Agent", c.config.UserAgent)
	header.Set("X-Request-Id", id)
	if !what.open {
		header.Set("Authorization", "Bearer "+c.key())
	}
	if body != nil {
		header.Set("Content-Type", "application/json")
	}
	if what.key != "" {
		header.Set("Idempotency-Key", what.key)
		// With GetBody, net/http would itself repeat a request that has an idempotency key, uncounted and without a wait.
		request.GetBody = nil
	}
	return request, nil
}
