package main_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	program "github.com/floatgate/ticketing/cmd/ticketing"
	"github.com/floatgate/ticketing/internal/race"
	"github.com/floatgate/ticketing/store"
)

// full is a full disk.
type full struct{}

func (full) Write([]byte) (int, error) {
	return 0, &fs.PathError{Op: "write", Path: "/dev/stdout", Err: errors.New("no space left on device")}
}

// runUnwritable runs a command whose output cannot be written.
func (s *shell) runUnwritable(args ...string) (status int, stderr string) {
	var printed bytes.Buffer
	getenv := func(name string) string { return s.env[name] }
	status = program.Run(s.t.Context(), args, getenv, strings.NewReader(""), full{}, &printed)
	return status, printed.String()
}

// A command reports what it did even if its result could not be shown. So a secret that nobody saw can be revoked.
func TestOutputThatIsLost(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newShell(t)
	for _, flag := range []string{"--json=false", "--json"} {
		status, stderr := sh.runUnwritable("company", "create", "--name", "Lagos Live", flag)
		is.Equal(status, 1)
		companies := sh.array("company", "list")
		id := companies[len(companies)-1]["id"].(string)
		is.True(strings.Contains(stderr, "the company "+id+" was created but could not be shown"))
		sh.object("kyb", "approve", id)
		status, stderr = sh.runUnwritable("key", "issue", id, "--name", "gate", "--all-grants", flag)
		is.Equal(status, 1)
		key := sh.array("key", "list", id)[0]["id"].(string)
		is.True(strings.Contains(stderr, "the key "+key+" was issued but could not be shown: revoke it"))
		status, stderr = sh.runUnwritable("key", "rotate", key, flag)
		is.Equal(status, 1)
		next := sh.array("key", "list", id)[0]["id"].(string)
		is.True(strings.Contains(stderr, "the key "+next+" was issued but could not be shown: revoke it"))
		for _, args := range [][]string{
			{"company", "list", flag}, {"company", "show", id, flag}, {"--help"}, {"key", "list", id, flag},
		} {
			status, stderr := sh.runUnwritable(args...)
			is.Equal(status, 1)
			is.True(strings.Contains(stderr, "the output could not be written: no space left on device"))
		}
	}
}

// Every failure that an operator can do something about has its own code, and a message about its meaning. The message
// contains no name of a method, no SQL and no text of a driver.
func TestCodesOfFailures(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name       string
		err        error
		code, want string
	}{
		{"busy", fmt.Errorf("ticketing/store: begin: %w: database is locked (5)", ticketing.ErrBusy), "BUSY", "try again"},
		{
			"unavailable", fmt.Errorf("ticketing/store: Enter: %w: disk I/O error (10)", ticketing.ErrUnavailable),
			"UNAVAILABLE", "the database live.db cannot be used",
		},
		{"not migrated", fmt.Errorf("%w: it lacks Enter", store.ErrNotMigrated), "NOT_MIGRATED", "ticketing migrate"},
		{
			"another schema", fmt.Errorf("%w: a newer version applied 0099_x", store.ErrSchema),
			"SCHEMA", "newer version applied 0099_x;",
		},
		{"no access", fmt.Errorf("ticketing/store: Enter: %w: no", store.ErrAccess), "DATABASE_ACCESS", "refuses access: no"},
		{
			"old server", fmt.Errorf("ticketing/store: open: %w: PostgreSQL 9 is too old", store.ErrUnsupported),
			"DATABASE_UNSUPPORTED", "cannot be used: PostgreSQL 9 is too old",
		},
		{
			"no WAL", fmt.Errorf("ticketing/store: open live.db: %w: no WAL: move it", store.ErrUnsupported),
			"DATABASE_UNSUPPORTED", "the database live.db cannot be used: no WAL: move it",
		},
		{
			"no cluster", fmt.Errorf("Enter: %w: it has none", store.ErrNotDistributable),
			"NOT_DISTRIBUTABLE", "cannot be distributed: it has none",
		},
		{"anything else", errors.New("no one knows"), "INTERNAL_ERROR", "no one knows"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			var stderr bytes.Buffer
			is.Equal(program.PrintError(test.err, "sqlite:live.db", &stderr), 1)
			code, message := refused(t, stderr.String())
			is.Equal(code, test.code)
			is.True(strings.Contains(message, test.want))
			is.True(!strings.Contains(message, "Enter"))
			is.True(!strings.Contains(message, "("))
		})
	}
}

// A database that cannot be used is reported with its name and the reason. Nothing is created beside an invalid path.
func TestDatabaseThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	secret := "--secret-key=" + strings.Repeat("ab", 32)
	t.Run("no folder", func(t *testing.T) {
		t.Parallel()
		is := is.New(t)
		code, message := newShell(t).refusal("migrate", "--database", "sqlite:/does/not/exist/t.db", secret)
		is.Equal(code, "UNAVAILABLE")
		is.Equal(message, "the database /does/not/exist/t.db cannot be used: no such file or directory: make its folder "+
			"first, or correct the path in --database")
	})
	t.Run("another kind of file", func(t *testing.T) {
		t.Parallel()
		is := is.New(t)
		sh := newShell(t)
		is.NoErr(os.WriteFile(filepath.Join(sh.dir, "t.db"), bytes.Repeat([]byte("no database "), 1000), 0o600))
		code, message := sh.refusal("company", "list", secret)
		is.Equal(code, "UNAVAILABLE")
		is.True(strings.Contains(message, "the file is not a SQLite database"))
	})
	t.Run("a folder", func(t *testing.T) {
		t.Parallel()
		is := is.New(t)
		sh := newShell(t)
		code, message := sh.refusal("company", "list", "--database", "sqlite:"+sh.dir)
		is.Equal(code, "UNAVAILABLE")
		is.Equal(message, "the database "+sh.dir+" is a folder")
	})
	t.Run("no path", func(t *testing.T) {
		t.Parallel()
		is := is.New(t)
		sh := newShellWithoutFile(t)
		is.Equal(sh.start("company", "list", "--database", "sqlite::memory:").wait(), 1)
		files, err := os.ReadDir(sh.dir)
		is.NoErr(err)
		is.Equal(len(files), 0)
	})
}
