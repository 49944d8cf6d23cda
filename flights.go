package ticketing

import (
	"sync"
	"time"
)

// flights are the idempotency keys of this service that wait for a lane or a slot, or run. The store knows of those that run
// anywhere; here the second of two equal calls is told at once.
//
// No two equal calls are ever in one group: the second has no seat before the first has given its own up, and by then
// the first waits in no queue. It was answered or taken out, or it left while it ran and can run again only as a part
// of the group that it was in; those that left never go back to a queue.
type flights struct {
	mu    sync.Mutex
	under map[ResultRef]*seat
}

// seat is a call's place among the flights. Its fields belong to the lock of the flights.
type seat struct {
	ref     ResultRef
	running bool
	left    bool // the caller is gone
	again   bool // it ran, was not kept, and may run again
}

// seatTimeout is how long the key of a call that left and may run again stays in flight after its last run. The parts
// of a group follow one another closely, and only a call that is given up is not heard of any more.
const seatTimeout = 5 * time.Second

func (f *flights) take(ref ResultRef) (*seat, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.under[ref] != nil {
		return nil, false
	}
	if f.under == nil {
		f.under = make(map[ResultRef]*seat)
	}
	s := &seat{ref: ref}
	f.under[ref] = s
	return s, true
}

// leave gives the seat up: at once where the call was answered or never ran, and otherwise, where the caller went
// before it, when the call will not run again.
func (f *flights) leave(s *seat, answered bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s.left = true
	s.again = s.again && !answered
	f.free(s)
}

// begin and end stand around a run. It is the last one of its calls unless again says that they may run again.
func (f *flights) begin(seats []*seat) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range seats {
		s.running = true
	}
}

func (f *flights) end(seats []*seat, again bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range seats {
		s.running, s.again = false, again
		f.free(s)
	}
}

// free frees the key of a seat that was left, unless the call runs, or may run again soon.
func (f *flights) free(s *seat) {
	switch {
	case !s.left || s.running:
	case s.again:
		time.AfterFunc(seatTimeout, func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			if !s.running {
				f.drop(s)
			}
		})
	default:
		f.drop(s)
	}
}

// drop deletes a seat, and not that of a later call with its key.
func (f *flights) drop(s *seat) {
	if f.under[s.ref] == s {
		delete(f.under, s.ref)
	}
}
