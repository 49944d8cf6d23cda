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

	"github.com/floatgate/ticketing"
)

// Bound is a store in one transaction of a host's: [Store.Bind] makes it. The host begins the transaction and ends it,
// and what is done on a Bound is kept or not with the rest of it.
//
// An Update is a part of the transaction, behind a savepoint. One that fails, and so every call that is refused, takes
// its own writes and locks back and leaves the transaction as it was before; one that succeeds keeps its locks, the
// claims of its keys among them, until the transaction ends. It runs once: a passing failure is [ticketing.ErrBusy].
// What the host set for its transaction, such as a search path or a time-out, is afterwards as it was.
//
// A View reads in the transaction, which sees its own writes. So does a Snapshot with SQLite; with PostgreSQL it is
// [ErrTransaction], since statements of READ COMMITTED do not see one moment.
//
// Calls from several goroutines take turns, also those of several Binds of one transaction. The host sends nothing
// through the transaction while one is under way. When the transaction has ended, each call is [ErrTransaction].
type Bound struct {
	turn  *sync.Mutex
	store *Store
}

var _ ticketing.DurableStore = (*Bound)(nil)

// ErrTransaction is the answer of [Store.Bind] and of a [Bound] store where the host's transaction is not one to sell
// in. The error that wraps it says why.
var ErrTransaction = errors.New("ticketing/store: nothing can be done in the host's transaction")

func refused(why string) error { return fmt.Errorf("%w: %s", ErrTransaction, why) }

var (
	errHostEnded  = refused("it has ended")
	errHostFailed = refused("a statement of it failed, so that it can only be rolled back")
	errHostWrites = refused("it may not write")
	errElsewhere  = refused("it is not of the store's database, or does not see the store's tables")
	errMoments    = refused("its statements do not see one moment: take a snapshot outside of it")
)

// Bind is the store in a transaction of the host's, on the same database, for [ticketing.Service.WithStore].
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
// The transaction is refused with [ErrTransaction]
//
//   - with PostgreSQL, where its isolation level is not READ COMMITTED: what is locked would be read as it was before
//     the lock was had; and where its session_replication_role is replica. Any driver will do, and any search path
//     that finds the tables of the store;
//   - with SQLite, where it was not begun IMMEDIATE: it could be told in the middle that it may not write. Its pool is
//     one of [OpenPool], or another one of modernc.org/sqlite with _txlock=immediate and foreign_keys(1);
//   - where it may not write, has ended, is of another database, or is doomed because a statement in it failed.
//
// Keep the transaction short, and do nothing in it that waits for anything else. From its first sale on the company's
// wallets are locked, with SQLite from its beginning on the whole database, and all other sales wait for its end, as
// long as their patience ([Config.BusyTimeout]) lasts. That goes for the host's own calls on the service itself, which
// would wait for their own caller and fail with [ticketing.ErrBusy]: within the transaction everything goes through
// WithStore. Two transactions
// that do several things each may meet in opposite orders; PostgreSQL then fails one of them, and the host runs it
// again. What changes what a sale relies on (an event, a key, a company) comes before the first sale.
//
// A store that was used or migrated before asks nothing outside of a transaction on its own pool, and so may share a
// pool of one connection with it.
//
// With PostgreSQL a sale is as durable as the host's COMMIT: after SET LOCAL synchronous_commit TO off a server that
// crashes may lose it.
//
// With PostgreSQL, a host that swallows the failure of a statement of its own has lost the transaction: COMMIT then
// rolls back, and pgdriver reports no error. An Update that comes after such a failure is [ErrTransaction].
func (s *Store) Bind(ctx context.Context, tx bun.Tx) (*Bound, error) {
	if tx.Tx == nil {
		return nil, refused("there is none")
	}
	if err := s.ready(ctx); err != nil {
		return nil, err
	}
	bound, err := s.engine.bind(ctx, tx.NewRaw("").DB(), tx.Tx)
	if err != nil {
		return nil, fmt.Errorf("bind: %w", err)
	}
	b := &Bound{turn: s.turns.of(tx.Tx), store: &Store{config: s.config, engine: bound, runs: 1}}
	b.store.migrated.Store(true)
	return b, nil
}

// Durable reports true: what the host commits outlives the process.
func (b *Bound) Durable() bool { return true }

// Update runs fn for writing, once, all or nothing of it in the host's transaction.
func (b *Bound) Update(ctx context.Context, fn func(ctx context.Context, tx ticketing.Tx) error) error {
	b.turn.Lock()
	defer b.turn.Unlock()
	return b.store.Update(ctx, fn)
}

// View runs fn for reading in the host's transaction.
func (b *Bound) View(ctx context.Context, fn func(ctx context.Context, tx ticketing.ReadTx) error) error {
	return b.Update(ctx, func(ctx context.Context, tx ticketing.Tx) error {
		if _, err := tx.Enter(ctx, ticketing.Entrance{}); err != nil {
			return err
		}
		return fn(ctx, &tx.(*transaction).session)
	})
}

// Snapshot runs fn for reading where all that the host's transaction reads is of one moment.
func (b *Bound) Snapshot(ctx context.Context, fn func(ctx context.Context, tx ticketing.ReadTx) error) error {
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

// part is a part of a host's transaction. Where it cannot be taken back, all of the transaction is.
func part(tx *sql.Tx, keep string) *begun {
	return &begun{
		conn: tx, commit: keep, rollback: undoSavepoint, part: true,
		discard: func() { _ = tx.Rollback() }, release: func() {},
	}
}

// turns are those of hosts' transactions, for as long as somebody has them: savepoints of two parts at once would end
// one another.
type turns struct {
	mu   sync.Mutex
	each map[weak.Pointer[sql.Tx]]*sync.Mutex
}

func (t *turns) of(tx *sql.Tx) *sync.Mutex {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := weak.Make(tx)
	turn := t.each[key]
	if turn == nil {
		if t.each == nil {
			t.each = make(map[weak.Pointer[sql.Tx]]*sync.Mutex)
		}
		turn = &sync.Mutex{}
		t.each[key] = turn
		runtime.AddCleanup(tx, t.forget, key)
	}
	return turn
}

func (t *turns) forget(key weak.Pointer[sql.Tx]) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.each, key)
}
