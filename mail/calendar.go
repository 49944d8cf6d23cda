package mail

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/floatgate/ticketing"
)

// calendarEntry returns the event as an iCalendar object (RFC 5545). It is nil if the schedule lacks its date, its
// start or its zone, so that the start is not a moment.
//
// The entry has no method, since the mail is not an invitation to reply to. Its UID depends only on the event: a mail
// that is sent again, or another order for the event, updates the entry and adds no second one. The sequence is the
// minute of the event's last change, so it grows with each change.
func calendarEntry(tickets ticketing.TicketMail, page *ticketPage, when span) []byte {
	if !when.fixed() || !inCalendar(when.start) || !inCalendar(when.end) {
		return nil
	}
	var c calendar
	c.line("BEGIN", "VCALENDAR")
	c.line("VERSION", "2.0")
	c.line("PRODID", "-//floatgate//ticketing//EN")
	c.line("BEGIN", "VEVENT")
	c.line("UID", tickets.Event.ID.String()+"@"+senderDomain(tickets.Sender.Address))
	c.time("DTSTAMP", tickets.At)
	c.line("SEQUENCE", strconv.FormatInt(max(0, tickets.Event.UpdatedAt.Unix()/60), 10))
	c.time("DTSTART", when.start)
	if !when.end.IsZero() {
		c.time("DTEND", when.end)
	}
	c.text("SUMMARY", page.Title)
	c.text("LOCATION", page.Where())
	c.text("DESCRIPTION", page.calendarText())
	c.line("END", "VEVENT")
	c.line("END", "VCALENDAR")
	return []byte(c.String())
}

// inCalendar reports whether a moment has a year of four digits, as a calendar needs. The zero moment passes: it means
// that there is none.
func inCalendar(at time.Time) bool {
	year := at.UTC().Year()
	return at.IsZero() || 1 <= year && year <= 9999
}

// calendar writes the lines of an iCalendar object.
type calendar struct{ strings.Builder }

// line writes a line, folded so that no line has more than 75 octets without its end. It does not fold within a
// character.
func (c *calendar) line(name, value string) {
	const limit = 75
	rest := name + ":" + value
	for room := limit; len(rest) > room; room = limit - 1 { // A continuation line begins with a space.
		end := room
		for !utf8.RuneStart(rest[end]) {
			end--
		}
		c.WriteString(rest[:end] + "\r\n ")
		rest = rest[end:]
	}
	c.WriteString(rest + "\r\n")
}

// text writes a line with a text, and nothing for an empty one.
func (c *calendar) text(name, text string) {
	if text != "" {
		c.line(name, strings.NewReplacer(`\`, `\\`, ";", `\;`, ",", `\,`, "\n", `\n`).Replace(text))
	}
}

// time writes a line with a moment in UTC.
func (c *calendar) time(name string, at time.Time) {
	c.line(name, at.UTC().Format("20060102T150405Z"))
}
