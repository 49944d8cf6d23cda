package ticketing

import (
	"context"
	"sync"
)

// workQueue is a work queue of keys. take returns the key that has waited longest. A key is taken by one worker at a
// time, so no two of them work on one company. A key that gets new work while it is taken is queued again after the
// others, so none of its work is lost and no key starves the rest. It is safe for concurrent use.
type workQueue[K comparable] struct {
	mu      sync.Mutex
	waiting []K // oldest first, without repetitions
	// inHand are the keys that are taken. known are the keys with work that no worker has taken yet: those that wait,
	// and those that got new work while they are taken.
	inHand, known map[K]bool
	came          chan struct{} // signals that a key waits; wakes one worker
}

// newWorkQueue returns an empty queue.
func newWorkQueue[K comparable]() *workQueue[K] {
	return &workQueue[K]{inHand: make(map[K]bool), known: make(map[K]bool), came: make(chan struct{}, 1)}
}

// add queues a key. It does nothing if the key is queued already.
func (t *workQueue[K]) add(key K) {
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

// wait appends a key and wakes a worker. The caller has the lock.
func (t *workQueue[K]) wait(key K) {
	t.waiting = append(t.waiting, key)
	select {
	case t.came <- struct{}{}:
	default:
	}
}

// take returns the next key, and waits for one if there is none. It returns false after the context has ended. The
// caller calls done when its work is finished.
func (t *workQueue[K]) take(ctx context.Context) (key K, ok bool) {
	for ctx.Err() == nil {
		t.mu.Lock()
		if len(t.waiting) > 0 {
			key, t.waiting = t.waiting[0], t.waiting[1:]
			delete(t.known, key)
			t.inHand[key] = true
			if len(t.waiting) > 0 { // The next key is for another worker.
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

// done ends the work on a key and queues the key again if it got new work meanwhile.
func (t *workQueue[K]) done(key K) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.inHand, key)
	if t.known[key] {
		t.wait(key)
	}
}
