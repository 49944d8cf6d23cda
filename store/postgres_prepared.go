package store

import (
	"bufio"
	"context"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Prepared statements of PostgreSQL. A connection of the store's own pool keeps the statements that builders make
// prepared (PREPARE), and later messages EXECUTE them, or bind them: see postgres_bind.go. So PostgreSQL parses and
// plans each once for a connection. Each plan is generic, which changes little: the statements hide their values from
// the planner anyway, and their settings allow no plan without an index.
//
// Behind a pooler in transaction mode, the next transaction may be on a session that lacks the statement. PostgreSQL
// then refuses the EXECUTE or the Bind, and with it the transaction, which runs again with literals. The names of
// prepared statements are random for each connection, so neither ever runs a statement of another client.

// isHot reports whether a statement is one of sales, validations or the most frequent reads, by its name: see
// [Statement]. Its writes may be merged with others, for which mergeWrites says what must be true of them.
func isHot(name string) bool {
	switch name {
	case "FindAPIKeys", "APIKeys", "Companies", "Results", "SaleTerms", "LockStock", "LockWallets", "UpdateBatches",
		"AppendOrders", "AppendAdmissions", "PutBuyers", "UpdateWallets", "AppendEntries", "AppendFacts", "AppendResults",
		"DueWork", "LockAdmissions", "UpdateAdmissions", "Orders", "OrderLines":
		return true
	}
	return false
}

// notSupported is the SQLSTATE of what PostgreSQL does not do.
const notSupported = "0A000"

const (
	// maxStatements is how many statements a connection keeps, and maxShardStatements how many one to a node of a cluster
	// keeps, where each shard has its own. The last reservedStatements are for those that isHot reports, and for what
	// messages of the extended protocol begin and end with. One takes PostgreSQL some 50 KB, merged writes more: see
	// maxMerged.
	maxStatements, maxShardStatements, reservedStatements = 240, 960, 80
	// firstPause and lastPause bound how long nothing is prepared after a session lacked a statement. Each pause is twice
	// as long as the one before.
	firstPause, lastPause = time.Minute, time.Hour
)

// preparing is what all connections of a store know together about prepared statements, and about COPY.
type preparing struct {
	log   *slog.Logger
	most  int           // statements of a connection
	mu    sync.Mutex    // of pause
	pause time.Duration // the length of the last pause
	until atomic.Int64  // no statement is prepared before this time, in nanoseconds
	// insertUntil is the time, in nanoseconds, until which rows are written by INSERT because COPY was refused.
	insertUntil atomic.Int64
	// simpleUntil is the time, in nanoseconds, until which no message goes by the extended protocol: see checkBound.
	simpleUntil atomic.Int64
	// forgotten counts how often all connections had to forget what they prepared.
	forgotten atomic.Int64
}

// allowed reports whether statements are prepared now.
func (p *preparing) allowed() bool {
	until := p.until.Load()
	return until == 0 || time.Now().UnixNano() >= until
}

// stop begins a pause, because a session lacked a statement. Messages that were under way then may find that, too: they
// do not lengthen the pause.
func (p *preparing) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.allowed() {
		return
	}
	first := p.pause == 0
	p.pause = min(max(2*p.pause, firstPause), lastPause)
	p.until.Store(time.Now().Add(p.pause).UnixNano())
	if first {
		p.log.Info("ticketing/store: a session lacks its prepared statements, as behind a pooler in transaction mode: " +
			"statements are sent with their values")
	}
}

// pgConn is a connection of pgdriver.
type pgConn interface {
	sqldriver.Conn
	sqldriver.ConnBeginTx
	sqldriver.ConnPrepareContext
	sqldriver.ExecerContext
	sqldriver.Pinger
	sqldriver.QueryerContext
	sqldriver.SessionResetter
	sqldriver.Validator
}

// preparingConn is a connection that keeps statements prepared. database/sql uses it on one goroutine at a time.
type preparingConn struct {
	pgConn

	shared    *preparing
	forgotten int64             // of shared, when the names were last valid
	prefix    string            // of the names of its statements
	kept      string            // the settings that the session keeps, see keepSettings
	names     map[string]string // of prepared statements, by template
	number    int               // of the last name
	merges    int               // how many merged writes it has prepared, forgotten ones among them
	template  []byte            // has room for the next merged statement
	// seen are merged writes that came once, see mayMerge.
	seen      map[string]struct{}
	responses *bufio.Reader // of exchange, or nil
}

func newPreparingConn(conn pgConn, shared *preparing) *preparingConn {
	return &preparingConn{
		pgConn: conn, shared: shared, forgotten: shared.forgotten.Load(),
		prefix: fmt.Sprintf("ticketing_%x_", rand.Uint64()), names: make(map[string]string), //nolint:gosec // No secret.
	}
}

type messageKey struct{}

// message is what a connection sends in place of the text that it is given.
type message struct {
	kept      string  // settings that the session is to keep, which a message before it makes once
	before    string  // is sent first
	opening   opening // is before, in a session that keeps settings
	statement *builder
	// unprepared is set if the statements are sent with their literals.
	unprepared bool
	// direct is set if the connection ends at the server, and the message may be one of the extended protocol.
	direct bool
}

// notRendered is the text of a message until a connection replaces it. PostgreSQL would refuse it.
const notRendered = "a message of ticketing/store"

// message returns the text of a finished statement.
func (e *postgresEngine) message(ctx context.Context, statement *builder) (context.Context, string) {
	return e.messageAfter(ctx, opening{}, statement)
}

func (e *postgresEngine) messageAfter(
	ctx context.Context, before opening, statement *builder,
) (context.Context, string) {
	if e.preparing != nil && (statement.template || len(statement.copied) > 0) {
		allowed := e.preparing.allowed()
		m := &message{before: before.full, statement: statement, unprepared: !allowed, direct: e.kept != ""}
		if allowed && e.kept != "" && before.full != "" && len(statement.copied) == 0 {
			m.kept, m.before, m.opening = e.kept, before.text(), before
		}
		if allowed || len(statement.copied) > 0 {
			return context.WithValue(ctx, messageKey{}, m), notRendered
		}
	}
	return ctx, string(statement.appendMessage([]byte(before.full), nil))
}

// messageOf returns the message whose text a connection is given, or nil.
func messageOf(ctx context.Context, text string) *message {
	m, ok := ctx.Value(messageKey{}).(*message)
	if !ok || text != notRendered {
		return nil
	}
	return m
}

// render returns the text of a message, and the templates that it prepares.
func (c *preparingConn) render(ctx context.Context, text string) (rendered string, fresh []string, err error) {
	m := messageOf(ctx, text)
	if m == nil {
		return text, nil, nil
	}
	c.forget()
	if err := c.keep(ctx, m); err != nil {
		return "", nil, err
	}
	buffer, fresh := c.appendMessage(make([]byte, 0, len(m.before)+m.statement.size()+roomToPrepare), m)
	return string(buffer), fresh, nil
}

// keep makes the settings that the session is to keep, in a message of their own: in one that begins a transaction,
// ROLLBACK would take them back.
func (c *preparingConn) keep(ctx context.Context, m *message) error {
	if m.kept == c.kept || m.kept == "" {
		return nil
	}
	_, err := c.pgConn.ExecContext(ctx, m.kept, nil)
	if err == nil {
		c.kept = m.kept
	}
	return err
}

// forget forgets what the session may have lost.
func (c *preparingConn) forget() {
	if forgotten := c.shared.forgotten.Load(); forgotten != c.forgotten {
		clear(c.names)
		c.forgotten, c.kept = forgotten, ""
	}
}

// roomToPrepare is about what the names of prepared statements add to a message that prepares none.
const roomToPrepare = 1024

// appendMessage appends the text of a message. It returns the templates that the message prepares, too.
func (c *preparingConn) appendMessage(to []byte, m *message) (text []byte, fresh []string) {
	c.forget()
	to = append(to, m.before...)
	if m.unprepared {
		return m.statement.appendMessage(to, nil), nil
	}
	return m.statement.appendMessage(to, func(template []byte, hot bool) (string, bool) {
		name, known := c.names[string(template)]
		room := c.shared.most - c.number // Forgotten ones stay in the session.
		if known || room <= 0 || !hot && room <= reservedStatements {
			return name, false
		}
		name = c.newName(template)
		fresh = append(fresh, string(template))
		return name, true
	}), fresh
}

// newName returns the name of a statement that is prepared now.
func (c *preparingConn) newName(template []byte) string {
	c.number++
	name := c.prefix + strconv.Itoa(c.number)
	c.names[string(template)] = name
	return name
}

// QueryContext sends a message that returns rows.
func (c *preparingConn) QueryContext(
	ctx context.Context, text string, args []sqldriver.NamedValue,
) (sqldriver.Rows, error) {
	if m := messageOf(ctx, text); m != nil && m.statement.joined && c.canBind(m) {
		rows, fresh, err := c.sendBound(ctx, m)
		return rows, c.checked(err, fresh)
	}
	text, fresh, err := c.render(ctx, text)
	if err != nil {
		return nil, err
	}
	rows, err := c.pgConn.QueryContext(ctx, text, args)
	return rows, c.checked(err, fresh)
}

// ExecContext sends a message that returns no rows.
func (c *preparingConn) ExecContext(
	ctx context.Context, text string, args []sqldriver.NamedValue,
) (sqldriver.Result, error) {
	m := messageOf(ctx, text)
	switch {
	case m != nil && c.canBind(m):
		_, fresh, err := c.sendBound(ctx, m)
		return sqldriver.RowsAffected(0), c.checked(err, fresh)
	case m != nil && len(m.statement.copied) > 0:
		fresh, err := c.sendRows(ctx, m)
		return sqldriver.RowsAffected(0), c.checked(err, fresh)
	}
	text, fresh, err := c.render(ctx, text)
	if err != nil {
		return nil, err
	}
	result, err := c.pgConn.ExecContext(ctx, text, args)
	return result, c.checked(err, fresh)
}

// checked returns the error of a message. It forgets the statements that a failed message was to prepare: it is not
// known how far PostgreSQL got. Their names are never used again.
func (c *preparingConn) checked(err error, fresh []string) error {
	if err == nil {
		return nil
	}
	for _, template := range fresh {
		delete(c.names, template)
	}
	missing, outdated := lacksPrepared(err)
	if missing {
		c.shared.stop()
	}
	if missing || outdated {
		c.shared.forgotten.Add(1)
	}
	return err
}

// lacksPrepared reports whether PostgreSQL does not have a prepared statement, or has one whose columns have changed
// since. A message that failed like that may be sent again.
func lacksPrepared(err error) (missing, outdated bool) {
	native, ok := errors.AsType[fielded](err)
	if !ok {
		return false, false
	}
	state := native.Field('C')
	return state == "26000", state == notSupported && native.Field('R') == "RevalidateCachedQuery"
}
