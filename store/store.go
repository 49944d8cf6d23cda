// Package store keeps what the service keeps in SQL, with Bun: in SQLite, durable and with nothing to install.
//
//	db, err := store.Open(ctx, "sqlite:ticketing.db", nil)
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
// Beside the file lie FILE-wal and FILE-shm while it is open. Never copy or remove one without the others; `VACUUM
// INTO` makes a copy of a database in use.
//
// All tables are named ticketing_…, so that they can stand beside a host's own.
package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/uptrace/bun/schema"

	"github.com/floatgate/ticketing"
)

// Config says how a database is used. Its zero fields mean the defaults.
type Config struct {
	// BusyTimeout is how long an Update waits for its turn to write, first behind those of this process, then behind
	// other processes, before it fails with [ticketing.ErrBusy]. Defaults to 5 s.
	BusyTimeout time.Duration
	// Readers bounds the connections that read. A Snapshot holds one for as long as it runs. Defaults to 4.
	Readers int
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
	gen    schema.QueryGen
	claims claims
	// migrated is set when the schema was found to be that of this version.
	migrated atomic.Bool
}

var _ ticketing.DurableStore = (*Store)(nil)

var (
	errEnded    = errors.New("ticketing/store: the transaction has ended")
	errNotBegun = errors.New("ticketing/store: a transaction begins with Enter")
	errReenter  = errors.New("ticketing/store: Enter is called once")
)

// Open opens a database by its name: "sqlite:PATH", where the path is taken as it stands and the file is made, with
// mode 0600, where there is none. It changes nothing else: see [Store.Migrate]. A database that cannot be reached is
// [ticketing.ErrUnavailable].
func Open(ctx context.Context, dsn string, cfg *Config) (*Store, error) {
	s := &Store{}
	if cfg != nil {
		s.config = *cfg
	}
	if s.config.BusyTimeout <= 0 {
		s.config.BusyTimeout = 5 * time.Second
	}
	if s.config.Readers <= 0 {
		s.config.Readers = 4
	}
	if s.config.Logger == nil {
		s.config.Logger = slog.New(slog.DiscardHandler)
	}
	scheme, rest, _ := strings.Cut(dsn, ":")
	switch scheme {
	case "sqlite":
		engine, err := openSQLite(ctx, rest, s.config)
		if err != nil {
			return nil, err
		}
		s.engine = engine
	case "postgres", "postgresql":
		return nil, errors.New("ticketing/store: this version does not support PostgreSQL, use sqlite:PATH")
	default:
		return nil, errors.New("ticketing/store: a database is named as sqlite:PATH")
	}
	s.gen = schema.NewQueryGen(s.engine.dialect())
	return s, nil
}

// Close gives back all connections. Transactions under way should have ended.
func (s *Store) Close() error { return s.engine.close() }

// Durable reports true: what was committed outlives the process.
func (s *Store) Durable() bool { return true }

// View runs fn for reading. Each call sees what is committed when it runs.
func (s *Store) View(ctx context.Context, fn func(ctx context.Context, tx ticketing.ReadTx) error) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	view := &session{store: s, conn: s.engine.reader()}
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
		return s.translate("begin", err)
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
	s.migrated.Store(true)
	return nil
}
