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
func (ds *deliverers) add(one *deliverer) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	ds.active = append(ds.active, one)
}

// remove removes a deliverer.
func (ds *deliverers) remove(one *deliverer) {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	ds.active = slices.DeleteFunc(ds.active, func(other *deliverer) bool { return other == one })
}

// stop releases the queue of an endpoint that was disabled or deleted, in every deliverer of this process. It is called
// after the commit. Other processes find out by themselves, see check.
func (ds *deliverers) stop(ctx context.Context, endpoint driver.WebhookEndpointRef) {
	ds.mu.Lock()
	work := slices.Clone(ds.active)
	ds.mu.Unlock()
	for _, one := range work {
		one.stop(ctx, endpoint)
	}
}

// stop releases what is queued for an endpoint that was disabled or deleted. An attempt in flight is finished (section
// 3.5).
func (d *deliverer) stop(ctx context.Context, endpoint driver.WebhookEndpointRef) {
	d.mu.Lock()
	back := d.halt(d.queueOf(endpoint))
	d.mu.Unlock()
	d.release(ctx, back)
}

// halt empties an endpoint's queue and returns the outcomes that release its deliveries. It also numbers the stop: a
// delivery that was leased before it and arrives after it is released on arrival. The caller has the lock.
func (d *deliverer) halt(q *endpointQueue) []*outcome {
	d.stops++
	q.stopped = d.stops
	return d.dequeue(q, func(job) bool { return true })
}

// dequeue removes deliveries from an endpoint's queue and returns the outcomes that release them. The caller has the
// lock.
func (d *deliverer) dequeue(q *endpointQueue, which func(job) bool) (back []*outcome) {
	at := d.s.now()
	q.jobs = slices.DeleteFunc(q.jobs, func(j job) bool {
		if !which(j) {
			return false
		}
		back = append(back, j.unsent(at))
		return true
	})
	d.queued -= len(back)
	d.idle.Broadcast()
	return back
}

// release ends the leases of deliveries that were not tried, so that another process can claim them at once. If that
// fails, the leases run out by themselves. Each transaction is of one company, since groups may be confined to one. It
// runs without the deadline of ctx, because it is needed most when that has ended.
func (d *deliverer) release(ctx context.Context, unsent []*outcome) {
	ctx = context.WithoutCancel(ctx)
	slices.SortStableFunc(unsent, func(a, b *outcome) int {
		return slices.Compare(a.delivery.CompanyID[:], b.delivery.CompanyID[:])
	})
	for len(unsent) > 0 {
		n := 1
		for n < min(len(unsent), outcomeBatch) && unsent[n].delivery.CompanyID == unsent[0].delivery.CompanyID {
			n++
		}
		d.s.report(ctx, "release deliveries", d.s.writeOutcomes(ctx, 0, unsent[:n]))
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
func (d *deliverer) fresh(q *endpointQueue) bool {
	known := q.jobs[0].taken
	if q.checked.After(known) {
		known = q.checked
	}
	return q.unchecked < maxUnchecked && machineTime().Sub(known) < freshTime
}

// check reads, in a goroutine of its own, whether an endpoint is still as it was when its queue was leased. It then
// releases the deliveries that must not be sent any more and goes on with the others. If the endpoint cannot be read
// for as long as a lease lasts, nothing is sent. At most one check of an endpoint runs at a time. The caller has the
// lock.
func (d *deliverer) check(ctx context.Context, q *endpointQueue) {
	if q.checking {
		return
	}
	q.checking = true
	d.busy++
	go func() {
		ctx := context.WithoutCancel(ctx)
		at, version, err := d.version(ctx, q.endpoint)
		d.mu.Lock()
		q.checking = false
		// Attempts that start from here on rely on this read.
		q.checked, q.unchecked = at, 0
		back := d.dequeue(q, func(j job) bool { return err != nil || !j.version.Equal(version) })
		d.next(ctx, q)
		d.mu.Unlock()
		d.s.report(ctx, "check an endpoint", err)
		d.release(ctx, back)
		d.ended()
	}()
}

// version returns when an enabled endpoint was last changed, and the machine's time just before the read. The version
// of an endpoint that is disabled or deleted is the zero time, which no leased delivery has.
func (d *deliverer) version(ctx context.Context, ref driver.WebhookEndpointRef) (at, version time.Time, err error) {
	err = retryStore(d.givesUp, func() error {
		at = machineTime()
		return d.s.background.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
			enabled, err := enabledEndpoints(ctx, tx, ref.CompanyID)
			version = enabled[ref.Number].UpdatedAt
			return err
		})
	})
	return at, version, err
}
