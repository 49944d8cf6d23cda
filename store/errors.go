package store

import (
	"cmp"
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"reflect"
	"regexp"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/floatgate/ticketing/driver"
)

// ErrNotMigrated is the error for a database that lacks migrations of this version: [Store.Migrate] applies them.
var ErrNotMigrated = errors.New("ticketing/store: the database is not migrated")

// ErrSchema is the error for a database that this version must not change: a newer version migrated it, or a migration
// was edited after it had been applied.
var ErrSchema = errors.New("ticketing/store: the schema of the database is not that of this version")

// ErrNoDatabase is the error of [Open] if Config.MustExist is set and the SQLite database does not exist or is an empty
// file.
var ErrNoDatabase = errors.New("ticketing/store: there is no database")

// ErrDSN is the error for a database URL that cannot be parsed. The error that wraps it gives the reason and repeats
// nothing of the URL, which may contain a password.
var ErrDSN = errors.New("ticketing/store: malformed database URL")

// ErrAccess is the error for a server that denies what the store needs: a wrong password, a database that does not
// exist, a missing privilege of the role. The error that wraps it gives the reason.
var ErrAccess = errors.New("ticketing/store: the database refuses access")

// ErrNotCoordinator is the error of [Open] and [OpenDB] for a node of a Citus cluster other than the coordinator. The
// advisory locks of its sessions do not meet those of sessions on other nodes, so Config.RowGates or Config.DirectNodes
// is needed there.
var ErrNotCoordinator = errors.New("ticketing/store: the node is not the coordinator of its cluster")

// ErrUnsupported is the error for a database that the store does not support: a PostgreSQL that is too old, or a SQLite
// file on a file system that does not allow WAL.
var ErrUnsupported = errors.New("ticketing/store: the database is not supported")

// transientError is a transient failure: another run may succeed.
type transientError struct{ err error }

func (e *transientError) Error() string { return e.err.Error() }
func (e *transientError) Unwrap() error { return e.err }

// lostError is a connection that broke in the middle of a transaction. If no COMMIT was sent, nothing was kept.
type lostError struct{ err error }

func (e *lostError) Error() string {
	return "the connection to the database was lost: " + e.err.Error()
}
func (e *lostError) Unwrap() error        { return e.err }
func (e *lostError) Is(target error) bool { return target == driver.ErrUnavailable }

// translate adds the name of the failed statement, and the meaning of the error for the module.
func (s *Store) translate(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("ticketing/store: %s: %w", name, s.engine.classify(err))
}

// classify maps the codes of SQLite. Its messages contain no values: they name tables, columns and constraints.
func (e *sqliteEngine) classify(err error) error {
	if errors.Is(err, sqldriver.ErrBadConn) || errors.Is(err, sql.ErrConnDone) {
		return fmt.Errorf("%w: %w", driver.ErrUnavailable, err)
	}
	var native *sqlite.Error
	if !errors.As(err, &native) {
		return err
	}
	const primary = 0xff
	switch native.Code() & primary {
	case sqlite3.SQLITE_BUSY:
		if native.Code() == sqlite3.SQLITE_BUSY_SNAPSHOT {
			return &transientError{err}
		}
		// All other SQLITE_BUSY codes are returned after the busy timeout.
		return fmt.Errorf("%w: %w", driver.ErrBusy, err)
	case sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_SCHEMA:
		return &transientError{err}
	case sqlite3.SQLITE_CONSTRAINT:
		return &driver.ConstraintError{Constraint: brokenConstraint(native)}
	case sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY,
		sqlite3.SQLITE_PERM, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT:
		return fmt.Errorf("%w: %w", driver.ErrUnavailable, err)
	}
	return err
}

// connectError is a failure to connect.
type connectError struct{ err error }

func (e *connectError) Error() string { return e.err.Error() }
func (e *connectError) Unwrap() error { return e.err }

// sqlError is an error of PostgreSQL without its message, which may contain a value.
type sqlError struct{ state string }

func (e *sqlError) Error() string {
	return "PostgreSQL refused the statement (SQLSTATE " + e.state + ")"
}

// shardName matches the suffix that the name of a partition or a shard has after the name of its table. Citus truncates
// a long name and adds a hash of it.
var shardName = regexp.MustCompile(`(?:_[0-9a-f]{8})?_[0-9]+$|_p?[0-9]+(_|$)`)

// plainName returns the name of a constraint without the prefix of the tables and without the suffix of a shard.
func plainName(constraint string) string {
	return shardName.ReplaceAllString(strings.TrimPrefix(constraint, "ticketing_"), "$1")
}

// These match names in the message of a violation, which contains no value. PostgreSQL localises the message.
var (
	missingColumn = regexp.MustCompile(`column "(\w+)" of relation "(\w+)"`)
	anyConstraint = regexp.MustCompile(`constraint "(\w+)"`)
	ownName       = regexp.MustCompile(`\bticketing_\w+`)
)

// nameIn returns the name of a constraint from the message of its violation, or nothing. Citus repeats the SQLSTATE and
// the message of a worker's error, but none of its other fields.
func nameIn(message string) string {
	if found := missingColumn.FindStringSubmatch(message); found != nil {
		return notNull(shardName.ReplaceAllString(found[2], "$1"), found[1])
	}
	if found := anyConstraint.FindStringSubmatch(message); found != nil {
		return found[1]
	}
	// The name of a constraint begins with that of its table.
	longest := ""
	for _, name := range ownName.FindAllString(message, -1) {
		if len(name) > len(longest) {
			longest = name
		}
	}
	return longest
}

// violation matches the message of a violation that a worker reported while rows were copied to it. Citus repeats the
// message with the SQLSTATE of an internal error. In another language the name of the constraint is what remains of it.
var violation = regexp.MustCompile(`violates [\w-]+ constraint|\bticketing_\w+_(?:pkey|key|idx|check|fkey)_[0-9]+\b`)

// notNull returns the name of a NOT NULL constraint, which PostgreSQL does not name.
func notNull(table, column string) string { return table + "_" + column + "_not_null" }

// classify maps the SQLSTATEs of PostgreSQL.
func (e *postgresEngine) classify(err error) error {
	state, message, constraint, fatal, native := stateOf(err)
	var connect *connectError
	connecting := errors.As(err, &connect)
	if !native {
		switch {
		case errors.Is(err, driver.ErrBusy), errors.Is(err, context.Canceled):
			return err
		case connecting:
			return fmt.Errorf("%w: %w", driver.ErrUnavailable, connect.err)
		case errors.Is(err, sqldriver.ErrBadConn), errors.Is(err, sql.ErrConnDone), errors.Is(err, io.EOF),
			errors.Is(err, io.ErrUnexpectedEOF), isNetwork(err):
			return &lostError{err}
		}
		return err
	}
	_, formRefused := errors.AsType[*formRefusedError](err)
	if missing, outdated := lacksPrepared(err); missing || outdated || formRefused {
		return &transientError{&sqlError{state}}
	}
	const class = 2
	detail := fmt.Errorf("%s (SQLSTATE %s)", message, state)
	switch state {
	case "40001", "40P01": // A serialisation failure, a deadlock.
		return &transientError{&sqlError{state}}
	case "55P03": // A lock that was not acquired in time.
		return fmt.Errorf("%w: %w", driver.ErrBusy, &sqlError{state})
	case "57014": // A statement that took too long; lock_timeout is shorter.
		return fmt.Errorf("%w: %w", driver.ErrUnavailable, &sqlError{state})
	case "XX000":
		if e.distributed && violation.MatchString(message) {
			return broken(nameIn(message))
		}
	case "22012": // The division by zero of appendExpecting.
		return driver.ErrNotFound
	case "42P01":
		return ErrNotMigrated
	case "42501", "28000", "28P01", "3D000", "3F000":
		return fmt.Errorf("%w: %w", ErrAccess, detail)
	case "25006", "25001": // A standby, or a former primary. The second is that of mayWrite.
		return &lostError{detail}
	}
	switch state[:min(class, len(state))] {
	case "23":
		return broken(cmp.Or(constraint, nameIn(message)))
	case "53", "58", "08":
		if fatal && !connecting { // A pooler reports this when its server died.
			return &lostError{detail}
		}
		return fmt.Errorf("%w: %w", driver.ErrUnavailable, detail)
	case "57":
		if connecting {
			return fmt.Errorf("%w: %w", driver.ErrUnavailable, detail)
		}
		return &lostError{detail}
	}
	switch {
	case connecting && state == "42704":
		return fmt.Errorf("%w: the server does not know an option of the URL: %w", ErrDSN, detail)
	case connecting && state == "22023": // The message repeats the value of the setting.
		return fmt.Errorf("%w: the server refuses the value of an option of the URL (SQLSTATE %s)", ErrDSN, state)
	case connecting:
		return fmt.Errorf("%w: %w", ErrAccess, &sqlError{state})
	}
	if fatal {
		return &lostError{detail}
	}
	return &sqlError{state}
}

// broken returns the error of a broken constraint, by its name in the database.
func broken(constraint string) error {
	err := &driver.ConstraintError{Constraint: plainName(constraint)}
	if err.Constraint == "idempotency_keys_pkey" {
		// Claims that do not reach every process allow two calls with one key. Another run finds the result.
		return &transientError{err}
	}
	return err
}

func isNetwork(err error) bool {
	var network net.Error
	return errors.As(err, &network)
}

// fielded is an error of PostgreSQL with the fields of the message in which it came: a pgdriver.Error, or the
// serverError of a message that a connection sends itself.
type fielded interface {
	error
	Field(code byte) string
}

// isFatal reports whether the error ends the connection.
func isFatal(err fielded) bool {
	severity := cmp.Or(err.Field('V'), err.Field('S')) // Not every pooler sends both.
	return severity == "FATAL" || severity == "PANIC"
}

// stateOf reads an error of PostgreSQL, from this driver or from any other that gives its SQLSTATE.
func stateOf(err error) (state, message, constraint string, fatal, native bool) {
	if of, ok := errors.AsType[fielded](err); ok {
		constraint = of.Field('n')
		if constraint == "" && of.Field('c') != "" { // NOT NULL has no name.
			constraint = notNull(of.Field('t'), of.Field('c'))
		}
		return of.Field('C'), of.Field('M'), constraint, isFatal(of), true
	}
	if of, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err); ok {
		severity := field(of, "Severity")
		constraint = field(of, "ConstraintName") + field(of, "Constraint")
		if column := field(of, "ColumnName") + field(of, "Column"); constraint == "" && column != "" {
			constraint = notNull(field(of, "TableName")+field(of, "Table"), column)
		}
		return of.SQLState(), field(of, "Message"), constraint, severity == "FATAL" || severity == "PANIC", true
	}
	return "", "", "", false, false
}

// field returns a string field of an error of pgx or pq by reflection, since neither is a dependency.
func field(err error, name string) string {
	value := reflect.Indirect(reflect.ValueOf(err))
	if value.Kind() != reflect.Struct {
		return ""
	}
	if found := value.FieldByName(name); found.IsValid() && found.Kind() == reflect.String {
		return found.String()
	}
	return ""
}

// brokenConstraint returns the name of the constraint. Where SQLite knows none, it is the one that PostgreSQL would
// generate: "orders_pkey", "categories_slug_key". The prefix of the tables is left out.
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
		return "fkey" // SQLite does not report which foreign key.
	default:
		return what // A CHECK by its name, a trigger by the message it raises.
	}
}
