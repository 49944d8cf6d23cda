package mail

import (
	_ "embed"
	"fmt"
	"strings"
	"time"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/walltime"
)

// zoneNames has the long English names of time zones, from CLDR: a zone to a line, and after it each offset with the
// name that the zone has then. The name is found by the offset, and not by whether daylight saving is on: Ireland's
// zone has its saving in winter. An offset that came later has no name, so no name is ever wrong.
//
//go:embed zonenames.txt
var zoneNames string

// The layouts of a schedule in the contract, and for a reader.
const (
	dateLayout      = "2006-01-02"
	clockLayout     = "15:04"
	longDateLayout  = "Monday, 2 January 2006"
	shortDateLayout = "Mon, 2 Jan 2006"
)

// span is when an event happens. A schedule may lack any of its members, since a host may have imported the event.
type span struct {
	day        time.Time // the day of the start, in UTC; zero: no date
	start, end time.Time // in the event's own zone, or in UTC without one; zero: not known
	zone       *time.Location
}

// spanOf returns when an event with the schedule happens. A member that is malformed counts as missing. An end at or
// before the start is on the next day. Times that clocks of the zone skip or show twice are resolved as the service
// does, so the mail has the end at which the service ends the event. Then the start may be after the end. Such an end
// is left out.
func spanOf(schedule ticketing.Schedule) span {
	var s span
	day, err := time.Parse(dateLayout, value(schedule.Date))
	if err != nil {
		return s
	}
	s.day = day
	if name := value(schedule.Timezone); name != "" && name != "Local" {
		if zone, err := time.LoadLocation(name); err == nil {
			s.zone = zone
		}
	}
	starts, err := time.Parse(clockLayout, value(schedule.StartsAt))
	if err != nil {
		return s
	}
	s.start = s.moment(day, starts)
	ends, err := time.Parse(clockLayout, value(schedule.EndsAt))
	if err != nil {
		return s
	}
	if !ends.After(starts) {
		day = day.AddDate(0, 0, 1)
	}
	if end := s.moment(day, ends); end.After(s.start) {
		s.end = end
	}
	return s
}

// moment returns when clocks of the zone show a time of day on a day. Without a zone it is a moment in UTC, of which
// only the time of day is used.
func (s span) moment(day, clock time.Time) time.Time {
	wall := day.Add(time.Duration(clock.Hour())*time.Hour + time.Duration(clock.Minute())*time.Minute)
	if s.zone == nil {
		return wall
	}
	return walltime.Latest(wall, s.zone).In(s.zone)
}

// fixed reports whether the start is a moment, and not only a time of day.
func (s span) fixed() bool { return !s.start.IsZero() && s.zone != nil }

// words returns the date and the times in words, with the zone's name and its offset from UTC:
//
//	Tuesday, 24 December 2030, 19:00 to 23:00 West Africa Time (UTC+01:00)
//
// An end on another day has its day. If clocks change during the event, both times have their zone. Without a date the
// words are empty.
func (s span) words() string {
	switch {
	case s.day.IsZero():
		return ""
	case s.start.IsZero():
		return s.day.Format(longDateLayout)
	}
	var words strings.Builder
	words.WriteString(s.start.Format(longDateLayout + ", " + clockLayout))
	if s.end.IsZero() {
		return words.String() + s.zoneWords(s.start)
	}
	if first, last := s.zoneWords(s.start), s.zoneWords(s.end); first != last {
		words.WriteString(first)
	}
	words.WriteString(" to ")
	if s.start.YearDay() != s.end.YearDay() || s.start.Year() != s.end.Year() {
		words.WriteString(s.end.Format(longDateLayout + ", "))
	}
	words.WriteString(s.end.Format(clockLayout))
	return words.String() + s.zoneWords(s.end)
}

// short returns the date and the start in few words, such as "Tue, 24 Dec 2030, 19:00".
func (s span) short() string {
	switch {
	case s.day.IsZero():
		return ""
	case s.start.IsZero():
		return s.day.Format(shortDateLayout)
	}
	return s.start.Format(shortDateLayout + ", " + clockLayout)
}

// zoneWords returns the name of the zone at a moment and its offset from UTC, after a space, and nothing without a
// zone. A zone without a long name at that offset has its IANA name: "Africa/Casablanca (UTC+01:00)".
func (s span) zoneWords(at time.Time) string {
	if s.zone == nil {
		return ""
	}
	_, seconds := at.Zone()
	sign, minutes := '+', seconds/60
	if minutes < 0 {
		sign, minutes = '-', -minutes
	}
	offset := fmt.Sprintf("%c%02d:%02d", sign, minutes/60, minutes%60)
	name := longZoneName(s.zone.String(), offset)
	if minutes == 0 {
		return " " + name + " (UTC)"
	}
	return " " + name + " (UTC" + offset + ")"
}

// longZoneName returns the long name of a zone at an offset, and the zone itself if it has none.
func longZoneName(zone, offset string) string {
	_, rest, _ := strings.Cut(zoneNames, "\n"+zone+"\t")
	names, _, _ := strings.Cut(rest, "\n")
	for named := range strings.SplitSeq(names, "\t") {
		if at, name, _ := strings.Cut(named, " "); at == offset {
			return name
		}
	}
	return zone
}

// value returns the text that p points to; nil is the empty text.
func value(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}
