package ticketing

import (
	"sync"
	"time"

	"github.com/floatgate/ticketing/driver"
)

// inFlightKeys holds the idempotency keys of this service that wait for a lane or a slot, or that run. The store knows
// the keys that run anywhere. This registry refuses the second of two equal calls at once, while the first still waits
// in this process (section 4.11, rule 4).
//
// Two equal calls are never in one group. The second call gets no entry before the first has given up its own, and by
// then the first waits in no queue. The first was answered, or was taken out of the queue, or its caller left while it
// ran. In the last case it can run again only as a part of the group that it was in, and calls whose caller left never
// go back to a queue.
type inFlightKeys struct {
	mu    sync.Mutex
	calls map[driver.IdempotencyKey]*inFlightCall
}

// inFlightCall is a call's entry of inFlightKeys. The lock of inFlightKeys guards its fields.
type inFlightCall struct {
	ref     driver.IdempotencyKey
	running bool
	left    bool // the caller has left
	again   bool // it ran, its result was not kept, and it may run again
}

// inFlightTimeout is how long a key stays in flight after its last run, if the caller has left and the call may run
// again. The parts of a group run in quick succession. Only a call that was given up does not run within this time.
const inFlightTimeout = 5 * time.Second

// take returns the entry of a call under a key, or false if the key is in flight.
func (f *inFlightKeys) take(ref driver.IdempotencyKey) (*inFlightCall, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls[ref] != nil {
		return nil, false
	}
	if f.calls == nil {
		f.calls = make(map[driver.IdempotencyKey]*inFlightCall)
	}
	c := &inFlightCall{ref: ref}
	// The entry is in the map until drop. That is what makes the key in flight.
	f.calls[ref] = c
	return c, true
}

// leave gives an entry up. The key is free at once if the call was answered or never ran. If the caller left before the
// answer, the key is free when the call will not run again.
func (f *inFlightKeys) leave(c *inFlightCall, answered bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c.left = true
	c.again = c.again && !answered
	f.free(c)
}

// begin marks calls as running. A running call keeps its key even if its caller leaves: the transaction goes on.
func (f *inFlightKeys) begin(calls []*inFlightCall) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range calls {
		c.running = true
	}
}

// end marks calls as not running. again means that they may run again, as parts of their group. end is called after
// every run, also after one that panicked.
func (f *inFlightKeys) end(calls []*inFlightCall, again bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range calls {
		c.running, c.again = false, again
		f.free(c)
	}
}

// free frees the key of a call that was left. A call that runs keeps its key, and a call that may run again keeps it
// for inFlightTimeout. The caller holds the lock.
func (f *inFlightKeys) free(c *inFlightCall) {
	switch {
	// The caller or the run will come here again when it is done.
	case !c.left || c.running:
	case c.again:
		// The key of a call that is given up must not stay in flight forever.
		time.AfterFunc(inFlightTimeout, func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			if !c.running {
				f.drop(c)
			}
		})
	default:
		f.drop(c)
	}
}

// drop removes an entry, and not that of a later call with the same key.
func (f *inFlightKeys) drop(c *inFlightCall) {
	if f.calls[c.ref] == c {
		delete(f.calls, c.ref)
	}
}
