package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/safename"
)

// call is one operation with its parameters.
type call struct {
	method string
	path   string // with its query, escaped
	key    string // the idempotency key, well-formed; empty: none
	body   any    // nil: none
	safe   bool   // it changes nothing
	open   bool   // a document: no credential, no envelope
}

// again tells whether what failed may be tried again.
func (c call) again(err error) bool {
	refused, answered := errors.AsType[*Error](err)
	switch {
	case answered && refused.Status == http.StatusTooManyRequests:
		return true // It did nothing.
	case !c.safe && c.key == "":
		return false
	case errors.Is(err, ErrAnswer):
		return !c.open // A page that is no document stays one; of what has a key the same again tells.
	}
	return !answered || refused.Status >= http.StatusInternalServerError
}

// doubtful tells whether what failed may have been done.
func (c call) doubtful(err error) bool {
	refused, answered := errors.AsType[*Error](err)
	return !c.safe && (!answered || refused.Status >= http.StatusInternalServerError)
}

// envelope is that of a success. Its page stays zero where the answer has none.
type envelope[T any] struct {
	Data *T `json:"data"`
	Meta struct {
		Page struct {
			HasMore    bool   `json:"hasMore"`
			NextCursor string `json:"nextCursor"`
		} `json:"page"`
	} `json:"meta"`
}

// ask checks the contract first, then makes the call.
func ask[T any](ctx context.Context, c *Client, what call) (envelope[T], error) {
	var found envelope[T]
	if err := c.Verify(ctx); err != nil {
		return found, err
	}
	err := c.exchange(ctx, what, func(body []byte) error {
		found = envelope[T]{}
		if err := json.Unmarshal(body, &found); err != nil {
			return err
		}
		if found.Data == nil {
			return errors.New("it has no data")
		}
		return nil
	})
	return found, err
}

// do is ask for the data alone.
func do[T any](ctx context.Context, c *Client, what call) (T, error) {
	found, err := ask[T](ctx, c, what)
	if err != nil {
		var none T
		return none, err
	}
	return *found.Data, nil
}

// keyed makes one of the four idempotent calls. A key that is none of the contract is refused here.
func keyed[T any](ctx context.Context, c *Client, path, key string, body members) (T, error) {
	if err := ticketing.CheckIdempotencyKey(key); err != nil {
		var none T
		return none, err
	}
	return do[T](ctx, c, call{method: http.MethodPost, path: path, key: key, body: body})
}

// exchange makes a call, again where it may, and hands the body of a success to read. All attempts send the same.
func (c *Client) exchange(ctx context.Context, what call, read func(body []byte) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("client: %w", err) // Nothing was sent.
	}
	var body []byte
	if what.body != nil {
		var err error
		if body, err = json.Marshal(what.body); err != nil {
			return fmt.Errorf("client: encode the request: %w", err)
		}
	}
	id := c.requestID(ctx)
	doubtful := false
	longest := min(c.config.FirstWait, c.config.LongestWait)
	for attempt := 1; ; attempt++ {
		err := c.attempt(ctx, what, body, id, read)
		if err == nil {
			return nil
		}
		doubtful = doubtful || what.doubtful(err)
		if attempt < c.config.Attempts && what.again(err) {
			var waited bool
			if waited, err = c.wait(ctx, longest, err); waited {
				longest = min(longest, c.config.LongestWait/2) * 2
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
	if id, given := ctx.Value(requestIDKey{}).(string); given {
		return id
	}
	return c.config.NewRequestID()
}

// wait passes the time before another attempt, unless it is longer than the caller has or wants to wait: then, and when
// the context ends meanwhile, it is false, with what the caller is told.
func (c *Client) wait(ctx context.Context, longest time.Duration, failure error) (bool, error) {
	pause := longest/2 + rand.N(longest-longest/2) + 1 //nolint:gosec // Jitter is no secret.
	if refused, ok := errors.AsType[*Error](failure); ok {
		pause = max(pause, refused.RetryAfter)
	}
	deadline, bounded := ctx.Deadline()
	if pause > max(longest, c.config.LongestRetryAfter) || ctx.Err() != nil || bounded && time.Until(deadline) <= pause {
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

// attempt sends a call once.
func (c *Client) attempt(ctx context.Context, what call, body []byte, id string, read func([]byte) error) error {
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	request, err := c.request(ctx, what, body, id)
	if err != nil {
		return err
	}
	response, err := c.http.Do(request)
	if err != nil {
		return fmt.Errorf("client: request %s: %w", id, err) // The URL is in it, and no header.
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case response.StatusCode < 200 || response.StatusCode > 299:
		return refusal(response, text) // Whatever of it was read.
	case err != nil:
		return fmt.Errorf("client: request %s: the answer was cut off: %w", id, err)
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
	if safename.Valid(id, 1, 128) { // Else the service makes another.
		header.Set("X-Request-Id", id)
	}
	if !what.open {
		header.Set("Authorization", "Bearer "+c.key)
	}
	if body != nil {
		header.Set("Content-Type", "application/json")
	}
	if what.key != "" {
		header.Set("Idempotency-Key", what.key)
		// Else net/http would repeat what has such a key by itself, uncounted and without a wait.
		request.GetBody = nil
	}
	return request, nil
}
