package store

import (
	"context"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/schema"
)

// engine is all in which the dialects differ. The rest of the package is written in the SQL that both know.
type engine interface {
	// name is the folder of the dialect's migrations.
	name() string
	dialect() schema.Dialect
	// reader runs each statement on a connection that reads what is committed then.
	reader() bun.IConn
	// snapshot is a connection whose statements all see one moment. release gives it back.
	snapshot(ctx context.Context) (conn bun.Conn, release func(), err error)
	// begin waits for a transaction, no longer than the caller's context and the configured time, and enters the
	// gates of the companies. Whoever gets a connection ends it with commit or rollback, then release.
	begin(ctx context.Context, share, closing []uuid.UUID) (conn bun.Conn, release func(), err error)
	// hasMigrations tells whether the table of migrations is there.
	hasMigrations(ctx context.Context, conn bun.IConn) (bool, error)
	// appendID writes the literal of an id.
	appendID(b []byte, id uuid.UUID) []byte
	// useIndex stands behind a table whose planner would rather read the primary key than the index that is meant.
	useIndex(index string) string
	// rowLock ends a SELECT that locks the rows it reads, skipLocked one that passes over those which are locked.
	rowLock() string
	skipLocked() string
	// classify says what an error of the driver means.
	classify(err error) error
	close() error
}
