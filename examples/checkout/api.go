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

// ErrPending says that no answer came, or none that lasts: what was asked for may have happened, or may yet. The same
// cart again tells.
var ErrPending = errors.New("the ticketing service has not said what became of it")

// connect makes a client with times that a buyer in front of a screen can bear, and a log of what it tries again.
func connect(baseURL, apiKey string, transport http.RoundTripper, log *slog.Logger) (*client.Client, error) {
	return client.New(baseURL, apiKey, &client.Config{
		Transport: transport, Attempts: 6, Timeout: 10 * time.Second, LongestRetryAfter: 30 * time.Second,
		OnRetry: func(ctx context.Context, failure error, wait time.Duration) {
			tell(ctx, log, failure, slog.Duration("wait", wait))
		},
	})
}

// ended logs how a call failed, and tells what is an answer from what is none: [ErrPending].
func (s *Shop) ended(ctx context.Context, call string, err error) error {
	tell(ctx, s.log, err, slog.String("call", call))
	refused, answered := errors.AsType[*client.Error](err)
	pending := false
	switch {
	case !answered, refused.Status >= http.StatusInternalServerError, refused.Refusal.Code == "":
		pending = true // No answer of the contract: it may be that of a proxy on the way.
	case refused.Status == http.StatusTooManyRequests, refused.Refusal.Code == ticketing.CodeConflict:
		pending = errors.Is(err, client.ErrAmbiguous) // It passes, and says nothing about what is in doubt.
	}
	if pending {
		return fmt.Errorf("%w: %w", ErrPending, err)
	}
	return err
}

// tell logs a failure.
func tell(ctx context.Context, log *slog.Logger, failure error, more ...slog.Attr) {
	level := slog.LevelWarn
	if alarming(failure) {
		level = slog.LevelError
	}
	log.LogAttrs(ctx, level, "a call of the ticketing service failed", append(loggable(failure), more...)...)
}

// loggable is of a failure what section 7, rule 5 allows: never the key, the buyer or an answer's body.
func loggable(failure error) []slog.Attr {
	refused, answered := errors.AsType[*client.Error](failure)
	switch {
	case errors.Is(failure, client.ErrContract):
		return []slog.Attr{slog.Any("error", client.ErrContract)}
	case errors.Is(failure, client.ErrAnswer):
		return []slog.Attr{slog.Any("error", client.ErrAnswer)} // What is wrong with it may be quoted from it.
	case answered:
		return []slog.Attr{ // Not its violations, which may repeat what the buyer wrote.
			slog.Int("status", refused.Status), slog.String("code", string(refused.Refusal.Code)),
			slog.String("requestId", refused.RequestID),
		}
	}
	return []slog.Attr{slog.Any("error", failure)}
}

// alarming tells whether somebody has to look: no repetition helps (section 7, rule 4).
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
