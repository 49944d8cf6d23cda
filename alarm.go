package ticketing

import (
	"sync"
	"time"
)

const (
	// alarmStep is what times are rounded up to: those that lie close together are one.
	alarmStep = 50 * time.Millisecond
	maxAlarms = 10_000 // What is beyond is found by the next look for work.
)

// alarm rings at the times it was set to.
type alarm struct {
	rings chan struct{}

	mu      sync.Mutex
	timers  map[int64]*time.Timer
	stopped bool
}

func newAlarm() *alarm {
	return &alarm{rings: make(chan struct{}, 1), timers: make(map[int64]*time.Timer)}
}

// set has it ring at a time, seen from now.
func (a *alarm) set(now, at time.Time) {
	step := (at.UnixMilli() + alarmStep.Milliseconds() - 1) / alarmStep.Milliseconds()
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, set := a.timers[step]; set || a.stopped || len(a.timers) >= maxAlarms {
		return
	}
	wait := time.UnixMilli(step * alarmStep.Milliseconds()).Sub(now)
	a.timers[step] = time.AfterFunc(wait, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.timers, step)
		select {
		case a.rings <- struct{}{}:
		default:
		}
	})
}

// stop silences it for good.
func (a *alarm) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stopped = true
	for _, timer := range a.timers {
		timer.Stop()
	}
	clear(a.timers)
}
