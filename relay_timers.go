package ticketing

import (
	"sync"
	"time"
)

const (
	// timerStep is the grid to which wake times are rounded up. Times that fall on one step share a timer.
	timerStep = 50 * time.Millisecond
	// maxTimers is how many timers may be set at a time. The next poll finds the work that is due at any further time
	// ([Config.PollInterval]).
	maxTimers = 10_000
)

// wakeTimers wakes the worker at set times, so that a retry does not wait for the next poll. A value on wake says that
// at least one of these times has come. Signals coalesce, since wake has a buffer of one. It is safe for concurrent
// use.
type wakeTimers struct {
	// wake is read by the worker, which then looks for due work.
	wake chan struct{}

	// The lock mu guards the fields below. The timers are by step, counted in steps from the Unix epoch.
	mu      sync.Mutex
	timers  map[int64]*time.Timer
	stopped bool
}

func newWakeTimers() *wakeTimers {
	return &wakeTimers{wake: make(chan struct{}, 1), timers: make(map[int64]*time.Timer)}
}

// set asks for a signal at a time. now is the service's clock, which need not be that of the machine: the timer runs
// for the difference. A time that has passed wake at once.
func (a *wakeTimers) set(now, at time.Time) {
	step := (at.UnixMilli() + timerStep.Milliseconds() - 1) / timerStep.Milliseconds()
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, set := a.timers[step]; set || a.stopped || len(a.timers) >= maxTimers {
		return
	}
	wait := time.UnixMilli(step * timerStep.Milliseconds()).Sub(now)
	a.timers[step] = time.AfterFunc(wait, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.timers, step)
		// A signal that was not taken yet stands for this one as well.
		select {
		case a.wake <- struct{}{}:
		default:
		}
	})
}

// stop stops all timers. A later call of set does nothing.
func (a *wakeTimers) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stopped = true
	for _, timer := range a.timers {
		timer.Stop()
	}
	clear(a.timers)
}
