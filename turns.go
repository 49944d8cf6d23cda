package ticketing

import (
	"context"
	"sync"
)

// turns hand out keys that have work, the one that has waited longest first: each is in one pair of hands at a time, and
// one that has new work meanwhile gets another turn behind the others.
type turns[K comparable] struct {
	mu      sync.Mutex
	waiting []K
	// known are those that wait or are in hand, and of the latter whether they have new work.
	inHand, known map[K]bool
	came          chan struct{}
}

func newTurns[K comparable]() *turns[K] {
	return &turns[K]{inHand: make(map[K]bool), known: make(map[K]bool), came: make(chan struct{}, 1)}
}

// add says that a key has work.
func (t *turns[K]) add(key K) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known[key] {
		return
	}
	t.known[key] = true
	if !t.inHand[key] {
		t.wait(key)
	}
}

// wait puts a key at the end. It is called with the lock.
func (t *turns[K]) wait(key K) {
	t.waiting = append(t.waiting, key)
	select {
	case t.came <- struct{}{}:
	default:
	}
}

// take answers with the next key, and with false when the context ends. Whoever took it calls done.
func (t *turns[K]) take(ctx context.Context) (key K, ok bool) {
	for ctx.Err() == nil {
		t.mu.Lock()
		if len(t.waiting) > 0 {
			key, t.waiting = t.waiting[0], t.waiting[1:]
			delete(t.known, key)
			t.inHand[key] = true
			if len(t.waiting) > 0 { // What is left is for another taker.
				select {
				case t.came <- struct{}{}:
				default:
				}
			}
			t.mu.Unlock()
			return key, true
		}
		t.mu.Unlock()
		select {
		case <-t.came:
		case <-ctx.Done():
		}
	}
	return key, false
}

// done gives a key back.
func (t *turns[K]) done(key K) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.inHand, key)
	if t.known[key] {
		t.wait(key)
	}
}
