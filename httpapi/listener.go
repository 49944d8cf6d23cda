package httpapi

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

// Listener returns a listener for a server of the handler. For a request that net/http refuses itself, it sends the
// contract's envelope, as a 400 INVALID_REQUEST. net/http refuses what it cannot parse: a malformed escape in the path,
// a header that is too long, no Host, an unknown Expect. No handler ever sees such a request.
//
// For TLS, wrap the listener of the decrypted connections, and call Serve, not ServeTLS. A client that speaks plain
// HTTP to it gets the envelope in plain HTTP, too. The connections speak only HTTP/1.1, and requests have no TLS state:
//
//	config := &tls.Config{Certificates: certificates, NextProtos: []string{"http/1.1"}}
//	server.Serve(httpapi.Listener(tls.NewListener(listener, config)))
func Listener(l net.Listener) net.Listener { return listener{l} }

type listener struct{ net.Listener }

// Accept waits for the next connection.
func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return conn{c}, nil
}

type conn struct{ net.Conn }

// The limits of what is read after the answer to a client that speaks plain HTTP to a port with TLS. Closing a
// connection with unread data resets it, and the client would lose the answer.
const (
	plainAfterwards = 256 << 10
	plainPatience   = 500 * time.Millisecond
)

// Read reads from the connection. The first Read over TLS makes the handshake.
func (c conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err == nil {
		return n, nil
	}
	if broken, ok := errors.AsType[tls.RecordHeaderError](err); ok && broken.Conn != nil && isPlain(broken.RecordHeader) {
		_ = refuse(broken.Conn, "request: is in plain HTTP, and this port speaks HTTPS alone")
		_ = conn{broken.Conn}.CloseWrite()
		_ = broken.Conn.SetReadDeadline(time.Now().Add(plainPatience))
		_, _ = io.CopyN(io.Discard, broken.Conn, plainAfterwards)
	}
	return n, err
}

// isPlain reports whether the bytes at the place of a TLS record's header are the beginning of a plain HTTP request.
func isPlain(header [5]byte) bool {
	switch string(header[:]) {
	case "GET /", "HEAD ", "POST ", "PUT /", "PATCH", "DELET", "OPTIO":
		return true
	default:
		return false
	}
}

// plainRefusal is the end of the head of an answer that net/http itself writes. net/http sends that answer in one Write
// and without a Date. Every answer of a handler has a Date.
const plainRefusal = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"

// Write writes p. If p is a refusal that net/http itself made, it writes the envelope in its place.
func (c conn) Write(p []byte) (int, error) {
	if !isPlainRefusal(p) && !isRefusedExpectation(p) {
		return c.Conn.Write(p)
	}
	if err := refuse(c.Conn, "request: cannot be read as HTTP, or its header is too long"); err != nil {
		return 0, err
	}
	return len(p), nil
}

// refuse writes a whole answer: the envelope of an INVALID_REQUEST with one violation.
func refuse(to io.Writer, violation string) error {
	id := uuid.NewString()
	body := encodeError(ticketing.Invalid(ticketing.Violation{Message: violation}), id)
	_, err := fmt.Fprintf(to, "HTTP/1.1 400 Bad Request\r\nContent-Type: %s\r\nContent-Length: %d\r\n"+
		"Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nX-Request-Id: %s\r\nConnection: close\r\n\r\n%s",
		contentType, len(body), id, body)
	return err
}

func isPlainRefusal(p []byte) bool {
	if !bytes.HasPrefix(p, []byte("HTTP/1.1 4")) && !bytes.HasPrefix(p, []byte("HTTP/1.1 5")) {
		return false
	}
	end := bytes.IndexByte(p, '\r')
	return end > 0 && bytes.HasPrefix(p[end:], []byte(plainRefusal))
}

// isRefusedExpectation reports whether an answer is the one that net/http writes to an unknown Expect. No answer of the
// contract has this status.
func isRefusedExpectation(p []byte) bool {
	return bytes.HasPrefix(p, []byte("HTTP/1.1 417 ")) && bytes.Contains(p, []byte("\r\nContent-Length: 0\r\n")) &&
		bytes.HasSuffix(p, []byte("\r\n\r\n"))
}

// CloseWrite closes only the writing side, so that a client that is still sending can read the answer first.
func (c conn) CloseWrite() error {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok {
		return nil
	}
	return half.CloseWrite()
}
