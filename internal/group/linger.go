package group

import (
	"slices"
	"time"
)

// Callers often call again as soon as they have their results. If the next run began with the first of them, the
// others would need one more run, which takes nearly as long for few calls as for many. So a lane waits for them,
// where there are such callers. It measures after each run, whether or not it waits meanwhile, when three quarters
// of as many calls as ran have arrived, and compares that with all that arrive until the end of its next run. Calls
// that have nothing to do with a run arrive evenly, whatever their number and that of the lanes. Callers that call
// again come first.

// watch measures when the callers of a run call again. The zero value measures nothing.
type watch struct {
	ran   int           // how many calls the run had; 0 if nothing is measured
	ended time.Time     // when the run ended
	from  int64         // the last arrival before
	half  int64         // the arrival with which half as many calls have arrived
	most  int64         // the arrival with which three quarters of as many calls have arrived
	all   int64         // the arrival with which as many calls have arrived
	first time.Duration // how long after the run half of them had arrived; 0 until then
	after time.Duration // how long after the run most of them had arrived; 0 until then
}

// slowest bounds the pace of a watch, so that no single one determines the average.
const slowest = 2

// pace returns how long most callers took to call again, as a part of the time that as many calls would take if all
// arrivals until now had come evenly: about 1 if they did.
func (w *watch) pace(arrivals int64, now time.Time) float64 {
	if w.after == 0 || w.after > longestLinger { // No wait is as long.
		return slowest
	}
	evenly := float64(now.Sub(w.ended)) * float64(w.most-w.from) / float64(arrivals-w.from)
	return min(float64(w.after)/evenly, slowest)
}

// returns is what the lanes know of callers that call again, whatever their keys.
type returns struct {
	pace  float64       // of the last watches, on average; groups wait while it is less than Config.Linger
	after time.Duration // how long half of the callers took lately, on average: others may have come by chance
}

const (
	// The average pace follows callers that come late by a third, and those that come early by a sixteenth. So chance
	// hardly makes groups wait, and a few waits in vain end that.
	late, early = 1. / 3, 1. / 16
	// longestLinger bounds the wait after a slow run, since it delays the calls that wait already.
	longestLinger = 50 * time.Millisecond
	// leastLinger is a divisor: a wait may take this part of the last run, however soon callers have called again so far.
	leastLinger = 8
)

// expect is called before the calls of a run get their results, with whether it kept them. It decides whether the lane
// waits for their callers to call again. If so, no other lane starts with the first of those calls.
func (r *runner[K, T]) expect(kept bool) {
	l := r.lanes
	if l.config.Linger <= 0 || r.alone != nil {
		return
	}
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if kept && r.watch.ran > 0 {
		l.learn(&r.watch, now)
	}
	r.watch = watch{}
	if !kept || r.ran < 2 || len(r.parts) > 0 {
		return
	}
	r.watch = watch{
		ran: r.ran, ended: now, from: l.arrivals, half: l.arrivals + int64(r.ran-r.ran/2),
		most: l.arrivals + int64(r.ran-r.ran/4), all: l.arrivals + int64(r.ran),
	}
	if l.returns.pace < l.config.Linger {
		r.gathers = true
		l.gathering++
	}
}

// learn notes whether the callers of a run called again, and when. Another run has ended since.
func (l *Lanes[K, T]) learn(w *watch, now time.Time) {
	known, pace := &l.returns, w.pace(l.arrivals, now)
	if pace > known.pace {
		known.pace += (pace - known.pace) * late
	} else {
		known.pace += (pace - known.pace) * early
	}
	switch {
	case pace >= l.config.Linger:
	case known.after == 0:
		known.after = w.first
	default:
		known.after = (3*known.after + w.first) / 4
	}
}

// arrived is called after each arrival. It ends the waits that it completes, and limits those for which most calls have
// arrived.
func (l *Lanes[K, T]) arrived() {
	for _, r := range l.runners {
		w := &r.watch
		if w.ran > 0 && l.arrivals == w.half {
			w.first = max(time.Since(w.ended), 1)
		}
		if w.ran > 0 && l.arrivals == w.most {
			w.after = max(time.Since(w.ended), 1)
			if r.enough != nil {
				r.timer.Reset(r.lastWait(w.after))
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
// time: for most calls twice as long as half of them usually take.
func (r *runner[K, T]) gather() {
	l, w := r.lanes, &r.watch
	if !l.full() && l.arrivals < w.all && !l.closed {
		length := r.lastWait(0)
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

// lastWait returns how long a lane waits for the last calls once most of them have arrived: half as long as half
// of them usually take, or what is left of the least wait, and no longer than all of a wait may take.
func (r *runner[K, T]) lastWait(waited time.Duration) time.Duration {
	longest := min(r.took, longestLinger) - waited
	return max(min(max(r.lanes.returns.after/2, r.took/leastLinger-waited), longest), 0)
}

// gathered ends a lane's wait for more calls.
func (r *runner[K, T]) gathered() {
	if r.enough != nil {
		close(r.enough)
		r.enough = nil
	}
}
