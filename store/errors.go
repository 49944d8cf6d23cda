package store

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/floatgate/ticketing"
)

// ErrNotMigrated is the answer of a database that lacks migrations of this version: [Store.Migrate] applies them.
var ErrNotMigrated = errors.New("ticketing/store: the database is not migrated")

// ErrSchema is the answer of a database that this version must not touch: a newer version migrated it, or a migration
// was changed after it had been applied.
var ErrSchema = errors.New("ticketing/store: the schema of the database is not one of this version")

// passingError is a failure that another run may not meet.
type passingError struct{ err error }

func (e *passingError) Error() string { return e.err.Error() }
func (e *passingError) Unwrap() error { return e.err }

// translate says which statement failed, and what that means to the module.
func (s *Store) translate(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("ticketing/store: %s: %w", name, s.engine.classify(err))
}

// classify reads the codes of SQLite. No message of it holds a value: it names tables, columns and constraints.
func (e *sqliteEngine) classify(err error) error {
	if errors.Is(err, driver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) {
		return fmt.Errorf("%w: %w", ticketing.ErrUnavailable, err)
	}
	var native *sqlite.Error
	if !errors.As(err, &native) {
		return err
	}
	const primary = 0xff
	switch native.Code() & primary {
	case sqlite3.SQLITE_BUSY:
		if native.Code() == sqlite3.SQLITE_BUSY_SNAPSHOT {
			return &passingError{err}
		}
		// All others have waited for the busy timeout.
		return fmt.Errorf("%w: %w", ticketing.ErrBusy, err)
	case sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_SCHEMA:
		return &passingError{err}
	case sqlite3.SQLITE_CONSTRAINT:
		return &ticketing.ConstraintError{Constraint: brokenConstraint(native)}
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY,
		sqlite3.SQLITE_PERM, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT:
		return fmt.Errorf("%w: %w", ticketing.ErrUnavailable, err)
	}
	return err
}

// brokenConstraint is the name of the constraint, the one PostgreSQL would give it where SQLite knows none:
// "orders_pkey", "categories_slug_key". The prefix of the tables is left out.
func brokenConstraint(err *sqlite.Error) string {
	text := err.Error()
	if end := strings.LastIndex(text, " ("); end >= 0 {
		text = text[:end]
	}
	what := strings.TrimSpace(text[strings.LastIndex(text, ":")+1:])
	what = strings.TrimPrefix(what, "ticketing_")
	var table string
	var columns []string
	for column := range strings.SplitSeq(what, ", ") {
		of, name, _ := strings.Cut(column, ".")
		if table == "" {
			table = of
		}
		columns = append(columns, name)
	}
	switch err.Code() {
	case sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY:
		return table + "_pkey"
	case sqlite3.SQLITE_CONSTRAINT_UNIQUE:
		return table + "_" + strings.Join(columns, "_") + "_key"
	case sqlite3.SQLITE_CONSTRAINT_NOTNULL:
		return table + "_" + columns[0] + "_not_null"
	case sqlite3.SQLITE_CONSTRAINT_DATATYPE:
		return "datatype_check"
	case sqlite3.SQLITE_CONSTRAINT_FOREIGNKEY:
		return "fkey" // SQLite does not tell which.
	default:
		return what // A CHECK by its name, a trigger by what it raises.
	}
}
