package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"

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
	// ended tells that fn has returned.
	ended atomic.Bool
	// gate is asked before each statement, and told its error, by a transaction.
	gate interface {
		enter(ctx context.Context) (context.Context, error)
		fail(err error)
	}
}

// query runs a statement that answers with rows.
func query[R any](
	ctx context.Context, s *session, name string, scan func(*sql.Rows, *R) error, text string, args ...any,
) ([]R, error) {
	var found []R
	err := s.run(ctx, name, text, args, func(ctx context.Context, formatted string) error {
		result, err := s.conn.QueryContext(ctx, formatted)
		if err != nil {
			return err
		}
		defer func() { _ = result.Close() }()
		for result.Next() {
			var record R
			if err := scan(result, &record); err != nil {
				return err
			}
			found = append(found, record)
		}
		return result.Err()
	})
	if err != nil {
		return nil, err
	}
	return found, nil
}

// one is the record that a statement answers with, the zero record where it answers with none.
func one[R any](found []R, err error) (R, error) {
	if err != nil || len(found) == 0 {
		var none R
		return none, err
	}
	return found[0], nil
}

// exec runs a statement and tells how many rows it wrote.
func (s *session) exec(ctx context.Context, name, text string, args ...any) (int, error) {
	var written int64
	err := s.run(ctx, name, text, args, func(ctx context.Context, formatted string) error {
		result, err := s.conn.ExecContext(ctx, formatted)
		if err != nil {
			return err
		}
		written, err = result.RowsAffected()
		return err
	})
	return int(written), err
}

func (s *session) run(
	ctx context.Context, name, text string, args []any, statement func(ctx context.Context, formatted string) error,
) (err error) {
	if s.ended.Load() {
		return errEnded
	}
	if s.gate != nil {
		if ctx, err = s.gate.enter(ctx); err != nil {
			return err
		}
		defer func() {
			if err != nil {
				s.gate.fail(err)
			}
		}()
	}
	formatted, err := s.store.format(text, args)
	if err != nil {
		return err
	}
	return s.store.observe(ctx, name, func() error { return statement(ctx, formatted) })
}

// format puts the values in place of the question marks, by Bun.
func (s *Store) format(text string, args []any) (string, error) {
	var failed error
	for i, value := range args {
		args[i] = literal(func(gen schema.QueryGen, b []byte) ([]byte, error) {
			b, err := appendValue(gen, s.engine, b, value)
			if err != nil && failed == nil {
				failed = err
			}
			return b, nil
		})
	}
	formatted := s.gen.FormatQuery(text, args...)
	return formatted, failed
}

// literal is a value that Bun lets write itself. It is a func, since Bun takes a lone struct for named arguments.
type literal func(gen schema.QueryGen, b []byte) ([]byte, error)

// AppendQuery makes it a schema.QueryAppender.
func (l literal) AppendQuery(gen schema.QueryGen, b []byte) ([]byte, error) { return l(gen, b) }

// observe runs a statement, tells of it, and turns its error into one of this module's.
func (s *Store) observe(ctx context.Context, name string, statement func() error) error {
	if s.config.OnStatement == nil {
		return s.translate(name, statement())
	}
	begun := time.Now()
	err := s.translate(name, statement())
	s.config.OnStatement(ctx, Statement{Name: name, Duration: time.Since(begun), Err: err})
	return err
}

// changed runs a statement that changes rows that are there, one for each record.
func (s *session) changed(ctx context.Context, name string, records int, text string, args ...any) error {
	written, err := s.exec(ctx, name, text, args...)
	if err == nil && written != records {
		err = fmt.Errorf("ticketing/store: %s: %w", name, ticketing.ErrNotFound)
		if s.gate != nil {
			s.gate.fail(err)
		}
	}
	return err
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
