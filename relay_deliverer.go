package ticketing

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/internal/group"
)

// maxAnswered is how many attempts of an endpoint queue may have a response whose result is not written yet. No more
// attempts begin at that limit. If the process ends, these deliveries are sent once more.
const maxAnswered = 512

// deliverer sends the deliveries of a process: those that its dispatches hand over, and those that it claims from the
// store. It runs as many attempts at a time as an endpoint accepts, and bounds the share of slow and dead endpoints.
// Its methods take the lock mu themselves, except where the comment says that the caller holds it.
//
// Each attempt has a goroutine of its own. The limits of endpoint queues and classes bound how many there are.
type deliverer struct {
	s          *Service
	claimQueue *workQueue[uuid.UUID] // companies whose deliveries wait in the store and have room here
	outcomes   *group.Lanes[uuid.UUID, *outcome]
	exhausted  *failureNotifier[WebhookDelivery]
	// onRetry is called with the time of a delivery's next attempt. onResume is called with a company whose facts need
	// not wait any longer.
	onRetry  func(now, at time.Time)
	onResume func(companyID uuid.UUID)
	// once marks the deliverer of a single pass ([Service.SendWebhooks]). A pass has no intervals: it does not limit
	// failing endpoints by grants, and it pauses no dispatch.
	once bool

	// The lock mu guards the fields below and all endpoint queues.
	mu         sync.Mutex
	idle       sync.Cond // uses mu; signals that something is no longer in flight
	queues     map[uuid.UUID]map[int64]*endpointQueue
	queueCount int                       // number of endpoint queues
	held       [classes][]*endpointQueue // endpoint queues that wait for room in a class; some may have left it since
	inFlight   [classes]int              // attempts, by the class of their endpoint when they began
	// queued is how many jobs wait in all endpoint queues.
	queued   int
	busy     int // attempts and checks that are under way, including the writing of their results
	pauses   map[uuid.UUID]bool
	stops    int // how often an endpoint was disabled or deleted during this deliverer's work
	closed   bool
	attempts int // attempts that ever began
}

// newDeliverer returns a deliverer that is idle. Its outcomes are written in groups, so that many attempts share a
// transaction.
func newDeliverer(s *Service) *deliverer {
	d := &deliverer{
		s: s, claimQueue: newWorkQueue[uuid.UUID](), queues: make(map[uuid.UUID]map[int64]*endpointQueue),
		pauses:  make(map[uuid.UUID]bool),
		onRetry: func(time.Time, time.Time) {}, onResume: func(uuid.UUID) {},
	}
	d.idle.L = &d.mu
	d.outcomes = group.New(group.Config[uuid.UUID, *outcome]{
		Run: s.writeGroup, Class: classOf, Size: outcomeBatch, Single: s.byCompany, Timeout: groupTimeout,
		Patience: groupPatience,
	})
	d.exhausted = newFailureNotifier(s, "OnExhausted", s.onExhausted)
	return d
}

// enqueue takes deliveries after the transaction that leased them has committed. It queues those that are leased and
// starts attempts. For those that are not leased it records that the store has due deliveries. stops is the number of
// stops before the lease: a delivery whose endpoint was stopped since then is given back. The queue of an endpoint is
// in the order of the leases. Retries and new deliveries share it.
func (d *deliverer) enqueue(ctx context.Context, jobs []job, stops int) {
	var back []*outcome
	d.mu.Lock()
	for _, j := range jobs {
		switch q := d.queueOf(j.delivery.EndpointRef()); {
		case j.delivery.LeasedUntil.IsZero():
			q.more++
			d.claimable(q)
		// The deliverer is closed, or the endpoint was stopped after the lease.
		case d.closed || q.stopped > stops:
			back = append(back, j.unsent(d.s.now()))
		default:
			// The lease is this process's from here until the outcome is written or the job is released.
			q.jobs = append(q.jobs, j)
			d.queued++
			d.start(ctx, q)
		}
	}
	d.mu.Unlock()
	d.release(ctx, back)
}

// start begins attempts of an endpoint queue, as many as the limits of the endpoint queue and of its class allow. If
// the last look at the endpoint is too old, or too many attempts began since, it looks first whether another process
// has disabled it. The caller holds the lock. start is called whenever there may be room again: after an attempt, after
// a lease, and after a check.
func (d *deliverer) start(ctx context.Context, q *endpointQueue) {
	for len(q.jobs) > 0 && q.inFlight < d.window(q) && q.answered < maxAnswered {
		kind := q.class()
		// The class is full. next starts the endpoint queue again when an attempt of the class has ended.
		if d.inFlight[kind] >= kind.limit() {
			d.hold(q)
			return
		}
		if !d.fresh(q) {
			d.check(ctx, q)
			return
		}
		j := q.jobs[0]
		// The queue's array outlives the job, so the element is cleared to free the body.
		q.jobs[0] = job{}
		q.jobs = q.jobs[1:]
		d.queued--
		q.inFlight++
		q.unchecked++
		d.inFlight[kind]++
		d.busy++
		d.attempts++
		go d.deliver(context.WithoutCancel(ctx), q, kind, j)
	}
}

// deliver makes one attempt, starts the next ones, and writes the result in a group with others. It runs without the
// caller's cancellation: an attempt that has begun is finished and its result is written.
//
// An attempt without a response after hangingAfter moves to the class of hanging attempts, so that it leaves its room
// to others. It stays where it is if its endpoint is slow already, or if too many attempts hang.
//
// The result is written even where the endpoint was disabled meanwhile: a success counts, and anything else cancels the
// delivery (section 3.5).
func (d *deliverer) deliver(ctx context.Context, q *endpointQueue, kind class, j job) {
	began := d.s.clock()
	responded := false // guarded by mu, as is kind
	hangs := time.AfterFunc(hangingAfter, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if !responded && kind != slow && d.inFlight[hanging] < maxHanging {
			d.inFlight[kind]--
			kind = hanging
			d.inFlight[kind]++
			d.next(ctx, q)
		}
	})
	// The lock mu is not held during the attempt: it may take ten seconds.
	o := d.s.attempt(ctx, j)
	took := d.s.clock().Sub(began)

	d.mu.Lock()
	responded = true
	hangs.Stop()
	// The room is free when the receiver has replied. The write of the outcome may take longer, and q.answered bounds
	// how many wait for it.
	q.inFlight--
	d.inFlight[kind]--
	q.answered++
	q.update(o, took)
	d.next(ctx, q)
	d.mu.Unlock()

	if d.write(ctx, o) {
		// Only an outcome that counted is reported to the host.
		d.notifyExhausted(ctx, o)
		if now := d.s.now(); o.after.Status == DeliveryPending && o.after.DueAt.After(now) {
			// The wake timer finds the retry without a poll.
			d.onRetry(now, o.after.DueAt)
		}
	}

	// A disabling that this process learns from the outcome empties the queue of the endpoint.
	var back []*outcome
	d.mu.Lock()
	q.answered--
	if o.cancelling {
		back = d.halt(q) // The endpoint was disabled or deleted.
	}
	d.next(ctx, q)
	// With half of its room free again, the dispatch of the company's facts can go on.
	resume := d.pauses[q.endpoint.CompanyID] && q.more == 0 && d.leasable(q) >= d.maxLeased(q)/2
	d.mu.Unlock()
	if resume {
		d.resume(q.endpoint.CompanyID)
	}
	d.release(ctx, back)
	d.ended()
}

// notifyExhausted counts and logs a delivery whose written outcome is FAILED, and notifies the host. It does nothing
// for any other outcome.
func (d *deliverer) notifyExhausted(ctx context.Context, o *outcome) {
	failed := o.after
	if failed.Status != DeliveryFailed {
		return
	}
	id := slog.String("delivery", failed.ID.String())
	d.s.telemetry.exhaust(ctx, failed.Type)
	d.s.log.WarnContext(ctx, "a webhook delivery is exhausted", slog.String("endpoint", failed.EndpointID.String()), id,
		slog.String("type", string(failed.Type)), slog.Int("status", o.attempt.Status))
	d.exhausted.notify(ctx, showDelivery(failed, o.at), id)
}

// next starts what there is room for after an attempt has ended. The endpoint queues that have waited longest come
// first, and no more of them are tried than there is room for. The caller holds the lock.
//
// An endpoint whose class is full waits in the list of its class. So one full class does not stop the endpoints of
// another.
func (d *deliverer) next(ctx context.Context, q *endpointQueue) {
	if len(q.jobs) > 0 {
		d.hold(q)
	}
	for kind := range d.held {
		for len(d.held[kind]) > 0 && d.inFlight[kind] < class(kind).limit() {
			first := d.held[kind][0]
			d.held[kind][0] = nil
			d.held[kind] = d.held[kind][1:]
			// The queue may have been started or changed its class since it was put here.
			if first.held && first.heldIn == class(kind) {
				first.held = false
				d.start(ctx, first)
			}
		}
	}
	d.claimable(q)
}

// ended records that an attempt or a check is complete. ended is the last step of an attempt, so busy covers the write
// of its outcome and the release of others.
func (d *deliverer) ended() {
	d.mu.Lock()
	d.busy--
	d.idle.Broadcast()
	d.mu.Unlock()
}

// close stops the claiming and gives back the deliveries that were not tried, so that another process need not wait for
// their leases. Attempts in flight go on; see wait.
//
// It is called when [Service.Run] ends, or when the context of a single pass does.
func (d *deliverer) close(ctx context.Context) {
	var back []*outcome
	d.mu.Lock()
	d.closed = true
	for _, of := range d.queues {
		for _, q := range of {
			back = append(back, d.dequeue(q, func(job) bool { return true })...)
		}
	}
	d.mu.Unlock()
	d.release(ctx, back)
}

// wait returns when nothing is in flight and the host was notified of every exhausted delivery. The notifier comes
// last, since the outcome of the last attempt may be an exhausted delivery.
func (d *deliverer) wait() {
	d.mu.Lock()
	for d.busy > 0 || d.queued > 0 {
		d.idle.Wait()
	}
	d.mu.Unlock()
	d.exhausted.wait()
}
