package ticketing

import (
	_ "embed"
	"strings"
	"sync"
	"time"

	_ "time/tzdata" // The zones of zones.txt, on machines that have none.

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/walltime"
)

// zoneNames is the IANA list of the zone data in the Go release, one name to a line. A system's own zone files would
// also accept names that are not on it, such as posix/UTC and Local, and would make requests valid on some machines
// only.
//
//go:embed zones.txt
var zoneNames string

// zones returns the known time zone names. It parses the list once, at the first use.
var zones = sync.OnceValue(func() map[string]bool {
	known := make(map[string]bool)
	for name := range strings.Lines(zoneNames) {
		known[strings.TrimSpace(name)] = true
	}
	return known
})

// IsTimezone reports whether a name is a time zone that an event may have (section 2.1): an exact name of the IANA list
// of the Go release that built the program, whatever zones the machine has.
func IsTimezone(name string) bool { return zones()[name] }

// The layouts of a schedule (section 2.1).
const (
	dateLayout  = "2006-01-02"
	clockLayout = "15:04"
)

// checkDate checks a calendar day that exists, in the years 1 to 9999.
func checkDate(v *violations, path, s string) {
	if day, err := time.Parse(dateLayout, s); err != nil || day.Year() < 1 {
		v.add(path, "must be a calendar day, YYYY-MM-DD")
	}
}

// checkClock checks a 24-hour time of day with two digits for the hour.
func checkClock(v *violations, path, s string) {
	if _, err := time.Parse(clockLayout, s); err != nil || len(s) != len(clockLayout) {
		v.add(path, "must be a time of day from 00:00 to 23:59, HH:mm")
	}
}

// checkZone checks an exact IANA name: names are not folded.
func checkZone(v *violations, path, s string) {
	if !IsTimezone(s) {
		v.add(path, "must be an IANA time zone name, such as Africa/Lagos")
	}
}

// scheduleOf returns the whole schedule, to compare it: a change that repeats the schedule is not a rescheduling.
func scheduleOf(e driver.Event) [4]string {
	return [4]string{e.Date, e.StartsAt, e.EndsAt, e.Timezone}
}

// scheduledEnd returns when the event ends, in its own time zone. An end at or before the start is on the next day. It
// returns the zero time for an event without a complete schedule, which a host may have imported. The date and the
// clock are joined in UTC first. [walltime.Latest] then finds when clocks of the zone show them.
func scheduledEnd(e driver.Event) time.Time {
	zone, err := time.LoadLocation(e.Timezone)
	day, dayErr := time.Parse(dateLayout, e.Date)
	end, endErr := time.Parse(clockLayout, e.EndsAt)
	if err != nil || dayErr != nil || endErr != nil || e.Timezone == "" {
		return time.Time{}
	}
	// Both are HH:mm, so they compare as text. An overnight event ends on the next day.
	if e.EndsAt <= e.StartsAt {
		day = day.AddDate(0, 0, 1)
	}
	return walltime.Latest(day.Add(time.Duration(end.Hour())*time.Hour+time.Duration(end.Minute())*time.Minute), zone)
}

// setSchedule sets when background work ends the event: at its scheduled end, if the event is published and that end is
// after the given time. An event that is published or rescheduled past its end has no such time and stays PUBLISHED.
// Only the status and the schedule decide, so every change of either calls it.
func setSchedule(e *driver.Event, at time.Time) {
	e.EndsOn = time.Time{}
	if end := scheduledEnd(*e); e.Status == EventPublished && end.After(at) {
		e.EndsOn = end
	}
}
