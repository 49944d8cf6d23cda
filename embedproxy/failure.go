package embedproxy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

// hookError is a failed hook.
type hookError struct {
	hook  string // empty if a panic does not show which
	err   error
	stack string // of a panic
}

func (e *hookError) Error() string { return e.err.Error() }

func (e *hookError) Unwrap() error { return e.err }

// newPanicError returns a panic as an error for the log.
func newPanicError(v any) *hookError {
	return &hookError{err: panicked(v), stack: string(debug.Stack())}
}

// panicked keeps the text of a runtime error only. Any other value may hold what must not be logged.
func panicked(v any) error {
	if fault, ok := v.(runtime.Error); ok {
		return fmt.Errorf("panic: %w", fault)
	}
	return fmt.Errorf("panic of type %T", v)
}

// failure returns what the browser gets for an error. It logs what somebody at the shop can act on. It does not log
// what failed because the browser went away.
func (x *exchange) failure(ctx context.Context, err error) *failure {
	shown := failure{
		status: http.StatusInternalServerError, code: "INTERNAL_ERROR", message: "An unexpected error occurred.",
		requestID: x.id,
	}
	level, attrs := slog.LevelError, []slog.Attr(nil)
	if refused, ok := errors.AsType[*failure](err); ok {
		level = refused.level()
		if refused.isOfCredential() && !x.credential.due(x.began) {
			level = slog.LevelInfo // Every buyer causes this until somebody replaces the key.
		}
		shown = *refused
		if shown.requestID == "" {
			shown.requestID = x.id
		}
	} else if rejected, ok := errors.AsType[*rejection](err); ok {
		shown.status, shown.code = http.StatusBadGateway, "INVALID_UPSTREAM_RESPONSE"
		shown.message = "The ticketing service gave no valid answer."
		shown.requestID = rejected.requestID
		if rejected.reason == browserGone {
			level = slog.LevelInfo
		}
		attrs = append(attrs, slog.String("sentRequestId", x.id), slog.String("reason", rejected.reason))
	} else if failed, ok := errors.AsType[*hookError](err); ok {
		if ctx.Err() != nil && errors.Is(failed, context.Canceled) {
			level = slog.LevelInfo
		}
		attrs = append(attrs, slog.String("hook", failed.hook), slog.String("error", failed.Error()))
		if failed.stack != "" {
			attrs = append(attrs, slog.String("stack", failed.stack))
		}
	}
	if level > slog.LevelInfo {
		x.config.Logger.LogAttrs(ctx, level, "operation failed", append([]slog.Attr{
			slog.String("requestId", shown.requestID), slog.String("operation", x.operation),
			slog.Int("status", shown.status), slog.String("code", shown.code),
		}, attrs...)...)
	}
	return &shown
}

// level returns the log level of a failure. The refusals of the proxy do not matter to the shop, nor do those that a
// buyer can act on. For the others, section 7 says that a client stops and alerts someone.
func (f *failure) level() slog.Level {
	if f.requestID == "" {
		return slog.LevelInfo
	}
	if f.isOfCredential() {
		return slog.LevelError
	}
	if f.status == http.StatusTooManyRequests {
		return slog.LevelWarn
	}
	switch f.code {
	case "COMPANY_VERIFICATION_REQUIRED", "COMMISSION_RATE_UNAVAILABLE", "INSUFFICIENT_FLOAT", "CHECKOUT_UNAVAILABLE":
		return slog.LevelWarn
	}
	if f.status >= http.StatusInternalServerError {
		return slog.LevelError
	}
	return slog.LevelInfo
}

// isOfCredential reports whether the API refused the proxy's key or its grants.
func (f *failure) isOfCredential() bool {
	return f.requestID != "" && (f.status == http.StatusUnauthorized || f.status == http.StatusForbidden)
}

// onceAMinute limits a log line to one a minute.
type onceAMinute struct {
	mu   sync.Mutex
	next time.Time
}

// due reports whether a minute has passed since it last returned true.
func (o *onceAMinute) due(now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if now.Before(o.next) {
		return false
	}
	o.next = now.Add(time.Minute)
	return true
}

// report calls OnAnswer. It only logs a panic of the hook, since the answer was already sent.
func (x *exchange) report(ctx context.Context, a Answer) {
	if x.config.OnAnswer == nil {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			x.config.Logger.LogAttrs(ctx, slog.LevelError, "OnAnswer failed", slog.String("requestId", a.RequestID),
				slog.String("error", panicked(v).Error()), slog.String("stack", string(debug.Stack())))
		}
	}()
	a.Operation = x.operation
	if !x.began.IsZero() { // Otherwise the clock panicked.
		a.Duration = x.config.Clock().Sub(x.began)
	}
	x.config.OnAnswer(ctx, a)
}
