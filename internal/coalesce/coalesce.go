// Package coalesce lets calls that ask for the same share one read.
package coalesce

import (
	"context"
	"sync"
	"time"
)

// Reads are the reads that run, by what they ask for. Only one of a key runs at a time: the calls that come meanwhile
// share the next one. So no call returns less than what was committed when it came. It is safe for concurrent use by
// multiple goroutines.
//
// The lock mu guarantees it: a call joins a read only before the read has begun.
type Reads[K comparable, C, R any] struct {
	// Patience is the longest that a call waits for the reads of others. Then it makes its own. It must be positive.
	Patience time.Duration

	mu   sync.Mutex
	keys map[K]*ofKey[C, R]
}

// ofKey are the reads of a key: the one that has begun, and the next one. Either may be nil.
type ofKey[C, R any] struct{ running, next *read[C, R] }

// read is a read that calls share. Its first call makes it, in its own goroutine and context.
type read[C, R any] struct {
	callers []C // under the lock until it has begun
	begun   bool
	ended   chan struct{}

	// The outcome, which is not changed once ended is closed.
	result R
	each   []error // of each caller; nil: of none
	err    error   // fails all of them
	// The first call has given up, or could not begin: the others ask again.
	abandoned bool
}

// MaxCalls is how many calls share one read at most. One more makes a read of its own.
const MaxCalls = 128

// Do returns the result of a read that may be another call's. It runs fn if no other call does. fn calls begin in its
// transaction, as often as this runs, for the callers that share the read, and returns an error for each of them, or
// none. leads reports whether this call ran it. Others may have the result, so nobody changes it.
//
// An error of fn before it called begin is that of this call alone, such as that no slot was free.
func (s *Reads[K, C, R]) Do(
	ctx context.Context, key K, caller C, fn func(begin func() []C) (result R, each []error, err error),
) (result R, leads bool, err error) {
	alone := func() (R, bool, error) {
		result, each, err := fn(func() []C { return []C{caller} })
		return result, true, ErrorOf(err, each, 0)
	}
	patience := time.NewTimer(s.Patience)
	defer patience.Stop()
	for {
		r, place, before := s.join(key, caller)
		if r == nil {
			return alone()
		}
		if place == 0 {
			if before != nil {
				select {
				case <-before.ended:
				case <-patience.C:
				case <-ctx.Done():
				}
			}
			s.lead(ctx, key, r, fn)
			return r.result, true, ErrorOf(r.err, r.each, 0)
		}
		select {
		case <-r.ended:
		case <-patience.C:
			return alone()
		case <-ctx.Done():
			return result, false, ctx.Err()
		}
		if !r.abandoned {
			return r.result, false, ErrorOf(r.err, r.each, place)
		}
	}
}

// ErrorOf returns the error of a read, or else that of the caller at a place.
func ErrorOf(err error, each []error, place int) error {
	if err == nil && each != nil {
		err = each[place]
	}
	return err
}

// join adds a call to the next read of a key. The first call of a read, at place 0, has to run it after before, if that
// is not nil. The read is nil if the next one is full.
func (s *Reads[K, C, R]) join(key K, caller C) (r *read[C, R], place int, before *read[C, R]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.keys[key]
	if of == nil {
		of = new(ofKey[C, R])
		if s.keys == nil {
			s.keys = make(map[K]*ofKey[C, R])
		}
		s.keys[key] = of
	}
	if of.next == nil {
		of.next = &read[C, R]{ended: make(chan struct{})}
	}
	r = of.next
	place = len(r.callers)
	if place == MaxCalls {
		return nil, 0, nil
	}
	r.callers = append(r.callers, caller)
	return r, place, of.running
}

// lead runs a read for all its calls.
func (s *Reads[K, C, R]) lead(
	ctx context.Context, key K, r *read[C, R], fn func(begin func() []C) (R, []error, error),
) {
	r.abandoned = true // if it panics
	defer func() {
		s.remove(key, r)
		close(r.ended)
	}()
	if r.err = ctx.Err(); r.err != nil {
		return
	}
	r.result, r.each, r.err = fn(func() []C { return s.begin(key, r) })
	// An error may be that of the first call's context.
	r.abandoned = r.err != nil && (ctx.Err() != nil || !r.begun)
}

// begin ends the time in which calls join a read, and returns their callers.
func (s *Reads[K, C, R]) begin(key K, r *read[C, R]) []C {
	s.mu.Lock()
	defer s.mu.Unlock()
	if of := s.keys[key]; of != nil && of.next == r {
		of.running, of.next = r, nil
	}
	r.begun = true
	return r.callers
}

// remove removes a read.
func (s *Reads[K, C, R]) remove(key K, r *read[C, R]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.keys[key]
	if of == nil {
		return // A later read did not wait for this one, and was the last.
	}
	if of.running == r {
		of.running = nil
	}
	if of.next == r {
		of.next = nil
	}
	if *of == (ofKey[C, R]{}) {
		delete(s.keys, key)
	}
}
