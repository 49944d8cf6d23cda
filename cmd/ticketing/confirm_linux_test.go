package main_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/matryer/is"
	"golang.org/x/sys/unix"

	program "github.com/floatgate/ticketing/cmd/ticketing"
	"github.com/floatgate/ticketing/internal/race"
)

// terminal returns both ends of a pseudo-terminal: the end at which a person types, and the end that the program reads.
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

// typed runs a command on a terminal with a text already typed. It returns the terminal's output as stderr. The
// terminal is both the command's standard input and its standard error, and does not echo the text.
func (s *shell) typed(text string, args ...string) outcome {
	s.t.Helper()
	is := is.New(s.t)
	person, in := terminal(s.t)
	mode, err := unix.IoctlGetTermios(int(in.Fd()), unix.TCGETS)
	is.NoErr(err)
	mode.Lflag &^= unix.ECHO
	mode.Oflag &^= unix.OPOST
	is.NoErr(unix.IoctlSetTermios(int(in.Fd()), unix.TCSETS, mode))
	_, err = person.WriteString(text)
	is.NoErr(err)
	var stdout bytes.Buffer
	getenv := func(name string) string { return s.env[name] }
	status := program.Run(s.t.Context(), args, getenv, in, &stdout, in)
	is.NoErr(in.Close())
	seen, _ := io.ReadAll(person) // It ends with an error, as a terminal does.
	return outcome{status: status, stdout: stdout.String(), stderr: string(seen)}
}

// A command that cannot be undone asks for confirmation on a terminal, unless --yes is given. Any answer but yes does
// nothing.
func TestConfirmation(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	const endOfInput = "\x04"
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
		{"the end of the input", nil, endOfInput, true, 1},
		{"yes without return", nil, "y" + endOfInput + endOfInput, true, 0},
		{"--yes", []string{"--yes"}, "n\n", false, 0},
		{"--yes and --json", []string{"--yes", "--json"}, "n\n", false, 0},
		{"--json", []string{"--json"}, "y\n", false, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			sh := newShell(t).with("TICKETING_YES", "")
			shop := sh.openShop()
			did := sh.typed(test.typed, append([]string{"event", "end", shop.eventID}, test.flags...)...)
			is.Equal(did.status, test.status)
			is.Equal(strings.Contains(did.stderr, "This cannot be undone. [y/N]"), test.asked)
			if test.status == 1 {
				is.True(strings.HasSuffix(did.stderr, "ticketing: not confirmed: nothing was done\n"))
				is.Equal(did.stdout, "")
			}
			if test.typed == endOfInput {
				is.True(strings.Contains(did.stderr, "[y/N] \nticketing: ")) // The refusal is on its own line.
			}
			again := sh.run("event", "end", shop.eventID, "--yes")
			is.Equal(again.status == 0, test.status != 0) // It succeeds only if the event was not ended before.
		})
	}
}

// A person must be able to see the question and to answer it. If only one end is a terminal, nobody is asked.
func TestBothEndsAreTheTerminal(t *testing.T) {
	t.Parallel()
	sh := newShell(t).with("TICKETING_YES", "")
	company := sh.openShop().companyID
	getenv := func(name string) string { return sh.env[name] }
	args := []string{"company", "suspend", company}
	person, tty := terminal(t)
	_, err := person.WriteString("y\n")
	must(t, err)
	is := is.New(t)
	var stdout, stderr bytes.Buffer
	is.Equal(program.Run(t.Context(), args, getenv, tty, &stdout, &stderr), 2)
	is.True(strings.Contains(stderr.String(), "there is no terminal"))
	is.Equal(program.Run(t.Context(), args, getenv, strings.NewReader("y\n"), &stdout, tty), 2)
	is.Equal(sh.object("company", "show", company)["status"], "ACTIVE")
	// Standard output need not be a terminal.
	is.Equal(sh.typed("y\n", args...).status, 0)
	is.Equal(sh.object("company", "show", company)["status"], "SUSPENDED")
}

// Ctrl-C at the question ends the process as at any other time, before anything was done. This includes a replay of
// many deliveries, which handles signals only later, to report its progress.
func TestInterruptAtTheQuestion(t *testing.T) {
	t.Parallel()
	sh := newShell(t).with("TICKETING_YES", "")
	company := sh.openShop().companyID
	for _, args := range [][]string{
		{"company", "suspend", company},
		{"webhook", "replay", "--company", company, "--status", "FAILED"},
	} {
		t.Run(args[1], func(t *testing.T) {
			is := is.New(t)
			person, tty := terminal(t)
			cmd := exec.CommandContext(soon(t), os.Args[0], args...)
			cmd.Env = sh.environment()
			cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			is.NoErr(cmd.Start())
			is.NoErr(tty.Close())
			seen, buffer := "", make([]byte, 4096)
			for !strings.Contains(seen, "[y/N] ") {
				n, err := person.Read(buffer)
				is.NoErr(err)
				seen += string(buffer[:n])
			}
			_, err := person.WriteString("\x03")
			is.NoErr(err)
			is.True(cmd.Wait() != nil)
			status := cmd.ProcessState.Sys().(syscall.WaitStatus)
			is.Equal(status.Signal(), syscall.SIGINT) // A shell reports it as 130.
		})
	}
	is.New(t).Equal(sh.object("company", "show", company)["status"], "ACTIVE")
}

// A question names its subject. A command whose subject does not exist asks nothing.
func TestQuestions(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	sh := newShell(t).with("TICKETING_YES", "")
	shop := sh.openShop()
	company := `the company "Lagos Live (demo)" (` + shop.companyID + ")"
	key := strings.Split(shop.key, ".")[1]
	sh.setSender()
	category := sh.object("category", "create", "--name", "Live music", "--slug", "live-music")["id"].(string)
	order := sh.array("order", "list", shop.companyID)[0]["id"].(string)
	sh.bank(shop.companyID)
	settlement := sh.object("settlement", "request", shop.companyID)["id"].(string)
	endpoint := sh.object("webhook", "create", shop.companyID, "--url", hooks, "--events", "order.created")["id"].(string)
	about := "the endpoint " + hooks + ` of the company "Lagos Live (demo)" (` + shop.companyID + `)`
	order1 := "the order " + order + " of NGN 5000.00 (1 ticket, none scanned) of " + company
	staff := sh.array("staff", "list")[0]["userId"].(string)
	final := " This cannot be undone."
	questions := map[string]struct{ id, want string }{
		"company suspend": {
			shop.companyID,
			"Suspend " + company + "? Until it is activated it sells nothing and lets nobody in.",
		},
		"kyb revoke": {
			shop.companyID,
			"Revoke the verification of " + company + "? Until it is approved again it sells nothing.",
		},
		"wallet suspend": {
			shop.companyID,
			"Suspend the wallet FLOAT of " + company + "? Until it is activated no checkout goes through.",
		},
		"settlement approve": {settlement, "Approve the settlement of NGN 125.00 to …2653 of " + company + "?" + final},
		"settlement reject":  {settlement, "Reject the settlement of NGN 125.00 to …2653 of " + company + "?" + final},
		"order refund":       {order, "Refund " + order1 + "?" + final},
		"order cancel":       {order, "Cancel " + order1 + "?" + final},
		"event end": {
			shop.eventID,
			`End the event "Lagos Live: Highlife Night" (` + shop.eventID + `) of the company "Lagos Live (demo)"?` + final,
		},
		"key revoke":          {key, `Revoke the key "demo" (` + key + `) of the company "Lagos Live (demo)"?` + final},
		"staff remove":        {staff, "Remove administrator@example.com from the staff?"},
		"user sign-out":       {staff, "End all sessions of administrator@example.com?"},
		"category deactivate": {category, `Deactivate the category "Live music" (` + category + ")?" + final},
		"buyer erase":         {shop.companyID, `Erase the buyer "ada@example.com" of ` + company + "?" + final},
		"webhook disable":     {endpoint, "Disable " + about + " and cancel its pending deliveries?" + final},
		"webhook delete":      {endpoint, "Delete " + about + " and cancel its pending deliveries?" + final},
		"webhook activate": {
			endpoint,
			"Activate the prepared secret of " + about +
				"? The old one signs nothing new afterwards.",
		},
		"webhook replay": {shop.companyID, "Replay 0 deliveries of " + company + "?" + final},
		"mail-sender remove": {
			"",
			`Remove the mail sender "Lagos Tickets" (tickets@lagos.example)? Until one is set again no sale of any company ` +
				"gets a mail.",
		},
		"notification resend": {shop.companyID, "Send the mails of 0 orders of " + company + "?" + final},
		"webhook trigger": {
			shop.companyID,
			"Send a made-up order.created, which looks real, to the endpoints of " + company + "?" + final,
		},
	}
	for command, when := range asks {
		if _, found := questions[command]; found != (when == always || when == shown) {
			t.Errorf("%s asks %s, and its question is tested: %t", command, when, found)
		}
	}
	acts := len(sh.array("audit", "list"))
	t.Run("each", func(t *testing.T) {
		for command, test := range questions {
			t.Run(command, func(t *testing.T) {
				t.Parallel()
				is := is.New(t)
				did := sh.typed("n\n", finalCommand(command, test.id)...)
				is.Equal(did.status, 1)
				is.Equal(did.stderr, test.want+" [y/N] ticketing: not confirmed: nothing was done\n")
				if test.id == "" { // It has no subject to miss.
					return
				}
				did = sh.typed("y\n", finalCommand(command, nobody)...)
				is.Equal(did.status, 1)
				is.True(!strings.Contains(did.stderr, "[y/N]"))
				is.True(strings.Contains(did.stderr, "not found"))
			})
		}
	})
	is.New(t).Equal(len(sh.array("audit", "list")), acts) // Nothing was done.
}

// Commands that set up a company ask nothing, so that their lines can be typed or pasted one after the other. They
// still accept --yes from earlier versions.
func TestSettingUpAsksNothing(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	sh := newShell(t).with("TICKETING_YES", "")
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
		var stdout bytes.Buffer
		getenv := func(name string) string { return sh.env[name] }
		is.Equal(program.Run(t.Context(), args, getenv, in, &stdout, in), 0)
		next := make([]byte, len("the next line\n"))
		_, err = io.ReadFull(in, next)
		is.NoErr(err)
		is.Equal(string(next), "the next line\n") // It is left for the shell.
	}
}

// A question shows characters that a terminal would not, so that a person can distinguish two subjects.
func TestQuestionsShowUnseenCharacters(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newShell(t).with("TICKETING_YES", "")
	company := sh.object("company", "create", "--name", "Lagos \u202e\u200bLive")["id"].(string)
	did := sh.typed("n\n", "company", "suspend", company)
	is.True(strings.HasPrefix(did.stderr, `Suspend the company "Lagos <U+202E><U+200B>Live" (`+company+")? "))
}
