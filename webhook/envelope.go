package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"
)

const (
	// APIVersion is the api_version of every event here (section 9).
	APIVersion = "v1"
	// MaxBody is the largest body, in bytes. The largest order, of 50 lines, takes less than half of it.
	MaxBody = 256 << 10

	timeLayout = "2006-01-02T15:04:05.000Z"
)

// The errors of a body, for errors.Is.
var (
	// ErrTooLarge means more than MaxBody bytes.
	ErrTooLarge = errors.New("webhook: the body is too large")
	// ErrEvent means that the body is not the JSON of an event.
	ErrEvent = errors.New("webhook: the body is not an event")
	// ErrVersion means an event of another api_version.
	ErrVersion = errors.New("webhook: the event's api_version is not " + APIVersion)
)

// Event is something that happened, as receivers get it (section 6.3). On the wire it is
//
//	{"id":…,"type":…,"api_version":"v1","created_at":…,"data":{…}}
//
// [NewEvent] makes one and [Event.Encode] its bytes; [ParseEvent] reads them.
type Event struct {
	// ID is a UUID. It is the same in every attempt and every replay, so duplicates are detected by it.
	ID string `json:"id"`
	// Type is order.created, commission.accrued, balance.low, ticket.validated, or a type newer than this code.
	Type string `json:"type"`
	// APIVersion is "v1".
	APIVersion string `json:"api_version"`
	// CreatedAt is when it happened, in UTC with milliseconds.
	CreatedAt string `json:"created_at"`
	// Data is an [OrderCreated], [CommissionAccrued], [BalanceLow] or [TicketValidated], each by value. For a type that
	// is not known here it is the JSON object as it came, a [json.RawMessage].
	Data any `json:"data"`
}

// NewEvent returns the event with some data, whose type gives the type of the event. It checks nothing: [Event.Encode]
// refuses what is not an event.
func NewEvent(id string, at time.Time, data any) Event {
	return Event{
		ID: id, Type: typeOf(data), APIVersion: APIVersion, CreatedAt: at.UTC().Format(timeLayout), Data: data,
	}
}

// typeOf returns the type of an event with this data, or "" if the data is not of this package.
func typeOf(data any) string {
	switch data.(type) {
	case OrderCreated:
		return TypeOrderCreated
	case CommissionAccrued:
		return TypeCommissionAccrued
	case BalanceLow:
		return TypeBalanceLow
	case TicketValidated:
		return TypeTicketValidated
	default:
		return ""
	}
}

// Encode returns the body of the event's deliveries. Equal events make equal bytes: members in the order of the
// contract, no white space, UTF-8. Within texts, the quote, the backslash, control characters and U+2028 and U+2029 are
// escaped, and nothing else: < > & and letters of any script are unescaped. Bytes that are not UTF-8 become U+FFFD.
//
// It refuses, with [ErrEvent], [ErrVersion] or [ErrTooLarge], what [ParseEvent] would refuse, and data that is not of
// the event's type. Its errors hold nothing of the event, since a buyer must not get into a log.
func (e Event) Encode() ([]byte, error) {
	if err := e.check(); err != nil {
		return nil, err
	}
	if raw, ok := e.Data.(json.RawMessage); ok {
		if !utf8.Valid(raw) {
			return nil, fmt.Errorf("%w: its data is not UTF-8", ErrEvent)
		}
		if _, err := parseData(e.Type, raw); err != nil {
			return nil, err
		}
	} else if typeOf(e.Data) != e.Type {
		return nil, fmt.Errorf("%w: its data does not match its type", ErrEvent)
	}
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(e) != nil { // Raw data that is no JSON.
		return nil, fmt.Errorf("%w: its data is not JSON", ErrEvent)
	}
	text := bytes.TrimSuffix(body.Bytes(), []byte("\n"))
	if len(text) > MaxBody {
		return nil, ErrTooLarge
	}
	return text, nil
}

// check checks everything but the data by the rules of section 6.3.
func (e Event) check() error {
	if e.APIVersion != APIVersion {
		return ErrVersion
	}
	if !isUUID(e.ID) {
		return fmt.Errorf("%w: its id is not a UUID", ErrEvent)
	}
	if e.Type == "" {
		return fmt.Errorf("%w: it has no type", ErrEvent)
	}
	if _, err := time.Parse(time.RFC3339, e.CreatedAt); err != nil {
		return fmt.Errorf("%w: its created_at is not a time", ErrEvent)
	}
	return nil
}

// ParseEvent parses the body of a delivery that was verified. It ignores members that it does not know. An event of a
// type that it does not know has its data as raw JSON, since the service may add types within v1 (section 9).
//
// It fails with [ErrTooLarge], [ErrVersion] or [ErrEvent]. ErrEvent means that the body is not UTF-8, not one JSON
// object, or lacks the id (a UUID), the type, created_at (a time of RFC 3339) or data (an object, fit for the type). No
// error repeats what the body says.
func ParseEvent(body []byte) (Event, error) {
	if len(body) > MaxBody {
		return Event{}, ErrTooLarge
	}
	if !utf8.Valid(body) {
		return Event{}, fmt.Errorf("%w: it is not UTF-8", ErrEvent)
	}
	var wire struct {
		ID         string          `json:"id"`
		Type       string          `json:"type"`
		APIVersion string          `json:"api_version"`
		CreatedAt  string          `json:"created_at"`
		Data       json.RawMessage `json:"data"`
	}
	// The errors of encoding/json quote characters or numbers of the body, so they are not wrapped.
	if json.Unmarshal(body, &wire) != nil || !isObject(body) {
		return Event{}, fmt.Errorf("%w: it is not a JSON object with the members of an event", ErrEvent)
	}
	event := Event{ID: wire.ID, Type: wire.Type, APIVersion: wire.APIVersion, CreatedAt: wire.CreatedAt}
	if err := event.check(); err != nil {
		return Event{}, err
	}
	data, err := parseData(wire.Type, wire.Data)
	if err != nil {
		return Event{}, err
	}
	event.Data = data
	return event, nil
}

// UnmarshalJSON is ParseEvent, so that an event that was stored as JSON has its typed data again.
func (e *Event) UnmarshalJSON(body []byte) error {
	parsed, err := ParseEvent(body)
	if err != nil {
		return err
	}
	*e = parsed
	return nil
}

// parseData parses the data of an event of a type; the data of an unknown type stays raw.
func parseData(kind string, raw json.RawMessage) (any, error) {
	if !isObject(raw) {
		return nil, fmt.Errorf("%w: its data is not an object", ErrEvent)
	}
	switch kind {
	case TypeOrderCreated:
		return decode[OrderCreated](raw)
	case TypeCommissionAccrued:
		return decode[CommissionAccrued](raw)
	case TypeBalanceLow:
		return decode[BalanceLow](raw)
	case TypeTicketValidated:
		return decode[TicketValidated](raw)
	default:
		return raw, nil
	}
}

func decode[T any](raw json.RawMessage) (any, error) {
	var data T
	if json.Unmarshal(raw, &data) != nil {
		return nil, fmt.Errorf("%w: its data does not match its type", ErrEvent)
	}
	return data, nil
}

func isObject(value []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(value, " \t\r\n"), []byte("{"))
}

// isUUID reports whether s has the 36 characters of a UUID, in either case.
func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i, c := range []byte(s) {
		switch {
		case i == 8 || i == 13 || i == 18 || i == 23:
			if c != '-' {
				return false
			}
		case '0' <= c && c <= '9', 'a' <= c && c <= 'f', 'A' <= c && c <= 'F':
		default:
			return false
		}
	}
	return true
}
