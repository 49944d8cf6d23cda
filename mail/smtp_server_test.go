package mail_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"math/big"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/mail"
)

// The server of the tests, and what must never be repeated: its texts, the recipient and the password.
const (
	host     = "mail.example.com"
	buyer    = "ada.buyer@example.net"
	user     = "float@gate"
	password = "p@ss/wörd:?#%"
	rawURL   = "smtp://float%40gate:p%40ss%2Fw%C3%B6rd%3A%3F%23%25@mail.example.com"
	chatter  = "chatter about ada.buyer@example.net"
)

// authority signs certificates in the tests. They are valid also in the year 2000, in which synctest begins.
type authority struct {
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
	pool        *x509.CertPool
}

var testAuthority = sync.OnceValue(func() *authority {
	key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority of the tests"},
		NotBefore: time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC), NotAfter: time.Date(2090, 1, 1, 0, 0, 0, 0, time.UTC),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, _ := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	certificate, _ := x509.ParseCertificate(der)
	pool := x509.NewCertPool()
	pool.AddCert(certificate)
	return &authority{key: key, certificate: certificate, pool: pool}
})

// server returns the TLS settings of a server with the name. It turns session tickets off: the server sends them while
// nobody reads, and a pipe does not buffer them.
func (a *authority) server(name string, until time.Time) *tls.Config {
	key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), DNSNames: []string{name}, NotBefore: a.certificate.NotBefore, NotAfter: until,
	}
	der, _ := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	return &tls.Config{
		Certificates:           []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		SessionTicketsDisabled: true,
	}
}

var serverTLS = sync.OnceValue(func() *tls.Config {
	return testAuthority().server(host, testAuthority().certificate.NotAfter)
})

// received is a mail that the server has accepted.
type received struct {
	from, to  string
	utf8      bool
	data      []byte
	encrypted bool
	user      string
	hello     string
}

// receiver is a real SMTP server on loopback.
type receiver struct {
	address    string
	mechanisms []string
	dials      atomic.Int64

	mu    sync.Mutex
	mails []received
}

// receive starts a receiver. With implicit, it speaks TLS from the start.
func receive(tb testing.TB, implicit bool, mechanisms ...string) *receiver {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	r := &receiver{address: listener.Addr().String(), mechanisms: mechanisms}
	server := smtp.NewServer(r)
	server.Domain, server.TLSConfig, server.EnableSMTPUTF8 = host, serverTLS(), true
	server.AllowInsecureAuth = true
	server.ErrorLog = silent{}
	if implicit {
		listener, server.TLSConfig = tls.NewListener(listener, serverTLS()), nil
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	tb.Cleanup(func() {
		_ = server.Close()
		_ = listener.Close() // It may not have begun to serve.
		serving.Wait()
	})
	return r
}

// silent drops the log of the server: the tests break connections on purpose.
type silent struct{}

func (silent) Printf(string, ...any) {}
func (silent) Println(...any)        {}

func (r *receiver) NewSession(c *smtp.Conn) (smtp.Session, error) {
	return &session{receiver: r, conn: c}, nil
}

func (r *receiver) all() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mails
}

// mailer returns a mailer for the receiver, whose host is not a loopback address.
func (r *receiver) mailer(tb testing.TB, rawURL string, config mail.SMTPConfig) *mail.SMTP {
	tb.Helper()
	config.RootCAs = testAuthority().pool
	config.Dial = r.dial
	s, err := mail.NewSMTP(rawURL, &config)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = s.Close() })
	return s
}

type session struct {
	receiver *receiver
	conn     *smtp.Conn
	now      received
	user     string
}

func (s *session) AuthMechanisms() []string { return s.receiver.mechanisms }

func (s *session) Auth(mechanism string) (sasl.Server, error) {
	check := func(name, word string) error {
		if name != user || word != password {
			return errors.New(chatter)
		}
		s.user = name
		return nil
	}
	if mechanism == sasl.Login {
		return &login{check: check}, nil
	}
	return sasl.NewPlainServer(func(_, name, word string) error { return check(name, word) }), nil
}

func (s *session) Reset()        { s.now = received{} }
func (s *session) Logout() error { return nil }

func (s *session) Mail(from string, options *smtp.MailOptions) error {
	_, encrypted := s.conn.TLSConnectionState()
	s.now = received{from: from, utf8: options.UTF8, encrypted: encrypted, user: s.user, hello: s.conn.Hostname()}
	return nil
}

func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	if strings.HasPrefix(to, "nobody@") {
		return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: chatter}
	}
	s.now.to = to
	return nil
}

func (s *session) Data(r io.Reader) (err error) {
	if s.now.data, err = io.ReadAll(r); err != nil {
		return err
	}
	s.receiver.mu.Lock()
	defer s.receiver.mu.Unlock()
	s.receiver.mails = append(s.receiver.mails, s.now)
	return nil
}

// login is the server of the LOGIN mechanism, which go-sasl lacks.
type login struct {
	check func(name, word string) error
	name  []byte
	asked int
}

func (l *login) Next(response []byte) (challenge []byte, done bool, err error) {
	l.asked++
	switch l.asked {
	case 1:
		return []byte("Username:"), false, nil
	case 2:
		l.name = bytes.Clone(response)
		return []byte("Password:"), false, nil
	}
	return nil, true, l.check(string(l.name), string(response))
}

// ticketMail returns a mail as the service makes them, with as many admissions.
func ticketMail(admissions int) ticketing.Mail {
	m := ticketing.Mail{
		FromName: "Ọjà Nights via Example Tickets", FromAddress: "tickets@example.com", To: buyer,
		ReplyTo: "help@oja.example", Bounces: "bounces@example.com",
		Subject: "Your tickets: Ìgbà Òjò – 24 December (4f2a)", MessageID: "<0192f0c1.1@example.com>",
		References: "<0192f0c1.0@example.com>", Date: time.Date(2030, 12, 1, 9, 30, 0, 0, time.UTC),
		Text: "Here are your tickets.\n.\nFrom here on: =3D\n" + strings.Repeat("long ", 300) + "\n",
		HTML: "<!doctype html><p>Here are your tickets, Ọmọlará.</p>\n",
		Attached: []ticketing.MailFile{{
			Name: "event.ics", ContentType: "text/calendar; charset=utf-8; method=PUBLISH",
			Data: []byte("BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n"),
		}},
	}
	for i := range admissions {
		id := "ticket-" + string(rune('a'+i%26)) + "@example.com"
		m.Inline = append(m.Inline, ticketing.MailFile{
			Name: "ticket.png", ContentID: id, ContentType: "image/png", Data: bytes.Repeat([]byte{0x89, 'P', byte(i)}, 170),
		})
		m.HTML += `<img src="cid:` + id + `" alt="">` + strings.Repeat("<td style=\"padding:0\">x</td>", 40)
	}
	return m
}

func (r *receiver) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	r.dials.Add(1)
	return new(net.Dialer).DialContext(ctx, network, r.address)
}

// stranger returns the TLS settings of a server with the right name, but with an untrusted authority.
func stranger() *tls.Config {
	key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(3), DNSNames: []string{host}, NotBefore: testAuthority().certificate.NotBefore,
		NotAfter: testAuthority().certificate.NotAfter,
	}
	der, _ := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return &tls.Config{
		Certificates:           []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		SessionTicketsDisabled: true,
	}
}
