package driver

import (
	"encoding/json"
	"fmt"
	"time"
)

// timeLayout is the form of a time on the wire. It has one spelling for each millisecond.
const timeLayout = "2006-01-02T15:04:05.000Z"

// Time is a moment on the wire: UTC, ISO 8601 with milliseconds and a trailing Z (section 2.1).
type Time struct{ time.Time }

// String returns the moment in the form of the wire.
func (t Time) String() string { return t.UTC().Format(timeLayout) }

// MarshalJSON writes the moment in quotes. Use a *Time for a nullable time.
func (t Time) MarshalJSON() ([]byte, error) {
	return t.AppendJSON(make([]byte, 0, len(timeLayout)+2)), nil
}

// AppendJSON appends to b what MarshalJSON returns, and returns the extended slice.
func (t Time) AppendJSON(b []byte) []byte { return t.UTC().AppendFormat(b, `"`+timeLayout+`"`) }

// UnmarshalJSON reads the form that MarshalJSON writes. It refuses another number of digits and another zone.
func (t *Time) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("ticketing: a time must be a JSON string: %w", err)
	}
	parsed, err := time.Parse(timeLayout, s)
	if err != nil {
		return fmt.Errorf("ticketing: a time must have the form %s: %w", timeLayout, err)
	}
	t.Time = parsed.UTC()
	return nil
}
