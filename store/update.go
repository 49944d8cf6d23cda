package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/floatgate/ticketing"
)

const (
	// maxRuns is how often fn runs when passing failures come between.
	maxRuns = 5
	// maxDuration is how long a transaction may take from its beginning to its commit.
	maxDuration = 30 * time.Second
)

var (
	errNotOver = fmt.Errorf("%w: the transaction of a lost connection is not over", ticketing.ErrUnavailable)

	errSwallowed = errors.New("ticketing/store: a call failed and the transaction went on")
	errUnknown   = errors.New("ticketing/store: the connection was lost at the commit, it is not known whether it is kept")
	errTooLong   = fmt.Errorf("ticketing/store: the transaction took longer than %s", maxDuration)
)

// transaction is one Update, over all its runs.
type transaction struct {
	session

	claimed []ticketing.ResultRef
	// lost tells that an earlier run lost its connection. The database may not know yet and still work for it, even
	// commit it; until then it holds the claims.
	lost bool
	// All below belongs to one run.
	entered  bool
	begun    *begun
	pending  builder // writes that wait to be sent
	loud     bool    // some of them answer with rows
	deadline time.Time
	doom     error
}

// Update runs fn for writing, all or nothing. It waits for its turn as long as the configured time and ctx allow. Once
// it is in, the end of ctx is no reason to stop, so that a caller who leaves cannot tear a commit: it runs under a
// deadline of its own, 30 s.
func (s *Store) Update(ctx context.Context, fn func(ctx context.Context, tx ticketing.Tx) error) error {
	if err := s.ready(ctx); err != nil {
		return err
	}
	tx := &transaction{}
	tx.store = s
	tx.gate = tx
	// Deferred without a recover, as in run, so that a panic of fn goes on as it is.
	defer s.claims.release(tx)
	defer tx.ended.Store(true)
	var notOver time.Time // since when a lost connection's transaction is waited for
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
				runs = min(runs, s.runs-1) // It ends by itself, and is waited for as long as any lock.
			}
		}
		switch {
		case !again(err):
			return err
		case runs == s.runs && (errors.Is(err, ticketing.ErrUnavailable) || isConstraint(err)):
			return err
		case runs == s.runs:
			return fmt.Errorf("%w: %w", ticketing.ErrBusy, err)
		}
		// A passing failure is two that met: they part by waiting for times that differ.
		wait := time.NewTimer(time.Millisecond<<runs + rand.N(time.Millisecond<<runs)) //nolint:gosec // No secret.
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return fmt.Errorf("ticketing/store: %w", ctx.Err())
		}
	}
}

// run is one run of fn.
func (tx *transaction) run(ctx context.Context, fn func(ctx context.Context, tx ticketing.Tx) error) (err error) {
	tx.entered, tx.begun, tx.pending, tx.loud, tx.doom = false, nil, builder{}, false, nil
	committed := false
	defer func() {
		if tx.begun == nil {
			return
		}
		if !committed {
			tx.rollback(ctx)
		}
		if _, lost := errors.AsType[*lostError](err); lost {
			tx.begun.discard() // It may be alive, and lead to a server that is the primary no more.
		}
		tx.begun.release()
	}()
	err = fn(ctx, tx)
	switch {
	case tx.doom != nil && again(tx.doom):
		return tx.doom
	case err != nil:
		return err
	case tx.doom != nil:
		return fmt.Errorf("%w: %w", errSwallowed, tx.doom)
	case tx.begun == nil:
		return nil
	case time.Now().After(tx.deadline):
		return errTooLong
	}
	commit := tx.begun.commit
	if len(tx.claimed) > 0 && len(tx.pending.text) > 0 {
		// The last writes and the commit are one message: the first statement that fails is the last one to run.
		commit = string(tx.pending.text) + commit
	} else if err := tx.flush(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	err = tx.end(ctx, "commit", commit)
	committed = err == nil
	if _, lost := errors.AsType[*lostError](err); lost && len(tx.claimed) == 0 && !tx.begun.part {
		// Nobody knows whether it is kept. A run under the same claims finds out; without any, nothing may run twice.
		return fmt.Errorf("%w: %w", errUnknown, err)
	}
	return err
}

// again tells whether a failure may pass with another run.
func again(err error) bool {
	if errors.Is(err, errUnknown) {
		return false
	}
	var passing *passingError
	var lost *lostError
	return errors.As(err, &passing) || errors.As(err, &lost)
}

func isConstraint(err error) bool {
	var broken *ticketing.ConstraintError
	return errors.As(err, &broken)
}

// rollback has no one to tell that it failed: the connection is then thrown away, which rolls back as well.
func (tx *transaction) rollback(ctx context.Context) {
	if err := tx.end(ctx, "rollback", tx.begun.rollback); err != nil {
		tx.store.config.Logger.WarnContext(ctx, "ticketing/store: rollback failed", "error", err)
		tx.begun.discard()
	}
}

func (tx *transaction) end(ctx context.Context, name, statement string) error {
	ctx = context.WithoutCancel(ctx)
	return tx.store.observe(ctx, name, func() error {
		_, err := tx.conn.ExecContext(ctx, statement)
		return err
	})
}

// Enter claims the keys at once, then waits for its turn, begins the transaction and enters the gates.
func (tx *transaction) Enter(ctx context.Context, in ticketing.Entrance) ([]bool, error) {
	if tx.ended.Load() {
		return nil, errEnded
	}
	if tx.entered {
		tx.fail(errReenter)
		return nil, errReenter
	}
	tx.entered = true
	inFlight := tx.store.claims.take(tx, in.Claim)
	if len(inFlight) > 0 && !slices.Contains(inFlight, false) {
		return inFlight, nil
	}
	var elsewhere []bool
	err := tx.store.observe(ctx, "begin", func() error {
		var err error
		if tx.begun, elsewhere, err = tx.store.engine.begin(ctx, in); err == nil {
			tx.conn = tx.begun.conn
		}
		return err
	})
	if err != nil {
		tx.fail(err)
		return nil, err
	}
	tx.deadline = time.Now().Add(maxDuration)
	for i, taken := range elsewhere {
		if taken && !inFlight[i] && tx.lost {
			// It is our own, held for the connection that was lost.
			tx.fail(&passingError{errNotOver})
			return nil, tx.doom
		}
		inFlight[i] = inFlight[i] || taken
	}
	return inFlight, nil
}

// check tells whether a statement may run.
func (tx *transaction) check() error {
	err := tx.doom
	switch {
	case err != nil:
		err = fmt.Errorf("%w: %w", errSwallowed, err)
	case tx.begun == nil:
		err = errNotBegun
	case time.Now().After(tx.deadline):
		err = errTooLong
	}
	if err != nil {
		tx.fail(err)
	}
	return err
}

// enter lets a statement run, after what waits to be sent: before it, or in front of it in one message. It runs to its
// end, whatever becomes of the caller: a statement cut short would take the transaction with it.
func (tx *transaction) enter(ctx context.Context, statement *builder) (context.Context, error) {
	if err := tx.check(); err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	if tx.loud || !tx.store.engine.together() {
		return ctx, tx.flush(ctx)
	}
	if len(tx.pending.text) > 0 {
		statement.text = append(tx.pending.text, statement.text...)
		tx.pending = builder{}
	}
	return ctx, nil
}

// flush sends the writes that wait.
func (tx *transaction) flush(ctx context.Context) error {
	if len(tx.pending.text) == 0 {
		return nil
	}
	statement := tx.pending
	tx.pending, tx.loud = builder{}, false
	err := tx.store.observe(ctx, "write", func() error {
		_, err := tx.store.engine.exec(ctx, tx.conn, &statement)
		return err
	})
	if err != nil {
		tx.fail(err)
	}
	return err
}

// fail dooms the transaction with its first error.
func (tx *transaction) fail(err error) {
	if tx.doom == nil {
		tx.doom = err
	}
}

// exec runs a statement that writes, at once or with those that wait.
func (tx *transaction) exec(ctx context.Context, name, text string, values ...any) error {
	return tx.send(ctx, name, anyNumber, build(tx.store.engine, text, values...))
}

// changed runs a statement that changes a row that is there.
func (tx *transaction) changed(ctx context.Context, name, text string, values ...any) error {
	return tx.send(ctx, name, 1, build(tx.store.engine, text, values...))
}

// insert keeps new rows.
func (tx *transaction) insert(ctx context.Context, name, table string, rows set) error {
	return tx.put(ctx, name, table, rows, "")
}

// put keeps rows; the end of the statement says what becomes of those that are there.
func (tx *transaction) put(ctx context.Context, name, table string, rows set, end string) error {
	statement := build(tx.store.engine, "")
	tx.store.engine.appendInsert(statement, table, rows)
	statement.add(end)
	return tx.send(ctx, name, anyNumber, statement)
}

// update changes the rows that the first columns of the set name, all of which are there.
func (tx *transaction) update(ctx context.Context, name, table string, keys int, rows set) error {
	statement := build(tx.store.engine, "")
	tx.store.engine.appendUpdate(statement, table, keys, rows)
	return tx.send(ctx, name, len(rows.rows), statement)
}

// lock keeps other writers from rows, where the engine has locks of rows.
func (tx *transaction) lock(rows found) error {
	if tx.ended.Load() {
		return errEnded
	}
	if err := tx.check(); err != nil {
		return err
	}
	statement := build(tx.store.engine, "SELECT 1 FROM ?", rows)
	if statement.err != nil {
		tx.fail(statement.err)
		return statement.err
	}
	if silent := tx.store.engine.appendLock(&tx.pending, statement); !silent {
		tx.loud = true
	}
	return nil
}

const (
	anyNumber = -1
	// maxPending is how many bytes of writes wait for one another.
	maxPending = 1 << 20
)

// send runs a write, or lets it wait for the next read or the commit.
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
	if engine.defers() {
		engine.appendExpecting(&tx.pending, statement, records)
		tx.loud = tx.loud || records != anyNumber
		if len(tx.pending.text) < maxPending {
			return nil
		}
		return tx.flush(ctx)
	}
	err := tx.store.observe(ctx, name, func() error {
		written, err := engine.exec(ctx, tx.conn, statement)
		if err == nil && records != anyNumber && written != records {
			err = ticketing.ErrNotFound
		}
		return err
	})
	if err != nil {
		tx.fail(err)
	}
	return err
}
