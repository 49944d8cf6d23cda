package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/floatgate/ticketing"
)

const (
	// maxRuns is how often fn runs when passing failures come between.
	maxRuns = 5
	// maxDuration is how long a transaction may take from its beginning to its commit.
	maxDuration = 30 * time.Second
)

var (
	errSwallowed = errors.New("ticketing/store: a call failed and the transaction went on")
	errTooLong   = fmt.Errorf("ticketing/store: the transaction took longer than %s", maxDuration)
)

// transaction is one Update, over all its runs.
type transaction struct {
	session

	claimed []ticketing.ResultRef
	// All below belongs to one run.
	entered  bool
	begun    bun.Conn
	release  func() // nil: not begun
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
	for runs := 1; ; runs++ {
		err := tx.run(ctx, fn)
		var passing *passingError
		switch {
		case !errors.As(err, &passing):
			return err
		case runs == maxRuns:
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
	tx.entered, tx.release, tx.doom = false, nil, nil
	committed := false
	defer func() {
		if tx.release == nil {
			return
		}
		if !committed {
			tx.rollback(ctx)
		}
		tx.release()
	}()
	err = fn(ctx, tx)
	var passing *passingError
	switch {
	case tx.doom != nil && errors.As(tx.doom, &passing):
		return tx.doom
	case err != nil:
		return err
	case tx.doom != nil:
		return fmt.Errorf("%w: %w", errSwallowed, tx.doom)
	case tx.release == nil:
		return nil
	case time.Now().After(tx.deadline):
		return errTooLong
	}
	err = tx.end(ctx, "commit", "COMMIT")
	committed = err == nil
	return err
}

// rollback has no one to tell that it failed: the connection is then thrown away, which rolls back as well.
func (tx *transaction) rollback(ctx context.Context) {
	if err := tx.end(ctx, "rollback", "ROLLBACK"); err != nil {
		tx.store.config.Logger.WarnContext(ctx, "ticketing/store: rollback failed", "error", err)
		discard(tx.begun)
	}
}

func (tx *transaction) end(ctx context.Context, name, statement string) error {
	ctx = context.WithoutCancel(ctx)
	return tx.store.observe(ctx, name, func() error {
		_, err := tx.conn.ExecContext(ctx, statement)
		return err
	})
}

// Enter claims the keys at once, then waits for its turn and begins the transaction.
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
	err := tx.store.observe(ctx, "begin", func() error {
		var err error
		tx.begun, tx.release, err = tx.store.engine.begin(ctx, in.Share, in.Close)
		tx.conn = tx.begun
		return err
	})
	if err != nil {
		tx.fail(err)
		return nil, err
	}
	tx.deadline = time.Now().Add(maxDuration)
	return inFlight, nil
}

// enter lets a statement run. It runs to its end, whatever becomes of the caller: a statement cut short would take the
// transaction with it.
func (tx *transaction) enter(ctx context.Context) (context.Context, error) {
	err := tx.doom
	switch {
	case err != nil:
		err = fmt.Errorf("%w: %w", errSwallowed, err)
	case tx.release == nil:
		err = errNotBegun
	case time.Now().After(tx.deadline):
		err = errTooLong
	default:
		return context.WithoutCancel(ctx), nil
	}
	tx.fail(err)
	return nil, err
}

// fail dooms the transaction with its first error.
func (tx *transaction) fail(err error) {
	if tx.doom == nil {
		tx.doom = err
	}
}
