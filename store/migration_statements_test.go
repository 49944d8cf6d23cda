package store_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/store"
)

// TestStatementsOf checks that a migration is divided at the semicolons that end its statements, and at no others.
func TestStatementsOf(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		migration string
		want      []string
	}{
		"nothing":            {migration: " \n-- nothing; at all\n"},
		"two":                {migration: "SELECT 1; SELECT 2;", want: []string{"SELECT 1", "SELECT 2"}},
		"without an end":     {migration: "SELECT 1;\nSELECT 2", want: []string{"SELECT 1", "SELECT 2"}},
		"empty ones":         {migration: ";;SELECT 1;;", want: []string{"SELECT 1"}},
		"a comment":          {migration: "-- a; b\nSELECT 1;", want: []string{"-- a; b\nSELECT 1"}},
		"a quoted comment":   {migration: "SELECT '--'; SELECT 2", want: []string{"SELECT '--'", "SELECT 2"}},
		"a text":             {migration: "SELECT 'a;''b;'; SELECT 2", want: []string{"SELECT 'a;''b;'", "SELECT 2"}},
		"a name":             {migration: `SELECT 1 AS "a;"; SELECT 2`, want: []string{`SELECT 1 AS "a;"`, "SELECT 2"}},
		"a body":             {migration: "DO $$ a; 'b; $$; SELECT 2", want: []string{"DO $$ a; 'b; $$", "SELECT 2"}},
		"a body with a tag":  {migration: "DO $x$ a; $$ b; $x$;", want: []string{"DO $x$ a; $$ b; $x$"}},
		"a parameter":        {migration: "SELECT $1; SELECT '$'", want: []string{"SELECT $1", "SELECT '$'"}},
		"a text without end": {migration: "SELECT 'a; b", want: []string{"SELECT 'a; b"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is.New(t).Equal(store.StatementsOf(tt.migration), tt.want)
		})
	}
	steps, err := store.Migrations("postgres")
	is.New(t).NoErr(err)
	for _, step := range steps { // Nothing of a migration is lost, and no statement holds two.
		statements := store.StatementsOf(step.SQL)
		rest := step.SQL
		for _, statement := range statements {
			_, after, found := strings.Cut(rest, statement)
			is.New(t).True(found)
			rest = after
		}
		is.New(t).True(len(statements) > 0)
		is.New(t).True(!regexp.MustCompile(`/\*|\bE'`).MatchString(step.SQL))
	}
}
