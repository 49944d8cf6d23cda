package ticketing

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/internal/group"
)

const (
	// deliveryLease is how long a delivery is one process's: an attempt, and the writing of what became of it. A process
	// that ends in between loses it to another when the lease has run out.
	deliveryLease = 30 * time.Second
	// attemptTimeout is what a receiver has (section 6.3).
	attemptTimeout = 10 * time.Second

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
	// maxAnswered is how many attempts of a route are answered and not written yet before no more begin: what is sent once
	// more if the process ends then.
	maxAnswered = 512
	// maxUnchecked is how many attempts to an endpoint begin, and freshTime how long one waits in memory, until it is
	// looked at whether the endpoint was disabled by another process.
	maxUnchecked = 32
	freshTime    = 200 * time.Millisecond
	maxRoutes    = 10_000 // that are remembered while nothing goes there

	claimPatience = 500 * time.Millisecond // as dispatchPatience
	cancelBatch   = 1000
	// pauseTime is how long facts wait whose endpoints have more than they take.
	pauseTime = 250 * time.Millisecond
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

// A route leads to an endpoint.
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

// allRoutes stands for what all routes of a company together have room for, in the answer of rooms.
const allRoutes = -1

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

// courier sends the deliveries of a process: those that its dispatches hand over, and those that it claims in the store.
// It begins as many attempts at a time as an endpoint takes, and lets what is slow or dead have no more than its share.
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

// route finds the route to an endpoint. It is called with the lock, as what follows is where it says nothing else.
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

// ahead is how many deliveries of a route may be leased at a time.
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

// room is how many more deliveries of a route may be leased.
func (c *courier) room(r *route) int {
	left := min(c.ahead(r)-r.flying-r.answered-len(r.queue), maxQueued-c.queued)
	if kind := r.class(); kind != proven {
		left = min(left, kind.most()-c.flying[kind])
	}
	return max(left, 0)
}

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

// waiting is told that deliveries of an endpoint are due in the store.
func (c *courier) waiting(endpoint WebhookEndpointRef) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.route(endpoint)
	r.more++
	c.claimable(r)
}

// claimable has a route's deliveries claimed, where some wait and it is worth a transaction.
func (c *courier) claimable(r *route) {
	if r.more > 0 && !c.closed && c.room(r) >= max(1, c.ahead(r)/2) {
		c.claims.add(r.endpoint.CompanyID)
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
			if c.known > maxRoutes && r.more == 0 && r.flying == 0 && len(r.queue) == 0 {
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

// start begins as many attempts of a route as the bounds let it.
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

// window is how many attempts of a route may fly now.
func (c *courier) window(r *route) int {
	if r.class() == unproven && c.flying[unproven]+c.flying[hanging] >= manyUnproven {
		return 1
	}
	return r.window
}

// hold has a route wait until there is room for its class.
func (c *courier) hold(r *route) {
	if kind := r.class(); !r.held || r.heldIn != kind {
		r.held, r.heldIn = true, kind
		c.held[kind] = append(c.held[kind], r)
	}
}

// fresh tells whether the next delivery of a route may be sent as it was leased.
func (c *courier) fresh(r *route) bool {
	known := r.queue[0].taken
	if r.checked.After(known) {
		known = r.checked
	}
	return r.unchecked < maxUnchecked && time.Since(known) < freshTime //nolint:forbidigo // What waits in memory ages, whatever is done to the clock.
}

// check looks, beside all else, whether an endpoint still is as it was when what waits for it was leased, and gives back
// what is not to be sent any more. Where that cannot be found out for as long as a lease lasts, nothing is sent.
func (c *courier) check(ctx context.Context, r *route) {
	if r.checking {
		return
	}
	r.checking = true
	c.busy++
	go func() {
		var back []*outcome
		ctx := context.WithoutCancel(ctx)
		at, version, err := c.version(ctx, r.endpoint)
		c.mu.Lock()
		r.checking = false
		r.checked, r.unchecked = at, 0
		back = c.takeBack(r, func(p parcel) bool { return err != nil || !p.version.Equal(version) })
		c.next(ctx, r)
		c.mu.Unlock()
		c.s.report(ctx, "look at an endpoint", err)
		c.giveBack(ctx, back)
		c.ended()
	}()
}

// version is when an endpoint that is enabled was last changed, and when it was asked for; never for another. Where the
// store fails it asks again, as often as an outcome is written. It is called without the lock.
func (c *courier) version(ctx context.Context, ref WebhookEndpointRef) (at, version time.Time, err error) {
	wait := lookGap
	for try := 1; ; try++ {
		at = time.Now() //nolint:forbidigo // What waits in memory ages, whatever is done to the clock.
		var endpoints []WebhookEndpointRecord
		err = c.s.store.View(ctx, func(ctx context.Context, tx ReadTx) error {
			endpoints, err = tx.ListWebhookEndpoints(ctx, ref.CompanyID)
			return err
		})
		if err == nil {
			return at, versions(endpoints)[ref.Number], nil
		}
		if c.givesUp(try) {
			return at, version, err
		}
		pause := time.NewTimer(wait)
		<-pause.C
		wait = min(2*wait, time.Second)
	}
}

// versions are the times of the last change of the endpoints that are enabled, by number.
func versions(endpoints []WebhookEndpointRecord) map[int64]time.Time {
	versions := make(map[int64]time.Time, len(endpoints))
	for _, endpoint := range endpoints {
		if endpoint.Status == WebhookEnabled {
			versions[endpoint.Number] = endpoint.UpdatedAt
		}
	}
	return versions
}

// stop is told that an endpoint was disabled or deleted: what waits for it is not sent any more. It is called without the
// lock.
func (c *courier) stop(ctx context.Context, endpoint WebhookEndpointRef) {
	c.mu.Lock()
	back := c.halt(c.route(endpoint))
	c.mu.Unlock()
	c.giveBack(ctx, back)
}

// halt empties a route's queue, and has what was leased before given back when it comes.
func (c *courier) halt(r *route) []*outcome {
	c.stops++
	r.stopped = c.stops
	return c.takeBack(r, func(parcel) bool { return true })
}

// ended is told that something is not under way any more. It is called without the lock.
func (c *courier) ended() {
	c.mu.Lock()
	c.busy--
	c.landed.Broadcast()
	c.mu.Unlock()
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
// have room.
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

// takeBack takes parcels out of a route's queue.
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

// close ends the claiming, and gives back what has not begun. It is called without the lock.
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

// wait returns when nothing is in flight. It is called without the lock.
func (c *courier) wait() {
	c.mu.Lock()
	for c.busy > 0 || c.queued > 0 {
		c.landed.Wait()
	}
	c.mu.Unlock()
	c.notices.wait()
}

// giveBack ends the leases of deliveries that were not tried. Where that fails, they end by themselves. It is called
// without the lock.
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

// pause tells whether a company's further facts wait, since all endpoints that they went to, so many to each, have as much
// as they take, and sees to it that they are dispatched later. What waits as a fact costs the store less than what waits
// as a delivery.
func (c *courier) pause(companyID uuid.UUID, counts map[int64]int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for number, count := range counts {
		r := c.route(WebhookEndpointRef{CompanyID: companyID, Number: number})
		if r.class() != proven || r.more == 0 && c.room(r) >= count {
			return false
		}
	}
	if c.closed || len(counts) == 0 {
		return false
	}
	c.pauses[companyID] = true
	time.AfterFunc(pauseTime, func() { c.goOn(companyID) })
	return true
}

func (c *courier) paused(companyID uuid.UUID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.pauses[companyID]
}

// goOn ends a pause. It is called without the lock.
func (c *courier) goOn(companyID uuid.UUID) {
	c.mu.Lock()
	paused := c.pauses[companyID]
	delete(c.pauses, companyID)
	c.mu.Unlock()
	if paused {
		c.relieved(companyID)
	}
}

// want is a part of a company's deliveries that there is room for.
type want struct {
	endpoint int64
	limit    int
	seen     int // the route's signs, when it was asked
}

// wants are those of a company, and how many stops there were until now.
func (c *courier) wants(companyID uuid.UUID) (wants []want, stops int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for number, r := range c.routes[companyID] {
		if limit := c.room(r); r.more > 0 && limit > 0 && !c.closed {
			r.granted = max(0, r.granted-limit)
			wants = append(wants, want{endpoint: number, limit: limit, seen: r.more})
		}
	}
	slices.SortFunc(wants, func(a, b want) int { return cmp.Compare(a.endpoint, b.endpoint) })
	return wants, c.stops
}

// claim takes a company's deliveries that are due, as many as there is room for, and sends them.
func (c *courier) claim(ctx context.Context, companyID uuid.UUID) error {
	_, err := c.claimSome(ctx, companyID, c.s.now())
	return err
}

// claimSome claims what was due at a time, and tells how many that were.
func (c *courier) claimSome(ctx context.Context, companyID uuid.UUID, at time.Time) (int, error) {
	wants, stops := c.wants(companyID)
	if len(wants) == 0 {
		return 0, nil
	}
	claimed, counts, err := c.s.claimDeliveries(ctx, companyID, at, wants)
	if err != nil {
		return 0, err
	}
	due := 0
	done := false
	c.mu.Lock()
	for i, w := range wants {
		r := c.route(WebhookEndpointRef{CompanyID: companyID, Number: w.endpoint})
		due += counts[i]
		if counts[i] < w.limit && r.more == w.seen {
			r.more, done = 0, true
		}
	}
	c.mu.Unlock()
	if done {
		c.goOn(companyID)
	}
	c.hand(ctx, claimed, stops)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range wants {
		c.claimable(c.route(WebhookEndpointRef{CompanyID: companyID, Number: w.endpoint}))
	}
	return due, nil
}

// claimDeliveries leases deliveries that were due at a time, and finds what an attempt takes, in one transaction: their
// locks keep other processes from them. Those that are to be cancelled are. It tells how many were due of each part.
func (s *Service) claimDeliveries(
	ctx context.Context, companyID uuid.UUID, due time.Time, wants []want,
) (claimed []parcel, counts []int, err error) {
	at := s.now()
	var enabled map[int64]time.Time
	var leased []DeliveryRecord
	var bodies map[uuid.UUID][]byte
	var secrets map[WebhookSecretRef]WebhookSecretRecord
	err = s.store.Update(ctx, func(ctx context.Context, tx Tx) error {
		leased, counts = nil, make([]int, len(wants))
		in := Entrance{Share: []uuid.UUID{companyID}, Patience: claimPatience}
		if _, err := tx.Enter(ctx, in); err != nil {
			return err
		}
		endpoints, err := tx.ListWebhookEndpoints(ctx, companyID)
		if err != nil {
			return err
		}
		enabled = versions(endpoints)
		var cancelled []DeliveryRecord
		for i, w := range wants {
			_, delivers := enabled[w.endpoint]
			claim := DeliveryClaim{
				CompanyID: companyID, Endpoint: w.endpoint, At: due, Until: at.Add(deliveryLease), Limit: w.limit,
			}
			if !delivers {
				claim.Limit = cancelBatch
			}
			taken, err := tx.ClaimDeliveries(ctx, claim)
			if err != nil {
				return err
			}
			counts[i] = len(taken)
			for _, d := range taken {
				if d.Cancelling || !delivers {
					cancelled = append(cancelled, d.finished(DeliveryCancelled, at))
				} else {
					leased = append(leased, d)
				}
			}
		}
		if len(cancelled) > 0 {
			if err := tx.UpdateDeliveries(ctx, cancelled); err != nil {
				return err
			}
		}
		if len(leased) == 0 {
			return nil
		}
		if bodies, err = s.findBodies(ctx, tx, leased); err != nil {
			return err
		}
		refs := make([]WebhookSecretRef, len(leased))
		for i, d := range leased {
			refs[i] = d.secret()
		}
		secrets, err = findWebhookSecrets(ctx, tx, refs)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return s.parcels(leased, bodies, secrets, enabled), counts, nil
}

// findBodies finds what deliveries send. What was forgotten is rendered anew, and kept.
func (s *Service) findBodies(
	ctx context.Context, tx Tx, deliveries []DeliveryRecord,
) (map[uuid.UUID][]byte, error) {
	refs := make([]MessageRef, len(deliveries))
	for i, d := range deliveries {
		refs[i] = d.message()
	}
	messages, err := tx.Messages(ctx, distinct(refs))
	if err != nil {
		return nil, err
	}
	events, err := s.showMessages(ctx, tx, messages)
	if err != nil {
		return nil, err
	}
	bodies := make(map[uuid.UUID][]byte, len(events))
	for _, event := range events {
		bodies[event.ID] = event.Body
	}
	anew := filter(messages, func(_ int, m MessageRecord) bool { return m.Body == "" && len(bodies[m.ID]) > 0 })
	if len(anew) == 0 {
		return bodies, nil
	}
	for i, m := range anew {
		anew[i].Body = string(bodies[m.ID])
	}
	return bodies, tx.UpdateMessages(ctx, anew)
}

// cancelPending cancels the pending deliveries of an endpoint that was disabled or deleted, portion by portion, until
// none is left or it is enabled again. The shared gate keeps it as it is during a portion.
func (s *Service) cancelPending(ctx context.Context, endpoint WebhookEndpointRef) error {
	for more := true; more; {
		err := s.store.Update(ctx, func(ctx context.Context, tx Tx) error {
			more = false
			if _, err := tx.Enter(ctx, Entrance{Share: []uuid.UUID{endpoint.CompanyID}}); err != nil {
				return err
			}
			endpoints, err := tx.ListWebhookEndpoints(ctx, endpoint.CompanyID)
			if err != nil {
				return err
			}
			if slices.ContainsFunc(endpoints, func(e WebhookEndpointRecord) bool {
				return e.Number == endpoint.Number && e.Status == WebhookEnabled
			}) {
				return nil
			}
			more, err = cancelSome(ctx, tx, s.now(), endpoint)
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// cancelSome cancels a portion of the pending deliveries of an endpoint, and tells whether there may be more.
func cancelSome(ctx context.Context, tx DeliveryWriter, at time.Time, endpoint WebhookEndpointRef) (more bool, err error) {
	pending, err := tx.LockPending(ctx, endpoint, cancelBatch)
	if err != nil || len(pending) == 0 {
		return false, err
	}
	for i, d := range pending {
		pending[i] = d.cancelled(at)
	}
	return len(pending) == cancelBatch, tx.UpdateDeliveries(ctx, pending)
}

var errNoSender = errors.New("ticketing: there is no Config.Sender")

// SendWebhooks is a single pass of what [Service.Run] does for webhooks, for a host that does without it: it makes the
// deliveries of all facts, sends these and what else is due when it begins, and returns when all of it is answered or the
// context has ended, after what is in flight then. It tells how many attempts it made. What failed is due again later. It
// tells nothing to [Config.OnFact], but like every process it marks facts as told where there is none.
func (s *Service) SendWebhooks(ctx context.Context) (int, error) {
	if s.bound {
		return 0, errBoundRun
	}
	if s.sender == nil {
		return 0, errNoSender
	}
	c := newCourier(s)
	c.once = true
	s.couriers.add(c)
	defer s.couriers.remove(c)
	stop := context.AfterFunc(ctx, func() { c.close(ctx) })
	defer stop()
	failed := s.dispatchAll(ctx, c)
	at := s.now()
	c.wait()
	for claimed := 1; claimed > 0 && failed == nil && ctx.Err() == nil; {
		if now := s.now(); now.Before(at) {
			at = now // A clock that stepped back: what failed by it is not due already.
		}
		claimed, failed = s.claimAll(ctx, c, at)
		c.wait()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.flights, errors.Join(failed, ctx.Err())
}

// dispatchAll makes the deliveries of all facts, and hands the courier those that it has room for.
func (s *Service) dispatchAll(ctx context.Context, c *courier) (failed error) {
	for more := true; more && failed == nil && ctx.Err() == nil; {
		more = false
		due, err := s.dueWork(ctx, WorkQuery{At: s.now(), After: []DueWork{{Kind: WorkDispatch}}, Limit: lookBatch})
		if err != nil {
			return err
		}
		for _, work := range due {
			done, err := s.dispatchCompany(ctx, work.CompanyID, c)
			failed = errors.Join(failed, err)
			more = more || done.facts == factBatch || done.facts > 0 && len(due) == lookBatch
		}
	}
	return failed
}

// claimAll has the courier claim a portion of what was due at a time of each company, and tells how many that were.
func (s *Service) claimAll(ctx context.Context, c *courier, at time.Time) (claimed int, failed error) {
	due, err := s.dueWork(ctx, WorkQuery{At: at, After: []DueWork{{Kind: WorkDeliver}}, Limit: lookBatch})
	if err != nil {
		return 0, err
	}
	var companies []uuid.UUID
	for _, work := range due {
		c.waiting(WebhookEndpointRef{CompanyID: work.CompanyID, Number: work.Endpoint})
		companies = append(companies, work.CompanyID)
	}
	for _, companyID := range distinct(companies) {
		some, err := c.claimSome(ctx, companyID, at)
		failed = errors.Join(failed, err)
		claimed += some
	}
	return claimed, failed
}
