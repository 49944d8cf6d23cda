package ticketing

import (
	"time"

	"github.com/google/uuid"
)

const (
	// maxFlying is how many attempts of a process are in flight to endpoints that take them, and as many to those that
	// nothing is known of; maxFlyingSlow to those that let attempts time out or fail lately.
	maxFlying     = 1024
	maxFlyingSlow = 256
	// An attempt to one of the former that has no answer after hangingAfter leaves its room to others, as long as no more
	// than maxHanging have done so: however many are dead when nothing is known of any, those that live have room soon.
	hangingAfter = time.Second
	maxHanging   = 4096
	// firstWindow is how many attempts go to an endpoint at a time that nothing is known of, one alone where more than
	// manyUnproven are in flight to such; and maxWindow how many to one that takes them. Each success doubles it, one that
	// timed out makes it a single one again.
	firstWindow  = 2
	manyUnproven = 256
	maxWindow    = 32
	// failingAfter is how many failures in a row make an endpoint one that fails: of those together only so many
	// deliveries are taken from the store at each interval, in turn. The others wait there.
	failingAfter = 8
	maxGrants    = 64

	// aheadTime is how much of an endpoint's work waits in memory, by the time its attempts took lately, and maxAhead how
	// many deliveries of one endpoint; maxQueued is how many of all.
	aheadTime = time.Second
	maxAhead  = 1024
	maxQueued = 16_384
	maxRoutes = 10_000 // that are remembered while nothing goes there
)

// class is what is known of an endpoint.
type class int

const (
	unproven class = iota
	proven
	slow
	hanging // of attempts alone: without an answer for a while
	classes
)

// most is how many attempts of a class are in flight.
func (k class) most() int {
	switch k {
	case slow:
		return maxFlyingSlow
	case hanging:
		return maxHanging
	default:
		return maxFlying
	}
}

// A route leads to an endpoint. The lock of its courier guards it.
type route struct {
	endpoint WebhookEndpointRef
	queue    []parcel // leased, and waiting
	flying   int
	answered int           // and not written yet
	window   int           // how many may fly at a time
	proven   bool          // an attempt succeeded, and none timed out since
	hanging  bool          // an attempt timed out, and none succeeded since
	failures int           // in a row
	took     time.Duration // by an attempt, lately
	more     int           // counts the signs that deliveries wait in the store; zero: there is none
	granted  int           // what may be taken from the store until the next interval, by a route that fails
	held     bool          // it waits among those that only the bound of a class holds back
	heldIn   class

	checked   time.Time // when it was last known to be enabled, by the clock of this machine
	unchecked int       // attempts that began since
	checking  bool      // somebody looks
	stopped   int       // the courier's stop that stopped it last
}

func (r *route) class() class {
	switch {
	case r.hanging || r.failures >= failingAfter:
		return slow
	case r.proven:
		return proven
	default:
		return unproven
	}
}

// learn adapts a route to what became of an attempt.
func (r *route) learn(o *outcome, took time.Duration) {
	switch o.result {
	case resultSuccess:
		r.failures, r.hanging, r.proven = 0, false, true
		r.window = min(maxWindow, 2*r.window)
		if took = max(took, time.Millisecond); r.took == 0 {
			r.took = took
		}
		r.took += (took - r.took) / 8
	case resultTimeout:
		r.failures++
		r.hanging, r.proven, r.window = true, false, 1
	case resultFailure:
		if r.failures++; r.failures >= failingAfter {
			r.proven = false
		}
	case resultUnsent, resultCut:
	}
}

// route finds the route to an endpoint. The caller has the lock.
func (c *courier) route(endpoint WebhookEndpointRef) *route {
	of := c.routes[endpoint.CompanyID]
	if of == nil {
		of = make(map[int64]*route)
		c.routes[endpoint.CompanyID] = of
	}
	r := of[endpoint.Number]
	if r == nil {
		r = &route{endpoint: endpoint, window: firstWindow}
		of[endpoint.Number] = r
		c.known++
	}
	return r
}

// ahead is how many deliveries of a route may be leased at a time. The caller has the lock.
func (c *courier) ahead(r *route) int {
	switch {
	case r.class() == proven && r.took > 0:
		return int(min(max(time.Duration(r.window), maxWindow*aheadTime/r.took), maxAhead))
	case r.failures >= failingAfter && !c.once:
		return min(r.window, r.flying+len(r.queue)+r.granted)
	default:
		return r.window
	}
}

// room is how many more deliveries of a route may be leased. The caller has the lock.
func (c *courier) room(r *route) int {
	left := min(c.ahead(r)-r.flying-r.answered-len(r.queue), maxQueued-c.queued)
	if kind := r.class(); kind != proven {
		left = min(left, kind.most()-c.flying[kind])
	}
	return max(left, 0)
}

// allRoutes stands for what all routes of a company together have room for, in the answer of rooms.
const allRoutes = -1

// rooms is how many deliveries of each of a company's endpoints may be leased, of each other one by the number zero, and of
// all together; and how many stops there were until now.
func (c *courier) rooms(companyID uuid.UUID) (rooms map[int64]int, stops int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	rooms = make(map[int64]int)
	if c.closed {
		return rooms, c.stops
	}
	rooms[0], rooms[allRoutes] = min(firstWindow, max(0, maxFlying-c.flying[unproven])), max(0, maxQueued-c.queued)
	for number, r := range c.routes[companyID] {
		rooms[number] = c.room(r)
	}
	return rooms, c.stops
}

// window is how many attempts of a route may fly now. The caller has the lock.
func (c *courier) window(r *route) int {
	if r.class() == unproven && c.flying[unproven]+c.flying[hanging] >= manyUnproven {
		return 1
	}
	return r.window
}

// hold has a route wait until there is room for its class. The caller has the lock.
func (c *courier) hold(r *route) {
	if kind := r.class(); !r.held || r.heldIn != kind {
		r.held, r.heldIn = true, kind
		c.held[kind] = append(c.held[kind], r)
	}
}

// grant lets the routes that fail have their share of another interval.
func (c *courier) grant() {
	c.mu.Lock()
	defer c.mu.Unlock()
	var failing []*route
	for companyID, of := range c.routes {
		for number, r := range of {
			r.granted = 0
			if r.failures >= failingAfter {
				failing = append(failing, r)
			}
			if c.known > maxRoutes && r.more == 0 && r.flying+r.answered == 0 && len(r.queue) == 0 {
				delete(of, number)
				c.known--
			}
		}
		if len(of) == 0 {
			delete(c.routes, companyID)
		}
	}
	left := maxGrants
	for i, r := range failing { // In the order of a map, which is a new one each time.
		r.granted = (left + len(failing) - i - 1) / (len(failing) - i)
		left -= r.granted
		c.claimable(r)
	}
}
