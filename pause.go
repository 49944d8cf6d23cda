package ticketing

import (
	"time"

	"github.com/google/uuid"
)

// pauseTime is how long facts wait whose endpoints have more than they take.
const pauseTime = 250 * time.Millisecond

// pause tells whether a company's further facts wait, since all endpoints that they went to, so many to each, have as much
// as they take, and sees to it that they are dispatched later. What waits as a fact costs the store less than what waits
// as a delivery.
func (c *courier) pause(companyID uuid.UUID, counts map[int64]int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for number, count := range counts {
		r := c.route(WebhookEndpointRef{CompanyID: companyID, Number: number})
		if r.class() != proven || r.more == 0 && c.room(r) >= count {
			return false
		}
	}
	if c.closed || len(counts) == 0 {
		return false
	}
	c.pauses[companyID] = true
	time.AfterFunc(pauseTime, func() { c.goOn(companyID) })
	return true
}

func (c *courier) paused(companyID uuid.UUID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pauses[companyID]
}

// goOn ends a pause.
func (c *courier) goOn(companyID uuid.UUID) {
	c.mu.Lock()
	paused := c.pauses[companyID]
	delete(c.pauses, companyID)
	c.mu.Unlock()
	if paused {
		c.relieved(companyID)
	}
}
