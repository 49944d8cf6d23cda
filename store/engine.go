package store

import (
	"context"
	"database/sql"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/floatgate/ticketing"
)

// begun is a transaction that an engine began, or a part of one of a host's.
type begun struct {
	conn bun.IConn
	// commit and rollback are the statements that end it.
	commit, rollback string
	// part tells that its end keeps nothing yet.
	part bool
	// discard makes sure that nothing is kept where the end failed. release comes last, and gives the connection back.
	discard, release func()
}

// own is a transaction on a connection of the store's.
func own(conn bun.Conn, release func()) *begun {
	return &begun{
		conn: conn, commit: "COMMIT", rollback: "ROLLBACK", discard: func() { discard(conn) }, release: release,
	}
}

// engine is all in which the dialects differ. The rest of the package is written in the SQL that both know.
type engine interface {
	// name is the folder of the dialect's migrations.
	name() string
	// grouping is how calls are grouped best.
	grouping() ticketing.Grouping
	// reader runs each statement on a connection that reads what is committed then.
	reader() bun.IConn
	// snapshot is a connection whose statements all see one moment. release gives it back.
	snapshot(ctx context.Context) (conn bun.Conn, release func(), err error)
	// begin waits for a transaction, no longer than the caller's context and the entrance allow, enters its gates and
	// tells which of its claims another process has.
	begin(ctx context.Context, in ticketing.Entrance) (tx *begun, inFlight []bool, err error)
	// recognise learns what tells the store's tables from those of any other, for bind.
	recognise(ctx context.Context) error
	// bind is the same engine in a transaction of a host's, begun on its pool, in which begin begins a part.
	bind(ctx context.Context, pool *bun.DB, tx *sql.Tx) (engine, error)
	// beginMigration waits until no other process migrates.
	beginMigration(ctx context.Context) (conn bun.Conn, release func(), err error)
	// hasMigrations tells whether the table of migrations is there.
	hasMigrations(ctx context.Context, conn bun.IConn) (bool, error)

	// query runs a statement and lets read have each row that it answers with. exec tells how many it wrote.
	query(ctx context.Context, conn bun.IConn, statement *builder, read func(*sql.Rows) error) error
	exec(ctx context.Context, conn bun.IConn, statement *builder) (int, error)
	// defers tells that writes wait and travel together, in one message before the next read or the end.
	defers() bool
	// together tells that a message may hold statements beside the one that answers with rows.
	together() bool
	// appendExpecting adds a statement that fails where it does not change this number of rows.
	appendExpecting(to *builder, statement *builder, records int)

	// appendValue writes a value, NULL for a zero time.
	appendValue(to *builder, value any)
	// appendAmong is the condition that columns are those of a row of the set.
	appendAmong(to *builder, of set)
	// appendFound is the part of a table whose columns are those of a row of the set, found by its index whatever the
	// planner believes.
	appendFound(to *builder, of found)
	// appendDue is the condition that a row is one of those that were chosen.
	appendDue(to *builder, of due)
	// appendInsert inserts rows.
	appendInsert(to *builder, table string, of set)
	// appendUpdate changes the rows that the first columns of the set name: keys of them.
	appendUpdate(to *builder, table string, keys int, of set)
	// appendStock finds the open batches of several queries, as many as each can need.
	appendStock(to *builder, queries []ticketing.StockQuery)
	// appendRates finds for each company the rate that holds at a time.
	appendRates(to *builder, companies []uuid.UUID, at int64)
	// appendTerms finds the status of events, and the branding and the rate of a time of each one's company, for a set of
	// company_id, id and version.
	appendTerms(to *builder, of set, at int64)
	// appendHeads finds wallets, w, and the last entry of each, e. With lock it keeps other writers from the wallets,
	// where locksBeside tells that it can: then an entry is missing that was written while a lock was waited for.
	appendHeads(to *builder, wallets set, lock bool)
	locksBeside() bool
	// useIndex stands behind a table whose planner would rather read the primary key than the index that is meant.
	useIndex(index string) string
	// appendLock has a SELECT that locks rows run; it adds nothing where there are no locks of rows. It
	// tells whether the statement answers without rows, so that it can travel with one that reads.
	appendLock(to *builder, statement *builder) (silent bool)
	// rowLock ends a SELECT that locks the rows it reads, and reads nothing else. skipLocked is the same for one that
	// passes over those which are locked.
	rowLock() string
	skipLocked() string
	// classify says what an error of the driver means.
	classify(err error) error
	// pool tells of the connections that a host may want to watch.
	pool() sql.DBStats
	close() error
}
