package store

import (
	"context"
	"database/sql"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/floatgate/ticketing/driver"
)

// openTx is a transaction that an engine began, or a savepoint in a host's transaction.
type openTx struct {
	conn bun.IConn
	// commit and rollback are the statements that end it.
	commit, rollback string
	// isSavepoint is true for a savepoint in a host's transaction: its commit makes nothing durable yet.
	isSavepoint bool
	// discard makes sure that nothing is kept if the end failed. release is called last and returns the connection.
	discard, release func()
}

// ownTx returns a transaction on a connection of the store's own.
func ownTx(conn bun.Conn, release func()) *openTx {
	return &openTx{
		conn: conn, commit: commit, rollback: "ROLLBACK", discard: func() { discard(conn) }, release: release,
	}
}

// commit is the statement that makes a transaction of the store's own durable.
const commit = "COMMIT"

// engine holds what differs between the dialects. The rest of the package is written with Bun's query builder, or in
// SQL that both dialects understand.
type engine interface {
	connections
	syntax
	traits() traits
}

// traits are the properties of a dialect.
type traits struct {
	// migrations is the folder of the dialect's migrations.
	migrations string
	// grouping is how calls are grouped best.
	grouping driver.Grouping
	// bindsValues is set if the values of a statement are bound and its text is kept prepared. Otherwise the text contains
	// the values as literals.
	bindsValues bool
	// prepares is set if statements are built as templates, which connections keep prepared.
	prepares bool
	// batchesWrites is set if writes wait and are sent together, in one message before the next read or the end.
	batchesWrites bool
	// multiStatement is set if a message may hold further statements next to the one that returns rows.
	multiStatement bool
	// joinsReads is set if several reads may be one statement: see readAhead.
	joinsReads bool
	// locksBeside is set if a query that joins other tables can lock only the rows of one table, see appendHeads.
	locksBeside bool
	// namesCompany is set if a query contains its company as a value. Otherwise the value is hidden from the planner,
	// which would expect few rows for a company that is not in its statistics.
	namesCompany bool
	// oneNode is set if a statement with a fragment that is spanning must be about one company: see ofEachCompany.
	oneNode bool
	// indexedBy is set if a query may name the index that the planner has to use.
	indexedBy bool
	// rowLock is the clause that ends a SELECT which locks the rows it reads, and no others. skipLocked is the same, but
	// skips rows that are locked already. Both are empty where there are no row locks.
	rowLock, skipLocked string
	// folded returns the expression of a column's folded name, by which an index orders companies and events. See
	// [driver.FoldedName].
	folded func(column string) string
	// byCodePoint follows a text column in a query that uses an index by code point, where the column itself has the
	// order of the database's locale.
	byCodePoint string
	// platformSums adds up the sums of each company by period: company_id, at and the columns of a sum. Its arguments are
	// the period of a time, the event, the beginning and the end of all periods, and the progress of the companies that
	// are left out.
	platformSums string
}

// notReset is the condition that the sums of a company are valid.
const notReset = ` WHERE NOT EXISTS (
	SELECT 1 FROM ticketing_sales_progress p WHERE p.company_id = c.id AND p.uncounted = ?)`

// useIndex returns the clause after a table's name that makes the planner use this index instead of the primary key.
// SQLite needs it for a table that is stored in its primary key: without statistics it considers a scan of that key
// cheaper, however long the table is.
func (t traits) useIndex(index string) string {
	if !t.indexedBy {
		return ""
	}
	return " INDEXED BY " + index
}

// connections runs transactions and statements.
type connections interface {
	// reader returns a connection on which each statement sees what is committed when it runs.
	reader() bun.IConn
	// snapshot returns a connection whose statements all see one moment: that of the first of them, or earlier. release
	// returns it to the pool.
	snapshot(ctx context.Context) (conn bun.IConn, release func(), err error)
	// begin begins a transaction and enters its gates. It waits no longer than the caller's context and the options allow.
	// inFlight reports which of the claims another process holds. It takes the announced locks and makes the announced
	// reads after that, or none of them.
	begin(ctx context.Context, in driver.BeginOptions, ahead *readAhead) (tx *openTx, inFlight []bool, err error)
	// identify reads the identity of the store's tables, which bind uses to distinguish them from the tables of any
	// other store.
	identify(ctx context.Context) error
	// bind returns the same engine within a host's transaction, which was begun on pool; pool is nil if it is not known.
	// The begin of that engine sets a savepoint.
	bind(ctx context.Context, pool *bun.DB, tx *sql.Tx) (engine, error)
	// beginMigration begins a transaction after waiting until no other process migrates.
	beginMigration(ctx context.Context) (conn bun.Conn, release func(), err error)
	// hasMigrations reports whether the table of migrations exists.
	hasMigrations(ctx context.Context, conn bun.IConn) (bool, error)
	// query runs a statement, calls scan with the rows of its result and closes them. exec returns the number of rows that
	// a statement wrote.
	query(ctx context.Context, conn bun.IConn, statement *builder, scan func(rowSet) error) error
	exec(ctx context.Context, conn bun.IConn, statement *builder) (int, error)
	// message returns the text of a finished statement, and the context with which to send it.
	message(ctx context.Context, statement *builder) (context.Context, string)
	// classify translates an error of the driver into its meaning for the store.
	classify(err error) error
	// pool returns the statistics of the connections that a host may want to monitor.
	pool() sql.DBStats
	close() error
}

// syntax writes the SQL that differs between the dialects, for speed or for a plan that does not depend on statistics.
type syntax interface {
	// appendExpecting adds a statement that fails if it does not change this number of rows.
	appendExpecting(to *builder, statement *builder, records int)
	// appendValue writes a value, NULL for a zero time.
	appendValue(to *builder, value any)
	// appendInRows writes the condition that the columns equal those of one row of the set.
	appendInRows(to *builder, of set)
	// appendKeyedRows writes the rows of a table whose columns equal those of a row of the set. They are looked up through
	// the table's index, whatever the planner's statistics are.
	appendKeyedRows(to *builder, of keyedRows)
	// appendInsert writes the INSERT of the rows.
	appendInsert(to *builder, table string, of set)
	// appendUpdate writes the UPDATE of the rows that the first columns of the set identify; keys is their number.
	appendUpdate(to *builder, table string, keys int, of set)
	// appendStock writes the query for the open batches of several stock queries, as many batches as each can need.
	appendStock(to *builder, queries []driver.StockQuery)
	// appendRates writes the query for the rate of each company that is effective at a time.
	appendRates(to *builder, companies []uuid.UUID, at int64)
	// appendTerms writes the query for the status of events, with the branding and the effective rate of each event's
	// company. The columns of the set are company_id, id and version. SQLite does not find the next rate.
	appendTerms(to *builder, of terms)
	// appendHeads writes the query for wallets, w, and the last entry of each, e. With lock it locks the wallets, where
	// locksBeside is set. It then misses an entry that was written while the statement waited for a lock.
	appendHeads(to *builder, wallets set, lock bool)
	// appendLock writes a SELECT so that it locks its rows, which are of a table with a company. It writes nothing where
	// there are no row locks. It reports whether the statement returns no rows, so that one message can carry it together
	// with a read.
	appendLock(to *builder, table string, statement *builder) (silent bool)
}
