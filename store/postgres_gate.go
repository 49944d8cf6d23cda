package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/floatgate/ticketing/driver"
)

// The gate of a company is an advisory lock of the transaction. Its queue is fair: a writer that takes the gate
// exclusively waits for those who hold it, but not for those who come later. So a revocation does not starve during
// many sales. With row locks on the company, those who share the gate would overtake that writer for ever.
//
// A claim of a key is an advisory lock that is tried and never waited for. Such locks are re-entrant within a session,
// so the store's registry of claims makes two calls of one process exclude each other.

// exclusiveSlice bounds the first wait of a writer that takes a gate exclusively: while it waits, those who share the
// gate queue after it.
const exclusiveSlice = 100 * time.Millisecond

// advisory returns the number of a lock: the first 8 bytes of the SHA-256 of what it locks, in this schema. All
// processes and versions on one database must agree on it.
func (e *postgresEngine) advisory(kind string, parts ...string) int64 {
	hash := sha256.New()
	for _, part := range append([]string{"ticketing", e.place, kind}, parts...) {
		_ = binary.Write(hash, binary.BigEndian, uint32(len(part))) //nolint:gosec // A key or a name, of limited length.
		hash.Write([]byte(part))
	}
	return int64(binary.BigEndian.Uint64(hash.Sum(nil))) //nolint:gosec // All 64 bits are wanted.
}

func (e *postgresEngine) gates(companies []uuid.UUID) []int64 {
	numbers := make([]int64, len(companies))
	for i, company := range companies {
		numbers[i] = e.advisory("gate", string(company[:]))
	}
	slices.Sort(numbers) // All transactions take several gates in one order.
	return numbers
}

func (e *postgresEngine) claims(refs []driver.IdempotencyKey) []int64 {
	numbers := make([]int64, len(refs))
	for i, ref := range refs {
		numbers[i] = e.advisory("claim", string(ref.CompanyID[:]), ref.Operation, ref.Key)
	}
	return numbers
}

// begin begins a transaction, enters the gates, tries the claims, takes the announced locks and makes the announced
// reads, all in one message.
func (e *postgresEngine) begin(
	ctx context.Context, in driver.BeginOptions, ahead *readAhead,
) (tx *openTx, inFlight []bool, err error) {
	err = e.attempt(ctx, in, func(slice, patience time.Duration) error {
		conn, answers, err := e.tryBegin(ctx, in, ahead, slice, patience)
		if err == nil {
			tx, inFlight = ownTx(conn.Conn, func() { _ = conn.Close() }), answers
		}
		return err
	})
	return tx, inFlight, err
}

// attempt calls tryBegin, which waits for no lock longer than slice. To take a gate exclusively, attempt retries until
// the patience has passed.
func (e *postgresEngine) attempt(
	ctx context.Context, in driver.BeginOptions, tryBegin func(slice, patience time.Duration) error,
) error {
	patience := e.patience
	if in.LockTimeout > 0 {
		patience = in.LockTimeout
	}
	if deadline, ok := ctx.Deadline(); ok {
		patience = min(patience, time.Until(deadline))
	}
	until := time.Now().Add(patience)
	slice := patience
	if len(in.Exclusive) > 0 {
		slice = min(slice, exclusiveSlice)
	}
	for ; ; slice = min(2*slice, patience) { // The slice grows until it outlasts those who hold the gate.
		err := tryBegin(slice, patience)
		if err == nil || len(in.Exclusive) == 0 || !errors.Is(e.classify(err), driver.ErrBusy) || time.Now().After(until) {
			return err
		}
		pause := time.NewTimer(rand.N(exclusiveSlice / 4)) //nolint:gosec // No secret.
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return ctx.Err()
		}
	}
}

// tryBegin is one attempt to begin. It waits for no lock longer than slice.
func (e *postgresEngine) tryBegin(
	ctx context.Context, in driver.BeginOptions, ahead *readAhead, slice, patience time.Duration,
) (pooledConn, []bool, error) {
	// BEGIN does not ask for READ WRITE. A standby refuses that with a SQLSTATE of its own, and a database that an
	// operator made read-only should stay so.
	begin := e.settings("BEGIN ISOLATION LEVEL READ COMMITTED; ", e.statement, slice)
	if e.copiesRows {
		begin.full += probeSettings(e.idle) + lossSettings(e.idle).local()
		begin.brief = append(begin.brief, lossSettings(e.idle))
	}
	var after string
	if slice != patience {
		after = strings.TrimSuffix(e.onNodes(lockLimit(patience).local()), "; ")
	}
	var ask func(conn bun.IConn) (inFlight []bool, err error)
	if e.claimsOnNodes() {
		// The settings are those for all nodes: see isNode.
		var conn pooledConn
		var inFlight []bool
		err := e.atNode(ctx, soleCompany(in), func(e *postgresEngine) (err error) {
			conn, inFlight, err = e.beginByRows(ctx, in, begin.full, after, patience)
			return err
		})
		return conn, inFlight, err
	}
	if e.traits().joinsReads && (!e.rowGates || e.shards != nil) {
		ask = e.askJoined(ctx, in, ahead, begin, after)
	} else {
		locks, returnsRows := e.lockStatement(in)
		if !e.multiResult || !returnsRows {
			return e.beginAlone(ctx, begin.full, locks, after, returnsRows, len(in.Keys), patience)
		}
		if after != "" {
			after = "; " + after
		}
		ask = func(conn bun.IConn) ([]bool, error) {
			return e.ask(ctx, conn, begin.full+locks+after, true, len(in.Keys))
		}
	}
	retried := false
	var lost error
	for tries := e.db.Stats().OpenConnections; ; tries-- {
		conn, err := e.take(ctx, patience)
		if err != nil {
			// The transaction of a lost connection may have the claims: nobody may begin another one elsewhere.
			return pooledConn{}, nil, cmp.Or(lost, err)
		}
		inFlight, err := ask(conn)
		if err == nil && retried && slices.Contains(inFlight, true) {
			err = &transientError{errNotOver} // It may be this call's own claim, on the lost connection.
		}
		if err == nil {
			return conn, inFlight, nil
		}
		e.abandon(ctx, conn, err)
		if _, retried = errors.AsType[*lostError](e.classify(err)); tries <= 0 || !retried {
			return pooledConn{}, nil, err
		}
		lost = err
	}
}

// beginAlone begins in several messages: for a driver that returns only the rows of a message's first statement, and
// for locks that return none.
func (e *postgresEngine) beginAlone(
	ctx context.Context, begin, locks, after string, returnsRows bool, claims int, patience time.Duration,
) (pooledConn, []bool, error) {
	conn, err := e.start(ctx, begin, patience)
	if err != nil {
		return pooledConn{}, nil, err
	}
	inFlight, err := e.ask(ctx, conn, locks, returnsRows, claims)
	if err == nil && after != "" {
		_, err = conn.ExecContext(ctx, after)
	}
	if err != nil {
		e.abandon(ctx, conn, err)
	}
	return conn, inFlight, err
}

// askJoined returns a function that sends the message which begins a transaction, takes the gates, the claims and the
// announced locks, and makes the announced reads. The reads come after the locks, so they see what was committed when
// those were granted.
func (e *postgresEngine) askJoined(
	ctx context.Context, in driver.BeginOptions, ahead *readAhead, begin opening, after string,
) func(conn bun.IConn) (inFlight []bool, err error) {
	locks := e.lockMessage
	if e.shards != nil {
		locks = e.lockShards
	}
	message, returnsClaims := locks(in, after)
	if ahead.locks != nil {
		message.appendParts(ahead.locks.statements)
	}
	if !returnsClaims && len(ahead.reads) == 0 {
		return func(conn bun.IConn) ([]bool, error) {
			sent, text := e.messageAfter(ctx, begin, message)
			_, err := conn.ExecContext(sent, text)
			return nil, err
		}
	}
	extra := ""
	if returnsClaims {
		extra = claimsSetting
	}
	read, fill := joinReads(e, extra, ahead.pending(e))
	message.append(read)
	message.endPart(keepAlways, e.shards)
	return func(conn bun.IConn) ([]bool, error) {
		sent, text := e.messageAfter(ctx, begin, message)
		rows, err := conn.QueryContext(sent, text)
		if err != nil {
			return nil, err
		}
		var claims string
		err = scanAll(rows, func(rows rowSet) error {
			var err error
			claims, err = fill(rows)
			return err
		})
		if err != nil {
			return nil, err
		}
		if err := ahead.setMade(strings.Contains(claims, "t")); err != nil {
			return nil, err
		}
		inFlight := make([]bool, len(in.Keys))
		if len(claims) != len(inFlight) {
			return nil, errFewClaims
		}
		for i := range inFlight {
			inFlight[i] = claims[i] != 't'
		}
		return inFlight, nil
	}
}

var errFewClaims = errors.New("the database returned too few claims")

// claimsSetting is the expression of the answers of the claims, one letter for each: t if it was acquired, else f. The
// statement of the claims returns no rows, so that reads can follow it in the same message. It leaves the answers in a
// setting of the transaction: claimsCondition is the condition of the statement, which is false.
const (
	claimsSetting    = "current_setting('ticketing.claims')"
	claimsExpression = "(SELECT set_config('ticketing.claims', string_agg(left(" +
		"pg_try_advisory_xact_lock(n)::text, 1), ''), true) FROM unnest(?) AS n)"
	claimsCondition = claimsExpression + noClaims
	noClaims        = " IS NULL"
)

// lockMessage returns the statements that take the locks. None returns rows: they are conditions that are never true,
// which PostgreSQL evaluates once. returnsClaims is set if they leave answers in claimsSetting.
func (e *postgresEngine) lockMessage(in driver.BeginOptions, after string) (message *builder, returnsClaims bool) {
	message = build(e, "")
	eachGate(e.gates(in.Exclusive), e.gates(in.Shared), func(function string, gates []int64) {
		e.appendTaking(message, takesGates, "(SELECT count("+function+"(n)::text) FROM unnest(?) AS n)", " < 0", gates)
	})
	if returnsClaims = len(in.Keys) > 0; returnsClaims {
		e.appendTaking(message, takesClaims, claimsExpression, noClaims, e.claims(in.Keys))
	}
	if after != "" {
		message.add(after)
		message.endPart(keepNot, nil)
	}
	return message, returnsClaims
}

// appendSilent adds a statement that evaluates a condition, which is never true, and changes nothing. It names a
// company that does not exist, so that its plan has no scan of a table. The id is in a subquery: if the planner saw
// that no partition can have it, it would leave out the condition as well, and with it the locks.
func (e *postgresEngine) appendSilent(to *builder, condition string, values ...any) {
	to.add(silent+condition, values...)
	to.endPart(keepAlways, e.shards)
}

// silent is what a statement of appendSilent begins with.
const silent = "UPDATE ticketing_companies SET id = id WHERE id = " +
	"(SELECT '00000000-0000-0000-0000-000000000000'::uuid) AND "

// appendTaking is appendSilent for an expression that takes advisory locks. With its end it is the condition.
func (e *postgresEngine) appendTaking(to *builder, kind coreKind, expression, end string, locks []int64) {
	to.add(silent)
	from := to.inPart()
	to.add(expression, numbers(locks))
	of := core{kind: kind, from: from, end: to.inPart()}
	to.add(end)
	to.endPartOf(keepAlways, e.shards, of)
}

// numbers is a fragment: an array of numbers.
type numbers []int64

func (n numbers) appendTo(to *builder) {
	b := to.beginLiteral()
	*b = append(append(append(*b, "'{"...), joinNumbers(n)...), "}'"...)
	to.endLiteral("bigint[]")
}

// lockStatement returns the statement that takes the locks, and reports whether it returns which claims were acquired.
func (e *postgresEngine) lockStatement(in driver.BeginOptions) (text string, returnsRows bool) {
	if e.rowGates {
		return e.rowLockStatement(in), false
	}
	var parts []string
	take := func(function string, numbers []int64) {
		if len(numbers) > 0 {
			parts = append(parts, "SELECT "+function+"(n)::text FROM unnest('{"+joinNumbers(numbers)+"}'::bigint[]) AS n")
		}
	}
	eachGate(e.gates(in.Exclusive), e.gates(in.Shared), take)
	take("pg_try_advisory_xact_lock", e.claims(in.Keys))
	return strings.Join(parts, " UNION ALL "), len(parts) > 0
}

// eachGate calls take for the gates in the order in which all transactions take them, shared and exclusive ones alike.
// Otherwise a transaction that holds a company exclusively and waits to share the zero company would deadlock with one
// that takes both exclusively.
func eachGate(exclusive, shared []int64, take func(function string, gates []int64)) {
	isShared := func(gate int64) bool {
		_, found := slices.BinarySearch(exclusive, gate)
		return !found
	}
	gates := slices.Sorted(slices.Values(slices.Concat(exclusive, shared)))
	for len(gates) > 0 {
		function, first := "pg_advisory_xact_lock", isShared(gates[0])
		if first {
			function += "_shared"
		}
		n := 1
		for n < len(gates) && isShared(gates[n]) == first {
			n++
		}
		take(function, gates[:n])
		gates = gates[n:]
	}
}

// rowLockStatement locks the rows of the companies instead, one writer at a time. Shared row locks would let those who
// share overtake a writer that takes the gate exclusively for as long as there are any. A lock on the table of secrets
// guards the nil company, as at the first use of a database.
func (e *postgresEngine) rowLockStatement(in driver.BeginOptions) string {
	companies := slices.Concat(in.Exclusive, in.Shared)
	text := ""
	if slices.Contains(companies, uuid.Nil) {
		text = "LOCK TABLE ticketing_secrets IN SHARE ROW EXCLUSIVE MODE; "
		companies = slices.DeleteFunc(companies, func(id uuid.UUID) bool { return id == uuid.Nil })
	}
	parts := [][]uuid.UUID{companies}
	if e.distributed { // It locks rows of one node in a statement.
		parts = byCompany(companies, func(company uuid.UUID) uuid.UUID { return company })
	}
	for i, part := range parts {
		if len(part) == 0 {
			continue
		}
		if i > 0 {
			text += "; "
		}
		statement := build(e, "SELECT 1 FROM ticketing_companies WHERE ? ORDER BY id FOR NO KEY UPDATE", inIDs("id", part))
		text = string(statement.appendMessage([]byte(text), nil))
	}
	return text
}

// ask sends a message and reads which claims were acquired: the last rows of its result.
func (e *postgresEngine) ask(
	ctx context.Context, conn bun.IConn, message string, returnsRows bool, claims int,
) ([]bool, error) {
	inFlight := make([]bool, claims)
	if message == "" {
		return inFlight, nil
	}
	if !returnsRows {
		_, err := conn.ExecContext(ctx, message)
		return inFlight, err
	}
	rows, err := conn.QueryContext(ctx, message)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var answered []string
	for rows.Next() {
		var answer string
		if err := rows.Scan(&answer); err != nil {
			return nil, err
		}
		answered = append(answered, answer)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	if len(answered) < claims {
		return nil, errFewClaims
	}
	for i, answer := range answered[len(answered)-claims:] {
		inFlight[i] = answer != "true"
	}
	return inFlight, nil
}

func joinNumbers(numbers []int64) string {
	texts := make([]string, len(numbers))
	for i, number := range numbers {
		texts[i] = strconv.FormatInt(number, 10)
	}
	return strings.Join(texts, ",")
}

// beginMigration waits for another process that migrates, for up to 49 s, and then fails with [driver.ErrBusy]. Its
// statements may take 50 s, which is less than the driver's read timeout.
func (e *postgresEngine) beginMigration(ctx context.Context) (bun.Conn, func(), error) {
	begin := "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; "
	message := e.settings(begin, snapshotTimeout, snapshotTimeout-time.Second).full +
		fmt.Sprintf("SELECT pg_advisory_xact_lock(%d); ", e.advisory("migrate"))
	if e.schema != "" {
		message += "CREATE SCHEMA IF NOT EXISTS " + quoted(e.schema) + "; "
	}
	if e.distributed {
		message += clusterSettings
	}
	// All later queries on a table would wait in the queue after a schema change that waits for that table.
	message += strings.TrimSuffix(e.onNodes(lockLimit(e.patience).local()), "; ")
	conn, err := e.start(ctx, message, e.patience)
	if err != nil {
		return bun.Conn{}, nil, err
	}
	return conn.Conn, func() { _ = conn.Close() }, nil
}
