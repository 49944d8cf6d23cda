package mail

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math"
	"net"
	"os"
	"sync"
	"time"

	"github.com/floatgate/ticketing"
)

const (
	// DefaultConnections is how many connections an [SMTP] has at most, unless its config says otherwise.
	DefaultConnections = 4

	// commandTimeout is how long the server may take to accept a connection, to reply to a command, and to take each
	// part of a mail; mailTimeout is for a whole mail.
	commandTimeout = 30 * time.Second
	mailTimeout    = 2 * time.Minute

	// A connection is kept for idleTimeout after a mail, and for maxMails in all. Servers close idle connections, and
	// all servers of a name with several addresses should get mails.
	idleTimeout = 60 * time.Second
	maxMails    = 100

	// partingTimeout limits what happens on a kept connection before and after its mails, where nothing can be lost.
	partingTimeout = 5 * time.Second
)

// SMTPConfig configures an [SMTP]. A nil config is the default one.
type SMTPConfig struct {
	// RootCAs verifies the server in place of the system's roots. To have both, add to a copy of
	// [x509.SystemCertPool]. Defaults to the system's.
	RootCAs *x509.CertPool
	// Hello is the name of this machine that the server is greeted with. Defaults to [os.Hostname], or "localhost" where
	// that cannot be sent.
	Hello string
	// Rate is how many mails are sent in a second, evenly spaced. Each SMTP has its own: two processes send twice as
	// many. 0 means no limit.
	Rate float64
	// Connections is the largest number of connections, each with one mail at a time. Defaults to [DefaultConnections].
	Connections int
	// DKIM signs all mails. Defaults to no signature: most mail servers and providers sign for their users.
	DKIM *DKIM
	// Dial connects in place of a [net.Dialer], for example through a proxy. It is called with the network "tcp" and
	// the host and port of the URL. TLS runs over the connection that it returns.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// SMTP sends mails to one mail server. It is a [ticketing.Mailer], safe for concurrent use, and starts nothing before
// it is used.
type SMTP struct {
	*Renderer // makes the mails, where [ticketing.Config] names no other MailRenderer

	server   server
	security *tls.Config
	hello    string
	dkim     *DKIM
	dial     func(ctx context.Context, network, address string) (net.Conn, error)
	slots    chan struct{} // one for each mail that is being sent
	rate     *rate
	pool     pool
	// running are the mails that are being sent and the connections that are being closed.
	running sync.WaitGroup
}

var (
	_ ticketing.Mailer       = (*SMTP)(nil)
	_ ticketing.MailRenderer = (*SMTP)(nil)
)

// NewSMTP returns a mailer for the server that the URL names, or an error that says what is wrong with the URL or the
// config. No error repeats the URL, which has a password in it.
//
// "smtp://user:password@host:port" is encrypted by STARTTLS, without which nothing is sent; its port defaults to 587.
// "smtps://user:password@host:port" speaks TLS from the start; its port defaults to 465. To a loopback address, or to
// "localhost" where that is one, smtp is plain text, unless the config has RootCAs: then STARTTLS is required there,
// too.
//
// User and password are percent-encoded, and both may be missing. They are sent by the best mechanism that the server
// offers: SCRAM with SHA-256 or SHA-1, bound to the TLS connection where the server can do that, PLAIN or LOGIN.
func NewSMTP(rawURL string, config *SMTPConfig) (*SMTP, error) {
	if config == nil {
		config = &SMTPConfig{}
	}
	server, err := parseURL(rawURL)
	if err != nil {
		return nil, err
	}
	switch {
	case config.Rate < 0 || math.IsNaN(config.Rate):
		return nil, errors.New("mail: Rate is not a number of mails a second")
	case config.Connections < 0:
		return nil, errors.New("mail: Connections is negative")
	case config.Hello != "" && !isHello(config.Hello):
		return nil, errors.New("mail: Hello is not the name of a machine, such as mail.example.com")
	}
	if config.DKIM != nil {
		if err := config.DKIM.check(); err != nil {
			return nil, err
		}
	}
	server.plain = server.plain && config.RootCAs == nil
	s := &SMTP{
		Renderer: NewRenderer(),
		server:   server,
		security: &tls.Config{MinVersion: tls.VersionTLS12, ServerName: server.host, RootCAs: config.RootCAs},
		hello:    cmp.Or(config.Hello, ownName()),
		dkim:     config.DKIM,
		dial:     config.Dial,
		slots:    make(chan struct{}, cmp.Or(config.Connections, DefaultConnections)),
		rate:     newRate(config.Rate),
	}
	if s.dial == nil {
		s.dial = new(net.Dialer).DialContext
	}
	return s, nil
}

// ownName returns the name of this machine, if it can be sent.
func ownName() string {
	if name, err := os.Hostname(); err == nil && isHello(name) {
		return name
	}
	return "localhost"
}

// String returns the URL without user and password.
func (s *SMTP) String() string { return s.server.String() }

// Mail sends one mail, as [ticketing.Mailer] specifies. Its error is a [*ticketing.MailError]:
//   - It wraps [ticketing.ErrMailRefused] if the server refuses the recipient for good, or cannot be given the address.
//   - It wraps [ticketing.ErrMailServer] if the server refuses or fails anything before the recipient, cannot be
//     reached or trusted, or says at any time that it closes the connection or wants a user.
//   - It wraps [context.Canceled] if the context was canceled.
//   - Any other failure says that the mail may be tried again: a refusal for now, or of the content, or a connection
//     that was lost after the recipient was named. If it was lost after the content was sent, the mail may have been
//     accepted.
//
// A mail is accepted once the server has accepted it, whatever happens to the connection afterwards. A kept connection
// that the server has closed in the meantime is replaced by a new one.
//
// Mail takes at most two minutes, including the waits for a free connection and for the rate.
func (s *SMTP) Mail(ctx context.Context, m ticketing.Mail) error {
	msg, err := compose(m)
	if err != nil {
		return err
	}
	if s.dkim != nil {
		if err := s.dkim.sign(msg); err != nil {
			return err
		}
	}
	if !s.begin() {
		return failed(textClosed, ticketing.ErrMailServer)
	}
	defer s.running.Done()
	within, cancel := context.WithTimeout(ctx, mailTimeout)
	defer cancel()
	return canceled(ctx, s.send(within, msg))
}

// send sends the mail when the rate allows it. Each of its waits ends with the context.
func (s *SMTP) send(ctx context.Context, msg *message) error {
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return failed(textBusy, ticketing.ErrMailServer)
	}
	defer func() { <-s.slots }()
	if s.rate.wait(ctx) != nil {
		return failed(textBusy, ticketing.ErrMailServer)
	}
	if c := s.kept(ctx); c != nil {
		untouched, err := c.deliver(msg)
		s.keep(c)
		// Otherwise the server has closed the connection in the meantime, or accepts no more mails over it.
		if !untouched {
			return err
		}
	}
	c, err := s.open(ctx)
	if err != nil {
		return err
	}
	_, err = c.deliver(msg)
	s.keep(c)
	return err
}

// Check connects to the server, encrypts the connection and signs in, as for a mail, and sends nothing. Its error is a
// [*ticketing.MailError] that names the step that failed.
func (s *SMTP) Check(ctx context.Context) error {
	if !s.begin() {
		return failed(textClosed, ticketing.ErrMailServer)
	}
	defer s.running.Done()
	within, cancel := context.WithTimeout(ctx, mailTimeout)
	defer cancel()
	c, err := s.open(within)
	if err == nil {
		c.quit()
	}
	return canceled(ctx, err)
}

// Close closes the connections that no mail uses, lets the mails that are being sent finish, waits for them, and closes
// their connections, too. From then on Mail fails with an error that wraps [ticketing.ErrMailServer]. Close may be
// called again, and never fails.
func (s *SMTP) Close() error {
	for _, c := range s.pool.close() {
		s.running.Go(c.quit)
	}
	s.running.Wait()
	return nil
}

// begin reports whether a mail may be sent. The caller calls s.running.Done after the mail.
func (s *SMTP) begin() bool {
	return s.pool.whileOpen(func() { s.running.Add(1) })
}
