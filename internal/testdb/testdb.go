// Package testdb opens the databases that tests run on: each empty, with the tables of this version, of the test's own
// and gone with it. What holds on one holds on all, so the rules of the service, the HTTP contract and the conformance
// suite run over the list of [Stores].
package testdb

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/store"
)

// Store is one way to keep records, under a name for subtests.
type Store struct {
	Name string
	Open func(tb testing.TB) ticketing.Store
}

// Stores are the SQL stores: SQLite, PostgreSQL, and PostgreSQL as a distributed engine wants it; with -short SQLite alone.
func Stores() []Store {
	all := []Store{
		{Name: "sqlite", Open: func(tb testing.TB) ticketing.Store { tb.Helper(); return SQLite(tb) }},
		{Name: "postgres", Open: func(tb testing.TB) ticketing.Store { tb.Helper(); return Postgres(tb) }},
		{Name: "partitioned", Open: func(tb testing.TB) ticketing.Store { tb.Helper(); return Partitioned(tb) }},
	}
	if testing.Short() {
		return all[:1]
	}
	return all
}

// connections is how many a store has: a rush waits for them, and a server has enough for many tests at a time.
const connections = 8

// SQLite opens a file.
func SQLite(tb testing.TB) *store.Store {
	tb.Helper()
	return Open(tb, SQLiteDSN(tb), nil)
}

// SQLiteDSN is the name of a file with the tables of this version.
func SQLiteDSN(tb testing.TB) string {
	tb.Helper()
	file, err := theSQLite()
	if err != nil {
		tb.Fatal(err)
	}
	path := filepath.Join(tb.TempDir(), "ticketing.db")
	if err := os.WriteFile(path, file, ownersAlone); err != nil {
		tb.Fatal(err)
	}
	return "sqlite:" + path
}

const ownersAlone = 0o600

// theSQLite is what is in such a file: it is migrated once, and copied.
var theSQLite = sync.OnceValues(func() (file []byte, err error) {
	folder, err := os.MkdirTemp("", "ticketing-sqlite-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	path := filepath.Join(folder, "ticketing.db")
	s, err := store.Open(context.Background(), "sqlite:"+path, nil)
	if err != nil {
		return nil, err
	}
	// All of it is in the one file once it is closed.
	if err := errors.Join(s.Migrate(context.Background()), s.Close()); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// Postgres opens a database on the server that tests share.
func Postgres(tb testing.TB) *store.Store {
	tb.Helper()
	return Open(tb, DSN(tb), nil)
}

// DSN is the URL of a database of PostgreSQL with the tables of this version. The next test gets it without its rows, so
// that a test which changes more than rows takes a [FreshDSN].
func DSN(tb testing.TB) string {
	tb.Helper()
	return pgtest.Reuse(tb, "ticketing", migrate, empty)
}

// FreshDSN is like DSN, and nobody gets the database after the test.
func FreshDSN(tb testing.TB) string {
	tb.Helper()
	return pgtest.Copy(tb, "ticketing", migrate)
}

func migrate(tb testing.TB, dsn string) {
	tb.Helper()
	s, err := store.Open(tb.Context(), dsn, nil)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if err := s.Migrate(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

// empty removes all rows, past the triggers that refuse it.
const empty = `SET session_replication_role TO replica; SET lock_timeout TO '5s';
DO $$ DECLARE name text; BEGIN
	FOR name IN SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p')
		AND relname <> 'ticketing_migrations'
	LOOP EXECUTE 'DELETE FROM ' || name; END LOOP;
END $$`

// Open opens a database by its name and closes it when the test ends. A nil config has few connections.
func Open(tb testing.TB, dsn string, cfg *store.Config) *store.Store {
	tb.Helper()
	if cfg == nil {
		cfg = &store.Config{Connections: connections}
	}
	// A test that a property makes has ended its context before its clean-up.
	s, err := store.Open(context.WithoutCancel(tb.Context()), dsn, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}
