package main

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"github.com/floatgate/ticketing"
)

// maxText is how many characters of a ticket's or a gate's name are shown.
const maxText = 60

// Screen shows results to the person at the gate.
type Screen struct {
	w        io.Writer
	terminal bool
	now      func() time.Time
}

// NewScreen returns a screen. A terminal gets colors and the bell.
func NewScreen(w io.Writer, terminal bool) *Screen {
	return &Screen{w: w, terminal: terminal, now: time.Now}
}

// Wait shows that a scan has no result yet.
func (s *Screen) Wait() { _ = s.line("WAIT", "no answer yet", yellow, "") }

// Show shows the result of a scan: what to do in a word and a color, and why.
func (s *Screen) Show(result Result) error {
	validation := result.Validation
	ticket := plain(validation.Ticket.Tier) + " · " + plain(validation.Ticket.Title)
	switch result.Verdict {
	case Admitted:
		return s.line(result.Verdict, ticket, green, "")
	case AlreadyIn:
		return s.line(result.Verdict, ticket+" · "+s.first(validation), red, bell)
	case Refunded:
		return s.line(result.Verdict, "the order was refunded or cancelled", red, bell)
	case Unknown:
		return s.line(result.Verdict, "no ticket of this event was sold with this code", red, bell)
	case OtherEvent:
		return s.line(result.Verdict, "this is the ticket of another event", red, bell)
	case NotATicket:
		return s.line(result.Verdict, "this is not the code of a ticket", red, bell)
	case TryAgain:
		return s.line(result.Verdict, "the service could not say: scan once more", yellow, bell)
	default:
		return s.line(result.Verdict, "the service refuses this gate: call for help", yellow, bell)
	}
}

// What a terminal does: black on a color, and its bell.
const (
	green  = "\x1b[1;30;42m"
	red    = "\x1b[1;97;41m"
	yellow = "\x1b[1;30;43m"
	reset  = "\x1b[0m"
	bell   = "\a"
)

// line writes one line. The word says all that the color does.
func (s *Screen) line(word Verdict, why, color, sound string) error {
	if s.terminal {
		_, err := fmt.Fprintf(s.w, "%s %-12s %s %s%s\n", color, word, reset, why, sound)
		return err
	}
	_, err := fmt.Fprintf(s.w, "%-14s %s\n", word, why)
	return err
}

// first returns when and where a ticket was admitted.
func (s *Screen) first(validation ticketing.TicketValidation) string {
	at, now := validation.ValidatedAt.Local(), s.now().Local()
	text := at.Format("15:04:05")
	if at.Format(time.DateOnly) != now.Format(time.DateOnly) {
		text = at.Format("2 January 2006, 15:04:05")
	}
	if validation.Location != nil {
		text += " at " + plain(*validation.Location)
	}
	if ago := max(0, now.Sub(at)); ago < time.Minute { // The clocks may differ.
		text += fmt.Sprintf(", %d s ago", int(ago.Seconds()))
	}
	return text
}

// plain returns text for a terminal: without control characters and marks that change the direction, and not too long.
// People wrote it.
func plain(text string) string {
	letters := []rune(strings.Map(func(letter rune) rune {
		if unicode.IsPrint(letter) {
			return letter
		}
		return ' '
	}, text))
	if len(letters) > maxText {
		return string(letters[:maxText]) + "…"
	}
	return string(letters)
}
