package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/floatgate/ticketing/driver"
)

var (
	errEnded    = errors.New("ticketing: the transaction has ended")
	errOutside  = errors.New("ticketing: the transaction was used before Begin")
	errReenter  = errors.New("ticketing: Begin was called twice")
	errSwallows = errors.New("ticketing: an error of the transaction was ignored")
)

// updating is the transaction of an Update.
type updating struct {
	reading

	store   *Store
	claimed []driver.IdempotencyKey
	entered bool
	begun   bool // the writer's slot is held
	wrote   bool // readers are locked out
	ended   atomic.Bool
	undo    undo
	failure error
}

// Begin claims the keys at once, and then waits to become the writer.
func (tx *updating) Begin(ctx context.Context, in driver.BeginOptions) ([]bool, error) {
	if tx.ended.Load() {
		return nil, errEnded
	}
	if tx.failure != nil {
		return nil, tx.doomed()
	}
	if tx.entered {
		return nil, tx.fail(errReenter)
	}
	tx.entered = true
	inFlight := tx.claim(in.Keys)
	if len(inFlight) > 0 && !slices.Contains(inFlight, false) {
		return inFlight, nil
	}
	// Check this first, since select chooses at random between a free slot and a cancelled context.
	if err := ctx.Err(); err != nil {
		return nil, tx.fail(fmt.Errorf("ticketing: enter: %w", err))
	}
	select {
	case tx.store.writer <- struct{}{}:
		tx.begun = true
		return inFlight, nil
	case <-ctx.Done():
		return nil, tx.fail(fmt.Errorf("ticketing: wait for the writer: %w", ctx.Err()))
	}
}

func (tx *updating) claim(refs []driver.IdempotencyKey) []bool {
	inFlight := tx.store.claims.take(refs)
	for i, ref := range refs {
		if !inFlight[i] {
			tx.claimed = append(tx.claimed, ref)
		}
	}
	return inFlight
}

func (tx *updating) open(ctx context.Context) error {
	if tx.ended.Load() {
		return errEnded
	}
	if tx.failure != nil {
		return tx.doomed()
	}
	if !tx.begun {
		return tx.fail(errOutside)
	}
	if err := ctx.Err(); err != nil {
		return tx.fail(fmt.Errorf("ticketing: update: %w", err))
	}
	return nil
}

func (tx *updating) close() {}

// write makes one writing call.
func (tx *updating) write(ctx context.Context, change func(s *state, u *undo) error) error {
	if err := tx.open(ctx); err != nil {
		return err
	}
	if !tx.wrote {
		tx.store.visible.Lock()
		tx.wrote = true
	}
	if err := change(tx.state, &tx.undo); err != nil {
		return tx.fail(err)
	}
	return nil
}

// fail dooms the transaction.
func (tx *updating) fail(err error) error {
	tx.failure = err
	return err
}

func (tx *updating) doomed() error { return fmt.Errorf("%w: %w", errSwallows, tx.failure) }

// commit keeps the writes, unless a call failed.
func (tx *updating) commit() error {
	if tx.failure != nil {
		return tx.doomed()
	}
	tx.undo = nil
	return nil
}

// end undoes what was not committed, and releases the locks and the claims.
func (tx *updating) end() {
	tx.ended.Store(true)
	tx.undo.run()
	if tx.wrote {
		tx.store.visible.Unlock()
	}
	if tx.begun {
		<-tx.store.writer
	}
	tx.store.claims.release(tx.claimed)
}

// claims holds the idempotency keys in flight on this store.
type claims struct {
	mu   sync.Mutex
	held map[driver.IdempotencyKey]struct{}
}

// take claims the keys that are free and reports which are not.
func (c *claims) take(refs []driver.IdempotencyKey) []bool {
	inFlight := make([]bool, len(refs))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held == nil {
		c.held = make(map[driver.IdempotencyKey]struct{})
	}
	for i, ref := range refs {
		_, inFlight[i] = c.held[ref]
		c.held[ref] = struct{}{}
	}
	return inFlight
}

func (c *claims) release(refs []driver.IdempotencyKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, ref := range refs {
		delete(c.held, ref)
	}
}
