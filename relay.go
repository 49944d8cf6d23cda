package ticketing

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// Bounds of background work.
const (
	endInterval = 20 * time.Second // an event must end within a minute after its scheduled end
	factBatch   = 200              // the most facts in one transaction

	lookBatch = 1000 // the most items of each kind that one look for work returns
	// lookGap is the shortest time between two looks for work, so that commits in quick succession share one.
	lookGap     = 10 * time.Millisecond
	dispatchers = 4 // how many companies are dispatched at a time: one that waits for its gate delays no other
	claimers    = 2 // how many companies' deliveries are claimed at a time
)

// Run does the background work until the context ends. It dispatches facts, sends the resulting webhooks with
// [Config.Sender], publishes facts to [Config.OnFact], ends events, and prunes what exceeds its retention. After the
// end of the context it finishes the work in progress and returns nil; an attempt in flight has its ten seconds.
// Several processes on one database share the work.
//
// Run waits for a database that is unreachable or busy ([ErrUnavailable], [ErrBusy]), at the start and at any later
// time, and logs that. It returns an error only for what waiting does not end. That is a failure of [Service.Ready] on
// a service that was never ready, such as [ErrSecretKeys] or a database without its migrations. It is also, at once, a
// service that is bound to a transaction ([Service.WithStore]).
func (s *Service) Run(ctx context.Context) error {
	if s.bound {
		return errBoundRun
	}
	if err := s.awaitReady(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	w := s.newWorker()
	if w.deliverer != nil {
		s.deliverers.add(w.deliverer)
		defer s.deliverers.remove(w.deliverer)
	}
	// Each kind of work has its own loop. A host that is slow to accept facts delays neither the end of an event nor a
	// webhook.
	var works sync.WaitGroup
	works.Go(func() { s.repeat(ctx, endInterval, "end events", s.endDue) })
	works.Go(func() { s.repeat(ctx, pruneInterval, "prune", s.prune) })
	works.Go(func() { w.watch(ctx) })
	// Several loops each, so that a company whose gate is held exclusively does not stop the others.
	for range dispatchers {
		works.Go(func() { s.serve(ctx, w.dispatchQueue, "dispatch facts", w.dispatch) })
	}
	works.Go(func() { s.serve(ctx, w.publishQueue, "tell facts", w.publish) })
	if w.deliverer != nil {
		for range claimers {
			works.Go(func() { s.serve(ctx, w.deliverer.claims, "claim deliveries", w.deliverer.claim) })
		}
	}
	// No loop is left, so nothing is enqueued any more. What is queued is released for other processes, and attempts in
	// flight are finished.
	works.Wait()
	if w.deliverer != nil {
		w.deliverer.close(ctx)
		w.deliverer.wait()
	}
	return nil
}

// repeat does a work now and at every interval, until the context ends. An error is logged; the next round tries again.
func (s *Service) repeat(
	ctx context.Context, interval time.Duration, what string, work func(context.Context) error,
) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		// The first round starts at once, so a restart does not delay the work by an interval.
		s.report(ctx, what, work(ctx))
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// serve does the work of one company after another, until the context ends. An error is logged; the company's work is
// found again by the next look.
func (s *Service) serve(
	ctx context.Context, turns *workQueue[uuid.UUID], what string, work func(context.Context, uuid.UUID) error,
) {
	for {
		companyID, ok := turns.take(ctx)
		if !ok {
			return
		}
		s.report(ctx, what, work(ctx, companyID))
		turns.done(companyID)
	}
}

// report logs an error of background work. It is silent after the end of the context, when errors only say that the
// process is ending.
func (s *Service) report(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		s.log.ErrorContext(ctx, "background work failed", slog.String("work", what), slog.Any("error", err))
	}
}

// Wake signals [Service.Run] in the same process that there is work. The service calls it after its own commits. A host
// calls it after committing a transaction of its own ([Service.WithStore]); without that the work is found at the next
// [Config.PollInterval]. It never blocks.
func (s *Service) Wake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// endDue ends the events whose scheduled end has passed.
func (s *Service) endDue(ctx context.Context) error {
	_, err := s.EndEvents(ctx)
	return err
}

// worker finds the work that waits in the store and distributes it to the loops of [Service.Run]. It keeps no state
// that matters: whatever is lost with the process is found again in the store.
type worker struct {
	s                           *Service
	deliverer                   *deliverer            // nil: this process sends nothing
	dispatchQueue, publishQueue *workQueue[uuid.UUID] // companies with facts to dispatch, and to publish to the host
	timers                      *wakeTimers           // wakes the worker when the wait of a delivery is over
}

// newWorker returns a worker. It has a deliverer if the service has a sender. The deliverer sets the worker's timers,
// and has a company dispatched again when its endpoints have room.
func (s *Service) newWorker() *worker {
	w := &worker{s: s, dispatchQueue: newWorkQueue[uuid.UUID](), publishQueue: newWorkQueue[uuid.UUID](), timers: newWakeTimers()}
	if s.sender != nil {
		w.deliverer = newDeliverer(s)
		w.deliverer.onRetry = w.timers.set
		w.deliverer.onResume = w.dispatchQueue.add
	}
	return w
}

// watch looks for work in the store: at every poll interval, after a commit of this process, and when the wait of a
// delivery that this process tried is over. One query finds work of every kind, so an idle service asks little.
func (w *worker) watch(ctx context.Context) {
	defer w.timers.stop()
	ticker := time.NewTicker(w.s.poll)
	defer ticker.Stop()
	gap := time.NewTimer(0)
	defer gap.Stop()
	for {
		select { // No more often than every lookGap, however many commits there are.
		case <-gap.C:
		case <-ctx.Done():
			return
		}
		w.s.report(ctx, "look for work", w.look(ctx))
		gap.Reset(lookGap)
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if w.deliverer != nil {
				w.deliverer.grant()
			}
		case <-w.s.wake:
		case <-w.timers.wake:
		}
	}
}

// look enqueues the work that is due, and records the age of the oldest dispatch or delivery. It repeats for each kind
// whose list was full. Enqueuing is not claiming: several processes may enqueue the same company, and the locks and
// leases of the store decide which of them does the work.
func (w *worker) look(ctx context.Context) error {
	asked := []driver.DueWork{{Kind: driver.WorkDispatch}}
	if w.s.onFact != nil {
		asked = append(asked, driver.DueWork{Kind: driver.WorkPublish})
	}
	if w.deliverer != nil {
		asked = append(asked, driver.DueWork{Kind: driver.WorkDeliver})
	}
	now := w.s.now()
	// A backlog of zero means that nothing is due.
	oldest := now
	// A kind whose list was full is asked for again, after its last item.
	for len(asked) > 0 {
		due, err := w.s.dueWork(ctx, driver.WorkQuery{At: now, After: asked, Limit: lookBatch})
		if err != nil {
			return err
		}
		counts, last := make(map[driver.WorkKind]int), make(map[driver.WorkKind]driver.DueWork)
		for _, work := range due {
			counts[work.Kind]++
			last[work.Kind] = work
			// The publishing of facts is not part of the backlog of webhooks.
			if work.Kind != driver.WorkPublish && work.Since.Before(oldest) {
				oldest = work.Since
			}
			switch work.Kind {
			case driver.WorkDispatch:
				w.dispatchQueue.add(work.CompanyID)
			case driver.WorkPublish:
				w.publishQueue.add(work.CompanyID)
			case driver.WorkDeliver:
				w.deliverer.waiting(driver.WebhookEndpointRef{CompanyID: work.CompanyID, Number: work.Endpoint})
			case driver.WorkPrune, driver.WorkPruneFacts: // These have a loop of their own.
			}
		}
		asked = asked[:0]
		for kind, count := range counts {
			if count >= lookBatch {
				asked = append(asked, last[kind])
			}
		}
	}
	if w.deliverer != nil {
		w.s.telemetry.backlog.Record(ctx, now.Sub(oldest).Seconds())
	}
	return nil
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
	if w.s.onFact != nil {
		w.publishQueue.add(companyID)
	}
	if done.facts == factBatch && (w.deliverer == nil || !w.deliverer.pause(companyID, done.counts)) {
		w.dispatchQueue.add(companyID)
	}
	return nil
}

// publish publishes a company's next batch of facts to the host, and queues the company again after a full batch.
func (w *worker) publish(ctx context.Context, companyID uuid.UUID) error {
	leased, err := w.s.publishFacts(ctx, companyID)
	if leased == factBatch {
		w.publishQueue.add(companyID)
	}
	return err
}
