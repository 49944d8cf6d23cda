package main_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	gate "github.com/floatgate/ticketing/examples/gate"
)

// The person at the gate sees a word, and why; in a terminal a color and, where nobody is let in, the bell.
func TestScreen(t *testing.T) {
	t.Parallel()
	at := time.Now().Add(-12*time.Second - 500*time.Millisecond)
	earlier := at.AddDate(0, 0, -3)
	location := "Gate 1"
	validation := func(at time.Time, location *string) ticketing.TicketValidation {
		return ticketing.TicketValidation{
			ValidatedAt: ticketing.Time{Time: at.UTC()}, Location: location,
			Ticket: ticketing.Ticket{Title: "VIP seat", Tier: "VIP"},
		}
	}
	for _, test := range []struct {
		result gate.Result
		line   string
	}{
		{gate.Result{Verdict: gate.Admitted, Validation: validation(at, &location)}, "ADMITTED       VIP · VIP seat"},
		{
			gate.Result{Verdict: gate.AlreadyIn, Validation: validation(earlier, &location)},
			"ALREADY IN     VIP · VIP seat · " + earlier.Format("2 January 2006, 15:04:05") + " at Gate 1",
		},
		{
			gate.Result{Verdict: gate.AlreadyIn, Validation: validation(earlier, nil)},
			"ALREADY IN     VIP · VIP seat · " + earlier.Format("2 January 2006, 15:04:05"),
		},
		{gate.Result{Verdict: gate.Refunded}, "REFUNDED       the order was refunded or cancelled"},
		{gate.Result{Verdict: gate.Unknown}, "UNKNOWN        no ticket of this event was sold with this code"},
		{gate.Result{Verdict: gate.OtherEvent}, "OTHER EVENT    this is the ticket of another event"},
		{gate.Result{Verdict: gate.NotATicket}, "NOT A TICKET   this is not the code of a ticket"},
		{gate.Result{Verdict: gate.TryAgain}, "TRY AGAIN      the service could not say: scan once more"},
		{gate.Result{Verdict: gate.NotWorking}, "NOT WORKING    the service refuses this gate: call for help"},
	} {
		t.Run(test.line, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			is.Equal(show(t, test.result, false), test.line+"\n")
			terminal := show(t, test.result, true)
			word, why := strings.TrimSpace(test.line[:15]), test.line[15:]
			is.True(strings.HasPrefix(terminal, "\x1b[") && strings.HasSuffix(terminal, "\n"))
			is.True(strings.Contains(terminal, "m "+word) && strings.Contains(terminal, " "+why))
			is.Equal(strings.Contains(terminal, "\x1b[1;30;42m"), test.result.Verdict == gate.Admitted) // green
			is.Equal(strings.Contains(terminal, "\a"), test.result.Verdict != gate.Admitted)
		})
	}
	is := is.New(t)
	shown := show(t, gate.Result{Verdict: gate.AlreadyIn, Validation: validation(at, &location)}, false)
	is.True(regexp.MustCompile(` at Gate 1, \d\d s ago\n$`).MatchString(shown))
	ahead := show(t, gate.Result{Verdict: gate.AlreadyIn, Validation: validation(time.Now().Add(time.Hour), nil)}, false)
	is.True(strings.HasSuffix(ahead, ", 0 s ago\n")) // The service's clock is ahead.
}

// What people wrote into a ticket or a gate's name moves no cursor, ends no line and turns no text around.
func TestScreenShowsTextAlone(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	location := "Gate\r\nADMITTED\x1b[2J" + strings.Repeat("é", 300)
	shown := show(t, gate.Result{Verdict: gate.AlreadyIn, Validation: ticketing.TicketValidation{
		Location: &location,
		Ticket:   ticketing.Ticket{Title: "\x1b]0;title\a\u202eNIATREC\u2066\x7f\u0085Ọ̀ṣun", Tier: "V\x00I\tP\xff"},
	}}, false)
	is.Equal(strings.Count(shown, "\n"), 1)
	is.True(strings.HasPrefix(shown, "ALREADY IN     V I P\ufffd ·  ]0;title  NIATREC   Ọ̀ṣun · "))
	is.True(!strings.ContainsAny(shown, "\x00\x07\x1b\r\t\x7f\u0085\u202e\u2066"))
	is.True(strings.HasSuffix(shown, "é…\n"))
	is.True(len([]rune(shown)) < 250)
}

// A result that nobody sees is an error: the gate must not go on.
func TestScreenThatIsGone(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	is.True(errors.Is(gate.NewScreen(gone{}, false).Show(gate.Result{Verdict: gate.Admitted}), errGone))
	is.True(errors.Is(gate.NewScreen(gone{}, true).Show(gate.Result{Verdict: gate.TryAgain}), errGone))
}

var errGone = errors.New("broken pipe")

type gone struct{}

func (gone) Write([]byte) (int, error) { return 0, errGone }

func show(t *testing.T, result gate.Result, terminal bool) string {
	t.Helper()
	var text strings.Builder
	is.New(t).NoErr(gate.NewScreen(&text, terminal).Show(result))
	return text.String()
}
