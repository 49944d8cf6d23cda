package store

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"slices"
	"strings"
	"time"
)

// The rows that a transaction only inserts go to PostgreSQL by COPY in its binary format, which takes about half the
// time of an INSERT from arrays; those of one sale go by INSERT, see insertRecords. A COPY is a statement of a message
// like any other, so the order of the writes stays. The rows of all COPY statements follow the message at once. The
// protocol has the server ask for them (CopyInResponse) when it comes to their statement, but it finds them if they
// were sent before, and ignores those that remain after an error. So a message with rows takes no more round trips than
// one without, and ends as every message does.
//
// While a server waits for rows, neither the timeout of a statement nor that of an idle transaction ends it. If the
// host of the store lost its power after it had sent a part of them, the transaction would keep its locks. So rows are
// copied only over TCP connections that end at the server, see reachesServer, whose transactions make the server's
// kernel find out within half a minute, see lossSettings. What remains is a process that is stopped, and not killed,
// while the kernel has not taken all of a message: its transaction keeps its locks until the process ends or goes on.
//
// A server that refuses COPY where it may take an INSERT, as it does where row security applies to the role, makes the
// transaction run again with INSERT.

const (
	// insertsFor is how long rows are written by INSERT after a COPY was refused or went wrong.
	insertsFor = time.Hour
	// copyHeader begins the rows of a COPY: the signature of the format, no flags, and an extension without a byte.
	copyHeader = "PGCOPY\n\xff\r\n\x00" + "\x00\x00\x00\x00" + "\x00\x00\x00\x00"
	// copyTrailer ends the rows: a number of fields that no row has.
	copyTrailer = "\xff\xff"
)

// reachesServer reports whether the TCP connections of the store end at the server, and not at a pooler or a proxy, and
// the server runs on Linux, which has probeSettings. It compares the port that the server sees on one of them with that
// of the store, so a proxy that uses the ports of its clients passes for none.
func (e *postgresEngine) reachesServer(ctx context.Context) (bool, error) {
	conn, err := e.take(ctx, e.patience)
	if err != nil {
		return false, err
	}
	defer func() { _ = conn.Close() }()
	var seen int
	var linux bool
	err = e.query(ctx, conn.Conn, build(e, "SELECT coalesce(inet_client_port(), 0)::bigint, version() LIKE '%linux%'"),
		eachRow(func(row rowSet) error { return row.Scan(&seen, &linux) }))
	if err != nil {
		return false, err
	}
	var port int
	err = conn.Raw(func(conn any) error {
		if address, ok := conn.(*preparingConn).network().LocalAddr().(*net.TCPAddr); ok {
			port = address.Port
		}
		return nil
	})
	return linux && port != 0 && port == seen, err
}

// allowCopy decides, once, whether rows are ever written by COPY. Without an answer they are not.
func (e *postgresEngine) allowCopy(ctx context.Context) {
	reaches, err := e.reachesServer(ctx)
	switch {
	case err != nil:
		e.preparing.log.WarnContext(ctx, "ticketing/store: rows are written by INSERT and not by COPY, which takes less "+
			"time: the server does not say where its connections end", "error", e.classify(err))
	case !reaches:
		e.preparing.log.DebugContext(ctx, "ticketing/store: rows are written by INSERT and not by COPY, which takes less "+
			"time: the connections are not of TCP, or end at a pooler or a proxy, or the server does not run on Linux")
	}
	e.copiesRows = reaches && err == nil
}

// copies reports whether rows are written by COPY now.
func (e *postgresEngine) copies() bool {
	return e.copiesRows && e.preparing.allowed() && time.Now().UnixNano() >= e.preparing.insertUntil.Load()
}

// copy inserts rows by COPY. The statement has no literals, and is kept prepared for messages of the extended protocol
// alone.
func (tx *transaction) copy(ctx context.Context, e *postgresEngine, name, table string, rows set) error {
	statement := &builder{engine: e}
	statement.add("COPY " + table + " (" + strings.Join(rows.columns, ", ") + ") FROM STDIN (FORMAT binary)")
	statement.copied, statement.err = appendRows(nil, rows)
	return tx.send(ctx, name, anyNumber, statement)
}

// appendRows appends the messages of the protocol that have the rows of a COPY: CopyData and CopyDone.
func appendRows(b []byte, rows set) ([]byte, error) {
	size := len(copyHeader)
	for _, column := range rows.typed {
		size += rows.count * column.width()
	}
	b = slices.Grow(b, size)
	var err error
	b = appendFrame(b, 'd', func(b []byte) []byte {
		b = append(b, copyHeader...)
		for i := range rows.count {
			b = binary.BigEndian.AppendUint16(b, uint16(len(rows.typed))) //nolint:gosec // A few columns.
			for _, column := range rows.typed {
				if b, err = column.appendField(b, i); err != nil {
					return b
				}
			}
		}
		return append(b, copyTrailer...)
	})
	return append(b, 'c', 0, 0, 0, 4), err
}

// sendRows sends a message and the rows of its COPY statements, and reads the responses. It returns the templates that
// the message prepares, too. The driver has CopyFrom for a COPY that is alone in its message, and waits for the server
// to ask for the rows.
func (c *preparingConn) sendRows(ctx context.Context, m *message) (fresh []string, err error) {
	b := make([]byte, 0, len(m.before)+m.statement.size()+roomToPrepare)
	b = appendFrame(b, 'Q', func(b []byte) []byte {
		b, fresh = c.appendMessage(b, m)
		return append(b, 0)
	})
	b = append(b, m.statement.copied...)

	_, err = c.exchange(ctx, b, answers{})
	return fresh, c.checkRefusal(ctx, err)
}

// checkRefusal returns the error of a message with rows. If the server may take them by INSERT, that is how they are
// written for a while.
func (c *preparingConn) checkRefusal(ctx context.Context, err error) error {
	refused, ok := errors.AsType[*serverError](err)
	switch {
	case ok && refused.mayTakeInsert():
		c.shared.insertInstead(ctx, "SQLSTATE "+refused.Field('C'))
		return &formRefusedError{err}
	case errors.Is(err, errResponse):
		c.shared.insertInstead(ctx, err.Error())
	}
	return err
}

// insertInstead makes all connections write rows by INSERT for a while. It logs that the first time.
func (p *preparing) insertInstead(ctx context.Context, reason string) {
	before, now := p.insertUntil.Load(), time.Now()
	if now.UnixNano() < before || !p.insertUntil.CompareAndSwap(before, now.Add(insertsFor).UnixNano()) || before != 0 {
		return
	}
	p.log.WarnContext(ctx, "ticketing/store: the server does not take rows by COPY: they are written by INSERT, and COPY "+
		"is tried again from time to time", "reason", reason)
}

// formRefusedError is the error of a message that the server refused and may take in another form: with INSERT in place
// of COPY, or as a simple message. The transaction may run again.
type formRefusedError struct{ err error }

func (e *formRefusedError) Error() string { return e.err.Error() }
func (e *formRefusedError) Unwrap() error { return e.err }

// mayTakeInsert reports whether the server may take as INSERT what it refused as COPY. A connection that it ended says
// nothing about that.
func (e *serverError) mayTakeInsert() bool {
	if isFatal(e) {
		return false
	}
	switch e.Field('C') {
	case notSupported: // COPY to a table with row security is not.
		_, outdated := lacksPrepared(e)
		return !outdated
	// A view in the place of the table, the syntax, a malformed field or row, a violation of the protocol.
	case "42809", "42601", "22P03", "22P04", protocolViolation:
		return true
	}
	return false
}
