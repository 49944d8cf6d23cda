package group

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

// entry is one call on its way. It waits in its key's queue, is in the hands of one runner, or is answered. Its place
// and left belong to the lane's lock, the rest is never changed.
type entry[K comparable, T any] struct {
	//nolint:containedctx // A group runs with the values of its first call's context.
	ctx    context.Context
	key    K
	weight int
	call   T
	answer chan error // has room for the one answer, so that nobody waits for a caller that left
	place  place[*entry[K, T]]
	left   bool // the caller went away while the call ran
}

// queue holds the waiting calls of one key. A lane has it while there are any, or while the key goes alone.
type queue[K comparable, T any] struct {
	key   K
	calls list[*entry[K, T]]
	turn  place[*queue[K, T]] // in turns, or in parked; in neither while a runner has it alone
	alone bool
}

// lane is a line of keys that share a runner. Its lock is held for moments only, never while a group runs. The
// groups of a key don't overlap because a queue is in turns, which the lane's one runner takes from, or is alone,
// which at most one other runner takes from, and changes sides only between runs.
type lane[K comparable, T any] struct {
	config *Config[K, T]
	runner runner[K, T] // the lane's own, used again from one start to the next

	mu      sync.Mutex
	queues  map[K]*queue[K, T]
	turns   list[*queue[K, T]] // every queue with calls that is not alone, the next one first
	parked  list[*queue[K, T]] // queues that are alone and wait for a runner
	waiting int                // calls in all queues
	running bool               // the lane's own runner is at work
	beside  int                // runners at work for busy keys
	target  int                // how many calls the lane's runner waits for; 0 when it does not
	enough  chan struct{}      // closed when they are there, or as many as ran have come to all lanes
	closed  bool
	idle    chan struct{} // closed when the lane is, and nothing runs

	arrivals *atomic.Int64 // of all lanes
	until    atomic.Int64  // the arrival that the lane's runner waits for at most; 0 when it does not
}

func newLane[K comparable, T any](config *Config[K, T], arrivals *atomic.Int64) *lane[K, T] {
	l := &lane[K, T]{config: config, arrivals: arrivals, queues: make(map[K]*queue[K, T]), idle: make(chan struct{})}
	l.runner.lane = l
	l.turns.init()
	l.parked.init()
	return l
}

// join puts a call at the end of its key's queue. Where nothing runs, the caller is to lead.
func (l *lane[K, T]) join(e *entry[K, T]) (lead bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return false, ErrClosed
	case l.waiting >= l.config.Queue:
		return false, ErrFull
	}
	q := l.queue(e.key)
	e.place.value = e
	q.calls.pushBack(&e.place)
	l.waiting++
	if l.waiting >= l.target {
		l.gathered()
	}
	if !q.alone && !q.turn.held() {
		l.turns.pushBack(&q.turn)
		lead, l.running = !l.running, true
	}
	return lead, nil
}

// gather ends the waiting of the lane's runner for more calls.
func (l *lane[K, T]) gather() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gathered()
}

func (l *lane[K, T]) gathered() {
	if l.target > 0 {
		l.target = 0
		l.until.Store(0)
		close(l.enough)
	}
}

// leave takes out a call that waits, and tells whether it did. One that runs is marked as left.
func (l *lane[K, T]) leave(e *entry[K, T]) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !e.place.held() {
		e.left = true
		return false
	}
	l.take(l.queues[e.key], e)
	return true
}

// next appends the next group to a slice: of the queue that is given, or in turn of those that have one.
func (l *lane[K, T]) next(group []*entry[K, T], only *queue[K, T]) []*entry[K, T] {
	if only == nil && l.config.Single {
		only = l.turns.first()
	}
	for weight := 0; len(group) < l.config.Size; {
		q := only
		if q == nil {
			q = l.turns.first()
		}
		if q == nil || q.calls.empty() {
			break
		}
		e := q.calls.first()
		weight += e.weight
		if l.config.Weight > 0 && weight > l.config.Weight && len(group) > 0 {
			break
		}
		l.take(q, e)
		group = append(group, e)
		if q.turn.held() {
			q.turn.leave()
			l.turns.pushBack(&q.turn)
		}
	}
	return group
}

// takeAll empties every queue.
func (l *lane[K, T]) takeAll() []*entry[K, T] {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]*entry[K, T], 0, l.waiting)
	for _, q := range l.queues {
		for !q.calls.empty() {
			e := q.calls.first()
			l.take(q, e)
			all = append(all, e)
		}
	}
	return all
}

// stepAside lets the key of these calls, which were taken, go alone: they are the first in its queue again.
func (l *lane[K, T]) stepAside(calls []*entry[K, T]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.queue(calls[0].key)
	for _, e := range slices.Backward(calls) {
		if !e.left {
			q.calls.pushFront(&e.place)
			l.waiting++
		}
	}
	if q.turn.held() {
		q.turn.leave()
	}
	q.alone = true
	if l.beside == l.config.Alone {
		l.parked.pushBack(&q.turn)
		return
	}
	l.beside++
	r := &runner[K, T]{lane: l, alone: q, busy: true}
	go r.work()
}

// rejoin ends that a queue is alone, and returns the next one for its runner, nil if none is parked.
func (l *lane[K, T]) rejoin(q *queue[K, T]) *queue[K, T] {
	q.alone = false
	if q.calls.empty() {
		delete(l.queues, q.key)
	} else {
		l.enter(q)
	}
	parked := l.parked.first()
	if parked != nil {
		parked.turn.leave()
	}
	return parked
}

// close refuses calls from now on.
func (l *lane[K, T]) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.closed = true
		l.gathered() // Nobody comes any more.
		l.stopped()
	}
}

// stopped is called after a runner ended, and tells who waits for that if it was the last one.
func (l *lane[K, T]) stopped() {
	if l.closed && !l.running && l.beside == 0 {
		close(l.idle)
	}
}

// queue returns the queue of a key, a new one where the lane has none.
func (l *lane[K, T]) queue(key K) *queue[K, T] {
	q := l.queues[key]
	if q == nil {
		q = &queue[K, T]{key: key}
		q.turn.value = q
		q.calls.init()
		l.queues[key] = q
	}
	return q
}

// enter gives a queue its turn, the last one, and sees that somebody is at work.
func (l *lane[K, T]) enter(q *queue[K, T]) {
	l.turns.pushBack(&q.turn)
	if !l.running {
		l.running = true
		go l.runner.work()
	}
}

// take takes a call out of its queue, and the queue out of the lane when that was all it was there for.
func (l *lane[K, T]) take(q *queue[K, T], e *entry[K, T]) {
	e.place.leave()
	l.waiting--
	if q.calls.empty() && !q.alone {
		q.turn.leave()
		delete(l.queues, q.key)
	}
}
