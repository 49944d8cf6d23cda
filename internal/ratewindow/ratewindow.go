// Package ratewindow limits requests in fixed windows. A client's window begins with its first request, and with its
// first one after the window before ended.
package ratewindow

import (
	"context"
	"math"
	"time"
)

// Window is how long the requests of a client are counted together.
const Window = time.Minute

// widerShare is how many times the limit of one client a wider network may use.
const widerShare = 8

// Counter counts requests. See httpapi.Counter.
type Counter interface {
	Count(ctx context.Context, client string, now time.Time) (requests int, ends time.Time, err error)
}

// Limit refuses the requests of a client that are over Requests in a window.
type Limit struct {
	Counter  Counter
	Requests int // negative: any number
}

// Take counts a request of a client. If that is within the limit, it also counts for the wider network, which may make
// eight times as many requests; "" means that there is none. It returns 0 if the request may pass, and otherwise the
// seconds until the window ends. After an error the request was not counted and may pass.
func (l Limit) Take(ctx context.Context, client, wider string, now time.Time) (retryAfter int, err error) {
	if l.Requests < 0 {
		return 0, nil
	}
	retryAfter, err = l.take(ctx, client, 1, now)
	// A refused request of a client does not count against its neighbours.
	if retryAfter == 0 && err == nil && wider != "" {
		retryAfter, err = l.take(ctx, wider, widerShare, now)
	}
	return retryAfter, err
}

// take counts a request against times the limit.
func (l Limit) take(ctx context.Context, key string, times int, now time.Time) (retryAfter int, err error) {
	n, ends, err := l.Counter.Count(ctx, key, now)
	if err != nil {
		return 0, err
	}
	if (n-1)/times < l.Requests { // n <= times*Requests, whose product may overflow an int.
		return 0, nil
	}
	return max(1, int(math.Ceil(ends.Sub(now).Seconds()))), nil
}
