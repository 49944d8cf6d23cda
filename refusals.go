package ticketing

import (
	"log/slog"
	"sync"
	"time"
)

// refusalInterval is the time between two log lines about refused calls of one operation.
const refusalInterval = 10 * time.Second

// refusals counts the calls that found a queue full, and logs them at intervals. A line for each call would make an
// overload worse. The first refusal of an operation is logged at once, so that the log shows when it began. Each
// operation with a recent refusal has a timer, which [Service.Drain] stops.
type refusals struct {
	log *slog.Logger

	mu     sync.Mutex
	counts map[string]*refusalCount // the operations with a refusal in this interval or the one before
}

// refusalCount is the number of calls that were refused since the last log line.
type refusalCount struct {
	calls int
	timer *time.Timer // ends the interval
}

// add counts a refused call. The first one of an operation starts its intervals.
func (r *refusals) add(operation string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	count := r.counts[operation]
	if count != nil {
		count.calls++
		return
	}
	if r.counts == nil {
		r.counts = make(map[string]*refusalCount)
	}
	r.counts[operation] = &refusalCount{timer: time.AfterFunc(refusalInterval, func() { r.next(operation) })}
	r.write(operation, 1)
}

// next ends an interval of an operation. An interval without a refusal is the last, so an idle service has no timer.
func (r *refusals) next(operation string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	count := r.counts[operation]
	switch {
	case count == nil: // It was flushed meanwhile.
	// Without this an operation that was once refused would keep a timer forever.
	case count.calls == 0:
		delete(r.counts, operation)
	default:
		r.write(operation, count.calls)
		count.calls = 0
		count.timer.Reset(refusalInterval)
	}
}

// flush logs what is not logged yet and stops the timers. [Service.Drain] calls it.
func (r *refusals) flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for operation, count := range r.counts {
		count.timer.Stop()
		if count.calls > 0 {
			r.write(operation, count.calls)
		}
	}
	clear(r.counts)
}

// write logs one line. It names the operation and the number of calls, never a company or a caller.
func (r *refusals) write(operation string, calls int) {
	r.log.Warn("calls were refused: too many wait", slog.String("operation", operation), slog.Int("calls", calls))
}
