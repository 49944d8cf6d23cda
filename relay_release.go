package ticketing

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/floatgate/ticketing/driver"
)

// Bounds on sending to an endpoint without reading it again: another process may have disabled it meanwhile.
const (
	// maxUnchecked is the most attempts to an endpoint without such a read. freshTime is the longest that a delivery
	// may wait in memory without one. So a disabled endpoint receives only a few more deliveries from other processes.
	maxUnchecked = 32
	freshTime    = 200 * time.Millisecond
)

// deliverers are the deliverers of a service that are running: that of [Service.Run], and one for each
// [Service.SendWebhooks].
type deliverers struct {
	mu     sync.Mutex
	active []*deliverer
}

// add registers a deliverer.
func (c *deliverers) add(one *deliverer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.active = append(c.active, one)
}

// remove removes a deliverer.
func (c *deliverers) remove(one *deliverer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.active = slices.DeleteFunc(c.active, func(other *deliverer) bool { return other == one })
}

// stop releases the queue of an endpoint that was disabled or deleted, in every deliverer of this process. It is called
// after the commit. Other processes find out by themselves, see check.
func (c *deliverers) stop(ctx context.Context, endpoint driver.WebhookEndpointRef) {
	c.mu.Lock()
	work := slices.Clone(c.active)
	c.mu.Unlock()
	for _, one := range work {
		one.stop(ctx, endpoint)
	}
}

// stop releases what is queued for an endpoint that was disabled or deleted. An attempt in flight is finished (section
// 3.5).
func (c *deliverer) stop(ctx context.Context, endpoint driver.WebhookEndpointRef) {
	c.mu.Lock()
	back := c.halt(c.queueOf(endpoint))
	c.mu.Unlock()
	c.release(ctx, back)
}

// halt empties an endpoint's queue and returns the outcomes that release its deliveries. It also numbers the stop: a
// delivery that was leased before it and arrives after it is released on arrival. The caller has the lock.
func (c *deliverer) halt(r *endpointQueue) []*outcome {
	c.stops++
	r.stopped = c.stops
	return c.dequeue(r, func(job) bool { return true })
}

// dequeue removes deliveries from an endpoint's queue and returns the outcomes that release them. The caller has the
// lock.
func (c *deliverer) dequeue(r *endpointQueue, which func(job) bool) (back []*outcome) {
	at := c.s.now()
	r.jobs = slices.DeleteFunc(r.jobs, func(p job) bool {
		if !which(p) {
			return false
		}
		back = append(back, p.unsent(at))
		return true
	})
	c.queued -= len(back)
	c.idle.Broadcast()
	return back
}

// release ends the leases of deliveries that were not tried, so that another process can claim them at once. If that
// fails, the leases run out by themselves. Each transaction is of one company, since groups may be confined to one. It
// runs without the deadline of ctx, because it is needed most when that has ended.
func (c *deliverer) release(ctx context.Context, unsent []*outcome) {
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

// machineTime returns the time of the machine. Waiting in memory is measured by it: the clock of the service may be
// fixed or set back by its host, and this one goes on.
func machineTime() time.Time {
	return time.Now() //nolint:forbidigo // The service's clock may be set, and this one goes on.
}

// fresh reports whether the next delivery of an endpoint may be sent without reading the endpoint again. It may if the
// endpoint was read within freshTime, at the lease or by check, and maxUnchecked attempts have not started since. The
// caller has the lock.
func (c *deliverer) fresh(r *endpointQueue) bool {
	known := r.jobs[0].taken
	if r.checked.After(known) {
		known = r.checked
	}
	return r.unchecked < maxUnchecked && machineTime().Sub(known) < freshTime
}

// check reads, in a goroutine of its own, whether an endpoint is still as it was when its queue was leased. It then
// releases the deliveries that must not be sent any more and goes on with the others. If the endpoint cannot be read
// for as long as a lease lasts, nothing is sent. At most one check of an endpoint runs at a time. The caller has the
// lock.
func (c *deliverer) check(ctx context.Context, r *endpointQueue) {
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
		// Attempts that start from here on rely on this read.
		r.checked, r.unchecked = at, 0
		back := c.dequeue(r, func(p job) bool { return err != nil || !p.version.Equal(version) })
		c.next(ctx, r)
		c.mu.Unlock()
		c.s.report(ctx, "look at an endpoint", err)
		c.release(ctx, back)
		c.ended()
	}()
}

// version returns when an enabled endpoint was last changed, and the machine's time just before the read. The version
// of an endpoint that is disabled or deleted is the zero time, which no leased delivery has.
func (c *deliverer) version(ctx context.Context, ref driver.WebhookEndpointRef) (at, version time.Time, err error) {
	err = c.insist(func() error {
		at = machineTime()
		return c.s.background.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
			enabled, err := enabledEndpoints(ctx, tx, ref.CompanyID)
			version = enabled[ref.Number].UpdatedAt
			return err
		})
	})
	return at, version, err
}
