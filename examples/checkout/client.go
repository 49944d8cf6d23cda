package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Client calls the public API as section 7 asks of clients. It is for requests that may be repeated: reads, quotes,
// and writes with an idempotency key.
type Client struct {
	BaseURL string // with /api/public/v1
	APIKey  string // never logged
	HTTP    *http.Client
	Log     *slog.Logger

	Attempts       int           // how often one request is sent at most
	AttemptTimeout time.Duration // how long one answer is waited for
	Backoff        time.Duration // the longest wait before the second attempt; it doubles with each
	MaxBackoff     time.Duration // where the doubling ends
	MaxRetryAfter  time.Duration // a server that asks for more than this is asked no more for now
	Wait           func(context.Context, time.Duration) error
}

// NewClient makes a client with waits that a buyer in front of a screen can bear.
func NewClient(baseURL, apiKey string, logger *slog.Logger) *Client {
	return &Client{
		BaseURL: strings.TrimSuffix(baseURL, "/"), APIKey: apiKey, Log: logger,
		HTTP: &http.Client{
			// A redirect would carry the key to somewhere else; the API never sends one.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		Attempts: 6, AttemptTimeout: 10 * time.Second, Backoff: 250 * time.Millisecond, MaxBackoff: 5 * time.Second,
		MaxRetryAfter: 30 * time.Second, Wait: wait,
	}
}

// The codes that this program knows what to do about.
const (
	codeConflict             = "CONFLICT"
	codeInventoryUnavailable = "INVENTORY_UNAVAILABLE"
)

// APIError is an error the API told.
type APIError struct {
	Status    int
	Code      string
	Message   string
	RequestID string

	// Doubtful tells that an earlier attempt of the same request went without an answer: that this one is refused does
	// not prove that the first one was (section 4.7).
	Doubtful bool

	retryAfter time.Duration
}

func (e *APIError) Error() string { return fmt.Sprintf("%d %s: %s", e.Status, e.Code, e.Message) }

// passing tells whether the same request may fare better later. CONFLICT is among them because an original that is
// still being worked on answers so; a conflict that is none of that kind is still one after the last attempt.
func (e *APIError) passing() bool {
	return e.Status == http.StatusTooManyRequests || e.Status >= 500 || e.Code == codeConflict
}

// alarming tells whether somebody has to look: no repetition helps (section 7, rule 4).
func (e *APIError) alarming() bool {
	switch e.Code {
	case "COMPANY_VERIFICATION_REQUIRED", "COMMISSION_RATE_UNAVAILABLE", "INSUFFICIENT_FLOAT", "CHECKOUT_UNAVAILABLE":
		return true
	}
	return e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden
}

// ErrAmbiguous says that no answer came: what was asked for may have happened. The identical request with the identical
// key tells.
var ErrAmbiguous = errors.New("the ticketing service did not answer")

// ErrUnreadable says that the answer of the API is none of the contract.
var ErrUnreadable = errors.New("the answer of the ticketing service cannot be read")

// Do sends a request, again and again as long as that may help, and reads the data of the answer. Every attempt sends
// the same bytes and the same key.
func (c *Client) Do(ctx context.Context, method, path, idempotencyKey string, body []byte, data any) error {
	doubtful := false
	for attempt := 1; ; attempt++ {
		raw, err := c.send(ctx, method, path, idempotencyKey, body)
		if err == nil {
			if err := json.Unmarshal(raw, data); err != nil {
				return ErrUnreadable
			}
			return nil
		}
		refused, told := errors.AsType[*APIError](err)
		if !told {
			refused = &APIError{Code: "NO_ANSWER"}
		}
		c.log(ctx, method, path, attempt, refused)
		doubtful = doubtful || !told || refused.Status >= 500
		refused.Doubtful = doubtful
		if told && !refused.passing() {
			return refused
		}
		pause := max(c.pause(attempt), refused.retryAfter)
		if attempt >= c.Attempts || pause > c.MaxRetryAfter || ctx.Err() != nil || c.Wait(ctx, pause) != nil {
			if doubtful {
				return ErrAmbiguous
			}
			return refused
		}
	}
}

// send makes one attempt.
func (c *Client) send(ctx context.Context, method, path, idempotencyKey string, body []byte) (json.RawMessage, error) {
	ctx, cancel := context.WithTimeout(ctx, c.AttemptTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, c.BaseURL+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	// Without this net/http repeats a request with an idempotency key by itself, uncounted and without a pause.
	request.GetBody = nil
	request.Header.Set("Authorization", "Bearer "+c.APIKey)
	if len(body) > 0 {
		request.Header.Set("Content-Type", "application/json")
	}
	if idempotencyKey != "" {
		request.Header.Set("Idempotency-Key", idempotencyKey)
	}
	response, err := c.HTTP.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return nil, err
	}
	var envelope struct {
		Data  json.RawMessage `json:"data"`
		Error struct {
			Code    string `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	broken := json.Unmarshal(text, &envelope)
	if response.StatusCode/100 == 2 && broken == nil && envelope.Data != nil {
		return envelope.Data, nil
	}
	refused := &APIError{
		Status: response.StatusCode, Code: envelope.Error.Code, Message: envelope.Error.Message,
		RequestID: response.Header.Get("X-Request-Id"), retryAfter: retryAfter(response.Header.Get("Retry-After")),
	}
	if refused.Code == "" {
		// A proxy on the way answered, or a success was cut short: as good as no answer.
		refused.Status, refused.Code = max(refused.Status, http.StatusBadGateway), "INVALID_UPSTREAM_RESPONSE"
	}
	return nil, refused
}

// log tells of a failed attempt what section 7, rule 5 allows: never the key, never the buyer.
func (c *Client) log(ctx context.Context, method, path string, attempt int, refused *APIError) {
	level := slog.LevelWarn
	if refused.alarming() {
		level = slog.LevelError
	}
	c.Log.LogAttrs(ctx, level, "the ticketing service refused a request", slog.String("method", method),
		slog.String("path", path), slog.Int("attempt", attempt), slog.Int("status", refused.Status),
		slog.String("code", refused.Code), slog.String("requestId", refused.RequestID))
}

// pause is a random time up to the backoff of an attempt, so that many clients do not come back as one.
func (c *Client) pause(attempt int) time.Duration {
	longest := c.Backoff
	for range attempt - 1 {
		longest = min(2*longest, c.MaxBackoff)
	}
	return rand.N(longest) + time.Millisecond //nolint:gosec // Jitter is no secret.
}

// retryAfter reads the seconds of a Retry-After header.
func retryAfter(s string) time.Duration {
	seconds, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
