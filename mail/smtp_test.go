package mail_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/mail"
)

// A real server gets the mail as it was formatted, over an encrypted connection, from the user who signed in, with the
// address for bounces as its envelope's sender.
func TestServerReceivesTheMail(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, url  string
		implicit   bool
		mechanisms []string
		user       string
	}{
		{name: "STARTTLS and PLAIN", url: rawURL, mechanisms: []string{"LOGIN", "PLAIN"}, user: user},
		{name: "STARTTLS and LOGIN", url: rawURL, mechanisms: []string{"XOAUTH2", "LOGIN"}, user: user},
		{name: "STARTTLS without a user", url: "smtp://mail.example.com", mechanisms: []string{"PLAIN"}},
		{
			name: "TLS from the start", url: strings.Replace(rawURL, "smtp", "smtps", 1), implicit: true,
			mechanisms: []string{"PLAIN"}, user: user,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			r := receive(t, test.implicit, test.mechanisms...)
			s := r.mailer(t, test.url, mail.SMTPConfig{Hello: "tickets.example.com"})
			is.NoErr(s.Check(t.Context()))
			is.Equal(len(r.all()), 0) // a check sends nothing
			m := ticketMail(2)
			is.NoErr(s.Mail(t.Context(), m))
			got := r.all()
			is.Equal(len(got), 1)
			is.Equal(got[0].from, m.Bounces)
			is.Equal(got[0].to, m.To)
			is.Equal(got[0].encrypted, true)
			is.Equal(got[0].user, test.user)
			is.Equal(got[0].hello, "tickets.example.com")
			is.Equal(got[0].utf8, false) // it is ASCII, which any server may pass on
			checkMessage(t, got[0].data, m)
		})
	}
}

// To a loopback address a mail goes in plain text, and so do user and password.
func TestLoopbackNeedsNoEncryption(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	r := receive(t, false, "PLAIN")
	s, err := mail.NewSMTP("smtp://float%40gate:p%40ss%2Fw%C3%B6rd%3A%3F%23%25@"+r.address, nil)
	is.NoErr(err)
	defer s.Close()
	is.NoErr(s.Mail(t.Context(), ticketMail(1)))
	is.Equal(r.all()[0].encrypted, false)
	is.Equal(r.all()[0].user, user)

	// With roots it is encrypted there, too, and the certificate is for another host.
	s, err = mail.NewSMTP("smtp://"+r.address, &mail.SMTPConfig{RootCAs: testAuthority().pool})
	is.NoErr(err)
	defer s.Close()
	err = s.Mail(t.Context(), ticketMail(1))
	is.True(errors.Is(err, ticketing.ErrMailServer))
	is.True(strings.Contains(err.Error(), "certificate"))
}

// Addresses of all forms arrive unchanged. One that the server does not support is refused for good, before anything is
// sent.
func TestAddressesOfAllForms(t *testing.T) {
	t.Parallel()
	r := receive(t, false)
	s := r.mailer(t, "smtp://mail.example.com", mail.SMTPConfig{})
	long := func(n int) string {
		return strings.Repeat("a", 64) + "@" + strings.Repeat(strings.Repeat("b", 60)+".", 4)[:n-65-3] + ".cc"
	}
	for _, test := range []struct {
		name, to, arrives string
		international     bool
	}{
		{name: "plain", to: "ada@example.com", arrives: "ada@example.com"},
		{name: "signs", to: "!#$%&'*+-/=?^_`{|}~@example.com", arrives: "!#$%&'*+-/=?^_`{|}~@example.com"},
		{name: "quoted", to: `"a b"@example.com`, arrives: "a b@example.com"},
		{name: "quoted with an at", to: `"a@b, c"@example.com`, arrives: "a@b, c@example.com"},
		{name: "quoted pairs", to: `"a\"\\ <x>"@example.com`, arrives: `a"\ <x>@example.com`},
		{name: "quoted without need", to: `"ada"@example.com`, arrives: "ada@example.com"},
		{name: "as long as can be", to: long(254), arrives: long(254)},
		{name: "international", to: "ọmọ@example.com", arrives: "ọmọ@example.com", international: true},
		{name: "international and quoted", to: `"ọ mọ"@example.com`},
		{name: "too long", to: long(255)},
		{name: "empty"},
		{name: "with a name", to: "Ada <ada@example.com>"},
		{name: "in brackets", to: "<ada@example.com>"},
		{name: "two", to: "ada@example.com, eve@example.com"},
		{name: "group", to: "all: ada@example.com;"},
		{name: "comment", to: "ada@example.com (eve)"},
		{name: "address literal", to: "ada@[127.0.0.1]"},
		{name: "route", to: "@example.org:ada@example.com"},
		{name: "line break", to: "ada@example.com\r\nBcc: eve@example.com"},
		{name: "quoted line break", to: "\"a\r\nb\"@example.com"},
		{name: "command", to: "ada@example.com>\r\nRCPT TO:<eve@example.com"},
		{name: "no domain", to: "ada"},
		{name: "no local part", to: "@example.com"},
		{name: "empty quotes", to: `""@example.com`},
		{name: "half a pair", to: `"a\"@example.com`},
		{name: "invalid UTF-8", to: "a\xff@example.com"},
		{name: "override", to: "a\u202eb@example.com"},
	} {
		t.Run(test.name, func(t *testing.T) {
			is := is.New(t)
			before := len(r.all())
			m := ticketMail(0)
			m.To = test.to
			err := s.Mail(t.Context(), m)
			if test.arrives == "" {
				is.True(errors.Is(err, ticketing.ErrMailRefused))
				is.Equal(len(r.all()), before)
				return
			}
			is.NoErr(err)
			got := r.all()[before]
			is.Equal(got.to, test.arrives)
			is.Equal(got.utf8, test.international)
		})
	}
}

// A refused recipient is refused for good. The connection still serves the next mail.
func TestConnectionOutlivesARefusal(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	r := receive(t, false)
	s := r.mailer(t, "smtp://mail.example.com", mail.SMTPConfig{})
	m := ticketMail(1)
	m.To = "nobody@example.com"
	err := s.Mail(t.Context(), m)
	checkError(t, err, ticketing.ErrMailRefused, "550 5.1.1")
	is.NoErr(s.Mail(t.Context(), ticketMail(1)))
	is.NoErr(s.Mail(t.Context(), ticketMail(1)))
	is.Equal(len(r.all()), 2)
	is.Equal(r.dials.Load(), int64(1))
}
