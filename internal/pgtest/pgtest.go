// Package pgtest provides PostgreSQL for tests: empty databases on a server that the tests of a process share, copies
// of a database that was filled once, and separate servers to kill, restart and promote.
//
// The servers are throw-away. They are started from installed binaries, as an unprivileged user if the test runs as
// root, in a separate folder within [scratch.Folder]. They end with the process that started them, however it ends.
// TICKETING_TEST_POSTGRES names a server to use for databases instead: the URL of a database on it, with a role that
// may create databases. TICKETING_TEST_CITUS names the coordinator of a Citus cluster in the same way: see [OnCluster].
// If there is none of them, and with -short, tests are skipped.
package pgtest

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"net/url"
	"os"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/floatgate/ticketing/internal/scratch"
)

const (
	environment = "TICKETING_TEST_POSTGRES"
	howToGetOne = "install one (apt-get install postgresql; brew install postgresql), its service need not run"
)

var errNoServer = errors.New("there is no PostgreSQL for tests: " + howToGetOne +
	", or set " + environment + " to the URL of a server where its role may create databases")

// Database creates an empty database for a test, on a server that all tests of this process share, and returns its URL.
// It drops the database when the test ends, even if connections to it are still open. The shared server loses all data
// in a crash. Tests about crashes use [Start].
func Database(tb testing.TB) string {
	tb.Helper()
	s := use(tb)
	if OnCluster() {
		return Copy(tb, "empty", func(testing.TB, string) {}) // The parts of the cluster are made once.
	}
	name := s.name()
	ctx := context.WithoutCancel(tb.Context())
	if err := s.exec(ctx, "CREATE DATABASE "+name+s.strategy); err != nil {
		tb.Fatalf("make a database: %v", err)
	}
	return s.lend(tb, name)
}

// Copy is like Database, but the database is a copy of a template. The first test of this process that asks for the
// template fills it with fill. Connections of fill are closed before the first copy is made. If fill fails its test,
// the next test that asks fills the template again.
func Copy(tb testing.TB, template string, fill func(tb testing.TB, dsn string)) string {
	tb.Helper()
	s := use(tb)
	from := s.template(template)
	name := s.name()
	ctx := context.WithoutCancel(tb.Context())
	if err := s.copy(ctx, name, from.ready(tb, s, fill)); err != nil {
		tb.Fatalf("copy the template %s: %v", template, err)
	}
	return s.lend(tb, name)
}

// Reuse is like Copy, but after a test its database is emptied by SQL and lent to another test. That takes a fraction
// of the time for a copy of many tables. A database that cannot be emptied, or whose test failed, is dropped. A test
// must not change anything that empty does not restore.
func Reuse(tb testing.TB, template string, fill func(tb testing.TB, dsn string), empty string) string {
	tb.Helper()
	return ReuseOpen(tb, template, fill, empty,
		func(dsn string) (string, error) { return dsn, nil },
		func(_ string, keep bool) bool { return keep })
}

// ReuseOpen is like Reuse, but lends what open returned for the URL of a database together with that database. To
// connect and to learn the tables takes longer than most tests. After a test, end is called. It reports whether the
// next test can use what was opened, and closes it if not, or if keep is false. Each type T has its own databases.
func ReuseOpen[T any](
	tb testing.TB, template string, fill func(tb testing.TB, dsn string), empty string,
	open func(dsn string) (T, error), end func(opened T, keep bool) bool,
) T {
	tb.Helper()
	s := use(tb)
	from := s.template(template)
	ctx := context.WithoutCancel(tb.Context())
	key := reflect.TypeFor[T]()
	lent, ok := from.takeIdle(key)
	if !ok {
		name := s.name()
		if err := s.copy(ctx, name, from.ready(tb, s, fill)); err != nil {
			tb.Fatalf("copy the template %s: %v", template, err)
		}
		opened, err := open(s.dsn(name))
		if err != nil {
			_ = s.drop(ctx, name)
			tb.Fatal(err)
		}
		lent = reused{name: name, admins: s.open(name), opened: opened}
	}
	opened := lent.opened.(T)
	tb.Cleanup(func() {
		if end(opened, !tb.Failed() && from.hasRoom(key)) {
			if err := onEach(lent.admins, func(db *sql.DB) error { return run(ctx, db, empty) }); err == nil {
				from.putIdle(key, lent)
				return
			}
			end(opened, false)
		}
		_ = onEach(lent.admins, (*sql.DB).Close)
		if err := s.drop(ctx, lent.name); err != nil {
			tb.Errorf("drop the test's database: %v", err)
		}
	})
	return opened
}

// found reports whether there is a PostgreSQL. If there is none, skipped tests give that as the reason.
var found = sync.OnceValue(func() bool {
	_, ok := Binaries()
	return ok || os.Getenv(environment) != "" || OnCluster()
})

// leftOut skips a test if -short leaves out PostgreSQL.
func leftOut(tb testing.TB) {
	tb.Helper()
	if testing.Short() && found() {
		tb.Skip("-short leaves PostgreSQL out")
	}
}

// shared is the server that the tests of a process share.
type shared struct {
	admin    *sql.DB
	url      *url.URL
	workers  []*worker // the other nodes of a cluster
	process  uint32    // the number of this process in the names of its databases
	strategy string    // a clause of CREATE DATABASE
	count    atomic.Int64
	alive    *sql.Conn // holds the lock that shows other processes that this one uses its databases
	keeper   *keeper   // keeps the pipe open as long as the process lives; nil if the server was not started here

	mu        sync.Mutex
	templates map[string]*template
}

// template is a database that is copied. Copies may be made concurrently, but not while anything is connected to the
// template. So the lock is held until it has been filled and closed.
type template struct {
	mu   sync.Mutex
	name string // empty until then

	idleMu sync.Mutex
	idle   map[reflect.Type][]reused // idle copies, by the type of what was opened on them
}

// reused is a copy of a template that is lent to one test after another.
type reused struct {
	name   string
	admins []*sql.DB // a single connection to each node, which empties the database
	opened any
}

// mostIdle is how many copies of a template may wait for the next test. They keep their connections.
const mostIdle = 8

func (t *template) takeIdle(key reflect.Type) (reused, bool) {
	t.idleMu.Lock()
	defer t.idleMu.Unlock()
	idle := t.idle[key]
	if len(idle) == 0 {
		return reused{}, false
	}
	last := len(idle) - 1
	t.idle[key] = idle[:last]
	return idle[last], true
}

func (t *template) putIdle(key reflect.Type, copied reused) {
	t.idleMu.Lock()
	defer t.idleMu.Unlock()
	if t.idle == nil {
		t.idle = map[reflect.Type][]reused{}
	}
	t.idle[key] = append(t.idle[key], copied)
}

// hasRoom reports whether one more copy may wait.
func (t *template) hasRoom(key reflect.Type) bool {
	t.idleMu.Lock()
	defer t.idleMu.Unlock()
	return len(t.idle[key]) < mostIdle
}

// ready returns the name of the template's database, and fills it first if needed.
func (t *template) ready(tb testing.TB, s *shared, fill func(tb testing.TB, dsn string)) string {
	tb.Helper()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.name == "" {
		t.name = s.fill(tb, fill)
	}
	return t.name
}

// OwnServer reports whether the databases of tests are on a server that pgtest started. It accepts clients from
// 127.0.0.2, too, as faultproxy's KeepPorts needs it.
func OwnServer() bool { return os.Getenv(clusterEnvironment) == "" && os.Getenv(environment) == "" }

func use(tb testing.TB) *shared {
	tb.Helper()
	leftOut(tb)
	s, err := theShared()
	switch {
	case errors.Is(err, errNoServer):
		tb.Skip(err)
	case err != nil:
		tb.Fatalf("the PostgreSQL of these tests: %v", err)
	}
	return s
}

var theShared = sync.OnceValues(func() (*shared, error) {
	s := &shared{templates: map[string]*template{}}
	dsn := cmp.Or(os.Getenv(clusterEnvironment), os.Getenv(environment))
	if dsn == "" {
		binaries, ok := Binaries()
		if !ok {
			return nil, errNoServer
		}
		server, err := launch(binaries, scratch.Folder(), []string{
			"fsync=off", "synchronous_commit=off", "full_page_writes=off", "wal_level=minimal", "max_wal_senders=0",
			"max_connections=300", "shared_buffers=128MB",
			// It would visit each of hundreds of databases, and make plans a matter of luck.
			"autovacuum=off",
		})
		if err != nil {
			return nil, err
		}
		s.keeper, dsn = server.keeper, server.DSN("postgres")
	}
	var err error
	if s.url, err = url.Parse(dsn); err != nil {
		// The malformed URL may contain a password.
		return nil, errors.New(environment + " or " + clusterEnvironment + " is not a URL")
	}
	s.admin = openPool(dsn)
	// Each statement uses one of the connections that tests could have.
	const connections = 8
	s.admin.SetMaxOpenConns(connections)
	s.admin.SetMaxIdleConns(connections)
	ctx := context.Background()
	if OnCluster() {
		if s.workers, err = findWorkers(ctx, s.admin, s.url); err != nil {
			return nil, err
		}
	}
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	return s, nil
})

const (
	prefix = "ticketing_test_"
	// lockClass is the first half of the advisory locks of processes; the second is their number.
	lockClass = 0x7469636b
)

// begin gives this process its number and its lock, and drops the databases of processes that have ended. Those are
// left on a server that pgtest did not start: templates, and databases that a killed process could not drop.
func (s *shared) begin(ctx context.Context) error {
	var number [4]byte
	_, _ = rand.Read(number[:]) // It never fails.
	s.process = binary.BigEndian.Uint32(number[:])
	var err error
	if s.alive, err = s.admin.Conn(ctx); err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	if _, err := s.alive.ExecContext(ctx, lockStatement("pg_advisory_lock", s.process)); err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	if s.keeper != nil {
		var version int
		err := s.alive.QueryRowContext(ctx, "SELECT current_setting('server_version_num')::int").Scan(&version)
		if err != nil {
			return fmt.Errorf("ask for the version: %w", err)
		}
		const hasStrategies = 150000
		if version >= hasStrategies {
			// Without fsync, copying files takes a fifth less time than writing them to the log. Before version 15
			// there was no choice.
			s.strategy = " STRATEGY FILE_COPY"
		}
	}
	// List the names first: a process takes its lock before it creates a database.
	names, err := s.names(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		owner, err := owner(name)
		if err != nil {
			continue // A database of somebody else with a similar name.
		}
		var gone bool
		err = s.alive.QueryRowContext(ctx, lockStatement("pg_try_advisory_lock", owner)).Scan(&gone)
		if err != nil {
			return fmt.Errorf("lock: %w", err)
		}
		if gone && owner != s.process {
			// Another starting process may drop it first.
			if err := s.drop(ctx, name); err != nil {
				return fmt.Errorf("drop what another process left: %w", err)
			}
		}
	}
	return nil
}

// owner returns the number of the process that created a database.
func owner(name string) (uint32, error) {
	number, _, _ := strings.Cut(strings.TrimPrefix(name, prefix), "_")
	owner, err := strconv.ParseUint(number, 16, 32)
	return uint32(owner), err
}

// lockStatement returns the statement that locks the number of a process. PostgreSQL's integers are signed, so the bits
// of the number are reinterpreted.
func lockStatement(function string, process uint32) string {
	return fmt.Sprintf("SELECT %s(%d, %d)", function, lockClass, int32(process))
}

func (s *shared) names(ctx context.Context) (names []string, err error) {
	rows, err := s.alive.QueryContext(ctx, "SELECT datname FROM pg_database WHERE starts_with(datname, '"+prefix+"')")
	if err != nil {
		return nil, fmt.Errorf("list the databases: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, fmt.Errorf("list the databases: %w", err)
		}
		names = append(names, name)
	}
	return names, rows.Err()
}

// exec runs a statement on the server, or on each node of the cluster.
func (s *shared) exec(ctx context.Context, statement string) error {
	return onEach(s.admins(), func(db *sql.DB) error { return run(ctx, db, statement) })
}

// copy makes a database of a template. On a cluster the maintenance daemon of the extension connects to templates, too,
// which then cannot be copied.
func (s *shared) copy(ctx context.Context, name, template string) error {
	return onEach(s.admins(), func(db *sql.DB) (err error) {
		for range 3 {
			err = run(ctx, db, "CREATE DATABASE "+name+" TEMPLATE "+template+s.strategy)
			if err == nil || !OnCluster() {
				break
			}
			if failed := run(ctx, db, disconnect(template)); failed != nil {
				return errors.Join(err, failed)
			}
		}
		return err
	})
}

// disconnect is the statement that ends all connections to a database.
func disconnect(name string) string {
	return "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '" + name + "'"
}

// drop drops a database. The coordinator of a cluster connects to its workers by itself, and so comes first; a worker
// ends those connections a moment later.
func (s *shared) drop(ctx context.Context, name string) (err error) {
	for _, db := range s.admins() {
		for range 3 {
			if err = run(ctx, db, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err == nil || !OnCluster() {
				break
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func run(ctx context.Context, db *sql.DB, statement string) error {
	_, err := db.ExecContext(ctx, statement)
	return err
}

// onEach calls do for each of the nodes at the same time.
func onEach(nodes []*sql.DB, do func(*sql.DB) error) error {
	if len(nodes) == 1 {
		return do(nodes[0])
	}
	failed := make([]error, len(nodes))
	var all sync.WaitGroup
	for i, node := range nodes {
		all.Go(func() { failed[i] = do(node) })
	}
	all.Wait()
	return errors.Join(failed...)
}

// admins returns the pools in which databases are made: of the server, and of each worker.
func (s *shared) admins() []*sql.DB {
	all := []*sql.DB{s.admin}
	for _, w := range s.workers {
		all = append(all, w.admin)
	}
	return all
}

// open opens a pool of one connection to a database on each node.
func (s *shared) open(name string) []*sql.DB {
	all := []*sql.DB{openPool(s.dsn(name))}
	for _, w := range s.workers {
		all = append(all, openPool(withDatabase(w.url, name)))
	}
	for _, db := range all {
		db.SetMaxOpenConns(1)
	}
	return all
}

// name returns a new name for a database that needs no quotes.
func (s *shared) name() string { return fmt.Sprintf("%s%08x_%d", prefix, s.process, s.count.Add(1)) }

func (s *shared) dsn(name string) string { return withDatabase(s.url, name) }

func withDatabase(server *url.URL, name string) string {
	of := *server
	of.Path, of.RawPath = "/"+name, ""
	return of.String()
}

// lend lends a database to a test, and drops it when the test ends.
func (s *shared) lend(tb testing.TB, name string) string {
	tb.Helper()
	tb.Cleanup(func() {
		if err := s.drop(context.WithoutCancel(tb.Context()), name); err != nil {
			tb.Errorf("drop the test's database: %v", err)
		}
	})
	return s.dsn(name)
}

func (s *shared) template(name string) *template {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.templates[name] == nil {
		s.templates[name] = &template{}
	}
	return s.templates[name]
}

// fill creates the database of a template, fills it and closes it: from then on it can only be copied.
func (s *shared) fill(tb testing.TB, fill func(tb testing.TB, dsn string)) string {
	tb.Helper()
	name := s.name()
	ctx := context.WithoutCancel(tb.Context())
	if err := s.exec(ctx, "CREATE DATABASE "+name+s.strategy); err != nil {
		tb.Fatalf("make a template: %v", err)
	}
	filled := false
	defer func() {
		if !filled {
			if err := s.drop(ctx, name); err != nil {
				tb.Errorf("drop a template: %v", err)
			}
		}
	}()
	if OnCluster() {
		if err := s.join(ctx, name); err != nil {
			tb.Fatalf("make a cluster of a template: %v", err)
		}
	}
	fill(tb, s.dsn(name))
	for _, statement := range []string{
		"ALTER DATABASE " + name + " ALLOW_CONNECTIONS false",
		disconnect(name),
	} {
		if err := s.exec(ctx, statement); err != nil {
			tb.Fatalf("close a template: %v", err)
		}
	}
	filled = true
	return name
}
