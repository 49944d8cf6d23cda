// Package testdb opens the databases that tests run on. Each is empty, has the tables of this version, belongs to the
// test and is gone after it. A rule that holds on one store must hold on all. So the rules of the service, the HTTP
// contract and the conformance suite run over the list of [Stores].
package testdb

import (
	"context"
	"errors"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/internal/scratch"
	"github.com/floatgate/ticketing/store"
)

// Store is one way to keep records. Its name is for subtests.
type Store struct {
	Name string
	Open func(tb testing.TB) driver.Store
}

// Stores returns the SQL stores: SQLite, PostgreSQL, and PostgreSQL as a distributed engine requires it. With -short it
// returns only SQLite, and on a cluster only PostgreSQL: see [pgtest.OnCluster].
func Stores() []Store {
	all := []Store{
		{Name: "sqlite", Open: func(tb testing.TB) driver.Store { tb.Helper(); return SQLite(tb) }},
		{Name: "postgres", Open: func(tb testing.TB) driver.Store { tb.Helper(); return Postgres(tb) }},
		{Name: "partitioned", Open: func(tb testing.TB) driver.Store { tb.Helper(); return Partitioned(tb) }},
	}
	switch {
	case testing.Short():
		return all[:1]
	case pgtest.OnCluster():
		return all[1:2] // The others know nothing of a cluster.
	default:
		return all
	}
}

// connections is how many connections a store has. Many concurrent calls wait for them, and a server has enough for
// many tests at a time.
const connections = 8

// patience is the BusyTimeout of a store that a test opens without a config. Between busy processors a call may wait
// for longer than the default of 5 s, for calls with which it has no conflict. It is less than a statement may take.
const patience = 7 * time.Second

// SQLite opens a store on a new file.
func SQLite(tb testing.TB) *store.Store {
	tb.Helper()
	return Open(tb, SQLiteDSN(tb), nil)
}

// SQLiteDSN returns the DSN of a new file with the tables of this version.
func SQLiteDSN(tb testing.TB) string {
	tb.Helper()
	folder, err := os.MkdirTemp(scratch.Folder(), "ticketing-sqlite-") //nolint:usetesting // It may be in memory.
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := os.RemoveAll(folder); err != nil {
			tb.Error(err)
		}
	})
	path := filepath.Join(folder, "ticketing.db")
	SQLiteFile(tb, path)
	return "sqlite:" + path
}

// SQLiteFile makes a database file with the tables of this version at a path.
func SQLiteFile(tb testing.TB, path string) {
	tb.Helper()
	file, err := theSQLite()
	if err != nil {
		tb.Fatal(err)
	}
	if err := os.WriteFile(path, file, ownersAlone); err != nil {
		tb.Fatal(err)
	}
}

const ownersAlone = 0o600

// theSQLite returns the content of a file with the tables of this version, which is migrated once and copied.
var theSQLite = sync.OnceValues(func() (file []byte, err error) {
	folder, err := os.MkdirTemp(scratch.Folder(), "ticketing-sqlite-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	path := filepath.Join(folder, "ticketing.db")
	s, err := store.Open(context.Background(), "sqlite:"+path, nil)
	if err != nil {
		return nil, err
	}
	// After the store is closed, everything is in the one file.
	if err := errors.Join(s.Migrate(context.Background()), s.Close()); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// Postgres opens a database on the server that tests share. The next test gets the same store without its rows. So a
// test that closes it, breaks connections or changes more than rows must use a [DSN] or a [FreshDSN].
func Postgres(tb testing.TB) *store.Store {
	tb.Helper()
	return pgtest.ReuseOpen(tb, "ticketing", migrate, empty(), openFew, endStore)
}

// defaultConfig is the config of a store that a test opens without one.
func defaultConfig() *store.Config {
	return &store.Config{Connections: connections, BusyTimeout: patience}
}

func openFew(dsn string) (*store.Store, error) {
	return store.Open(context.Background(), dsn, defaultConfig())
}

// endStore closes a store that is not to be kept. It also closes a store that is still being read, since the reader
// might see rows of the next test.
func endStore(s *store.Store, keep bool) bool {
	if keep && s.Connections().InUse == 0 {
		return true
	}
	_ = s.Close()
	return false
}

// Reused is like Postgres for what open returns for the URL of a database. The end of a test calls end, which reports
// whether the next test can use it, and else closes it. Each type T has its own databases.
func Reused[T any](tb testing.TB, open func(dsn string) (T, error), end func(opened T, keep bool) bool) T {
	tb.Helper()
	return pgtest.ReuseOpen(tb, "ticketing", migrate, empty(), open, end)
}

// DSN returns the URL of a database of PostgreSQL with the tables of this version. The next test gets it without its
// rows. So a test that changes more than rows must use a [FreshDSN].
func DSN(tb testing.TB) string {
	tb.Helper()
	return pgtest.Reuse(tb, "ticketing", migrate, empty())
}

// FreshDSN is like DSN, but the database is not reused after the test.
func FreshDSN(tb testing.TB) string {
	tb.Helper()
	return pgtest.Copy(tb, "ticketing", migrate)
}

// WorkerDSN returns the URL of a database on the first worker of its cluster.
func WorkerDSN(tb testing.TB, dsn string) string {
	tb.Helper()
	return workerDSN(tb, dsn, "true")
}

// WorkerOf returns the URL of a database on the worker that has the rows of a company or a user.
func WorkerOf(tb testing.TB, dsn string, id uuid.UUID) string {
	tb.Helper()
	return workerDSN(tb, dsn, `groupid = (SELECT groupid FROM pg_dist_placement
		WHERE shardid = get_shard_id_for_distribution_column('ticketing_companies', '`+id.String()+"'::uuid))")
}

func workerDSN(tb testing.TB, dsn, which string) string {
	tb.Helper()
	pool, err := store.OpenPool(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = pool.Close() }()
	var host, port string
	if err := pool.QueryRowContext(tb.Context(), "SELECT nodename, nodeport::text FROM pg_dist_node "+
		"WHERE groupid <> 0 AND isactive AND noderole = 'primary' AND "+which+" ORDER BY groupid LIMIT 1",
	).Scan(&host, &port); err != nil {
		tb.Fatal(err)
	}
	at, err := url.Parse(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	at.Host = net.JoinHostPort(host, port)
	return at.String()
}

// StopWorker makes a worker of a cluster refuse all connections to a database, and ends those that there are, until
// start is called. dsn is the URL of the database there.
func StopWorker(tb testing.TB, dsn string) (start func()) {
	tb.Helper()
	at, err := url.Parse(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	name := strings.TrimPrefix(at.Path, "/")
	at.Path = "/postgres" // A superuser of another database of that node is let in.
	admin := Pool(tb, at.String())
	run := func(statements ...string) {
		tb.Helper()
		for _, statement := range statements {
			if _, err := admin.ExecContext(tb.Context(), statement); err != nil {
				tb.Fatal(err)
			}
		}
	}
	run("ALTER DATABASE "+name+" ALLOW_CONNECTIONS false", `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = '`+name+`' AND backend_type = 'client backend'`)
	return func() {
		tb.Helper()
		run("ALTER DATABASE " + name + " ALLOW_CONNECTIONS true")
	}
}

func migrate(tb testing.TB, dsn string) {
	tb.Helper()
	migrateWith(tb, dsn, nil)
}

func migrateWith(tb testing.TB, dsn string, cfg *store.Config) {
	tb.Helper()
	s, err := store.Open(tb.Context(), dsn, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if err := s.Migrate(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	if pgtest.OnCluster() {
		if err := s.Distribute(tb.Context()); err != nil {
			tb.Fatal(err)
		}
	}
}

// empty returns the statements that remove all rows, bypassing the triggers that refuse it. On a cluster they run on
// each node, where the rows are in shards.
func empty() string {
	before, but := "", ""
	if pgtest.OnCluster() {
		before = "SET citus.override_table_visibility TO off; SET citus.enable_manual_changes_to_shards TO on;"
		but = " AND c.oid NOT IN (SELECT logicalrelid FROM pg_dist_partition)"
	}
	return before + `SET session_replication_role TO replica; SET lock_timeout TO '5s';
DO $$ DECLARE name regclass; BEGIN
	FOR name IN SELECT c.oid FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = relnamespace
		WHERE nspname IN ('public', '` + schema + `') AND relkind IN ('r', 'p')
			AND relname !~ '^ticketing_migrations(_[0-9]+)?$'` + but + `
	LOOP EXECUTE 'DELETE FROM ' || name; END LOOP;
END $$`
}

// Open opens a database by its DSN and closes it when the test ends. With a nil config it has few connections.
func Open(tb testing.TB, dsn string, cfg *store.Config) *store.Store {
	tb.Helper()
	if cfg == nil {
		cfg = defaultConfig()
	}
	if pgtest.DirectNodes() && !cfg.RowGates {
		direct := *cfg
		direct.DirectNodes = true
		cfg = &direct
	}
	// A test created by a property has ended its context before its clean-up.
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
