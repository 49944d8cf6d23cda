package ticketing

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// maxUnchecked is how many attempts to an endpoint begin, and freshTime how long one waits in memory, until it is
	// looked at whether the endpoint was disabled by another process.
	maxUnchecked = 32
	freshTime    = 200 * time.Millisecond
)

// couriers are those of a service that are at work.
type couriers struct {
	mu   sync.Mutex
	work []*courier
}

func (c *couriers) add(one *courier) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.work = append(c.work, one)
}

func (c *couriers) remove(one *courier) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.work = slices.DeleteFunc(c.work, func(other *courier) bool { return other == one })
}

// stop tells them that an endpoint was disabled or deleted, after the commit.
func (c *couriers) stop(ctx context.Context, endpoint WebhookEndpointRef) {
	c.mu.Lock()
	work := slices.Clone(c.work)
	c.mu.Unlock()
	for _, one := range work {
		one.stop(ctx, endpoint)
	}
}

// stop is told that an endpoint was disabled or deleted: what waits for it is not sent any more.
func (c *courier) stop(ctx context.Context, endpoint WebhookEndpointRef) {
	c.mu.Lock()
	back := c.halt(c.route(endpoint))
	c.mu.Unlock()
	c.giveBack(ctx, back)
}

// halt empties a route's queue, and has what was leased before given back when it comes. The caller has the lock.
func (c *courier) halt(r *route) []*outcome {
	c.stops++
	r.stopped = c.stops
	return c.takeBack(r, func(parcel) bool { return true })
}

// takeBack takes parcels out of a route's queue. The caller has the lock.
func (c *courier) takeBack(r *route, which func(parcel) bool) (back []*outcome) {
	at := c.s.now()
	r.queue = slices.DeleteFunc(r.queue, func(p parcel) bool {
		if !which(p) {
			return false
		}
		back = append(back, p.unsent(at))
		return true
	})
	c.queued -= len(back)
	c.landed.Broadcast()
	return back
}

// giveBack ends the leases of deliveries that were not tried. Where that fails, they end by themselves.
func (c *courier) giveBack(ctx context.Context, unsent []*outcome) {
	ctx = context.WithoutCancel(ctx)
	slices.SortStableFunc(unsent, func(a, b *outcome) int {
		return slices.Compare(a.delivery.CompanyID[:], b.delivery.CompanyID[:])
	})
	for len(unsent) > 0 {
		n := 1
		for n < min(len(unsent), outcomeBatch) && unsent[n].delivery.CompanyID == unsent[0].delivery.CompanyID {
			n++
		}
		c.s.report(ctx, "give deliveries back", c.s.writeOutcomes(ctx, 0, unsent[:n]))
		unsent = unsent[n:]
	}
}

// machineTime is what waiting in memory is measured by: it ages, whatever is done to the service's clock.
func machineTime() time.Time { return time.Now() } //nolint:forbidigo // The service's clock may be set, and this one goes on.

// fresh tells whether the next delivery of a route may be sent as it was leased. The caller has the lock.
func (c *courier) fresh(r *route) bool {
	known := r.queue[0].taken
	if r.checked.After(known) {
		known = r.checked
	}
	return r.unchecked < maxUnchecked && machineTime().Sub(known) < freshTime
}

// check looks, beside all else, whether an endpoint still is as it was when what waits for it was leased, and gives back
// what is not to be sent any more. Where that cannot be found out for as long as a lease lasts, nothing is sent. The
// caller has the lock.
func (c *courier) check(ctx context.Context, r *route) {
	if r.checking {
		return
	}
	r.checking = true
	c.busy++
	go func() {
		ctx := context.WithoutCancel(ctx)
		at, version, err := c.version(ctx, r.endpoint)
		c.mu.Lock()
		r.checking = false
		r.checked, r.unchecked = at, 0
		back := c.takeBack(r, func(p parcel) bool { return err != nil || !p.version.Equal(version) })
		c.next(ctx, r)
		c.mu.Unlock()
		c.s.report(ctx, "look at an endpoint", err)
		c.giveBack(ctx, back)
		c.ended()
	}()
}

// version is when an endpoint that is enabled was last changed, never for another, and when it was asked for.
func (c *courier) version(ctx context.Context, ref WebhookEndpointRef) (at, version time.Time, err error) {
	err = c.insist(func() error {
		at = machineTime()
		return c.s.background.View(ctx, func(ctx context.Context, tx ReadTx) error {
			enabled, err := enabledEndpoints(ctx, tx, ref.CompanyID)
			version = enabled[ref.Number].UpdatedAt
			return err
		})
	})
	return at, version, err
}
