package shop

import (
	"context"
	"sync"
	"time"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/embedproxy"
)

// AlertInterval is the shortest time between two alerts.
const AlertInterval = 10 * time.Minute

// alertTimeout bounds an alert. It is shorter than the interval, so there is one at a time.
const alertTimeout = time.Minute

// alerts alerts the company's administrator if buyers are refused for the company's verification. Each of a thousand
// buyers would be one more mail, so that there are few.
type alerts struct {
	alert func(context.Context)
	clock func() time.Time

	mu   sync.Mutex
	last time.Time
}

// watch is the proxy's hook of answers. The buyer does not wait for an alert.
func (a *alerts) watch(ctx context.Context, answer embedproxy.Answer) {
	if answer.Code != string(ticketing.CodeVerificationRequired) || !a.due() {
		return
	}
	go func() {
		ctx, cancel := context.WithTimeout(ctx, alertTimeout)
		defer cancel()
		a.alert(ctx)
	}()
}

// due reports whether the last alert is long enough ago, and counts one if so.
func (a *alerts) due() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.clock()
	if !a.last.IsZero() && now.Sub(a.last) < AlertInterval {
		return false
	}
	a.last = now
	return true
}
