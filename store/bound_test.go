package store_test

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	"modernc.org/sqlite"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/faultproxy"
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/store"
)

// hosted is a store whose every Update runs in a transaction of the host.
type hosted struct {
	*store.Store

	kind testdb.Host
	db   *bun.DB
}

func (h hosted) Update(ctx context.Context, fn func(ctx context.Context, tx driver.Tx) error) error {
	return h.within(ctx, func(bound *store.Bound) error { return bound.Update(ctx, fn) })
}

// View reads in a host's transaction too, except with SQLite, where that would keep writers waiting.
func (h hosted) View(ctx context.Context, fn func(ctx context.Context, tx driver.ReadTx) error) error {
	if h.kind.SQLite() {
		return h.Store.View(ctx, fn)
	}
	return h.within(ctx, func(bound *store.Bound) error { return bound.View(ctx, fn) })
}

func (h hosted) within(ctx context.Context, do func(bound *store.Bound) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	tx, err := h.db.BeginTx(context.WithoutCancel(ctx), nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // Also after a panic.
	bound, err := h.kind.Bind(ctx, h.Store, tx)
	if err != nil {
		return err
	}
	if err := do(bound); err != nil {
		return err
	}
	return tx.Commit()
}

// openHostedByPgx opens a store, and the pool of a host with pgx and without Bun.
func openHostedByPgx(dsn string) (hosted, error) {
	s, err := store.Open(context.Background(), dsn, &store.Config{Connections: 8})
	if err != nil {
		return hosted{}, err
	}
	pool, err := pgxPool(dsn)
	if err != nil {
		return hosted{}, errors.Join(err, s.Close())
	}
	pool.SetMaxOpenConns(8)
	return hosted{s, testdb.Host{Name: "pgx", WithoutBun: true}, bun.NewDB(pool, pgdialect.New())}, nil
}

// end reports whether the next test can use the store, and closes it if not.
func (h hosted) end(keep bool) bool {
	if keep && h.Connections().InUse == 0 && h.db.Stats().InUse == 0 {
		return true
	}
	_, _ = h.Close(), h.db.Close()
	return false
}

// TestBoundStore checks that a store which is bound to a host's transactions keeps every promise, with any driver.
func TestBoundStore(t *testing.T) {
	t.Parallel()
	for name, connect := range drivers() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "pgx" { // No other test runs the whole suite with this driver.
				whole(t, func(t *testing.T) driver.Store {
					t.Helper()
					return testdb.Reused(t, openHostedByPgx, hosted.end)
				})
				return
			}
			variant(t, func(t *testing.T) driver.Store {
				t.Helper()
				dsn := testdb.DSN(t)
				pool := connect(t, dsn)
				pool.SetMaxOpenConns(8)
				t.Cleanup(func() { is.New(t).NoErr(pool.Close()) })
				return hosted{testdb.Open(t, dsn, nil), testdb.Host{Name: name}, bun.NewDB(pool, pgdialect.New())}
			})
		})
	}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		for i, check := range checksOfVariant() {
			if strings.Contains(check.Name, "in flight") && strings.HasPrefix(check.Name, "claims/") {
				continue // Hosts begin one after the other, so no claim of another host is in flight.
			}
			t.Run(check.Name, func(t *testing.T) {
				t.Parallel()
				kind := testdb.Hosts()[0]
				kind.WithoutBun = i%2 == 1 // What differs is the way to it.
				s, db := kind.Open(t)
				is.New(t).NoErr(check.Run(t.Context(), hosted{s, kind, db}))
			})
		}
	})
}

// onHosts runs a test with a store and a host's pool on its database.
func onHosts(t *testing.T, test func(t *testing.T, kind testdb.Host, s *store.Store, db *bun.DB)) {
	t.Helper()
	for _, kind := range testdb.Hosts() {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			s, db := kind.Open(t)
			test(t, kind, s, db)
		})
	}
}

// openTx begins a host's transaction, which is rolled back when the test ends.
func openTx(tb testing.TB, db *bun.DB, options *sql.TxOptions) bun.Tx {
	tb.Helper()
	tx, err := db.BeginTx(tb.Context(), options)
	is.New(tb).NoErr(err)
	tb.Cleanup(func() { _ = tx.Rollback() })
	return tx
}

// refuses fails the test unless err refuses a transaction with this reason.
func refuses(tb testing.TB, err error, why string) {
	tb.Helper()
	if !errors.Is(err, store.ErrTransaction) || !strings.Contains(err.Error(), why) {
		tb.Errorf("got %v, want a refusal that says %q", err, why)
	}
}

func appended(name string) func(ctx context.Context, tx driver.Tx) error {
	return func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, driver.BeginOptions{Exclusive: []uuid.UUID{uuid.Nil}}); err != nil {
			return err
		}
		return tx.AppendSecretName(ctx, name, minute(0))
	}
}

// TestTransactionsOfPostgresThatAreRefused checks that Bind refuses a transaction whose locks would guard nothing, or
// that may not write.
func TestTransactionsOfPostgresThatAreRefused(t *testing.T) {
	t.Parallel()
	onHosts(t, func(t *testing.T, kind testdb.Host, s *store.Store, db *bun.DB) {
		if kind.SQLite() {
			return
		}
		for _, test := range []struct {
			why     string
			options *sql.TxOptions
			set     string
		}{
			{why: "its isolation level is repeatable read", options: &sql.TxOptions{Isolation: sql.LevelRepeatableRead}},
			{why: "its isolation level is serializable", options: &sql.TxOptions{Isolation: sql.LevelSerializable}},
			{why: "its isolation level is repeatable read", set: "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"},
			{why: "it is read-only", options: &sql.TxOptions{ReadOnly: true}},
			{why: "it is read-only", set: "SET TRANSACTION READ ONLY"},
			{why: "standard_conforming_strings", set: "SET LOCAL standard_conforming_strings TO off"},
			{why: "client_encoding", set: "SET LOCAL client_encoding TO LATIN1"},
			{why: "session_replication_role", set: "SET LOCAL session_replication_role TO replica"},
		} {
			is := is.New(t)
			if test.why == "client_encoding" && strings.HasPrefix(kind.Name, "pgx") {
				continue // The driver refuses it itself.
			}
			tx := openTx(t, db, test.options)
			if test.set != "" {
				_, err := tx.ExecContext(t.Context(), test.set)
				is.NoErr(err)
			}
			_, err := kind.Bind(t.Context(), s, tx)
			refuses(t, err, test.why)
			is.NoErr(tx.Rollback())
		}
		// A transaction that becomes unfit later is refused when it is used.
		is := is.New(t)
		tx := openTx(t, db, nil)
		bound, err := kind.Bind(t.Context(), s, tx)
		is.NoErr(err)
		_, err = tx.ExecContext(t.Context(), "SET TRANSACTION READ ONLY")
		is.NoErr(err)
		refuses(t, bound.Update(t.Context(), appended("later")), "it is read-only")
		refuses(t, bound.Snapshot(t.Context(), func(context.Context, driver.ReadTx) error { return nil }), "one snapshot")
		is.NoErr(tx.Rollback())
		is.Equal(len(names(t, s)), 0)
	})
}

// TestHostThatSwallowsAnError checks that an error which the host swallowed dooms its transaction, as PostgreSQL does.
// An Update reports that, and a new store is not bound. With SQLite such an error has no effect on the transaction.
func TestHostThatSwallowsAnError(t *testing.T) {
	t.Parallel()
	onHosts(t, func(t *testing.T, kind testdb.Host, s *store.Store, db *bun.DB) {
		is := is.New(t)
		tx := openTx(t, db, nil)
		bound, err := kind.Bind(t.Context(), s, tx)
		is.NoErr(err)
		_, err = tx.ExecContext(t.Context(), "INSERT INTO nowhere VALUES (1)")
		is.True(err != nil)
		err = bound.Update(t.Context(), appended("name"))
		if kind.SQLite() {
			is.NoErr(err)
			is.NoErr(tx.Commit())
			is.Equal(names(t, s), []string{"name"})
			return
		}
		refuses(t, err, "a statement in it failed")
		// Bun's driver alone would report no error.
		is.True(tx.Commit() != nil)

		tx = openTx(t, db, nil)
		_, err = tx.ExecContext(t.Context(), "INSERT INTO nowhere VALUES (1)")
		is.True(err != nil)
		_, err = kind.Bind(t.Context(), s, tx)
		refuses(t, err, "a statement in it failed")
		is.Equal(len(names(t, s)), 0)
	})
}

// TestPartThatSwallowsAnError checks that an error which fn swallows fails its Update, and nothing else of the
// transaction.
func TestPartThatSwallowsAnError(t *testing.T) {
	t.Parallel()
	onHosts(t, func(t *testing.T, kind testdb.Host, s *store.Store, db *bun.DB) {
		is := is.New(t)
		furnish(t, s)
		tx := openTx(t, db, nil)
		bound, err := kind.Bind(t.Context(), s, tx)
		is.NoErr(err)
		is.NoErr(bound.Update(t.Context(), appended("before")))
		err = bound.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
			is.NoErr(appended("within")(ctx, tx))
			_ = tx.CreateCompany(ctx, newCompany(company)) // It exists already.
			_, _ = tx.SecretNames(ctx)
			return nil
		})
		is.True(err != nil)
		is.NoErr(bound.Update(t.Context(), appended("after")))
		is.NoErr(tx.Commit())
		is.Equal(names(t, s), []string{"after", "before"})
	})
}

// TestBoundAfterTheEnd checks that a transaction that has ended is reported as ended, however it ended, and that
// nothing is written.
func TestBoundAfterTheEnd(t *testing.T) {
	t.Parallel()
	onHosts(t, func(t *testing.T, kind testdb.Host, s *store.Store, db *bun.DB) {
		is := is.New(t)
		ends := map[string]func(tx bun.Tx) error{
			"commit":   func(tx bun.Tx) error { return tx.Commit() },
			"rollback": func(tx bun.Tx) error { return tx.Rollback() },
		}
		if kind.SQLite() { // As SQLite itself does when a disk is full.
			ends["behind the driver's back"] = func(tx bun.Tx) error {
				_, err := tx.ExecContext(t.Context(), "ROLLBACK")
				return err
			}
		}
		for _, end := range ends {
			tx := openTx(t, db, nil)
			bound, err := kind.Bind(t.Context(), s, tx)
			is.NoErr(err)
			is.NoErr(end(tx))
			refuses(t, bound.Update(t.Context(), appended("late")), "it has ended")
			refuses(t, bound.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
				_, err := tx.SecretNames(ctx)
				return err
			}), "it has ended")
			_, err = kind.Bind(t.Context(), s, tx)
			refuses(t, err, "it has ended")
			is.Equal(len(names(t, s)), 0)
		}
		_, err := kind.Bind(t.Context(), s, bun.Tx{}) // Of no *sql.Tx either.
		refuses(t, err, "there is none")
	})
}

// TestTransactionThatEndsWithinAPart checks that nothing is kept of an Update during which the transaction ended.
func TestTransactionThatEndsWithinAPart(t *testing.T) {
	t.Parallel()
	onHosts(t, func(t *testing.T, kind testdb.Host, s *store.Store, db *bun.DB) {
		is := is.New(t)
		tx := openTx(t, db, nil)
		bound, err := kind.Bind(t.Context(), s, tx)
		is.NoErr(err)
		refuses(t, bound.Update(t.Context(), func(ctx context.Context, part driver.Tx) error {
			is.NoErr(appended("torn")(ctx, part))
			return tx.Rollback()
		}), "it has ended")
		is.Equal(len(names(t, s)), 0)
	})
}

// TestTransactionOfAnotherDatabase checks that a transaction of another database is refused, even if it has the tables
// of a store. So is one of the same database that does not see them.
func TestTransactionOfAnotherDatabase(t *testing.T) {
	t.Parallel()
	kinds := testdb.Hosts()
	for _, kind := range kinds {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			s, db := kind.Open(t)
			_, elsewhere := kind.Open(t)
			_, err := kind.Bind(t.Context(), s, openTx(t, elsewhere, nil))
			refuses(t, err, "it belongs to another database")
			other := kinds[0]
			if kind.SQLite() {
				other = kinds[1]
			}
			_, foreign := other.Open(t)
			tx := openTx(t, foreign, nil)
			_, err = kind.Bind(t.Context(), s, tx)
			refuses(t, err, "it is not one of")
			is.NoErr(tx.Rollback())                     // It was left open.
			if kind.SQLite() || kind.Name == "schema" { // Its search path is the store's own.
				return
			}
			tx = openTx(t, db, nil)
			_, err = tx.ExecContext(t.Context(), "SET LOCAL search_path TO pg_catalog")
			is.NoErr(err)
			_, err = kind.Bind(t.Context(), s, tx)
			refuses(t, err, "does not see the store's tables")
			_, err = tx.ExecContext(t.Context(), "SET LOCAL search_path TO public")
			is.NoErr(err) // The refusal left the transaction as it was.
			_, err = kind.Bind(t.Context(), s, tx)
			is.NoErr(err)
		})
	}
}

// TestBindBeforeMigrating checks that a database that is not migrated has its own error, before any query in the
// transaction.
func TestBindBeforeMigrating(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	path := filepath.Join(t.TempDir(), "new.db")
	s := testdb.Open(t, "sqlite:"+path, nil)
	db := bun.NewDB(testdb.Pool(t, "sqlite:"+path), sqlitedialect.New())
	_, err := s.Bind(t.Context(), openTx(t, db, nil))
	is.True(errors.Is(err, store.ErrNotMigrated))
}

// TestBindAfterARestart checks that a server that was restarted counts as the same database.
func TestBindAfterARestart(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	server := pgtest.Start(t)
	s := testdb.Open(t, server.DSN("postgres"), nil)
	db := bun.NewDB(testdb.Pool(t, server.DSN("postgres")), pgdialect.New())
	is.NoErr(s.Migrate(t.Context()))
	bind := func() error {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback() }()
		_, err = s.Bind(t.Context(), tx)
		return err
	}
	is.NoErr(bind())
	server.Restart()
	for bind() != nil { // The host's own pool has dead connections.
		is.True(!errors.Is(bind(), store.ErrTransaction))
	}
}

// TestBindOnAPoolOfOne checks that a store that is ready can be bound to a transaction that holds the only connection
// of their common pool, also after a restart of the server. A store that must query first waits no longer than its
// caller.
func TestBindOnAPoolOfOne(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	server := pgtest.Start(t)
	db := bun.NewDB(testdb.Pool(t, server.DSN("postgres")), pgdialect.New())
	db.SetMaxOpenConns(1)
	s, err := store.OpenDB(t.Context(), db, &store.Config{BusyTimeout: time.Second})
	is.NoErr(err)
	is.NoErr(s.Migrate(t.Context()))
	withoutBun := testdb.Host{WithoutBun: true}
	sell := func(kind testdb.Host, name string) {
		t.Helper()
		tx := openTx(t, db, nil)
		bound, err := kind.Bind(t.Context(), s, tx)
		is.NoErr(err)
		is.NoErr(bound.Update(t.Context(), appended(name)))
		is.NoErr(tx.Commit())
	}
	sell(testdb.Host{}, "before")
	sell(withoutBun, "likewise")
	server.Restart()
	is.Equal(names(t, s), []string{"before", "likewise"}) // This read replaces the dead connection.
	sell(testdb.Host{}, "later")
	tx := openTx(t, db, nil)
	_, err = s.BindSQL(t.Context(), tx.Tx)
	is.True(errors.Is(err, driver.ErrBusy))
	is.NoErr(tx.Rollback())
	sell(testdb.Host{}, "next") // Bind needs no other connection after that either.
	is.Equal(names(t, s), []string{"before", "later", "likewise", "next"})
	sell(withoutBun, "once more")
	is.Equal(names(t, s), []string{"before", "later", "likewise", "next", "once more"})

	// A store that was not used before has to query first.
	fresh, err := store.OpenDB(t.Context(), db, nil)
	is.NoErr(err)
	tx = openTx(t, db, nil)
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	started := time.Now()
	_, err = fresh.Bind(short, tx)
	is.True(errors.Is(err, context.DeadlineExceeded))
	is.True(time.Since(started) < 3*time.Second)
}

// TestPartReadsByIndexes checks that an Update in a host's transaction reads by indexes like any other, whatever the
// host has set.
func TestPartReadsByIndexes(t *testing.T) {
	t.Parallel()
	onHosts(t, func(t *testing.T, kind testdb.Host, s *store.Store, db *bun.DB) {
		if kind.SQLite() {
			return
		}
		is := is.New(t)
		tx := openTx(t, db, nil)
		bound, err := kind.Bind(t.Context(), s, tx)
		is.NoErr(err)
		is.NoErr(bound.Update(t.Context(), func(ctx context.Context, part driver.Tx) error {
			_, err := part.Begin(ctx, driver.BeginOptions{})
			is.NoErr(err)
			for _, name := range []string{
				"enable_seqscan", "enable_bitmapscan", "enable_hashjoin", "enable_mergejoin", "enable_memoize", "jit",
			} {
				var set string
				is.NoErr(tx.NewRaw("SELECT current_setting(?)", name).Scan(ctx, &set))
				is.Equal(name+" "+set, name+" off")
			}
			return nil
		}))
		is.NoErr(tx.Commit())
	})
}

// TestTransactionsOfSQLiteThatAreRefused checks that a SQLite transaction that was not begun IMMEDIATE is refused,
// whether or not another connection is writing. So is a connection that checks no foreign keys.
func TestTransactionsOfSQLiteThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, kind := range testdb.Hosts() {
		if !kind.SQLite() {
			continue
		}
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			path := filepath.Join(t.TempDir(), "ticketing.db")
			s := testdb.Open(t, "sqlite:"+path, nil)
			is.NoErr(s.Migrate(t.Context()))
			pool := func(options string) *bun.DB {
				db, err := sql.Open("sqlite", "file:"+path+"?"+options)
				is.NoErr(err)
				t.Cleanup(func() { _ = db.Close() })
				return bun.NewDB(db, sqlitedialect.New())
			}
			const why = "it was not begun IMMEDIATE"
			deferred := pool("_pragma=foreign_keys(1)&_pragma=busy_timeout(5000)")
			_, err := kind.Bind(t.Context(), s, openTx(t, deferred, nil))
			refuses(t, err, why)

			reading := openTx(t, deferred, nil)
			var kept int
			is.NoErr(reading.NewRaw("SELECT count(*) FROM ticketing_secrets").Scan(t.Context(), &kept))
			_, err = kind.Bind(t.Context(), s, reading)
			refuses(t, err, why)

			immediate := pool("_txlock=immediate&_pragma=foreign_keys(1)&_pragma=busy_timeout(5000)")
			writing := openTx(t, immediate, nil)
			started := time.Now()
			// Another transaction is writing, not this one.
			_, err = kind.Bind(t.Context(), s, openTx(t, deferred, nil))
			refuses(t, err, why)
			is.True(time.Since(started) < 2*time.Second) // Nor does Bind wait for the writer.
			bound, err := kind.Bind(t.Context(), s, writing)
			is.NoErr(err)
			is.NoErr(bound.Update(t.Context(), appended("name")))
			var timeout int
			is.NoErr(writing.NewRaw("PRAGMA busy_timeout").Scan(t.Context(), &timeout))
			is.Equal(timeout, 5000) // It was restored.
			is.NoErr(writing.Commit())
			is.Equal(names(t, s), []string{"name"})

			unchecked := openTx(t, pool("_txlock=immediate"), nil)
			_, err = kind.Bind(t.Context(), s, unchecked)
			refuses(t, err, "foreign_keys is off")
			is.NoErr(unchecked.Rollback())

			held := openTx(t, immediate, nil)
			_, err = held.ExecContext(t.Context(), "PRAGMA query_only = 1")
			is.NoErr(err)
			_, err = kind.Bind(t.Context(), s, held)
			refuses(t, err, "it is read-only")
		})
	}
}

// otherSQLite opens connections of another library of SQLite, to whom their errors belong.
type otherSQLite struct {
	sqldriver.Connector
}

type otherSQLiteConn struct {
	sqldriver.Conn
	sqldriver.ConnBeginTx
	sqldriver.QueryerContext
}

func (o otherSQLite) Connect(ctx context.Context) (sqldriver.Conn, error) {
	conn, err := o.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return otherSQLiteConn{conn, conn.(sqldriver.ConnBeginTx), conn.(sqldriver.QueryerContext)}, nil
}

func (o otherSQLite) Driver() sqldriver.Driver { return nil }

func (c otherSQLiteConn) ExecContext(
	ctx context.Context, text string, args []sqldriver.NamedValue,
) (sqldriver.Result, error) {
	result, err := c.Conn.(sqldriver.ExecerContext).ExecContext(ctx, text, args)
	if err != nil {
		err = errors.New(err.Error())
	}
	return result, err
}

// TestAnotherLibraryOfSQLite checks that a transaction of another library is refused: the two would release each
// other's locks of the file.
func TestAnotherLibraryOfSQLite(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	dsn := testdb.SQLiteDSN(t)
	s := testdb.Open(t, dsn, nil)
	connector, err := sqlite.NewConnector("file:" + strings.TrimPrefix(dsn, "sqlite:") +
		"?_txlock=immediate&_pragma=foreign_keys(1)")
	is.NoErr(err)
	db := bun.NewDB(sql.OpenDB(otherSQLite{connector}), sqlitedialect.New())
	defer db.Close()
	for _, kind := range []testdb.Host{{}, {WithoutBun: true}} {
		tx := openTx(t, db, nil)
		_, err = kind.Bind(t.Context(), s, tx)
		refuses(t, err, "not one of modernc.org/sqlite")
		is.NoErr(tx.Rollback())
	}
}

// TestPartThatWaits checks that an Update which gives up waiting leaves the transaction to the host, which may try
// again. A store's own Update that waits for the host is busy, too.
func TestPartThatWaits(t *testing.T) {
	t.Parallel()
	onHosts(t, func(t *testing.T, kind testdb.Host, s *store.Store, db *bun.DB) {
		if kind.SQLite() {
			return
		}
		is := is.New(t)
		furnish(t, s)
		soon := driver.BeginOptions{Exclusive: []uuid.UUID{company}, LockTimeout: 150 * time.Millisecond}
		enter := func(ctx context.Context, tx driver.Tx) error { _, err := tx.Begin(ctx, soon); return err }

		tx := openTx(t, db, nil)
		bound, err := kind.Bind(t.Context(), s, tx)
		is.NoErr(err)
		is.NoErr(s.Update(t.Context(), func(ctx context.Context, other driver.Tx) error {
			if _, err := other.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{company}}); err != nil {
				return err
			}
			is.True(errors.Is(bound.Update(ctx, enter), driver.ErrBusy))
			is.NoErr(bound.Update(ctx, appended("meanwhile")))
			return nil
		}))
		is.NoErr(bound.Update(t.Context(), enter))
		// The gate is the host's until its transaction ends.
		is.True(errors.Is(s.Update(t.Context(), enter), driver.ErrBusy))
		is.NoErr(tx.Commit())
		is.NoErr(s.Update(t.Context(), enter))
		is.Equal(names(t, s), []string{"meanwhile"})
	})
}

// TestPartThatFailsLetsGo checks that an Update that fails releases its locks, including the claims of its keys.
func TestPartThatFailsLetsGo(t *testing.T) {
	t.Parallel()
	onHosts(t, func(t *testing.T, kind testdb.Host, s *store.Store, db *bun.DB) {
		if kind.SQLite() {
			return
		}
		is := is.New(t)
		in := driver.BeginOptions{Exclusive: []uuid.UUID{company}, Keys: claim("key")}
		furnish(t, s)
		tx := openTx(t, db, nil)
		bound, err := kind.Bind(t.Context(), s, tx)
		is.NoErr(err)
		failed := errors.New("refused")
		is.Equal(bound.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
			_, err := tx.Begin(ctx, in)
			is.NoErr(err)
			return failed
		}), failed)
		is.NoErr(s.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
			inFlight, err := tx.Begin(ctx, in)
			is.Equal(inFlight, []bool{false})
			return err
		}))
		is.NoErr(tx.Commit())
	})
}

// TestPartRunsOnce checks that a transient failure is not retried: what the host did before is outside of the
// savepoint.
func TestPartRunsOnce(t *testing.T) {
	t.Parallel()
	onHosts(t, func(t *testing.T, kind testdb.Host, s *store.Store, db *bun.DB) {
		is := is.New(t)
		tx := openTx(t, db, nil)
		bound, err := kind.Bind(t.Context(), s, tx)
		is.NoErr(err)
		runs := 0
		err = bound.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
			runs++
			is.NoErr(appended("once")(ctx, tx))
			return store.Transient(errTransient)
		})
		is.True(errors.Is(err, driver.ErrBusy))
		is.Equal(runs, 1)
		is.NoErr(tx.Commit())
		is.Equal(len(names(t, s)), 0)
	})
}

// TestBoundByTurns checks that several goroutines in one transaction run one at a time, also those that bound it
// themselves.
func TestBoundByTurns(t *testing.T) {
	t.Parallel()
	onHosts(t, func(t *testing.T, kind testdb.Host, s *store.Store, db *bun.DB) {
		is := is.New(t)
		tx := openTx(t, db, nil)
		bound, err := kind.Bind(t.Context(), s, tx)
		is.NoErr(err)
		other, err := kind.Bind(t.Context(), s, tx)
		is.NoErr(err)
		both := []*store.Bound{bound, bound, other, other}
		var all sync.WaitGroup
		for i, name := range []string{"a", "b", "c", "d", "e", "f"} {
			all.Go(func() {
				err := both[i%len(both)].Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
					if err := appended(name)(ctx, tx); err != nil || i%2 == 0 {
						return err
					}
					return errTransient
				})
				if i%2 == 0 && err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		is.NoErr(tx.Commit())
		is.Equal(names(t, s), []string{"a", "c", "e"})
	})
}

// TestPartWhoseConnectionIsLost checks that a connection that is lost during an Update is reported as an unavailable
// database, and that nothing of the transaction is kept.
func TestPartWhoseConnectionIsLost(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	dsn := testdb.FreshDSN(t)
	s := testdb.Open(t, dsn, nil)
	_, rest, _ := strings.Cut(dsn, "@")
	addr, _, _ := strings.Cut(rest, "/")
	proxy := faultproxy.New(t, addr)
	db := bun.NewDB(testdb.Pool(t, strings.Replace(dsn, addr, proxy.Addr(), 1)), pgdialect.New())
	tx := openTx(t, db, nil)
	bound, err := s.Bind(t.Context(), tx)
	is.NoErr(err)
	is.NoErr(bound.Update(t.Context(), appended("before")))
	proxy.OnMessage(func(m faultproxy.Message) faultproxy.Action {
		if strings.Contains(m.SQL(), "RELEASE") {
			return faultproxy.PassAndCut
		}
		return faultproxy.Pass
	})
	err = bound.Update(t.Context(), appended("lost"))
	is.True(errors.Is(err, driver.ErrUnavailable))
	is.True(tx.Commit() != nil)
	is.Equal(len(names(t, s)), 0)
}

// TestBoundSaysNothingToHooks checks that the host's hooks are not called for binding and selling: the statements hold
// data of buyers.
func TestBoundSaysNothingToHooks(t *testing.T) {
	t.Parallel()
	onHosts(t, func(t *testing.T, kind testdb.Host, s *store.Store, db *bun.DB) {
		is := is.New(t)
		hook := &spy{}
		db = db.WithQueryHook(hook)
		tx := openTx(t, db, nil)
		hook.queries = nil
		bound, err := kind.Bind(t.Context(), s, tx)
		is.NoErr(err)
		is.NoErr(bound.Update(t.Context(), appended("name")))
		is.Equal(len(hook.queries), 0)
	})
}
