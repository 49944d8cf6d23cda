package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

const (
	// maxRuns is the largest number of runs of fn, when transient failures occur.
	maxRuns = 5
	// maxDuration is how long a transaction may take from its beginning to its commit.
	maxDuration = 30 * time.Second
)

var (
	errNotOver = fmt.Errorf("%w: the transaction of a lost connection has not ended", driver.ErrUnavailable)

	errSwallowed = errors.New("ticketing/store: an error of the transaction was ignored")
	errUnknown   = errors.New("ticketing/store: the connection was lost during the commit, so its outcome is unknown")
	errTooLong   = fmt.Errorf("ticketing/store: the transaction took longer than %s", maxDuration)
)

// transaction is one Update, over all its runs.
type transaction struct {
	session

	claimed []driver.IdempotencyKey
	// lost is set if an earlier run lost its connection. The database may not have noticed it yet, continue the work and
	// even commit it. Until that transaction ends, it holds the claims.
	lost bool
	// All fields below belong to one run.
	begun       bool
	openTx      *openTx
	pending     builder // writes that wait to be sent
	patience    time.Duration
	reaches     bool // the settings of the transaction apply on all nodes: see reachNodes
	returnsRows bool // some of them return rows
	deadline    time.Time
	failure     error
}

// Update runs fn for writing, all or nothing. It waits to begin for as long as the configured timeout and ctx allow.
// After the transaction has begun, the end of ctx does not stop it, so that a caller who leaves cannot interrupt a
// commit. It has a deadline of its own, 30 s.
func (s *Store) Update(ctx context.Context, fn func(ctx context.Context, tx driver.Tx) error) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	tx := &transaction{}
	tx.store = s
	tx.owner = tx
	// Deferred without a recover, as in run, so that a panic of fn continues unchanged.
	defer s.inFlightKeys.release(tx)
	defer tx.ended.Store(true)
	var notOver time.Time // since when the Update waits for the transaction of a lost connection
	for runs := 1; ; runs++ {
		err := tx.run(ctx, fn)
		if _, lost := errors.AsType[*lostError](err); lost || errors.Is(err, errNotOver) {
			tx.lost = true
		}
		if errors.Is(err, errNotOver) {
			if notOver.IsZero() {
				notOver = time.Now()
			}
			if time.Since(notOver) < s.config.BusyTimeout {
				// That transaction ends by itself; the wait for it is bounded like the wait for any lock.
				runs = min(runs, s.runs-1)
			}
		}
		switch {
		case !isTransient(err):
			return err
		case runs == s.runs && (errors.Is(err, driver.ErrUnavailable) || isConstraint(err)):
			return err
		case runs == s.runs:
			return fmt.Errorf("%w: %w", driver.ErrBusy, err)
		}
		// Transient failures are conflicts between two transactions. Random waits keep these from colliding again.
		wait := time.NewTimer(time.Millisecond<<runs + rand.N(time.Millisecond<<runs)) //nolint:gosec // No secret.
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return fmt.Errorf("ticketing/store: %w", ctx.Err())
		}
	}
}

// run runs fn once.
func (tx *transaction) run(ctx context.Context, fn func(ctx context.Context, tx driver.Tx) error) (err error) {
	tx.begun, tx.openTx, tx.pending, tx.returnsRows, tx.failure = false, nil, builder{}, false, nil
	tx.ahead, tx.on, tx.onCompany, tx.reaches = readAhead{}, nil, uuid.Nil, false
	committed := false
	defer func() {
		if tx.openTx == nil {
			return
		}
		if !committed {
			tx.rollback(ctx)
		}
		if _, lost := errors.AsType[*lostError](err); lost {
			// The connection may be alive, and lead to a server that is no longer the primary.
			tx.openTx.discard()
		}
		tx.openTx.release()
	}()
	err = fn(ctx, tx)
	switch {
	case tx.failure != nil && isTransient(tx.failure):
		return tx.failure
	case err != nil:
		return err
	case tx.failure != nil:
		return fmt.Errorf("%w: %w", errSwallowed, tx.failure)
	case tx.openTx == nil:
		return nil
	case time.Now().After(tx.deadline):
		return errTooLong
	}
	// The last writes and the commit are one message: PostgreSQL runs no later statement after one that fails.
	commit := tx.pending
	if len(tx.claimed) == 0 || len(commit.text) == 0 {
		if err := tx.flush(context.WithoutCancel(ctx)); err != nil {
			return err
		}
		commit = builder{}
	}
	commit.add(tx.openTx.commit)
	commit.endPart(keepNot, nil)
	err = tx.end(ctx, "commit", &commit)
	committed = err == nil
	if _, lost := errors.AsType[*lostError](err); lost && len(tx.claimed) == 0 && !tx.openTx.isSavepoint {
		// It is unknown whether the transaction was committed. A run under the same claims finds out; without claims, nothing
		// may run twice.
		return fmt.Errorf("%w: %w", errUnknown, err)
	}
	return err
}

// isTransient reports whether another run may succeed.
func isTransient(err error) bool {
	if errors.Is(err, errUnknown) {
		return false
	}
	var transient *transientError
	var lost *lostError
	return errors.As(err, &transient) || errors.As(err, &lost)
}

func isConstraint(err error) bool {
	var broken *driver.ConstraintError
	return errors.As(err, &broken)
}

// rollback logs a failure to roll back, and then discards the connection, which rolls back as well.
func (tx *transaction) rollback(ctx context.Context) {
	if err := tx.end(ctx, "rollback", &builder{text: []byte(tx.openTx.rollback)}); err != nil {
		tx.store.config.Logger.WarnContext(ctx, "ticketing/store: rollback failed", "error", err)
		tx.openTx.discard()
	}
}

func (tx *transaction) end(ctx context.Context, name string, statement *builder) error {
	ctx = context.WithoutCancel(ctx)
	return tx.store.observe(ctx, name, func() error {
		ctx, text := tx.store.engine.message(ctx, statement)
		_, err := tx.conn.ExecContext(ctx, text)
		return err
	})
}

// Begin claims the keys at once. Then it waits to begin the transaction, begins it and enters the gates.
func (tx *transaction) Begin(ctx context.Context, in driver.BeginOptions) ([]bool, error) {
	if tx.ended.Load() {
		return nil, errEnded
	}
	if tx.begun {
		tx.fail(errReenter)
		return nil, errReenter
	}
	tx.begun = true
	inFlight := tx.store.inFlightKeys.take(tx, in.Keys)
	if len(inFlight) > 0 && !slices.Contains(inFlight, false) {
		return inFlight, nil
	}
	var elsewhere []bool
	err := tx.store.observe(ctx, "begin", func() (err error) {
		elsewhere, err = tx.open(ctx, in)
		return err
	})
	if err != nil {
		tx.fail(err)
		return nil, err
	}
	tx.deadline = time.Now().Add(maxDuration)
	for i, taken := range elsewhere {
		if taken && !inFlight[i] && tx.lost {
			// The claim is this Update's own, still held by the transaction of the lost connection.
			tx.fail(&transientError{errNotOver})
			return nil, tx.failure
		}
		inFlight[i] = inFlight[i] || taken
	}
	return inFlight, nil
}

// open begins the transaction: on the shards of its company, if it has one whose shards are known.
func (tx *transaction) open(ctx context.Context, in driver.BeginOptions) (inFlight []bool, err error) {
	if e, ok := tx.store.engine.(*postgresEngine); ok {
		company := soleCompany(in)
		if on := e.onShards(ctx, company); on != nil {
			tx.on, tx.onCompany, tx.patience = on, company, cmp.Or(in.LockTimeout, e.patience)
			inFlight, err = tx.openOn(ctx, on, in)
			if err == nil || !e.direct.moved(ctx, on, err) {
				return inFlight, err
			}
			tx.on, tx.onCompany, tx.ahead = nil, uuid.Nil, readAhead{}
		}
	}
	return tx.openOn(ctx, tx.store.engine, in)
}

func (tx *transaction) openOn(
	ctx context.Context, engine engine, in driver.BeginOptions,
) (inFlight []bool, err error) {
	e, isPostgres := engine.(*postgresEngine)
	if in.Reads != nil && engine.traits().joinsReads {
		tx.ahead.recalls = isPostgres && e.recalls()
		tx.announceTo(func() { in.Reads(ctx, tx) })
		tx.ahead.recalls = false
	}
	if isPostgres && in.Locks != nil && len(in.Keys) > 0 {
		tx.announceLocks(ctx, e, *in.Locks)
	}
	if tx.openTx, inFlight, err = engine.begin(ctx, in, &tx.ahead); err == nil {
		tx.conn = tx.openTx.conn
	}
	return inFlight, err
}

// check returns an error if no statement may run any more.
func (tx *transaction) check() error {
	err := tx.failure
	switch {
	case err != nil:
		err = fmt.Errorf("%w: %w", errSwallowed, err)
	case tx.openTx == nil:
		err = errNotBegun
	case time.Now().After(tx.deadline):
		err = errTooLong
	}
	if err != nil {
		tx.fail(err)
	}
	return err
}

// beforeStatement allows a statement to run, and sends the pending writes first: before it, or with it in one message.
// The statement runs to its end even if the caller leaves: cancelling it would abort the transaction.
func (tx *transaction) beforeStatement(ctx context.Context, statement *builder) (context.Context, error) {
	if err := tx.check(); err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	tx.reachNodes(statement)
	if tx.returnsRows || len(tx.pending.copied) > 0 || !tx.store.engine.traits().multiStatement {
		return ctx, tx.flush(ctx)
	}
	if len(tx.pending.text) > 0 {
		tx.pending.append(statement)
		tx.pending.endPart(statement.kept(), statement.shards)
		*statement, tx.pending = tx.pending, builder{}
	}
	return ctx, nil
}

// flush sends the pending writes.
func (tx *transaction) flush(ctx context.Context) error {
	if len(tx.pending.text) == 0 {
		return nil
	}
	statement := tx.pending
	tx.pending, tx.returnsRows = builder{}, false
	err := tx.store.observe(ctx, "write", func() error {
		_, err := tx.store.engine.exec(ctx, tx.conn, &statement)
		return err
	})
	if err != nil {
		tx.fail(err)
	}
	return err
}

// fail keeps the first error of the transaction, which can then only be rolled back.
func (tx *transaction) fail(err error) {
	if tx.failure == nil {
		tx.failure = err
	}
}

// exec runs a statement that writes, at once or with the pending writes.
func (tx *transaction) exec(ctx context.Context, name, text string, values ...any) error {
	return tx.send(ctx, name, anyNumber, build(tx.engineAt(ctx, name, tx.companyIn(text, values)), text, values...))
}

// updateOne runs a statement that changes one row, which must exist.
func (tx *transaction) updateOne(ctx context.Context, name, text string, values ...any) error {
	return tx.send(ctx, name, 1, build(tx.engineAt(ctx, name, tx.companyIn(text, values)), text, values...))
}

// insert inserts rows.
func (tx *transaction) insert(ctx context.Context, name, table string, rows set) error {
	return tx.put(ctx, name, table, rows, "")
}

// put inserts rows. The clause end says what happens to rows that exist already.
func (tx *transaction) put(ctx context.Context, name, table string, rows set, end string) error {
	engine := tx.engineAt(ctx, name, rows.soleCompany())
	if engine.traits().bindsValues {
		rows = rows.boxedRows()
	}
	statement := build(engine, "")
	engine.appendInsert(statement, table, rows)
	statement.add(end)
	statement.table = table
	return tx.send(ctx, name, anyNumber, statement)
}

// update changes the rows that the first columns of the set identify, all of which must exist.
func (tx *transaction) update(ctx context.Context, name, table string, keys int, rows set) error {
	engine := tx.engineAt(ctx, name, rows.soleCompany())
	statement := build(engine, "")
	engine.appendUpdate(statement, table, keys, rows)
	statement.table = table
	return tx.send(ctx, name, len(rows.rows), statement)
}

// lock locks rows against other writers, if the engine has row locks.
func (tx *transaction) lock(ctx context.Context, rows keyedRows) error {
	if tx.ended.Load() {
		return errEnded
	}
	if err := tx.check(); err != nil {
		return err
	}
	table, _, _ := strings.Cut(rows.table, " ")
	tx.ahead.forget()
	each := []fragment{rows}
	engine := tx.engineAt(ctx, "Lock", rows.soleCompany())
	if engine.traits().oneNode {
		each = rows.ofEach()
	}
	for _, rows := range each {
		statement := build(engine, "SELECT 1 FROM ?", rows)
		if statement.err != nil {
			tx.fail(statement.err)
			return statement.err
		}
		tx.reachNodes(statement)
		if silent := engine.appendLock(&tx.pending, table, statement); !silent {
			tx.returnsRows = true
		}
	}
	return nil
}

const (
	anyNumber = -1
	// maxPending is the largest size of the pending writes, in bytes.
	maxPending = 1 << 20
)

// send runs a write, or adds it to the pending writes, for the next read or the commit.
func (tx *transaction) send(ctx context.Context, name string, records int, statement *builder) error {
	if tx.ended.Load() {
		return errEnded
	}
	if err := tx.check(); err != nil {
		return err
	}
	if statement.err != nil {
		tx.fail(statement.err)
		return statement.err
	}
	ctx = context.WithoutCancel(ctx)
	engine := tx.store.engine
	if statement.shards != nil {
		engine = tx.on
	}
	tx.ahead.forget()
	statement.prepare = keepingOf(name)
	tx.reachNodes(statement)
	if engine.traits().batchesWrites {
		engine.appendExpecting(&tx.pending, statement, records)
		tx.returnsRows = tx.returnsRows || records != anyNumber
		if tx.pending.size() < maxPending {
			return nil
		}
		return tx.flush(ctx)
	}
	err := tx.store.observe(ctx, name, func() error {
		written, err := engine.exec(ctx, tx.conn, statement)
		if err == nil && records != anyNumber && written != records {
			err = driver.ErrNotFound
		}
		return err
	})
	if err != nil {
		tx.fail(err)
	}
	return err
}
