// Package store keeps the records of the service in SQLite or PostgreSQL. SQLite is durable and needs no installation.
// Any number of processes can share a PostgreSQL database.
//
//	db, err := store.Open(ctx, "sqlite:ticketing.db", nil) // or "postgres://…"
//	if err != nil { … }
//	defer db.Close()
//	if err := db.Migrate(ctx); err != nil { … }
//	svc, err := ticketing.New(db, &ticketing.Config{SecretKeys: keys})
//
// The package holds no business rules: those are in package [github.com/floatgate/ticketing]. It keeps the promises of
// [driver.Store]. Package [github.com/floatgate/ticketing/store/storetest] checks them. Statements are built with Bun.
//
// # Where to begin
//
//   - [Open] opens a database by its URL. [OpenDB] uses a host's pool of connections to PostgreSQL.
//   - [Store.Migrate] creates and updates the tables. [Store.PendingMigrations] lists what it would do.
//   - [Store.Bind] and [Store.BindSQL] sell in a transaction of the host.
//   - [OpenPool] opens a pool for a host's own tables in the same database.
//   - [Config].OnStatement and [Store.Connections] are for metrics.
//   - [Store.Distribute] distributes the tables over a Citus cluster.
//
// # SQLite
//
// The file is in WAL mode with synchronous=FULL, so that an acknowledged write survives a power failure. One connection
// writes. The Updates of a process queue for it in order of arrival; several processes take turns. A pool of
// connections reads at the same time and never waits for the writer. Only one write transaction runs at a time, so it
// replaces the gates of companies and all row locks.
//
// The commit that brings the WAL past 16 MiB copies it into the file, and the WAL starts over. Only a running Snapshot
// delays that. A WAL that grew larger meanwhile is cut to 64 MiB afterwards.
//
// While the database is open, FILE-wal and FILE-shm are next to the file. Never copy or remove one without the others.
// `VACUUM INTO` copies a database in use.
//
// # PostgreSQL
//
// The package needs version 14 or later. It uses a pool of its own or the host's ([OpenDB]). Transactions run READ
// COMMITTED with explicit locks. The gate of a company and the claims of idempotency keys are advisory locks of the
// transaction, so they hold across all processes on the database. Settings are local to the transaction. Where the
// driver allows it, one message carries several statements.
//
// The connections of a pool of its own keep statements prepared, unless [Config].NoPrepare is set. Where a session does
// not have one, as behind a pooler in transaction mode, the transaction runs again without prepared statements, and for
// a minute none is prepared; each further time this takes twice as long, up to an hour. The sessions of a host's pool
// keep no statements.
//
// Where its TCP connections end at a server on Linux that has no cluster, a pool of its own writes the rows that are
// only added, such as those of a group of sales, by COPY, and else by INSERT. It decides that when it opens. The rows
// of one sale of up to two admissions go by INSERT.
//
// After a lost connection the store connects again, and what was not committed runs again: a store need not be reopened
// after a restart or a failover. An Update whose COMMIT got no answer runs again under its claims and finds out whether
// it was committed. Without claims it fails with [driver.ErrUnavailable].
//
// The server's certificate is verified only if the URL asks for it: sslmode=verify-full&sslrootcert=FILE. Without
// sslmode, the connection to a server on this machine is unencrypted. The connection to any other server is encrypted
// but unverified, and a warning is logged.
//
// Tables that are distributed by company (Citus) are detected when the store is opened: see [Store.Distribute].
//
// All tables are named ticketing_…, so that they can share a database with the host's own.
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
	"github.com/uptrace/bun/dialect/sqlitedialect"

	"github.com/floatgate/ticketing/driver"
)

// Config holds the options of a store. A nil *Config, and every zero field, means the default.
type Config struct {
	// BusyTimeout is how long an Update waits before it fails with [driver.ErrBusy]. With SQLite it bounds the wait to
	// write, first in the queue of this process and then for other processes. With PostgreSQL it bounds the wait for a
	// connection, and for each lock. Defaults to 5 s.
	BusyTimeout time.Duration
	// MustExist makes Open refuse a SQLite database that does not exist, with [ErrNoDatabase]. Open then creates no file,
	// so that a mistyped path is noticed. PostgreSQL always refuses a database that does not exist. Defaults to false:
	// Open creates the file.
	MustExist bool
	// ReadOnly makes Open change nothing in a SQLite database, and create nothing, as with MustExist. Such a store reports
	// what a migration would do: [Store.PendingMigrations] and [Store.Undistributed]. Everything else fails. It has no
	// effect with PostgreSQL. Defaults to false.
	ReadOnly bool
	// Readers bounds the connections that read from SQLite. A Snapshot holds one while it runs. Some are reserved, as with
	// Connections. Defaults to 6.
	Readers int
	// Connections bounds the connections to PostgreSQL. Of three or more, a quarter is reserved for groups of calls and an
	// eighth for the background work, at least one each. Calls that run by themselves use none of these: see
	// [driver.Purpose]. Defaults to 16.
	Connections int
	// Schema is the PostgreSQL schema that holds the tables. [Store.Migrate] creates it if it does not exist. Defaults
	// to the first schema of the role's search path.
	Schema string
	// RowGates guards companies by row locks instead of advisory locks. It is for a distributed PostgreSQL whose processes
	// connect to several nodes, because an advisory lock holds on one node only; Open refuses all of its nodes but the
	// coordinator otherwise. There claims of idempotency keys are taken on the node of the company. On one PostgreSQL, and
	// in a transaction of a host, a call whose key is in flight in another process is not refused: it waits for the
	// company and then gets the result.
	RowGates bool
	// DirectNodes makes a store of [Open] connect to every node of a distributed PostgreSQL. Transactions of a company,
	// and most of its reads, then begin on the node that has it, and their frequent statements name the shards of the
	// company, which keeps them where they are for as long. It includes RowGates, and processes with the one and with the
	// other may run side by side. Each node gets up to Connections of its own, each of which keeps up to 960 statements
	// prepared. The addresses are those in pg_dist_node; the user, password, database and options are those of the URL.
	// While a node cannot be connected to, its companies are reached through the node of the URL. Defaults to false; on
	// one PostgreSQL it has no other effect than RowGates.
	DirectNodes bool
	// NoPrepare makes a pool of [Open] keep no statement prepared, and write no rows by COPY. It is for a pooler in
	// transaction mode: the store notices one by itself, but only where the pooler changes sessions. Defaults to false.
	NoPrepare bool
	// Logger logs what an operator may need, such as the migrations that were applied. Defaults to no log.
	Logger *slog.Logger
	// OnStatement is called after every statement, for metrics. It runs on the goroutine that ran the statement, inside
	// its transaction. It must be quick and must not call the store. Defaults to none.
	OnStatement func(ctx context.Context, statement Statement)
}

// Store keeps records in a database. [Open] and [OpenDB] return one. It is safe for concurrent use, and several
// processes may each open one on the same database.
type Store struct {
	config       Config
	engine       engine
	models       *bun.DB // builds the statements about models
	inFlightKeys inFlightKeys
	memory       *memory
	txMutexes    txMutexes
	// runs is the largest number of runs of fn, when transient failures occur.
	runs int
	// migrated is set after the schema was found to be that of this version.
	migrated atomic.Bool
	// outdated is set after BindSQL could not compare the server with that of a host's transaction.
	outdated atomic.Bool
}

var (
	_ driver.DurableStore  = (*Store)(nil)
	_ driver.GroupingStore = (*Store)(nil)
)

var (
	errEnded    = errors.New("ticketing/store: the transaction has ended")
	errNotBegun = errors.New("ticketing/store: the transaction was used before Begin")
	errReenter  = errors.New("ticketing/store: Begin was called twice")
)

// Open opens the database at dsn: "postgres://USER:PASSWORD@HOST:5432/NAME", also "postgresql://…", or "sqlite:PATH".
// "postgres://USER@/NAME?host=FOLDER" takes the Unix socket in that folder, and "&port=N" the one of another port.
// PATH is taken literally. If the file does not exist, Open creates it with mode 0600, unless Config.MustExist is set.
// Open changes nothing else: see [Store.Migrate]. It fails with [ErrDSN] if dsn cannot be parsed, and with
// [driver.ErrUnavailable] if the database cannot be reached.
func Open(ctx context.Context, dsn string, cfg *Config) (*Store, error) {
	s := configured(cfg)
	scheme, rest, _ := strings.Cut(dsn, ":")
	switch scheme {
	case "sqlite":
		engine, err := openSQLite(ctx, rest, s.config)
		if err != nil {
			return nil, err
		}
		s.engine, s.models = engine, newModels(sqlitedialect.New())
	case "postgres", "postgresql":
		engine, err := openPostgres(ctx, dsn, s.config)
		if err != nil {
			return nil, err
		}
		s.engine, s.models = engine, newModels(pgdialect.New())
	default:
		return nil, fmt.Errorf("%w: it is sqlite:PATH or postgres://USER:PASSWORD@HOST/NAME", ErrDSN)
	}
	return s, nil
}

const busyTimeout = 5 * time.Second

func configured(cfg *Config) *Store {
	s := &Store{runs: maxRuns, memory: newMemory()}
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

// OpenPool opens a pool of connections to the database at dsn, in the format of [Open]. It is for a host's own tables
// next to those of a store, and for queries that only SQL can express. It connects at the first use.
//
// A SQLite file must exist already. Every transaction of a SQLite pool begins IMMEDIATE, so that [Store.Bind] accepts
// it. It waits up to 5 s to write, checks foreign keys and survives a power failure. The pool is for writing: with a
// single connection, readers would have to wait as well.
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

// OpenDB returns a store on a host's pool of connections to PostgreSQL, with any driver. The host keeps the pool: Close
// does not close it, and Config.Connections has no effect. The connection limit that db has at the time of the call is
// divided in the same way; an unlimited pool has no reserved connections. A driver other than Bun's own costs a few
// more messages per transaction.
//
// OpenDB uses only the connections of db. The store's statements do not run the host's hooks, since they hold data of
// buyers, and the host's named arguments have no effect on them. Config.OnStatement is called with the names of
// statements.
func OpenDB(ctx context.Context, db *bun.DB, cfg *Config) (*Store, error) {
	if db.Dialect().Name() != dialect.PG {
		return nil, errors.New("ticketing/store: a pool must be one of PostgreSQL; SQLite is opened by its path")
	}
	s := configured(cfg)
	// Bun would insert a named argument into a finished statement if a buyer's text contained its name.
	engine := newPostgres(bun.NewDB(db.DB, pgdialect.New()), s.config)
	engine.share = newConnectionShare(db.DB.Stats().MaxOpenConnections)
	if err := engine.checkServer(ctx); err != nil {
		return nil, err
	}
	s.engine, s.models = engine, newModels(pgdialect.New())
	return s, nil
}

// Close closes the connections that the store opened. End all transactions first.
func (s *Store) Close() error { return s.engine.close() }

// Connections returns the statistics of the connection pool, for metrics. With SQLite it is the pool of readers. With
// [Config.DirectNodes] it is the sum of the pools of all nodes.
func (s *Store) Connections() sql.DBStats { return s.engine.pool() }

// Durable returns true: what was committed outlives the process.
func (s *Store) Durable() bool { return true }

// Grouping returns the grouping that works best on the database. SQLite has one lane, since its transactions write one
// at a time. A database whose tables are distributed over several nodes has groups of one company.
func (s *Store) Grouping() driver.Grouping { return s.engine.traits().grouping }

// View runs fn for reading. Each call sees what is committed when it runs.
func (s *Store) View(ctx context.Context, fn func(ctx context.Context, tx driver.ReadTx) error) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	view := &session{store: s, conn: s.engine.reader(), alone: true}
	defer view.ended.Store(true)
	return fn(ctx, view)
}

// Snapshot runs fn for reading. All its calls see one moment, which is at its first call at the latest.
func (s *Store) Snapshot(ctx context.Context, fn func(ctx context.Context, tx driver.ReadTx) error) error {
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

// ready fails, at the first use, if the schema of the database is not that of this version. It identifies the server
// again if that is outdated.
func (s *Store) ready(ctx context.Context) error {
	if err := s.checkSchema(ctx); err != nil || !s.outdated.Load() {
		return err
	}
	if err := s.engine.identify(ctx); err != nil {
		return s.translateFor(ctx, "identify", err)
	}
	s.outdated.Store(false)
	return nil
}

// checkSchema fails, at the first use, if the schema of the database is not that of this version.
func (s *Store) checkSchema(ctx context.Context) error {
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
	if err := s.engine.identify(ctx); err != nil {
		return s.translateFor(ctx, "identify", err)
	}
	s.migrated.Store(true)
	return nil
}
