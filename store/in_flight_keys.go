package store

import (
	"sync"

	"github.com/floatgate/ticketing/driver"
)

// inFlightKeys holds the idempotency keys in flight in this process. It belongs to the store, so that every service on
// the store sees them.
type inFlightKeys struct {
	mu     sync.Mutex
	owners map[driver.IdempotencyKey]*transaction
}

// take claims the keys that no other Update has claimed, and reports for each key whether another one holds it. Keys
// that the Update claimed in an earlier run are still its own.
func (c *inFlightKeys) take(owner *transaction, refs []driver.IdempotencyKey) []bool {
	inFlight := make([]bool, len(refs))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.owners == nil {
		c.owners = make(map[driver.IdempotencyKey]*transaction)
	}
	for i, ref := range refs {
		holder, taken := c.owners[ref]
		switch {
		case !taken:
			c.owners[ref] = owner
			owner.claimed = append(owner.claimed, ref)
		case holder != owner:
			inFlight[i] = true
		}
	}
	return inFlight
}

func (c *inFlightKeys) release(owner *transaction) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, ref := range owner.claimed {
		delete(c.owners, ref)
	}
	owner.claimed = nil
}
