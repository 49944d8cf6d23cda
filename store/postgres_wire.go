package store

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/uptrace/bun/driver/pgdriver"
)

// The messages of PostgreSQL's protocol that a connection sends itself, and the responses to them: those with the rows
// of COPY, see postgres_copy.go, and those of the extended protocol, see postgres_bind.go.

const (
	// maxResponse is the largest error of a server that is read, and maxRow the largest row of joined reads.
	maxResponse, maxRow = 1 << 20, 1 << 30
	// protocolViolation is the SQLSTATE of a message that the protocol does not allow.
	protocolViolation = "08P01"
)

// appendFrame appends a message of the protocol: its kind, its length with the four bytes of that, and its body.
func appendFrame(b []byte, kind byte, body func([]byte) []byte) []byte {
	b = append(b, kind, 0, 0, 0, 0)
	start := len(b) - 4
	b = body(b)
	binary.BigEndian.PutUint32(b[start:], uint32(len(b)-start)) //nolint:gosec // Of maxRows rows.
	return b
}

// answers are what a server is to respond: the results of some statements, of which the last returns rows if it is that
// of joined reads.
type answers struct {
	statements int
	joined     bool
}

// responses are what a message returned: the rows of joined reads, and how many statements were parsed.
type responses struct {
	rows   [][]byte
	parsed int
}

// exchange sends a message and reads the responses. It uses the network connection while the driver does not. After a
// ReadyForQuery the driver may have read no more than a notice, or the reason why the server ended the connection.
// exchange leaves nothing unread.
func (c *preparingConn) exchange(ctx context.Context, b []byte, expected answers) (found responses, err error) {
	conn := c.network()
	deadline := time.Now().Add(readTimeout)
	if at, ok := ctx.Deadline(); ok && at.Before(deadline) {
		deadline = at
	}
	// A server that waits for a lock reads nothing, so the time to write is that to read. What it sends before it has read
	// the message is short.
	if err = conn.SetDeadline(deadline); err == nil {
		_, err = conn.Write(b)
	}
	if err != nil {
		_ = c.Close()
		return responses{}, err
	}
	return c.readResponses(expected)
}

// network returns the network connection, or the TLS connection in it.
func (c *preparingConn) network() net.Conn { return c.pgConn.(*pgdriver.Conn).Conn() }

// readResponses reads the responses to a message, up to the last, and returns the error of the message. It closes the
// connection if that cannot be used any more.
func (c *preparingConn) readResponses(expected answers) (found responses, err error) {
	if c.responses == nil {
		c.responses = bufio.NewReader(c.network())
	}
	var refused *serverError
	done := 0 // statements
	for ended := false; !ended || c.responses.Buffered() > 0; {
		keeps := expected.joined && !ended && done == expected.statements-1
		kind, row, reported, err := c.readResponse(keeps)
		if err == nil && kind == 'Z' && ended {
			err = errResponse
		}
		if err != nil {
			_ = c.Close()
			switch {
			case refused != nil:
				return found, refused
			case ended && !errors.Is(err, errResponse):
				return found, nil // The message was done.
			}
			return found, err
		}
		if reported != nil && isFatal(reported) {
			_ = c.Close()
		}
		if refused == nil && !ended {
			refused = reported
		}
		switch {
		case kind == 'C':
			done++
		case kind == 'D' && keeps:
			found.rows = append(found.rows, row)
		case kind == '1':
			found.parsed++
		}
		ended = ended || kind == 'Z'
	}
	if refused != nil {
		return found, refused
	}
	return found, nil
}

// readResponse reads one response, and returns its body if that is a row to keep, and the error that it reports.
func (c *preparingConn) readResponse(keeps bool) (kind byte, row []byte, reported *serverError, err error) {
	var header [5]byte
	if _, err := io.ReadFull(c.responses, header[:]); err != nil {
		return 0, nil, nil, err
	}
	kind = header[0]
	size := int(binary.BigEndian.Uint32(header[1:])) - (len(header) - 1)
	switch {
	case size < 0 || keeps && size > maxRow:
		return 0, nil, nil, errResponse
	case kind == 'D' && keeps:
		row, err = c.readRow(size)
		return kind, row, nil, err
	case kind == 'E' && size <= maxResponse:
		reported, err = readServerError(c.responses, size)
		if err == nil && reported.Field('C') == "" {
			err = errResponse
		}
		return kind, nil, reported, err
	// The end of the message, with the state of the transaction; what statements return (T, D, C, I), that one was parsed
	// or has its values (1, 2), what a server reports at any time (N, S, A), and that it asks for rows.
	case kind == 'Z' && size == 1, strings.IndexByte("TDCI12NSAG", kind) >= 0:
		_, err = c.responses.Discard(size)
		return kind, nil, nil, err
	}
	return 0, nil, nil, errResponse
}

// readRow reads a row of some size. A long one takes no more memory than what came of it.
func (c *preparingConn) readRow(size int) ([]byte, error) {
	if size > maxResponse {
		var row bytes.Buffer
		_, err := io.CopyN(&row, c.responses, int64(size))
		return row.Bytes(), err
	}
	row := make([]byte, size)
	_, err := io.ReadFull(c.responses, row)
	return row, err
}

// errResponse is the error of a server that does not follow the protocol. The connection counts as lost.
var errResponse = fmt.Errorf("an unexpected response of the server: %w", io.ErrUnexpectedEOF)

// serverError is an error of the server, by the codes of its fields. It is what pgdriver.Error is for the messages that
// the driver sends.
type serverError struct{ fields map[byte]string }

func readServerError(from io.Reader, size int) (*serverError, error) {
	body := make([]byte, size)
	if _, err := io.ReadFull(from, body); err != nil {
		return nil, err
	}
	e := &serverError{make(map[byte]string)}
	for text := range strings.SplitSeq(string(body), "\x00") {
		if text != "" {
			e.fields[text[0]] = text[1:]
		}
	}
	return e, nil
}

// Field returns a field of the message, as the protocol names it: C is the SQLSTATE.
func (e *serverError) Field(code byte) string { return e.fields[code] }

func (e *serverError) Error() string { return e.Field('M') }
