package ticketing

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/internal/group"
)

// maxAnswered is how many attempts of a route are answered and not written yet before no more begin: what is sent once
// more if the process ends then.
const maxAnswered = 512

// courier sends the deliveries of a process: those that its dispatches hand over, and those that it claims in the store.
// It begins as many attempts at a time as an endpoint takes, and lets what is slow or dead have no more than its share.
// Its methods take the lock by themselves, but for those that say that the caller has it.
type courier struct {
	s        *Service
	claims   *turns[uuid.UUID] // companies whose deliveries wait in the store, with room here
	outcomes *group.Lanes[uuid.UUID, *outcome]
	notices  *notices
	// later is told when the wait of a delivery is over, and relieved of a company whose facts need wait no longer.
	later    func(now, at time.Time)
	relieved func(companyID uuid.UUID)
	// once tells that it is there for a single pass, which grants and pauses nothing.
	once bool

	mu      sync.Mutex
	landed  sync.Cond // by mu: something is not in flight any more
	routes  map[uuid.UUID]map[int64]*route
	known   int               // how many routes
	held    [classes][]*route // with some that are not held there any more
	flying  [classes]int      // attempts, by the class of their endpoint when they began
	queued  int
	busy    int // flights that are under way, with all that belongs to them
	pauses  map[uuid.UUID]bool
	stops   int // endpoints that were disabled or deleted while it worked
	closed  bool
	flights int // that there ever were
}

func newCourier(s *Service) *courier {
	c := &courier{
		s: s, claims: newTurns[uuid.UUID](), routes: make(map[uuid.UUID]map[int64]*route), pauses: make(map[uuid.UUID]bool),
		later: func(time.Time, time.Time) {}, relieved: func(uuid.UUID) {},
	}
	c.landed.L = &c.mu
	c.outcomes = group.New(group.Config[uuid.UUID, *outcome]{
		Run: s.writeGroup, Class: classOf, Size: outcomeBatch, Single: s.byCompany, Timeout: groupTimeout,
		Patience: groupPatience,
	})
	c.notices = newNotices(s)
	return c
}

// hand takes deliveries that are leased, and is told of those that are due in the store. Before they were leased there had
// been so many stops: what was stopped meanwhile is given back.
func (c *courier) hand(ctx context.Context, parcels []parcel, stops int) {
	var back []*outcome
	c.mu.Lock()
	for _, p := range parcels {
		switch r := c.route(p.delivery.endpoint()); {
		case p.delivery.LeasedUntil.IsZero():
			r.more++
			c.claimable(r)
		case c.closed || r.stopped > stops:
			back = append(back, p.unsent(c.s.now()))
		default:
			r.queue = append(r.queue, p)
			c.queued++
			c.start(ctx, r)
		}
	}
	c.mu.Unlock()
	c.giveBack(ctx, back)
}

// start begins as many attempts of a route as the bounds let it. The caller has the lock.
func (c *courier) start(ctx context.Context, r *route) {
	for len(r.queue) > 0 && r.flying < c.window(r) && r.answered < maxAnswered {
		kind := r.class()
		if c.flying[kind] >= kind.most() {
			c.hold(r)
			return
		}
		if !c.fresh(r) {
			c.check(ctx, r)
			return
		}
		p := r.queue[0]
		r.queue[0] = parcel{}
		r.queue = r.queue[1:]
		c.queued--
		r.flying++
		r.unchecked++
		c.flying[kind]++
		c.busy++
		c.flights++
		go c.fly(context.WithoutCancel(ctx), r, kind, p)
	}
}

// fly makes an attempt, makes room for the next, and writes what became of it, together with others.
func (c *courier) fly(ctx context.Context, r *route, kind class, p parcel) {
	began := c.s.clock()
	landed := false // by mu, as kind
	hangs := time.AfterFunc(hangingAfter, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if !landed && kind != slow && c.flying[hanging] < maxHanging {
			c.flying[kind]--
			kind = hanging
			c.flying[kind]++
			c.next(ctx, r)
		}
	})
	o := c.s.attempt(ctx, p)
	took := c.s.clock().Sub(began)

	c.mu.Lock()
	landed = true
	hangs.Stop()
	r.flying--
	c.flying[kind]--
	r.answered++
	r.learn(o, took)
	c.next(ctx, r)
	c.mu.Unlock()

	if c.write(ctx, o) {
		c.notices.of(ctx, o)
		if now := c.s.now(); o.after.Status == DeliveryPending && o.after.DueAt.After(now) {
			c.later(now, o.after.DueAt)
		}
	}

	var back []*outcome
	c.mu.Lock()
	r.answered--
	if o.cancelling {
		back = c.halt(r) // The endpoint was disabled or deleted.
	}
	c.next(ctx, r)
	relieved := c.pauses[r.endpoint.CompanyID] && r.more == 0 && c.room(r) >= c.ahead(r)/2
	c.mu.Unlock()
	if relieved {
		c.goOn(r.endpoint.CompanyID)
	}
	c.giveBack(ctx, back)
	c.ended()
}

// next begins what there is room for after a landing: on the routes that waited longest first, and on no more of them than
// have room. The caller has the lock.
func (c *courier) next(ctx context.Context, r *route) {
	if len(r.queue) > 0 {
		c.hold(r)
	}
	for kind := range c.held {
		for len(c.held[kind]) > 0 && c.flying[kind] < class(kind).most() {
			first := c.held[kind][0]
			c.held[kind][0] = nil
			c.held[kind] = c.held[kind][1:]
			if first.held && first.heldIn == class(kind) {
				first.held = false
				c.start(ctx, first)
			}
		}
	}
	c.claimable(r)
}

// ended is told that something is not under way any more.
func (c *courier) ended() {
	c.mu.Lock()
	c.busy--
	c.landed.Broadcast()
	c.mu.Unlock()
}

// close ends the claiming, and gives back what has not begun.
func (c *courier) close(ctx context.Context) {
	var back []*outcome
	c.mu.Lock()
	c.closed = true
	for _, of := range c.routes {
		for _, r := range of {
			back = append(back, c.takeBack(r, func(parcel) bool { return true })...)
		}
	}
	c.mu.Unlock()
	c.giveBack(ctx, back)
}

// wait returns when nothing is in flight.
func (c *courier) wait() {
	c.mu.Lock()
	for c.busy > 0 || c.queued > 0 {
		c.landed.Wait()
	}
	c.mu.Unlock()
	c.notices.wait()
}
