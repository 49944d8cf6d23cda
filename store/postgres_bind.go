package store

import (
	"bufio"
	"bytes"
	"context"
	sqldriver "database/sql/driver"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"time"
)

// Where connections end at the server, a message whose statements are all prepared already goes by the extended
// protocol: each statement is a Bind with its values and an Execute, and one Sync ends the message. The values of an
// EXECUTE would have to be parsed as SQL. The statements run one after the other, as those of a simple message do: none
// runs after one that failed, and each sees what was committed before it began.
//
// The driver sends one such statement at a time and waits for its response. So a connection sends these messages by
// itself, as it does those with the rows of COPY: see sendRows. A message that prepares a statement is a simple one. So
// is one with any other statement than these, COPY and COMMIT.

const (
	commit = "COMMIT"
	// execute is an Execute of all rows of what was bound last, and endOfMessage a Sync.
	execute      = "E\x00\x00\x00\x09\x00\x00\x00\x00\x00"
	endOfMessage = "S\x00\x00\x00\x04"
	// noValues and binaryResults are the end of a Bind: all results have their binary form.
	noValues      = "\x00\x00\x00\x00" + binaryResults
	binaryResults = "\x00\x01\x00\x01"
	// nullValue is the length of NULL.
	nullValue = "\xff\xff\xff\xff"
)

// canBind reports whether a message may be one of the extended protocol: see above.
func (c *preparingConn) canBind(m *message) bool {
	if !m.direct || m.unprepared || !m.statement.template || m.before != "" && m.kept == "" {
		return false
	}
	c.forget()
	var from part
	for _, one := range m.statement.statements() {
		template := m.statement.text[from.text:one.text]
		_, known := c.names[string(template)]
		isCopy, isCommit := one.copied > from.copied, string(template) == commit
		if !isCopy && !isCommit && (one.prepare == keepNot || !known) {
			return false
		}
		from = one
	}
	return true
}

// boundMessage is a message of the extended protocol.
type boundMessage struct {
	conn       *preparingConn
	text       []byte
	statements int
	fresh      []string // the templates that it prepares: those of its beginning, of COPY and of COMMIT
}

// bind returns a message of the extended protocol. All settings of its beginning are one statement.
func (c *preparingConn) bind(m *message) boundMessage {
	b := boundMessage{conn: c, text: make([]byte, 0, len(m.before)+m.statement.size()+roomToPrepare)}
	if begin := m.opening.begin; begin != "" {
		b.add([]byte(strings.TrimSuffix(begin, "; ")), func(b []byte) []byte { return append(b, noValues...) })
	}
	if settings := m.opening.brief; len(settings) > 0 {
		b.add(settingsStatement(settings), func(b []byte) []byte { return appendSettings(b, settings) })
	}
	var from part
	for _, one := range m.statement.statements() {
		b.add(m.statement.text[from.text:one.text], func(b []byte) []byte {
			return m.statement.appendValues(b, from.literals, one.literals)
		})
		b.text = append(b.text, m.statement.copied[from.copied:one.copied]...)
		from = one
	}
	b.text = append(b.text, endOfMessage...)
	return b
}

// add adds a statement, and prepares it if the session does not have it and there is room.
func (b *boundMessage) add(template []byte, appendValues func([]byte) []byte) {
	name, known := b.conn.names[string(template)]
	if !known {
		if b.conn.number < b.conn.shared.most {
			name = b.conn.newName(template)
			b.fresh = append(b.fresh, string(template))
		}
		// The types of the values are those that PostgreSQL infers.
		b.text = appendFrame(b.text, 'P', func(b []byte) []byte {
			return append(append(append(append(b, name...), 0), template...), 0, 0, 0)
		})
	}
	b.text = appendFrame(b.text, 'B', func(b []byte) []byte {
		return appendValues(append(append(append(b, 0), name...), 0))
	})
	b.text = append(b.text, execute...)
	b.statements++
}

// settingsStatement returns the statement that makes settings in a transaction.
func settingsStatement(settings []setting) []byte {
	text := []byte("SELECT ")
	for i, s := range settings {
		if i > 0 {
			text = append(text, ", "...)
		}
		text = append(appendParameter(append(append(append(text, "set_config('"...), s.name...), "', "...), i+1), ", true)"...)
	}
	return text
}

// appendSettings appends the rest of a Bind of settingsStatement.
func appendSettings(b []byte, settings []setting) []byte {
	b = binary.BigEndian.AppendUint16(append(b, 0, 0), uint16(len(settings))) //nolint:gosec // A few.
	for _, s := range settings {
		b = binary.BigEndian.AppendUint32(b, uint32(len(s.value))) //nolint:gosec // A name or a number.
		b = append(b, s.value...)
	}
	return append(b, binaryResults...)
}

// appendFrame appends a message of the protocol.
func appendFrame(b []byte, kind byte, body func([]byte) []byte) []byte {
	b = append(b, kind, 0, 0, 0, 0)
	start := len(b) - 4
	b = body(b)
	endMessage(b, start)
	return b
}

// appendValues appends the rest of a Bind: that its values are texts, the values, and that its results are binary.
func (b *builder) appendValues(to []byte, from, end int) []byte {
	to = append(to, 0, 0)
	to = binary.BigEndian.AppendUint16(to, uint16(end-from)) //nolint:gosec // One for each column.
	for i := from; i < end; i++ {
		literal := b.literal(i)
		if string(literal) == "NULL" {
			to = append(to, nullValue...)
			continue
		}
		at := len(to)
		to = append(to, 0, 0, 0, 0)
		if literal[0] == '\'' { // Else it is TRUE or FALSE.
			literal = literal[1 : len(literal)-1]
		}
		for {
			quote := bytes.IndexByte(literal, '\'')
			if quote < 0 {
				break
			}
			// A quote in a literal is doubled.
			to, literal = append(to, literal[:quote+1]...), literal[quote+2:]
		}
		to = append(to, literal...)
		binary.BigEndian.PutUint32(to[at:], uint32(len(to)-at-4)) //nolint:gosec // Of maxRows rows.
	}
	return append(to, binaryResults...)
}

// sendBound sends a message that can be one of the extended protocol. It returns the rows of joined reads, and the
// templates that the message prepares.
func (c *preparingConn) sendBound(ctx context.Context, m *message) (rows *boundRows, fresh []string, err error) {
	if err := c.keep(ctx, m); err != nil {
		return nil, nil, err
	}
	bound := c.bind(m)
	found, err := c.exchange(ctx, bound.text, answers{bound.statements, m.statement.joined})
	if len(m.statement.copied) > 0 {
		err = c.checkRefusal(ctx, err)
	}
	return &boundRows{found}, bound.fresh, err
}

// answers are what a server is to respond: the results of some statements, of which the last returns rows if it is that
// of joined reads.
type answers struct {
	statements int
	joined     bool
}

// exchange sends a message and reads the responses. It uses the network connection while the driver does not. After a
// ReadyForQuery the driver may have read no more than a notice, or the reason why the server ended the connection.
// exchange leaves nothing unread.
func (c *preparingConn) exchange(ctx context.Context, b []byte, expected answers) (rows [][]byte, err error) {
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
		return nil, err
	}
	return c.readResponses(expected)
}

// readResponses reads the responses to a message, up to the last, and returns the error of the message, or the rows.
// It closes the connection if that cannot be used any more.
func (c *preparingConn) readResponses(expected answers) (rows [][]byte, err error) {
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
				return nil, refused
			case ended && !errors.Is(err, errResponse):
				return rows, nil // The message was done.
			}
			return nil, err
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
			rows = append(rows, row)
		}
		ended = ended || kind == 'Z'
	}
	if refused != nil {
		return nil, refused
	}
	return rows, nil
}

// boundRows are the rows that joined reads return: the number of a read and its rows.
type boundRows struct{ rows [][]byte }

func (r *boundRows) Columns() []string { return []string{"part", "records"} }

func (r *boundRows) Close() error { return nil }

func (r *boundRows) Next(into []sqldriver.Value) error {
	if len(r.rows) == 0 {
		return io.EOF
	}
	row := r.rows[0]
	r.rows = r.rows[1:]
	const part = 2 + 4
	if len(row) < part+4+4 {
		return errResponse
	}
	into[0] = int64(int32(binary.BigEndian.Uint32(row[part:]))) //nolint:gosec // PostgreSQL sends an int32.
	into[1] = nil
	if size := int32(binary.BigEndian.Uint32(row[part+4:])); size >= 0 { //nolint:gosec // PostgreSQL sends an int32.
		into[1] = row[part+8:]
	}
	return nil
}
