package main_test

import (
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/matryer/is"

	program "github.com/floatgate/ticketing/cmd/ticketing"
	"github.com/floatgate/ticketing/internal/race"
)

// The help of every command fits a terminal of 80 columns, and "help COMMAND" prints the same.
func TestHelpFitsATerminal(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves the width of every help out")
	}
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	commands, err := program.Commands()
	is.NoErr(err)
	sh := newShell(t)
	commands[""] = ""
	for command := range commands {
		text := sh.run(append(strings.Fields(command), "--help")...).stdout
		for line := range strings.SplitSeq(text, "\n") {
			if utf8.RuneCountInString(line) > 80 {
				t.Errorf("ticketing %s --help: 80 columns do not hold %q", command, line)
			}
		}
	}
	for _, command := range []string{"", "company", "company create"} {
		args := strings.Fields(command)
		did := sh.run(append([]string{"help"}, args...)...)
		is.Equal(did.status, 0)
		is.Equal(did.stdout, sh.run(append(args, "--help")...).stdout)
	}
	is.Equal(sh.run("help", "sell").status, 2)
}

// The version is printed by a flag, too, whatever TICKETING_VERSION says.
func TestVersionFlag(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	sh := newShell(t).with("TICKETING_VERSION", "1")
	sh.object("migrate")
	did := sh.run("--version")
	is.Equal(did.status, 0)
	is.True(strings.HasPrefix(did.stdout, "ticketing "))
	is.Equal(strings.Count(did.stdout, "\n"), 1)
	hasMembers(t, sh.object("--version"), "version", "commit", "go")
	is.Equal(sh.run("company", "list").status, 0)
}

// The scripts complete commands and flags. Each is right for its shell, where that is installed.
func TestCompletion(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newShell(t)
	is.Equal(sh.run("completion", "csh").status, 1)
	for _, shell := range []string{"bash", "zsh", "fish"} {
		did := sh.run("completion", shell)
		is.Equal(did.status, 0)
		if path, err := exec.LookPath(shell); err == nil {
			check := exec.CommandContext(t.Context(), path, "-n")
			check.Stdin = strings.NewReader(did.stdout)
			text, err := check.CombinedOutput()
			is.NoErr(err)
			is.Equal(string(text), "")
		}
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		return
	}
	script := sh.run("completion", "bash").stdout
	for _, test := range []struct{ words, want string }{
		{"ticketing comp", "company completion"},
		{"ticketing company sus", "suspend"},
		{"ticketing --json company create --na", "--name"},
		{"ticketing completion z", "zsh"},
		{"ticketing webhook listen --database-file ''", ""}, // so that files complete
		{"ticketing --database-file = ''", ""},
		{"ticketing company list --json --database-f", "--database-file"},
	} {
		line := "COMP_WORDS=(" + test.words + "); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _ticketing; echo ${COMPREPLY[*]}"
		// The bash of macOS is 3.2, which has no mapfile.
		text, err := exec.CommandContext(t.Context(), bash, "-c", "enable -n mapfile readarray; "+script+line).Output()
		is.NoErr(err)
		is.Equal(strings.TrimSpace(string(text)), test.want)
	}
}

// The variables that Kubernetes sets for a Service named ticketing are not warned of. A port is.
func TestVariablesOfKubernetes(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	leftOut(t)
	is := is.New(t)
	sh := newShell(t).with("TICKETING_PORT", "tcp://10.0.0.7:80", "TICKETING_SERVICE_HOST", "10.0.0.7",
		"TICKETING_SERVICE_PORT", "80", "TICKETING_SERVICE_PORT_HTTP", "80", "TICKETING_PORT_80_TCP", "tcp://10.0.0.7:80",
		"TICKETING_PORT_80_TCP_ADDR", "10.0.0.7")
	p := sh.start("version")
	is.Equal(p.wait(), 0)
	is.Equal(p.errors(), "")
	p = sh.with("TICKETING_PORT", "8080").start("version")
	is.Equal(p.wait(), 0)
	is.True(strings.Contains(p.errors(), "variable TICKETING_PORT"))
}

// A misspelled variable is warned of with the name that was meant, on standard error. The command runs.
func TestMisspelledVariable(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	leftOut(t)
	is := is.New(t)
	sh := newShell(t)
	sh.object("migrate")
	sh = sh.with("TICKETING_WEBORIGIN", "https://tickets.example", "TICKETING_API_KEY", "x", "TICKETING_QUITE_OTHER", "1")
	p := sh.start("company", "list")
	is.Equal(p.wait(), 0)
	said := p.errors()
	is.True(strings.Contains(said, "ticketing: warning: no flag has the environment variable "+
		"TICKETING_WEBORIGIN; did you mean TICKETING_WEB_ORIGIN?\n"))
	is.True(strings.Contains(said, "variable TICKETING_QUITE_OTHER\n"))
	is.True(!strings.Contains(said, "TICKETING_API_KEY"))
	p = sh.start("company", "list", "--json")
	line, err := p.stdout.ReadString('\n')
	is.NoErr(err)
	is.Equal(line, "[]\n")
	is.Equal(p.wait(), 0)
	warned := func(stderr string, isRefused bool) {
		t.Helper()
		var body struct {
			Error    *struct{ Code string }
			Warnings []string
		}
		decodeJSON(t, stderr, &body)
		is.Equal(body.Error != nil, isRefused)
		is.Equal(len(body.Warnings), 2)
		is.True(strings.Contains(strings.Join(body.Warnings, ""), "did you mean TICKETING_WEB_ORIGIN?"))
	}

	// With --json, standard error of a command is one value, which has the warnings. That of a server is a log.
	warned(p.errors(), false)
	for _, refused := range [][]string{{"key", "show", "nokey", "--json"}, {"company", "lost", "--json"}} {
		p = sh.start(refused...)
		is.True(p.wait() != 0)
		warned(p.errors(), true)
	}
	// A command that runs for long warns before it begins.
	p = sh.start("proxy", "check", "--json", "--proxy", "http://127.0.0.1:1/tickets", "--listen", "127.0.0.1:0")
	warned(<-p.errorLines, false)
	p.signal(syscall.SIGINT)
	p.wait()
	is.Equal(strings.Count(p.errors(), `"warnings"`), 1) // They are not repeated.
	p = sh.start("serve", "--json", "--addr", "192.0.2.1:0")
	is.True(p.wait() != 0)
	is.True(strings.Contains(p.errors(), "TICKETING_WEBORIGIN"))
}
