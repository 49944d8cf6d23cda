package group

import (
	"slices"
	"time"
)

// Callers often call again as soon as they have their results. If the next run began with the first of them, the others
// would need one more run, which takes nearly as long for few calls as for many. So a lane waits for them, where there
// are such callers: it measures, after each run, how long it takes until three quarters of as many calls as ran have
// arrived, whether or not it waits meanwhile. Calls that have nothing to do with the run arrive evenly and take three
// quarters of the time until the end of the next run; callers that call again take less. See Config.Linger.

// watch measures when the callers of a run call again. The zero value measures nothing.
type watch struct {
	ran   int           // how many calls the run had; 0 if nothing is measured
	ended time.Time     // when the run ended
	most  int64         // the arrival with which three quarters of as many calls have arrived
	all   int64         // the arrival with which as many calls have arrived
	after time.Duration // how long after the run most of them had arrived; 0 until then
}

// returns is what the lanes know of callers that call again.
type returns struct {
	credit int           // groups wait while there is some
	after  time.Duration // how long after a run most of its callers have called again, on average
}

const (
	// Groups begin to wait with firstCredit, once callers have called again after a run. Each later time adds one more, up
	// to mostCredit. If they do not, it costs failureCost.
	firstCredit, mostCredit, failureCost = 4, 8, 2
	// longestLinger bounds the wait after a slow run, since it delays the calls that wait already.
	longestLinger = 50 * time.Millisecond
	// leastLinger is a divisor: a wait may take this part of the last run, however soon callers have called again so far.
	leastLinger = 8
)

// expect is called before the calls of a run get their results. It decides whether the lane waits for their callers to
// call again. If so, no other lane starts with the first of those calls.
func (r *runner[K, T]) expect() {
	l := r.lanes
	if l.config.Linger <= 0 || r.alone != nil || len(r.parts) > 0 {
		return
	}
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.learn(r.watch, now)
	r.watch = watch{}
	if r.ran < 2 {
		return
	}
	r.watch = watch{
		ran: r.ran, ended: now, most: l.arrivals + int64(r.ran-r.ran/4), all: l.arrivals + int64(r.ran),
	}
	if l.returns.credit > 0 {
		r.gathers = true
		l.gathering++
	}
}

// learn notes whether the callers of a run called again, and when. Another run has ended since.
func (l *Lanes[K, T]) learn(w watch, now time.Time) {
	known := &l.returns
	if w.ran == 0 {
		return
	}
	if w.after == 0 || float64(w.after) > l.config.Linger*float64(now.Sub(w.ended)) {
		known.credit = max(known.credit-failureCost, 0)
		return
	}
	if known.credit == 0 {
		known.credit, known.after = firstCredit, w.after
		return
	}
	known.credit = min(known.credit+1, mostCredit)
	known.after = (3*known.after + w.after) / 4
}

// arrived is called after each arrival. It ends the waits that it completes, and shortens those for which most calls
// have arrived.
func (l *Lanes[K, T]) arrived() {
	for _, r := range l.runners {
		w := &r.watch
		if w.ran > 0 && l.arrivals == w.most {
			w.after = max(time.Since(w.ended), 1)
			if r.enough != nil {
				r.timer.Reset(r.last(w.after))
			}
		}
	}
	for _, r := range l.lingering {
		if l.full() || l.arrivals >= r.watch.all {
			r.gathered()
		}
	}
}

// gather waits, without the lock, for the calls that follow those of the last run, until a full group waits, or for a
// time: for most calls twice as long as they usually take.
func (r *runner[K, T]) gather() {
	l, w := r.lanes, &r.watch
	if !l.full() && l.arrivals < w.all && !l.closed {
		length := r.last(0)
		if l.arrivals < w.most {
			length = min(max(2*l.returns.after, r.took/leastLinger), r.took, longestLinger)
		}
		enough, timer := make(chan struct{}), time.NewTimer(length)
		r.enough, r.timer = enough, timer
		l.lingering = append(l.lingering, r)
		l.mu.Unlock()
		select {
		case <-enough:
		case <-timer.C:
		}
		timer.Stop()
		l.mu.Lock()
		r.enough = nil
		l.lingering = slices.DeleteFunc(l.lingering, func(other *runner[K, T]) bool { return other == r })
	}
	r.gathers = false
	l.gathering--
}

// last returns how long a lane waits for the last calls once most of them have arrived: half as long as these usually
// take, or what is left of the least wait.
func (r *runner[K, T]) last(waited time.Duration) time.Duration {
	return min(max(r.lanes.returns.after/2, r.took/leastLinger-waited), r.took, longestLinger)
}

// gathered ends a lane's wait for more calls.
func (r *runner[K, T]) gathered() {
	if r.enough != nil {
		close(r.enough)
		r.enough = nil
	}
}
