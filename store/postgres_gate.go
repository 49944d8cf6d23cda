package store

import (
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

	"github.com/floatgate/ticketing"
)

// The gate of a company is an advisory lock of the transaction. Its queue is fair: who closes it waits for those who are
// in, and not for those who come after, so that a revocation does not starve while a rush lasts. Locks of the company's
// row would let sharers pass the closer for ever.
//
// A claim of a key is an advisory lock that is tried and never waited for. Locks are re-entrant within a session; that
// two of one process exclude each other is up to the registry of the store.

// closeSlice is how long a closer waits at a stretch at first: while it waits, those who share wait behind it.
const closeSlice = 100 * time.Millisecond

// advisory is the number of a lock: the first 8 bytes of the SHA-256 of what it locks, in this schema. All processes
// and versions on one database must agree on it.
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
	slices.Sort(numbers) // All take several in one order.
	return numbers
}

func (e *postgresEngine) claims(refs []ticketing.ResultRef) []int64 {
	numbers := make([]int64, len(refs))
	for i, ref := range refs {
		numbers[i] = e.advisory("claim", string(ref.CompanyID[:]), ref.Operation, ref.Key)
	}
	return numbers
}

// begin begins a transaction, enters the gates and tries the claims, all in one message.
func (e *postgresEngine) begin(ctx context.Context, in ticketing.Entrance) (tx *begun, inFlight []bool, err error) {
	err = e.attempt(ctx, in, func(slice, patience time.Duration) error {
		conn, answers, err := e.enter(ctx, in, slice, patience)
		if err == nil {
			tx, inFlight = own(conn.Conn, func() { _ = conn.Close() }), answers
		}
		return err
	})
	return tx, inFlight, err
}

// attempt lets enter try to be in, in which no lock is waited for longer than slice. Who closes a gate tries again for as
// long as the patience lasts.
func (e *postgresEngine) attempt(
	ctx context.Context, in ticketing.Entrance, enter func(slice, patience time.Duration) error,
) error {
	patience := e.patience
	if in.Patience > 0 {
		patience = in.Patience
	}
	if deadline, ok := ctx.Deadline(); ok {
		patience = min(patience, time.Until(deadline))
	}
	until := time.Now().Add(patience)
	slice := patience
	if len(in.Close) > 0 {
		slice = min(slice, closeSlice)
	}
	for ; ; slice = min(2*slice, patience) { // Until it outlasts those who are in.
		err := enter(slice, patience)
		if err == nil || len(in.Close) == 0 || !errors.Is(e.classify(err), ticketing.ErrBusy) || time.Now().After(until) {
			return err
		}
		pause := time.NewTimer(rand.N(closeSlice / 4)) //nolint:gosec // No secret.
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return ctx.Err()
		}
	}
}

// enter is one attempt to begin, in which no lock is waited for longer than slice.
func (e *postgresEngine) enter(
	ctx context.Context, in ticketing.Entrance, slice, patience time.Duration,
) (pooledConn, []bool, error) {
	// READ WRITE is not asked for: a standby says no to that with a state of its own, and an operator who made a
	// database read-only means it.
	begin := "BEGIN ISOLATION LEVEL READ COMMITTED; " + e.settings(e.statement, slice)
	locks, answers := e.entrance(in)
	var after string
	if slice != patience {
		after = fmt.Sprintf("; SET LOCAL lock_timeout TO %d", max(patience.Milliseconds(), 1))
	}
	if !e.whole || !answers {
		// A driver that shows the rows of the first statement alone gets the question alone.
		conn, err := e.start(ctx, begin, patience)
		if err != nil {
			return pooledConn{}, nil, err
		}
		inFlight, err := e.ask(ctx, conn, locks, answers, len(in.Claim))
		if err == nil && after != "" {
			_, err = conn.ExecContext(ctx, after[2:])
		}
		if err != nil {
			e.abandon(ctx, conn)
		}
		return conn, inFlight, err
	}
	again := false
	for tries := e.db.Stats().OpenConnections; ; tries-- {
		conn, err := e.take(ctx, patience)
		if err != nil {
			return pooledConn{}, nil, err
		}
		inFlight, err := e.ask(ctx, conn, begin+locks+after, true, len(in.Claim))
		if err == nil && again && slices.Contains(inFlight, true) {
			err = &passingError{errNotOver} // It may be our own, of the connection that was lost.
		}
		if err == nil {
			return conn, inFlight, nil
		}
		e.abandon(ctx, conn)
		if _, again = errors.AsType[*lostError](e.classify(err)); tries <= 0 || !again {
			return pooledConn{}, nil, err
		}
	}
}

// entrance is the statement that takes the locks, and whether it answers which claims were had.
func (e *postgresEngine) entrance(in ticketing.Entrance) (text string, answers bool) {
	if e.rowGates {
		return e.rowEntrance(in), false
	}
	var parts []string
	take := func(function string, numbers []int64) {
		if len(numbers) > 0 {
			parts = append(parts, "SELECT "+function+"(n)::text FROM unnest('{"+joined(numbers)+"}'::bigint[]) AS n")
		}
	}
	// Whoever shares some gates and closes others takes them one kind after the other: nobody does today, and two who
	// did in opposite ways would be told apart by the lock's time-out.
	take("pg_advisory_xact_lock", e.gates(in.Close))
	take("pg_advisory_xact_lock_shared", e.gates(in.Share))
	take("pg_try_advisory_xact_lock", e.claims(in.Claim))
	return strings.Join(parts, " UNION ALL "), len(parts) > 0
}

// rowEntrance locks the rows of the companies instead, one writer at a time: where sharers and a closer meet at a row,
// the sharers win for as long as there are any. The companies of nobody's, as at the first use of a database, are
// guarded by the table of secrets.
func (e *postgresEngine) rowEntrance(in ticketing.Entrance) string {
	companies := slices.Concat(in.Close, in.Share)
	text := ""
	if slices.Contains(companies, uuid.Nil) {
		text = "LOCK TABLE ticketing_secrets IN SHARE ROW EXCLUSIVE MODE; "
		companies = slices.DeleteFunc(companies, func(id uuid.UUID) bool { return id == uuid.Nil })
	}
	if len(companies) > 0 {
		statement := build(e, "SELECT 1 FROM ticketing_companies WHERE ? ORDER BY id FOR NO KEY UPDATE", ids("id", companies))
		text += string(statement.text)
	}
	return text
}

// ask sends a message and reads which claims were had: the last rows of its answer.
func (e *postgresEngine) ask(
	ctx context.Context, conn bun.IConn, message string, answers bool, claims int,
) ([]bool, error) {
	inFlight := make([]bool, claims)
	if message == "" {
		return inFlight, nil
	}
	if !answers {
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
		return nil, errors.New("the database did not answer for all claims")
	}
	for i, answer := range answered[len(answered)-claims:] {
		inFlight[i] = answer != "true"
	}
	return inFlight, nil
}

func joined(numbers []int64) string {
	texts := make([]string, len(numbers))
	for i, number := range numbers {
		texts[i] = strconv.FormatInt(number, 10)
	}
	return strings.Join(texts, ",")
}

// beginMigration waits for whoever migrates, for up to 50 s, which the driver would still read, and is told that the database is busy then.
func (e *postgresEngine) beginMigration(ctx context.Context) (bun.Conn, func(), error) {
	message := "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; " + e.settings(snapshotTimeout, snapshotTimeout-time.Second) +
		fmt.Sprintf("SELECT pg_advisory_xact_lock(%d); ", e.advisory("migrate"))
	if e.schema != "" {
		message += "CREATE SCHEMA IF NOT EXISTS " + quoted(e.schema) + "; "
	}
	if e.distributed {
		message += clusterSettings
	}
	// A change that waits for a table has all others wait behind it.
	message += fmt.Sprintf("SET LOCAL lock_timeout TO %d", e.patience.Milliseconds())
	conn, err := e.start(ctx, message, e.patience)
	if err != nil {
		return bun.Conn{}, nil, err
	}
	return conn.Conn, func() { _ = conn.Close() }, nil
}
