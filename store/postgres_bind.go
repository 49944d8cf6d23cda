package store

import (
	"bytes"
	"context"
	sqldriver "database/sql/driver"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"time"
)

// Where connections end at the server, a message goes by the extended protocol if the session has its statements
// prepared: each is a Bind with its values and an Execute, and one Sync ends the message. The values of an EXECUTE
// would have to be parsed as SQL. Some of the statements are one, see postgres_merge.go. They run one after the other,
// as those of a simple message do: none runs after one that failed, and each sees what was committed before it began.
//
// The driver sends one such statement at a time and waits for its response. So a connection sends these messages by
// itself, as it does those with the rows of COPY: see sendRows. BEGIN, the settings, the locks, merged writes, COPY and
// COMMIT are prepared with the first such message. A message that has to prepare any other statement is a simple one,
// and so is one that returns other rows than those of joined reads.
//
// The server runs a statement as soon as it has come, and waits for the next one without a limit, but for the network:
// see lossSettings. So a longer message that has no rows of COPY is a simple one, of which a server runs nothing before
// the whole of it has come. The kernel takes a short one at once, whatever becomes of the process, or record by record
// with TLS.

const (
	// execute is an Execute of all rows of what was bound last, and endOfMessage a Sync.
	execute      = "E\x00\x00\x00\x09\x00\x00\x00\x00\x00"
	endOfMessage = "S\x00\x00\x00\x04"
	// binaryResults is the end of a Bind: all results have their binary form.
	binaryResults = "\x00\x01\x00\x01"
	// maxBound is the longest such message without rows of COPY, in bytes of its statements and values. A new connection
	// takes as many at once.
	maxBound = 32 << 10
	// nullValue is the length of NULL.
	nullValue = "\xff\xff\xff\xff"
)

// canBind reports whether a message may be one of the extended protocol: see above.
func (c *preparingConn) canBind(m *message) bool {
	rows := len(m.statement.copied)
	if !m.direct || m.unprepared || !m.statement.template || m.before != "" && m.kept == "" ||
		rows == 0 && m.statement.size() > maxBound || time.Now().UnixNano() < c.shared.simpleUntil.Load() {
		return false
	}
	c.forget()
	var from part
	for _, one := range m.statement.statements() {
		template := m.statement.text[from.text:one.text]
		_, known := c.names[string(template)]
		switch {
		case one.shards != nil:
			return false
		case one.copied > from.copied, string(template) == commit: // Prepared with the message.
		case one.core.kind == takesGates, one.core.kind == takesClaims, one.core.kind == locksRows: // As that of the core.
		case one.prepare == keepNot, !known:
			return false
		}
		from = one
	}
	return true
}

// boundMessage is a message of the extended protocol.
type boundMessage struct {
	conn       *preparingConn
	of         *builder // has the literals
	text       []byte
	statements int
	fresh      []string // the templates that it prepares, or "" for one without a name
}

// bind returns a message of the extended protocol. Some of its statements are those of several parts: see
// postgres_merge.go.
func (c *preparingConn) bind(m *message) boundMessage {
	b := boundMessage{
		conn: c, of: m.statement, text: make([]byte, 0, len(m.before)+m.statement.size()+roomToPrepare),
	}
	if begin := m.opening.begin; begin != "" {
		b.add([]byte(strings.TrimSuffix(begin, "; ")), nil, 0, 0)
	}
	var from part
	settings := m.opening.brief
	for parts := m.statement.statements(); len(parts) > 0; {
		one := c.merge(m.statement.text, from.text, parts, settings)
		last := from
		if one.parts > 0 {
			last = parts[one.parts-1]
		}
		b.add(one.template, settings, from.literals, last.literals)
		b.text = append(b.text, m.statement.copied[from.copied:last.copied]...)
		from, parts, settings = last, parts[one.parts:], nil
	}
	b.text = append(b.text, endOfMessage...)
	return b
}

// merge returns the first statement to send for some parts of a message, with the settings. Its template is valid until
// the next call.
func (c *preparingConn) merge(text []byte, start int, parts []part, settings []setting) (one merged) {
	switch kind := parts[0].core.kind; {
	case kind == takesGates, kind == takesClaims, len(settings) > 0:
		one = mergeTaking(c.template[:0], settings, text, start, parts)
	case kind == locksRows:
		one = mergeLock(c.template[:0], text, start, parts[0].core)
	case kind == writesRows:
		one = mergeWrites(c.template[:0], text, start, parts)
		if one.template != nil && !c.mayMerge(one.template) {
			one.template = nil
		}
	}
	if one.template == nil {
		return merged{template: text[start:parts[0].text], parts: 1}
	}
	c.template = one.template
	return one
}

// mayMerge reports whether the session has merged writes prepared, or is to prepare them: those that come again, as
// long as there are few of them.
func (c *preparingConn) mayMerge(template []byte) bool {
	if _, known := c.names[string(template)]; known {
		return true
	}
	if c.merges >= maxMerged || c.shared.most-c.number <= reservedStatements {
		c.seen = nil
		return false
	}
	if _, again := c.seen[string(template)]; again {
		delete(c.seen, string(template))
		return true
	}
	if c.seen == nil || len(c.seen) >= maxSeen {
		c.seen = make(map[string]struct{})
	}
	c.seen[string(template)] = struct{}{}
	return false
}

// add adds a statement, and prepares it if the session does not have it and there is room. Its values are those of
// settings and then some of the literals.
func (b *boundMessage) add(template []byte, settings []setting, from, end int) {
	name, known := b.conn.names[string(template)]
	if !known {
		fresh := ""
		if b.conn.number < b.conn.shared.most {
			name, fresh = b.conn.newName(template), string(template)
			if isMerged(fresh) {
				b.conn.merges++
			}
		}
		b.fresh = append(b.fresh, fresh)
		b.text = appendFrame(b.text, 'P', func(b []byte) []byte { return appendParse(b, name, template) })
	}
	b.text = appendFrame(b.text, 'B', func(text []byte) []byte {
		return b.appendValues(append(append(append(text, 0), name...), 0), template, settings, from, end)
	})
	b.text = append(b.text, execute...)
	b.statements++
}

// appendParse appends the rest of a Parse: the name of the statement, its text, and the types of its values.
func appendParse(b []byte, name string, template []byte) []byte {
	var types []byte
	b = eachMark(append(append(b, name...), 0), template, func(b []byte, number int, kind string) []byte {
		types = binary.BigEndian.AppendUint32(types, kindNumber(kind))
		return appendParameter(b, number+1)
	})
	b = binary.BigEndian.AppendUint16(append(b, 0), uint16(len(types)/4)) //nolint:gosec // One for each column.
	return append(b, types...)
}

// appendValues appends the rest of a Bind of a template: the forms of its values, the values, and that its results are
// binary. Each value has its binary form, or is a text where that is no longer to read.
func (b *boundMessage) appendValues(to, template []byte, settings []setting, from, end int) []byte {
	count := uint16(len(settings) + end - from) //nolint:gosec // One for each column.
	to = binary.BigEndian.AppendUint16(to, count)
	forms := len(to)
	for range count {
		to = append(to, 0, 0)
	}
	to = binary.BigEndian.AppendUint16(to, count)
	for i := range int(count) {
		mark := bytes.IndexByte(template, literalMark)
		kind := literalTypes[template[mark+1]]
		template = template[mark+2:]
		if i < len(settings) {
			to = append(appendLength(to, len(settings[i].value)), settings[i].value...)
			continue
		}
		literal := b.of.literal(from + i - len(settings))
		if string(literal) == "NULL" {
			to = append(to, nullValue...)
			continue
		}
		if literal[0] == '\'' { // Else it is TRUE or FALSE.
			literal = literal[1 : len(literal)-1]
		}
		at := len(to)
		value, isBinary := appendBinary(append(to, 0, 0, 0, 0), kind, literal)
		if isBinary {
			binary.BigEndian.PutUint16(value[forms+2*i:], 1)
		} else {
			value = appendUnquoted(append(to, 0, 0, 0, 0), literal)
		}
		to = value
		binary.BigEndian.PutUint32(to[at:], uint32(len(to)-at-4)) //nolint:gosec // Of maxRows rows.
	}
	return append(to, binaryResults...)
}

// appendUnquoted appends what a literal without the quotes around it means: a quote in it is doubled.
func appendUnquoted(to, literal []byte) []byte {
	for {
		quote := bytes.IndexByte(literal, '\'')
		if quote < 0 {
			return append(to, literal...)
		}
		to, literal = append(to, literal[:quote+1]...), literal[quote+2:]
	}
}

// sendBound sends a message that can be one of the extended protocol. It returns the rows of joined reads, and the
// templates that the message was to prepare and did not.
func (c *preparingConn) sendBound(ctx context.Context, m *message) (rows *boundRows, fresh []string, err error) {
	if err := c.keep(ctx, m); err != nil {
		return nil, nil, err
	}
	bound := c.bind(m)
	found, err := c.exchange(ctx, bound.text, answers{bound.statements, m.statement.joined})
	if len(m.statement.copied) > 0 {
		err = c.checkRefusal(ctx, err)
	}
	missing := bound.fresh[min(found.parsed, len(bound.fresh)):]
	for _, template := range missing {
		if template != "" {
			c.number-- // The last names, which the session does not have.
			if isMerged(template) {
				c.merges--
			}
		}
	}
	return &boundRows{found.rows}, missing, c.checkBound(ctx, err)
}

// checkBound returns the error of a message of the extended protocol. If that met another protocol, all connections
// send simple messages for a while, and the transaction may run again. A pooler that came between, and keeps statements
// of its own, refuses a Bind of one that it does not know.
func (c *preparingConn) checkBound(ctx context.Context, err error) error {
	reason := ""
	if refused, ok := errors.AsType[*serverError](err); ok && refused.Field('C') == protocolViolation {
		reason = "SQLSTATE " + protocolViolation
		if !isFatal(refused) {
			err = &formRefusedError{err}
		}
	} else if errors.Is(err, errResponse) {
		reason = err.Error()
	}
	if reason == "" {
		return err
	}
	if c.shared.simpleUntil.Swap(time.Now().Add(insertsFor).UnixNano()) == 0 {
		c.shared.log.WarnContext(ctx, "ticketing/store: the server does not take messages of the extended protocol, as "+
			"behind a pooler: values are sent as SQL, and the protocol is tried again from time to time", "reason", reason)
	}
	return err
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
	records := row[part+4+4:]
	switch size := int32(binary.BigEndian.Uint32(row[part+4:])); { //nolint:gosec // PostgreSQL sends an int32.
	case size < 0: // NULL.
	case int(size) == len(records):
		into[1] = records
	default:
		return errResponse
	}
	return nil
}
