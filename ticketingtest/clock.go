package ticketingtest

import (
	"sync"
	"time"
)

// Opening is the default time of a Clock: a Saturday morning.
var Opening = time.Date(2026, time.November, 21, 9, 30, 0, 0, time.UTC)

// Clock is a clock that stands still until it is moved. Its Now is a [ticketing.Config].Clock.
type Clock struct {
	mu sync.Mutex
	at time.Time
}

// NewClock returns a clock that shows at, or Opening if at is the zero time.
func NewClock(at time.Time) *Clock {
	if at.IsZero() {
		at = Opening
	}
	return &Clock{at: at}
}

// Now returns the time of the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

// Set sets the time of the clock. It may be an earlier one, since clocks of servers do step back.
func (c *Clock) Set(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = at
}

// Advance moves the clock by a duration, back if by is negative.
func (c *Clock) Advance(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(by)
}
