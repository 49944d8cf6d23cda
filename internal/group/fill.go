package group

import "time"

// Where groups are large, a run of one call takes nearly as long as one of all that wait, and takes the database and
// the processor from these. So an idle lane does not start with few calls while another lane runs. They stay in the
// queue until that lane takes them with its next group, until enough others wait, which under load is sooner, or until
// a timer starts the idle lane.

// groupSizes is how large groups were lately. The averages follow the largest ones: what is to be avoided are small
// ones between them.
type groupSizes struct {
	keys, calls float64
	took        float64 // nanoseconds of their runs
}

// manyKeys is how many keys large groups have at least where few calls wait for a lane that runs.
const manyKeys = 4

// add counts a group that ran.
func (s *groupSizes) add(keys, calls int, took time.Duration) {
	s.keys, s.calls = follow(s.keys, float64(keys)), follow(s.calls, float64(calls))
	s.took = follow(s.took, float64(took))
}

// follow moves an average towards a value: up quickly, down slowly.
func follow(average, value float64) float64 {
	const up, down = 1. / 4, 1. / 16
	more := value - average
	if more > 0 {
		return average + more*up
	}
	return average + more*down
}

// minCalls returns how many calls an idle lane starts with while another one runs.
func (l *Lanes[K, T]) minCalls() int {
	if l.sizes.keys < manyKeys {
		return 1
	}
	return max(int(l.sizes.calls*l.config.Fill), 1)
}

// free returns how many calls wait that a lane may take, counted up to a number.
func (l *Lanes[K, T]) free(most int) int {
	calls := 0
	for at := l.turns.root.next; at != &l.turns.root && calls < most; at = at.next {
		calls += at.value.length
	}
	return min(calls, most)
}

// defers reports whether a lane that could start leaves the waiting calls in the queue, for one of the other lanes that
// run. If there are no others, it defers nothing: so the last lane takes all.
func (l *Lanes[K, T]) defers(others int) bool {
	if others == 0 || l.turns.empty() || l.full() {
		return false
	}
	if least := l.minCalls(); l.free(least) == least {
		return false
	}
	if l.deferred.IsZero() {
		l.deferred = time.Now()
		if l.overdueTimer == nil {
			l.overdueTimer = time.AfterFunc(l.longestDeferred(), l.startOverdue)
		} else {
			l.overdueTimer.Reset(l.longestDeferred())
		}
	}
	return true
}

// longestDeferred returns how long an idle lane leaves calls in the queue.
func (l *Lanes[K, T]) longestDeferred() time.Duration {
	return min(2*time.Duration(l.sizes.took), longestLinger)
}

// startOverdue starts an idle lane with calls that waited for another one for too long. If there is none, or one
// gathers, the next lane that defers calls starts the timer again.
func (l *Lanes[K, T]) startOverdue() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.deferred.IsZero() {
		return
	}
	if rest := l.longestDeferred() - time.Since(l.deferred); rest > 0 {
		l.overdueTimer.Reset(rest) // The calls before were taken.
		return
	}
	l.deferred = time.Time{}
	last := len(l.resting) - 1
	if l.turns.empty() || l.gathering > 0 || last < 0 {
		return
	}
	r := l.resting[last]
	l.resting = l.resting[:last]
	r.overdue = true
	go r.work()
}
