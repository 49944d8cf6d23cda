package httpapi

import (
	"context"
	"errors"
	"net/http"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/group"
	"github.com/floatgate/ticketing/internal/slot"
)

// statusOf is the table of section 7.
func statusOf(code ticketing.Code) int {
	switch code {
	case ticketing.CodeInvalidRequest, ticketing.CodeInvalidCursor, ticketing.CodeIdempotencyKeyRequired:
		return http.StatusBadRequest
	case ticketing.CodeAuthenticationFailed:
		return http.StatusUnauthorized
	case ticketing.CodePermissionDenied:
		return http.StatusForbidden
	case ticketing.CodeNotFound:
		return http.StatusNotFound
	case ticketing.CodeConflict, ticketing.CodeInventoryUnavailable, ticketing.CodePricingUnavailable,
		ticketing.CodeCommissionUnavailable, ticketing.CodeInsufficientFloat, ticketing.CodeCheckoutUnavailable,
		ticketing.CodeVerificationRequired:
		return http.StatusConflict
	case ticketing.CodeRateLimited:
		return http.StatusTooManyRequests
	case ticketing.CodeInternal, ticketing.CodeSignInRequired, ticketing.CodeConfirmRequired: // The last two are not v1's.
	}
	return http.StatusInternalServerError
}

var errInternal = &ticketing.Error{
	Code: ticketing.CodeInternal, Message: "An unexpected error occurred.",
}

// isTransient reports whether the same request may succeed soon: the store is busy or unavailable, or the request's
// context has ended.
func isTransient(ctx context.Context, err error) bool {
	return errors.Is(err, ticketing.ErrBusy) || errors.Is(err, ticketing.ErrUnavailable) || ctx.Err() != nil
}

// isOverload reports whether a call was refused because too many calls waited. The service counts these and logs them
// at intervals.
func isOverload(err error) bool {
	return errors.Is(err, group.ErrFull) || errors.Is(err, slot.ErrRefused)
}

// refusal returns the error for the client and its status. It logs an error that is not the client's fault.
func (x *exchange) refusal(ctx context.Context, err error) (*ticketing.Error, int) {
	if refusal, ok := errors.AsType[*ticketing.Error](err); ok && refusal.Code != ticketing.CodeInternal {
		if status := statusOf(refusal.Code); status != http.StatusInternalServerError {
			return refusal, status
		}
	}
	status := http.StatusInternalServerError
	if isTransient(ctx, err) {
		status, x.retryAfter = http.StatusServiceUnavailable, 1
	}
	if !isOverload(err) && (!errors.Is(err, context.Canceled) || ctx.Err() == nil) {
		x.logInternal(ctx, err)
	}
	return errInternal, status
}
