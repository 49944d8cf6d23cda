package ticketing

import (
	"log/slog"
	"sync"
	"time"
)

// refusalInterval is how often the calls are logged that found a queue full.
const refusalInterval = 10 * time.Second

// refusals counts the calls that found a queue full, and logs them at intervals: a line for each call would be one more
// flood. The first refusal of an operation is logged at once.
type refusals struct {
	log *slog.Logger

	mu     sync.Mutex
	counts map[string]*refusalCount // the operations with a refusal in this interval or the last
}

// refusalCount is what was refused since the last line.
type refusalCount struct {
	calls int
	timer *time.Timer
}

// add counts a call that was refused.
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

// next ends an interval of an operation. One without a refusal is the last.
func (r *refusals) next(operation string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	count := r.counts[operation]
	switch {
	case count == nil: // It was flushed meanwhile.
	case count.calls == 0:
		delete(r.counts, operation)
	default:
		r.write(operation, count.calls)
		count.calls = 0
		count.timer.Reset(refusalInterval)
	}
}

// flush logs what is not logged yet.
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

func (r *refusals) write(operation string, calls int) {
	r.log.Warn("calls were refused: too many wait", slog.String("operation", operation), slog.Int("calls", calls))
}
