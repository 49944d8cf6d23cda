package ticketing

import (
	_ "embed"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // The zones of zones.txt, on machines that have none.
)

// zoneNames is the IANA list of the zone data in the Go release, a name a line. A system's own zone files would also
// take names that are not on it, such as posix/UTC and Local.
//
//go:embed zones.txt
var zoneNames string

var zones = sync.OnceValue(func() map[string]bool {
	known := make(map[string]bool)
	for name := range strings.Lines(zoneNames) {
		known[strings.TrimSpace(name)] = true
	}
	return known
})

const (
	dateLayout  = "2006-01-02"
	clockLayout = "15:04"
)

func checkDate(v *violations, path, s string) {
	if day, err := time.Parse(dateLayout, s); err != nil || day.Year() < 1 {
		v.add(path, "must be a calendar day, YYYY-MM-DD")
	}
}

func checkClock(v *violations, path, s string) {
	if _, err := time.Parse(clockLayout, s); err != nil || len(s) != len(clockLayout) {
		v.add(path, "must be a time of day from 00:00 to 23:59, HH:mm")
	}
}

func checkZone(v *violations, path, s string) {
	if !zones()[s] {
		v.add(path, "must be an IANA time zone name, such as Africa/Lagos")
	}
}

// when is the schedule as a whole: a change that repeats it is no rescheduling.
func (e EventRecord) when() [4]string { return [4]string{e.Date, e.StartsAt, e.EndsAt, e.Timezone} }

// scheduledEnd is when the event ends, in its own time zone. An end at or before the start is the next day. It is the
// zero time for an event without a whole schedule, as a host may have imported it.
func (e EventRecord) scheduledEnd() time.Time {
	zone, err := time.LoadLocation(e.Timezone)
	day, dayErr := time.Parse(dateLayout, e.Date)
	end, endErr := time.Parse(clockLayout, e.EndsAt)
	if err != nil || dayErr != nil || endErr != nil || e.Timezone == "" {
		return time.Time{}
	}
	if e.EndsAt <= e.StartsAt {
		day = day.AddDate(0, 0, 1)
	}
	return latest(day.Add(time.Duration(end.Hour())*time.Hour+time.Duration(end.Minute())*time.Minute), zone)
}

// latest is the last moment at which clocks in a zone show the date and time that wall shows in UTC. Where clocks go
// back they show it twice; where they go forward they pass over it, and it counts as if they had not yet.
func latest(wall time.Time, zone *time.Location) time.Time {
	var shown, last time.Time
	for _, near := range []time.Time{wall.Add(-36 * time.Hour), wall.Add(36 * time.Hour)} {
		_, offset := near.In(zone).Zone()
		moment := wall.Add(-time.Duration(offset) * time.Second)
		if moment.After(last) || last.IsZero() {
			last = moment
		}
		_, actual := moment.In(zone).Zone()
		if actual == offset && moment.After(shown) {
			shown = moment
		}
	}
	if shown.IsZero() {
		return last
	}
	return shown
}

// schedule sets when background work ends the event: at its scheduled end, if it is published and that end is still
// to come. One that is published or rescheduled past its end stays as it is.
func (e *EventRecord) schedule(at time.Time) {
	e.EndsOn = time.Time{}
	if end := e.scheduledEnd(); e.Status == EventPublished && end.After(at) {
		e.EndsOn = end
	}
}
