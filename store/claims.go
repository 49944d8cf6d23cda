package store

import (
	"sync"

	"github.com/floatgate/ticketing"
)

// claims are the idempotency keys in flight in this process. They belong to the store, so that every service on it
// sees them.
type claims struct {
	mu    sync.Mutex
	owner map[ticketing.ResultRef]*transaction
}

// take claims for an Update what nobody else has claimed, and tells what somebody has. What the Update claimed in an
// earlier run is its own.
func (c *claims) take(owner *transaction, refs []ticketing.ResultRef) []bool {
	inFlight := make([]bool, len(refs))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.owner == nil {
		c.owner = make(map[ticketing.ResultRef]*transaction)
	}
	for i, ref := range refs {
		holder, taken := c.owner[ref]
		switch {
		case !taken:
			c.owner[ref] = owner
			owner.claimed = append(owner.claimed, ref)
		case holder != owner:
			inFlight[i] = true
		}
	}
	return inFlight
}

func (c *claims) release(owner *transaction) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, ref := range owner.claimed {
		delete(c.owner, ref)
	}
	owner.claimed = nil
}
