package ticketing

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/floatgate/ticketing/driver"
)

// Code is an error code of the contract (section 7). It says what a caller can do about an error. A Code is itself an
// error, the sentinel of its kind:
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

// The codes of signing in. The public API never returns them: they are for surfaces that people sign in to.
const (
	// CodeSignInRequired means that nobody is signed in, or that a secret, link, code or passkey is not accepted.
	CodeSignInRequired Code = "SIGN_IN_REQUIRED"
	// CodeConfirmRequired means that the user has to prove again who they are, see [ConfirmFor].
	CodeConfirmRequired Code = "CONFIRM_REQUIRED"
)

// Codes returns all codes of section 7, in its order.
func Codes() []Code {
	return []Code{
		CodeInvalidRequest, CodeInvalidCursor, CodeIdempotencyKeyRequired, CodeAuthenticationFailed,
		CodePermissionDenied, CodeNotFound, CodeConflict, CodeInventoryUnavailable, CodePricingUnavailable,
		CodeCommissionUnavailable, CodeInsufficientFloat, CodeCheckoutUnavailable, CodeVerificationRequired,
		CodeRateLimited, CodeInternal,
	}
}

// Error returns the code.
func (c Code) Error() string { return string(c) }

// Error is an error that a caller can act on. Every other error of this package is a fault of the service or its store.
// An adapter shows such a fault as INTERNAL_ERROR, without its text.
type Error struct {
	// Code is the contract's code.
	Code Code
	// Message is fit for the client: it holds no secret, no data of a buyer and no text of a database.
	Message string
	// Violations say what is wrong with an INVALID_REQUEST. It has at least one; no other code has any.
	Violations []Violation
}

// Violation is one thing that is wrong with a request. Its message begins with the path of the member, such as
// "lines[1].quantity: must be at least 1" (section 2.2).
type Violation struct {
	Message string `json:"message"`
}

// Error returns the code with the message, or with the violations if there are any.
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

// Invalid returns an INVALID_REQUEST with at least one violation. An adapter uses it for what it refuses itself.
func Invalid(violations ...Violation) *Error {
	return &Error{Code: CodeInvalidRequest, Message: "The request is invalid.", Violations: violations}
}

// conflict returns a CONFLICT with a message for the client. The message names a status or a limit. It never names an
// id or a text that somebody else entered.
func conflict(format string, args ...any) *Error {
	return &Error{Code: CodeConflict, Message: fmt.Sprintf(format, args...)}
}

// notFound returns a NOT_FOUND for what is named, such as "The event". It must not show whether another company has it.
func notFound(what string) *Error {
	return &Error{Code: CodeNotFound, Message: what + " was not found."}
}

// refusal returns err as an [Error] if a caller can act on it, and else nil. In a group, a refusal is the outcome of
// one call, and any other error ends the transaction. An error is wrapped on its way, so it looks for an [Error]
// anywhere in the chain.
func refusal(err error) error {
	if refused, ok := errors.AsType[*Error](err); ok {
		return refused
	}
	return nil
}

// violations collects what is wrong with a request, so that the client learns all of it at once. The order is that of
// the checks, which follows the members of the request.
type violations []Violation

// add adds a violation. path is the path of the member in the request.
func (v *violations) add(path, message string) {
	*v = append(*v, Violation{Message: path + ": " + message})
}

// indexed returns the path of an item of a list, such as "lines[1]".
func indexed(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// err returns nil if there is no violation, and else INVALID_REQUEST.
func (v violations) err() error {
	if len(v) == 0 {
		return nil
	}
	return Invalid(v...)
}

// ErrBusy means that a call did not get a lock, a slot or a place in a queue in time. Nothing was written. Make the
// same call again later.
var ErrBusy = driver.ErrBusy

// ErrUnavailable means that the database cannot be reached or has no space left. After a lost connection the outcome of
// a commit is unknown: repeat the call with the same idempotency key to learn it.
var ErrUnavailable = driver.ErrUnavailable

// ErrIncomplete means that a node of a cluster does not respond, and that what is on it is missing from the result,
// which a method returns with it only where its comment says so. It is an [ErrUnavailable].
var ErrIncomplete = driver.ErrIncomplete
