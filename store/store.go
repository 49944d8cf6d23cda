// Package store keeps what the service keeps in SQL, with Bun: in SQLite, durable and with nothing to install, or in
// PostgreSQL, which any number of processes share.
//
//	db, err := store.Open(ctx, "sqlite:ticketing.db", nil) // or "postgres://…"
//	if err != nil { … }
//	defer db.Close()
//	if err := db.Migrate(ctx); err != nil { … }
//	svc, err := ticketing.New(db, &ticketing.Config{SecretKeys: keys})
//
// It decides nothing: the rules are the service's. Its promises are those of [ticketing.Store], and package storetest
// holds it to them.
//
// # SQLite
//
// The file is in WAL mode with synchronous=FULL, so that what was acknowledged survives the loss of power. One
// connection writes; the Updates of a process queue for it in the order they came, and those of several processes take
// turns. A pool of connections reads beside it and never waits for it. The gates of companies and all row locks are
// that one write transaction: whoever is in it is alone.
//
// The commit that brings the WAL past 16 MiB copies it into the file, and the WAL begins again. Only a Snapshot holds
// that up, for as long as it runs; what the WAL grew to meanwhile is cut to 64 MiB afterwards.
//
// Beside the file lie FILE-wal and FILE-shm while it is open. Never copy or remove one without the others; `VACUUM
// INTO` makes a copy of a database in use.
//
// # PostgreSQL
//
// Version 14 or later, through a pool of its own or the host's ([OpenDB]). Transactions run READ COMMITTED with explicit
// locks; the gate of a company and the claims of keys are advisory locks of the transaction, so they reach all processes
// on the database. Settings are made in the transaction alone and nothing is prepared: a pooler in transaction mode may
// stand in between. Where it can, several statements travel in one message.
//
// A connection that is lost is replaced, and what was not committed runs again; nobody reopens a store after a restart
// or a failover. An Update whose COMMIT was lost on the way finds out under its claims what became of it, and fails with
// [ticketing.ErrUnavailable] where it has none.
//
// The certificate of the server is verified where the name asks for it: sslmode=verify-full&sslrootcert=FILE. Without
// sslmode a server on this machine is spoken to in the clear, any other encrypted and unverified, with a warning.
//
// Tables that are distributed by company (Citus) are found at the start: see [Store.Distribute].
//
// All tables are named ticketing_…, so that they can stand beside a host's own.
package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/floatgate/ticketing"
)

// Config says how a database is used. Its zero fields mean the defaults.
type Config struct {
	// BusyTimeout is how long an Update waits before it fails with [ticketing.ErrBusy]: with SQLite for its turn to write,
	// first behind those of this process, then behind other processes; with PostgreSQL for a connection, and for each
	// lock. Defaults to 5 s.
	BusyTimeout time.Duration
	// MustExist refuses a SQLite database that is not there with [ErrNoDatabase], and leaves no file, so that a mistyped
	// path is noticed. PostgreSQL always refuses a database that is not there. Defaults to false: Open makes the file.
	MustExist bool
	// Readers bounds the connections that read from SQLite. A Snapshot holds one for as long as it runs. Some are
	// reserved, as with Connections. Defaults to 6.
	Readers int
	// Connections bounds the connections to PostgreSQL. Where there are three or more, calls that run by themselves leave a
	// quarter of them to groups of calls, and an eighth to the background work, one each at least: see
	// [ticketing.Purpose]. Defaults to 16.
	Connections int
	// Schema is where the tables are in PostgreSQL; [Store.Migrate] makes it where there is none. Defaults to the
	// first schema of the role's search path.
	Schema string
	// RowGates guards companies by locks of their rows instead of advisory locks, for a distributed PostgreSQL whose
	// processes connect to several nodes: advisory locks do not reach from one to another. Nor do claims of keys: a call
	// whose key is in flight in another process is not told so, but waits for the company and then gets the result.
	RowGates bool
	// Logger is told what an operator may want to know, such as migrations that were applied. Defaults to none.
	Logger *slog.Logger
	// OnStatement is told of every statement after it ran, on the goroutine that ran it, inside its transaction: it
	// must be quick and must not call the store. Defaults to none.
	OnStatement func(ctx context.Context, statement Statement)
}

// Store keeps records in a database. It is safe for use by several goroutines, and several processes may each have one
// on the same database.
type Store struct {
	config Config
	engine engine
	claims claims
	turns  turns
	// runs is how often fn runs when passing failures come between.
	runs int
	// migrated is set when the schema was found to be that of this version.
	migrated atomic.Bool
}

var (
	_ ticketing.DurableStore  = (*Store)(nil)
	_ ticketing.GroupingStore = (*Store)(nil)
)

var (
	errEnded    = errors.New("ticketing/store: the transaction has ended")
	errNotBegun = errors.New("ticketing/store: a transaction begins with Enter")
	errReenter  = errors.New("ticketing/store: Enter is called once")
)

// Open opens a database by its name: "postgres://USER:PASSWORD@HOST:5432/NAME", also "postgresql://…", or "sqlite:PATH",
// where the path is taken as it stands and the file is made, with mode 0600, where there is none, unless
// Config.MustExist. It changes nothing else: see [Store.Migrate]. A database that cannot be reached is
// [ticketing.ErrUnavailable].
func Open(ctx context.Context, dsn string, cfg *Config) (*Store, error) {
	s := configured(cfg)
	scheme, rest, _ := strings.Cut(dsn, ":")
	switch scheme {
	case "sqlite":
		engine, err := openSQLite(ctx, rest, s.config)
		if err != nil {
			return nil, err
		}
		s.engine = engine
	case "postgres", "postgresql":
		engine, err := openPostgres(ctx, dsn, s.config)
		if err != nil {
			return nil, err
		}
		s.engine = engine
	default:
		return nil, fmt.Errorf("%w: it is sqlite:PATH or postgres://USER:PASSWORD@HOST/NAME", ErrName)
	}
	return s, nil
}

const busyTimeout = 5 * time.Second

func configured(cfg *Config) *Store {
	s := &Store{runs: maxRuns}
	if cfg != nil {
		s.config = *cfg
	}
	if s.config.BusyTimeout <= 0 {
		s.config.BusyTimeout = busyTimeout
	}
	if s.config.Connections <= 0 {
		s.config.Connections = 16
	}
	if s.config.Readers <= 0 {
		s.config.Readers = 6
	}
	if s.config.Logger == nil {
		s.config.Logger = slog.New(slog.DiscardHandler)
	}
	return s
}

// OpenPool opens a pool of connections to a database by the name that [Open] takes, read in the same way, for a host's own
// tables beside those of a store, and for what only SQL can say. It connects when it is first used.
//
// Of SQLite the file is there already. Every transaction of the pool begins IMMEDIATE, so that [Store.Bind] takes it,
// waits for its turn up to 5 s, checks foreign keys and survives the loss of power; it is for writing. A pool of one
// connection would make whoever reads wait, too.
func OpenPool(dsn string) (*sql.DB, error) {
	if path, found := strings.CutPrefix(dsn, "sqlite:"); found {
		return openSQLitePool(path)
	}
	connector, err := connectorFor(dsn)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// OpenDB uses a host's pool of connections to PostgreSQL, whatever its driver. The pool stays the host's: Close leaves it
// open, and Config.Connections does not count: the connections that db has at most when it is handed over are divided in the
// same way, and nothing is reserved where they are not bounded. A driver other than Bun's own costs a few more messages a transaction.
//
// Of db it takes the pool alone: the host's hooks are not told what it sends, since that holds the buyers, and the
// host's named arguments do not count. Config.OnStatement is told of statements by name.
func OpenDB(ctx context.Context, db *bun.DB, cfg *Config) (*Store, error) {
	if db.Dialect().Name() != dialect.PG {
		return nil, errors.New("ticketing/store: a pool must be one of PostgreSQL; SQLite is opened by its path")
	}
	s := configured(cfg)
	// Bun would put named arguments into what is finished, where a buyer's text names one.
	engine := newPostgres(bun.NewDB(db.DB, pgdialect.New()), s.config)
	engine.reserved = newReserved(db.DB.Stats().MaxOpenConnections)
	if err := engine.meet(ctx); err != nil {
		return nil, err
	}
	s.engine = engine
	return s, nil
}

// Close gives back all connections. Transactions under way should have ended.
func (s *Store) Close() error { return s.engine.close() }

// Connections tells how many connections are used, for metrics: with SQLite, of those that read.
func (s *Store) Connections() sql.DBStats { return s.engine.pool() }

// Durable reports true: what was committed outlives the process.
func (s *Store) Durable() bool { return true }

// Grouping is what works best on the database: one lane with SQLite, whose transactions write one at a time, and groups
// of one company where the tables are spread over several nodes.
func (s *Store) Grouping() ticketing.Grouping { return s.engine.grouping() }

// View runs fn for reading. Each call sees what is committed when it runs.
func (s *Store) View(ctx context.Context, fn func(ctx context.Context, tx ticketing.ReadTx) error) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	view := &session{store: s, conn: s.engine.reader(), alone: true}
	defer view.ended.Store(true)
	return fn(ctx, view)
}

// Snapshot runs fn for reading. All its calls see the moment at which it begins.
func (s *Store) Snapshot(ctx context.Context, fn func(ctx context.Context, tx ticketing.ReadTx) error) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	conn, release, err := s.engine.snapshot(ctx)
	if err != nil {
		return s.translateFor(ctx, "begin", err)
	}
	defer release()
	snapshot := &session{store: s, conn: conn}
	defer snapshot.ended.Store(true)
	return fn(ctx, snapshot)
}

// ready fails at the first use of a database whose schema is not that of this version.
func (s *Store) ready(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("ticketing/store: %w", err)
	}
	if s.migrated.Load() {
		return nil
	}
	pending, err := s.Pending(ctx)
	if err != nil {
		return err
	}
	if len(pending) > 0 {
		return fmt.Errorf("%w: it lacks %s", ErrNotMigrated, strings.Join(pending, ", "))
	}
	if err := s.engine.recognise(ctx); err != nil {
		return s.translateFor(ctx, "recognise", err)
	}
	s.migrated.Store(true)
	return nil
}
