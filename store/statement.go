package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/floatgate/ticketing"
)

// Statement is one statement that was run, for metrics and tests.
type Statement struct {
	// Name is the method of the store that ran it, or "begin", "commit" or "rollback". It is no SQL text: that would
	// hold the buyers.
	Name string
	// Duration is how long it took, the reading of its rows included.
	Duration time.Duration
	// Err is how it failed.
	Err error
}

// maxRows is how many rows or references one statement carries; more travel in several.
const maxRows = 1000

// session runs statements on a connection, or each on one of a pool. It is what a View and a Snapshot hand out, and
// what a transaction reads with.
type session struct {
	store *Store
	conn  bun.IConn
	// alone tells that each statement stands for itself: one whose answer was cut short is asked again.
	alone bool
	// ended tells that fn has returned.
	ended atomic.Bool
	// gate is asked before each statement, and told its error, by a transaction. What waits to be sent goes before.
	gate interface {
		enter(ctx context.Context, statement *builder) (context.Context, error)
		fail(err error)
	}
}

// query runs a statement that answers with rows.
func query[R any](
	ctx context.Context, s *session, name string, scan func(*sql.Rows, *R) error, text string, values ...any,
) ([]R, error) {
	var found []R
	read := func(ctx context.Context, statement *builder) error {
		found = nil
		return s.store.engine.query(ctx, s.conn, statement, func(row *sql.Rows) error {
			// In its place from the beginning: a record of its own would be one more allocation for each row.
			found = append(found, *new(R))
			return scan(row, &found[len(found)-1])
		})
	}
	statement := build(s.store.engine, text, values...)
	err := s.run(ctx, name, statement, read)
	if _, lost := errors.AsType[*lostError](err); lost && s.alone && ctx.Err() == nil {
		err = s.run(ctx, name, statement, read)
	}
	if err != nil {
		return nil, err
	}
	return found, nil
}

// eachRow lets read have each row of an answer, to its end.
func eachRow(rows *sql.Rows, read func(*sql.Rows) error) error {
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if err := read(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// one is the record that a statement answers with, the zero record where it answers with none.
func one[R any](found []R, err error) (R, error) {
	if err != nil || len(found) == 0 {
		var none R
		return none, err
	}
	return found[0], nil
}

func (s *session) run(
	ctx context.Context, name string, statement *builder, do func(ctx context.Context, statement *builder) error,
) (err error) {
	if s.ended.Load() {
		return errEnded
	}
	if s.gate != nil {
		if ctx, err = s.gate.enter(ctx, statement); err != nil {
			return err
		}
		defer func() {
			if err != nil {
				s.gate.fail(err)
			}
		}()
	}
	if statement.err != nil {
		return statement.err
	}
	return s.store.observe(ctx, name, func() error { return do(ctx, statement) })
}

// observe runs a statement, tells of it, and turns its error into one of this module's.
func (s *Store) observe(ctx context.Context, name string, statement func() error) error {
	begun := time.Now()
	err := s.translateFor(ctx, name, statement())
	if s.config.OnStatement == nil {
		return err
	}
	s.config.OnStatement(ctx, Statement{Name: name, Duration: time.Since(begun), Err: err})
	return err
}

// translateFor is like translate, and tells the end of the caller's own time as that: it is a network's time-out to a
// driver, which ends the connection.
func (s *Store) translateFor(ctx context.Context, name string, err error) error {
	err = s.translate(name, err)
	if errors.Is(err, ticketing.ErrUnavailable) && expired(ctx) {
		return fmt.Errorf("ticketing/store: %s: %w", name, context.DeadlineExceeded)
	}
	return err
}

// expired tells whether a deadline has passed, which the context itself may not have noticed.
func expired(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ok && !time.Now().Before(deadline)
}

// lookUp finds records by their references, a statement for each maxRows of them, and answers in the order of the
// references, with the zero record where nothing is kept.
func lookUp[K comparable, R any](
	refs []K, key func(R) K, find func(refs []K) ([]R, error),
) ([]R, error) {
	answer := make([]R, len(refs))
	for start := 0; start < len(refs); start += maxRows {
		part := refs[start:min(start+maxRows, len(refs))]
		found, err := find(part)
		if err != nil {
			return nil, err
		}
		if len(part) == 1 {
			copy(answer[start:], found)
			continue
		}
		kept := make(map[K]R, len(found))
		for _, record := range found {
			kept[key(record)] = record
		}
		for i, ref := range part {
			answer[start+i] = kept[ref]
		}
	}
	return answer, nil
}

// inParts runs a write for each maxRows of its records, and nothing for none.
func inParts[R any](records []R, write func(part []R) error) error {
	for part := range slices.Chunk(records, maxRows) {
		if err := write(part); err != nil {
			return err
		}
	}
	return nil
}

// timedKey is the key of what a company has by time, its time as it is kept.
type timedKey struct {
	company uuid.UUID
	at      int64
	id      uuid.UUID
}

// folded is a list of changes in which each record is named once: of several to one record the last holds.
func folded[K comparable, R any](changes []R, key func(R) K) []R {
	if len(changes) < 2 {
		return changes
	}
	place := make(map[K]int, len(changes))
	once := make([]R, 0, len(changes))
	for _, change := range changes {
		if at, known := place[key(change)]; known {
			once[at] = change
			continue
		}
		place[key(change)] = len(once)
		once = append(once, change)
	}
	return once
}
