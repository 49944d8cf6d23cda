package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"weak"

	"github.com/uptrace/bun"

	"github.com/floatgate/ticketing/driver"
)

// Bound is a store within one transaction of the host. [Store.Bind] and [Store.BindSQL] return one. The host begins and
// ends the transaction. What is done through a Bound is committed or rolled back with it.
//
// An Update runs under a savepoint. If it fails, as every refused call does, it rolls back its own writes and locks and
// leaves the transaction as it was before. If it succeeds, it keeps its locks until the transaction ends, including the
// claims of its idempotency keys. It runs once: a transient failure is [driver.ErrBusy]. Settings that the host made
// for its transaction, such as a search path or a timeout, are restored afterwards.
//
// A View reads within the transaction, which sees its own writes. So does a Snapshot with SQLite. With PostgreSQL a
// Snapshot fails with [ErrTransaction], since the statements of READ COMMITTED do not all see one moment.
//
// Calls from several goroutines run one at a time, also those through several Binds of one transaction. The host must
// not use the transaction while a call is in progress. After the transaction has ended, each call fails with
// [ErrTransaction].
type Bound struct {
	mu    *sync.Mutex
	store *Store
}

var _ driver.DurableStore = (*Bound)(nil)

// ErrTransaction is the error of [Store.Bind], of [Store.BindSQL] and of a [Bound] store if no sale is possible in the
// host's transaction. The error that wraps it gives the reason.
var ErrTransaction = errors.New("ticketing/store: the host's transaction cannot be used")

func refuseTx(why string) error { return fmt.Errorf("%w: %s", ErrTransaction, why) }

var (
	errHostEnded  = refuseTx("it has ended")
	errHostFailed = refuseTx("a statement in it failed, so it can only be rolled back")
	errHostWrites = refuseTx("it is read-only")
	errElsewhere  = refuseTx("it belongs to another database, or does not see the store's tables")
	errMoments    = refuseTx("its statements do not share one snapshot: take the snapshot outside of it")
	errNoTx       = refuseTx("there is none")
	errNoPostgres = refuseTx("it is not one of PostgreSQL")
	errNoSQLite   = refuseTx("it is not one of SQLite")
)

// Bind returns the store within a transaction of the host, on the same database, for ticketing.Service.WithStore.
//
//	err := db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
//		bound, err := st.Bind(ctx, tx)
//		if err != nil {
//			return err
//		}
//		// … the host's own rows, through tx …
//		_, err = svc.WithStore(bound).Checkout(ctx, caller, key, params)
//		return err
//	})
//	if err == nil {
//		svc.Wake()
//	}
//
// Bind refuses the transaction with [ErrTransaction]
//
//   - with PostgreSQL, if its isolation level is not READ COMMITTED, since locked rows would be read as they were
//     before the lock was acquired; or if its session_replication_role is replica. It accepts any driver, and any
//     search path that finds the tables of the store;
//   - with SQLite, if it was not begun IMMEDIATE, since SQLite could refuse it the write lock half-way. Its pool must
//     come from [OpenPool], or use modernc.org/sqlite with _txlock=immediate and foreign_keys(1);
//   - if it is read-only, has ended, belongs to another database, or is doomed because a statement in it failed.
//
// Keep the transaction short, and do nothing in it that waits for anything else. The company's wallets are locked from
// its first sale on, and with SQLite the whole database from its beginning. All other sales wait until it ends, or
// until their lock timeout ([Config.BusyTimeout]) passes. That includes the host's own calls on the unbound service.
// Such a call would wait for its own caller and fail with [driver.ErrBusy], so make every call within the transaction
// through WithStore. Two transactions with several operations each may deadlock. PostgreSQL then fails one of them, and
// the host runs it again. Change what a sale relies on (an event, an API key, a company) before the first sale.
//
// A store that was used or migrated before runs no statement on its own pool outside of a transaction. So the store and
// the host may share a pool of one connection.
//
// With PostgreSQL a sale is as durable as the host's COMMIT: after SET LOCAL synchronous_commit TO off, a server crash
// may lose it.
//
// With PostgreSQL, a host that ignores the failure of one of its own statements has lost the transaction: COMMIT then
// rolls back, and pgdriver reports no error. An Update after such a failure fails with [ErrTransaction].
func (s *Store) Bind(ctx context.Context, tx bun.Tx) (*Bound, error) {
	if tx.Tx == nil {
		return nil, errNoTx
	}
	return s.bind(ctx, tx.NewRaw("").DB(), tx.Tx)
}

// BindSQL returns the store within a transaction of package database/sql, for a host that does not use Bun. It makes
// the promises of [Store.Bind] and refuses the same transactions.
//
//	tx, err := db.BeginTx(ctx, nil) // *sql.DB
//	if err != nil {
//		return err
//	}
//	defer tx.Rollback()
//	bound, err := st.BindSQL(ctx, tx)
//	if err != nil {
//		return err
//	}
//	// … the host's own rows, through tx …
//	if _, err := svc.WithStore(bound).Checkout(ctx, caller, key, params); err != nil {
//		return err
//	}
//	if err := tx.Commit(); err != nil {
//		return err
//	}
//	svc.Wake()
//
// Other libraries wrap the transaction:
//
//	queries.WithTx(tx)                           // sqlc, with sql_package "database/sql": tx itself
//	st.BindSQL(ctx, tx.Tx)                       // sqlx: tx is a *sqlx.Tx
//	st.BindSQL(ctx, tx.Statement.ConnPool.(*sql.Tx)) // GORM: tx is the *gorm.DB of db.Transaction
//
// With PrepareStmt of GORM, ConnPool is a *gorm.PreparedStmtTX, whose Tx is the *sql.Tx. To use a pool of [OpenPool],
// or of pgx, in GORM, set it as Conn of the Config of its dialect.
//
// A transaction of a pgxpool.Pool is not a *sql.Tx. Begin it through package stdlib of pgx, on the connections of the
// same pool:
//
//	db := stdlib.OpenDBFromPool(pool) // once
//	tx, err := db.BeginTx(ctx, nil)
//
// A *sql.Tx does not show its driver or its pool. So with PostgreSQL BindSQL sends a few more messages than Bind with
// pgdriver. And after a restart of the server, the store compares the two once, on another connection. If the
// transaction holds the only connection of their common pool, this fails with [driver.ErrBusy] until the store was used
// outside of the transaction.
func (s *Store) BindSQL(ctx context.Context, tx *sql.Tx) (*Bound, error) {
	if tx == nil {
		return nil, errNoTx
	}
	return s.bind(ctx, nil, tx)
}

func (s *Store) bind(ctx context.Context, pool *bun.DB, tx *sql.Tx) (*Bound, error) {
	if err := s.checkSchema(ctx); err != nil {
		return nil, err
	}
	bound, err := s.engine.bind(ctx, pool, tx)
	if pool == nil && errors.Is(err, driver.ErrBusy) {
		s.outdated.Store(true) // The next use outside of the transaction identifies the server again.
	}
	if err != nil {
		return nil, fmt.Errorf("bind: %w", err)
	}
	b := &Bound{mu: s.txMutexes.get(tx), store: &Store{
		config: s.config, engine: bound, models: s.models, memory: s.memory, runs: 1,
	}}
	b.store.migrated.Store(true)
	return b, nil
}

// isSQLite reports whether a transaction is one of SQLite. The statement fails on neither database, because a failure
// would abort a transaction of PostgreSQL. In PostgreSQL the text becomes a number; in SQLite the two differ.
func isSQLite(ctx context.Context, tx *sql.Tx) (bool, error) {
	var equal bool
	err := tx.QueryRowContext(ctx, "SELECT '1' = 1").Scan(&equal)
	return !equal, err
}

// Durable returns true: what the host commits outlives the process.
func (b *Bound) Durable() bool { return true }

// Update runs fn for writing, once. The host's transaction gets all of its writes, or none.
func (b *Bound) Update(ctx context.Context, fn func(ctx context.Context, tx driver.Tx) error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.store.Update(ctx, fn)
}

// View runs fn for reading in the host's transaction.
func (b *Bound) View(ctx context.Context, fn func(ctx context.Context, tx driver.ReadTx) error) error {
	return b.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, driver.BeginOptions{}); err != nil {
			return err
		}
		return fn(ctx, &tx.(*transaction).session)
	})
}

// Snapshot runs fn for reading if all statements of the host's transaction see one moment. Otherwise it fails.
func (b *Bound) Snapshot(ctx context.Context, fn func(ctx context.Context, tx driver.ReadTx) error) error {
	if _, moving := b.store.engine.(*boundPostgres); moving {
		return errMoments
	}
	return b.View(ctx, fn)
}

const (
	savepoint     = "SAVEPOINT ticketing"
	keepSavepoint = "RELEASE SAVEPOINT ticketing"
	undoSavepoint = "ROLLBACK TO SAVEPOINT ticketing; " + keepSavepoint
)

// beginSavepoint returns a savepoint in a host's transaction. If rolling back to it fails, the whole transaction is
// rolled back.
func beginSavepoint(tx *sql.Tx, keep string) *openTx {
	return &openTx{
		conn: tx, commit: keep, rollback: undoSavepoint, isSavepoint: true,
		discard: func() { _ = tx.Rollback() }, release: func() {},
	}
}

// txMutexes holds a mutex for each host's transaction, for as long as the transaction is referenced. Two savepoints at
// the same time would end one another.
type txMutexes struct {
	mu   sync.Mutex
	byTx map[weak.Pointer[sql.Tx]]*sync.Mutex
}

func (t *txMutexes) get(tx *sql.Tx) *sync.Mutex {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := weak.Make(tx)
	txMutex := t.byTx[key]
	if txMutex == nil {
		if t.byTx == nil {
			t.byTx = make(map[weak.Pointer[sql.Tx]]*sync.Mutex)
		}
		txMutex = &sync.Mutex{}
		t.byTx[key] = txMutex
		runtime.AddCleanup(tx, t.forget, key)
	}
	return txMutex
}

func (t *txMutexes) forget(key weak.Pointer[sql.Tx]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.byTx, key)
}
