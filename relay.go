package ticketing

// The outbox relay publishes and delivers facts. The worker (relay_worker.go) finds due work, relay_publish.go
// publishes facts to the host, relay_dispatch.go makes their deliveries, and relay_claim.go leases those that are due.
// The deliverer (relay_deliverer.go) sends them by endpoint (relay_queue.go): it makes attempts (relay_attempt.go),
// writes outcomes (relay_outcome.go) and retries (webhook_delivery.go), releases what it does not send
// (relay_release.go), and reports what failed for good (relay_notifier.go). relay_mail.go sends the mails of
// notifications. relay_prune.go removes what exceeds its retention.

import (
	"context"
	"errors"
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
	// lookGap is the shortest time between two looks for work, and between two rounds of hints, so that commits in quick
	// succession share one.
	lookGap     = 10 * time.Millisecond
	dispatchers = 4 // how many companies are dispatched at a time: one that waits for its gate delays no other
	claimers    = 2 // how many companies' deliveries are claimed at a time
)

// Run does the background work until the context ends. It dispatches facts, sends the resulting webhooks with
// [Config.Sender] and ticket mails with [Config.Mailer], publishes facts to [Config.OnFact], ends events, and prunes
// what exceeds its retention. After the end of the context it finishes the work in progress and returns nil. An attempt
// in flight has its ten seconds, and a mail that is being sent has twenty.
// Several processes on one database share the work.
//
// Run waits for a database that is unreachable or busy ([ErrUnavailable], [ErrBusy]), at the start and at any later
// time, and logs that. It returns an error only for what waiting does not end. That is a failure of [Service.Ready] on
// a service that was never ready, such as [ErrSecretKeys] or a database without its migrations. On a service that is
// bound to a transaction ([Service.WithStore]), Run fails at once.
func (s *Service) Run(ctx context.Context) error {
	if s.bound {
		return errBoundRun
	}
	// Nothing starts before the database is there, so a wrong configuration makes Run fail at the start.
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
	works.Go(func() { s.repeat(ctx, countInterval, "count orders", s.countDue) })
	works.Go(func() { w.watch(ctx) })
	works.Go(func() { w.follow(ctx) })
	// Several loops each, so that a company whose gate is held exclusively does not stop the others.
	for range dispatchers {
		works.Go(func() { s.serve(ctx, w.dispatchQueue, "dispatch facts", w.dispatch) })
	}
	works.Go(func() { s.serve(ctx, w.publishQueue, "publish facts", w.publish) })
	if w.deliverer != nil {
		for range claimers {
			works.Go(func() { s.serve(ctx, w.deliverer.claimQueue, "claim deliveries", w.deliverer.claim) })
		}
	}
	if w.mails != nil {
		stopRenewal := w.mails.renew(ctx)
		defer stopRenewal()
		for range claimers {
			works.Go(func() { s.serve(ctx, w.mails.claimQueue, "claim mails", w.mails.claim) })
		}
	}
	// No loop is left, so nothing is enqueued any more. What is queued is released for other processes, and attempts in
	// flight are finished.
	works.Wait()
	if w.mails != nil {
		w.mails.close(ctx)
	}
	if w.deliverer != nil {
		// close comes first. Otherwise wait would wait for all that is queued to be sent.
		w.deliverer.close(ctx)
		w.deliverer.wait()
	}
	if w.mails != nil {
		w.mails.drained()
		w.mails.end()
		w.mails.failed.wait()
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
	ctx context.Context, queue *workQueue[uuid.UUID], what string, work func(context.Context, uuid.UUID) error,
) {
	for {
		companyID, ok := queue.take(ctx)
		if !ok {
			return
		}
		s.report(ctx, what, work(ctx, companyID))
		queue.done(companyID)
	}
}

// report logs an error of background work. It is silent after the end of the context, when errors only say that the
// process is ending.
func (s *Service) report(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		s.log.ErrorContext(ctx, "background work failed", slog.String("work", what), slog.Any("error", err))
	}
}

// Wake has [Service.Run] in the same process look for work at once. A host calls it after committing a transaction of
// its own ([Service.WithStore]); without that the work is found at the next [Config.PollInterval]. The service's own
// commits need no call. It never blocks. One look serves all calls before it.
func (s *Service) Wake() {
	s.commits.send()
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// wakeFor has [Service.Run] in the same process do work that a commit of this service made due, without looking for it.
// Since is not set. It never blocks. On a bound service it does nothing: nothing is committed yet.
func (s *Service) wakeFor(work ...driver.DueWork) {
	if s.bound || len(work) == 0 || s.hints.add(work) {
		return
	}
	// Too much to remember; one look finds all of it.
	s.Wake()
}

// endDue ends the events whose scheduled end has passed.
func (s *Service) endDue(ctx context.Context) error {
	_, err := s.EndEvents(ctx)
	return err
}

// errNoSender is the error of [Service.SendWebhooks] on a service without a sender.
var errNoSender = errors.New("ticketing: there is no Config.Sender")

// SendWebhooks does once what [Service.Run] does continuously for webhooks. It is for a host that does not call Run,
// such as a scheduled job. It makes the deliveries of all facts, and sends these and everything else that was due when
// it began. It returns the number of attempts that it made, after all of them have ended. A delivery that failed is due
// again later.
//
// If the context ends, it starts no further attempt, waits for those in flight and returns the context's error. It does
// not call [Config.OnFact]. Without an OnFact it marks facts as handled, as every process does. SendWebhooks shares no
// queue with a Run of the same process. The locks and leases of the store divide the work between them, so facts that
// another one is dispatching are left to it.
func (s *Service) SendWebhooks(ctx context.Context) (int, error) {
	if s.bound {
		return 0, errBoundRun
	}
	if s.sender == nil {
		return 0, errNoSender
	}
	d := newDeliverer(s)
	d.once = true
	// A disabling in this process takes its deliveries out of this deliverer, too.
	s.deliverers.add(d)
	defer s.deliverers.remove(d)
	// At the end of the context what is queued is released, and attempts in flight are finished.
	stop := context.AfterFunc(ctx, func() { d.close(ctx) })
	defer stop()
	failed := s.dispatchAll(ctx, d)
	at := s.now()
	d.wait()
	// Each round claims as much as there is room for. A round that claims nothing shows that all due work is done.
	for claimed := 1; claimed > 0 && failed == nil && ctx.Err() == nil; {
		// The clock stepped back. The earlier time keeps deliveries that failed since then from being due already.
		if now := s.now(); now.Before(at) {
			at = now
		}
		claimed, failed = s.claimAll(ctx, d, at)
		d.wait()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.attempts, errors.Join(failed, ctx.Err())
}

// dispatchAll makes the deliveries of all facts, and enqueues those that the deliverer has room for. It repeats while a
// full batch shows that there may be more. The error of one company does not keep the facts of another from being
// dispatched.
func (s *Service) dispatchAll(ctx context.Context, d *deliverer) (failed error) {
	for more := true; more && failed == nil && ctx.Err() == nil; {
		more = false
		due, err := s.dueWork(ctx, driver.WorkQuery{
			At: s.now(), After: []driver.DueWork{{Kind: driver.WorkDispatch}}, Limit: lookBatch,
		})
		if err != nil {
			return err
		}
		for _, work := range due {
			done, err := s.dispatchCompany(ctx, work.CompanyID, d)
			failed = errors.Join(failed, err)
			// A full batch of a company, or a full list of companies, shows that more may wait.
			more = more || done.facts == factBatch || done.facts > 0 && len(due) == lookBatch
		}
	}
	return failed
}

// claimAll claims, for each company, a batch of the deliveries that were due at a time, and returns how many it
// claimed. It takes one batch of each company, so a company with many deliveries does not hold up the others.
func (s *Service) claimAll(ctx context.Context, d *deliverer, at time.Time) (claimed int, failed error) {
	due, err := s.dueWork(ctx, driver.WorkQuery{
		At: at, After: []driver.DueWork{{Kind: driver.WorkDeliver}}, Limit: lookBatch,
	})
	if err != nil {
		return 0, err
	}
	var companies []uuid.UUID
	for _, work := range due {
		d.waiting(driver.WebhookEndpointRef{CompanyID: work.CompanyID, Number: work.Endpoint})
		companies = append(companies, work.CompanyID)
	}
	for _, companyID := range distinct(companies) {
		some, err := d.claimSome(ctx, companyID, at)
		failed = errors.Join(failed, err)
		claimed += some
	}
	return claimed, failed
}
