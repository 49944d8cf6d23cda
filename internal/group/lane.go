package group

import (
	"context"
	"slices"
	"time"
)

// entry is one call. It waits in its key's queue, is held by one runner, or has its result. Its place and left are
// guarded by the lock of the lanes; the other fields never change.
type entry[K comparable, T any] struct {
	//nolint:containedctx // A group runs with the values of its first call's context.
	ctx    context.Context
	key    K
	weight int
	call   T
	answer chan error // has room for the one result, so that a runner never waits for a caller that left
	place  place[*entry[K, T]]
	left   bool // the caller left while the call ran
}

// queue holds the waiting calls of one key. The lanes keep it while it has calls, or while a runner holds the key.
type queue[K comparable, T any] struct {
	key    K
	calls  list[*entry[K, T]]
	turn   place[*queue[K, T]] // in turns or in parked; in neither while a runner holds the key
	number int64               // of its turn: the queue with the lower number comes first
	holder *runner[K, T]       // the lane that runs calls of the key
	alone  bool                // the key runs alone
	length int                 // how many calls wait
	rank   place[*queue[K, T]] // in the ranks, while calls wait
}

// The groups of a key do not overlap, because a queue is in exactly one of three states. It is in turns, from which
// lanes take; it has a holder, the one lane that runs its calls; or it is alone, and at most one runner beside the
// lanes takes from it. It changes its state only under the lock, which is held briefly and only between runs.

// join appends a call to its key's queue. If a lane is idle, it returns that lane, and the caller must lead it.
func (l *Lanes[K, T]) join(e *entry[K, T]) (lead *runner[K, T], err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.closed:
		return nil, ErrClosed
	case l.waiting >= l.config.Queue && !l.makeRoom(e.key):
		return nil, ErrFull
	}
	q := l.queue(e.key)
	e.place.value = e
	l.waiting++
	l.weight += e.weight
	l.arrivals++
	if q.calls.empty() {
		l.number(q)
	}
	q.calls.pushBack(&e.place)
	l.resize(q, +1)
	l.arrived()
	if q.holder == nil && !q.alone {
		waits := q.turn.held()
		if !waits {
			l.turns.pushBack(&q.turn)
		}
		if !waits || !l.deferred.IsZero() {
			lead = l.hire()
		}
	}
	return lead, nil
}

// full reports whether enough calls wait to fill a group.
func (l *Lanes[K, T]) full() bool {
	return l.waiting >= l.config.Size || l.config.Weight > 0 && l.weight >= l.config.Weight
}

// makeRoom makes room for a call of a key by refusing another call: the newest of a key with the most waiting calls. It
// reports whether it did. A key that has the most itself gets no room.
func (l *Lanes[K, T]) makeRoom(key K) bool {
	q := l.ranks.longest()
	if q == nil {
		return false
	}
	if newcomer := l.queues[key]; newcomer != nil && newcomer.length >= q.length {
		return false
	}
	e := q.calls.last()
	l.take(q, e)
	e.answer <- ErrFull // The channel has room for it.
	return true
}

// resize updates the length and the rank of a queue that a call joined or left.
func (l *Lanes[K, T]) resize(q *queue[K, T], by int) {
	if q.length > 0 {
		q.rank.leave()
	}
	q.length += by
	l.ranks.enter(q)
}

// hire returns an idle lane for the waiting calls. It returns nil if there is none, or if the calls wait for a lane
// that gathers or runs.
func (l *Lanes[K, T]) hire() *runner[K, T] {
	last := len(l.resting) - 1
	if l.turns.empty() || l.gathering > 0 || last < 0 || l.defers(len(l.runners)-len(l.resting)) {
		return nil
	}
	r := l.resting[last]
	l.resting = l.resting[:last]
	return r
}

// staff starts an idle lane if calls wait for one.
func (l *Lanes[K, T]) staff() {
	if r := l.hire(); r != nil {
		go r.work()
	}
}

// rest returns a lane that has nothing to do to the idle ones.
func (l *Lanes[K, T]) rest(r *runner[K, T]) {
	l.resting = append(l.resting, r)
	l.stopped()
}

// leave removes a waiting call, and reports whether it did. It marks a running call as left.
func (l *Lanes[K, T]) leave(e *entry[K, T]) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !e.place.held() {
		e.left = true
		return false
	}
	l.take(l.queues[e.key], e)
	return true
}

// next gives a runner its next group. The calls come from the queue that the runner runs alone, or from its share of
// the queues that no runner holds. next takes the first call of each in turn, then the second of each, and so on.
func (l *Lanes[K, T]) next(r *runner[K, T]) {
	if r.alone == nil {
		l.deferred = time.Time{}
	}
	weight := 0
	take := func(q *queue[K, T]) bool {
		e := q.calls.first()
		weight += e.weight
		if len(r.group) == l.config.Size || l.config.Weight > 0 && weight > l.config.Weight && len(r.group) > 0 {
			return false
		}
		if r.alone == nil && q.holder == nil {
			q.turn.leave()
			q.holder = r
		}
		l.take(q, e)
		l.number(q)
		r.group = append(r.group, e)
		return true
	}
	if r.alone != nil {
		r.keys = append(r.keys, r.alone)
	}
	for n := l.share(r); n > 0; n-- {
		q := l.turns.first()
		if !take(q) {
			return
		}
		r.keys = append(r.keys, q)
	}
	for more := true; more; {
		more = false
		for _, q := range r.keys {
			if q.calls.empty() {
				continue
			}
			if !take(q) {
				return
			}
			more = true
		}
	}
}

// share returns how many of the free keys a runner may take. It leaves a share to each idle lane: two lanes at work are
// faster than one with a group of twice the size.
func (l *Lanes[K, T]) share(r *runner[K, T]) int {
	most := l.config.Size
	if l.config.Single {
		most = 1
	}
	if r.alone != nil {
		most = 0
	}
	others := len(l.resting)
	for _, other := range l.lingering {
		if other != r && other.enough == nil {
			others++
		}
	}
	keys := 0
	for at := l.turns.root.next; at != &l.turns.root && keys < most*(1+others); at = at.next {
		keys++
	}
	// An idle lane that would have too few calls gets none.
	if least := l.minCalls(); least > 1 {
		others = max(l.free(least*(1+others))/least, 1) - 1
	}
	return min((keys+others)/(1+others), most)
}

// release releases the keys of the group that ran.
func (l *Lanes[K, T]) release(r *runner[K, T]) {
	if r.alone == nil && len(r.keys) > 0 && r.ran == len(r.group) {
		l.sizes.add(len(r.keys), r.ran, r.took)
	}
	for _, q := range r.keys {
		if q.holder != r {
			continue
		}
		q.holder = nil
		if q.calls.empty() {
			delete(l.queues, q.key)
		} else {
			l.enter(q)
		}
	}
	clear(r.keys)
	r.keys = r.keys[:0]
}

// number moves the turn of a queue to the end. If a runner holds its key, that takes effect when the key is released.
func (l *Lanes[K, T]) number(q *queue[K, T]) {
	l.numbers++
	q.number = l.numbers
}

// enter inserts a queue into the turns at the position of its number.
func (l *Lanes[K, T]) enter(q *queue[K, T]) {
	before := l.turns.root.prev
	for before != &l.turns.root && before.value.number > q.number {
		before = before.prev
	}
	q.turn.insertAfter(before)
}

// takeAll empties every queue and returns the calls.
func (l *Lanes[K, T]) takeAll() []*entry[K, T] {
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

// stepAside makes the key of these calls run alone. The calls had been taken, and become the first in its queue again.
func (l *Lanes[K, T]) stepAside(calls []*entry[K, T]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.queues[calls[0].key]
	for _, e := range slices.Backward(calls) {
		if !e.left {
			q.calls.pushFront(&e.place)
			l.waiting++
			l.weight += e.weight
			l.resize(q, +1)
		}
	}
	q.holder, q.alone = nil, true
	if l.beside == l.config.Alone {
		l.parked.pushBack(&q.turn)
		return
	}
	l.beside++
	r := &runner[K, T]{lanes: l, alone: q, busy: true}
	go r.work()
}

// rejoin returns a queue that ran alone to the lanes. It returns the next queue for the runner, or nil if none is
// parked.
func (l *Lanes[K, T]) rejoin(q *queue[K, T]) *queue[K, T] {
	q.alone = false
	if q.calls.empty() {
		delete(l.queues, q.key)
	} else {
		l.number(q)
		l.turns.pushBack(&q.turn)
		l.staff()
	}
	parked := l.parked.first()
	if parked != nil {
		parked.turn.leave()
	}
	return parked
}

// close refuses calls from now on.
func (l *Lanes[K, T]) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.closed = true
		for _, r := range l.lingering {
			r.gathered() // No more calls are accepted.
		}
		l.stopped()
	}
}

// stopped is called after a runner ended. If it was the last one, stopped closes idle.
func (l *Lanes[K, T]) stopped() {
	if l.closed && len(l.resting) == l.config.Lanes && l.beside == 0 {
		close(l.idle)
	}
}

// queue returns the queue of a key, and creates it if there is none.
func (l *Lanes[K, T]) queue(key K) *queue[K, T] {
	q := l.queues[key]
	if q == nil {
		q = &queue[K, T]{key: key}
		q.turn.value, q.rank.value = q, q
		q.calls.init()
		l.queues[key] = q
	}
	return q
}

// take removes a call from its queue. It also removes the queue from the lanes if nothing needs it any more.
func (l *Lanes[K, T]) take(q *queue[K, T], e *entry[K, T]) {
	e.place.leave()
	l.waiting--
	l.weight -= e.weight
	l.resize(q, -1)
	if !q.calls.empty() || q.alone {
		return
	}
	if q.turn.held() {
		q.turn.leave()
	}
	if q.holder == nil {
		delete(l.queues, q.key)
	}
}
