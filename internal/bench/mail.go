package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/mail"
)

// mailBench measures ticket mails: one process sells, renders, sends and receives.
type mailBench struct {
	*bench

	svc    *ticketing.Service // sells and sends
	sink   *mailSink
	before int64 // checkouts from before the sender was set
}

const (
	// warmUpMails are sold and sent before the measurement.
	warmUpMails = 100
	// renderedAdmissions is how many admissions a mail has whose rendering is measured: the most of an order.
	renderedAdmissions = ticketing.MaxAdmissions
	// The mail sender of a bench.
	mailFrom, mailFromName = "tickets@bench.example", "Bench Tickets"
)

// measureMails measures how long a mail takes to render, how fast a backlog is sent, and how long a mail takes from its
// sale to the mail server.
func (b *bench) measureMails(ctx context.Context) (Report, error) {
	m, err := b.newMailBench(ctx)
	if err != nil {
		return nil, err
	}
	b.Progress("warming up", "")
	speed, err := m.drain(ctx, warmUpMails)
	if err != nil {
		return nil, err
	}
	report := &mailReport{
		Op: b.Op, Store: b.db.store(), Companies: len(b.shops), Qty: b.Qty, MailConnections: mail.DefaultConnections,
		Connections: b.Connections, Seconds: b.Duration.Seconds(), Rate: b.Rate,
		Preload: preload{Orders: b.Preload, Seconds: rounded(b.preloading.Seconds())},
	}
	for i := range b.Runs {
		b.Progress(fmt.Sprintf("run %d of %d", i+1, b.Runs), "")
		rendered, err := m.render(ctx)
		if err != nil {
			return nil, err
		}
		if speed, err = m.drain(ctx, int(min(speed*b.Duration.Seconds(), mostBacklog))+1); err != nil {
			return nil, err
		}
		latencies, err := m.pace(ctx)
		if err != nil {
			return nil, err
		}
		report.Runs = append(report.Runs, newMailRun(rendered, speed, latencies))
	}
	report.summarise()
	if report.Verified, err = m.verify(ctx); err != nil {
		return nil, err
	}
	if report.Books, err = b.verify(ctx); err != nil {
		return nil, err
	}
	return report, report.failure()
}

// newMailBench starts the mail server and sets the mail sender. It first dispatches what was sold before, so that this
// gets no mails.
func (b *bench) newMailBench(ctx context.Context) (*mailBench, error) {
	sink, err := newMailSink(ctx)
	if err != nil {
		return nil, fmt.Errorf("start a mail server: %w", err)
	}
	b.ends = append(b.ends, func(context.Context) error { return sink.close() })
	svc, err := b.mailService(sink.url(), 0)
	if err != nil {
		return nil, err
	}
	if err := b.dispatchAll(ctx); err != nil {
		return nil, err
	}
	return &mailBench{bench: b, svc: svc, sink: sink, before: b.sold}, b.setMailSender(ctx, true)
}

// mailService returns a service that sends mails to a mail server, at most rate of them a second.
func (b *bench) mailService(url string, rate int) (*ticketing.Service, error) {
	sender, err := mail.NewSMTP(url, &mail.SMTPConfig{Rate: float64(rate)})
	if err != nil {
		return nil, err
	}
	b.ends = append(b.ends, func(context.Context) error { return sender.Close() })
	svc, err := ticketing.New(b.store, &ticketing.Config{
		SecretKeys: [][]byte{b.secret}, Grouping: b.Grouping, CompanySlots: b.CompanySlots, Mailer: sender,
	})
	if err != nil {
		return nil, err
	}
	b.ends = append(b.ends, drained(svc))
	return svc, nil
}

// setMailSender sets or removes the platform's mail sender.
func (b *bench) setMailSender(ctx context.Context, set bool) error {
	op := b.filler.As(ticketing.Staff("bench"))
	if set {
		_, err := op.SetMailSender(ctx, ticketing.MailSenderParams{Address: mailFrom, Name: mailFromName})
		return err
	}
	_, err := op.RemoveMailSender(ctx)
	if errors.Is(err, ticketing.CodeNotFound) {
		return nil
	}
	return err
}

// render returns how long a mail with the most admissions takes to render.
func (m *mailBench) render(ctx context.Context) (time.Duration, error) {
	tickets, err := m.svc.As(ticketing.Staff("bench")).SampleTicketMail(ctx, m.shops[0].Company)
	if err != nil {
		return 0, err
	}
	tickets.To = "ada" + mailDomain
	first := tickets.Order.Lines[0]
	tickets.Order.Lines = nil
	for range renderedAdmissions {
		first.ID, first.AdmissionID = uuid.New(), uuid.New()
		tickets.Order.Lines = append(tickets.Order.Lines, first)
	}
	renderer := mail.NewRenderer()
	rendered := 0
	began := time.Now()
	for rendered == 0 || time.Since(began) < min(m.Duration, sliceLength) {
		if _, err := renderer.RenderTickets(ctx, tickets); err != nil {
			return 0, fmt.Errorf("render a mail: %w", err)
		}
		rendered++
	}
	return time.Since(began) / time.Duration(rendered), nil
}

// expected returns the number of mails once everything has arrived.
func (m *mailBench) expected() int64 { return m.sold - m.before }

// drain sells, then sends all mails. It returns how many mails a second were made, sent and recorded.
func (m *mailBench) drain(ctx context.Context, sales int) (speed float64, err error) {
	err = m.sell(ctx, sales, m.Qty, "selling what is mailed", func(int, ticketing.Order) {})
	if err != nil {
		return 0, err
	}
	if err := m.db.settle(ctx); err != nil {
		return 0, err
	}
	began := time.Now()
	stop := background(ctx, m.svc)
	err = errors.Join(m.arrive(ctx, "mails", m.sink.arrived, m.expected()), stop(ctx))
	return float64(sales) / time.Since(began).Seconds(), err
}

// pace sells at the requested rate while it mails. It returns how long mails took to be accepted, from the return of
// the sale, which follows its commit.
func (m *mailBench) pace(ctx context.Context) (*histogram, error) {
	if err := m.restock(ctx, nil); err != nil {
		return nil, err
	}
	stop := background(ctx, m.svc)
	m.sink.watch(true)
	committed, err := m.sellEvenly(ctx, m.svc, time.Second/time.Duration(m.Rate), m.Qty)
	if err == nil {
		err = m.arrive(ctx, "mails", m.sink.arrived, m.expected())
	}
	m.sink.watch(false)
	if err := errors.Join(err, stop(ctx)); err != nil {
		return nil, err
	}
	return latenciesOf(committed, m.sink.watched()), nil
}

// verify verifies that each sale has exactly one mail, and that the database agrees.
func (m *mailBench) verify(ctx context.Context) (mailVerified, error) {
	m.Progress("verifying the mails", "")
	v := mailVerified{
		Expected: m.expected(), Arrived: m.sink.arrived(), Accepted: m.sink.accepted.Load(), Problems: []string{},
	}
	var err error
	if v.Notifications, err = m.countNotifications(ctx, ""); err == nil {
		v.Sent, err = m.countNotifications(ctx, ticketing.NotificationSent)
	}
	v.judge()
	return v, err
}

// countNotifications counts the notifications of all companies in a status.
func (b *bench) countNotifications(ctx context.Context, status ticketing.NotificationStatus) (int64, error) {
	total := int64(0)
	err := b.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		total = 0
		for _, shop := range b.shops {
			number, err := tx.CountNotifications(ctx, driver.NotificationQuery{CompanyID: shop.Company, Status: status})
			if err != nil {
				return err
			}
			total += int64(number)
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("count the notifications: %w", err)
	}
	return total, nil
}

// mailVerified is the result of the mails.
type mailVerified struct {
	OK            bool     `json:"ok"`
	Expected      int64    `json:"expected"`      // sales with a mail
	Notifications int64    `json:"notifications"` // in the database
	Sent          int64    `json:"sent"`          // those of them that are recorded as sent
	Arrived       int64    `json:"arrived"`       // once for each sale
	Accepted      int64    `json:"accepted"`      // mails, repeats included
	Problems      []string `json:"problems"`
}

func (v *mailVerified) judge() {
	for _, count := range []struct {
		what string
		is   int64
	}{
		{"notifications were made", v.Notifications},
		{"notifications are recorded as sent", v.Sent},
		{"sales have their mail", v.Arrived},
		{"mails were accepted", v.Accepted},
	} {
		if count.is != v.Expected {
			v.Problems = append(v.Problems, fmt.Sprintf("%d %s, not %d", count.is, count.what, v.Expected))
		}
	}
	v.OK = len(v.Problems) == 0
}
