package store_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/store"
)

// TestMigrateAtOnce checks that six stores that open and migrate a new file at once all succeed, and that each
// migration is applied once.
func TestMigrateAtOnce(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	path := filepath.Join(t.TempDir(), "new.db")
	const starters = 6
	errs := make([]error, starters)
	var wg sync.WaitGroup
	for i := range starters {
		wg.Go(func() { errs[i] = migrateFile(t.Context(), path) })
	}
	wg.Wait()
	for _, err := range errs {
		is.NoErr(err)
	}
	checkMigrated(t, path)
}

// TestPostgresMigrateAtOnce checks that ten stores that migrate an empty PostgreSQL database at once all return, and
// that each migration is applied once. All have looked at the database before, and must not rely on that.
func TestPostgresMigrateAtOnce(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	dsn := pgtest.Database(t)
	stores := make([]*store.Store, 10)
	var applied atomic.Int64
	for i := range stores {
		stores[i] = testdb.Open(t, dsn, &store.Config{Connections: 1, Logger: slog.New(counting{&applied})})
		pending, err := stores[i].Pending(t.Context())
		is.NoErr(err)
		is.True(len(pending) > 0)
	}
	errs := make([]error, len(stores))
	var wg sync.WaitGroup
	for i, s := range stores {
		wg.Go(func() { errs[i] = s.Migrate(t.Context()) })
	}
	wg.Wait()
	is.NoErr(errors.Join(errs...))
	steps, err := store.Migrations("postgres")
	is.NoErr(err)
	is.Equal(applied.Load(), int64(len(steps)))
	for _, s := range stores {
		pending, err := s.Pending(t.Context())
		is.NoErr(err)
		is.Equal(len(pending), 0)
	}
}

// counting is a log handler that counts its entries.
type counting struct{ entries *atomic.Int64 }

func (c counting) Enabled(context.Context, slog.Level) bool { return true }

func (c counting) Handle(context.Context, slog.Record) error {
	c.entries.Add(1)
	return nil
}

func (c counting) WithAttrs([]slog.Attr) slog.Handler { return c }
func (c counting) WithGroup(string) slog.Handler      { return c }

// TestMigrateByProcesses checks the same with processes as TestMigrateAtOnce does with goroutines.
func TestMigrateByProcesses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new.db")
	const starters = 6
	said := make([][]byte, starters)
	errs := make([]error, starters)
	var wg sync.WaitGroup
	for i := range starters {
		wg.Go(func() {
			command := exec.CommandContext(t.Context(), os.Args[0])
			command.Env = append(os.Environ(), migrateVariable+"="+path)
			said[i], errs[i] = command.CombinedOutput()
		})
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			t.Errorf("%v: %s", err, said[i])
		}
	}
	checkMigrated(t, path)
}

// migrateVariable names the file that this program migrates; it then does nothing else.
const migrateVariable = "STORE_TEST_MIGRATE"

func TestMain(m *testing.M) {
	if path := os.Getenv(migrateVariable); path != "" {
		if err := migrateFile(context.Background(), path); err != nil {
			_, _ = os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func migrateFile(ctx context.Context, path string) error {
	s, err := store.Open(ctx, "sqlite:"+path, nil)
	if err != nil {
		return err
	}
	if err := s.Migrate(ctx); err != nil {
		_ = s.Close()
		return err
	}
	return s.Close()
}

func checkMigrated(t *testing.T, path string) {
	t.Helper()
	is := is.New(t)
	s := openFile(t, path, nil)
	pending, err := s.Pending(t.Context())
	is.NoErr(err)
	is.Equal(len(pending), 0)
	steps, err := store.Migrations("sqlite")
	is.NoErr(err)
	var applied int
	is.NoErr(s.Reader().QueryRowContext(t.Context(), "SELECT count(*) FROM ticketing_migrations").Scan(&applied))
	is.Equal(applied, len(steps))
}

// TestNotMigrated checks that a database without the schema is reported at first use, with the missing migrations.
func TestNotMigrated(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s := openFile(t, filepath.Join(t.TempDir(), "new.db"), nil)
	nothing := func(context.Context, driver.ReadTx) error { t.Error("fn ran"); return nil }
	update := func(context.Context, driver.Tx) error { t.Error("fn ran"); return nil }
	for _, err := range []error{
		s.View(t.Context(), nothing), s.Snapshot(t.Context(), nothing), s.Update(t.Context(), update),
	} {
		is.True(errors.Is(err, store.ErrNotMigrated))
		is.True(strings.Contains(err.Error(), "0001_tickets"))
	}
	pending, err := s.Pending(t.Context())
	is.NoErr(err)
	steps, err := store.Migrations("sqlite")
	is.NoErr(err)
	var names []string
	for _, step := range steps {
		names = append(names, step.Name)
	}
	is.Equal(pending, names)
	is.NoErr(s.Migrate(t.Context()))
	is.NoErr(s.View(t.Context(), func(context.Context, driver.ReadTx) error { return nil }))
}

// TestSchemaOfAnotherVersion checks that a database which a newer version migrated, or whose migrations are not those
// of this version, is left unchanged.
func TestSchemaOfAnotherVersion(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, change, says string }{
		{"newer", "INSERT INTO ticketing_migrations (name, checksum) VALUES ('9999_later', 'x')", "9999_later"},
		{"changed", "UPDATE ticketing_migrations SET checksum = 'x'", "0001_tickets"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			path := filepath.Join(t.TempDir(), "other.db")
			is.NoErr(migrateFile(t.Context(), path))
			s := openFile(t, path, nil)
			_, err := s.Writer().DB.ExecContext(t.Context(), test.change)
			is.NoErr(err)
			for _, err := range []error{
				s.Migrate(t.Context()),
				s.View(t.Context(), func(context.Context, driver.ReadTx) error { return nil }),
			} {
				is.True(errors.Is(err, store.ErrSchema))
				is.True(strings.Contains(err.Error(), test.says))
			}
		})
	}
}

// TestMigrationIsWhole checks that a migration that fails leaves nothing.
func TestMigrationIsWhole(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	path := filepath.Join(t.TempDir(), "taken.db")
	s := openFile(t, path, nil)
	_, err := s.Writer().DB.ExecContext(t.Context(), "CREATE TABLE ticketing_outbox (id)")
	is.NoErr(err)
	err = s.Migrate(t.Context())
	is.True(err != nil)
	is.True(strings.Contains(err.Error(), "0001_tickets"))
	var tables int
	is.NoErr(s.Reader().QueryRowContext(t.Context(),
		"SELECT count(*) FROM sqlite_schema WHERE type = 'table'").Scan(&tables))
	is.Equal(tables, 1)
}

// TestMigrationsAreExported checks that a database which was migrated by other means, with the exported SQL, counts as
// migrated.
func TestMigrationsAreExported(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	path := filepath.Join(t.TempDir(), "own.db")
	db, err := sql.Open("sqlite", path)
	is.NoErr(err)
	steps, err := store.Migrations("sqlite")
	is.NoErr(err)
	for _, step := range steps {
		_, err := db.ExecContext(t.Context(), "BEGIN;"+step.SQL+"COMMIT")
		is.NoErr(err)
	}
	is.NoErr(db.Close())
	s := openFile(t, path, nil)
	is.NoErr(s.View(t.Context(), func(context.Context, driver.ReadTx) error { return nil }))

	_, err = store.Migrations("oracle")
	is.True(err != nil)
}

// TestOlderProgram checks what a program does whose database a newer version migrates: a store that was used before
// continues to read and write, and one that is opened later refuses.
func TestOlderProgram(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{"sqlite:" + filepath.Join(t.TempDir(), "older.db"), pgtest.Database(t)} {
		scheme, _, _ := strings.Cut(dsn, ":")
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			running := testdb.Open(t, dsn, nil)
			is.NoErr(running.Migrate(t.Context()))
			category := func(n int) error {
				return running.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
					if _, err := tx.Begin(ctx, driver.BeginOptions{}); err != nil {
						return err
					}
					return tx.CreateCategory(ctx, driver.Category{
						ID: number(n), Name: "Music", Slug: fmt.Sprint("music-", n), Status: driver.CategoryActive, CreatedAt: minute(n),
					})
				})
			}
			is.NoErr(category(1))
			is.NoErr(running.ApplyMigration(t.Context(), "CREATE TABLE ticketing_later (a BIGINT);"+
				"INSERT INTO ticketing_migrations (name, checksum) VALUES ('9999_later', 'x')"))
			is.NoErr(category(2))

			starting := testdb.Open(t, dsn, nil)
			for _, err := range []error{
				starting.Migrate(t.Context()),
				starting.View(t.Context(), func(context.Context, driver.ReadTx) error { t.Error("fn ran"); return nil }),
			} {
				is.True(errors.Is(err, store.ErrSchema))
				is.True(strings.HasSuffix(err.Error(), "a newer version applied 9999_later"))
			}
		})
	}
}

// TestReadOnly checks that a store which only looks at a SQLite database changes no file, whatever the file is, and
// writes nothing.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	folder := t.TempDir()
	open := func(name string) (*store.Store, error) {
		return store.Open(t.Context(), "sqlite:"+filepath.Join(folder, name), &store.Config{ReadOnly: true})
	}
	steps, err := store.Migrations("sqlite")
	is.NoErr(err)
	_, err = open("none.db")
	is.True(errors.Is(err, store.ErrNoDatabase))
	is.NoErr(migrateFile(t.Context(), filepath.Join(folder, "done.db")))
	for name, fill := range map[string]string{
		"foreign.db": "CREATE TABLE theirs (a)", "first.db": steps[0].SQL, // neither is in WAL mode
	} {
		db, err := sql.Open("sqlite", filepath.Join(folder, name))
		is.NoErr(err)
		_, err = db.ExecContext(t.Context(), fill)
		is.NoErr(err)
		is.NoErr(db.Close())
	}
	before := files(t, folder)
	for name, lacks := range map[string]int{"foreign.db": len(steps), "first.db": len(steps) - 1, "done.db": 0} {
		s, err := open(name)
		is.NoErr(err)
		pending, err := s.PendingMigrations(t.Context())
		is.NoErr(err)
		is.Equal(len(pending), lacks)
		is.True(s.Migrate(t.Context()) != nil || lacks == 0)
		is.NoErr(s.Close())
	}
	is.Equal(files(t, folder), before)
}

// files returns what is in the files of a folder, by their names.
func files(t *testing.T, folder string) map[string]string {
	t.Helper()
	is := is.New(t)
	entries, err := os.ReadDir(folder)
	is.NoErr(err)
	all := make(map[string]string)
	for _, entry := range entries {
		text, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		is.NoErr(err)
		all[entry.Name()] = string(text)
	}
	return all
}

// TestQueuesAreVacuumedEarly checks which tables autovacuum runs on early, one of them with its partition in another
// schema, and that what an operator has set stays.
func TestQueuesAreVacuumedEarly(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	db := beside(t, pgtest.Database(t))
	db.SetMaxOpenConns(1)
	steps, err := store.Migrations("postgres")
	is.NoErr(err)
	for _, step := range steps {
		if step.Name == "0015_queues" {
			_, err := db.ExecContext(t.Context(), `ALTER TABLE ticketing_notifications SET (autovacuum_vacuum_threshold = 7);
				CREATE TABLE whole (LIKE ticketing_webhook_deliveries) PARTITION BY HASH (company_id);
				CREATE SCHEMA parts; CREATE TABLE parts.one PARTITION OF whole FOR VALUES WITH (MODULUS 1, REMAINDER 0);
				DROP TABLE ticketing_webhook_deliveries CASCADE;
				ALTER TABLE whole RENAME TO ticketing_webhook_deliveries`)
			is.NoErr(err)
		}
		_, err := db.ExecContext(t.Context(), step.SQL)
		is.NoErr(err)
	}
	const early = " {autovacuum_vacuum_scale_factor=0.01,autovacuum_vacuum_threshold=1000}"
	is.Equal(texts(t, db, `SELECT oid::regclass::text || ' ' || reloptions::text FROM pg_class
		WHERE reloptions::text LIKE '%autovacuum%' ORDER BY 1`), []string{
		"parts.one" + early, "ticketing_notifications {autovacuum_vacuum_threshold=7}", "ticketing_outbox" + early,
	})
}
