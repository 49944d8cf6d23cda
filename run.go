package ticketing

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"
)

const (
	endInterval = 20 * time.Second // an event ends within a minute after its end
	factBatch   = 200

	lookBatch = 1000
	// lookGap is the least time between two looks for work: commits that come together are found together.
	lookGap     = 10 * time.Millisecond
	dispatchers = 4 // how many companies are dispatched at a time: one whose gate is closed keeps no other waiting
	claimers    = 2
)

// Run does the background work until the context ends: it makes deliveries of what webhooks tell and sends them with
// [Config.Sender], tells facts to [Config.OnFact], ends events, and prunes what is older than it is to be kept. It
// returns nil then, after what it is in the middle of: a delivery that is being tried has its ten seconds. Several
// processes on one database share the work.
//
// A database that cannot be reached or is busy ([ErrUnavailable], [ErrBusy]) is waited for, at the start as at any time
// after it, and that is logged. Before the context ends Run returns only what waiting does not end: where the
// service was never ready, any other failure of [Service.Ready], such as [ErrSecretKeys] or a database that is not migrated,
// and at once an error where the service is bound to a transaction ([Service.WithStore]).
func (s *Service) Run(ctx context.Context) error {
	if s.bound {
		return errBoundRun
	}
	if err := s.awaitReady(ctx); err != nil || ctx.Err() != nil {
		return err
	}
	w := s.newWorker()
	if w.courier != nil {
		s.couriers.add(w.courier)
		defer s.couriers.remove(w.courier)
	}
	// Each work has a loop of its own: a host that takes its time with facts keeps no event from ending and no webhook
	// from being sent.
	var works sync.WaitGroup
	works.Go(func() { s.repeat(ctx, endInterval, "end events", s.endDue) })
	works.Go(func() { s.repeat(ctx, pruneInterval, "prune", s.prune) })
	works.Go(func() { w.watch(ctx) })
	for range dispatchers {
		works.Go(func() { s.serve(ctx, w.dispatches, "dispatch facts", w.dispatch) })
	}
	works.Go(func() { s.serve(ctx, w.tells, "tell facts", w.tell) })
	if w.courier != nil {
		for range claimers {
			works.Go(func() { s.serve(ctx, w.courier.claims, "claim deliveries", w.courier.claim) })
		}
	}
	works.Wait()
	if w.courier != nil {
		w.courier.close(ctx)
		w.courier.wait()
	}
	return nil
}

// repeat does a work now and at every interval, until the context ends. What goes wrong is logged; the work is there
// again at the next round.
func (s *Service) repeat(
	ctx context.Context, interval time.Duration, what string, work func(context.Context) error,
) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		s.report(ctx, what, work(ctx))
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// serve does the work of one company after another, until the context ends.
func (s *Service) serve(
	ctx context.Context, turns *turns[uuid.UUID], what string, work func(context.Context, uuid.UUID) error,
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

func (s *Service) report(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		s.log.ErrorContext(ctx, "background work failed", slog.String("work", what), slog.Any("error", err))
	}
}

// Wake tells [Service.Run] of the same process that there is work. The service's own commits do it by themselves; after
// one of its own transaction a host calls it, or the work is found at the next [Config.PollInterval].
func (s *Service) Wake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *Service) endDue(ctx context.Context) error {
	_, err := s.EndEvents(ctx)
	return err
}

// worker is what [Service.Run] knows of the work that waits in the store.
type worker struct {
	s                 *Service
	courier           *courier // nil: this process sends nothing
	dispatches, tells *turns[uuid.UUID]
	alarm             *alarm
}

func (s *Service) newWorker() *worker {
	w := &worker{s: s, dispatches: newTurns[uuid.UUID](), tells: newTurns[uuid.UUID](), alarm: newAlarm()}
	if s.sender != nil {
		w.courier = newCourier(s)
		w.courier.later = w.alarm.set
		w.courier.relieved = w.dispatches.add
	}
	return w
}

// watch looks for work in the store, all of it with one question: at every interval, when a commit of this process
// wakes it, and when the wait of a delivery that this process has tried is over.
func (w *worker) watch(ctx context.Context) {
	defer w.alarm.stop()
	ticker := time.NewTicker(w.s.poll)
	defer ticker.Stop()
	gap := time.NewTimer(0)
	defer gap.Stop()
	for {
		select { // Work may come as fast as it likes.
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
			if w.courier != nil {
				w.courier.grant()
			}
		case <-w.s.wake:
		case <-w.alarm.rings:
		}
	}
}

// look hands the work that is due to those who do it, and tells how old the oldest of it is that webhooks wait for.
func (w *worker) look(ctx context.Context) error {
	asked := []DueWork{{Kind: WorkDispatch}}
	if w.s.onFact != nil {
		asked = append(asked, DueWork{Kind: WorkTell})
	}
	if w.courier != nil {
		asked = append(asked, DueWork{Kind: WorkDeliver})
	}
	now := w.s.now()
	oldest := now
	for len(asked) > 0 {
		due, err := w.s.dueWork(ctx, WorkQuery{At: now, After: asked, Limit: lookBatch})
		if err != nil {
			return err
		}
		counts, last := make(map[WorkKind]int), make(map[WorkKind]DueWork)
		for _, work := range due {
			counts[work.Kind]++
			last[work.Kind] = work
			if work.Kind != WorkTell && work.Since.Before(oldest) {
				oldest = work.Since
			}
			switch work.Kind {
			case WorkDispatch:
				w.dispatches.add(work.CompanyID)
			case WorkTell:
				w.tells.add(work.CompanyID)
			case WorkDeliver:
				w.courier.waiting(WebhookEndpointRef{CompanyID: work.CompanyID, Number: work.Endpoint})
			case WorkPrune, WorkPruneFacts: // They have a loop of their own.
			}
		}
		asked = asked[:0]
		for kind, count := range counts {
			if count >= lookBatch {
				asked = append(asked, last[kind])
			}
		}
	}
	if w.courier != nil {
		w.s.telemetry.backlog.Record(ctx, now.Sub(oldest).Seconds())
	}
	return nil
}

func (s *Service) dueWork(ctx context.Context, query WorkQuery) (due []DueWork, err error) {
	err = s.background.View(ctx, func(ctx context.Context, tx ReadTx) error {
		due, err = tx.DueWork(ctx, query)
		return err
	})
	return due, err
}

// dispatch makes the deliveries of a company's next facts, and sees to it that the rest has its turn behind the other
// companies. Where they go to endpoints alone that have more than they take already, the facts wait in the store.
func (w *worker) dispatch(ctx context.Context, companyID uuid.UUID) error {
	if w.courier != nil && w.courier.paused(companyID) {
		return nil
	}
	done, err := w.s.dispatchCompany(ctx, companyID, w.courier)
	if err != nil || done.facts == 0 {
		return err
	}
	if w.s.onFact != nil {
		w.tells.add(companyID)
	}
	if done.facts == factBatch && (w.courier == nil || !w.courier.pause(companyID, done.counts)) {
		w.dispatches.add(companyID)
	}
	return nil
}

func (w *worker) tell(ctx context.Context, companyID uuid.UUID) error {
	leased, err := w.s.tellCompany(ctx, companyID)
	if leased == factBatch {
		w.tells.add(companyID)
	}
	return err
}
