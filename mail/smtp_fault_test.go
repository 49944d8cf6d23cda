package mail_test

import (
	"context"
	"errors"
	"net"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/mail"
)

// plain is the offer of a server that accepts user and password unencoded.
const plain = "AUTH PLAIN"

// steps are all steps of a mail over a new connection, in order.
var steps = []string{"greeting", "EHLO", "STARTTLS", "TLS", "EHLO again", "AUTH", "MAIL", "RCPT", "DATA", "content"}

// A server that stalls, hangs up, floods, drips or refuses at any step. The error is of the class of that step, has the
// code of the reply, and comes in time. It contains no text of the server.
func TestFaultsAtEachStep(t *testing.T) {
	t.Parallel()
	type want struct {
		fault  fault
		code   string
		within time.Duration // how long it takes at most
	}
	faults := map[string]want{
		"hang":         {fault: hang, within: 31 * time.Second},
		"hang up":      {fault: hangUp},
		"drip":         {fault: drip, within: 31 * time.Second},
		"flood":        {fault: flood("250-" + chatter + "\r\n")},
		"endless line": {fault: flood("2")},
		"no reply":     {fault: say(chatter)},
		"421":          {fault: sayLast("421 4.3.2 " + chatter), code: "421 4.3.2"},
		"450":          {fault: say("450-" + chatter + "\n450 4.2.1 " + chatter), code: "450"},
		"451":          {fault: say("451 4.7.1 " + chatter), code: "451 4.7.1"},
		"550":          {fault: say("550 5.1.1 " + chatter), code: "550 5.1.1"},
		"552":          {fault: say("552 " + chatter), code: "552"},
		"554 lies":     {fault: say("554 2.1.5 " + chatter), code: "554"},
	}
	for at, step := range steps {
		for name, f := range faults {
			if step == "TLS" && f.code != "" {
				continue // A handshake has no replies.
			}
			t.Run(step+"/"+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					is := is.New(t)
					server := &script{faults: map[string]fault{step: f.fault}, offersTLS: []string{plain}}
					s := server.mailer(t, rawURL, mail.SMTPConfig{})
					begun := time.Now()
					err := s.Mail(t.Context(), ticketMail(1))
					class := ticketing.ErrMailServer
					if at >= slices.Index(steps, "RCPT") && !strings.HasPrefix(f.code, "421") {
						class = nil
						if step == "RCPT" && strings.HasPrefix(f.code, "5") {
							class = ticketing.ErrMailRefused
						}
					}
					checkError(t, err, class, f.code)
					if step == "TLS" {
						f.within = 31 * time.Second // The alert about what is no handshake waits for a reader.
					}
					is.True(time.Since(begun) <= f.within)
					is.Equal(server.dials.Load(), int64(1)) // a failed new connection is not replaced
					is.NoErr(s.Close())
				})
			})
		}
	}
}

// A server may require a user even in reply to the recipient. That is not a refusal of the recipient.
func TestServerThatWantsAUserRefusesNoRecipient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := &script{faults: map[string]fault{"RCPT": say("530 5.7.0 " + chatter)}}
		s := server.mailer(t, "smtp://"+host, mail.SMTPConfig{})
		checkError(t, s.Mail(t.Context(), ticketMail(1)), ticketing.ErrMailServer, "530 5.7.0")
	})
}

// A server that cannot be trusted or reached gets no user, no password and no mail.
func TestUntrustedServerGetsNothing(t *testing.T) {
	t.Parallel()
	other := testAuthority().server("mail.example.org", testAuthority().certificate.NotAfter)
	expired := testAuthority().server(host, time.Date(1999, 12, 31, 0, 0, 0, 0, time.UTC))
	for _, test := range []struct {
		name   string
		server *script
		url    string
		text   string
	}{
		{name: "offers no STARTTLS", server: &script{offers: []string{plain}}, text: "STARTTLS"},
		{name: "strips STARTTLS", server: &script{offers: []string{"XXXXXXXX", plain}}, text: "STARTTLS"},
		{name: "refuses STARTTLS", server: &script{faults: map[string]fault{"STARTTLS": say("454 " + chatter)}}},
		{name: "another's certificate", server: &script{tls: other}, text: "certificate is for another host"},
		{name: "expired certificate", server: &script{tls: expired}, text: "certificate has expired"},
		{
			name:   "certificate of a stranger",
			server: &script{tls: stranger()}, text: "certificate signed by unknown authority",
		},
		{
			name:   "speaks before the handshake",
			server: &script{faults: map[string]fault{"STARTTLS": say("220 go\n250 " + chatter)}}, text: "before it began",
		},
		{
			name: "speaks before the handshake, in a packet of its own",
			server: &script{faults: map[string]fault{"STARTTLS": func(p *peer) bool {
				return p.say("220 go") && p.say("250-mail.example.com\n250 "+plain)
			}}},
		},
		{name: "plain text where TLS is due", server: &script{}, url: strings.Replace(rawURL, "smtp", "smtps", 1)},
		{
			name: "another's certificate, TLS from the start", url: strings.Replace(rawURL, "smtp", "smtps", 1),
			server: &script{implicit: true, tls: other}, text: "certificate is for another host",
		},
		{name: "offers no way to sign in", server: &script{}, text: "sign in"},
		{name: "offers only what is not safe", server: &script{offersTLS: []string{"AUTH CRAM-MD5 NTLM"}}, text: "sign in"},
		{
			name: "unreachable", text: "connecting",
			server: &script{faults: map[string]fault{"dial": func(*peer) bool { return false }}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				url := test.url
				if url == "" {
					url = rawURL
				}
				s := test.server.mailer(t, url, mail.SMTPConfig{})
				for _, err := range []error{s.Check(t.Context()), s.Mail(t.Context(), ticketMail(1))} {
					code := ""
					if test.name == "refuses STARTTLS" {
						code = "454"
					}
					checkError(t, err, ticketing.ErrMailServer, code)
					is.True(strings.Contains(err.Error(), test.text))
				}
				is.NoErr(s.Close())
				for _, step := range []string{"AUTH", "MAIL", "RCPT", "DATA"} {
					is.True(!slices.Contains(test.server.steps(), step))
				}
			})
		})
	}
}

// A mail that the server has accepted is sent, whatever the server does next.
func TestAcceptedMailIsSent(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]fault{
		"hang": hang, "hang up": hangUp, "refuse": sayLast("421 " + chatter), "flood": flood("250-x\r\n"),
		"speak unasked": func(p *peer) bool { return p.say("250 ok\n250 " + chatter) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				server := &script{faults: map[string]fault{"RSET": f, "QUIT": f}}
				s := server.mailer(t, "smtp://"+host, mail.SMTPConfig{})
				begun := time.Now()
				is.NoErr(s.Mail(t.Context(), ticketMail(1)))
				is.Equal(time.Since(begun), 0*time.Second)
				// The next mail needs a new connection but no further attempt.
				is.NoErr(s.Mail(t.Context(), ticketMail(1)))
				is.True(time.Since(begun) <= 5*time.Second)
				is.Equal(len(server.accepted()), 2)
				is.NoErr(s.Close())
				is.True(time.Since(begun) <= 15*time.Second)
			})
		})
	}
}

// A kept connection that fails before the server has replied to the sender is replaced by a new one, once. One that
// fails later is not: the server may have the mail.
func TestLostConnectionIsReplacedOnce(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name  string
		step  string
		fault fault
		dials int64
		class error
		code  string
		fails bool
	}{
		{name: "closed while idle", step: "content", fault: sayLast("250 ok"), dials: 2},
		{name: "closes at RSET", step: "RSET", fault: hangUp, dials: 2},
		{name: "421 at RSET", step: "RSET", fault: sayLast("421 4.4.2 " + chatter), dials: 2},
		{name: "closes at the sender", step: "second MAIL", fault: hangUp, dials: 2},
		{name: "421 at the sender", step: "second MAIL", fault: sayLast("421 4.4.2 " + chatter), dials: 2},
		{
			name: "refuses the sender", step: "second MAIL", fault: say("451 " + chatter), dials: 1, fails: true,
			class: ticketing.ErrMailServer, code: "451",
		},
		{name: "closes at the recipient", step: "second RCPT", fault: hangUp, dials: 1, fails: true},
		{name: "closes at the content", step: "second content", fault: hangUp, dials: 1, fails: true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				step, second := strings.CutPrefix(test.step, "second ")
				server := &script{connections: 1}
				times := 0
				server.faults = map[string]fault{step: func(p *peer) bool {
					if times++; second && times == 1 {
						return p.say("250 ok")
					}
					return test.fault(p)
				}}
				s := server.mailer(t, "smtp://"+host, mail.SMTPConfig{})
				is.NoErr(s.Mail(t.Context(), ticketMail(1)))
				err := s.Mail(t.Context(), ticketMail(1))
				is.Equal(server.dials.Load(), test.dials)
				if test.fails {
					checkError(t, err, test.class, test.code)
				} else {
					is.NoErr(err)
				}
				is.NoErr(s.Close())
			})
		})
	}
}

// A mail whose context ends fails at once, whatever the server does. A canceled one is reported as canceled: it is not
// an attempt.
func TestContextEndsTheMail(t *testing.T) {
	t.Parallel()
	for _, step := range append([]string{"dial"}, steps...) {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				stall := hang
				if step == "dial" {
					stall = hangUp
				}
				server := &script{faults: map[string]fault{step: stall}, offersTLS: []string{plain}}
				s := server.mailer(t, rawURL, mail.SMTPConfig{})
				begun := time.Now()
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Second, cancel)
				err := s.Mail(ctx, ticketMail(1))
				is.Equal(time.Since(begun), time.Second)
				is.True(errors.Is(err, context.Canceled))
				checkError(t, err, nil, "")

				ctx, cancel = context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				err = s.Mail(ctx, ticketMail(1))
				is.Equal(time.Since(begun), 2*time.Second)
				var class error
				if !slices.Contains([]string{"RCPT", "DATA", "content"}, step) {
					class = ticketing.ErrMailServer
				}
				checkError(t, err, class, "")
				is.NoErr(s.Close())
			})
		})
	}
}

// A mail ends with its context also over a kept connection, and does not end with the context of an earlier mail.
func TestContextEndsTheMailOnAKeptConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		mails := 0
		server := &script{faults: map[string]fault{"RCPT": func(p *peer) bool {
			if mails++; mails == 3 {
				return hang(p)
			}
			return p.say("250 ok")
		}}}
		s := server.mailer(t, "smtp://"+host, mail.SMTPConfig{})
		ctx, cancel := context.WithCancel(t.Context())
		is.NoErr(s.Mail(ctx, ticketMail(1)))
		cancel()
		is.NoErr(s.Mail(t.Context(), ticketMail(1)))
		begun := time.Now()
		ctx, cancel = context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		checkError(t, s.Mail(ctx, ticketMail(1)), nil, "")
		is.Equal(time.Since(begun), time.Second)
		is.Equal(server.dials.Load(), int64(1))
	})
}

// A server that accepts no connection takes as long as one that does not reply to a command.
func TestConnectingHasATimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		server := &script{faults: map[string]fault{"dial": hangUp}}
		s := server.mailer(t, "smtp://"+host, mail.SMTPConfig{})
		begun := time.Now()
		err := s.Mail(t.Context(), ticketMail(1))
		checkError(t, err, ticketing.ErrMailServer, "")
		is.True(strings.Contains(err.Error(), "timeout"))
		is.Equal(time.Since(begun), 30*time.Second)
	})
}

// Each reply is limited by itself, not the total that a connection ever reads.
func TestLongConversationIsNoFlood(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		reply := strings.Repeat("250-"+chatter+"\n", 200) + "250 ok"
		server := &script{faults: map[string]fault{"MAIL": say(reply)}}
		s := server.mailer(t, "smtp://"+host, mail.SMTPConfig{})
		for range 60 {
			is.NoErr(s.Mail(t.Context(), ticketMail(0)))
		}
		is.Equal(server.dials.Load(), int64(1))
	})
}

// A server that is slow in everything takes at most two minutes of a mail.
func TestMailTakesTwoMinutesAtMost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		slow := make(map[string]fault)
		for step, reply := range map[string]string{
			"greeting": "220 hi", "EHLO": "250-x\n250 STARTTLS", "STARTTLS": "220 go", "EHLO again": "250 x",
			"MAIL": "250 ok", "RCPT": "250 ok",
		} {
			slow[step] = func(p *peer) bool {
				time.Sleep(25 * time.Second)
				return p.say(reply)
			}
		}
		server := &script{faults: slow}
		s := server.mailer(t, "smtp://"+host, mail.SMTPConfig{})
		begun := time.Now()
		checkError(t, s.Mail(t.Context(), ticketMail(1)), ticketing.ErrMailServer, "")
		is.Equal(time.Since(begun), 2*time.Minute)
		is.NoErr(s.Close())
	})
}

// A greeting of a hundred megabytes takes no memory.
func TestFloodTakesNoMemory(t *testing.T) {
	is := is.New(t)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, line := range []string{"220-" + chatter + "\r\n", "2"} {
		server := &script{faults: map[string]fault{"greeting": flood(line)}}
		s := server.mailer(t, "smtp://"+host, mail.SMTPConfig{})
		checkError(t, s.Mail(t.Context(), ticketMail(1)), ticketing.ErrMailServer, "")
		is.NoErr(s.Close())
	}
	runtime.ReadMemStats(&after)
	is.True(after.TotalAlloc-before.TotalAlloc < 16<<20)
}

// If nothing listens, or the name does not resolve, the error says so, and no more.
func TestServerIsNotThere(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	is.NoErr(err)
	address := listener.Addr().String()
	is.NoErr(listener.Close())
	s, err := mail.NewSMTP("smtp://"+address, nil)
	is.NoErr(err)
	err = s.Mail(t.Context(), ticketMail(1))
	checkError(t, err, ticketing.ErrMailServer, "")
	is.True(strings.Contains(err.Error(), "connection refused"))
	s, err = mail.NewSMTP("smtp://"+host, &mail.SMTPConfig{
		Dial: func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.DNSError{Err: chatter, Name: host, IsNotFound: true}
		},
	})
	is.NoErr(err)
	err = s.Mail(t.Context(), ticketMail(1))
	checkError(t, err, ticketing.ErrMailServer, "")
	is.True(strings.Contains(err.Error(), "no such host"))
}
