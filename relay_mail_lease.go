package ticketing

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// claimedMails are the notifications of a claim.
type claimedMails struct {
	leased  []driver.Notification
	expired []driver.Notification // FAILED now
}

// claimNotifications leases due notifications in one transaction. Those that are too old fail instead. The locks of
// their rows keep other processes from the same ones. It needs no gate: what may be sent is decided when it is sent.
//
// The lease begins now and not at claim.At, which may lie in the past.
func (s *Service) claimNotifications(
	ctx context.Context, claim driver.NotificationClaim,
) (claimed claimedMails, err error) {
	now := s.now()
	claim.Until = now.Add(mailLease)
	err = s.background.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		claimed = claimedMails{}
		if _, err := tx.Begin(ctx, driver.BeginOptions{LockTimeout: claimPatience}); err != nil {
			return err
		}
		taken, err := tx.ClaimNotifications(ctx, claim)
		if err != nil {
			return err
		}
		for _, n := range taken {
			if isMailExpired(n, now) {
				claimed.expired = append(claimed.expired, finishNotification(n, NotificationFailed, reasonExpired, now))
			} else {
				claimed.leased = append(claimed.leased, n)
			}
		}
		if len(claimed.expired) == 0 {
			return nil
		}
		return tx.UpdateNotifications(ctx, claimed.expired)
	})
	if err != nil {
		return claimedMails{}, err
	}
	return claimed, nil
}

// release ends the leases of mails that were not tried, so that they are due again at once. If that fails, the leases
// run out by themselves. Each transaction is of one company, since groups may be confined to one.
func (m *mailDeliverer) release(ctx context.Context, jobs []*mailJob) {
	ctx = context.WithoutCancel(ctx)
	companies := make(map[uuid.UUID][]*mailOutcome)
	for _, job := range jobs {
		companyID := job.notification.CompanyID
		companies[companyID] = append(companies[companyID], &mailOutcome{job: job, result: mailUnsent, at: m.s.now()})
	}
	for _, unsent := range companies {
		m.s.report(ctx, "release mails", m.writeOutcomes(ctx, 0, unsent))
	}
}

// renew renews the leases of all mails that this process holds, until the returned function is called. A mail may take
// longer than a lease, and must not be sent by another process meanwhile.
func (m *mailDeliverer) renew(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var renewal sync.WaitGroup
	renewal.Go(func() {
		ticker := time.NewTicker(mailRenewal)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				m.s.report(ctx, "renew the leases of mails", m.renewOnce(ctx))
			}
		}
	})
	return func() {
		cancel()
		renewal.Wait()
	}
}

// renewOnce gives each mail that this process holds a new lease, unless another process has taken it. Each transaction
// is of one company, since groups may be confined to one.
func (m *mailDeliverer) renewOnce(ctx context.Context) (failed error) {
	until := m.s.now().Add(mailLease)
	leases := make(map[driver.NotificationRef][]time.Time)
	companies := make(map[uuid.UUID][]driver.NotificationRef)
	m.mu.Lock()
	for _, job := range slices.Concat(m.jobs, m.sending) {
		ref := job.notification.Ref()
		leases[ref] = slices.Clone(job.leases)
		companies[ref.CompanyID] = append(companies[ref.CompanyID], ref)
		// The new lease counts as this process's before it is written, so that an outcome which is written at the same
		// time counts under either.
		job.leases = append(job.leases, until)
	}
	m.mu.Unlock()
	for _, refs := range companies {
		err := m.s.background.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
			if _, err := tx.Begin(ctx, driver.BeginOptions{LockTimeout: claimPatience}); err != nil {
				return err
			}
			kept, err := tx.LockNotifications(ctx, refs)
			if err != nil {
				return err
			}
			var renewed []driver.Notification
			for i, n := range kept {
				if n.Status == NotificationPending && hasLease(leases[refs[i]], n.LeasedUntil) {
					n.DueAt, n.LeasedUntil = until, until
					renewed = append(renewed, n)
				}
			}
			return tx.UpdateNotifications(ctx, renewed)
		})
		failed = errors.Join(failed, err)
	}
	return failed
}

// leasesOf returns the leases that this process took on a notification until now.
func (m *mailDeliverer) leasesOf(job *mailJob) []time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(job.leases)
}

// hasLease reports whether a lease is one of those that a process took.
func hasLease(leases []time.Time, until time.Time) bool {
	return slices.ContainsFunc(leases, until.Equal)
}

// reportMailFailure counts and logs a notification that is FAILED, and notifies the host.
func (s *Service) reportMailFailure(
	ctx context.Context, n driver.Notification, host *failureNotifier[Notification],
) {
	shown := showNotification(n, s.now())
	reason := ""
	if shown.LastError != nil {
		reason = *shown.LastError
	}
	order := slog.String("order", n.OrderID.String())
	s.telemetry.mailsFailed.Add(ctx, 1)
	s.log.WarnContext(ctx, "a ticket mail failed permanently", order, slog.Int("copy", n.Copy),
		slog.String("reason", reason))
	host.notify(ctx, shown, order)
}

// expireMails fails the notifications that are too old to be sent, in processes that send no mails, too. A process that
// does so by itself finds nothing here.
func (s *Service) expireMails(ctx context.Context) (failed error) {
	host := newFailureNotifier(s, "OnMailFailed", s.onMailFailed)
	defer host.wait()
	// A notification of exactly that age has expired, too. Times are kept in milliseconds.
	before := s.now().Add(-mailExpiry + time.Millisecond)
	for after := (driver.DueWork{Kind: driver.WorkMail}); ; {
		due, err := s.dueWork(ctx, driver.WorkQuery{At: s.now(), After: []driver.DueWork{after}, Limit: lookBatch})
		if err != nil {
			return errors.Join(failed, err)
		}
		for _, work := range due {
			for more := true; more && ctx.Err() == nil; {
				claimed, err := s.claimNotifications(ctx, driver.NotificationClaim{
					CompanyID: work.CompanyID, At: s.now(), CreatedBefore: before, Limit: mailsExpired,
				})
				for _, n := range claimed.expired {
					s.reportMailFailure(ctx, n, host)
				}
				failed = errors.Join(failed, err)
				more = len(claimed.expired) == mailsExpired
			}
		}
		if len(due) < lookBatch || ctx.Err() != nil {
			return failed
		}
		after = due[len(due)-1]
	}
}
