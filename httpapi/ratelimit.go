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

// Counter counts the requests of clients in fixed windows of [RateWindow]. A client's window begins with its first
// request, and with its first one after the window before ended. A Counter must be safe for concurrent use.
//
// The default counts in memory, each process for itself. One over a shared database holds the limit across processes.
type Counter interface {
	// Count adds a request of a client. It returns the number of requests in the client's window, and when the window
	// ends. An error is logged and lets the request pass. If [Config.ClientKey] is the default, a request from an IPv6
	// address is counted twice: for its /64, and if that is within its limit for its /56, which is a separate client to
	// the Counter.
	Count(ctx context.Context, client string, now time.Time) (requests int, ends time.Time, err error)
}

var errRateLimited = &ticketing.Error{
	Code: ticketing.CodeRateLimited, Message: "Too many requests. Try again later.",
}

// count returns RATE_LIMITED for a request over the limit.
func (x *exchange) count(ctx context.Context) error {
	if x.api.limit < 0 {
		return nil
	}
	now := x.api.now()
	client, wider := x.api.clients(x.r)
	ends, err := x.countUnder(ctx, client, 1, now)
	// Requests that a client is refused do not count against its neighbours.
	if err == nil && wider != "" {
		ends, err = x.countUnder(ctx, wider, widerShare, now)
	}
	if err != nil {
		x.retryAfter = max(1, int(math.Ceil(ends.Sub(now).Seconds())))
	}
	return err
}

// widerShare is how many times the limit of one client a wider network may use.
const widerShare = 8

// countUnder returns RATE_LIMITED for a request over times the limit, and the end of the window.
func (x *exchange) countUnder(ctx context.Context, key string, times int, now time.Time) (ends time.Time, err error) {
	n, ends, err := x.api.counter.Count(ctx, key, now)
	if err != nil {
		x.api.log.LogAttrs(ctx, slog.LevelError, "rate limit not counted",
			slog.String("requestId", x.id), slog.String("error", err.Error()))
		return ends, nil
	}
	if (n-1)/times < x.api.limit { // n <= times*limit, whose product may overflow an int.
		return ends, nil
	}
	return ends, errRateLimited
}

// maxClients bounds the memory of the counter to about 10 MB.
const maxClients = 1 << 16

// memoryCounter keeps the windows in the order of their beginning, which is also that of their end. So the windows that
// are over, and the one to drop when there are too many, are at the head.
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

// Count drops the windows that are over, and the oldest if there would be too many.
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
