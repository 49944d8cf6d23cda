package main_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/race"
)

// invisible maps a character of each invisible kind to its visible form.
var invisible = map[string]string{
	"\u00ad": "<U+00AD>", "\u034f": "<U+034F>", "\u061c": "<U+061C>", "\u115f": "<U+115F>", "\u180b": "<U+180B>",
	"\u200b": "<U+200B>", "\u200c": "<U+200C>", "\u200d": "<U+200D>", "\u200e": "<U+200E>", "\u200f": "<U+200F>",
	"\u202a": "<U+202A>", "\u202b": "<U+202B>", "\u202c": "<U+202C>", "\u202d": "<U+202D>", "\u202e": "<U+202E>",
	"\u2028": "<U+2028>", "\u2029": "<U+2029>", "\u2060": "<U+2060>", "\u2064": "<U+2064>", "\u2066": "<U+2066>",
	"\u2067": "<U+2067>", "\u2068": "<U+2068>", "\u2069": "<U+2069>", "\u3164": "<U+3164>", "\ufe0f": "<U+FE0F>",
	"\ufeff": "<U+FEFF>", "\U000e0041": "<U+E0041>", "\U000e0100": "<U+E0100>",
}

// An invisible character is printed as its number in all output for people, so that no name passes for another. The
// database and JSON keep it.
func TestUnseenCharactersAreShown(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newShell(t)
	name, want := "Lagos", "Lagos"
	for character, shown := range invisible {
		name, want = name+character+"-", want+shown+"-"
	}
	name += "Élan 東京 لاگوس \u0600"
	want += "Élan 東京 لاگوس \u0600" // Letters and visible marks are unchanged.
	created := sh.run("company", "create", "--name", name)
	is.Equal(created.status, 0)
	is.True(strings.Contains(created.stdout, "Name              "+want+"\n"))
	company := sh.array("company", "list")[0]
	is.Equal(company["name"], name)
	is.True(strings.Contains(sh.run("company", "list").stdout, "  "+want+"  ACTIVE  "))
	is.True(strings.Contains(sh.run("audit", "list").stdout, "<U+202E>"))

	for _, args := range [][]string{{"company", "list"}, {"company", "show", company["id"].(string)}, {"audit", "list"}} {
		did := sh.run(args...)
		for character := range invisible {
			is.True(!strings.Contains(did.stdout, character))
		}
	}
}

// An error message contains nothing that a terminal interprets.
func TestErrorsShowUnseenCharacters(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	const name = "no\x1b[2Jne\u202e.db"
	path := filepath.Join(t.TempDir(), name)
	sh := &shell{t: t, env: map[string]string{"TICKETING_DATABASE": "sqlite:" + path}}
	did := sh.run("company", "list")
	is.Equal(did.status, 1)
	is.True(strings.Contains(did.stderr, "no<U+001B>[2Jne<U+202E>.db: check the path"))
	_, message := sh.refusal("company", "list")
	is.True(strings.Contains(message, path+": check the path"))
	did = sh.run("company", "lis\u202et")
	is.Equal(did.status, 2)
	is.True(strings.Contains(did.stderr, "lis<U+202E>t"))
}
