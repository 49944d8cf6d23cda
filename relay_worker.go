package ticketing

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// worker finds the work that waits in the store and distributes it to the loops of [Service.Run]. It keeps no state
// that matters: whatever is lost with the process is found again in the store.
//
// Commits of this process name the work that they made due (see [Service.wakeFor]), and only the rest is looked for.
// Claims and locks decide what is done, so a lost signal costs a delay of one interval.
type worker struct {
	s                           *Service
	deliverer                   *deliverer            // nil: this process sends no webhooks
	mails                       *mailDeliverer        // nil: this process sends no mails
	dispatchQueue, publishQueue *workQueue[uuid.UUID] // companies with facts to dispatch, and to publish to the host
	timers                      *wakeTimers           // wakes the worker when the wait of a delivery is over
	idle                        bool                  // the last look found nothing
}

// nodeInterval is the time for which each node of a cluster adds to the interval of an idle worker. So an idle process
// asks fewer than four nodes a second, however many there are.
const nodeInterval = 300 * time.Millisecond

// interval returns how long after a look the next one is due. Work that other processes left on a large cluster waits
// longer while nothing else is due. This process finds its own work at once.
func (w *worker) interval() time.Duration {
	nodes, ok := w.s.store.(driver.NodesStore)
	if !ok || !w.idle || nodes.Nodes() <= 1 {
		return w.s.poll
	}
	return max(w.s.poll, time.Duration(nodes.Nodes())*nodeInterval)
}

// newWorker returns a worker. It has a deliverer if the service has a sender, and one of mails if it has a mailer. Both
// set the worker's timers. The deliverer of webhooks also has a company dispatched again when its endpoints have room.
func (s *Service) newWorker() *worker {
	w := &worker{
		s: s, dispatchQueue: newWorkQueue[uuid.UUID](), publishQueue: newWorkQueue[uuid.UUID](), timers: newWakeTimers(),
	}
	if s.sender != nil {
		w.deliverer = newDeliverer(s)
		w.deliverer.onRetry = w.timers.set
		w.deliverer.onResume = w.dispatchQueue.add
	}
	if s.mailer != nil {
		w.mails = newMailDeliverer(s)
		w.mails.onRetry = w.timers.set
	}
	return w
}

// watch looks for work in the store: at every poll interval, at a call of [Service.Wake], and when the wait of a
// delivery or mail that this process tried is over. One query finds work of every kind, so an idle service asks little.
func (w *worker) watch(ctx context.Context) {
	defer w.timers.stop()
	interval := w.s.poll
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	gap := time.NewTimer(0)
	defer gap.Stop()
	look := w.look
	for {
		select { // No more often than every lookGap, however many signals there are.
		case <-gap.C:
		case <-ctx.Done():
			return
		}
		w.s.report(ctx, "look for work", look(ctx))
		if next := w.interval(); next != interval {
			interval = next
			ticker.Reset(interval)
		}
		gap.Reset(lookGap)
		look = w.look
		select {
		case <-ctx.Done():
			return
		// Failing endpoints get their share of deliveries at each interval and not at each look, or other signals would
		// multiply it.
		case <-ticker.C:
			if w.deliverer != nil {
				w.deliverer.grant()
			}
		case <-w.s.wake:
		case <-w.timers.wake:
			look = w.lookForRetries
		}
	}
}

// follow enqueues the work that commits of this process made due, without asking the store. After each round it waits
// for lookGap, so that facts of commits in quick succession share a dispatch. A slow look does not hold it up.
func (w *worker) follow(ctx context.Context) {
	gap := time.NewTimer(0)
	defer gap.Stop()
	for {
		select {
		case <-gap.C:
		case <-ctx.Done():
			return
		}
		select {
		case <-w.s.hints.ready:
		case <-ctx.Done():
			return
		}
		for _, work := range w.s.hints.take() {
			w.enqueue(work)
		}
		gap.Reset(lookGap)
	}
}

// look enqueues all work that is due. It records the age of the oldest dispatch or delivery, and that of the oldest
// mail. Work that came and was done between two looks is in neither age.
func (w *worker) look(ctx context.Context) error {
	asked := []driver.WorkKind{driver.WorkDispatch}
	if w.s.onFact != nil {
		asked = append(asked, driver.WorkPublish)
	}
	now := w.s.now()
	oldest, err := w.enqueueDue(ctx, now, append(asked, w.retried()...))
	if err != nil {
		return err
	}
	w.idle = !slices.ContainsFunc(slices.Collect(maps.Values(oldest)), now.After)
	if w.deliverer != nil {
		// The publishing of facts is not part of the backlog of webhooks.
		since := earlier(oldest[driver.WorkDispatch], oldest[driver.WorkDeliver])
		w.s.telemetry.backlog.Record(ctx, now.Sub(since).Seconds())
	}
	if w.mails != nil {
		w.s.telemetry.mailBacklog.Record(ctx, now.Sub(oldest[driver.WorkMail]).Seconds())
		w.s.telemetry.mailServer(ctx, w.mails.waiting())
	}
	return nil
}

// lookForRetries enqueues the deliveries and mails that are due.
func (w *worker) lookForRetries(ctx context.Context) error {
	_, err := w.enqueueDue(ctx, w.s.now(), w.retried())
	return err
}

// retried returns the kinds of work that this process tries again.
func (w *worker) retried() (kinds []driver.WorkKind) {
	if w.deliverer != nil {
		kinds = append(kinds, driver.WorkDeliver)
	}
	if w.mails != nil {
		kinds = append(kinds, driver.WorkMail)
	}
	return kinds
}

// enqueueDue enqueues the work of some kinds that is due now. It repeats for each kind whose list was full. It returns
// since when the oldest work of each kind has been due: now, if none is.
func (w *worker) enqueueDue(
	ctx context.Context, now time.Time, kinds []driver.WorkKind,
) (map[driver.WorkKind]time.Time, error) {
	oldest := make(map[driver.WorkKind]time.Time, len(kinds))
	asked := make([]driver.DueWork, len(kinds))
	for i, kind := range kinds {
		oldest[kind], asked[i] = now, driver.DueWork{Kind: kind}
	}
	// A kind whose list was full is asked for again, after its last item.
	for len(asked) > 0 {
		due, err := w.s.dueWork(ctx, driver.WorkQuery{At: now, After: asked, Limit: lookBatch})
		if err != nil {
			return nil, err
		}
		// A list that is shorter than its limit holds all that is due of its kind.
		counts, last := make(map[driver.WorkKind]int), make(map[driver.WorkKind]driver.DueWork)
		for _, work := range due {
			counts[work.Kind]++
			last[work.Kind] = work
			oldest[work.Kind] = earlier(oldest[work.Kind], work.Since)
			w.enqueue(work)
		}
		asked = asked[:0]
		for kind, count := range counts {
			if count >= lookBatch {
				asked = append(asked, last[kind])
			}
		}
	}
	return oldest, nil
}

// enqueue gives work to the loop that does it, unless this process does not do work of its kind. Enqueuing is not
// claiming: several processes may enqueue the same company, and the locks and leases of the store decide which of them
// does the work.
func (w *worker) enqueue(work driver.DueWork) {
	switch work.Kind {
	case driver.WorkDispatch:
		w.dispatchQueue.add(work.CompanyID)
	case driver.WorkPublish:
		w.publishQueue.add(work.CompanyID)
	case driver.WorkMail:
		if w.mails != nil {
			w.mails.claimQueue.add(work.CompanyID)
		}
	case driver.WorkDeliver:
		if w.deliverer != nil {
			w.deliverer.waiting(driver.WebhookEndpointRef{CompanyID: work.CompanyID, Number: work.Endpoint})
		}
	// They have loops of their own.
	case driver.WorkPrune, driver.WorkPruneFacts, driver.WorkPruneMail, driver.WorkCount:
	}
}

// earlier returns the earlier of two times.
func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// dueWork returns the work that is due. It only reads: claiming the work decides which process does it.
func (s *Service) dueWork(ctx context.Context, query driver.WorkQuery) (due []driver.DueWork, err error) {
	err = s.background.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		due, err = tx.DueWork(ctx, query)
		return err
	})
	return due, err
}

// dispatch makes the deliveries of a company's next batch of facts. If there may be more, the company is queued again
// after the others, so a company with many facts cannot hold up the rest. The facts wait in the store while all
// endpoints that they go to have full queues (see deliverer.pause).
func (w *worker) dispatch(ctx context.Context, companyID uuid.UUID) error {
	if w.deliverer != nil && w.deliverer.paused(companyID) {
		return nil
	}
	done, err := w.s.dispatchCompany(ctx, companyID, w.deliverer)
	if err != nil || done.facts == 0 {
		return err
	}
	// Facts that were dispatched are due for the host, and need not wait for the next look.
	if w.s.onFact != nil {
		w.publishQueue.add(companyID)
	}
	// The mails of these sales are due, too.
	if w.mails != nil && done.notifications > 0 {
		w.mails.claimQueue.add(companyID)
	}
	if done.facts == factBatch && (w.deliverer == nil || !w.deliverer.pause(companyID, done.counts)) {
		w.dispatchQueue.add(companyID)
	}
	return nil
}

// publish publishes a company's next batch of facts to the host, and queues the company again after a full batch. One
// loop publishes, so Run calls the host with one fact at a time.
func (w *worker) publish(ctx context.Context, companyID uuid.UUID) error {
	leased, err := w.s.publishFacts(ctx, companyID)
	if leased == factBatch {
		w.publishQueue.add(companyID)
	}
	return err
}

// workQueue is a work queue of keys. take returns the key that has waited longest. A key is taken by one worker at a
// time, so no two of them work on one company. A key that gets new work while it is taken is queued again after the
// others, so none of its work is lost and no key starves the rest. It is safe for concurrent use.
type workQueue[K comparable] struct {
	mu      sync.Mutex
	waiting []K // oldest first, without repetitions
	// taken are the keys that a worker holds. known are the keys with work that no worker has taken yet: those that
	// wait, and those that got new work while they are taken.
	taken, known map[K]bool
	ready        chan struct{} // signals that a key waits; wakes one worker
}

// newWorkQueue returns an empty queue.
func newWorkQueue[K comparable]() *workQueue[K] {
	return &workQueue[K]{taken: make(map[K]bool), known: make(map[K]bool), ready: make(chan struct{}, 1)}
}

// add queues a key. It does nothing if the key is queued already.
func (q *workQueue[K]) add(key K) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.known[key] {
		return
	}
	q.known[key] = true
	if !q.taken[key] {
		q.wait(key)
	}
}

// wait appends a key and wakes a worker. The caller has the lock.
func (q *workQueue[K]) wait(key K) {
	q.waiting = append(q.waiting, key)
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// take returns the next key, and waits for one if there is none. It returns false after the context has ended. The
// caller calls done when its work is finished.
func (q *workQueue[K]) take(ctx context.Context) (key K, ok bool) {
	for ctx.Err() == nil {
		q.mu.Lock()
		if len(q.waiting) > 0 {
			key, q.waiting = q.waiting[0], q.waiting[1:]
			// The key may be queued again from here on: work that comes now is not part of what the taker found.
			delete(q.known, key)
			q.taken[key] = true
			if len(q.waiting) > 0 { // The next key is for another worker.
				select {
				case q.ready <- struct{}{}:
				default:
				}
			}
			q.mu.Unlock()
			return key, true
		}
		q.mu.Unlock()
		select {
		case <-q.ready:
		case <-ctx.Done():
		}
	}
	return key, false
}

// done ends the work on a key and queues the key again if it got new work meanwhile.
func (q *workQueue[K]) done(key K) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.taken, key)
	if q.known[key] {
		q.wait(key)
	}
}

const (
	// timerStep is the grid to which wake times are rounded up. Times that fall on one step share a timer.
	timerStep = 50 * time.Millisecond
	// maxTimers is how many timers may be set at a time. The next poll finds the work that is due at any further time
	// ([Config.PollInterval]).
	maxTimers = 10_000
)

// maxHints is how many hints wait for a worker. At one more, the worker looks for all work instead.
const maxHints = 1000

// workHints are the work that commits of this process made due, each once, until a worker takes them. It is safe for
// concurrent use. A look finds the same work. So hints may be lost, and their number is bounded, also while no worker
// runs.
type workHints struct {
	ready chan struct{} // signals that there are hints

	mu   sync.Mutex
	work map[driver.DueWork]bool
}

func newWorkHints() workHints {
	return workHints{ready: make(chan struct{}, 1), work: make(map[driver.DueWork]bool)}
}

// add adds work, whose Since is zero. It reports false, and forgets all hints, if there are too many.
func (h *workHints) add(work []driver.DueWork) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, one := range work {
		h.work[one] = true
	}
	if len(h.work) > maxHints {
		clear(h.work)
		return false
	}
	select {
	case h.ready <- struct{}{}:
	default:
	}
	return true
}

// take returns the hints and forgets them.
func (h *workHints) take() []driver.DueWork {
	h.mu.Lock()
	defer h.mu.Unlock()
	work := slices.Collect(maps.Keys(h.work))
	clear(h.work)
	return work
}

// wakeTimers wakes the worker at set times, so that a retry does not wait for the next poll. A value on wake says that
// at least one of these times has come. Signals coalesce, since wake has a buffer of one. It is safe for concurrent
// use. The poll finds the same work later. So timers may be lost, and their number is bounded.
type wakeTimers struct {
	// wake is read by the worker, which then looks for deliveries and mails that are due.
	wake chan struct{}

	// The lock mu guards the fields below. The timers are by step, counted in steps from the Unix epoch.
	mu      sync.Mutex
	timers  map[int64]*time.Timer
	stopped bool
}

func newWakeTimers() *wakeTimers {
	return &wakeTimers{wake: make(chan struct{}, 1), timers: make(map[int64]*time.Timer)}
}

// set asks for a signal at a time. now is the service's clock, which need not be that of the machine: the timer runs
// for the difference. If the time has passed, it wakes the worker at once.
func (t *wakeTimers) set(now, at time.Time) {
	step := (at.UnixMilli() + timerStep.Milliseconds() - 1) / timerStep.Milliseconds()
	t.mu.Lock()
	defer t.mu.Unlock()
	// A time that finds no room is found by a poll, a little later.
	if _, set := t.timers[step]; set || t.stopped || len(t.timers) >= maxTimers {
		return
	}
	// The step is rounded up, so that the delivery is due when the timer fires.
	wait := time.UnixMilli(step * timerStep.Milliseconds()).Sub(now)
	t.timers[step] = time.AfterFunc(wait, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.timers, step)
		// A signal that was not taken yet stands for this one as well.
		select {
		case t.wake <- struct{}{}:
		default:
		}
	})
}

// stop stops all timers. A later call of set does nothing.
func (t *wakeTimers) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
	for _, timer := range t.timers {
		timer.Stop()
	}
	clear(t.timers)
}
