package ticketingtest

import (
	"sync"
	"time"
)

// Opening is what a Clock shows that was not told otherwise: a Saturday morning.
var Opening = time.Date(2026, time.November, 21, 9, 30, 0, 0, time.UTC)

// Clock is a clock that stands still until it is moved. Its Now is a [ticketing.Config].Clock.
type Clock struct {
	mu sync.Mutex
	at time.Time
}

// NewClock makes a clock that shows a time, or Opening for the zero time.
func NewClock(at time.Time) *Clock {
	if at.IsZero() {
		at = Opening
	}
	return &Clock{at: at}
}

// Now is what the clock shows.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

// Set makes the clock show a time, also an earlier one: clocks of servers do step back.
func (c *Clock) Set(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = at
}

// Advance moves the clock, and back where by is negative.
func (c *Clock) Advance(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(by)
}
