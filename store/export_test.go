package store

import (
	"context"

	"github.com/uptrace/bun"
)

// Passing makes an error that another run may not meet.
func Passing(err error) error { return &passingError{err} }

// AddQueryHook lets a test see the SQL of all statements to come.
func (s *Store) AddQueryHook(hook bun.QueryHook) {
	engine := s.engine.(*sqliteEngine)
	engine.writer = engine.writer.WithQueryHook(hook)
	engine.readers = engine.readers.WithQueryHook(hook)
}

// Writer and Reader are the connections of the store.
func (s *Store) Writer() *bun.DB { return s.engine.(*sqliteEngine).writer }

// Reader is one of those that read.
func (s *Store) Reader() *bun.DB { return s.engine.(*sqliteEngine).readers }

// Exec runs SQL as somebody would who went around the store, and answers as the store does.
func (s *Store) Exec(ctx context.Context, statement string) error {
	_, err := s.Writer().DB.ExecContext(ctx, statement)
	return s.translate("test", err)
}
