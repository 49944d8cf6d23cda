package mail_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/mail"
)

// All mails share a few connections. Each is used by one mail at a time, for at most a hundred mails, and is closed
// after a minute without one.
func TestConnectionsAreShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		server := &script{}
		slow := func(p *peer) bool {
			time.Sleep(time.Second)
			return p.say("250 ok")
		}
		server.faults = map[string]fault{"RCPT": slow}
		s := server.mailer(t, "smtp://"+host, mail.SMTPConfig{})
		begun := time.Now()
		send := func(mails int) {
			var all sync.WaitGroup
			for range mails {
				all.Go(func() { is.NoErr(s.Mail(t.Context(), ticketMail(1))) })
			}
			all.Wait()
		}
		send(40)
		is.Equal(server.dials.Load(), int64(mail.DefaultConnections))
		is.Equal(time.Since(begun), 10*time.Second)
		time.Sleep(59 * time.Second)
		send(1) // over one of them
		is.Equal(server.dials.Load(), int64(mail.DefaultConnections))
		synctest.Wait()
		quits := func() (n int) {
			for _, step := range server.steps() {
				if step == "QUIT" {
					n++
				}
			}
			return n
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		is.Equal(quits(), 3)
		time.Sleep(time.Minute)
		synctest.Wait()
		is.Equal(quits(), 4)
		for range 101 {
			send(1)
		}
		synctest.Wait()
		is.Equal(server.dials.Load(), int64(mail.DefaultConnections+2))
		is.Equal(quits(), 5)
		is.NoErr(s.Close())
		is.Equal(quits(), 6)
	})
}

// Mails are spaced evenly. A canceled one takes no turn.
func TestRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		server := &script{}
		s := server.mailer(t, "smtp://"+host, mail.SMTPConfig{Rate: 4})
		begun := time.Now()
		var all sync.WaitGroup
		for range 9 {
			all.Go(func() { is.NoErr(s.Mail(t.Context(), ticketMail(1))) })
		}
		all.Wait()
		for i, at := range server.accepted() {
			is.Equal(at.Sub(begun), time.Duration(i)*250*time.Millisecond)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		checkError(t, s.Mail(ctx, ticketMail(1)), ticketing.ErrMailServer, "")
		is.NoErr(s.Mail(t.Context(), ticketMail(1)))
		is.Equal(server.accepted()[9].Sub(begun), 9*250*time.Millisecond)
		time.Sleep(time.Second) // Unused turns are not made up for.
		begun = time.Now()
		is.NoErr(s.Mail(t.Context(), ticketMail(1)))
		is.NoErr(s.Mail(t.Context(), ticketMail(1)))
		is.Equal(time.Since(begun), 250*time.Millisecond)
		is.NoErr(s.Close())
	})
}

// Close lets the mails that are being sent finish. No mail comes after it.
func TestCloseFinishesWhatWasBegun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		server := &script{faults: map[string]fault{"content": func(p *peer) bool {
			time.Sleep(10 * time.Second)
			return p.say("250 ok")
		}}}
		s := server.mailer(t, "smtp://"+host, mail.SMTPConfig{})
		var sent error
		var all sync.WaitGroup
		all.Go(func() { sent = s.Mail(t.Context(), ticketMail(1)) })
		synctest.Wait()
		begun := time.Now()
		is.NoErr(s.Close())
		is.Equal(time.Since(begun), 10*time.Second)
		all.Wait()
		is.NoErr(sent)
		is.Equal(server.steps()[len(server.steps())-1], "QUIT")
		checkError(t, s.Mail(t.Context(), ticketMail(1)), ticketing.ErrMailServer, "")
		checkError(t, s.Check(t.Context()), ticketing.ErrMailServer, "")
		is.NoErr(s.Close())
	})
}
