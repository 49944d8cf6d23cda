package httpapi

import (
	"context"
	"log/slog"
	"time"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/ratewindow"
)

// RateWindow is the length of the window in which a client's requests are counted (section 8).
const RateWindow = ratewindow.Window

// Counter counts the requests of clients in fixed windows of [RateWindow]. The first request of a client begins its
// window, and so does the first one after a window has ended. A Counter must be safe for concurrent use.
//
// The default counter is in memory, so each process counts for itself. A counter over a shared database holds the limit
// across processes.
type Counter interface {
	// Count adds a request of a client. It returns the number of requests in the client's window, and when the window
	// ends. An error is logged and the request passes. If [Config.ClientKey] is the default, a request from an IPv6
	// address is counted for its /64. If that is within its limit, the request is counted for its /56, too, which is a
	// separate client to the Counter.
	Count(ctx context.Context, client string, now time.Time) (requests int, ends time.Time, err error)
}

var errRateLimited = &ticketing.Error{
	Code: ticketing.CodeRateLimited, Message: "Too many requests. Try again later.",
}

// count returns RATE_LIMITED for a request over the limit.
func (x *exchange) count(ctx context.Context) error {
	client, wider := x.api.clients(x.r)
	retryAfter, err := x.api.limit.Take(ctx, client, wider, x.api.now())
	if err != nil {
		x.api.log.LogAttrs(ctx, slog.LevelError, "rate limit not counted",
			slog.String("requestId", x.id), slog.String("error", err.Error()))
	}
	if retryAfter == 0 {
		return nil
	}
	x.retryAfter = retryAfter
	return errRateLimited
}
