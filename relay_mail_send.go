package ticketing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/floatgate/ticketing/driver"
)

// sendMail renders and hands over one mail, unless it must not or cannot be sent any more. All that the mail says was
// read no longer than a second before, so a change of the event or of the sender since the sale is in it, and an order
// that has ended since gets none.
func (m *mailDeliverer) sendMail(ctx context.Context, job *mailJob) *mailOutcome {
	s := m.s
	ctx, cancel := context.WithTimeout(ctx, mailTimeout)
	defer cancel()
	stop := context.AfterFunc(m.cutoff, cancel) //nolint:contextcheck // The end of the process is no caller's context.
	defer stop()
	o := &mailOutcome{
		job: job, began: s.now(),
		jitter: rand.Float64(), //nolint:gosec // It spreads retries; nobody gains by guessing it.
	}
	mail, err := m.makeMail(ctx, job, o)
	if err == nil && o.result == mailPending {
		o.handed = true
		err = s.handOver(ctx, mail)
	}
	o.at = s.now()
	if o.result != mailPending {
		return o
	}
	o.attempt.At = Time{Time: o.at}
	o.judge(err)
	return o
}

// errMailStore marks an error of the store, which is no failed attempt of the mail.
var errMailStore = errors.New("ticketing: the data of the mail cannot be read")

// freshMail is how long after the read a mail may be begun with what was read for it. A mail that begins later has all
// of it read again: its order may have ended since, or the event have changed.
const freshMail = time.Second

// readMail is a notification with what its mail is made of.
type readMail struct {
	notification driver.Notification // as it was read; zero: it does not exist any more
	reason       string              // why its order has no mail any more; empty: it has
	tickets      TicketMail          // zero where there is a reason
	at           time.Time           // before the read, by the clock of this machine
}

// readMails reads what the mails of notifications are made of, in their order. The number of reads does not depend on
// that of the notifications.
func (s *Service) readMails(ctx context.Context, notifications []driver.Notification) ([]readMail, error) {
	numbers := make([]driver.OrderNumber, len(notifications))
	refs := make([]driver.OrderRef, len(notifications))
	for i, n := range notifications {
		numbers[i] = n.OrderNumber()
		refs[i] = driver.OrderRef{CompanyID: n.CompanyID, ID: n.OrderID}
	}
	var mails []readMail
	err := s.background.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		mails = make([]readMail, len(notifications))
		at := machineTime()
		// An operator or another process may have acted since the lease.
		found, err := tx.OrderNotifications(ctx, distinct(numbers))
		if err != nil {
			return err
		}
		kept := make(map[driver.NotificationRef]driver.Notification, len(found))
		for _, n := range found {
			kept[n.Ref()] = n
		}
		orders, err := tx.Orders(ctx, refs)
		if err != nil {
			return err
		}
		var mailed []driver.Order
		for i, n := range notifications {
			mails[i] = readMail{notification: kept[n.Ref()], reason: endReason(orders[i]), at: at}
			if mails[i].reason == "" {
				mailed = append(mailed, orders[i])
			}
		}
		tickets, err := ticketMails(ctx, tx, mailed)
		if err != nil {
			return err
		}
		for i := range mails {
			if n := mails[i].notification; mails[i].reason == "" {
				mails[i].tickets, tickets = tickets[0], tickets[1:]
				mails[i].tickets.Copy = n.Copy
				if n.Recipient != "" {
					mails[i].tickets.To = n.Recipient
				}
			}
		}
		return nil
	})
	return mails, err
}

// readAhead is readMails for a claim, so that the mails of a claim share their reads. After an error each mail reads
// for itself.
func (s *Service) readAhead(ctx context.Context, claimed []driver.Notification) []readMail {
	if len(claimed) == 0 {
		return nil
	}
	read, err := s.readMails(ctx, claimed)
	if err != nil {
		return make([]readMail, len(claimed))
	}
	return read
}

// makeMail renders the mail of a job, from what was read with its claim or, if that is too old, from what it reads
// itself. It sets the result where there is nothing to send, and where this process has lost its lease: then another
// process sends the mail.
func (m *mailDeliverer) makeMail(ctx context.Context, job *mailJob, o *mailOutcome) (Mail, error) {
	s, read := m.s, job.read
	if read.at.IsZero() || machineTime().Sub(read.at) > freshMail {
		var err error
		if read, err = firstRecord(s.readMails(ctx, []driver.Notification{job.notification})); err != nil {
			s.report(ctx, "read the data of a mail", err)
			o.result, o.wait = mailUnsent, storeWait
			return Mail{}, errMailStore
		}
	}
	n, tickets := read.notification, read.tickets
	switch {
	case n.Status != NotificationPending || !hasLease(m.leasesOf(job), n.LeasedUntil) ||
		!s.now().Before(n.LeasedUntil):
		o.result = mailUnsent
		return Mail{}, nil
	case read.reason != "":
		o.result, o.reason = mailCancelled, read.reason
		return Mail{}, nil
	case tickets.Sender.Address == "":
		o.result = mailNoSender
		return Mail{}, errSenderRemoved
	}
	tickets.At = s.now()
	mail, err := s.renderTickets(ctx, tickets)
	if err != nil {
		s.log.ErrorContext(ctx, "a ticket mail cannot be rendered", slog.String("order", n.OrderID.String()),
			slog.String("type", fmt.Sprintf("%T", err)))
		return Mail{}, errMailRender
	}
	return mail, nil
}

// Errors of the service itself that stand in the log of a notification.
var (
	errSenderRemoved = &MailError{Text: "no mail sender is set", Err: ErrMailServer}
	errMailRender    = &MailError{Text: "the mail cannot be rendered"}
	errMailPanic     = &MailError{Text: "the mailer panicked"}
)

// renderTickets calls the renderer. A panic of it is an error like any other: code of the host must not end the
// process.
func (s *Service) renderTickets(ctx context.Context, tickets TicketMail) (mail Mail, err error) {
	defer func() {
		if value := recover(); value != nil {
			s.contain(s.logError(ctx), "MailRenderer.RenderTickets", value)
			err = errMailRender
		}
	}()
	return s.mailRenderer.RenderTickets(ctx, tickets)
}

// handOver calls the mailer. A panic of it is an error like any other.
func (s *Service) handOver(ctx context.Context, mail Mail) (err error) {
	defer func() {
		if value := recover(); value != nil {
			s.contain(s.logError(ctx), "Mailer.Mail", value)
			err = errMailPanic
		}
	}()
	return s.mailer.Mail(ctx, mail)
}
