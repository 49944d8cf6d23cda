package store_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/store"
)

// fillUpgrading writes the table of migrations in docs/upgrading.md.
var fillUpgrading = flag.Bool("fill-upgrading", false, "write the table of migrations in docs/upgrading.md")

// TestMigrationNotes checks that an operator can read about every migration.
func TestMigrationNotes(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	for _, dialect := range []string{"postgres", "sqlite"} {
		steps, err := store.Migrations(dialect)
		is.NoErr(err)
		for _, step := range steps {
			if notes := step.Notes; notes.Changes == "" || notes.Takes == "" || notes.Older == "" {
				t.Errorf("%s/%s lacks notes: add them to store/migration_notes.go", dialect, step.Name)
			}
		}
	}
}

// TestMigrationLocks checks that the notes of each migration name the tables that it locks against others.
func TestMigrationLocks(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	db := beside(t, pgtest.Database(t))
	db.SetMaxOpenConns(1)
	steps, err := store.Migrations("postgres")
	is.NoErr(err)
	before := []string{}
	for _, step := range steps {
		_, err := db.ExecContext(t.Context(), "BEGIN;"+step.SQL)
		is.NoErr(err)
		locks := texts(t, db, `SELECT relname || CASE WHEN bool_or(mode = 'AccessExclusiveLock') THEN ' reads' ELSE '' END
			FROM pg_locks JOIN pg_class c ON c.oid = relation WHERE pid = pg_backend_pid() AND relkind = 'r'
				AND mode IN ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
				AND relname LIKE 'ticketing\_%' GROUP BY relname ORDER BY relname`)
		locks = slices.DeleteFunc(locks, func(lock string) bool {
			table, _, _ := strings.Cut(lock, " ")
			return !slices.Contains(before, table)
		})
		noted := []string{}
		for _, block := range step.Notes.Blocks {
			if block.Reads {
				block.Table += " reads"
			}
			noted = append(noted, block.Table)
		}
		is.Equal(step.Name+" "+strings.Join(noted, ", "), step.Name+" "+strings.Join(locks, ", "))
		_, err = db.ExecContext(t.Context(), "COMMIT")
		is.NoErr(err)
		before = texts(t, db, `SELECT relname FROM pg_class WHERE relkind = 'r' AND relname LIKE 'ticketing\_%'`)
	}
}

// TestUpgradingDocument checks that docs/upgrading.md has the notes of every migration.
func TestUpgradingDocument(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	const path, begin, end = "../docs/upgrading.md", "<!-- migrations -->\n", "<!-- end of migrations -->\n"
	var table strings.Builder
	table.WriteString("| migration | changes | takes | locks, with PostgreSQL | servers of the version before |\n" +
		"|---|---|---|---|---|\n")
	steps, err := store.Migrations("postgres")
	is.NoErr(err)
	for _, step := range steps {
		locks := make([]string, len(step.Notes.Blocks))
		for i, block := range step.Notes.Blocks {
			locks[i] = "`" + block.Table + "` (writes)"
			if block.Reads {
				locks[i] = "`" + block.Table + "` (reads and writes)"
			}
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s | %s |\n", step.Name, step.Notes.Changes, step.Notes.Takes,
			strings.Join(locks, ", "), step.Notes.Older)
	}
	text, err := os.ReadFile(path)
	is.NoErr(err)
	head, rest, found := strings.Cut(string(text), begin)
	is.True(found)
	now, tail, found := strings.Cut(rest, end)
	is.True(found)
	if *fillUpgrading {
		is.NoErr(os.WriteFile(path, []byte(head+begin+table.String()+end+tail), 0o600))
		return
	}
	if now != table.String() {
		t.Error("run: go test ./store -run UpgradingDocument -fill-upgrading")
	}
}
