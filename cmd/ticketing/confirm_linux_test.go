package main_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"
	"golang.org/x/sys/unix"

	program "github.com/floatgate/ticketing/cmd/ticketing"
)

// terminal is both ends of a pseudo-terminal: what a person types, and what the program reads.
func terminal(t *testing.T) (person, in *os.File) {
	t.Helper()
	is := is.New(t)
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	is.NoErr(err)
	t.Cleanup(func() { _ = person.Close() })
	is.NoErr(unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	is.NoErr(err)
	in, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	is.NoErr(err)
	t.Cleanup(func() { _ = in.Close() })
	return person, in
}

// What cannot be undone is asked about on a terminal, unless --json or --yes is there. Anything but yes does nothing.
func TestConfirmation(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		flags  []string
		typed  string
		asked  bool
		status int
	}{
		{"yes", nil, "y\n", true, 0},
		{"the whole word", nil, "Yes\n", true, 0},
		{"no", nil, "n\n", true, 1},
		{"only return", nil, "\n", true, 1},
		{"--yes", []string{"--yes"}, "n\n", false, 0},
		{"--json", []string{"--json"}, "n\n", false, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			sh := newShell(t)
			shop := sh.openShop()
			person, in := terminal(t)
			_, err := person.WriteString(test.typed)
			is.NoErr(err)
			var stdout, stderr bytes.Buffer
			getenv := func(name string) string { return sh.env[name] }
			args := append([]string{"event", "end", shop.eventID}, test.flags...)
			is.Equal(program.Run(t.Context(), args, getenv, in, &stdout, &stderr), test.status)
			is.Equal(strings.Contains(stderr.String(), "This cannot be undone. [y/N]"), test.asked)
			again := sh.run("event", "end", shop.eventID)
			is.Equal(again.status == 0, test.status != 0) // It was not ended, or it was.
		})
	}
}

// A question names what it is about, and nothing is asked about what is not there.
func TestQuestions(t *testing.T) {
	t.Parallel()
	sh := newShell(t)
	shop := sh.openShop()
	key := strings.Split(shop.key, ".")[1]
	category := sh.object("category", "create", "--name", "Live music", "--slug", "live-music")["id"].(string)
	order := sh.array("order", "list", shop.companyID)[0]["id"].(string)
	sh.bank(shop.companyID)
	settlement := sh.object("settlement", "request", shop.companyID)["id"].(string)
	endpoint := sh.object("webhook", "create", shop.companyID, "--url", hooks, "--events", "order.created")["id"].(string)
	about := "the endpoint " + hooks + ` of the company "Lagos Live (demo)" (` + shop.companyID + `)`
	for _, test := range []struct {
		args []string
		id   string
		want string
	}{
		{
			[]string{"settlement", "approve"},
			settlement,
			`Approve the settlement of NGN 125.00 to …2653 of the company "Lagos Live (demo)" (` + shop.companyID + `)?`,
		},
		{
			[]string{"settlement", "reject", "--reason", "r"},
			settlement,
			`Reject the settlement of NGN 125.00 to …2653 of the company "Lagos Live (demo)" (` + shop.companyID + `)?`,
		},
		{
			[]string{"order", "refund", "--reason", "r"},
			order,
			`Refund the order ` + order +
				` of NGN 5000.00, 1 tickets, 0 of them scanned, of the company "Lagos Live (demo)" (` + shop.companyID + `)?`,
		},
		{
			[]string{"order", "cancel", "--reason", "r"},
			order,
			`Cancel the order ` + order +
				` of NGN 5000.00, 1 tickets, 0 of them scanned, of the company "Lagos Live (demo)" (` + shop.companyID + `)?`,
		},
		{[]string{"event", "end"}, shop.eventID, `End the event "Lagos Live: Highlife Night" (` + shop.eventID + `) of the company "Lagos Live (demo)"?`},
		{[]string{"key", "revoke"}, key, `Revoke the key "demo" (` + key + `) of the company "Lagos Live (demo)"?`},
		{[]string{"category", "deactivate"}, category, `Deactivate the category "Live music" (` + category + `)?`},
		{
			[]string{"buyer", "erase", "--email", "ada@example.com"},
			shop.companyID,
			`Erase the buyer "ada@example.com" of the company "Lagos Live (demo)" (` + shop.companyID + `)?`,
		},
		{[]string{"webhook", "disable"}, endpoint, "Disable " + about + " and cancel what waits for it?"},
		{[]string{"webhook", "delete"}, endpoint, "Delete " + about + " and cancel what waits for it?"},
		{
			[]string{"webhook", "activate"},
			endpoint,
			"Sign with the prepared secret what is delivered to " + about + "?",
		},
		{
			[]string{"webhook", "replay", "--status", "FAILED", "--company"},
			shop.companyID,
			`Deliver again what 0 deliveries of the company "Lagos Live (demo)" (` + shop.companyID + `) were about?`,
		},
	} {
		t.Run(strings.Join(test.args[:2], " "), func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			getenv := func(name string) string { return sh.env[name] }
			person, in := terminal(t)
			_, err := person.WriteString("n\n")
			is.NoErr(err)
			for _, id := range []string{test.id, nobody} {
				var stdout, stderr bytes.Buffer
				is.Equal(program.Run(t.Context(), append(slices.Clip(test.args), id), getenv, in, &stdout, &stderr), 1)
				if id == nobody {
					is.True(!strings.Contains(stderr.String(), "[y/N]"))
					is.True(strings.Contains(stderr.String(), "not found"))
				} else {
					is.True(strings.HasPrefix(stderr.String(), test.want+" This cannot be undone. [y/N] "))
				}
			}
		})
	}
}

// What sets a company up asks nothing, so that its lines can be typed, or pasted, one after the other. A --yes of before
// is still taken.
func TestSettingUpAsksNothing(t *testing.T) {
	t.Parallel()
	sh := newShell(t)
	company := sh.openShop().companyID
	for _, args := range [][]string{
		{"commission", "schedule", company, "--value", "250", "--unit", "BASIS_POINTS"},
		{"commission", "schedule", company, "--value", "250", "--unit", "BASIS_POINTS", "--yes"},
		{"float", "credit", company, "--amount", "1000000.00", "--reference", "settlement-0001"},
		{"float", "credit", company, "--amount", "1000000.00", "--reference", "settlement-0001", "--yes"},
	} {
		is := is.New(t)
		person, in := terminal(t)
		_, err := person.WriteString("the next line\n")
		is.NoErr(err)
		var stdout, stderr bytes.Buffer
		getenv := func(name string) string { return sh.env[name] }
		is.Equal(program.Run(t.Context(), args, getenv, in, &stdout, &stderr), 0)
		is.Equal(stderr.String(), "")
		next := make([]byte, len("the next line\n"))
		_, err = io.ReadFull(in, next)
		is.NoErr(err)
		is.Equal(string(next), "the next line\n") // It is there for the shell.
	}
}

// A sample event looks real to those who get it, so a person is asked, and without a yes none is made.
func TestTriggerAsks(t *testing.T) {
	t.Parallel()
	sh := newShell(t)
	company := sh.openShop().companyID
	triggers := func() int { return strings.Count(sh.run("audit", "list", company).stdout, "webhook.trigger") }
	for made, flags := range [][]string{nil, {"--yes"}, {"--json"}} {
		is := is.New(t)
		person, in := terminal(t)
		_, err := person.WriteString("n\n")
		is.NoErr(err)
		var stdout, stderr bytes.Buffer
		getenv := func(name string) string { return sh.env[name] }
		args := append([]string{"webhook", "trigger", company, "order.created"}, flags...)
		status := program.Run(t.Context(), args, getenv, in, &stdout, &stderr)
		is.Equal(status == 0, flags != nil)
		is.Equal(strings.HasPrefix(stderr.String(), "Send a made-up order.created, which looks real, to the endpoints of the "+
			`company "Lagos Live (demo)" (`+company+")? This cannot be undone. [y/N] "), flags == nil)
		is.Equal(triggers(), made)
	}
}

// Without a terminal nobody is asked, so that scripts need no flag.
func TestNoConfirmationInScripts(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	sh := newShell(t)
	is.Equal(sh.run("event", "end", sh.openShop().eventID).status, 0)
}
