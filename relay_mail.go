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
	"github.com/floatgate/ticketing/internal/group"
)

// Bounds of sending mails.
const (
	// mailLease is how long a process has a notification without renewing its lease, and mailRenewal how often it renews
	// it: a mail may take longer than a lease, and may wait here for a server that limits the rate.
	mailLease   = time.Minute
	mailRenewal = 20 * time.Second
	mailTimeout = 2 * time.Minute // of one mail, with what is read for it
	// mailGrace is how long the mails that are being sent have after the end of [Service.Run]: less than the half minute
	// after which supervisors commonly kill a process.
	mailGrace = 20 * time.Second

	// The waits for a mail server that cannot be used double from the first to the last.
	firstMailWait = time.Second
	lastMailWait  = 5 * time.Minute
	// senderWait is the wait while the platform has no mail sender, and storeWait that of a mail whose order could not be
	// read.
	senderWait = 5 * time.Second
	storeWait  = 5 * time.Second

	defaultMailConcurrency = 4
	maxMailConcurrency     = 100
	// mailsHeld is how many mails a process holds for each mail that it sends at the same time: enough to keep it busy
	// while the next ones are claimed. mailsClaimed is how many of them one claim takes, so companies take turns.
	mailsHeld    = 6
	mailsClaimed = 2
	// mailsExpired is how many expired notifications one transaction fails.
	mailsExpired = 500
)

// mailJob is a leased notification in the memory of a process. If the process ends, its lease runs out and another
// process claims the notification.
type mailJob struct {
	notification driver.Notification // as it was leased
	// leases are the ends of all leases that this process took on it, the last one last. One that is being renewed may
	// be kept already or not yet.
	leases []time.Time
	round  int // of waiting for the mail server, when the mail began
	read   readMail
}

// mailDeliverer sends the mails of a process. It claims notifications of companies in turn, hands a bounded number of
// mails to [Config.Mailer] at the same time, and writes what becomes of them.
//
// A mail server that cannot be used is nobody's failed attempt. The deliverer gives its mails back, waits, and tries a
// single mail. When the server takes or refuses that one, the others follow.
//
// Each mail has a goroutine of its own while it is sent. The methods take the lock mu themselves, except where the
// comment says that the caller holds it.
type mailDeliverer struct {
	s          *Service
	claimQueue *workQueue[uuid.UUID] // companies with notifications that are due
	outcomes   *group.Lanes[uuid.UUID, *mailOutcome]
	failed     *failureNotifier[Notification]
	// onRetry is called with the time of the next attempt of a notification.
	onRetry func(now, at time.Time)
	// once marks the deliverer of a single pass ([Service.SendMails]), which does not wait for a mail server.
	once bool

	mu        sync.Mutex
	idle      sync.Cond   // uses mu; signals that a mail ended
	jobs      []*mailJob  // leased and not begun, oldest first
	sending   []*mailJob  // begun, until their outcome is written
	blocked   []uuid.UUID // companies that found no room, in turn, each once
	isBlocked map[uuid.UUID]bool
	closed    bool
	attempts  int // mails that were handed over

	// wait is how long the process waits for the mail server; zero: it could be used last. round counts the waits, so
	// that mails that began before a wait do not lengthen it. resting means that the wait is not over, and probing that
	// the next mail finds out whether the server can be used.
	wait    time.Duration
	round   int
	resting bool
	probing bool
	timer   *time.Timer
	// unusable is why the mail server could not be used last.
	unusable error
	noSender bool // the platform has no mail sender

	cutoff context.Context    //nolint:containedctx // Its end cuts off every mail that is being sent.
	cut    context.CancelFunc // ends cutoff
	grace  *time.Timer        // until cut
}

// newMailDeliverer returns a deliverer that is idle.
func newMailDeliverer(s *Service) *mailDeliverer {
	m := &mailDeliverer{
		s: s, claimQueue: newWorkQueue[uuid.UUID](), onRetry: func(time.Time, time.Time) {},
		failed:    newFailureNotifier(s, "OnMailFailed", s.onMailFailed),
		isBlocked: make(map[uuid.UUID]bool),
	}
	m.cutoff, m.cut = context.WithCancel(context.Background())
	m.idle.L = &m.mu
	m.outcomes = group.New(group.Config[uuid.UUID, *mailOutcome]{
		Run: m.writeOutcomes, Class: classOf, Size: outcomeBatch, Single: s.byCompany, Timeout: groupTimeout,
		Patience: groupPatience,
	})
	return m
}

// limit returns how many mails may be sent at the same time: one while it is not known whether the mail server can be
// used. The caller has the lock.
func (m *mailDeliverer) limit() int {
	switch {
	case m.resting:
		return 0
	case m.probing:
		return 1
	default:
		return m.s.mailConcurrency
	}
}

// room returns how many notifications the process may claim now. The caller has the lock.
func (m *mailDeliverer) room() int {
	held := len(m.jobs) + len(m.sending)
	switch limit := m.limit(); {
	case m.closed || limit == 0:
		return 0
	case m.probing:
		return max(0, limit-held)
	default:
		// A claim for less than half of the room would not pay.
		if free := limit*mailsHeld - held; free >= limit {
			return min(free, limit*mailsClaimed)
		}
		return 0
	}
}

// claim leases a batch of a company's due notifications, and starts to send them. A company that finds no room is
// claimed for later, in turn.
func (m *mailDeliverer) claim(ctx context.Context, companyID uuid.UUID) error {
	_, err := m.claimSome(ctx, companyID, m.s.now())
	return err
}

// claimSome leases notifications that were due at a time, and returns how many it found.
func (m *mailDeliverer) claimSome(ctx context.Context, companyID uuid.UUID, at time.Time) (int, error) {
	m.mu.Lock()
	limit := m.room()
	if limit == 0 && !m.isBlocked[companyID] {
		m.isBlocked[companyID] = true
		m.blocked = append(m.blocked, companyID)
	}
	m.mu.Unlock()
	if limit == 0 {
		return 0, nil
	}
	claimed, err := m.s.claimNotifications(ctx, driver.NotificationClaim{CompanyID: companyID, At: at, Limit: limit})
	if err != nil {
		return 0, err
	}
	m.enqueue(ctx, claimed.leased, m.s.readAhead(ctx, claimed.leased))
	m.fail(ctx, claimed.expired)
	found := len(claimed.leased) + len(claimed.expired)
	// A full batch shows that more may wait.
	if found == limit {
		m.claimQueue.add(companyID)
	}
	return found, nil
}

// enqueue takes notifications after the transaction that leased them has committed. If the clock was set forward, or
// the store was away for longer than a lease, one of them may be held here already. Its mail is not sent twice: it has
// another lease.
func (m *mailDeliverer) enqueue(ctx context.Context, leased []driver.Notification, read []readMail) {
	m.mu.Lock()
	for i, n := range leased {
		if held := m.held(n.Ref()); held != nil {
			held.leases = append(held.leases, n.LeasedUntil)
			continue
		}
		m.jobs = append(m.jobs, &mailJob{notification: n, leases: []time.Time{n.LeasedUntil}, read: read[i]})
	}
	var back []*mailJob
	// The server failed, or the process began to end, since the room was computed.
	if m.closed || m.resting {
		back = m.dequeue()
	}
	m.start(ctx)
	m.mu.Unlock()
	m.release(ctx, back)
}

// held returns the job of a notification that this process holds, or nil. The caller has the lock.
func (m *mailDeliverer) held(ref driver.NotificationRef) *mailJob {
	for _, job := range slices.Concat(m.jobs, m.sending) {
		if job.notification.Ref() == ref {
			return job
		}
	}
	return nil
}

// start begins to send mails, as many as the limit allows. The caller has the lock. It is called whenever there may be
// room again.
func (m *mailDeliverer) start(ctx context.Context) {
	for len(m.jobs) > 0 && len(m.sending) < m.limit() {
		job := m.jobs[0]
		m.jobs = m.jobs[1:]
		job.round = m.round
		m.sending = append(m.sending, job)
		// A mail that has begun is finished and its outcome is written, even if the caller's context ends.
		go m.deliver(context.WithoutCancel(ctx), job)
	}
}

// deliver sends one mail, writes the outcome in a group with others, and starts the next ones.
func (m *mailDeliverer) deliver(ctx context.Context, job *mailJob) {
	o := m.sendMail(ctx, job)
	var back []*mailJob
	m.mu.Lock()
	if o.handed {
		m.attempts++
	}
	switch {
	case o.result == mailServerDown && m.closed:
		// The mail was cut off by this process, or the server failed at its end. Another process tries it.
		o.wait = firstMailWait
	case o.result == mailServerDown:
		back = m.serverFailed(ctx, job, o.cause)
		o.wait = m.wait
	case o.result == mailNoSender:
		back = m.awaitSender(ctx)
		o.wait = senderWait
	// What failed before the server was asked says nothing about it.
	case o.result == mailSent || o.attempt.Code != "":
		m.serverWorks(ctx)
	}
	m.mu.Unlock()
	m.release(ctx, back)

	m.s.telemetry.mail(ctx, o)
	if m.write(ctx, o) {
		switch now := m.s.now(); {
		case o.after.Status == NotificationFailed:
			m.fail(ctx, []driver.Notification{o.after})
		case o.after.Status == NotificationPending && o.after.DueAt.After(now):
			m.onRetry(now, o.after.DueAt)
		}
	}

	m.mu.Lock()
	m.sending = slices.DeleteFunc(m.sending, func(other *mailJob) bool { return other == job })
	m.start(ctx)
	m.unblock()
	m.idle.Broadcast()
	m.mu.Unlock()
}

// unblock has companies claimed that found no room before, when there is room again. The caller has the lock.
func (m *mailDeliverer) unblock() {
	if m.room() == 0 {
		return
	}
	for _, companyID := range m.blocked {
		m.claimQueue.add(companyID)
	}
	m.blocked = nil
	clear(m.isBlocked)
}

// serverFailed begins or lengthens the wait for the mail server, and returns the mails that are given back. The caller
// has the lock. Several mails may fail at once; only those of the present round lengthen the wait.
func (m *mailDeliverer) serverFailed(ctx context.Context, job *mailJob, cause error) []*mailJob {
	m.unusable = cause
	if job.round == m.round {
		m.round++
		m.wait = min(max(firstMailWait, 2*m.wait), lastMailWait)
		m.resting, m.probing = true, true
		if !m.once && !m.closed {
			m.timer = time.AfterFunc(m.wait, func() { m.resume(ctx) })
		}
		m.s.telemetry.mailServer(ctx, true)
		m.s.log.WarnContext(ctx, "the mail server cannot be used, mails wait", slog.Duration("again", m.wait),
			slog.Any("error", cause))
	}
	return m.dequeue()
}

// awaitSender begins a short wait because the platform has no mail sender, and returns the mails that are given back.
// The caller has the lock.
func (m *mailDeliverer) awaitSender(ctx context.Context) []*mailJob {
	m.unusable = errSenderRemoved
	if !m.resting {
		m.resting, m.probing = true, true
		if !m.once && !m.closed {
			m.timer = time.AfterFunc(senderWait, func() { m.resume(ctx) })
		}
		if !m.noSender {
			m.s.log.WarnContext(ctx, "no mail sender is set, mails wait")
		}
		m.noSender = true
	}
	return m.dequeue()
}

// serverWorks ends the waiting for the mail server. The caller has the lock.
func (m *mailDeliverer) serverWorks(ctx context.Context) {
	waited := m.wait > 0
	m.wait, m.resting, m.probing, m.noSender, m.unusable = 0, false, false, false, nil
	if !waited {
		return
	}
	if m.timer != nil {
		m.timer.Stop()
	}
	m.s.telemetry.mailServer(ctx, false)
	m.s.log.InfoContext(ctx, "the mail server can be used again")
}

// resume ends a wait. The next mail finds out whether the server can be used.
func (m *mailDeliverer) resume(ctx context.Context) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.resting = false
	m.start(ctx)
	m.unblock()
}

// dequeue empties the queue and returns what was in it. The caller has the lock.
func (m *mailDeliverer) dequeue() []*mailJob {
	back := m.jobs
	m.jobs = nil
	return back
}

// close stops the claiming and gives back the mails that were not begun. Those that are being sent have mailGrace; one
// that is cut off then counts no attempt.
func (m *mailDeliverer) close(ctx context.Context) {
	m.mu.Lock()
	m.closed = true
	if m.timer != nil {
		m.timer.Stop()
	}
	m.grace = time.AfterFunc(mailGrace, m.cut)
	back := m.dequeue()
	m.mu.Unlock()
	m.release(ctx, back)
}

// end frees what the deliverer holds, after nothing is being sent.
func (m *mailDeliverer) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.grace != nil {
		m.grace.Stop()
	}
	m.cut()
}

// waiting reports whether the process waits for its mail server.
func (m *mailDeliverer) waiting() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.wait > 0
}

// drained returns after nothing is queued or being sent.
func (m *mailDeliverer) drained() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(m.jobs)+len(m.sending) > 0 {
		m.idle.Wait()
	}
}

// fail counts, logs and reports notifications that are FAILED. The log names the order and no address.
func (m *mailDeliverer) fail(ctx context.Context, failed []driver.Notification) {
	for _, n := range failed {
		m.s.reportMailFailure(ctx, n, m.failed)
	}
}

// errNoMailer is the error of [Service.SendMails] on a service that cannot send any.
var errNoMailer = errors.New("ticketing: there is no Config.Mailer")

// SendMails does once what [Service.Run] does continuously for ticket mails. It is for a host that does not call Run,
// such as a scheduled job. It makes the notifications of all sales, and sends these and everything else that was due
// when it began. It returns how many mails it handed to [Config.Mailer], after all of them have ended. A mail that
// failed is due again later. Facts that another process is dispatching at that time are left to it: a later call sends
// their mails, unless that process does.
//
// If the mail server cannot be used, it tries one mail and returns an error that wraps [ErrMailServer]. If the context
// ends, it starts no further mail, waits for those that it has begun and returns the context's error. Like
// [Service.SendWebhooks], it does not call [Config.OnFact].
func (s *Service) SendMails(ctx context.Context) (int, error) {
	if s.bound {
		return 0, errBoundRun
	}
	if s.mailer == nil {
		return 0, errNoMailer
	}
	m := newMailDeliverer(s)
	// A single mail finds out whether the server can be used.
	m.once, m.probing = true, true
	stop := context.AfterFunc(ctx, func() { m.close(ctx) })
	defer stop()
	stopRenewal := m.renew(ctx)
	defer stopRenewal()
	defer m.end()
	s.telemetry.mailServer(ctx, false)
	failed := s.dispatchAll(ctx, nil)
	at := s.now()
	for claimed := 1; claimed > 0 && failed == nil && ctx.Err() == nil; {
		claimed, failed = m.pass(ctx, at)
		m.drained()
	}
	m.failed.wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.attempts, errors.Join(failed, m.unusable, ctx.Err())
}

// pass claims a batch of each company that has notifications due at a time, and returns how many it claimed.
func (m *mailDeliverer) pass(ctx context.Context, at time.Time) (claimed int, failed error) {
	due, err := m.s.dueWork(ctx, driver.WorkQuery{
		At: at, After: []driver.DueWork{{Kind: driver.WorkMail}}, Limit: lookBatch,
	})
	if err != nil {
		return 0, err
	}
	for _, work := range due {
		some, err := m.claimSome(ctx, work.CompanyID, at)
		// There may have been no room.
		if some == 0 && err == nil {
			m.drained()
			some, err = m.claimSome(ctx, work.CompanyID, at)
		}
		failed = errors.Join(failed, err)
		claimed += some
	}
	return claimed, failed
}
