// Package memory implements [driver.Store] in memory, for tests, demonstrations and programs that need no database. It
// needs no installation. All data is lost when the process ends. [New] returns an empty [Store]:
//
//	svc, err := ticketing.New(memory.New(), nil)
//
// Package [github.com/floatgate/ticketing/store] keeps data in SQLite or PostgreSQL.
//
// # Concurrency
//
// One writer runs at a time. So the gates of companies and every Lock method need no locks of their own: no other
// Update has entered. Readers run concurrently with each other and with a writer that has not written yet. They wait
// from a writer's first write until it ends, so that they never see uncommitted data. A Snapshot blocks writers while
// it runs.
//
// # Costs
//
// The lists are sorted slices with binary search. So a page costs the same at any depth, and stock that is sold out and
// facts that are handled cost nothing. A record that arrives out of order moves all records after it.
package memory

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/floatgate/ticketing/driver"
)

// Store keeps records in memory. [New] returns one. It is safe for concurrent use.
type Store struct {
	claims claims
	// writer has one slot. Waiters get it in order of arrival.
	writer chan struct{}
	// visible is held for reading by every read outside of an Update. An Update holds it for writing from its first
	// write until it ends. It also holds the writer's slot, so it reads without visible.
	visible sync.RWMutex
	state   *state
}

var _ driver.Store = (*Store)(nil)

// New returns an empty store.
func New() *Store {
	return &Store{writer: make(chan struct{}, 1), state: newState()}
}

// View runs fn for reading. Each call sees what is committed when it runs.
func (s *Store) View(ctx context.Context, fn func(ctx context.Context, tx driver.ReadTx) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("ticketing: view: %w", err)
	}
	view := &viewing{visible: &s.visible}
	defer view.ended.Store(true)
	return fn(ctx, reading{view, s.state})
}

// Snapshot runs fn for reading. All its calls see one moment, and no Update writes until fn returns.
func (s *Store) Snapshot(ctx context.Context, fn func(ctx context.Context, tx driver.ReadTx) error) error {
	s.visible.RLock()
	defer s.visible.RUnlock()
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("ticketing: snapshot: %w", err)
	}
	var snapshot snapshotting
	defer snapshot.ended.Store(true)
	return fn(ctx, reading{&snapshot, s.state})
}

// Update runs fn for writing, all or nothing. fn runs once: there are no transient failures.
func (s *Store) Update(ctx context.Context, fn func(ctx context.Context, tx driver.Tx) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("ticketing: update: %w", err)
	}
	tx := &updating{store: s}
	tx.reading = reading{tx, s.state}
	// Deferred and without a recover, so that a panic of fn continues unchanged.
	defer tx.end()
	if err := fn(ctx, tx); err != nil {
		return err
	}
	return tx.commit()
}

// access guards the state during a call of a transaction.
type access interface {
	open(ctx context.Context) error
	close()
}

// reading implements the reads of every kind of transaction.
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

// viewing is the access of a View: each call sees what is committed when it runs.
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

// snapshotting is the access of a Snapshot, which holds visible all the time.
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
