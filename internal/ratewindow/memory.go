package ratewindow

import (
	"context"
	"sync"
	"time"
)

// maxClients bounds the memory of the counter to about 10 MB.
const maxClients = 1 << 16

// Memory counts in memory, for one process. It is safe for concurrent use.
//
// It keeps the windows in the order of their beginning, which is also that of their end. So the windows that
// are over, and the one to drop when there are too many, are at the head.
type Memory struct {
	mu      sync.Mutex
	max     int
	length  time.Duration
	windows map[string]*window
	oldest  *window
	newest  *window
}

type window struct {
	client   string
	ends     time.Time
	requests int
	next     *window
}

// NewMemory returns a counter without clients, whose windows have a length, such as [Window].
func NewMemory(length time.Duration) *Memory {
	return &Memory{max: maxClients, length: length, windows: map[string]*window{}}
}

// Count drops the windows that are over, and the oldest if there would be too many.
func (c *Memory) Count(_ context.Context, client string, now time.Time) (int, time.Time, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.oldest != nil && !now.Before(c.oldest.ends) {
		c.forgetOldest()
	}
	w := c.windows[client]
	if w == nil {
		if len(c.windows) >= c.max {
			c.forgetOldest()
		}
		w = &window{client: client, ends: now.Add(c.length)}
		c.windows[client] = w
		if c.oldest == nil {
			c.oldest = w
		} else {
			c.newest.next = w
		}
		c.newest = w
	}
	w.requests++
	return w.requests, w.ends, nil
}

func (c *Memory) forgetOldest() {
	delete(c.windows, c.oldest.client)
	c.oldest = c.oldest.next
}
