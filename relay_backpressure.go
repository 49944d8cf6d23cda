package ticketing

import (
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// pauseTime is how long further facts of a company wait while its endpoints have all the deliveries that they can take.
const pauseTime = 250 * time.Millisecond

// pause reports whether the dispatch of a company's further facts has to wait, and if so schedules its end.
//
// It waits if every endpoint of the last batch has a full queue; counts are the deliveries of each in that batch. A
// fact that waits costs the store less than its deliveries would. An endpoint that is new, slow or failing never causes
// a pause, because facts for the other endpoints would wait with it.
func (c *deliverer) pause(companyID uuid.UUID, counts map[int64]int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for number, count := range counts {
		r := c.queueOf(driver.WebhookEndpointRef{CompanyID: companyID, Number: number})
		// One endpoint with room is enough to go on: facts for it must not wait for the others.
		if r.class() != proven || r.more == 0 && c.room(r) >= count {
			return false
		}
	}
	if c.closed || len(counts) == 0 {
		return false
	}
	c.pauses[companyID] = true
	time.AfterFunc(pauseTime, func() { c.resume(companyID) })
	return true
}

// paused reports whether the company's facts wait. A dispatch checks it first: a commit may wake it during a pause.
func (c *deliverer) paused(companyID uuid.UUID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pauses[companyID]
}

// resume ends a pause and has the company's facts dispatched again. It does nothing if the pause has ended already: the
// timer and the first free room may both call it.
func (c *deliverer) resume(companyID uuid.UUID) {
	c.mu.Lock()
	paused := c.pauses[companyID]
	delete(c.pauses, companyID)
	c.mu.Unlock()
	if paused {
		c.onResume(companyID)
	}
}
