// Package equal lets calls that ask for the same share one read.
package equal

import (
	"context"
	"sync"
)

// Reads are the reads that run, by what they ask for. Only one of a key runs at a time: the calls that come meanwhile
// share the next one. So no call returns less than what was committed when it came. The zero value is ready for use, by
// multiple goroutines.
//
// The lock mu makes it true: a call joins a read only before the read has begun.
type Reads[K comparable, C, R any] struct {
	mu   sync.Mutex
	keys map[K]*ofKey[C, R]
}

// ofKey are the reads of a key: the one that has begun, and the next one. Either may be nil.
type ofKey[C, R any] struct{ running, next *read[C, R] }

// read is a read that calls share. Its first call makes it, in its own goroutine and context.
type read[C, R any] struct {
	callers []C // under the lock until it has begun
	ended   chan struct{}

	// The outcome, which is not changed once ended is closed.
	result R
	each   []error // of each caller; nil: of none
	err    error   // fails all of them
	left   bool    // The first call has given up: the others ask again.
}

// MaxCalls is how many calls share one read at most. A further call makes a read of its own.
const MaxCalls = 128

// Do returns the result of a read that may be another call's. It runs run if no other call does. run calls begin in
// its transaction, as often as this runs, for the callers that share the read, and returns an error for each of them, or
// none. own reports whether this call ran it. Others may have the result, so nobody changes it.
func (s *Reads[K, C, R]) Do(
	ctx context.Context, key K, caller C, run func(begin func() []C) (result R, each []error, err error),
) (result R, own bool, err error) {
	for {
		r, place, before := s.join(key, caller)
		switch {
		case r == nil:
			result, each, err := run(func() []C { return []C{caller} })
			return result, true, ErrorOf(err, each, 0)
		case place == 0:
			if before != nil {
				select {
				case <-before.ended:
				case <-ctx.Done():
				}
			}
			s.lead(ctx, key, r, run)
		default:
			select {
			case <-r.ended:
			case <-ctx.Done():
				return result, false, ctx.Err()
			}
			if r.left {
				continue
			}
		}
		return r.result, place == 0, ErrorOf(r.err, r.each, place)
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
	ctx context.Context, key K, r *read[C, R], run func(begin func() []C) (R, []error, error),
) {
	r.left = true // if it panics
	defer func() {
		s.end(key, r)
		close(r.ended)
	}()
	if r.err = ctx.Err(); r.err != nil {
		return
	}
	r.result, r.each, r.err = run(func() []C { return s.begin(key, r) })
	// An error may be that of the first call's context.
	r.left = r.err != nil && ctx.Err() != nil
}

// begin ends the time in which calls join a read, and returns their callers.
func (s *Reads[K, C, R]) begin(key K, r *read[C, R]) []C {
	s.mu.Lock()
	defer s.mu.Unlock()
	if of := s.keys[key]; of.next == r {
		of.running, of.next = r, nil
	}
	return r.callers
}

// end removes a read.
func (s *Reads[K, C, R]) end(key K, r *read[C, R]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.keys[key]
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
