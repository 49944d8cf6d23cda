package mail

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"time"

	gomail "github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"

	"github.com/floatgate/ticketing"
)

// connection is a connection to the server, signed in. One goroutine uses it at a time.
type connection struct {
	// sender belongs to this connection alone, since the library changes it while it connects.
	sender *gomail.Client
	client *smtp.Client
	wire   *wire
	// unwatch stops watching the context of the mail that uses the connection. It reports whether the context has left
	// the connection open.
	unwatch func() bool
	mails   int
	closing bool        // no other mail may use it
	idle    *time.Timer // closes it when no mail has used it for too long
}

// watch closes the connection when the context ends, since the library's waits for the server ignore the context.
func (c *connection) watch(ctx context.Context) {
	c.unwatch = context.AfterFunc(ctx, func() { _ = c.wire.Close() })
}

// open connects, encrypts and signs in, and watches the context. Its error wraps [ticketing.ErrMailServer].
func (s *SMTP) open(ctx context.Context) (*connection, error) {
	c := &connection{}
	options := []gomail.Option{
		gomail.WithPort(s.server.port), gomail.WithHELO(s.hello), gomail.WithTLSConfig(s.security),
		gomail.WithTimeout(mailTimeout), gomail.WithTLSPolicy(gomail.TLSMandatory),
		// An SMTP checks by itself whether a kept connection still responds, at a moment when a failure costs no
		// attempt.
		gomail.WithoutNoop(), gomail.WithoutRset(),
		gomail.WithDialContextFunc(func(dialing context.Context, _, _ string) (net.Conn, error) {
			conn, err := s.connect(dialing)
			if err != nil {
				return nil, err
			}
			c.wire = newWire(conn, commandTimeout)
			// The library's context ends as soon as the connection is open.
			c.watch(ctx)
			if !s.server.implicit {
				return c.wire, nil
			}
			secure := tls.Client(c.wire, s.security)
			if err := secure.HandshakeContext(dialing); err != nil {
				return nil, &handshakeError{err}
			}
			return secure, nil
		}),
	}
	switch {
	case s.server.implicit:
		options = append(options, gomail.WithSSL())
	case s.server.plain:
		options = append(options, gomail.WithTLSPolicy(gomail.NoTLS))
	}
	sender, err := gomail.NewClient(s.server.host, options...)
	if err != nil {
		return nil, failed(textSettings, ticketing.ErrMailServer)
	}
	c.sender = sender
	if c.client, err = sender.DialToSMTPClientWithContext(ctx); err != nil {
		c.drop()
		return nil, explainOpening(c.wire, err)
	}
	if s.server.credentials != nil {
		if err := s.signIn(c.client); err != nil {
			c.drop()
			return nil, explainSignIn(c.wire, err)
		}
	}
	return c, nil
}

// connect makes a connection within commandTimeout. An unencrypted one does not leave the machine, even if "localhost"
// resolves to another.
func (s *SMTP) connect(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	conn, err := s.dial(ctx, "tcp", s.server.address())
	if err != nil {
		return nil, &connectError{err}
	}
	if tcp, ok := conn.RemoteAddr().(*net.TCPAddr); ok && s.server.plain && !tcp.IP.IsLoopback() {
		_ = conn.Close()
		return nil, errNotLoopback
	}
	return conn, nil
}

// deliver sends the mail over the connection. It reports whether the connection failed before the server replied to
// anything of the mail. Such a mail may be sent over another connection.
func (c *connection) deliver(msg *message) (untouched bool, err error) {
	c.client.SkipSMTPUTF8(!msg.international)
	if msg.international {
		if ok, _ := c.client.Extension("SMTPUTF8"); !ok {
			return false, failed(textInternational, ticketing.ErrMailRefused)
		}
	}
	c.mails++
	err = c.sender.SendWithSMTPClient(c.client, msg.Msg)
	if err == nil {
		return false, nil
	}
	sent, ok := errors.AsType[*gomail.SendError](err)
	if !ok {
		c.closing = true
		return false, failed(textProtocol, nil)
	}
	// Without a reply the state of the connection is unknown: it may be in the middle of a mail.
	code := sent.ErrorCode()
	c.closing = code == 0 || code == codeClosing
	return c.closing && sent.Reason == gomail.ErrSMTPMailFrom, explainSending(c.wire, sent)
}

// renew checks whether a kept connection still responds, and resets what the mail before left. It reports whether the
// connection can be used.
func (c *connection) renew() bool {
	// A reply that nothing asked for would be taken for the reply to the next command.
	inStep := func() bool { return c.client.Text.R.Buffered() == 0 }
	c.wire.timeout = partingTimeout
	renewed := inStep() && c.client.Reset() == nil && inStep()
	c.wire.timeout = commandTimeout
	return renewed
}

// quit ends the connection as the protocol requires. Nothing depends on the server's reply.
func (c *connection) quit() {
	c.wire.timeout = partingTimeout
	_ = c.client.Quit()
	c.drop()
}

// drop closes the connection without a QUIT.
func (c *connection) drop() {
	if c.wire != nil {
		c.unwatch()
		_ = c.wire.Close()
	}
}
