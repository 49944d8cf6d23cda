package mail

import (
	"bytes"
	"errors"
	"net"
	"time"
)

// maxReply is how many bytes the server may send in reply to what was sent last. A TLS handshake takes less. It bounds
// the memory that a server can use.
const maxReply = 256 << 10

var (
	errTooLong  = errors.New("mail: the reply is too long")
	errInjected = errors.New("mail: the server sent more before the connection was encrypted")
)

// wire is the connection below TLS. It limits how long the server takes for each reply and how much it sends. It keeps
// the first error, which the library does not return, and closes the connection with it, so that nothing waits for the
// server a second time. The library's own deadlines are ignored: they would limit a whole mail.
//
// One goroutine uses it; another may close it.
type wire struct {
	net.Conn
	timeout time.Duration
	read    int // since the last write
	// reply is what the server sent in reply to STARTTLS, and nil otherwise.
	reply []byte
	err   error
}

// newWire returns a wire that waits for the server's greeting.
func newWire(conn net.Conn, timeout time.Duration) *wire {
	w := &wire{Conn: conn, timeout: timeout}
	_ = conn.SetDeadline(time.Now().Add(timeout)) // If it fails, so does the read.
	return w
}

func (w *wire) Write(p []byte) (int, error) {
	w.read, w.reply = 0, nil
	if bytes.Equal(p, []byte("STARTTLS\r\n")) {
		w.reply = []byte{}
	}
	_ = w.Conn.SetDeadline(time.Now().Add(w.timeout))
	n, err := w.Conn.Write(p)
	return n, w.keep(err)
}

func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	w.read += n
	switch {
	case err != nil:
	case w.read > maxReply:
		err = errTooLong
	case w.reply != nil:
		if w.reply = append(w.reply, p[:n]...); !isOneReply(w.reply) {
			err = errInjected
		}
	}
	return n, w.keep(err)
}

// keep keeps the first error, and ends the connection with it.
func (w *wire) keep(err error) error {
	if err != nil && w.err == nil {
		w.err = err
		_ = w.Close()
	}
	return err
}

// isOneReply reports whether the bytes are a part of one reply. What a server, or an attacker in between, sends after
// its consent to STARTTLS is not protected, and must not be taken for a later, protected reply.
func isOneReply(b []byte) bool {
	for {
		line, rest, complete := bytes.Cut(b, []byte{'\n'})
		if !complete || len(rest) == 0 {
			return true
		}
		if len(line) < 4 || line[3] != '-' {
			return false
		}
		b = rest
	}
}

// SetDeadline does nothing, like SetReadDeadline and SetWriteDeadline: see [wire].
func (w *wire) SetDeadline(time.Time) error { return nil }

// SetReadDeadline does nothing.
func (w *wire) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing.
func (w *wire) SetWriteDeadline(time.Time) error { return nil }
