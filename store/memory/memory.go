// Package memory keeps everything in memory: the whole of [ticketing.Store] for tests, demonstrations and programs
// that need no more, with nothing to install and nothing left when the process ends.
//
// One writer runs at a time, so the gates of companies and every Lock method hold trivially: whoever entered is alone.
// Readers run beside each other and beside a writer that has not written yet; they wait from a writer's first write to
// its end, so that they never see what is not committed. A Snapshot keeps writers waiting for as long as it runs.
//
// A page costs the same at any depth, and what is sold out or handled costs nothing: the lists are sorted slices that
// are searched by halves. A record that arrives out of its order costs a move of what lies behind it.
package memory

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/floatgate/ticketing"
)

// Store keeps records in memory. It is safe for use by several goroutines.
type Store struct {
	claims claims
	// writer has one slot. Those who wait for it are served in the order they came.
	writer chan struct{}
	// visible is held for reading by whoever reads outside of an Update, and for writing from an Update's first write
	// to its end. Who writes under it holds the writer's slot as well, so an Update reads without it.
	visible sync.RWMutex
	state   *state
}

var _ ticketing.Store = (*Store)(nil)

// New makes an empty store.
func New() *Store {
	return &Store{writer: make(chan struct{}, 1), state: newState()}
}

// View runs fn for reading. Each call sees what is committed when it runs.
func (s *Store) View(ctx context.Context, fn func(ctx context.Context, tx ticketing.ReadTx) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("ticketing: view: %w", err)
	}
	view := &viewing{visible: &s.visible}
	defer view.ended.Store(true)
	return fn(ctx, reading{view, s.state})
}

// Snapshot runs fn for reading. All its calls see one moment, and no Update writes until fn returns.
func (s *Store) Snapshot(ctx context.Context, fn func(ctx context.Context, tx ticketing.ReadTx) error) error {
	s.visible.RLock()
	defer s.visible.RUnlock()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("ticketing: snapshot: %w", err)
	}
	var snapshot snapshotting
	defer snapshot.ended.Store(true)
	return fn(ctx, reading{&snapshot, s.state})
}

// Update runs fn for writing, all or nothing. fn runs once: nothing that passes can fail here.
func (s *Store) Update(ctx context.Context, fn func(ctx context.Context, tx ticketing.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("ticketing: update: %w", err)
	}
	tx := &updating{store: s}
	tx.reading = reading{tx, s.state}
	// Deferred and without a recover, so that a panic of fn goes on as it is.
	defer tx.end()
	if err := fn(ctx, tx); err != nil {
		return err
	}
	return tx.commit()
}

// access is how a transaction lets its calls at the state.
type access interface {
	open(ctx context.Context) error
	close()
}

// reading is what every transaction can read, whatever its access.
type reading struct {
	access access
	state  *state
}

// ask makes one reading call.
func ask[T any](ctx context.Context, r reading, find func(s *state) T) (T, error) {
	if err := r.access.open(ctx); err != nil {
		var none T
		return none, err
	}
	defer r.access.close()
	return find(r.state), nil
}

// viewing lets each call at what is committed.
type viewing struct {
	visible *sync.RWMutex
	ended   atomic.Bool
}

func (v *viewing) open(ctx context.Context) error {
	v.visible.RLock()
	err := usable(ctx, v.ended.Load())
	if err != nil {
		v.visible.RUnlock()
	}
	return err
}

func (v *viewing) close() { v.visible.RUnlock() }

// snapshotting lets its calls at what Snapshot holds still.
type snapshotting struct{ ended atomic.Bool }

func (s *snapshotting) open(ctx context.Context) error { return usable(ctx, s.ended.Load()) }
func (s *snapshotting) close()                         {}

func usable(ctx context.Context, ended bool) error {
	if ended {
		return errEnded
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("ticketing: read: %w", err)
	}
	return nil
}
