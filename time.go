package ticketing

import (
	"encoding/json"
	"fmt"
	"time"
)

const timeLayout = "2006-01-02T15:04:05.000Z"

// Time is a moment on the wire: UTC, ISO 8601 with milliseconds and a trailing Z (section 2.1).
type Time struct{ time.Time }

// String is the moment as it stands on the wire.
func (t Time) String() string { return t.UTC().Format(timeLayout) }

// MarshalJSON writes the moment in quotes.
func (t Time) MarshalJSON() ([]byte, error) {
	return t.UTC().AppendFormat(make([]byte, 0, len(timeLayout)+2), `"`+timeLayout+`"`), nil
}

// UnmarshalJSON reads exactly what MarshalJSON writes.
func (t *Time) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("ticketing: a time is text: %w", err)
	}
	parsed, err := time.Parse(timeLayout, s)
	if err != nil {
		return fmt.Errorf("ticketing: a time is written as %s: %w", timeLayout, err)
	}
	t.Time = parsed.UTC()
	return nil
}

// when is nil for no time.
func when(t time.Time) *Time {
	if t.IsZero() {
		return nil
	}
	return &Time{t}
}

// optional is nil for no text.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// moment is a time in what the service keeps: UTC and milliseconds.
func moment(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// future checks that a time lies behind another, and in the years that a time on the wire can tell.
func future(v *violations, path string, t, at time.Time) {
	if !t.After(at) {
		v.add(path, "must be in the future")
		return
	}
	tellable(v, path, t)
}

// tellable checks that a time lies in the years 1 to 9999.
func tellable(v *violations, path string, t time.Time) {
	// A store keeps the zero time as none.
	if year := t.Year(); t.IsZero() || year < 1 || year > 9999 {
		v.add(path, "must be in the years 1 to 9999")
	}
}
