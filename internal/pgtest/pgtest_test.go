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

// openPool opens a database for a test.
func openPool(t testing.TB, dsn string) *sql.DB {
	t.Helper()
	db := sql.OpenDB(pgdriver.NewConnector(pgdriver.WithDSN(dsn)))
	t.Cleanup(func() { db.Close() })
	return db
}

// one queries one value.
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

// needServer skips the entire test if there is no PostgreSQL. A test that asserts on its subtests would fail if only
// they were skipped.
func needServer(t *testing.T) {
	t.Helper()
	pgtest.Database(t)
}

const tables = "SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace"

// A test's database is empty, private, and gone after the test, even while a connection to it is open.
func TestDatabase(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	needServer(t)
	var name string
	t.Run("a test", func(t *testing.T) {
		db := openPool(t, pgtest.Database(t))
		name = one[string](t, db, "SELECT current_database()")
		is.Equal(one[int](t, db, tables), 0)
		is.Equal(one[string](t, db, "SHOW server_encoding"), "UTF8")
		run(t, db, "CREATE TABLE own (id int)")
		lasting := sql.OpenDB(pgdriver.NewConnector(pgdriver.WithDSN(pgtest.Database(t))))
		is.NoErr(lasting.PingContext(t.Context()))
	})
	db := openPool(t, pgtest.Database(t))
	is.Equal(one[int](t, db, tables), 0)
	is.Equal(one[int](t, db, "SELECT count(*) FROM pg_database WHERE datname = $1", name), 0)
}

// Many concurrent tests each get a separate copy of what was filled once.
func TestCopy(t *testing.T) {
	t.Parallel()
	needServer(t)
	var filled atomic.Int64
	fill := func(tb testing.TB, dsn string) {
		tb.Helper()
		filled.Add(1)
		// The pool stays open until the test ends.
		run(tb, openPool(tb, dsn), "CREATE TABLE filled AS SELECT 7 AS id")
	}
	t.Run("all", func(t *testing.T) {
		for i := range 40 {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				is := is.New(t)
				db := openPool(t, pgtest.Copy(t, "filled", fill))
				is.Equal(one[int](t, db, "SELECT sum(id) FROM filled"), 7)
				run(t, db, "INSERT INTO filled VALUES (1)")
			})
		}
	})
	is := is.New(t)
	is.Equal(filled.Load(), int64(1))
}

// A fill that fails its test leaves no half-filled template: the next test fills it again.
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
	db := openPool(t, pgtest.Copy(t, "failing", func(tb testing.TB, dsn string) {
		tb.Helper()
		run(tb, openPool(tb, dsn), "CREATE TABLE filled ()")
	}))
	is.Equal(one[int](t, db, tables), 1)
}

// A copy takes well under the second that an empty server takes to start.
func BenchmarkCopy(b *testing.B) {
	fill := func(tb testing.TB, dsn string) {
		tb.Helper()
		run(tb, openPool(tb, dsn), "CREATE TABLE filled AS SELECT 7 AS id")
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

// A database that a test returned is emptied and lent again. One that cannot be emptied is not.
// TestReuseOpen checks that what a test opened is lent to the next one that opens the same type, with the database
// empty, until end says that it cannot be, and that end then closes it.
func TestReuseOpen(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	needServer(t)
	fill := func(tb testing.TB, dsn string) {
		tb.Helper()
		run(tb, openPool(tb, dsn), "CREATE TABLE used (id int)")
	}
	type opened struct{ *sql.DB }
	open := func(dsn string) (opened, error) {
		return opened{sql.OpenDB(pgdriver.NewConnector(pgdriver.WithDSN(dsn)))}, nil
	}
	var lent []opened
	for i, again := range []bool{true, false, true} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			end := func(o opened, keep bool) bool {
				is.True(keep)
				if !again {
					is.NoErr(o.Close())
				}
				return again
			}
			db := pgtest.ReuseOpen(t, "opened", fill, "DELETE FROM used", open, end)
			lent = append(lent, db)
			is.Equal(one[int](t, db.DB, "SELECT count(*) FROM used"), 0)
			run(t, db.DB, "INSERT INTO used VALUES (1)")
			// Another type has another database, which nothing was inserted into.
			other := openPool(t, pgtest.Reuse(t, "opened", fill, "DELETE FROM used"))
			is.Equal(one[int](t, other, "SELECT count(*) FROM used"), 0)
		})
	}
	is.Equal(lent[1], lent[0])
	is.True(lent[2] != lent[1])
	is.NoErr(lent[2].Close())
}

func TestReuse(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	needServer(t)
	fill := func(tb testing.TB, dsn string) {
		tb.Helper()
		run(tb, openPool(tb, dsn), "CREATE TABLE filled AS SELECT 7 AS id; CREATE TABLE used (id int)")
	}
	names := make([]string, 4)
	for i, empty := range []string{"DELETE FROM used", "DELETE FROM nothing", "DELETE FROM used", "DELETE FROM used"} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			db := openPool(t, pgtest.Reuse(t, "reused", fill, empty))
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
