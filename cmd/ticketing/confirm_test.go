package main_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/matryer/is"

	program "github.com/floatgate/ticketing/cmd/ticketing"
	"github.com/floatgate/ticketing/internal/race"
)

// The values of asks: when a command asks for confirmation.
const (
	never  = "never"
	noMore = "no more" // accepts --yes, without effect
	shown  = "on a terminal"
	always = "always" // on a terminal; elsewhere the command is refused without --yes
)

// asks is when each command asks for confirmation. A new command must be added.
var asks = map[string]string{
	"demo": never, "serve": never, "migrate": never, "bench": never, "health": never, "version": never,
	"cluster status": never,
	"help":           never, "completion": never,
	"company create": never, "company list": never, "company show": never, "company rename": never,
	"company suspend": always, "company activate": never,
	"member add": never, "member list": never, "member update": never, "member remove": never,
	"kyb list": never, "kyb show": never, "kyb edit": never, "kyb submit": never,
	"kyb approve": never, "kyb reject": never, "kyb grace": never, "kyb end-grace": never, "kyb revoke": always,
	"branding set": never, "branding show": never,
	"commission schedule": noMore, "commission list": never,
	"float credit": noMore,
	"wallet show":  never, "wallet suspend": always, "wallet activate": never,
	"ledger list": never, "ledger verify": never, "ledger export": never, "ledger statement": never,
	"ledger public-key": never,
	"key issue":         never, "key rotate": never, "key revoke": always, "key list": never,
	"webhook create": never, "webhook list": never, "webhook show": never, "webhook update": never,
	"webhook enable": never, "webhook disable": always, "webhook delete": always, "webhook rotate": never,
	"webhook activate": shown, "webhook reseal": never, "webhook deliveries": never, "webhook delivery": never,
	"webhook replay": always, "webhook listen": never, "webhook trigger": always,
	"mail-sender set": never, "mail-sender show": never, "mail-sender remove": always, "mail-sender check": never,
	"mail-sender test":  never,
	"notification list": never, "notification show": never, "notification resend": always, "notification preview": never,
	"bank-account set": never, "bank-account show": never, "bank-account reseal": never,
	"settlement request": never, "settlement approve": always, "settlement reject": always, "settlement list": never,
	"order list": never, "order show": never, "order refund": always, "order cancel": always,
	"category create": never, "category list": never, "category deactivate": always,
	"buyer show": never, "buyer erase": always,
	"event list": never, "event end": always,
	"stats rebuild": never,
	"staff add":     never, "staff list": never, "staff update": never, "staff remove": always,
	"user link": never, "user show": never, "user sign-out": always,
	"audit list":    never,
	"embed snippet": never, "proxy check": never,
}

// finalArgs are valid arguments of the commands that always ask, without the id of the subject, which comes last.
var finalArgs = map[string]string{
	"company suspend": "", "kyb revoke": "", "wallet suspend": "--wallet FLOAT", "key revoke": "",
	"webhook disable": "", "webhook delete": "", "webhook replay": "--status FAILED --company",
	"webhook trigger":    "order.created",
	"mail-sender remove": "", "notification resend": "--missing --company",
	"settlement approve": "", "settlement reject": "--reason r",
	"order refund": "--reason r", "order cancel": "--reason r",
	"staff remove": "", "user sign-out": "",
	"category deactivate": "", "buyer erase": "--email ada@example.com", "event end": "",
}

// finalCommand returns the command line of a command that always asks, for a subject.
func finalCommand(command, subject string) []string {
	words := append(strings.Fields(command), strings.Fields(finalArgs[command])...)
	switch command {
	case "webhook trigger": // The event type is its last argument.
		return append(words[:2:2], subject, words[2])
	case "mail-sender remove": // There is only one.
		return words
	}
	return append(words, subject)
}

// Every command is listed in asks, and the help of its --yes agrees.
func TestEveryCommandDecidesWhetherItAsks(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	commands, err := program.Commands()
	is.NoErr(err)
	helps := map[string]string{
		never: "", noMore: "Has no effect: this command does not ask.", shown: "Do not ask for confirmation.",
		always: "Do not ask for confirmation. Required without a terminal, and with --json.",
	}
	for command, help := range commands {
		when, decided := asks[command]
		if !decided {
			t.Errorf("%s: whether it asks for confirmation is not decided", command)
		}
		if help != helps[when] {
			t.Errorf("%s asks %s, and its --yes is for: %q", command, when, help)
		}
		_, final := finalArgs[command]
		if final != (when == always) {
			t.Errorf("%s asks %s, and its refusal is tested: %t", command, when, final)
		}
	}
	for command := range asks {
		if _, found := commands[command]; !found {
			t.Errorf("there is no %s", command)
		}
	}
}

// A command that cannot be undone is refused with a usage error if nobody can be asked, before it opens the database.
func TestFinalCommandsAreRefusedUnasked(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	for command := range finalArgs {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			path := filepath.Join(t.TempDir(), "t.db")
			getenv := func(name string) string {
				return map[string]string{"TICKETING_DATABASE": "sqlite:" + path}[name]
			}
			for _, flags := range [][]string{nil, {"--json"}, {"--yes=false"}} {
				var stdout, stderr bytes.Buffer
				args := append(finalCommand(command, nobody), flags...)
				is.Equal(program.Run(t.Context(), args, getenv, strings.NewReader("y\n"), &stdout, &stderr), 2)
				is.Equal(stdout.String(), "")
				want := command + " asks for confirmation, and there is no terminal: nothing was done; add --yes to confirm\n" +
					`Run "ticketing ` + command + ` --help" for how it is used.`
				if len(flags) == 1 && flags[0] == "--json" {
					code, message := refused(t, stderr.String())
					is.Equal(code, "NOT_CONFIRMED")
					is.Equal(message, strings.Replace(want, "there is no terminal", "--json cannot ask", 1))
				} else {
					is.Equal(stderr.String(), "ticketing: "+want+"\n")
				}
			}
			_, err := os.Stat(path)
			is.True(os.IsNotExist(err))
		})
	}
}

// Sending one mail again adds one mail and needs no confirmation.
func TestResendOfOneIsNotConfirmed(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newShell(t).with("TICKETING_YES", "")
	sh.object("company", "create", "--name", "Lagos Live")
	code, _ := sh.refusal("notification", "resend", nobody)
	is.Equal(code, "NOT_FOUND")
}

// A replay of one delivery adds one delivery, like the first attempt, and needs no confirmation.
func TestReplayOfOneIsNotConfirmed(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newShell(t).with("TICKETING_YES", "")
	sh.object("company", "create", "--name", "Lagos Live")
	code, _ := sh.refusal("webhook", "replay", nobody)
	is.Equal(code, "NOT_FOUND")
}

// With --yes a script goes ahead, also with --json. The environment variable of the flag has the same effect.
func TestFinalCommandsGoAheadWithYes(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newShell(t).with("TICKETING_YES", "")
	company := sh.object("company", "create", "--name", "Lagos Live")["id"].(string)
	is.Equal(sh.object("company", "suspend", company, "--yes")["status"], "SUSPENDED")
	sh.object("company", "activate", company)
	is.Equal(sh.run("company", "suspend", company, "--yes").status, 0)
	sh.object("company", "activate", company)
	is.Equal(sh.run("company", "suspend", company).status, 2)
	is.Equal(sh.object("company", "show", company)["status"], "ACTIVE")
	is.Equal(sh.with("TICKETING_YES", "1").object("company", "suspend", company)["status"], "SUSPENDED")
}
