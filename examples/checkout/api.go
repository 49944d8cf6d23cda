package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/client"
)

// ErrPending means that no answer came, or only a temporary one: the sale may have happened, or may yet happen. Sending
// the same cart again settles it.
var ErrPending = errors.New("the ticketing service has not said what became of it")

// connect returns a client with timeouts that a waiting buyer accepts. It logs each retry.
func connect(baseURL, apiKey string, transport http.RoundTripper, log *slog.Logger) (*client.Client, error) {
	return client.New(baseURL, apiKey, &client.Config{
		Transport: transport, Attempts: 6, Timeout: 10 * time.Second, LongestRetryAfter: 30 * time.Second,
		OnRetry: func(ctx context.Context, failure error, wait time.Duration) {
			logFailure(ctx, log, failure, slog.Duration("wait", wait))
		},
	})
}

// ended logs how a call failed. It wraps a failure that settles nothing as [ErrPending].
func (s *Shop) ended(ctx context.Context, call string, err error) error {
	logFailure(ctx, s.log, err, slog.String("call", call))
	refused, answered := errors.AsType[*client.Error](err)
	pending := false
	switch {
	case !answered, refused.Status >= http.StatusInternalServerError, refused.Refusal.Code == "":
		pending = true // It may be the answer of a proxy on the way.
	case refused.Status == http.StatusTooManyRequests, refused.Refusal.Code == ticketing.CodeConflict:
		pending = errors.Is(err, client.ErrAmbiguous) // It is temporary, and leaves an ambiguous call open.
	}
	if pending {
		return fmt.Errorf("%w: %w", ErrPending, err)
	}
	return err
}

// logFailure logs a failure.
func logFailure(ctx context.Context, log *slog.Logger, failure error, more ...slog.Attr) {
	level := slog.LevelWarn
	if alarming(failure) {
		level = slog.LevelError
	}
	log.LogAttrs(ctx, level, "a call of the ticketing service failed", append(loggable(failure), more...)...)
}

// loggable returns the facts of a failure that section 7, rule 5 allows: never the key, the buyer or an answer's body.
func loggable(failure error) []slog.Attr {
	refused, answered := errors.AsType[*client.Error](failure)
	switch {
	case errors.Is(failure, client.ErrContract):
		return []slog.Attr{slog.Any("error", client.ErrContract)}
	case errors.Is(failure, client.ErrAnswer):
		return []slog.Attr{slog.Any("error", client.ErrAnswer)} // The error may quote the answer.
	case answered:
		return []slog.Attr{ // No violations: they may repeat the buyer's input.
			slog.Int("status", refused.Status), slog.String("code", string(refused.Refusal.Code)),
			slog.String("requestId", refused.RequestID),
		}
	}
	return []slog.Attr{slog.Any("error", failure)}
}

// alarming reports whether an operator has to act, since no retry helps (section 7, rule 4).
func alarming(failure error) bool {
	if refused, ok := errors.AsType[*client.Error](failure); ok &&
		(refused.Status == http.StatusUnauthorized || refused.Status == http.StatusForbidden) {
		return true
	}
	return slices.ContainsFunc([]error{
		ticketing.CodeVerificationRequired, ticketing.CodeCommissionUnavailable, ticketing.CodeInsufficientFloat,
		ticketing.CodeCheckoutUnavailable, client.ErrContract,
	}, func(kind error) bool { return errors.Is(failure, kind) })
}
