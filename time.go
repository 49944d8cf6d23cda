package ticketing

import (
	"time"

	"github.com/floatgate/ticketing/driver"
)

// Time is a moment on the wire: UTC, ISO 8601 with milliseconds and a trailing Z (section 2.1).
type Time = driver.Time

// Period is a span of time. It includes From and excludes To. The zero Period is all time.
//
// Everywhere in this package a zero time in a period or in a filter is no bound. Where a missing time has a meaning of
// its own, the parameter is a pointer and says what nil means, as [ApprovalParams] does.
type Period struct {
	From time.Time // zero: from the beginning
	To   time.Time // zero: without an end
}

// optionalTime returns t for the wire, and nil for the zero time.
func optionalTime(t time.Time) *Time {
	if t.IsZero() {
		return nil
	}
	return &Time{Time: t}
}

// storedTime returns t as the service keeps it: UTC and whole milliseconds. Stores keep milliseconds. A time with more
// would not equal itself after it was read.
func storedTime(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// future checks that t is after at, and in the years that a time on the wire can hold.
func future(v *violations, path string, t, at time.Time) {
	if !t.After(at) {
		v.add(path, "must be in the future")
		return
	}
	checkYear(v, path, t)
}

// checkYear checks that a time is in the years 1 to 9999, which the layout of the wire can hold. A time beyond these
// years could be kept and never be shown.
func checkYear(v *violations, path string, t time.Time) {
	// The zero time is refused, too, since a store keeps it as none.
	if year := t.Year(); t.IsZero() || year < 1 || year > 9999 {
		v.add(path, "must be in the years 1 to 9999")
	}
}

// notBefore returns at, or earliest if at is before it. It keeps times ascending when the clock was set back: the times
// along a ledger never decrease.
func notBefore(at, earliest time.Time) time.Time {
	if at.Before(earliest) {
		return earliest
	}
	return at
}

// now returns the time as the service keeps it: UTC and whole milliseconds.
func (s *Service) now() time.Time { return storedTime(s.clock()) }
