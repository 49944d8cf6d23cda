package mail

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/textproto"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"

	gomail "github.com/wneessen/go-mail"

	"github.com/floatgate/ticketing"
)

// The texts of a [ticketing.MailError]. None quotes the server, whose replies may repeat addresses and secrets.
const (
	textUnwritable     = "the message cannot be written"
	textUnsendable     = "no mail server can take the address"
	textInternational  = "the mail server does not support international addresses"
	textCanceled       = "the attempt was canceled"
	textBusy           = "no connection to the mail server was free in time"
	textClosed         = "the mailer is closed"
	textUnsignable     = "the sender's domain is too long for a DKIM signature"
	textFolder         = "the mail cannot be written to its folder: "
	textSettings       = "the mailer's settings cannot be used"
	textConnect        = "connecting to the mail server failed: "
	textTLS            = "TLS with the mail server failed: "
	textNoTLS          = "the mail server offers no encryption (STARTTLS)"
	textGreeting       = "the mail server refused the connection"
	textNoMechanism    = "the mail server offers no way to sign in that can be used"
	textSignIn         = "the mail server refused user and password"
	textSignInLater    = "the mail server cannot sign in users for now"
	textSignInFirst    = "the mail server requires a user and a password"
	textSender         = "the mail server refused the sender"
	textRecipient      = "the mail server refused the recipient"
	textRecipientLater = "the mail server refused the recipient for now"
	textContent        = "the mail server refused the mail"
	textContentLater   = "the mail server refused the mail for now"
	textClosing        = "the mail server closed the connection"
	textLost           = "the connection to the mail server was lost"
	textSilent         = "the mail server did not answer in time"
	textProtocol       = "the mail server sent an invalid reply"
)

// The codes of replies that are about the server, whatever command they reply to (RFC 5321, RFC 4954).
const (
	codeClosing      = 421
	codeAuthRequired = 530
)

var (
	errNotLoopback = errors.New("mail: localhost is not a loopback address")
	enhancedForm   = regexp.MustCompile(`^[245]\.[0-9]{1,3}\.[0-9]{1,3}\b`)
)

// connectError is a failure to connect, and handshakeError one of TLS from the start.
type (
	connectError   struct{ error }
	handshakeError struct{ error }
)

func (e *connectError) Unwrap() error   { return e.error }
func (e *handshakeError) Unwrap() error { return e.error }

func failed(text string, err error) *ticketing.MailError {
	return &ticketing.MailError{Text: text, Err: err}
}

// canceled returns err, unless the context was canceled: then it was the caller and not the server.
func canceled(ctx context.Context, err error) error {
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return failed(textCanceled, context.Canceled)
	}
	return err
}

// explainOpening returns why no connection could be opened. The fault is not the mail's.
func explainOpening(w *wire, err error) error {
	if code, number := reply(err); number != 0 {
		return &ticketing.MailError{
			Code: code, Text: replyText(number, textGreeting, textGreeting), Err: ticketing.ErrMailServer,
		}
	}
	text := textProtocol
	switch {
	case w == nil:
		text = textConnect + connectText(err)
	case isTLS(err):
		text = textTLS + tlsText(err)
	case w.err != nil:
		text = lostText(w.err)
	// The library has no error of its own for it. What a server says is in replies, which are handled above.
	case strings.Contains(err.Error(), "does not support STARTTLS"):
		text = textNoTLS
	}
	return failed(text, ticketing.ErrMailServer)
}

// explainSignIn returns why the server did not accept user and password. The fault is not the mail's.
func explainSignIn(w *wire, err error) error {
	if code, number := reply(err); number != 0 {
		return &ticketing.MailError{
			Code: code, Text: replyText(number, textSignIn, textSignInLater), Err: ticketing.ErrMailServer,
		}
	}
	text := textProtocol
	switch {
	case w.err != nil:
		text = lostText(w.err)
	case errors.Is(err, errNoMechanism), errors.Is(err, errIterations):
		text = textNoMechanism
	}
	return failed(text, ticketing.ErrMailServer)
}

// explainSending returns at which step the mail failed, and whether the mail or the server is at fault.
func explainSending(w *wire, sent *gomail.SendError) error {
	number := sent.ErrorCode()
	e := &ticketing.MailError{Code: codeOf(number, sent.EnhancedStatusCode())}
	refused, later := textContent, textContentLater
	switch sent.Reason {
	case gomail.ErrSMTPRcptTo:
		refused, later = textRecipient, textRecipientLater
		if number >= 500 {
			e.Err = ticketing.ErrMailRefused
		}
	case gomail.ErrSMTPData, gomail.ErrWriteContent, gomail.ErrSMTPDataClose:
	default:
		refused, later = textSender, textSender
		e.Err = ticketing.ErrMailServer
	}
	switch {
	case number != 0:
		e.Text = replyText(number, refused, later)
	case w.err != nil:
		e.Text = lostText(w.err)
	default:
		e.Text = textProtocol
	}
	// A server may require a user in reply to any command, and then means all mails.
	if number == codeClosing || number == codeAuthRequired {
		e.Err = ticketing.ErrMailServer
	}
	return e
}

// reply returns the code of the reply that is the error, with its enhanced code, and its number. The number is 0 if the
// error is none.
func reply(err error) (code string, number int) {
	answered, ok := errors.AsType[*textproto.Error](err)
	if !ok {
		return "", 0
	}
	return codeOf(answered.Code, enhancedForm.FindString(answered.Msg)), answered.Code
}

// codeOf returns the code of a reply as an operator reads it. It ignores an enhanced code of another class than the
// reply's.
func codeOf(number int, enhanced string) string {
	if number < 100 || number > 999 {
		return ""
	}
	code := strconv.Itoa(number)
	if enhanced != "" && enhanced[0] == code[0] && enhancedForm.MatchString(enhanced) {
		code += " " + enhanced
	}
	return code
}

// replyText returns the text for a reply that refuses something.
func replyText(number int, refused, later string) string {
	switch {
	case number == codeClosing:
		return textClosing
	case number == codeAuthRequired:
		return textSignInFirst
	case number >= 500 && number < 600:
		return refused
	case number >= 400 && number < 500:
		return later
	}
	return textProtocol
}

// lostText returns how a connection broke. If this side closed it, no reply came in time. The other possible reason, a
// canceled context, is reported as such.
func lostText(err error) string {
	switch {
	case isTimeout(err), errors.Is(err, net.ErrClosed), errors.Is(err, io.ErrClosedPipe):
		return textSilent
	case errors.Is(err, errTooLong):
		return textProtocol
	case errors.Is(err, errInjected):
		return textTLS + "the server sent more before it began"
	}
	return textLost
}

func connectText(err error) string {
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		switch {
		case dns.IsNotFound:
			return "no such host"
		case dns.IsTimeout:
			return "timeout of the look-up"
		}
		return "the look-up failed"
	}
	switch {
	case errors.Is(err, errNotLoopback):
		return "localhost is not this machine"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.ECONNRESET):
		return "connection reset"
	case isTimeout(err), errors.Is(err, syscall.ETIMEDOUT):
		return "timeout"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "no route to the host"
	}
	return "the connection failed"
}

// isTLS reports whether the error is one of TLS, and not of the connection below it.
func isTLS(err error) bool {
	if _, ok := errors.AsType[*handshakeError](err); ok {
		return true
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return true
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return true
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && (op.Op == "remote error" || op.Op == "local error") {
		return true
	}
	return strings.HasPrefix(err.Error(), "tls: ")
}

func tlsText(err error) string {
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return "certificate has expired or is not yet valid"
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "certificate signed by unknown authority"
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "certificate is for another host"
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return "certificate is not valid"
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return "the server does not speak it"
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "remote error" {
		return "the server refused the handshake"
	}
	if isTimeout(err) {
		return "timeout"
	}
	return "the handshake failed"
}

func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout() || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded)
}
