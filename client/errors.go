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

// What errors.Is finds beside the codes of package ticketing.
var (
	// ErrContract is the answer of a client whose address does not serve this contract. Nothing was sent to it but the
	// question for its document, without the key.
	ErrContract = errors.New("client: the address does not serve version 1 of the Service Public API")
	// ErrAnswer is a success that is none of the contract, such as the page of a proxy on the way.
	ErrAnswer = errors.New("client: the answer is not one of the contract")
	// ErrAmbiguous is in every error of a call that was to change something and may have: an attempt got a connection and
	// no answer, or one without a code of the contract, or 5xx, and none after it succeeded. A refusal afterwards, in this
	// call or a later one, does not settle it, but for INVENTORY_UNAVAILABLE: a key that was spent is answered before the
	// stock is looked at (section 4.7). Where the call has a key, the identical call tells, now or after a restart; where it
	// has none, look at the resource.
	ErrAmbiguous = errors.New("client: it is not known whether the call was done")
)

// Error is a refusal: an answer that is no success. It wraps a [ticketing.Error], so that
// errors.Is(err, ticketing.CodeConflict) works as it does with the library.
type Error struct {
	// Status is the HTTP status.
	Status int
	// RequestID is the id under which the service knows the request: the answer's, or where it tells none, as that of a
	// proxy on the way, the one that it was sent with.
	RequestID string
	// Refusal is what the service said, with the violations of an INVALID_REQUEST. Its code is empty where the answer
	// was none of the contract, such as that of a proxy on the way.
	Refusal *ticketing.Error
	// RetryAfter is how long the answer asked to wait; 0 where it did not.
	RetryAfter time.Duration

	cut bool // The rest of it never arrived.
}

// Error gives the status, the code, the message or the violations, and the request id.
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

// Unwrap is the refusal.
func (e *Error) Unwrap() error { return e.Refusal }

// unsentError is a failure before there was a connection: nobody saw anything of the call.
type unsentError struct{ error }

func (e unsentError) Unwrap() error { return e.error }

// timeoutError is the end of one attempt's time. It tells whose it was, since the caller's context may have none.
type timeoutError struct{ after time.Duration }

func (e timeoutError) Error() string { return "no whole answer within " + e.after.String() }
func (e timeoutError) Unwrap() error { return context.DeadlineExceeded }
func (e timeoutError) Timeout() bool { return true } // for net.Error

// refusal reads an answer that is no success. Where it is none of the contract the status is all that it tells.
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

// retryAfter reads seconds, as the service writes them, or a date, as a proxy may.
func retryAfter(text string) time.Duration {
	seconds, err := strconv.ParseUint(text, 10, 31)
	if err == nil || errors.Is(err, strconv.ErrRange) { // What is out of range is the most there is.
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(0, time.Until(at)), math.MaxInt32*time.Second)
	}
	return 0
}
