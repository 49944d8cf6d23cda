package main_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/matryer/is"
	"github.com/uptrace/bun/driver/pgdriver"
	_ "modernc.org/sqlite"

	"github.com/floatgate/ticketing/store"
)

// A preview of a migration names what is pending and changes nothing, also while a server runs, and needs no master
// secret.
func TestMigrationPreview(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	sh := newEmptyShell(t)
	dsn := sh.env["TICKETING_DATABASE"]
	scheme, path, _ := strings.Cut(dsn, ":")
	var db *sql.DB
	var err error
	if scheme == "sqlite" {
		db, err = sql.Open("sqlite", path)
	} else {
		db = sql.OpenDB(pgdriver.NewConnector(pgdriver.WithDSN(dsn)))
	}
	must(t, err)
	defer func() { must(t, db.Close()) }()
	exec := func(statement string) { t.Helper(); _, err := db.ExecContext(t.Context(), statement); must(t, err) }
	steps, err := store.Migrations(scheme)
	must(t, err)
	last := len(steps) - 1
	for _, step := range steps[:last] {
		exec("BEGIN;" + step.SQL + "COMMIT")
	}
	preview := func() map[string]any { return sh.with("TICKETING_SECRET_KEY", "").object("migrate", "--dry-run") }

	for range 2 { // The first changed nothing.
		found := preview()
		is.Equal(found["createsDatabase"], false)
		is.Equal(found["distribute"], []any{})
		pending := found["pending"].([]any)
		is.Equal(len(pending), 1)
		one := pending[0].(map[string]any)
		is.Equal(one["name"], steps[last].Name)
		is.Equal(one["changes"], steps[last].Notes.Changes)
		is.Equal(one["takes"], steps[last].Notes.Takes)
		is.Equal(one["olderServers"], steps[last].Notes.Older)
	}
	said := sh.run("migrate", "--dry-run").stdout
	is.True(strings.Contains(said, steps[last].Name))
	is.True(strings.Contains(said, steps[last].Notes.Takes))
	is.True(strings.Contains(said, "The only way back is a backup"))

	_, _ = sh.with("TICKETING_SECRET_KEY", strings.Repeat("MDEy", 16)).serve()
	is.Equal(preview()["pending"], []any{})
	is.True(strings.HasPrefix(sh.run("migrate", "--dry-run").stdout, "Nothing to do"))

	exec("INSERT INTO ticketing_migrations (name, checksum) VALUES ('9999_later', 'x')")
	code, message := sh.refusal("migrate", "--dry-run")
	is.Equal(code, "SCHEMA")
	is.True(strings.Contains(message, "a newer version applied 9999_later"))
	exec("DELETE FROM ticketing_migrations WHERE name = '9999_later'")
	exec("UPDATE ticketing_migrations SET checksum = 'x' WHERE name = '" + steps[2].Name + "'")
	code, message = sh.refusal("migrate", "--dry-run")
	is.Equal(code, "SCHEMA")
	is.True(strings.Contains(message, steps[2].Name+" was changed after it had been applied"))
}

// A preview makes no SQLite database and no key.
func TestPreviewOfAFile(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	folder := t.TempDir()
	must(t, os.WriteFile(filepath.Join(folder, "empty.db"), nil, 0o600))
	steps, err := store.Migrations("sqlite")
	must(t, err)
	for _, name := range []string{"none.db", "empty.db"} {
		sh := &shell{t: t, env: map[string]string{"TICKETING_DATABASE": "sqlite:" + filepath.Join(folder, name)}}
		found := sh.object("migrate", "--dry-run")
		is.Equal(found["createsDatabase"], true)
		is.Equal(len(found["pending"].([]any)), len(steps))
	}
	left, err := os.ReadDir(folder)
	must(t, err)
	is.Equal(len(left), 1)

	sh := &shell{t: t, env: map[string]string{"TICKETING_DATABASE": "sqlite:" + filepath.Join(folder, "no", "t.db")}}
	code, message := sh.refusal("migrate", "--dry-run")
	is.Equal(code, "UNAVAILABLE")
	is.True(strings.Contains(message, "its folder does not exist"))
}
