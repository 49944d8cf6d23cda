// Package slot limits how many calls of each key run at a time. A key has a few slots, and a separate queue for the
// calls that find none free. So a key with ten thousand calls delays its own calls and no other key's.
//
// Waiting calls get slots in the order of their arrival. A call is refused if the queue is full or its patience ends. A
// key with neither a running nor a waiting call uses no memory.
package slot

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrRefused is the error of a call that got no slot: the queue of its key was full, or its patience ended.
var ErrRefused = errors.New("slot: too many calls of one key")

// Config sets how many calls run and how many wait. All fields are required.
type Config struct {
	// Slots is how many calls of a key may run at a time.
	Slots int
	// Queue is how many calls of a key may wait.
	Queue int
	// Patience is how long a call may wait.
	Patience time.Duration
}

// Slots holds the slots of each key. It is safe for concurrent use by multiple goroutines.
type Slots[K comparable] struct {
	config Config

	mu   sync.Mutex
	keys map[K]*line // those with a running call
}

// line is the state of a key. Calls wait in it only while all its slots are taken.
type line struct {
	taken   int
	waiting list.List // of *waiter
}

// waiter is a waiting call. granted is set under the lock of the slots, before ready is closed.
type waiter struct {
	ready   chan struct{}
	granted bool
}

// New returns slots of which none is taken.
func New[K comparable](config Config) *Slots[K] {
	return &Slots[K]{config: config, keys: make(map[K]*line)}
}

// Take takes a slot of the key, and waits for one if necessary. The caller releases the slot with release, which may be
// called more than once. The error is [ErrRefused], or wraps that of ctx.
func (s *Slots[K]) Take(ctx context.Context, key K) (release func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("slot: %w", err)
	}
	at, w, err := s.join(key)
	if err != nil {
		return nil, err
	}
	if w == nil {
		return s.releaser(key), nil
	}
	patience := time.NewTimer(s.config.Patience)
	defer patience.Stop()
	select {
	case <-w.ready:
		return s.releaser(key), nil
	case <-ctx.Done():
		err = fmt.Errorf("slot: %w", ctx.Err())
	case <-patience.C:
		err = ErrRefused
	}
	if s.leave(key, at, w) {
		return nil, err
	}
	return s.releaser(key), nil // The slot was granted at the last moment.
}

// join takes a free slot, or a place in the queue.
func (s *Slots[K]) join(key K) (*list.Element, *waiter, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.keys[key]
	if l == nil {
		l = &line{}
		s.keys[key] = l
	}
	switch {
	case l.taken < s.config.Slots:
		l.taken++
		return nil, nil, nil
	case l.waiting.Len() >= s.config.Queue:
		return nil, nil, ErrRefused
	}
	w := &waiter{ready: make(chan struct{})}
	return l.waiting.PushBack(w), w, nil
}

// leave removes a call from the queue and reports whether it did. It does not if the call has been granted a slot
// meanwhile.
func (s *Slots[K]) leave(key K, at *list.Element, w *waiter) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.granted {
		return false
	}
	s.keys[key].waiting.Remove(at)
	return true
}

func (s *Slots[K]) releaser(key K) func() {
	var once sync.Once
	return func() { once.Do(func() { s.release(key) }) }
}

// release gives the slot to the call that has waited longest. It forgets a key without calls.
func (s *Slots[K]) release(key K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.keys[key]
	if first := l.waiting.Front(); first != nil {
		w := l.waiting.Remove(first).(*waiter) //nolint:forcetypeassert // Nothing else waits.
		w.granted = true
		close(w.ready)
		return
	}
	if l.taken--; l.taken == 0 {
		delete(s.keys, key)
	}
}

// Waits reports whether a call of a key waits for a slot.
func (s *Slots[K]) Waits(key K) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.keys[key]
	return l != nil && l.waiting.Len() > 0
}

// Keys returns how many keys have a running call.
func (s *Slots[K]) Keys() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.keys)
}
