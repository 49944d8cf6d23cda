package ticketing

import (
	"context"
	"errors"
	"time"

	"github.com/floatgate/ticketing/driver"
)

// MaxMailAttempts is the most attempts to send a mail.
const MaxMailAttempts = 10

// mailExpiry is how long after it was made a notification may be sent. A ticket that comes later helps nobody, and the
// buyer has asked for it otherwise.
const mailExpiry = 72 * time.Hour

// maxMailCode is the most characters of the code of a reply.
const maxMailCode = 20

// isMailExpired reports whether a notification is too old to be sent.
func isMailExpired(n driver.Notification, at time.Time) bool {
	return !at.Before(n.CreatedAt.Add(mailExpiry))
}

// mailWait returns how long a notification waits after the given number of failed attempts, 1 to 9: 1, 5, 15 and 30
// minutes, 1, 2, 4, 8 and 8 hours, and up to a tenth more. All waits together take about a day. The jitter keeps mails
// that failed together from being tried together.
func mailWait(tried int, jitter float64) time.Duration {
	waits := [...]time.Duration{
		time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute,
		time.Hour, 2 * time.Hour, 4 * time.Hour, 8 * time.Hour, 8 * time.Hour,
	}
	wait := waits[min(tried, len(waits))-1]
	return wait + time.Duration(jitter*float64(wait/10)).Truncate(time.Millisecond)
}

// mailResult is what became of a mail.
type mailResult int

const (
	mailPending    mailResult = iota // not known yet
	mailSent                         // the server accepted it
	mailFailed                       // a failed attempt
	mailRefused                      // the address is refused for good
	mailServerDown                   // the server cannot be used, which says nothing about the mail
	mailNoSender                     // the platform has no mail sender
	mailUnsent                       // nothing was tried
	mailCancelled                    // there is nothing to send any more
)

// mailOutcome is what became of a mail, to be written to the store. Several of them share a transaction.
type mailOutcome struct {
	job       *mailJob
	result    mailResult
	attempt   NotificationAttempt // of a mail that was tried
	reason    string              // of one that was cancelled
	cause     error               // of a server that cannot be used
	wait      time.Duration       // before the notification is due again, where no attempt counts
	handed    bool                // it was handed to the mailer
	began, at time.Time
	jitter    float64 // from 0 to 1; lengthens the wait before the next attempt

	// Set by writeOutcomes, afresh whenever its transaction runs:
	after   driver.Notification // the notification as it is kept now
	counted bool                // whether the outcome counted
}

// judge sets the result of a mail that was tried, from the error of the [Mailer]. Only the code and the text of a
// [MailError] are kept: any other text may repeat an address.
func (o *mailOutcome) judge(err error) {
	known, ok := errors.AsType[*MailError](err)
	switch {
	case err == nil:
		o.result = mailSent
		return
	case ok:
		o.attempt.Code = oneLine(known.Code, maxMailCode)
		if known.Code == "" {
			o.attempt.Code = ""
		}
		o.attempt.Error = oneLine(known.Text, maxDeliveryError)
	default:
		o.attempt.Error = "the mailer failed"
	}
	switch {
	case errors.Is(err, ErrMailServer), errors.Is(err, context.Canceled):
		// The error that is logged has the same text as the attempt would have.
		o.result, o.cause = mailServerDown, &MailError{Code: o.attempt.Code, Text: o.attempt.Error, Err: ErrMailServer}
	case errors.Is(err, ErrMailRefused):
		o.result = mailRefused
	default:
		o.result = mailFailed
	}
}

// apply returns the notification after the outcome, and reports whether the outcome counts. leases are those that the
// process took on it.
//
// A mail that was accepted is SENT, also if it was cancelled or expired meanwhile: the buyer has it. Every other
// outcome counts only while the notification is pending, and under a lease of its process. If that lease ran out and
// another process took the notification, the outcome of the other process decides.
func (o *mailOutcome) apply(kept driver.Notification, leases []time.Time) (driver.Notification, bool) {
	switch {
	case kept.Copy == 0 || kept.Status == NotificationSent:
		return kept, false
	case o.result == mailSent:
		return finishNotification(addNotificationAttempt(kept, o.attempt), NotificationSent, "", o.at), true
	case kept.Status != NotificationPending || !hasLease(leases, kept.LeasedUntil):
		return kept, false
	case o.result == mailCancelled:
		return finishNotification(kept, NotificationCancelled, o.reason, o.at), true
	case o.result == mailRefused:
		return finishNotification(addNotificationAttempt(kept, o.attempt), NotificationFailed, "", o.at), true
	case o.result == mailFailed:
		return o.retry(addNotificationAttempt(kept, o.attempt)), true
	case o.wait == 0 && len(kept.Attempts) == 0:
		// It keeps its place, and its age shows in the backlog.
		kept.DueAt, kept.LeasedUntil = kept.CreatedAt, time.Time{}
		return kept, true
	default:
		// After a wait for the server another mail is tried first.
		kept.DueAt, kept.LeasedUntil = o.at.Add(o.wait), time.Time{}
		return kept, true
	}
}

// retry returns the notification after a failed attempt: due again after a wait, but no later than it expires, or
// FAILED after the last attempt.
func (o *mailOutcome) retry(n driver.Notification) driver.Notification {
	tried := len(n.Attempts)
	if tried >= MaxMailAttempts {
		return finishNotification(n, NotificationFailed, "", o.at)
	}
	n.DueAt, n.LeasedUntil = o.at.Add(mailWait(tried, o.jitter)), time.Time{}
	if expires := n.CreatedAt.Add(mailExpiry); n.DueAt.After(expires) {
		n.DueAt = expires
	}
	return n
}

// recorded reports whether the outcome is kept already. That happens when a commit succeeded but its reply was lost.
func (o *mailOutcome) recorded(kept driver.Notification) bool {
	last := len(kept.Attempts) - 1
	return last >= 0 && o.attempt != (NotificationAttempt{}) && last == len(o.job.notification.Attempts) &&
		kept.Attempts[last].At.Equal(o.attempt.At.Time) && kept.Attempts[last].Code == o.attempt.Code &&
		kept.Attempts[last].Error == o.attempt.Error
}

// writeOutcomes keeps the outcomes of mails. It decides each one on the notification as it is at that time, under the
// lock of its row. It takes no gate: it reads and changes only these rows.
func (m *mailDeliverer) writeOutcomes(ctx context.Context, patience time.Duration, outcomes []*mailOutcome) error {
	refs := make([]driver.NotificationRef, len(outcomes))
	for i, o := range outcomes {
		refs[i] = o.job.notification.Ref()
	}
	refs = distinct(refs)
	return m.s.background.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, driver.BeginOptions{LockTimeout: patience}); err != nil {
			return err
		}
		found, err := tx.LockNotifications(ctx, refs)
		if err != nil {
			return err
		}
		kept := make(map[driver.NotificationRef]driver.Notification, len(refs))
		for i, ref := range refs {
			kept[ref] = found[i]
		}
		var changed []driver.NotificationRef
		// The leases are read under the locks, so that they include every renewal that is kept.
		for _, o := range outcomes {
			ref := o.job.notification.Ref()
			if o.counted = o.recorded(kept[ref]); o.counted {
				o.after = kept[ref]
			} else if o.after, o.counted = o.apply(kept[ref], m.leasesOf(o.job)); o.counted {
				kept[ref] = o.after
				changed = append(changed, ref)
			}
		}
		changed = distinct(changed)
		records := make([]driver.Notification, len(changed))
		for i, ref := range changed {
			records[i] = kept[ref]
		}
		return tx.UpdateNotifications(ctx, records)
	})
}

// write keeps an outcome, grouped with others that come at the same time, and reports whether it counted. If the store
// fails it tries again for about as long as a lease lasts. If all tries fail, the lease runs out and the mail is sent
// once more. A second mail is sent only where the acceptance of the first is not kept: because of this, of a crash
// before this write, or of a connection that was lost after the mail was handed over and before the server replied.
func (m *mailDeliverer) write(ctx context.Context, o *mailOutcome) bool {
	err := retryStore(m.givesUp, func() error { return m.outcomes.Do(ctx, o.job.notification.CompanyID, 1, o) })
	m.s.report(ctx, "write the outcome of a mail", err)
	return err == nil && o.counted
}

// givesUp reports whether a call that the store failed this often is not tried again.
func (m *mailDeliverer) givesUp(tries int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return tries >= storeTries || tries >= storeTriesAtEnd && (m.once || m.closed)
}
