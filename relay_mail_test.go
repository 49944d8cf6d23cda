package ticketing_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/store/memory"
	"github.com/floatgate/ticketing/ticketingtest"
)

// TestMailIsRetried checks that a mail has ten attempts: after 1, 5, 15 and 30 minutes, 1, 2, 4, 8 and 8 hours, each up
// to a tenth later. After the last it is FAILED, and OnMailFailed is called once. The log has the codes and texts of
// the attempts, and nothing of an error that may repeat an address.
func TestMailIsRetried(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		setSender(t, shop)
		server := newMailServer()
		tries := 0
		server.set(func(context.Context, mailed) error {
			if tries++; tries%2 == 0 {
				return errors.New("the mailbox of ada@example.com is full")
			}
			return fmt.Errorf("wrapped for ada@example.com: %w", errMailLater)
		})
		log := &lockedLog{}
		failed := make(chan ticketing.Notification, 10)
		svc := mailing(t, shop, server, logTo(log), func(c *ticketing.Config) {
			c.OnMailFailed = func(_ context.Context, n ticketing.Notification) { failed <- n; panic("ada@example.com") }
		})
		order := shop.Sell(t, sellable(t, shop), "VIP", 1)
		waits := []time.Duration{
			time.Minute, 5 * time.Minute, 15 * time.Minute, 30 * time.Minute, time.Hour, 2 * time.Hour, 4 * time.Hour,
			8 * time.Hour, 8 * time.Hour,
		}
		for attempt := range ticketing.MaxMailAttempts {
			is.Equal(sendMails(t, svc), 1)
			n := copies(t, shop, order.ID)[0]
			is.Equal(n.Attempts, attempt+1)
			last := n.Log[attempt]
			is.True(last.At.Equal(shop.Clock.Now()))
			if attempt%2 == 0 {
				is.Equal([]string{last.Code, last.Error}, []string{"451 4.3.0", "the mail was not accepted"})
			} else {
				is.Equal([]string{last.Code, last.Error}, []string{"", "the mailer failed"})
			}
			is.Equal(text(n.LastError), last.Error)
			if attempt == ticketing.MaxMailAttempts-1 {
				is.Equal(n.Status, ticketing.NotificationFailed)
				is.Equal(n.NextAttemptAt, nil)
				break
			}
			is.Equal(n.Status, ticketing.NotificationPending)
			due := n.NextAttemptAt.Sub(shop.Clock.Now())
			is.True(due >= waits[attempt] && due <= waits[attempt]*11/10)
			shop.Clock.Advance(due - time.Millisecond)
			is.Equal(sendMails(t, svc), 0) // It is not due yet.
			shop.Clock.Advance(time.Millisecond)
		}
		is.Equal(sendMails(t, svc), 0)
		is.Equal(len(failed), 1)
		is.Equal((<-failed).OrderID, order.ID)
		is.True(strings.Contains(log.String(), "a ticket mail failed permanently"))
		is.True(!strings.Contains(log.String(), "ada@")) // Neither an error nor a panic is quoted.
	})
}

// TestRefusedAddressIsFinal checks that a refusal of the address fails the mail at the first attempt.
func TestRefusedAddressIsFinal(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		setSender(t, shop)
		server := newMailServer()
		server.set(always(errMailRefused))
		svc := mailing(t, shop, server)
		order := shop.Sell(t, sellable(t, shop), "VIP", 1)
		is.Equal(sendMails(t, svc), 1)
		n := copies(t, shop, order.ID)[0]
		is.Equal(n.Status, ticketing.NotificationFailed)
		is.Equal(n.Log[0].Code, "550 5.1.1")
		shop.Clock.Advance(24 * time.Hour)
		is.Equal(sendMails(t, svc), 0)
	})
}

// TestNightWithoutMailServer checks that a mail server that is away for a night costs no mail: every mail arrives once,
// no attempt is counted, and each pass tries a single mail. Another one is tried each time, so that a mail which
// breaks the server holds up no other.
func TestNightWithoutMailServer(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		setSender(t, shop)
		server := newMailServer()
		tried := make(map[string]int)
		server.set(func(_ context.Context, m mailed) error { tried[m.MessageID]++; return errMailAway })
		svc := mailing(t, shop, server, func(c *ticketing.Config) { c.MailConcurrency = 1 })
		event := sellable(t, shop)
		const orders = 30
		for range orders {
			shop.Sell(t, event, "VIP", 1)
		}
		for range 100 { // Eight hours and more.
			sent, err := svc.SendMails(t.Context())
			is.True(errors.Is(err, ticketing.ErrMailServer))
			is.True(!strings.Contains(err.Error(), "@"))
			is.Equal(sent, 1)
			shop.Clock.Advance(5 * time.Minute)
		}
		is.Equal(len(tried), orders)
		for _, n := range notifications(t, shop) {
			is.Equal(n.Status, ticketing.NotificationPending)
			is.Equal(len(n.Attempts), 0)
		}
		server.set(nil)
		is.Equal(sendMails(t, svc), orders)
		is.Equal(sendMails(t, svc), 0)
		once := make(map[string]bool)
		for _, m := range server.accepted() {
			once[m.MessageID] = true
		}
		is.Equal(len(once), orders)
		for _, n := range notifications(t, shop) {
			is.Equal(n.Status, ticketing.NotificationSent)
			is.Equal(len(n.Attempts), 1)
		}
	})
}

// TestSendMailsCountsWhatWasHandedOver checks that SendMails counts the mails that the mailer got, and none that could
// not be rendered.
func TestSendMailsCountsWhatWasHandedOver(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		setSender(t, shop)
		server := newMailServer()
		event := sellable(t, shop)
		bad := shop.Sell(t, event, "VIP", 1)
		shop.Sell(t, event, "VIP", 1)
		is.Equal(sendMails(t, mailing(t, shop, server, func(c *ticketing.Config) {
			c.MailRenderer = &refusingRenderer{mailServer: server, order: bad.ID.String()}
		})), 1)
	})
}

// TestMailExpires checks that what is pending 72 hours after it was made is FAILED, also in a process that sends no
// mails, and that OnMailFailed is called.
func TestMailExpires(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		setSender(t, shop)
		server := newMailServer()
		server.set(always(errMailAway))
		event := sellable(t, shop)
		svc := mailing(t, shop, server)
		tried := shop.Sell(t, event, "VIP", 1)
		_, err := svc.SendMails(t.Context())
		is.True(errors.Is(err, ticketing.ErrMailServer))
		shop.Clock.Advance(72*time.Hour - time.Millisecond)
		server.set(nil)
		is.Equal(sendMails(t, svc), 1) // It is not too late yet.
		is.Equal(copies(t, shop, tried.ID)[0].Status, ticketing.NotificationSent)

		late := shop.Sell(t, event, "VIP", 1)
		server.set(always(errMailAway))
		_, err = svc.SendMails(t.Context())
		is.True(err != nil)
		shop.Clock.Advance(72 * time.Hour)
		server.set(nil)
		is.Equal(sendMails(t, svc), 0)
		got := copies(t, shop, late.ID)[0]
		is.Equal(got.Status, ticketing.NotificationFailed)
		is.Equal(text(got.LastError), "expired")
		is.Equal(got.Attempts, 0)

		idle := shop.Sell(t, event, "VIP", 1)
		is.Equal(send(t, sender(t, shop, newInbox(shop.Clock.Now))), 0) // It makes the notification.
		shop.Clock.Advance(72 * time.Hour)
		failed := make(chan ticketing.Notification, 1)
		end := running(t, sender(t, shop, nil, func(c *ticketing.Config) {
			c.OnMailFailed = func(_ context.Context, n ticketing.Notification) { failed <- n }
		}))
		is.Equal((<-failed).OrderID, idle.ID)
		end()
		is.Equal(text(copies(t, shop, idle.ID)[0].LastError), "expired")
	})
}

// TestMailWaitsForSender checks that what is pending when the mail sender is removed waits without an attempt, and goes
// out when a sender is set again.
func TestMailWaitsForSender(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		setSender(t, shop)
		server := newMailServer()
		svc := mailing(t, shop, server)
		order := shop.Sell(t, sellable(t, shop), "VIP", 1)
		is.Equal(send(t, sender(t, shop, newInbox(shop.Clock.Now))), 0)
		_, err := shop.Staff.RemoveMailSender(t.Context())
		is.NoErr(err)
		_, err = svc.SendMails(t.Context())
		is.True(errors.Is(err, ticketing.ErrMailServer))
		is.Equal(len(server.accepted()), 0)
		is.Equal(copies(t, shop, order.ID)[0].Attempts, 0)
		setSender(t, shop)
		shop.Clock.Advance(time.Minute)
		is.Equal(sendMails(t, svc), 1)
	})
}

// TestServicesSendEachMailOnce checks that several services on one store share the mails, and that each mail is sent
// once, whatever the number of companies.
func TestServicesSendEachMailOnce(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		setSender(t, shop)
		server := newMailServer()
		const orders = 20
		for _, s := range []*ticketingtest.Shop{shop, shop.Neighbour(t), shop.Neighbour(t)} {
			event := sellable(t, s)
			for range orders {
				s.Sell(t, event, "VIP", 1)
			}
		}
		var all sync.WaitGroup
		for range 3 {
			svc := mailing(t, shop, server)
			all.Go(func() {
				_, err := svc.SendMails(t.Context())
				is.NoErr(err)
			})
		}
		all.Wait()
		once := make(map[string]bool)
		for _, m := range server.accepted() {
			once[m.MessageID] = true
		}
		is.Equal(len(server.accepted()), 3*orders)
		is.Equal(len(once), 3*orders)
	})
}

// TestMailOfEndedOrderMayHaveBeenSent checks that a mail which the server accepts while its order is refunded is SENT,
// since the buyer has it, and that one which fails meanwhile stays CANCELLED.
func TestMailOfEndedOrderMayHaveBeenSent(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		setSender(t, shop)
		event := sellable(t, shop)
		for _, row := range []struct {
			answer error
			status ticketing.NotificationStatus
		}{
			{nil, ticketing.NotificationSent},
			{errMailLater, ticketing.NotificationCancelled},
			{errMailRefused, ticketing.NotificationCancelled},
			{errMailAway, ticketing.NotificationCancelled},
		} {
			server := newMailServer()
			order := shop.Sell(t, event, "VIP", 1)
			server.set(func(context.Context, mailed) error {
				_, err := shop.Staff.RefundOrder(t.Context(), order.ID, ticketing.RefundParams{Reason: "ill"})
				is.NoErr(err)
				return row.answer
			})
			_, err := mailing(t, shop, server).SendMails(t.Context())
			is.Equal(errors.Is(err, ticketing.ErrMailServer), errors.Is(row.answer, ticketing.ErrMailServer))
			is.Equal(copies(t, shop, order.ID)[0].Status, row.status)
		}
	})
}

// TestPanicsOfMailAreFailures checks that a panic of the renderer or of the mailer is a failed attempt and ends
// nothing.
func TestPanicsOfMailAreFailures(t *testing.T) {
	t.Parallel()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) {
		is := is.New(t)
		setSender(t, shop)
		event := sellable(t, shop)
		log := &lockedLog{}
		server := newMailServer()
		server.set(func(context.Context, mailed) error { panic("ada@example.com") })
		order := shop.Sell(t, event, "VIP", 1)
		is.Equal(sendMails(t, mailing(t, shop, server, logTo(log))), 1)
		is.Equal(text(copies(t, shop, order.ID)[0].LastError), "the mailer panicked")
		for _, render := range []func() error{
			func() error { panic("ada@example.com") }, func() error { return errors.New("ada@example.com") },
		} {
			order := shop.Sell(t, event, "VIP", 1)
			sendMails(t, mailing(t, shop, newMailServer(), logTo(log), func(c *ticketing.Config) {
				c.MailRenderer = renderFunc(render)
			}))
			is.Equal(text(copies(t, shop, order.ID)[0].LastError), "the mail cannot be rendered")
		}
		is.True(!strings.Contains(log.String(), "ada@"))
	})
}

// renderFunc is a MailRenderer that fails.
type renderFunc func() error

func (f renderFunc) RenderTickets(context.Context, ticketing.TicketMail) (ticketing.Mail, error) {
	return ticketing.Mail{}, f()
}

// mailerOnly is a Mailer that renders nothing.
type mailerOnly struct{ ticketing.Mailer }

// TestMailConfigIsChecked checks what New refuses of the settings for mail, and that a service without a mailer sends
// nothing.
func TestMailConfigIsChecked(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	_, err := ticketing.New(memory.New(), &ticketing.Config{Mailer: mailerOnly{}})
	is.True(err != nil)
	_, err = ticketing.New(memory.New(), &ticketing.Config{Mailer: mailerOnly{}, MailRenderer: newMailServer()})
	is.NoErr(err)
	for _, concurrency := range []int{-1, 101} {
		_, err = ticketing.New(memory.New(), &ticketing.Config{MailConcurrency: concurrency})
		is.True(err != nil)
	}
	svc, err := ticketing.New(memory.New(), nil)
	is.NoErr(err)
	_, err = svc.SendMails(t.Context())
	is.True(err != nil)
}

// TestMailIsSentSoonAfterSale checks that Run mails a sale of its own process without waiting for a poll, and in the
// same process webhooks go on while a mail hangs.
func TestMailIsSentSoonAfterSale(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, shop *ticketingtest.Shop, in *inbox) {
		is := is.New(t)
		setSender(t, shop)
		h := in.register(t, shop, ticketing.FactOrderCreated)
		server := newMailServer()
		server.set(func(ctx context.Context, _ mailed) error { <-ctx.Done(); return ctx.Err() })
		svc := sender(t, shop, in, realTime, func(c *ticketing.Config) { c.Mailer, c.PollInterval = server, time.Hour })
		end := running(t, svc)
		event := sellable(t, shop)
		began := time.Now()
		for n := range 10 {
			_, err := svc.Checkout(t.Context(), shop.Caller, shop.Key(), ticketingtest.Basket(event, "VIP", 100_00, 1))
			is.NoErr(err)
			in.wait(t, h.ID, n+1)
		}
		is.True(time.Since(began) < time.Second)
		server.set(nil)
		_, err := svc.Checkout(t.Context(), shop.Caller, shop.Key(), ticketingtest.Basket(event, "VIP", 100_00, 1))
		is.NoErr(err)
		server.wait(t, 11) // The ten that hung are tried again, too.
		end()
		for _, n := range notifications(t, shop) {
			is.Equal(n.Status, ticketing.NotificationSent)
		}
	})
}

// TestOutageIsWaitedOut checks that Run waits for a mail server that is away, from a second doubling to five minutes,
// tries one mail each time, and goes on at full speed when it is back.
func TestOutageIsWaitedOut(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, shop *ticketingtest.Shop, _ *inbox) {
		is := is.New(t)
		setSender(t, shop)
		server := newMailServer()
		var mu sync.Mutex
		var times []time.Time
		server.set(func(context.Context, mailed) error {
			mu.Lock()
			defer mu.Unlock()
			times = append(times, time.Now())
			return errMailAway
		})
		event := sellable(t, shop)
		for range 100 {
			shop.Sell(t, event, "VIP", 1)
		}
		end := running(t, sender(t, shop, nil, realTime, func(c *ticketing.Config) {
			c.Mailer, c.MailConcurrency = server, 1
		}))
		time.Sleep(8 * time.Hour)
		mu.Lock()
		wait := time.Second
		for i := 1; i < len(times); i++ {
			// A probe may wait for a poll if nothing is due when the wait is over.
			gap := times[i].Sub(times[i-1])
			is.True(gap >= wait && gap < wait+time.Second)
			wait = min(2*wait, 5*time.Minute)
		}
		is.True(len(times) > 90)
		mu.Unlock()
		server.set(nil)
		server.wait(t, 100)
		end()
		for _, n := range notifications(t, shop) {
			is.Equal(n.Status, ticketing.NotificationSent)
			is.Equal(len(n.Attempts), 1)
		}
	})
}

// TestSlowMailKeepsItsLease checks that a mail which takes longer than a lease is not sent by another process
// meanwhile, and that one of a process that died is, when its lease has run out.
func TestSlowMailKeepsItsLease(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, shop *ticketingtest.Shop, _ *inbox) {
		is := is.New(t)
		setSender(t, shop)
		slow, other := newMailServer(), newMailServer()
		slow.set(func(context.Context, mailed) error { time.Sleep(110 * time.Second); return nil })
		order := shop.Sell(t, sellable(t, shop), "VIP", 1)
		first := running(t, sender(t, shop, nil, realTime, func(c *ticketing.Config) { c.Mailer = slow }))
		time.Sleep(time.Second)
		second := running(t, sender(t, shop, nil, realTime, func(c *ticketing.Config) { c.Mailer = other }))
		time.Sleep(3*time.Minute + time.Second/2) // Both poll at whole seconds.
		is.Equal(len(slow.accepted()), 1)
		is.Equal(len(other.accepted()), 0)

		// A process that dies leaves its lease behind.
		_, err := shop.Staff.ResendNotification(t.Context(), order.ID, "")
		is.NoErr(err)
		var leased []driver.Notification
		is.NoErr(shop.Store.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
			if _, err := tx.Begin(ctx, driver.BeginOptions{}); err != nil {
				return err
			}
			leased, err = tx.ClaimNotifications(ctx, driver.NotificationClaim{
				CompanyID: shop.Company.ID, At: time.Now(), Until: time.Now().Add(time.Minute), Limit: 10,
			})
			return err
		}))
		is.Equal(len(leased), 1)
		first()
		time.Sleep(59 * time.Second)
		is.Equal(len(other.accepted()), 0)
		time.Sleep(2 * time.Second)
		is.Equal(len(other.accepted()), 1)
		second()
	})
}

// TestDrainFinishesMails checks that the end of Run finishes the mails that are being sent and gives back the others at
// once, so that another process need not wait for their leases.
func TestDrainFinishesMails(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, shop *ticketingtest.Shop, _ *inbox) {
		is := is.New(t)
		setSender(t, shop)
		server := newMailServer()
		server.set(func(context.Context, mailed) error { time.Sleep(45 * time.Second); return nil })
		event := sellable(t, shop)
		for range 30 {
			shop.Sell(t, event, "VIP", 1)
		}
		end := running(t, sender(t, shop, nil, realTime, func(c *ticketing.Config) { c.Mailer = server }))
		time.Sleep(30 * time.Second)
		end()
		is.Equal(len(server.accepted()), 4)
		pending := 0
		for _, n := range notifications(t, shop) {
			if n.Status == ticketing.NotificationPending {
				is.True(n.LeasedUntil.IsZero())
				is.True(!n.DueAt.After(time.Now()))
				pending++
			}
		}
		is.Equal(pending, 26)
	})
}

// TestCompaniesTakeTurnsWithMails checks that a company with many mails does not hold up those of another.
func TestCompaniesTakeTurnsWithMails(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, shop *ticketingtest.Shop, _ *inbox) {
		is := is.New(t)
		setSender(t, shop)
		server := newMailServer()
		server.set(func(context.Context, mailed) error { time.Sleep(time.Second); return nil })
		event := sellable(t, shop)
		for range 500 {
			shop.Sell(t, event, "VIP", 1)
		}
		end := running(t, sender(t, shop, nil, realTime, func(c *ticketing.Config) { c.Mailer = server }))
		time.Sleep(10 * time.Second)
		neighbour := shop.Neighbour(t)
		order := neighbour.Sell(t, sellable(t, neighbour), "VIP", 1)
		time.Sleep(15 * time.Second)
		is.Equal(copies(t, neighbour, order.ID)[0].Status, ticketing.NotificationSent)
		is.True(len(server.accepted()) < 200)
		end()
	})
}

// TestLostReplyCountsAttemptOnce checks that an outcome whose commit succeeded and whose reply was lost is not counted
// twice, and that the mail is not sent again.
func TestLostReplyCountsAttemptOnce(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		answer error
	}{{"sent", nil}, {"failed", errMailLater}} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			lossy := &lossyStore{Store: memory.New()}
			shop := ticketingtest.New(t, &ticketingtest.Config{Store: lossy})
			setSender(t, shop)
			server := newMailServer()
			server.set(func(context.Context, mailed) error { lossy.lose.Store(true); return row.answer })
			order := shop.Sell(t, sellable(t, shop), "VIP", 1)
			is.Equal(sendMails(t, mailing(t, shop, server)), 1)
			is.Equal(lossy.lose.Load(), false) // A reply was lost.
			is.Equal(copies(t, shop, order.ID)[0].Attempts, 1)
		})
	}
}

// lossyStore loses the reply of the next commit that a test chooses.
type lossyStore struct {
	driver.Store

	lose atomic.Bool
}

func (s *lossyStore) Update(ctx context.Context, fn func(ctx context.Context, tx driver.Tx) error) error {
	err := s.Store.Update(ctx, fn)
	if err == nil && s.lose.CompareAndSwap(true, false) {
		return fmt.Errorf("the reply was lost: %w", driver.ErrUnavailable)
	}
	return err
}

// TestDrainCutsOffHangingMail checks that a mail which hangs has 20 seconds after the end of Run. It is given back
// then, and counts no attempt.
func TestDrainCutsOffHangingMail(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, shop *ticketingtest.Shop, _ *inbox) {
		is := is.New(t)
		setSender(t, shop)
		server := newMailServer()
		server.set(func(ctx context.Context, _ mailed) error { <-ctx.Done(); return ctx.Err() })
		order := shop.Sell(t, sellable(t, shop), "VIP", 1)
		end := running(t, sender(t, shop, nil, realTime, func(c *ticketing.Config) { c.Mailer = server }))
		time.Sleep(time.Second)
		began := time.Now()
		end()
		is.Equal(time.Since(began), 20*time.Second)
		got := copies(t, shop, order.ID)[0]
		is.Equal(got.Status, ticketing.NotificationPending)
		is.Equal(got.Attempts, 0)
		shop.Clock.Set(time.Now())
		is.True(copies(t, shop, order.ID)[0].NextAttemptAt != nil) // No lease is left.
	})
}

// TestClockStepSendsNoMailTwice checks that a clock which is set forward past the end of a lease, or back, while a mail
// is being sent has it sent once.
func TestClockStepSendsNoMailTwice(t *testing.T) {
	t.Parallel()
	for _, step := range []time.Duration{2 * time.Minute, 2 * time.Hour, -time.Hour} {
		t.Run(step.String(), func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T, shop *ticketingtest.Shop, _ *inbox) {
				is := is.New(t)
				setSender(t, shop)
				server := newMailServer()
				server.set(func(context.Context, mailed) error { time.Sleep(30 * time.Second); return nil })
				order := shop.Sell(t, sellable(t, shop), "VIP", 1)
				svc := sender(t, shop, nil, func(c *ticketing.Config) { c.Mailer = server }) // on the clock of the shop
				end := running(t, svc)
				time.Sleep(time.Second)
				shop.Clock.Advance(step)
				svc.Wake()
				time.Sleep(5 * time.Minute)
				shop.Clock.Advance(3 * time.Hour)
				time.Sleep(5 * time.Minute)
				end()
				is.Equal(len(server.accepted()), 1)
				is.Equal(copies(t, shop, order.ID)[0].Status, ticketing.NotificationSent)
			})
		})
	}
}

// TestLostLeaseSendsNoQueuedMail checks that a process which could not renew its leases sends none of the mails that it
// had queued, once another process has taken them.
func TestLostLeaseSendsNoQueuedMail(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, shop *ticketingtest.Shop, _ *inbox) {
		is := is.New(t)
		setSender(t, shop)
		slow, other := newMailServer(), newMailServer()
		slow.set(func(context.Context, mailed) error { time.Sleep(100 * time.Second); return nil })
		// The other process still sends them when the first one begins its next.
		other.set(func(context.Context, mailed) error { time.Sleep(time.Minute); return nil })
		event := sellable(t, shop)
		for range 4 {
			shop.Sell(t, event, "VIP", 1)
		}
		cut := &cutStore{Store: shop.Store}
		lone := *shop
		lone.Store = cut
		first := running(t, sender(t, &lone, nil, realTime, func(c *ticketing.Config) {
			c.Mailer, c.MailConcurrency = slow, 1
		}))
		time.Sleep(time.Second)
		cut.away.Store(true)
		second := running(t, sender(t, shop, nil, realTime, func(c *ticketing.Config) { c.Mailer = other }))
		time.Sleep(80 * time.Second)
		cut.away.Store(false)
		time.Sleep(5 * time.Minute)
		first()
		second()
		is.Equal(len(slow.accepted()), 1) // It was being sent when the lease ran out.
		is.Equal(len(other.accepted()), 4)
	})
}

// cutStore is a store that cannot be written while it is away.
type cutStore struct {
	driver.Store

	away atomic.Bool
}

func (s *cutStore) Update(ctx context.Context, fn func(ctx context.Context, tx driver.Tx) error) error {
	if s.away.Load() {
		return driver.ErrUnavailable
	}
	return s.Store.Update(ctx, fn)
}

// TestLocalFailureDoesNotEndOutage checks that a mail which cannot be rendered says nothing about the mail server: the
// waits for a server that is away go on doubling.
func TestLocalFailureDoesNotEndOutage(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, shop *ticketingtest.Shop, _ *inbox) {
		is := is.New(t)
		setSender(t, shop)
		server := newMailServer()
		var tries atomic.Int64
		server.set(func(context.Context, mailed) error { tries.Add(1); return errMailAway })
		event := sellable(t, shop)
		bad := shop.Sell(t, event, "VIP", 1)
		for range 4 {
			shop.Sell(t, event, "VIP", 1)
		}
		end := running(t, sender(t, shop, nil, realTime, func(c *ticketing.Config) {
			c.Mailer, c.MailRenderer = server, &refusingRenderer{mailServer: server, order: bad.ID.String()}
		}))
		time.Sleep(20 * time.Minute)
		end()
		// At first four at once, then after 1, 2, 4 … 256 and 300 seconds.
		is.True(tries.Load() >= 10 && tries.Load() <= 16)
		is.Equal(text(copies(t, shop, bad.ID)[0].LastError), "the mail cannot be rendered")
	})
}

// refusingRenderer cannot render the mail of one order.
type refusingRenderer struct {
	*mailServer

	order string
}

func (r *refusingRenderer) RenderTickets(
	ctx context.Context, tickets ticketing.TicketMail,
) (ticketing.Mail, error) {
	if tickets.Order.ID.String() == r.order {
		return ticketing.Mail{}, errors.New("it cannot be rendered")
	}
	return r.mailServer.RenderTickets(ctx, tickets)
}

// TestSenderThatIsSetAgainIsUsedSoon checks that mails which waited for a mail sender under Run go out within seconds
// after one is set, however long they waited.
func TestSenderThatIsSetAgainIsUsedSoon(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T, shop *ticketingtest.Shop, _ *inbox) {
		is := is.New(t)
		setSender(t, shop)
		server := newMailServer()
		event := sellable(t, shop)
		for range 10 {
			shop.Sell(t, event, "VIP", 1)
		}
		is.Equal(send(t, sender(t, shop, newInbox(time.Now), realTime)), 0) // It makes the notifications.
		_, err := shop.Staff.RemoveMailSender(t.Context())
		is.NoErr(err)
		end := running(t, sender(t, shop, nil, realTime, func(c *ticketing.Config) { c.Mailer = server }))
		time.Sleep(time.Hour)
		is.Equal(len(server.accepted()), 0)
		setSender(t, shop)
		time.Sleep(15 * time.Second)
		is.Equal(len(server.accepted()), 10)
		end()
	})
}

// logTo has a service log to a text.
func logTo(log *lockedLog) func(*ticketing.Config) {
	return func(c *ticketing.Config) { c.Logger = slog.New(slog.NewTextHandler(log, nil)) }
}
