package mail_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/mail"
)

// calendarOf returns the lines of a mail's calendar entry, unfolded, and checks their form. It returns nil if there is
// none.
func calendarOf(is *is.I, made ticketing.Mail) []string {
	is.Helper()
	if len(made.Attached) == 0 {
		return nil
	}
	is.Equal(len(made.Attached), 1)
	file := made.Attached[0]
	is.Equal(file.Name, "event.ics")
	is.Equal(file.ContentType, "text/calendar; charset=utf-8")
	is.Equal(file.ContentID, "")
	text, ended := strings.CutSuffix(string(file.Data), "\r\n")
	is.True(ended)
	var lines []string
	for line := range strings.SplitSeq(text, "\r\n") {
		is.True(len(line) <= 75)
		is.True(utf8.ValidString(line)) // No fold is within a character.
		is.True(!strings.ContainsAny(line, "\r\n"))
		if rest, folded := strings.CutPrefix(line, " "); folded {
			lines[len(lines)-1] += rest
		} else {
			lines = append(lines, line)
		}
	}
	return lines
}

func TestACalendarEntryHasTheTimesInUTC(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	tickets := lagosMail(seats(2, "Lagos Jazz Night", "VIP", 1)...)
	tickets.Event.Title = `Jazz; "Blues", Soul \ Funk`
	is.Equal(calendarOf(is, render(is, mail.NewRenderer(), tickets)), []string{
		"BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-//floatgate//ticketing//EN", "BEGIN:VEVENT",
		"UID:" + tickets.Event.ID.String() + "@mail.floatgate.example", "DTSTAMP:20300602T081500Z",
		"SEQUENCE:31775610", "DTSTART:20301224T180000Z", "DTEND:20301224T220000Z",
		`SUMMARY:Jazz\; "Blues"\, Soul \\ Funk`,
		`LOCATION:Eko Hall\, 14 Idowu Taylor Street\, Victoria Island\, Lagos`,
		`DESCRIPTION:Your tickets are in the mail from Harmattan.\nOrganizer: Harmattan Live\n` +
			`Questions: help@harmattan.example`,
		"END:VEVENT", "END:VCALENDAR",
	})
}

func TestACalendarEntryNeedsAStartThatIsAMoment(t *testing.T) {
	t.Parallel()
	renderer := mail.NewRenderer()
	for _, tt := range []struct {
		name     string
		schedule ticketing.Schedule
		times    string // empty: no entry
	}{
		{
			name: "overnight", schedule: schedule("2030-12-31", "22:00", "04:00", "Africa/Lagos"),
			times: "DTSTART:20301231T210000Z DTEND:20310101T030000Z",
		},
		{
			name: "clocks are set back", schedule: schedule("2030-10-26", "22:00", "04:00", "Europe/Berlin"),
			times: "DTSTART:20301026T200000Z DTEND:20301027T030000Z",
		},
		{
			name: "a time that is shown twice", schedule: schedule("2030-10-27", "01:00", "02:30", "Europe/Berlin"),
			times: "DTSTART:20301026T230000Z DTEND:20301027T013000Z",
		},
		{
			name: "a time that is skipped", schedule: schedule("2030-03-31", "02:30", "05:00", "Europe/Berlin"),
			times: "DTSTART:20300331T013000Z DTEND:20300331T030000Z",
		},
		{
			name: "an end before the start", schedule: schedule("2030-03-31", "02:30", "03:15", "Europe/Berlin"),
			times: "DTSTART:20300331T013000Z",
		},
		{name: "no end", schedule: schedule("2030-12-24", "19:00", "", "UTC"), times: "DTSTART:20301224T190000Z"},
		{name: "no zone", schedule: schedule("2030-12-24", "19:00", "23:00", "")},
		{name: "no start", schedule: schedule("2030-12-24", "", "23:00", "UTC")},
		{name: "no date", schedule: schedule("", "19:00", "23:00", "UTC")},
		{name: "a year with five digits", schedule: schedule("9999-12-31", "19:00", "18:00", "UTC")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			tickets := lagosMail(seats(1, "Lagos Jazz Night", "VIP", 1)...)
			tickets.Event.Schedule = tt.schedule
			var times []string
			for _, line := range calendarOf(is, render(is, renderer, tickets)) {
				if strings.HasPrefix(line, "DTSTART") || strings.HasPrefix(line, "DTEND") {
					times = append(times, line)
				}
			}
			is.Equal(strings.Join(times, " "), tt.times)
		})
	}
}
