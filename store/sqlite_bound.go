package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/floatgate/ticketing/driver"
)

// boundSQLite works in a host's transaction.
type boundSQLite struct {
	*sqliteEngine

	tx *sql.Tx
}

var (
	errOtherSQLite = refuseTx("its pool is not one of modernc.org/sqlite: two libraries of SQLite in one process " +
		"spoil each other's locks of the file")
	errNoKeys       = refuseTx("foreign_keys is off on its connection")
	errNotImmediate = refuseTx("it was not begun IMMEDIATE: ask for _txlock=immediate, as OpenPool does")
)

// identify has nothing to read: a file is identified by its path.
func (e *sqliteEngine) identify(context.Context) error { return nil }

// bind refuses a transaction that may not be able to write when it needs to.
func (e *sqliteEngine) bind(ctx context.Context, pool *bun.DB, tx *sql.Tx) (engine, error) {
	// Cancelling a statement would abort the host's transaction.
	ctx = context.WithoutCancel(ctx)
	b := &boundSQLite{e, tx}
	if pool != nil {
		if pool.Dialect().Name() != dialect.SQLite {
			return nil, errNoSQLite
		}
		if _, same := pool.Driver().(*sqlite.Driver); !same {
			return nil, errOtherSQLite
		}
	} else if same, err := isSQLite(ctx, tx); err != nil {
		return nil, b.classify(err)
	} else if !same {
		return nil, errNoSQLite
	}
	for _, check := range []func(context.Context) error{b.checkOpen, b.checkFile, b.checkKeys, b.checkLock} {
		if err := check(ctx); err != nil {
			return nil, b.classify(err)
		}
	}
	return b, nil
}

// checkOpen checks that the transaction is still open. SQLite ends a transaction by itself on some errors, such as a
// full disk, and the driver does not report that. Later statements would be committed one by one. The type of the error
// shows whether the driver is the store's.
func (e *boundSQLite) checkOpen(ctx context.Context) error {
	_, err := e.tx.ExecContext(ctx, "BEGIN")
	if err == nil {
		_ = e.tx.Rollback() // No more statements are allowed.
		return errHostEnded
	}
	if strings.Contains(err.Error(), "within a transaction") {
		if _, same := errors.AsType[*sqlite.Error](err); !same {
			return errOtherSQLite
		}
		return nil
	}
	return err
}

func (e *boundSQLite) checkFile(ctx context.Context) error {
	var path string
	err := e.tx.QueryRowContext(ctx, "SELECT file FROM pragma_database_list WHERE name = 'main'").Scan(&path)
	if err != nil {
		return err
	}
	file, err := os.Stat(path)
	own, ownErr := os.Stat(e.path)
	if err != nil || ownErr != nil || !os.SameFile(file, own) {
		return errElsewhere
	}
	return nil
}

func (e *boundSQLite) checkKeys(ctx context.Context) error {
	var on bool
	err := e.tx.QueryRowContext(ctx, "SELECT foreign_keys FROM pragma_foreign_keys").Scan(&on)
	if err == nil && !on {
		err = errNoKeys
	}
	return err
}

// checkLock checks that the transaction holds the write lock. If another connection can acquire it, the transaction
// does not hold it. If none can, a statement of the transaction acquires it without waiting, unless another one holds
// it.
func (e *boundSQLite) checkLock(ctx context.Context) error {
	free, err := e.writable(ctx)
	if err != nil {
		return err
	}
	if free {
		return errNotImmediate
	}
	var timeout int
	if err := e.tx.QueryRowContext(ctx, "PRAGMA busy_timeout").Scan(&timeout); err != nil {
		return err
	}
	if _, err := e.tx.ExecContext(ctx, "PRAGMA busy_timeout = 0"); err != nil {
		return err
	}
	_, err = e.tx.ExecContext(ctx, "UPDATE ticketing_migrations SET name = name WHERE false")
	_, restored := e.tx.ExecContext(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", timeout))
	var transient *transientError
	if busy := e.classify(err); errors.Is(busy, driver.ErrBusy) || errors.As(busy, &transient) {
		return errNotImmediate
	}
	return errors.Join(err, restored)
}

// writable reports whether another connection could begin to write.
func (e *sqliteEngine) writable(ctx context.Context) (bool, error) {
	conn, err := e.prober.Conn(ctx)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	_, err = conn.ExecContext(ctx, beginImmediate)
	if errors.Is(e.classify(err), driver.ErrBusy) {
		return false, nil
	}
	if err == nil {
		_, err = conn.ExecContext(ctx, "ROLLBACK")
	}
	if err != nil {
		discard(conn)
	}
	return err == nil, err
}

// begin sets a savepoint in the transaction. The transaction was begun IMMEDIATE, so it is the only writer.
func (e *boundSQLite) begin(
	ctx context.Context, in driver.BeginOptions, _ *readAhead,
) (*openTx, []bool, error) {
	ctx = context.WithoutCancel(ctx)
	if err := e.checkOpen(ctx); err != nil {
		return nil, nil, err
	}
	if _, err := e.tx.ExecContext(ctx, savepoint); err != nil {
		return nil, nil, err
	}
	return beginSavepoint(e.tx, keepSavepoint), make([]bool, len(in.Keys)), nil
}

// classify translates an error for a caller in the host's transaction.
func (e *boundSQLite) classify(err error) error {
	if errors.Is(err, ErrTransaction) {
		return err
	}
	if errors.Is(err, sql.ErrTxDone) || err != nil && strings.Contains(err.Error(), "no such savepoint") {
		return errHostEnded
	}
	if native, ok := errors.AsType[*sqlite.Error](err); ok && native.Code() == sqlite3.SQLITE_READONLY {
		return errHostWrites
	}
	return e.sqliteEngine.classify(err)
}
