// Package pgtest gives tests PostgreSQL: an empty database each on a server that a test process shares, copies of a
// database that was filled once, and servers of a test's own to kill, restart and promote.
//
// The servers are throw-away. They are started from installed binaries, as an unprivileged user where the test runs as
// root, in a folder of their own under the system's folder for temporary files, and they go with the process that
// started them, however it ends. TICKETING_TEST_POSTGRES names a server to use for databases instead: the URL of a
// database on it, with a role that may create databases. Where there is neither, and with -short, tests are skipped.
package pgtest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

const (
	environment = "TICKETING_TEST_POSTGRES"
	howToGetOne = "install one (apt-get install postgresql; brew install postgresql), its service need not run"
)

var errNoServer = errors.New("there is no PostgreSQL for tests: " + howToGetOne +
	", or set " + environment + " to the URL of a server where its role may create databases")

// Database makes an empty database for a test, on a server that all tests of this process share, and drops it when the
// test ends, also if connections to it are still open. It returns its URL. The shared server forgets all in a crash;
// what is about crashes takes [Start].
func Database(tb testing.TB) string {
	tb.Helper()
	s := use(tb)
	name := s.name()
	ctx := context.WithoutCancel(tb.Context())
	if err := s.exec(ctx, "CREATE DATABASE "+name+s.strategy); err != nil {
		tb.Fatalf("make a database: %v", err)
	}
	return s.lend(tb, name)
}

// Copy is like Database, but the database is a copy of a template, which fill filled when the first test of this process
// asked for it. Connections of fill are closed before the first copy is made. Where fill fails its test, the next test
// that asks begins anew.
func Copy(tb testing.TB, template string, fill func(tb testing.TB, dsn string)) string {
	tb.Helper()
	s := use(tb)
	from := s.template(template)
	name := s.name()
	ctx := context.WithoutCancel(tb.Context())
	if err := s.exec(ctx, "CREATE DATABASE "+name+" TEMPLATE "+from.ready(tb, s, fill)+s.strategy); err != nil {
		tb.Fatalf("copy the template %s: %v", template, err)
	}
	return s.lend(tb, name)
}

// Reuse is like Copy, but a database that a test has passed on is emptied by SQL and lent to another: that takes a
// fraction of a copy of many tables. One that cannot be emptied, or whose test failed, is dropped. A test must leave
// alone what empty does not put back.
func Reuse(tb testing.TB, template string, fill func(tb testing.TB, dsn string), empty string) string {
	tb.Helper()
	s := use(tb)
	from := s.template(template)
	name := from.takeIdle()
	ctx := context.WithoutCancel(tb.Context())
	if name == "" {
		name = s.name()
		if err := s.exec(ctx, "CREATE DATABASE "+name+" TEMPLATE "+from.ready(tb, s, fill)+s.strategy); err != nil {
			tb.Fatalf("copy the template %s: %v", template, err)
		}
	}
	tb.Cleanup(func() {
		if !tb.Failed() && s.on(ctx, name, empty) == nil {
			from.putIdle(name)
			return
		}
		if err := s.exec(ctx, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			tb.Errorf("drop the test's database: %v", err)
		}
	})
	return s.dsn(name)
}

// found reports whether there is a PostgreSQL. Where there is none, that is what a skipped test says.
var found = sync.OnceValue(func() bool {
	_, ok := Binaries()
	return ok || os.Getenv(environment) != ""
})

// leftOut skips a test where -short leaves PostgreSQL out.
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
	process  uint32 // the number of this process in the names of its databases
	strategy string // a clause of CREATE DATABASE
	count    atomic.Int64
	alive    *sql.Conn // holds the lock that tells other processes that this one uses its databases
	keeper   *keeper   // keeps the pipe open as long as the process lives; nil where the server is somebody else's

	mu        sync.Mutex
	templates map[string]*template
}

// template is a database that copies are made of. Copies may be made at the same time, but not while somebody is
// connected to it: the lock is held until it was filled and closed.
type template struct {
	mu   sync.Mutex
	name string // empty until then

	idleMu sync.Mutex
	idle   []string // copies that nobody uses
}

func (t *template) takeIdle() string {
	t.idleMu.Lock()
	defer t.idleMu.Unlock()
	if len(t.idle) == 0 {
		return ""
	}
	last := len(t.idle) - 1
	name := t.idle[last]
	t.idle = t.idle[:last]
	return name
}

func (t *template) putIdle(name string) {
	t.idleMu.Lock()
	defer t.idleMu.Unlock()
	t.idle = append(t.idle, name)
}

// ready returns the name of the template's database, filled.
func (t *template) ready(tb testing.TB, s *shared, fill func(tb testing.TB, dsn string)) string {
	tb.Helper()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.name == "" {
		t.name = s.fill(tb, fill)
	}
	return t.name
}

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
	dsn := os.Getenv(environment)
	if dsn == "" {
		binaries, ok := Binaries()
		if !ok {
			return nil, errNoServer
		}
		server, err := launch(binaries, os.TempDir(), []string{
			"fsync=off", "synchronous_commit=off", "full_page_writes=off", "wal_level=minimal", "max_wal_senders=0",
			"max_connections=300", "shared_buffers=128MB",
			"autovacuum=off", // It would visit each of hundreds of databases, and make plans a matter of luck.
		})
		if err != nil {
			return nil, err
		}
		s.keeper, dsn = server.keeper, server.DSN("postgres")
	}
	var err error
	if s.url, err = url.Parse(dsn); err != nil {
		return nil, errors.New(environment + " is not a URL") // What it is may hold a password.
	}
	s.admin = open(dsn)
	// Each statement takes a connection from those that tests have.
	const connections = 8
	s.admin.SetMaxOpenConns(connections)
	s.admin.SetMaxIdleConns(connections)
	if err := s.begin(context.Background()); err != nil {
		return nil, err
	}
	return s, nil
})

const (
	prefix = "ticketing_test_"
	// lockClass is the first half of the advisory locks of processes, the second is their number.
	lockClass = 0x7469636b
)

// begin gives this process its number and its lock, and drops what processes left that are gone: on somebody else's
// server, templates and what a killed process could not drop.
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
			// Without fsync, copying files takes a fifth less than writing them to the log; before, there was no choice.
			s.strategy = " STRATEGY FILE_COPY"
		}
	}
	// The names come first: a process takes its lock before it makes a database.
	names, err := s.names(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		owner, err := owner(name)
		if err != nil {
			continue // Somebody else chose a name like ours.
		}
		var gone bool
		err = s.alive.QueryRowContext(ctx, lockStatement("pg_try_advisory_lock", owner)).Scan(&gone)
		if err != nil {
			return fmt.Errorf("lock: %w", err)
		}
		if gone && owner != s.process {
			// Another process that begins may drop it first.
			if err := s.exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
				return fmt.Errorf("drop what another process left: %w", err)
			}
		}
	}
	return nil
}

// owner is the number of the process that made a database.
func owner(name string) (uint32, error) {
	number, _, _ := strings.Cut(strings.TrimPrefix(name, prefix), "_")
	owner, err := strconv.ParseUint(number, 16, 32)
	return uint32(owner), err
}

// lockStatement locks the number of a process. PostgreSQL's integers have a sign, and its bits are what counts.
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

func (s *shared) exec(ctx context.Context, statement string) error {
	_, err := s.admin.ExecContext(ctx, statement)
	return err
}

// on runs a statement on one of the databases.
func (s *shared) on(ctx context.Context, name, statement string) error {
	db := open(s.dsn(name))
	defer db.Close()
	_, err := db.ExecContext(ctx, statement)
	return err
}

// name is a new name for a database, of letters that need no quotes.
func (s *shared) name() string { return fmt.Sprintf("%s%08x_%d", prefix, s.process, s.count.Add(1)) }

func (s *shared) dsn(name string) string {
	of := *s.url
	of.Path, of.RawPath = "/"+name, ""
	return of.String()
}

// lend gives a database to a test until it ends.
func (s *shared) lend(tb testing.TB, name string) string {
	tb.Helper()
	tb.Cleanup(func() {
		if err := s.exec(context.WithoutCancel(tb.Context()), "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
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

// fill makes the database of a template and closes it: only copies are made of it from then on.
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
			if err := s.exec(ctx, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
				tb.Errorf("drop a template: %v", err)
			}
		}
	}()
	fill(tb, s.dsn(name))
	for _, statement := range []string{
		"ALTER DATABASE " + name + " ALLOW_CONNECTIONS false",
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '" + name + "'",
	} {
		if err := s.exec(ctx, statement); err != nil {
			tb.Fatalf("close a template: %v", err)
		}
	}
	filled = true
	return name
}
