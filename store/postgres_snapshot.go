package store

import (
	"context"
	"database/sql"
	"errors"

	"github.com/uptrace/bun"
)

// postgresSnapshot is a Snapshot on PostgreSQL. Its first read begins the transaction in the same message: PostgreSQL
// takes the snapshot at the first read, and not at BEGIN.
type postgresSnapshot struct {
	engine *postgresEngine
	tx     *pooledConn // nil: there was no read yet
}

// snapshot returns a connection whose statements all see the moment of the first of them.
func (e *postgresEngine) snapshot(ctx context.Context) (bun.IConn, func(), error) {
	s := &postgresSnapshot{engine: e}
	if !e.multiResult {
		// A message that begins a transaction could not return rows.
		conn, err := e.start(ctx, s.settings().full+"SELECT 1", e.patience)
		if err != nil {
			return nil, nil, err
		}
		s.tx = &conn
	}
	return s, func() { s.release(ctx) }, nil
}

// settings returns the statements that begin the transaction.
func (s *postgresSnapshot) settings() opening {
	const begin = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; "
	return s.engine.settings(begin, snapshotTimeout, s.engine.patience)
}

// begin begins the transaction with its first read. If the connection turns out to be dead, it tries another one.
func (s *postgresSnapshot) begin(ctx context.Context, statement *builder, scan func(rowSet) error) error {
	e := s.engine
	sent, text := e.messageAfter(ctx, s.settings(), statement)
	for tries := e.db.Stats().OpenConnections; ; tries-- {
		conn, err := e.take(ctx, e.patience)
		if err != nil {
			return err
		}
		rows, err := conn.QueryContext(sent, text)
		if err == nil {
			s.tx = &conn
			return scanAll(rows, scan)
		}
		e.abandon(ctx, conn, err)
		var lost *lostError
		if tries <= 0 || !errors.As(e.classify(err), &lost) {
			return err
		}
	}
}

// release ends the transaction and returns its connection to the pool.
func (s *postgresSnapshot) release(ctx context.Context) {
	if s.tx != nil {
		s.engine.abandon(ctx, *s.tx, nil)
	}
}

// QueryContext runs a further statement.
func (s *postgresSnapshot) QueryContext(ctx context.Context, text string, args ...any) (*sql.Rows, error) {
	return s.tx.QueryContext(ctx, text, args...)
}

// ExecContext runs a further statement that returns no rows.
func (s *postgresSnapshot) ExecContext(ctx context.Context, text string, args ...any) (sql.Result, error) {
	return s.tx.ExecContext(ctx, text, args...)
}

// QueryRowContext runs a further statement that returns a row.
func (s *postgresSnapshot) QueryRowContext(ctx context.Context, text string, args ...any) *sql.Row {
	return s.tx.QueryRowContext(ctx, text, args...)
}
