package group

import "time"

// Where groups are large, a run of one call takes nearly as long as one of all that wait, and takes the database and
// the processor from these. So a lane that would start with few calls, beside one that runs, leaves them to that one.
// They wait until it ends, or until enough others have come, which is sooner under load, and not for long.

// usual is how large groups are lately: nearly the largest ones, since what is to be avoided are small ones between
// them.
type usual struct {
	keys, calls float64
	took        float64 // nanoseconds of their runs
}

// several is how many keys a group has at least where its calls may be left to another lane.
const several = 4

// add counts a group that ran.
func (u *usual) add(keys, calls int, took time.Duration) {
	u.keys, u.calls = follow(u.keys, float64(keys)), follow(u.calls, float64(calls))
	u.took = follow(u.took, float64(took))
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

// few returns how many calls a lane starts with at least, beside another one.
func (l *Lanes[K, T]) few() int {
	if l.usual.keys < several {
		return 1
	}
	return max(int(l.usual.calls*l.config.Beside), 1)
}

// has reports whether so many calls wait that a lane may take.
func (l *Lanes[K, T]) has(calls int) bool {
	for at := l.turns.root.next; at != &l.turns.root && calls > 0; at = at.next {
		calls -= at.value.length
	}
	return calls <= 0
}

// leaves reports whether a lane that does not run leaves the waiting calls to the others, some of which run. The last
// lane leaves none.
func (l *Lanes[K, T]) leaves(others int) bool {
	if others == 0 || l.turns.empty() || l.has(l.few()) {
		return false
	}
	if l.left.IsZero() {
		l.left = time.Now()
		if l.overdue == nil {
			l.overdue = time.AfterFunc(l.longestLeft(), l.takeLeft)
		} else {
			l.overdue.Reset(l.longestLeft())
		}
	}
	return true
}

// longestLeft returns how long calls are left to a lane that runs.
func (l *Lanes[K, T]) longestLeft() time.Duration {
	return min(2*time.Duration(l.usual.took), longestLinger)
}

// takeLeft starts a lane with calls that were left to another one for too long.
func (l *Lanes[K, T]) takeLeft() {
	l.mu.Lock()
	defer l.mu.Unlock()
	last := len(l.resting) - 1
	if l.left.IsZero() || l.turns.empty() || l.gathering > 0 || last < 0 {
		return
	}
	if rest := l.longestLeft() - time.Since(l.left); rest > 0 {
		l.overdue.Reset(rest) // Those before were taken.
		return
	}
	r := l.resting[last]
	l.resting = l.resting[:last]
	r.takesFew = true
	go r.work()
}
