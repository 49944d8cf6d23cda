package ticketing

import (
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// Bounds of sending. They divide the process among the endpoints, so that slow or dead ones cannot hold up the others.
const (
	// maxInFlight is how many attempts of a process are in flight to endpoints that accept them, and again as many to
	// endpoints that nothing is known of. maxInFlightSlow is how many are in flight to endpoints that lately timed out
	// or kept failing.
	maxInFlight     = 1024
	maxInFlightSlow = 256
	// An attempt to an endpoint of the first two kinds that has no reply after hangingAfter no longer counts in their
	// limit, up to maxHanging such attempts. So even if most unknown endpoints are dead, the live ones soon have room.
	hangingAfter = time.Second
	maxHanging   = 4096
	// firstWindow is how many attempts run at a time to an endpoint that nothing is known of; it is one while
	// manyUnproven or more are in flight to such endpoints. maxWindow is how many run to an endpoint that accepts them.
	// Each success doubles the window of an endpoint up to maxWindow; a timeout sets it to one.
	firstWindow  = 2
	manyUnproven = 256
	maxWindow    = 32
	// failingAfter is how many failures in a row make an endpoint a failing one. At each poll interval only maxGrants
	// deliveries of all failing endpoints together are claimed, spread evenly over them. The others wait in the store.
	failingAfter = 8
	maxGrants    = 64

	// aheadTime is how much work of one endpoint is leased ahead, measured by the duration of its recent attempts.
	// maxAhead limits the deliveries that are leased ahead for one endpoint, maxQueued those that are queued for all.
	aheadTime = time.Second
	maxAhead  = 1024
	maxQueued = 16_384
	maxQueues = 10_000 // endpoints that are remembered while they have nothing to do
)

// class is what is known of an endpoint. Each class has a limit of its own on attempts in flight.
type class int

const (
	unproven class = iota // no attempt has succeeded yet
	proven                // an attempt succeeded, and the endpoint did not become slow since
	slow                  // an attempt timed out, or failingAfter in a row failed, since the last success
	hanging               // of attempts only: no reply for hangingAfter
	classes               // the number of classes
)

// limit returns how many attempts of a class may be in flight.
func (k class) limit() int {
	switch k {
	case slow:
		return maxInFlightSlow
	case hanging:
		return maxHanging
	default:
		return maxInFlight
	}
}

// An endpointQueue is the queue of one endpoint and what its recent attempts have shown. The lock of its deliverer
// guards it.
//
// A new endpoint is unproven and gets few attempts at a time. A success makes it proven, and its window grows. A
// timeout or a row of failures makes it slow: it then shares a small limit with the other slow ones until an attempt
// succeeds. All of it is in memory, so each process learns it by itself.
type endpointQueue struct {
	endpoint driver.WebhookEndpointRef
	jobs     []job         // leased and waiting to be sent, oldest first
	inFlight int           // attempts in flight
	answered int           // attempts with a reply that is not written to the store yet
	window   int           // the most attempts in flight
	proven   bool          // an attempt succeeded, and none timed out or made it failing since
	hanging  bool          // an attempt timed out, and none succeeded since
	failures int           // in a row
	took     time.Duration // moving average of the duration of successful attempts
	more     int           // counts the signals that deliveries wait in the store; zero: none wait
	granted  int           // how many a failing endpoint may claim until the next interval
	held     bool          // waits only for room in its class
	heldIn   class         // the class that it waits in

	checked   time.Time // when it was last known to be enabled, by the clock of this machine
	unchecked int       // attempts that started since then
	checking  bool      // a check of the endpoint is running
	stopped   int       // the number of the last stop of this endpoint, see deliverer.halt
}

// class returns the class of the endpoint. Slow comes first: an endpoint that times out or keeps failing is slow, even
// if it succeeded before.
func (q *endpointQueue) class() class {
	switch {
	case q.hanging || q.failures >= failingAfter:
		return slow
	case q.proven:
		return proven
	default:
		return unproven
	}
}

// update adapts an endpoint queue to the outcome of an attempt. An attempt that was not made, or that this process cut
// off, says nothing about the receiver.
func (q *endpointQueue) update(o *outcome, took time.Duration) {
	switch o.result {
	case resultSuccess:
		q.failures, q.hanging, q.proven = 0, false, true
		q.window = min(maxWindow, 2*q.window)
		if took = max(took, time.Millisecond); q.took == 0 {
			q.took = took
		}
		q.took += (took - q.took) / 8
	case resultTimeout:
		q.failures++
		q.hanging, q.proven, q.window = true, false, 1
	case resultFailure:
		if q.failures++; q.failures >= failingAfter {
			q.proven = false
		}
	case resultUnsent, resultCut:
	}
}

// queueOf returns the endpoint queue of an endpoint, and creates it if there is none. The caller has the lock.
func (d *deliverer) queueOf(endpoint driver.WebhookEndpointRef) *endpointQueue {
	of := d.queues[endpoint.CompanyID]
	if of == nil {
		of = make(map[int64]*endpointQueue)
		d.queues[endpoint.CompanyID] = of
	}
	q := of[endpoint.Number]
	if q == nil {
		q = &endpointQueue{endpoint: endpoint, window: firstWindow}
		of[endpoint.Number] = q
		d.queueCount++
	}
	return q
}

// maxLeased returns how many deliveries of an endpoint may be leased at a time. A proven endpoint has as many as it
// accepts within aheadTime, so its queue is short enough to be sent within the lease. The caller has the lock.
func (d *deliverer) maxLeased(q *endpointQueue) int {
	switch {
	case q.class() == proven && q.took > 0:
		return int(min(max(time.Duration(q.window), maxWindow*aheadTime/q.took), maxAhead))
	// A failing endpoint may use only its grant, and what it has already.
	case q.failures >= failingAfter && !d.once:
		return min(q.window, q.inFlight+len(q.jobs)+q.granted)
	default:
		return q.window
	}
}

// leasable returns how many more deliveries of an endpoint may be leased. The caller has the lock.
func (d *deliverer) leasable(q *endpointQueue) int {
	left := min(d.maxLeased(q)-q.inFlight-q.answered-len(q.jobs), maxQueued-d.queued)
	if kind := q.class(); kind != proven {
		left = min(left, kind.limit()-d.inFlight[kind])
	}
	return max(left, 0)
}

// allQueues is the key for the room of all endpoints of a company together, in the result of rooms.
const allQueues = -1

// rooms returns how many deliveries of each of a company's endpoints may be leased. The key zero is for each endpoint
// that is not in the map, allQueues for all of them together. It also returns the number of stops so far, with which
// deliverer.enqueue recognises a stop that came after this call.
func (d *deliverer) rooms(companyID uuid.UUID) (rooms map[int64]int, stops int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	rooms = make(map[int64]int)
	if d.closed {
		return rooms, d.stops
	}
	rooms[0], rooms[allQueues] = min(firstWindow, max(0, maxInFlight-d.inFlight[unproven])), max(0, maxQueued-d.queued)
	for number, q := range d.queues[companyID] {
		rooms[number] = d.leasable(q)
	}
	return rooms, d.stops
}

// window returns how many attempts of an endpoint may be in flight now. The caller has the lock.
func (d *deliverer) window(q *endpointQueue) int {
	if q.class() == unproven && d.inFlight[unproven]+d.inFlight[hanging] >= manyUnproven {
		return 1
	}
	return q.window
}

// hold queues an endpoint queue until its class has room. A class serves its endpoint queues in the order in which they
// were held. The caller has the lock.
func (d *deliverer) hold(q *endpointQueue) {
	if kind := q.class(); !q.held || q.heldIn != kind {
		q.held, q.heldIn = true, kind
		d.held[kind] = append(d.held[kind], q)
	}
}

// grant gives the failing endpoints the deliveries of another interval, and forgets idle endpoints if too many are
// known.
func (d *deliverer) grant() {
	d.mu.Lock()
	defer d.mu.Unlock()
	var failing []*endpointQueue
	for companyID, of := range d.queues {
		for number, q := range of {
			q.granted = 0
			if q.failures >= failingAfter {
				failing = append(failing, q)
			}
			// What was learned of an idle endpoint is lost here; its next attempt starts as to an unknown one.
			if d.queueCount > maxQueues && q.more == 0 && q.inFlight+q.answered == 0 && len(q.jobs) == 0 {
				delete(of, number)
				d.queueCount--
			}
		}
		if len(of) == 0 {
			delete(d.queues, companyID)
		}
	}
	// The grants are divided over the failing endpoints, rounding up for the first ones until the rest is divided
	// evenly.
	left := maxGrants
	for i, q := range failing { // The order of a map is different each time, which makes the remainder fair.
		q.granted = (left + len(failing) - i - 1) / (len(failing) - i)
		left -= q.granted
		d.claimable(q)
	}
}
