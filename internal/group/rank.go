package group

// ranks are the queues with waiting calls by their length, so that the longest is found without a search. A queue's
// length changes by one at a time, and so does that of the longest.
type ranks[K comparable, T any] struct {
	of   []*list[*queue[K, T]] // by length; each list is created when it is first needed
	most int                   // the length of the longest, or more while none waits
}

// enter adds a queue to the rank of its length.
func (r *ranks[K, T]) enter(q *queue[K, T]) {
	if q.length > 0 {
		for len(r.of) <= q.length {
			rank := &list[*queue[K, T]]{}
			rank.init()
			r.of = append(r.of, rank)
		}
		r.of[q.length].pushBack(&q.rank)
	}
	r.most = max(r.most, q.length)
	if r.most > 0 && r.of[r.most].empty() {
		r.most--
	}
}

// longest returns a queue with the most waiting calls, or nil if no call waits.
func (r *ranks[K, T]) longest() *queue[K, T] {
	if r.most == 0 {
		return nil
	}
	return r.of[r.most].first()
}
