package store_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/store"
)

// TestOddPaths checks that a path is taken literally, whatever it means in a URL.
func TestOddPaths(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"a?b.db", "a#b.db", "a%b.db", "a%20b.db", "a b.db", "a&mode=memory.db", "a+b;c.db", "ọjà.db", "file:x.db",
		":memory:.db", "a'b\"c.db", `a\b.db`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			folder := t.TempDir()
			path := filepath.Join(folder, name)
			s := openFile(t, path, nil)
			is.NoErr(s.Migrate(t.Context()))
			furnish(t, s)
			is.NoErr(s.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
				found, err := tx.FindEvent(ctx, event.ID)
				is.Equal(found.ID, event.ID)
				return err
			}))
			_, err := os.Stat(path)
			is.NoErr(err)
			files, err := os.ReadDir(folder)
			is.NoErr(err)
			for _, file := range files {
				is.True(strings.HasPrefix(file.Name(), name))
			}
		})
	}
}

// TestFileMode checks that only the owner may access the file and those next to it.
func TestFileMode(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		return
	}
	is := is.New(t)
	folder := t.TempDir()
	s := openFile(t, filepath.Join(folder, "ticketing.db"), nil)
	is.NoErr(s.Migrate(t.Context()))
	files, err := os.ReadDir(folder)
	is.NoErr(err)
	is.Equal(len(files), 3) // the database, its WAL and its index
	for _, file := range files {
		stat, err := file.Info()
		is.NoErr(err)
		is.Equal(stat.Mode().Perm(), os.FileMode(0o600))
	}
}

// TestDurable checks the settings on which Durable relies, on each connection that writes, also after one was lost.
func TestDurable(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s := isOpen(t, &store.Config{BusyTimeout: 1234 * time.Millisecond})
	is.True(s.Durable())
	setting := func(name string) string {
		t.Helper()
		var value string
		is.NoErr(s.Writer().QueryRowContext(t.Context(), "PRAGMA "+name).Scan(&value))
		return value
	}
	for range 2 {
		is.Equal(setting("journal_mode"), "wal")
		is.Equal(setting("synchronous"), "2")
		is.Equal(setting("foreign_keys"), "1")
		is.Equal(setting("recursive_triggers"), "1")
		is.Equal(setting("busy_timeout"), "1234")
		s.Writer().SetMaxIdleConns(0)
		s.Writer().SetMaxIdleConns(1)
	}
	_, err := s.Reader().ExecContext(t.Context(), "DELETE FROM ticketing_secrets")
	is.True(err != nil) // query_only
}

// TestOpenRefuses checks that what cannot be a database is refused with a reason.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	other := filepath.Join(folder, "text.db")
	if err := os.WriteFile(other, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, dsn   string
		unavailable bool
	}{
		{"no scheme", "ticketing.db", false},
		{"empty", "", false},
		{"no path", "sqlite:", false},
		{"memory", "sqlite::memory:", false},
		{"unknown scheme", "mysql://localhost", false},
		{"PostgreSQL", "postgres://user:secret@127.0.0.1:1/db", true},
		{"no folder", "sqlite:" + filepath.Join(folder, "none", "ticketing.db"), true},
		{"a folder", "sqlite:" + folder, true},
		{"no database", "sqlite:" + other, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			_, err := store.Open(t.Context(), test.dsn, nil)
			is.True(err != nil)
			is.Equal(errors.Is(err, driver.ErrUnavailable), test.unavailable)
			is.True(!strings.Contains(err.Error(), "secret"))
		})
	}
}

// TestWithoutWAL checks that a database without WAL, as on some network file systems, is refused with a remedy.
func TestWithoutWAL(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	db, err := sql.Open("sqlite", ":memory:")
	is.NoErr(err)
	defer func() { is.NoErr(db.Close()) }()
	err = store.CheckDurable(t.Context(), db)
	is.True(errors.Is(err, store.ErrUnsupported))
	is.True(strings.Contains(err.Error(), "its file system does not allow WAL: move the file to a local disk"))
}

// TestMustExist checks that with MustExist a database that does not exist is not created. One that exists opens, with
// its path taken literally and through a link.
func TestMustExist(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	folder := t.TempDir()
	must := &store.Config{MustExist: true}
	path := filepath.Join(folder, "a ?mode=rwc#.db")
	_, err := store.Open(t.Context(), "sqlite:"+path, must)
	is.True(errors.Is(err, store.ErrNoDatabase))
	is.True(strings.Contains(err.Error(), path))
	left, err := os.ReadDir(folder)
	is.NoErr(err)
	is.Equal(len(left), 0)
	_, err = store.Open(t.Context(), "sqlite:"+folder, must)
	// A folder is not a missing database.
	is.True(errors.Is(err, driver.ErrUnavailable) && !errors.Is(err, store.ErrNoDatabase))

	is.NoErr(os.WriteFile(path, nil, 0o600))
	_, err = store.Open(t.Context(), "sqlite:"+path, must)
	is.True(errors.Is(err, store.ErrNoDatabase)) // It is empty, and stays so.
	info, err := os.Stat(path)
	is.NoErr(err)
	is.Equal(info.Size(), int64(0))

	made, err := store.Open(t.Context(), "sqlite:"+path, nil)
	is.NoErr(err)
	link := filepath.Join(folder, "link.db")
	is.NoErr(os.Symlink(path, link))
	for _, name := range []string{path, link} { // While it is in use, and before it has tables.
		again, err := store.Open(t.Context(), "sqlite:"+name, must)
		is.NoErr(err)
		is.NoErr(again.Close())
	}
	is.NoErr(made.Close())
}

// TestTwoStores checks that two stores on one file, as in two processes, wait for each other and see each other's
// commits.
func TestTwoStores(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	path := filepath.Join(t.TempDir(), "shared.db")
	one, two := openFile(t, path, nil), openFile(t, path, nil)
	is.NoErr(one.Migrate(t.Context()))

	inside, done := make(chan struct{}), make(chan error, 1)
	go func() {
		<-inside
		done <- update(t.Context(), two, func(ctx context.Context, tx driver.Tx) error {
			names, err := tx.SecretNames(ctx)
			is.Equal(names, []string{"first"})
			return errors.Join(err, tx.AppendSecretName(ctx, "second", minute(0)))
		})
	}()
	written(t, one, func(ctx context.Context, tx driver.Tx) error {
		close(inside)
		return tx.AppendSecretName(ctx, "first", minute(0))
	})
	is.NoErr(<-done)
	is.NoErr(one.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
		names, err := tx.SecretNames(ctx)
		is.Equal(names, []string{"first", "second"})
		return err
	}))
}

// TestBusy checks that an Update that cannot begin to write in time fails with ErrBusy, whichever process is in its
// way, and that reads continue.
func TestBusy(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name   string
		others bool
	}{{"in another process", true}, {"in this process", false}} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			path := filepath.Join(t.TempDir(), "shared.db")
			holder := openFile(t, path, &store.Config{BusyTimeout: 20 * time.Millisecond})
			is.NoErr(holder.Migrate(t.Context()))
			waiter := holder
			if test.others {
				waiter = openFile(t, path, &store.Config{BusyTimeout: 20 * time.Millisecond})
			}
			write := func(ctx context.Context, tx driver.Tx) error {
				return tx.AppendSecretName(ctx, "name", minute(0))
			}
			written(t, holder, func(ctx context.Context, _ driver.Tx) error {
				is.True(errors.Is(update(ctx, waiter, write), driver.ErrBusy))
				is.NoErr(waiter.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
					_, err := tx.SecretNames(ctx)
					return err
				}))
				// A caller who does not want to wait so long cancels its context.
				left, cancel := context.WithCancel(ctx)
				cancel()
				is.True(errors.Is(update(left, waiter, write), context.Canceled))
				return nil
			})
			is.NoErr(update(t.Context(), waiter, write))
		})
	}
}

// TestNoRoom checks that a full database is unavailable, that nothing of the transaction is kept, and that the store
// works again once there is room.
func TestNoRoom(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s := isOpen(t, nil)
	limit := func(pages int) {
		_, err := s.Writer().ExecContext(t.Context(), "PRAGMA max_page_count = ?", pages)
		is.NoErr(err)
	}
	limit(1) // as many as there are
	fill := func(ctx context.Context, tx driver.Tx) error {
		for range 2000 {
			if err := tx.AppendSecretName(ctx, strings.Repeat("x", 4000), minute(0)); err != nil {
				return err
			}
			if err := tx.CreateCategory(ctx, driver.Category{
				ID: uuid.New(), Slug: uuid.New().String(), Name: strings.Repeat("x", 4000), Status: driver.CategoryActive,
				CreatedAt: minute(0),
			}); err != nil {
				return err
			}
		}
		return nil
	}
	err := update(t.Context(), s, fill)
	is.True(errors.Is(err, driver.ErrUnavailable))
	limit(1_000_000)
	is.NoErr(s.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
		names, err := tx.SecretNames(ctx)
		is.Equal(len(names), 0)
		return err
	}))
	written(t, s, func(ctx context.Context, tx driver.Tx) error { return tx.AppendSecretName(ctx, "x", minute(0)) })
}
