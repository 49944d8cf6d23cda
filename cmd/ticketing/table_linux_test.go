package main_test

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/matryer/is"
	"golang.org/x/sys/unix"

	program "github.com/floatgate/ticketing/cmd/ticketing"
	"github.com/floatgate/ticketing/internal/race"
)

// shownAt runs a command whose output is a terminal of so many columns.
func (s *shell) shownAt(columns uint16, args ...string) string {
	s.t.Helper()
	is := is.New(s.t)
	person, out := terminal(s.t)
	mode, err := unix.IoctlGetTermios(int(out.Fd()), unix.TCGETS)
	is.NoErr(err)
	mode.Oflag &^= unix.OPOST
	is.NoErr(unix.IoctlSetTermios(int(out.Fd()), unix.TCSETS, mode))
	is.NoErr(unix.IoctlSetWinsize(int(out.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: 50}))
	seen := make(chan string)
	go func() {
		text, _ := io.ReadAll(person) // It ends with an error, as a terminal does.
		seen <- string(text)
	}()
	getenv := func(name string) string { return s.env[name] }
	is.Equal(program.Run(s.t.Context(), args, getenv, strings.NewReader(""), out, io.Discard), 0)
	is.NoErr(out.Close())
	return <-seen
}

// On a terminal a table fits the width, states are colored unless somebody objects, and a long list stops at 50 rows.
// Other outputs have whole ids and times, no color, and all rows.
func TestTableFitsTheTerminal(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves wide tables out")
	}
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newShell(t).with("TERM", "xterm-256color")
	shop := sh.openShop()
	op := sh.operator()
	for i := range 60 {
		_, err := op.CreateCompany(t.Context(), fmt.Sprintf("Company %d with a long name, as some have", i)[:40])
		is.NoErr(err)
	}
	ada := sh.object("staff", "add", "--email", "ada.obi@lagos-live.example.com", "--name", "Ada Obi of the platform",
		"--role", "ADMINISTRATOR")
	sh.object("webhook", "create", shop.companyID, "--events", "order.created,commission.accrued",
		"--url", "https://hooks.lagos-live.example.com/ticketing/receive/every/event/of/this/company")
	sh.object("webhook", "trigger", shop.companyID, "order.created")
	server, _ := sh.serve()
	eventually(t, "a delivery", func() bool { return len(sh.array("webhook", "deliveries", shop.companyID)) > 0 })
	server.signal(syscall.SIGTERM)
	is.Equal(server.wait(), 0)
	sh.bank(shop.companyID)
	sh.object("settlement", "request", shop.companyID)
	sh.object("category", "create", "--name", "Live music and all that belongs to a night out", "--slug", "live-music")
	plain := sh.with("NO_COLOR", "1")
	for _, args := range [][]string{
		{"company", "list"},
		{"kyb", "list"},
		{"order", "list", shop.companyID},
		{"audit", "list"},
		{"key", "list", shop.companyID},
		{"ledger", "list", shop.companyID},
		{"event", "list", shop.companyID},
		{"staff", "list"},
		{"member", "list", shop.companyID},
		{"notification", "list", shop.companyID},
		{"webhook", "list", shop.companyID},
		{"webhook", "deliveries", shop.companyID},
		{"settlement", "list"},
		{"settlement", "list", shop.companyID},
		{"commission", "list", shop.companyID},
		{"category", "list"},
	} {
		for _, columns := range []uint16{80, 120, 200} {
			text := plain.shownAt(columns, args...)
			is.True(strings.Count(text, "\n") > 1 || args[0] == "notification") // There is a row.
			is.True(!strings.Contains(text, "\x1b"))
			for line := range strings.SplitSeq(text, "\n") {
				if utf8.RuneCountInString(line) > int(columns) {
					t.Errorf("%s: %d columns do not hold %q", args, columns, line)
				}
			}
		}
	}

	narrow := plain.shownAt(80, "company", "list")
	is.True(strings.Contains(narrow, shop.companyID[:8]+"  Lagos Live (demo)"))
	is.True(!strings.Contains(narrow, shop.companyID))
	is.Equal(sh.object("company", "show", shop.companyID[:8])["id"], shop.companyID)      // It can be used.
	is.True(strings.Contains(plain.shownAt(80, "staff", "list"), ada["userId"].(string))) // Commands take it whole only.
	is.True(strings.Contains(narrow, "The first 50 are shown: --all shows all, and --limit N shows N.\n"))
	is.Equal(strings.Count(narrow, "\n"), 1+50+1)
	is.Equal(strings.Count(plain.shownAt(80, "company", "list", "--all"), "\n"), 1+61)
	is.Equal(strings.Count(plain.shownAt(80, "company", "list", "--limit", "2"), "\n"), 1+2)
	is.True(strings.Contains(plain.shownAt(80, "order", "list", shop.companyID), "s ago"))

	is.True(strings.Contains(sh.shownAt(80, "company", "list"), "\x1b[32mACTIVE\x1b[0m"))
	is.True(strings.Contains(sh.shownAt(80, "company", "show", shop.companyID), "\x1b[32mAPPROVED\x1b[0m"))
	is.True(!strings.Contains(sh.with("TERM", "dumb").shownAt(80, "company", "list"), "\x1b"))
	piped := sh.run("company", "list").stdout
	is.True(!strings.Contains(piped, "\x1b"))
	is.True(strings.Contains(piped, shop.companyID))
	is.Equal(strings.Count(piped, "\n"), 1+61)
}

// On a terminal JSON has the same meaning and no invisible character: a name cannot change the direction of what
// follows it.
func TestJSONOnATerminal(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	const name = "Lagos \u202e\U000e0041 Live"
	sh := newShell(t)
	id := sh.object("company", "create", "--name", name)["id"].(string)
	for _, args := range [][]string{{"company", "show", id}, {"company", "list"}} {
		text := sh.shownAt(80, append(args, "--json")...)
		is.True(strings.Contains(text, `Lagos \u202e\udb40\udc41 Live`))
		is.True(!strings.ContainsAny(text, "\u202e\U000e0041"))
		var shown any
		decodeJSON(t, text, &shown)
		is.Equal(shown, sh.value(args...))
	}
}

// A terminal gets no line for each request by default, since it would be mixed with what a person types. A file does.
func TestLogOnATerminal(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	for _, test := range []struct {
		name, level string
		terminal    bool
		want        bool
	}{
		{"a file by default", "", false, true},
		{"a terminal by default", "", true, false},
		{"a terminal with a level", "info", true, true},
		{"a file with a level", "warn", false, false},
	} {
		person, out := terminal(t)
		var file bytes.Buffer
		var to io.Writer = &file
		if test.terminal {
			to = out
		}
		logger, err := program.Logger(test.level, to)
		is.NoErr(err)
		logger.Info("a request")
		is.NoErr(out.Close())
		// Reading ends with an error, as of a terminal.
		seen, _ := io.ReadAll(person)
		is.Equal(strings.Contains(file.String()+string(seen), "a request"), test.want) // Of test.name.
	}
}
