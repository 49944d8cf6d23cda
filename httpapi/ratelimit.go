package httpapi

import (
	"context"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/floatgate/ticketing"
)

// RateWindow is how long a client's requests are counted together (section 8).
const RateWindow = time.Minute

// Counter counts the requests of clients in fixed windows of [RateWindow]: a client's window begins with its first
// request and with its first one after the window before ended. It is safe for concurrent use.
//
// The default counts in memory, each process for itself. One over a shared database holds the limit across processes.
type Counter interface {
	// Count adds a request of a client and tells how many there are now in its window, and when that ends. An error
	// is logged and lets the request pass. A request from an IPv6 address counts twice where [Config.ClientKey] is the
	// default: for its /64, and if that is within its limit for its /56, which is a client of its own to the Counter.
	Count(ctx context.Context, client string, now time.Time) (requests int, ends time.Time, err error)
}

var errRateLimited = &ticketing.Error{
	Code: ticketing.CodeRateLimited, Message: "Too many requests. Try again later.",
}

// count is RATE_LIMITED for a request over the limit.
func (x *exchange) count(ctx context.Context) error {
	if x.api.limit < 0 {
		return nil
	}
	now := x.api.now()
	client, wider := x.api.clients(x.r)
	ends, err := x.countUnder(ctx, client, 1, now)
	// What a client is refused does not count against its neighbours.
	if err == nil && wider != "" {
		ends, err = x.countUnder(ctx, wider, widerShare, now)
	}
	if err != nil {
		x.retryAfter = max(1, int(math.Ceil(ends.Sub(now).Seconds())))
	}
	return err
}

// widerShare is how many times the limit of a client a network of several may use.
const widerShare = 8

// countUnder is RATE_LIMITED for a request over so many times the limit, with the end of the window.
func (x *exchange) countUnder(ctx context.Context, key string, times int, now time.Time) (ends time.Time, err error) {
	n, ends, err := x.api.counter.Count(ctx, key, now)
	if err != nil {
		x.api.log.LogAttrs(ctx, slog.LevelError, "rate limit not counted",
			slog.String("requestId", x.id), slog.String("error", err.Error()))
		return ends, nil
	}
	if (n-1)/times < x.api.limit { // n <= times*limit, which may be beyond an int.
		return ends, nil
	}
	return ends, errRateLimited
}

// maxClients bounds the memory of the counter to about 10 MB.
const maxClients = 1 << 16

// memoryCounter keeps the windows in the order of their beginning, which is that of their end, too: so the ones that
// are over, and the one to forget when there are too many, are at the head.
type memoryCounter struct {
	mu      sync.Mutex
	max     int
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

func newMemoryCounter(clients int) *memoryCounter {
	return &memoryCounter{max: clients, windows: map[string]*window{}}
}

// Count forgets the windows that are over, and the oldest where there would be too many.
func (c *memoryCounter) Count(_ context.Context, client string, now time.Time) (int, time.Time, error) {
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
		w = &window{client: client, ends: now.Add(RateWindow)}
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

func (c *memoryCounter) forgetOldest() {
	delete(c.windows, c.oldest.client)
	c.oldest = c.oldest.next
}
