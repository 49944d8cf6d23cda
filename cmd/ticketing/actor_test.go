package main_test

import (
	"os"
	"os/user"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/matryer/is"

	program "github.com/floatgate/ticketing/cmd/ticketing"
	"github.com/floatgate/ticketing/internal/race"
)

// The audit log takes the user and the host from the operating system, whatever the shell's environment says. The
// claimed name is recorded in addition.
func TestAuditNamesWhoRanACommand(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	system, err := user.LookupId(strconv.Itoa(os.Getuid()))
	is.NoErr(err)
	host, err := os.Hostname()
	is.NoErr(err)
	want := "command line of " + system.Username + "@" + host
	sh := newShell(t).with("USER", "mallory", "LOGNAME", "mallory", "HOSTNAME", "elsewhere")
	latest := func() any { return sh.array("audit", "list")[0]["actor"] }

	id := sh.object("company", "create", "--name", "Lagos Live")["id"].(string)
	is.Equal(latest(), want)
	sh.object("company", "suspend", id, "--actor", " Ada Obi, root@db-1 ")
	is.Equal(latest(), want+", claimed: Ada Obi, root@db-1")
	sh.with("TICKETING_ACTOR", "ticket OPS-7").object("company", "activate", id)
	is.Equal(latest(), want+", claimed: ticket OPS-7")
	sh.with("TICKETING_ACTOR", "ticket OPS-7").object(
		"company", "rename", id, "--name", "Lagos", "--actor", "Ada \u202eibO",
	)
	is.Equal(latest(), want+", claimed: Ada \u202eibO")
	is.True(strings.Contains(sh.run("audit", "list").stdout, "  "+want+", claimed: Ada <U+202E>ibO  "))
	sh.with("TICKETING_ACTOR", "").object("company", "suspend", id)
	is.Equal(latest(), want)

	for _, claimed := range []string{"", " ", "a\nb", "a\x1bb", strings.Repeat("é", 65)} {
		code, message := sh.refusal("company", "activate", id, "--actor="+claimed)
		is.Equal(code, "INVALID_REQUEST")
		is.True(strings.Contains(message, "--actor: must be 1 to 64 characters on one line"))
	}
	is.Equal(latest(), want)

	demo := newShell(t)
	is.Equal(demo.run("demo", "--once", "--addr", "127.0.0.1:0", "--actor", "Ada Obi").status, 0)
	for _, act := range demo.array("audit", "list") {
		is.Equal(act["actor"], want+", claimed: Ada Obi")
	}
}

// Every command accepts --actor, so that a script can pass it to all of them.
func TestEveryCommandTakesAnActor(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	commands, err := program.Commands()
	is.NoErr(err)
	sh := newShell(t)
	for command := range commands {
		is.True(strings.Contains(sh.run(append(strings.Fields(command), "--help")...).stdout, "--actor=TEXT"))
	}
}

// A user without a name, as in containers, is recorded by number.
func TestUserWithoutAName(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	is.Equal(program.SystemUser(4242), "uid 4242")
	is.Equal(program.SystemUser(0), "root")
	is.Equal(program.ActorName("uid 1000", "3f2a", ""), "command line of uid 1000@3f2a")
	passwd := "root:x:0:0:root:/root:/bin/bash\n\nbroken\nada:x:1000:1000:Ada:/home/ada:/bin/sh\n"
	for uid, name := range map[int]string{0: "root", 1000: "ada", 1: "", 100: ""} {
		is.Equal(program.NameIn(strings.NewReader(passwd), uid), name)
	}
}

// The names that the operating system reports fit into the log, on one line, and cannot be mistaken for a claim.
func TestActorNameIsBounded(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	long := strings.Repeat("é", 300)
	is.True(utf8.RuneCountInString(program.ActorName(long, long, strings.Repeat("é", 64))) <= 200)
	is.Equal(program.ActorName("a, claimed: b", "h\n\x00\xff, claimed: c", "d"),
		"command line of a_ claimed: b@h_ claimed: c, claimed: d")
	is.Equal(program.ActorName("ngozi", "", ""), "command line of ngozi")
}
