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

	"github.com/floatgate/ticketing/driver"
)

// Statement describes one statement that was run, for metrics and tests.
type Statement struct {
	// Name is the method of the store that ran it, or "begin", "commit" or "rollback". It is not the SQL text, which would
	// contain data of buyers.
	Name string
	// Duration is how long the statement took, including reading its rows.
	Duration time.Duration
	// Err is its error, or nil.
	Err error
}

// maxRows is the largest number of rows or references in one statement; more are split over several statements.
const maxRows = 1000

// session runs statements on a connection, or each on any connection of a pool. Views and Snapshots use it, and so do
// the reads of a transaction.
type session struct {
	store *Store
	conn  bun.IConn
	// alone is set if each statement is independent: one that failed transiently is sent again.
	alone bool
	// announcing is set while reads are announced, and ahead has the announced ones.
	announcing bool
	ahead      readAhead
	// announced is what is known of the read that is being announced, beside its statement.
	announced announcedRead
	// ended is set once fn has returned.
	ended atomic.Bool
	// on is the engine of statements that name the shards of onCompany, or nil. noShards is set in a View that names none.
	on        *postgresEngine
	onCompany uuid.UUID
	noShards  bool
	// owner is the transaction that the session is a part of; nil outside of one. check returns an error if no statement
	// may run. beforeStatement runs before each statement and sends the pending writes first. fail is called with the
	// statement's error.
	owner interface {
		check() error
		beforeStatement(ctx context.Context, statement *builder) (context.Context, error)
		fail(err error)
	}
}

// query runs a statement that returns rows.
func query[R any](
	ctx context.Context, s *session, name string, scan func(rowSet, *R) error, text string, values ...any,
) ([]R, error) {
	return queryOf(ctx, s, name, s.companyIn(text, values), scan, text, values...)
}

// queryOf is query for a statement about a company; the zero id is any number of companies.
func queryOf[R any](
	ctx context.Context, s *session, name string, company uuid.UUID, scan func(rowSet, *R) error, text string,
	values ...any,
) ([]R, error) {
	if !s.store.engine.traits().oneNode {
		return fetch(ctx, s, name, scan, build(s.store.engine, text, values...))
	}
	if on := s.shardEngine(ctx, name, company); on != nil {
		found, err := fetch(ctx, s, name, scan, build(on, text, values...))
		if !errors.Is(err, errMoved) {
			return found, err
		}
	}
	var all []R
	for _, values := range ofEachCompany(values) {
		found, err := fetch(ctx, s, name, scan, build(s.store.engine, text, values...))
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// fetch runs a finished statement and scans each of its rows.
func fetch[R any](
	ctx context.Context, s *session, name string, scan func(rowSet, *R) error, statement *builder,
) ([]R, error) {
	var found []R
	if err := s.read(ctx, name, statement, scanInto(&found, scan)); err != nil {
		return nil, err
	}
	return found, nil
}

// scanInto returns a function that sets records to those of a result.
func scanInto[R any](records *[]R, scan func(rowSet, *R) error) func(rowSet) error {
	return func(rows rowSet) error {
		*records = nil
		if all, ok := rows.(*recordRows); ok {
			*records = make([]R, 0, all.count())
		}
		for rows.Next() {
			// Scan the record in place: a separate record would be one more allocation for each row.
			*records = append(*records, *new(R))
			if err := scan(rows, &(*records)[len(*records)-1]); err != nil {
				return err
			}
		}
		return nil
	}
}

// read runs a statement and calls scan with its rows. It runs the statement again after a transient failure, where each
// statement is independent.
func (s *session) read(ctx context.Context, name string, statement *builder, scan func(rowSet) error) error {
	s.keep(name, statement)
	if s.announcing {
		if s.store.engine.traits().joinsReads || statement.shards != nil {
			s.ahead.announce(statement, s.announced)
		}
		return nil
	}
	if changes(statement) {
		s.ahead.forget()
	}
	if read := s.ahead.take(statement); read != nil {
		if err := s.usable(); err != nil {
			return err
		}
		return scan(&recordRows{records: read.records})
	}
	statement, scan, waiting := s.ahead.join(statement, scan)
	err := s.readNow(ctx, name, statement, scan)
	if err == nil {
		setMade(waiting)
	}
	return err
}

// keep decides whether a connection keeps the statement prepared. Those of a Snapshot are not: it could not run again
// if a session lacked one.
func (s *session) keep(name string, statement *builder) {
	if s.alone || s.owner != nil {
		statement.prepare = keepingOf(name)
	}
}

// readNow is read for a statement that was not announced.
func (s *session) readNow(ctx context.Context, name string, statement *builder, scan func(rowSet) error) error {
	var native error
	read := func(ctx context.Context, statement *builder) error {
		if s.alone && statement.shards != nil {
			native = s.on.queryPool(ctx, statement, scan)
			return native
		}
		return s.store.engine.query(ctx, s.conn, statement, scan)
	}
	err := s.run(ctx, name, statement, read)
	if isTransient(err) && s.alone && ctx.Err() == nil {
		err = s.run(ctx, name, statement, read)
	}
	if err != nil && native != nil && s.moved(ctx, native) {
		return errMoved
	}
	return err
}

// usable returns an error if no statement may run any more.
func (s *session) usable() error {
	switch {
	case s.ended.Load():
		return errEnded
	case s.owner != nil:
		return s.owner.check()
	}
	return nil
}

// scanAll calls scan with the rows of a result and then closes it.
func scanAll(rows *sql.Rows, scan func(rowSet) error) error {
	defer func() { _ = rows.Close() }()
	if err := scan(rows); err != nil {
		return err
	}
	return rows.Err()
}

// eachRow returns a function that calls read with each row.
func eachRow(read func(row rowSet) error) func(rowSet) error {
	return func(rows rowSet) error {
		for rows.Next() {
			if err := read(rows); err != nil {
				return err
			}
		}
		return nil
	}
}

// firstRow returns the first record of a result, or the zero record if there is none.
func firstRow[R any](found []R, err error) (R, error) {
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
	if s.owner != nil {
		if ctx, err = s.owner.beforeStatement(ctx, statement); err != nil {
			return err
		}
		defer func() {
			if err != nil {
				s.owner.fail(err)
			}
		}()
	}
	if statement.err != nil {
		return statement.err
	}
	return s.store.observe(ctx, name, func() error { return do(ctx, statement) })
}

// observe runs a statement, calls OnStatement, and translates the error into one of this module's.
func (s *Store) observe(ctx context.Context, name string, statement func() error) error {
	begun := time.Now()
	err := s.translateFor(ctx, name, statement())
	if s.config.OnStatement == nil {
		return err
	}
	s.config.OnStatement(ctx, Statement{Name: name, Duration: time.Since(begun), Err: err})
	return err
}

// translateFor is like translate, but returns [context.DeadlineExceeded] if the caller's own deadline has passed. The
// driver reports that as a network timeout and closes the connection.
func (s *Store) translateFor(ctx context.Context, name string, err error) error {
	err = s.translate(name, err)
	if errors.Is(err, driver.ErrUnavailable) && expired(ctx) {
		return fmt.Errorf("ticketing/store: %s: %w", name, context.DeadlineExceeded)
	}
	return err
}

// expired reports whether the deadline of ctx has passed, which ctx itself may not report yet.
func expired(ctx context.Context) bool {
	deadline, ok := ctx.Deadline()
	return ok && !time.Now().Before(deadline)
}

// findByRefs finds records by their references, one statement for every maxRows of them. It returns them in the order
// of the references, with the zero record where nothing is kept.
func findByRefs[K comparable, R any](
	refs []K, key func(R) K, find func(refs []K) ([]R, error),
) ([]R, error) {
	if 0 < len(refs) && len(refs) <= maxRows {
		found, err := find(refs)
		if err != nil {
			return nil, err
		}
		return inOrder(refs, key, found), nil
	}
	answer := make([]R, 0, len(refs))
	for part := range slices.Chunk(refs, maxRows) {
		found, err := find(part)
		if err != nil {
			return nil, err
		}
		answer = append(answer, inOrder(part, key, found)...)
	}
	return answer, nil
}

// inOrder returns the found records in the order of their references, with the zero record where nothing was found.
func inOrder[K comparable, R any](refs []K, key func(R) K, found []R) []R {
	if len(found) == len(refs) {
		ordered := true
		for i := 0; i < len(found) && ordered; i++ {
			ordered = key(found[i]) == refs[i]
		}
		if ordered {
			return found
		}
	}
	answer := make([]R, len(refs))
	if len(refs) == 1 || len(found) == 0 {
		copy(answer, found)
		return answer
	}
	place := make(map[K]int, len(found))
	for i, record := range found {
		place[key(record)] = i
	}
	for i, ref := range refs {
		if at, kept := place[ref]; kept {
			answer[i] = found[at]
		}
	}
	return answer
}

// distinct returns the keys without repetitions, in the order of their first occurrence.
func distinct[K comparable](keys []K) []K {
	seen := make(map[K]bool, len(keys))
	return slices.DeleteFunc(slices.Clone(keys), func(key K) bool {
		again := seen[key]
		seen[key] = true
		return again
	})
}

// inParts calls write once for every maxRows records. For no records it does not call write.
func inParts[R any](records []R, write func(part []R) error) error {
	for part := range slices.Chunk(records, maxRows) {
		if err := write(part); err != nil {
			return err
		}
	}
	return nil
}

// timedKey is the key of a company's records that are ordered by time. The time is in milliseconds, as the database
// keeps it.
type timedKey struct {
	company uuid.UUID
	at      int64
	id      uuid.UUID
}

// lastChanges returns the changes with each record named once: of several changes to one record the last one counts.
func lastChanges[K comparable, R any](changes []R, key func(R) K) []R {
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
