package pgtest_test

import (
	"database/sql"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/matryer/is"
	"github.com/uptrace/bun/driver/pgdriver"

	"github.com/floatgate/ticketing/internal/pgtest"
)

// open opens a database for a test.
func open(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	db := sql.OpenDB(pgdriver.NewConnector(pgdriver.WithDSN(dsn)))
	t.Cleanup(func() { db.Close() })
	return db
}

// one asks for one value.
func one[T any](t testing.TB, db *sql.DB, query string, args ...any) (value T) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), query, args...).Scan(&value); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return value
}

func run(t testing.TB, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// needServer skips a test as a whole where there is no PostgreSQL: one that asserts on what its subtests did fails where
// only they are skipped.
func needServer(t *testing.T) {
	t.Helper()
	pgtest.Database(t)
}

const tables = "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace"

// A test's database is empty, its own, and gone afterwards, also while a connection to it is open.
func TestDatabase(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	needServer(t)
	var name string
	t.Run("a test", func(t *testing.T) {
		db := open(t, pgtest.Database(t))
		name = one[string](t, db, "SELECT current_database()")
		is.Equal(one[int](t, db, tables), 0)
		is.Equal(one[string](t, db, "SHOW server_encoding"), "UTF8")
		run(t, db, "CREATE TABLE own (id int)")
		lasting := sql.OpenDB(pgdriver.NewConnector(pgdriver.WithDSN(pgtest.Database(t))))
		is.NoErr(lasting.PingContext(t.Context()))
	})
	db := open(t, pgtest.Database(t))
	is.Equal(one[int](t, db, tables), 0)
	is.Equal(one[int](t, db, "SELECT count(*) FROM pg_database WHERE datname = $1", name), 0)
}

// Many tests at once, each with a copy of its own of what was filled once.
func TestCopy(t *testing.T) {
	t.Parallel()
	needServer(t)
	var filled atomic.Int64
	fill := func(tb testing.TB, dsn string) {
		tb.Helper()
		filled.Add(1)
		// The pool stays open until the test ends.
		run(tb, open(tb, dsn), "CREATE TABLE filled AS SELECT 7 AS id")
	}
	t.Run("all", func(t *testing.T) {
		for i := range 40 {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				is := is.New(t)
				db := open(t, pgtest.Copy(t, "filled", fill))
				is.Equal(one[int](t, db, "SELECT sum(id) FROM filled"), 7)
				run(t, db, "INSERT INTO filled VALUES (1)")
			})
		}
	})
	is := is.New(t)
	is.Equal(filled.Load(), int64(1))
}

// A fill that fails its test leaves no half-filled template: the next test begins anew.
func TestCopyAfterAFailedFill(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	needServer(t) // Skips here, not in the goroutine.
	done := make(chan struct{})
	go func() { // Goexit ends it as it ends a test.
		defer close(done)
		pgtest.Copy(t, "failing", func(testing.TB, string) { runtime.Goexit() })
	}()
	<-done
	db := open(t, pgtest.Copy(t, "failing", func(tb testing.TB, dsn string) {
		tb.Helper()
		run(tb, open(tb, dsn), "CREATE TABLE filled ()")
	}))
	is.Equal(one[int](t, db, tables), 1)
}

// A copy takes well under the second that an empty server takes to start.
func BenchmarkCopy(b *testing.B) {
	fill := func(tb testing.TB, dsn string) {
		tb.Helper()
		run(tb, open(tb, dsn), "CREATE TABLE filled AS SELECT 7 AS id")
	}
	for b.Loop() {
		pgtest.Copy(b, "benchmark", fill)
	}
}

func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		pgtest.Start(b)
	}
}

// A database that a test gives back is emptied and lent again; one that cannot be emptied is not.
func TestReuse(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	needServer(t)
	fill := func(tb testing.TB, dsn string) {
		tb.Helper()
		run(tb, open(tb, dsn), "CREATE TABLE filled AS SELECT 7 AS id; CREATE TABLE used (id int)")
	}
	names := make([]string, 4)
	for i, empty := range []string{"DELETE FROM used", "DELETE FROM nothing", "DELETE FROM used", "DELETE FROM used"} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			db := open(t, pgtest.Reuse(t, "reused", fill, empty))
			names[i] = one[string](t, db, "SELECT current_database()")
			is.Equal(one[int](t, db, "SELECT sum(id) FROM filled"), 7)
			is.Equal(one[int](t, db, "SELECT count(*) FROM used"), 0)
			run(t, db, "INSERT INTO used VALUES (1)")
		})
	}
	is.Equal(names[1], names[0])
	is.True(names[2] != names[1])
	is.Equal(names[3], names[2])
}
