package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
)

// mailLoadBench measures checkouts beside the background work of a server: without mails, while mails are sent, and
// while many wait for a mail server that is away.
type mailLoadBench struct {
	*bench

	sides  []mailLoadSide
	mailed int64 // sales with a mail sender set
}

// mailLoadSide is one kind of background work.
type mailLoadSide struct {
	svc   *ticketing.Service // does the background work
	mails bool               // whether a mail sender is set
}

// The indexes of the sides of a mailLoadBench.
const (
	withoutMails = iota
	sendingMails
	serverAway
	mailLoadSides
)

// mailLoadTurns returns the orders in which the sides take turns. In all orders together each side is as often first,
// second and last, and as often before each other side as after it. So what a side leaves, such as dead rows, affects
// all sides equally.
func mailLoadTurns() [][mailLoadSides]int {
	return [][mailLoadSides]int{
		{withoutMails, sendingMails, serverAway},
		{serverAway, sendingMails, withoutMails},
		{sendingMails, serverAway, withoutMails},
		{withoutMails, serverAway, sendingMails},
		{serverAway, withoutMails, sendingMails},
		{sendingMails, withoutMails, serverAway},
	}
}

const (
	// mailLoadSlice is roughly how long one measurement of a side lasts. The background work begins with it.
	mailLoadSlice = 2 * time.Second
	// dispatchPause is the interval at which the bench looks whether all facts are dispatched.
	dispatchPause = 10 * time.Millisecond
)

// measureMailLoad measures the three sides in alternating slices.
func (b *bench) measureMailLoad(ctx context.Context) (Report, error) {
	m, err := b.newMailLoadBench(ctx)
	if err != nil {
		return nil, err
	}
	report := &mailLoadReport{
		Store: b.db.store(), Clients: b.Clients, Companies: b.Companies, Qty: b.Qty, Connections: b.Connections,
		Seconds: b.Duration.Seconds(), MailRate: b.MailRate, MailQueue: b.MailQueue,
		Preload: preload{Orders: b.Preload, Seconds: rounded(b.preloading.Seconds())},
	}
	for i := range b.Runs {
		run, err := m.run(ctx, i)
		if err != nil {
			return nil, err
		}
		report.Runs = append(report.Runs, run)
	}
	report.summarise()
	if report.Verified, err = m.verify(ctx); err != nil {
		return nil, err
	}
	b.Progress("verifying the books", "")
	if report.Books, err = b.verify(ctx); err != nil {
		return nil, err
	}
	return report, report.failure()
}

// newMailLoadBench makes the mails that wait, and starts the processes that sell.
func (b *bench) newMailLoadBench(ctx context.Context) (*mailLoadBench, error) {
	sink, err := newMailSink(ctx)
	if err != nil {
		return nil, fmt.Errorf("start a mail server: %w", err)
	}
	b.ends = append(b.ends, func(context.Context) error { return sink.close() })
	away, err := noMailServer(ctx)
	if err != nil {
		return nil, err
	}
	m := &mailLoadBench{bench: b, sides: make([]mailLoadSide, mailLoadSides)}
	m.sides[withoutMails] = mailLoadSide{svc: b.filler}
	for side, url := range map[int]string{sendingMails: sink.url(), serverAway: away} {
		svc, err := b.mailService(url, b.MailRate)
		if err != nil {
			return nil, err
		}
		m.sides[side] = mailLoadSide{svc: svc, mails: true}
	}
	// What was sold before gets no mails.
	if err := b.dispatchAll(ctx); err != nil {
		return nil, err
	}
	if err := b.setMailSender(ctx, true); err != nil {
		return nil, err
	}
	if err := b.sell(ctx, b.MailQueue, 1, "selling what is mailed", func(int, ticketing.Order) {}); err != nil {
		return nil, err
	}
	m.mailed += int64(b.MailQueue)
	if err := b.dispatchAll(ctx); err != nil {
		return nil, err
	}
	if err := b.db.settle(ctx); err != nil {
		return nil, err
	}
	return m, b.startWorkers(ctx)
}

// run measures each side for the requested duration.
func (m *mailLoadBench) run(ctx context.Context, number int) (mailLoadRun, error) {
	tallies := [mailLoadSides]*mailLoadTally{}
	for side := range tallies {
		tallies[side] = &mailLoadTally{tally: newTally()}
	}
	slice, turns := time.Duration(0), mailLoadTurns()
	for left, turn := m.Duration, 0; left > 0; left, turn = left-slice, turn+1 {
		slice = left / max((left+mailLoadSlice/2)/mailLoadSlice, 1)
		m.Progress(fmt.Sprintf("run %d of %d", number+1, m.Runs), "%s of %s",
			(m.Duration - left).Round(time.Millisecond), m.Duration)
		for _, side := range turns[turn%len(turns)] {
			if err := m.measureSide(ctx, m.sides[side], slice, tallies[side]); err != nil {
				return mailLoadRun{}, err
			}
		}
	}
	return newMailLoadRun(tallies), nil
}

// mailLoadTally adds up the slices of a side. behind is the longest time that the oldest fact had waited for its
// dispatch at the end of a slice.
type mailLoadTally struct {
	*tally

	behind time.Duration
}

// measureSide measures checkouts for a time beside the background work of one side. Then it waits until that work has
// dispatched everything, so that no side does another one's work.
func (m *mailLoadBench) measureSide(
	ctx context.Context, side mailLoadSide, length time.Duration, to *mailLoadTally,
) error {
	if err := m.setMailSender(ctx, side.mails); err != nil {
		return err
	}
	before := m.sold
	stop := background(ctx, side.svc)
	err := m.runSlice(ctx, to.tally, sliceOrder{For: length})
	if err == nil {
		var behind time.Duration
		behind, err = m.dispatchBehind(ctx)
		to.behind = max(to.behind, behind)
	}
	if err == nil {
		err = m.dispatched(ctx)
	}
	if side.mails {
		m.mailed += m.sold - before
	}
	return errors.Join(err, stop(ctx))
}

// dispatchAll dispatches everything that was sold until now.
func (b *bench) dispatchAll(ctx context.Context) error {
	stop := background(ctx, b.filler)
	return errors.Join(b.dispatched(ctx), stop(ctx))
}

// dispatched waits until all facts are dispatched, by background work that runs.
func (b *bench) dispatched(ctx context.Context) error {
	for {
		behind, err := b.dispatchBehind(ctx)
		if err != nil || behind == 0 {
			return err
		}
		b.Progress("dispatching", "%s behind", behind.Round(time.Millisecond))
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(dispatchPause):
		}
	}
}

// otherCompanies is how many companies a bench has at most beside its own: that of the baseline and that of SQL alone.
const otherCompanies = 2

// dispatchBehind returns how long the oldest fact has waited for its dispatch, or 0 if none waits.
func (b *bench) dispatchBehind(ctx context.Context) (behind time.Duration, err error) {
	now := time.Now()
	err = b.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		behind = 0
		due, err := tx.DueWork(ctx, driver.WorkQuery{
			At: now, After: []driver.DueWork{{Kind: driver.WorkDispatch}}, Limit: len(b.shops) + otherCompanies,
		})
		for _, work := range due {
			behind = max(behind, now.Sub(work.Since), time.Nanosecond)
		}
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("look for what is not dispatched: %w", err)
	}
	return behind, nil
}

// verify verifies that each sale with a mail sender set has a notification, and that no other sale has one.
func (m *mailLoadBench) verify(ctx context.Context) (mailLoadVerified, error) {
	m.Progress("verifying the mails", "")
	v := mailLoadVerified{Expected: m.mailed, Problems: []string{}}
	var err error
	v.Notifications, err = m.countNotifications(ctx, "")
	if err == nil {
		v.Sent, err = m.countNotifications(ctx, ticketing.NotificationSent)
	}
	v.judge(m.errors)
	return v, err
}

// mailLoadVerified is the result of the mails.
type mailLoadVerified struct {
	OK            bool     `json:"ok"`
	Expected      int64    `json:"expected"`      // acknowledged sales with a mail sender set
	Notifications int64    `json:"notifications"` // in the database
	Sent          int64    `json:"sent"`          // those of them that are recorded as sent
	Problems      []string `json:"problems"`
}

// judge finds what is wrong. A call that failed may have sold nevertheless.
func (v *mailLoadVerified) judge(failed int64) {
	if v.Notifications < v.Expected || v.Notifications > v.Expected+failed {
		v.Problems = append(v.Problems, fmt.Sprintf("%d notifications were made, not %d (failed calls: %d)",
			v.Notifications, v.Expected, failed))
	}
	v.OK = len(v.Problems) == 0
}
