package store

import (
	"sync"

	"github.com/floatgate/ticketing/driver"
)

// claims holds the idempotency keys in flight in this process. It belongs to the store, so that every service on the
// store sees them.
type claims struct {
	mu    sync.Mutex
	owner map[driver.IdempotencyKey]*transaction
}

// take claims the keys that no other Update has claimed, and reports for each key whether another one holds it. Keys
// that the Update claimed in an earlier run are still its own.
func (c *claims) take(owner *transaction, refs []driver.IdempotencyKey) []bool {
	inFlight := make([]bool, len(refs))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.owner == nil {
		c.owner = make(map[driver.IdempotencyKey]*transaction)
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
