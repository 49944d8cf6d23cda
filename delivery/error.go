package delivery

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/floatgate/ticketing/internal/safedial"
)

// Reason is the stage at which an attempt failed to get a response.
type Reason string

// The reasons.
const (
	ReasonURL      Reason = "url"      // the URL is not allowed
	ReasonDNS      Reason = "dns"      // the name was not resolved
	ReasonAddress  Reason = "address"  // the name has an address that is not public
	ReasonConnect  Reason = "connect"  // no address could be connected to
	ReasonTLS      Reason = "tls"      // the receiver's certificate or the handshake
	ReasonTimeout  Reason = "timeout"  // no response in time
	ReasonClosed   Reason = "closed"   // the receiver closed the connection, or the request, before it responded
	ReasonAnswer   Reason = "answer"   // the response was not valid HTTP, or had no bounds
	ReasonCanceled Reason = "canceled" // the caller gave up: the receiver may be fine
)

// maxText is the longest text of an error, in bytes.
const maxText = 200

// Error is why an attempt got no response.
type Error struct {
	Reason Reason
	text   string
	cause  error
}

// Error returns a text for the company that owns the endpoint. It is one of a few fixed texts, on one line, of at most
// 200 bytes. It contains nothing that the receiver wrote, except its address.
func (e *Error) Error() string {
	if len(e.text) <= maxText {
		return e.text
	}
	cut := maxText
	for !utf8.RuneStart(e.text[cut]) {
		cut--
	}
	return e.text[:cut]
}

// Unwrap returns the cause, if there is one. Its text may be long and contain what the receiver wrote: show it only to
// the operator.
func (e *Error) Unwrap() error { return e.cause }

// errClosed means that this side ended the attempt. It wraps context.Canceled, as a cancelled context would.
var errClosed = fmt.Errorf("delivery: the sender is closed: %w", context.Canceled)

// handshakeError marks an error of the TLS handshake. Its cause alone does not show that it is one.
type handshakeError struct{ cause error }

func (e *handshakeError) Error() string { return "TLS handshake: " + e.cause.Error() }
func (e *handshakeError) Unwrap() error { return e.cause }

// explain returns the reason and the text for an error of the transport. The context is that of the caller.
func explain(ctx context.Context, err error) *Error {
	because := func(reason Reason, text string) *Error { return &Error{Reason: reason, text: text, cause: err} }
	if cause := ctx.Err(); errors.Is(cause, context.Canceled) {
		return &Error{Reason: ReasonCanceled, text: "canceled", cause: cause}
	}
	if errors.Is(err, errClosed) {
		return because(ReasonCanceled, "canceled")
	}
	if address, ok := errors.AsType[*safedial.AddressError](err); ok {
		return because(ReasonAddress, address.Error())
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return because(ReasonDNS, "DNS: "+dnsText(dns))
	}
	if handshake, ok := errors.AsType[*handshakeError](err); ok {
		return because(ReasonTLS, "TLS: "+tlsText(handshake.cause))
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return because(ReasonConnect, connectText(op))
	}
	if isTimeout(err) {
		return because(ReasonTimeout, "timeout")
	}
	switch answerFault(err) {
	case faultClosed:
		return because(ReasonClosed, "connection closed before the answer")
	case faultHeader:
		return because(ReasonAnswer, "the answer's header is too large")
	default:
		return because(ReasonAnswer, "the answer is not valid HTTP")
	}
}

type fault int

const (
	faultForm fault = iota
	faultClosed
	faultHeader
)

// answerFault returns what is wrong with a response. These errors have unexported types of net/http, so their texts are
// matched, from the beginning, since text of the receiver may follow.
func answerFault(err error) fault {
	if isClosed(err) {
		return faultClosed
	}
	text := strings.TrimPrefix(err.Error(), "net/http: HTTP/1.x transport connection broken: ")
	stream, isStream := strings.CutPrefix(text, "stream error: stream ID ")
	switch {
	case isStream && strings.HasSuffix(stream, "; received from peer"):
		return faultClosed
	case isStream && (strings.HasSuffix(stream, "; header list too large") ||
		strings.HasSuffix(stream, "; http2: response header list larger than advertised limit")):
		return faultHeader
	}
	for _, known := range []struct {
		prefix string
		fault  fault
	}{
		{"http: server closed idle connection", faultClosed},
		{"http2: server sent GOAWAY", faultClosed},
		{"http2: client conn", faultClosed},
		{"http2: Transport received Server's graceful shutdown GOAWAY", faultClosed},
		{"net/http: server response headers exceeded", faultHeader},
	} {
		if strings.HasPrefix(text, known.prefix) {
			return known.fault
		}
	}
	return faultForm
}

func dnsText(err *net.DNSError) string {
	switch {
	case err.IsNotFound:
		return "no such host"
	case err.IsTimeout:
		return "timeout"
	}
	return "the look-up failed"
}

func connectText(err error) string {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.ECONNRESET):
		return "connection reset"
	case isTimeout(err), errors.Is(err, syscall.ETIMEDOUT), errors.Is(err, os.ErrDeadlineExceeded):
		return "timeout while connecting"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "no route to the host"
	}
	return "the connection failed"
}

func tlsText(err error) string {
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok {
		if invalid.Reason == x509.Expired {
			return "certificate has expired or is not yet valid"
		}
		return "certificate is not valid"
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
		return "the receiver does not speak it"
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "remote error" {
		return "the receiver refused the handshake"
	}
	switch {
	case isTimeout(err):
		return "timeout"
	case isClosed(err):
		return "connection closed during the handshake"
	}
	return "the handshake failed"
}

func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout() || errors.Is(err, context.DeadlineExceeded)
}

func isClosed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNABORTED)
}
