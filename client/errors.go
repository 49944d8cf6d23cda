package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/floatgate/ticketing"
)

// The errors that errors.Is finds, in addition to the codes of package ticketing.
var (
	// ErrContract means that the address does not serve this contract. The client sent it only the request for its
	// document, without the API key.
	ErrContract = errors.New("client: the address does not serve version 1 of the Service Public API")
	// ErrAnswer means that an answer has the status of a success and is not one of the contract, such as a page of a
	// proxy.
	ErrAnswer = errors.New("client: the response does not conform to the contract")
	// ErrAmbiguous means that a call that changes something may have been done. An attempt got a connection and then no
	// answer, an answer without a code of the contract, or 5xx, and no later attempt succeeded. A later refusal, in this
	// call or another one, does not settle it. The exception is INVENTORY_UNAVAILABLE, because the service looks for the
	// key's earlier result before it looks at the stock (section 4.7). If the call has a key, make the identical call
	// again, now or after a restart. If it has none, read the resource.
	ErrAmbiguous = errors.New("client: it is unknown whether the call took effect")
)

// Error is a refusal: an answer that is not a success. It wraps a [ticketing.Error], so that
// errors.Is(err, ticketing.CodeConflict) works as it does with the library.
type Error struct {
	// Status is the HTTP status.
	Status int
	// RequestID is the id under which the service knows the request: the answer's, or the one that was sent if the answer
	// has none, such as the answer of a proxy.
	RequestID string
	// Refusal is the error of the service, with the violations of an INVALID_REQUEST. Its code is empty if the answer is
	// not one of the contract, such as the answer of a proxy.
	Refusal *ticketing.Error
	// RetryAfter is the wait that the answer asked for, or 0 if it asked for none.
	RetryAfter time.Duration

	cut bool // The rest of the body never arrived.
}

// Error returns the status, the code, the message or the violations, and the request id.
func (e *Error) Error() string {
	text := fmt.Sprintf("client: HTTP %d", e.Status)
	if e.Refusal.Code != "" {
		text += ": " + e.Refusal.Error()
	}
	if e.RequestID != "" {
		text += " (request " + e.RequestID + ")"
	}
	return text
}

// Unwrap returns the refusal.
func (e *Error) Unwrap() error { return e.Refusal }

// unsentError is a failure to connect: no server got the call.
type unsentError struct{ error }

func (e unsentError) Unwrap() error { return e.error }

// timeoutError is the timeout of one attempt. It names that timeout, since the caller's context may have no deadline.
type timeoutError struct{ after time.Duration }

func (e timeoutError) Error() string { return "no whole answer within " + e.after.String() }
func (e timeoutError) Unwrap() error { return context.DeadlineExceeded }
func (e timeoutError) Timeout() bool { return true } // for net.Error

// refusal decodes an answer that is not a success. From an answer outside the contract it takes only the status.
func refusal(response *http.Response, body []byte, sentID string) *Error {
	var read struct {
		Error struct {
			Code    ticketing.Code `json:"code"`
			Message string         `json:"message"`
			Details struct {
				Violations []ticketing.Violation `json:"violations"`
			} `json:"details"`
		} `json:"error"`
	}
	refused := &Error{
		Status: response.StatusCode, RequestID: cmp.Or(response.Header.Get("X-Request-Id"), sentID),
		Refusal: new(ticketing.Error), RetryAfter: retryAfter(response.Header.Get("Retry-After")),
	}
	if json.Unmarshal(body, &read) == nil {
		refused.Refusal = &ticketing.Error{
			Code: read.Error.Code, Message: read.Error.Message, Violations: read.Error.Details.Violations,
		}
	}
	return refused
}

// retryAfter parses seconds, as the service writes them, or a date, as a proxy may.
func retryAfter(text string) time.Duration {
	seconds, err := strconv.ParseUint(text, 10, 31)
	if err == nil || errors.Is(err, strconv.ErrRange) { // A number out of range counts as the largest.
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(0, time.Until(at)), math.MaxInt32*time.Second)
	}
	return 0
}
