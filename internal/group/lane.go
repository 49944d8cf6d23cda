package group

import (
	"context"
	"slices"
)

// entry is one call on its way. It waits in its key's queue, is in the hands of one runner, or is answered. Its place
// and left belong to the lock of the lanes, the rest is never changed.
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

// queue holds the waiting calls of one key. The lanes have it while there are any, or while somebody has the key.
type queue[K comparable, T any] struct {
	key    K
	calls  list[*entry[K, T]]
	turn   place[*queue[K, T]] // in turns, or in parked; in neither while somebody has the key
	number int64               // of its turn: a lower one is before it
	holder *runner[K, T]       // the lane that runs calls of the key
	alone  bool                // the key goes alone
	length int                 // how many calls wait
	rank   place[*queue[K, T]] // in the ranks, while any does
}

// The groups of a key don't overlap because a queue is in turns, which lanes take from, or has a holder, which is the
// one lane that runs calls of it, or is alone, which at most one runner beside the lanes takes from. It changes sides
// under the lock, which is held for moments only, and between runs.

// join puts a call at the end of its key's queue. Where a lane rests, the caller is to lead it.
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
	l.arrivals++
	if q.calls.empty() {
		l.number(q)
	}
	q.calls.pushBack(&e.place)
	l.resize(q, +1)
	for _, r := range l.lingering {
		if l.waiting >= l.config.Size || l.arrivals >= r.until {
			r.gathered()
		}
	}
	if q.holder == nil && !q.alone && !q.turn.held() {
		l.turns.pushBack(&q.turn)
		lead = l.hire()
	}
	return lead, nil
}

// makeRoom refuses a call for one of a key with fewer calls that wait: the newest of a key with the most. It reports
// whether it did; a key that has the most itself gets no room.
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
	e.answer <- ErrFull // There is room for it.
	return true
}

// resize counts a call that joined a queue, or left it.
func (l *Lanes[K, T]) resize(q *queue[K, T], by int) {
	if q.length > 0 {
		q.rank.leave()
	}
	q.length += by
	l.ranks.enter(q)
}

// hire returns a lane that rests, for what waits; nil where there is none, and where it is left to one that gathers.
func (l *Lanes[K, T]) hire() *runner[K, T] {
	last := len(l.resting) - 1
	if l.turns.empty() || l.gathering > 0 || last < 0 {
		return nil
	}
	r := l.resting[last]
	l.resting = l.resting[:last]
	return r
}

// staff sees that somebody is at work for what waits.
func (l *Lanes[K, T]) staff() {
	if r := l.hire(); r != nil {
		go r.work()
	}
}

// rest takes a lane back that has nothing to do.
func (l *Lanes[K, T]) rest(r *runner[K, T]) {
	l.resting = append(l.resting, r)
	l.stopped()
}

// leave takes out a call that waits, and tells whether it did. One that runs is marked as left.
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

// next gives a runner its next group: of the queue that it has alone, or of its share of those that nobody has. It takes
// the first call of each in turn, then the second of each, and so on.
func (l *Lanes[K, T]) next(r *runner[K, T]) {
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

// share is how many of the keys that nobody has a runner may take. It leaves those of other lanes that have none: two
// lanes that are at work are faster than one with a group of twice the size.
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
	return (keys + others) / (1 + others)
}

// release ends that a runner has the keys of the group that ran.
func (l *Lanes[K, T]) release(r *runner[K, T]) {
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

// number makes the turn of a queue the last one. Where somebody has its key, that counts once it is released.
func (l *Lanes[K, T]) number(q *queue[K, T]) {
	l.numbers++
	q.number = l.numbers
}

// enter gives a queue the turn of its number.
func (l *Lanes[K, T]) enter(q *queue[K, T]) {
	before := l.turns.root.prev
	for before != &l.turns.root && before.value.number > q.number {
		before = before.prev
	}
	q.turn.insertAfter(before)
}

// takeAll empties every queue.
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

// stepAside lets the key of these calls, which were taken, go alone: they are the first in its queue again.
func (l *Lanes[K, T]) stepAside(calls []*entry[K, T]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	q := l.queues[calls[0].key]
	for _, e := range slices.Backward(calls) {
		if !e.left {
			q.calls.pushFront(&e.place)
			l.waiting++
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

// rejoin ends that a queue is alone, and returns the next one for its runner, nil if none is parked.
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
			r.gathered() // Nobody comes any more.
		}
		l.stopped()
	}
}

// stopped is called after a runner ended, and tells who waits for that if it was the last one.
func (l *Lanes[K, T]) stopped() {
	if l.closed && len(l.resting) == l.config.Lanes && l.beside == 0 {
		close(l.idle)
	}
}

// queue returns the queue of a key, a new one where there is none.
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

// take takes a call out of its queue, and the queue out of the lanes when that was all it was there for.
func (l *Lanes[K, T]) take(q *queue[K, T], e *entry[K, T]) {
	e.place.leave()
	l.waiting--
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
