package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/race"
)

// zshSession types each of its arguments into one interactive zsh, presses the tabulator and the enter key, and prints
// the arguments that the command got, a line for each. The session is the shell whose settings are in $ZDOTDIR.
const zshSession = `
zmodload zsh/zpty
zpty session zsh -d -i
for line in "$@"; do
	zpty -r -m session text '*ready *'
	zpty -w session "$line"$'\t'
	zpty -r -m session text '*<<*>>*'
	print -r -- "${${text##*<<}%%>>*}"
done
zpty -d session
`

// zshSettings are the settings of that shell. A function stands for the program. SCRIPT loads the completion.
const zshSettings = `
unset zle_bracketed_paste
autoload -Uz compinit
compinit -u -D
SCRIPT
ticketing() { print -r -- "<<$*>>" }
PS1='ready '
`

// An interactive zsh completes commands, flags, values and files, with the script sourced and in a folder of functions.
func TestCompletionInZsh(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	zsh, err := exec.LookPath("zsh")
	if err != nil {
		t.Skip("no zsh is installed")
	}
	folder := completionFolder(t, "_ticketing", "zsh")
	for _, loaded := range []string{"source ./_ticketing", "fpath=($PWD $fpath); compinit -u -D"} {
		settings := strings.Replace(zshSettings, "SCRIPT", loaded, 1)
		is.NoErr(os.WriteFile(filepath.Join(folder, ".zshrc"), []byte(settings), 0o600))
		var typed, want []string
		for _, test := range [][2]string{
			{"ticketing ev", "event"},
			{"ticketing company sus", "company suspend"},
			{"ticketing --json company create --na", "--json company create --name"},
			{"ticketing completion z", "completion zsh"},
			{"ticketing webhook listen --database-file sec", "webhook listen --database-file secret"},
			{"ticketing company list --json --database-f", "company list --json --database-file"},
		} {
			typed, want = append(typed, test[0]), append(want, test[1]) // before and after the tabulator
		}
		session := exec.CommandContext(t.Context(), zsh, append([]string{"-f", "-c", zshSession, "zsh"}, typed...)...)
		session.Dir, session.Env = folder, append(os.Environ(), "ZDOTDIR="+folder, "HOME="+folder, "TERM=dumb")
		text, err := session.Output()
		is.NoErr(err)
		var got []string
		for line := range strings.Lines(string(text)) {
			got = append(got, strings.TrimSpace(line))
		}
		is.Equal(got, want)
	}
}

// A fish completes commands, flags, values and files.
func TestCompletionInFish(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	fish, err := exec.LookPath("fish")
	if err != nil {
		t.Skip("no fish is installed")
	}
	folder := completionFolder(t, "ticketing.fish", "fish")
	for _, test := range []struct{ typed, want string }{
		{"ticketing comp", "company completion"},
		{"ticketing company sus", "suspend"},
		{"ticketing --json company create --na", "--name"},
		{"ticketing completion z", "zsh"},
		{"ticketing webhook listen --database-file sec", "secret"},
		{"ticketing event list --database-file=sec", "--database-file=secret"},
		{"ticketing company list --json --database-f", "--database-file"},
	} {
		session := exec.CommandContext(t.Context(), fish, "--no-config", "-c",
			"source ticketing.fish; complete -C $argv[1]", test.typed)
		session.Dir, session.Env = folder, append(os.Environ(), "HOME="+folder)
		text, err := session.Output()
		is.NoErr(err)
		var choices []string
		for line := range strings.Lines(string(text)) {
			choice, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
			choices = append(choices, choice)
		}
		is.Equal(strings.Join(choices, " "), test.want)
	}
}

// completionFolder returns a folder with the completion script of a shell, and a file named secret.
func completionFolder(t *testing.T, name, shell string) string {
	t.Helper()
	is := is.New(t)
	folder := t.TempDir()
	did := newShell(t).run("completion", shell)
	is.Equal(did.status, 0)
	is.NoErr(os.WriteFile(filepath.Join(folder, name), []byte(did.stdout), 0o600))
	is.NoErr(os.WriteFile(filepath.Join(folder, "secret"), nil, 0o600))
	return folder
}
