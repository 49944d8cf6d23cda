package webhook

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// The headers of a delivery (section 6.3).
const (
	HeaderSignature  = "X-Service-Signature"
	HeaderEventID    = "X-Service-Event-Id"
	HeaderEvent      = "X-Service-Event"
	HeaderDeliveryID = "X-Service-Delivery-Id"
)

// The headers of HTTP that every delivery has (section 6.3).
const (
	ContentType = "application/json; charset=utf-8"
	UserAgent   = "Service-Webhooks/1.0"
)

// ErrMismatch means that a header has another event id or type than the signed body.
var ErrMismatch = errors.New("webhook: the headers and the body name different events")

// Delivery is an event as it came: verified, with headers that match its body.
type Delivery struct {
	// Event is what happened. A receiver detects duplicates by its ID.
	Event Event
	// ID is the delivery's id, for a look-up at the sender. No signature covers it: do not base a decision on it.
	ID string
	// SignedAt is when this attempt was signed, to the second.
	SignedAt time.Time
	// Body holds the bytes that were signed.
	Body []byte
}

// Receive reads the delivery of a request. It reads the raw body first, at most [MaxBody] bytes of it, verifies it with
// [Verify], and only then parses it. The api_version must be "v1", and id and type must equal those of the headers
// (section 6.4, item 6). The caller checks the method, the path and everything else of the request.
//
// The error is one of [Verify], of [ParseEvent], [ErrMismatch], or that of reading the body. None repeats what was
// sent.
func Receive(r *http.Request, now time.Time, secrets ...string) (Delivery, error) {
	body, err := readBody(r)
	if err != nil {
		return Delivery{}, err
	}
	header, _ := single(r.Header, HeaderSignature)
	at, err := verify(header, body, now, secrets)
	if err != nil {
		return Delivery{}, err
	}
	event, err := ParseEvent(body)
	if err != nil {
		return Delivery{}, err
	}
	if id, ok := single(r.Header, HeaderEventID); !ok || id != event.ID {
		return Delivery{}, ErrMismatch
	}
	if kind, ok := single(r.Header, HeaderEvent); !ok || kind != event.Type {
		return Delivery{}, ErrMismatch
	}
	return Delivery{Event: event, ID: r.Header.Get(HeaderDeliveryID), SignedAt: at, Body: body}, nil
}

func readBody(r *http.Request) ([]byte, error) {
	if r.ContentLength > MaxBody {
		return nil, ErrTooLarge
	}
	if r.Body == nil { // The request was made by hand.
		return nil, nil
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, MaxBody+1))
	if err != nil {
		return nil, fmt.Errorf("webhook: read the body: %w", err)
	}
	if len(body) > MaxBody {
		return nil, ErrTooLarge
	}
	return body, nil
}

// single returns the value of a header that occurs once. With two values, nobody knows which one was meant.
func single(header http.Header, name string) (string, bool) {
	values := header.Values(name)
	if len(values) != 1 {
		return "", false
	}
	return values[0], true
}
