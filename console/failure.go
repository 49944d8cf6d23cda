package console

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"runtime/debug"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/group"
	"github.com/floatgate/ticketing/internal/strictjson"
)

// methodError is a request with a method that the path does not have.
type methodError struct{ read, write bool }

func (e *methodError) Error() string { return "The method is not allowed here." }

// allow returns the header of the methods that the path has.
func (e *methodError) allow() string {
	switch {
	case e.read && e.write:
		return "GET, HEAD, POST"
	case e.write:
		return "POST"
	}
	return "GET, HEAD"
}

var (
	errHost   = errors.New("console: not the host of the console")
	errNoPage = &ticketing.Error{Code: ticketing.CodeNotFound, Message: "There is no page at this address."}

	errNoCompany = &ticketing.Error{Code: ticketing.CodeNotFound, Message: "The company was not found."}
	errNotStaff  = &ticketing.Error{
		Code: ticketing.CodePermissionDenied, Message: "These pages are for the platform's staff.",
	}
	errSignIn  = &ticketing.Error{Code: ticketing.CodeSignInRequired, Message: "Sign in to continue."}
	errConfirm = &ticketing.Error{
		Code:    ticketing.CodeConfirmRequired,
		Message: "Confirm your identity. This needs a sign-in within the last ten minutes.",
	}
)

// errMissing returns the refusal of a person who lacks a permission, or a grant of the data plane.
func errMissing[T ticketing.Permission | ticketing.Grant](right T) error {
	return &ticketing.Error{
		Code: ticketing.CodePermissionDenied, Message: "The permission " + string(right) + " is required.",
	}
}

func invalid(message string) error { return ticketing.Invalid(ticketing.Violation{Message: message}) }

func shortened(name string) string { return strictjson.Shortened(name) }

// statusOf is the one table from codes to statuses of the internal plane.
func statusOf(code ticketing.Code) int {
	switch code {
	case ticketing.CodeInvalidRequest, ticketing.CodeInvalidCursor, ticketing.CodeIdempotencyKeyRequired:
		return http.StatusBadRequest
	case ticketing.CodeSignInRequired, ticketing.CodeAuthenticationFailed:
		return http.StatusUnauthorized
	case ticketing.CodePermissionDenied, ticketing.CodeConfirmRequired:
		return http.StatusForbidden
	case ticketing.CodeNotFound:
		return http.StatusNotFound
	case ticketing.CodeConflict, ticketing.CodeInventoryUnavailable, ticketing.CodePricingUnavailable,
		ticketing.CodeCommissionUnavailable, ticketing.CodeInsufficientFloat, ticketing.CodeCheckoutUnavailable,
		ticketing.CodeVerificationRequired:
		return http.StatusConflict
	case ticketing.CodeRateLimited:
		return http.StatusTooManyRequests
	case ticketing.CodeInternal:
	}
	return http.StatusInternalServerError
}

// refusalOf returns an error that a person can act on, and nil for a fault.
func refusalOf(err error) *ticketing.Error {
	refused, ok := errors.AsType[*ticketing.Error](err)
	if !ok || statusOf(refused.Code) == http.StatusInternalServerError {
		return nil
	}
	return refused
}

// failure returns the response for an error, as a page or as JSON. It logs errors that are not the person's fault.
func (x *exchange) failure(ctx context.Context, err error) answer {
	a := answer{}
	shown := refusalOf(err)
	switch {
	case errors.Is(err, errHost):
		return answer{
			status: http.StatusMisdirectedRequest, code: ticketing.CodeNotFound, contentType: "text/plain; charset=utf-8",
			body: []byte("Nothing is served at this address.\n"),
		}
	case shown != nil:
		a.status = statusOf(shown.Code)
	default:
		if wrong, ok := errors.AsType[*methodError](err); ok {
			shown = &ticketing.Error{Code: ticketing.CodeInvalidRequest, Message: wrong.Error()}
			a.status, a.allow = http.StatusMethodNotAllowed, wrong.allow()
			break
		}
		shown, a.status = &ticketing.Error{Code: ticketing.CodeInternal, Message: "An unexpected error occurred."},
			http.StatusInternalServerError
		if isAway(ctx, err) {
			shown.Message = "The database cannot be reached right now. Try again in a moment."
			a.status, a.retryAfter = http.StatusServiceUnavailable, 1
		}
		x.logFault(ctx, err)
	}
	a.code = shown.Code
	if limited, ok := errors.AsType[*limitError](err); ok {
		a.retryAfter = limited.seconds
	}
	if x.api {
		a.contentType, a.body = jsonType, encodeRefusal(shown)
		return a
	}
	if shown.Code == ticketing.CodeSignInRequired && x.config.Identify == nil {
		if !isSafe(x.r.Method) {
			x.sayDone("Your session has ended, so nothing was changed. Sign in and try again.")
		}
		return answer{status: http.StatusSeeOther, code: shown.Code, location: x.signInPath()}
	}
	a.contentType, a.body = htmlType, x.renderFailure(a.status, shown)
	return a
}

// isAway reports whether the same request may succeed in a moment.
func isAway(ctx context.Context, err error) bool {
	return errors.Is(err, ticketing.ErrBusy) || errors.Is(err, ticketing.ErrUnavailable) || ctx.Err() != nil
}

func (x *exchange) logFault(ctx context.Context, err error) {
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return
	}
	attrs := []slog.Attr{slog.String("requestId", x.id), slog.String("error", err.Error())}
	if p, ok := errors.AsType[*panicError](err); ok {
		attrs = append(attrs, slog.String("stack", p.stack))
	}
	if p, ok := errors.AsType[*group.PanicError](err); ok {
		attrs = append(attrs, slog.String("stack", string(p.Stack)))
	}
	x.config.Logger.LogAttrs(ctx, slog.LevelError, "console fault", attrs...)
}

// panicError is a panic as an error for the log.
type panicError struct{ text, stack string }

func (e *panicError) Error() string { return e.text }

// panicText keeps only the text of runtime errors: any other value may hold secrets or personal data.
func panicText(v any) string {
	if fault, ok := v.(runtime.Error); ok {
		return "panic: " + fault.Error()
	}
	return fmt.Sprintf("panic of type %T", v)
}

// guarded calls a function in a goroutine of its own, where a panic would end the whole program. It returns a panic as
// an error.
func guarded(run func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{text: panicText(v), stack: string(debug.Stack())}
		}
	}()
	return run()
}

// limitError is a refusal of too many attempts.
type limitError struct {
	refusal *ticketing.Error
	seconds int
}

func (e *limitError) Error() string { return e.refusal.Error() }

// Unwrap returns the refusal.
func (e *limitError) Unwrap() error { return e.refusal }
