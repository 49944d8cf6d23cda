package ticketing

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Code tells what a caller can do about an error (section 7). A Code is itself an error, the sentinel of its kind:
//
//	if errors.Is(err, ticketing.CodeInventoryUnavailable) { … quote again … }
type Code string

// The codes of section 7.
const (
	CodeInvalidRequest         Code = "INVALID_REQUEST"
	CodeInvalidCursor          Code = "INVALID_CURSOR"
	CodeIdempotencyKeyRequired Code = "IDEMPOTENCY_KEY_REQUIRED"
	CodeAuthenticationFailed   Code = "AUTHENTICATION_FAILED"
	CodePermissionDenied       Code = "PERMISSION_DENIED"
	CodeNotFound               Code = "NOT_FOUND"
	CodeConflict               Code = "CONFLICT"
	CodeInventoryUnavailable   Code = "INVENTORY_UNAVAILABLE"
	CodePricingUnavailable     Code = "PRICING_UNAVAILABLE"
	CodeCommissionUnavailable  Code = "COMMISSION_RATE_UNAVAILABLE"
	CodeInsufficientFloat      Code = "INSUFFICIENT_FLOAT"
	CodeCheckoutUnavailable    Code = "CHECKOUT_UNAVAILABLE"
	CodeVerificationRequired   Code = "COMPANY_VERIFICATION_REQUIRED"
	CodeRateLimited            Code = "RATE_LIMITED"
	CodeInternal               Code = "INTERNAL_ERROR"
)

// Codes are all codes of section 7, in its order.
func Codes() []Code {
	return []Code{
		CodeInvalidRequest, CodeInvalidCursor, CodeIdempotencyKeyRequired, CodeAuthenticationFailed,
		CodePermissionDenied, CodeNotFound, CodeConflict, CodeInventoryUnavailable, CodePricingUnavailable,
		CodeCommissionUnavailable, CodeInsufficientFloat, CodeCheckoutUnavailable, CodeVerificationRequired,
		CodeRateLimited, CodeInternal,
	}
}

// Error is the code itself.
func (c Code) Error() string { return string(c) }

// Error is what a caller can act on. Every other error of this package is a fault of the service or its store, and
// becomes INTERNAL_ERROR at the outside.
type Error struct {
	// Code is the contract's code.
	Code Code
	// Message is fit for the client: no secret, no buyer, no text of a database.
	Message string
	// Violations say what is wrong with an INVALID_REQUEST, at least one; no other code has any.
	Violations []Violation
}

// Violation is one thing wrong with a request. Its message begins with the path of what it is about, such as
// "lines[1].quantity: must be at least 1" (section 2.2).
type Violation struct {
	Message string `json:"message"`
}

// Error gives the code, the message and the violations.
func (e *Error) Error() string {
	if len(e.Violations) == 0 {
		return string(e.Code) + ": " + e.Message
	}
	said := make([]string, len(e.Violations))
	for i, v := range e.Violations {
		said[i] = v.Message
	}
	return string(e.Code) + ": " + strings.Join(said, "; ")
}

// Is reports whether target is the error's [Code].
func (e *Error) Is(target error) bool {
	code, ok := target.(Code)
	return ok && code == e.Code
}

// Invalid makes an INVALID_REQUEST of at least one violation. An adapter reports with it what it refuses itself.
func Invalid(violations ...Violation) *Error {
	return &Error{Code: CodeInvalidRequest, Message: "The request is invalid.", Violations: violations}
}

func conflict(format string, args ...any) *Error {
	return &Error{Code: CodeConflict, Message: fmt.Sprintf(format, args...)}
}

func notFound(what string) *Error {
	return &Error{Code: CodeNotFound, Message: what + " was not found."}
}

// refusal is err where a caller can act on it, else nil.
func refusal(err error) error {
	if refused, ok := errors.AsType[*Error](err); ok {
		return refused
	}
	return nil
}

// violations gathers what is wrong with one request, so that a caller is told all of it at once.
type violations []Violation

func (v *violations) add(path, message string) {
	*v = append(*v, Violation{Message: path + ": " + message})
}

// indexed is the path of an item of a list.
func indexed(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

func (v violations) err() error {
	if len(v) == 0 {
		return nil
	}
	return Invalid(v...)
}
