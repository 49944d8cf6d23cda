package store

import (
	"context"
	sqldriver "database/sql/driver"
	"errors"

	"github.com/google/uuid"
)

// sqliteConnector opens connections that keep their prepared statements.
type sqliteConnector struct{ sqldriver.Connector }

// Connect opens a connection.
func (c sqliteConnector) Connect(ctx context.Context) (sqldriver.Conn, error) {
	made, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &sqliteConn{nativeConn: made.(nativeConn), prepared: make(map[string]nativeStatement)}, nil
}

// nativeConn and nativeStatement are the interfaces of the driver's own connections and statements.
type (
	nativeConn interface {
		sqldriver.Conn
		sqldriver.ConnPrepareContext
		sqldriver.ExecerContext
		sqldriver.QueryerContext
		sqldriver.SessionResetter
		sqldriver.Validator
	}
	nativeStatement interface {
		sqldriver.Stmt
		sqldriver.StmtExecContext
		sqldriver.StmtQueryContext
	}
)

// maxPrepared is how many statements a connection keeps: more than the store commonly uses.
const maxPrepared = 256

// sqliteConn keeps statements prepared, since SQLite takes longer to parse most of them than to run them. The pool
// ensures that one goroutine uses it at a time, and the store closes the rows of a statement before it runs the next
// one.
type sqliteConn struct {
	nativeConn

	prepared map[string]nativeStatement
	args     []sqldriver.NamedValue // of write, reused by the next one
	ids      []any                  // a blob of 16 bytes for each of args
}

// QueryContext keeps statements that have arguments. A statement without any is a PRAGMA, or rarely used.
func (c *sqliteConn) QueryContext(
	ctx context.Context, text string, args []sqldriver.NamedValue,
) (sqldriver.Rows, error) {
	if len(args) == 0 {
		return c.nativeConn.QueryContext(ctx, text, args)
	}
	statement, err := c.statement(ctx, text)
	if err != nil {
		return nil, err
	}
	return statement.QueryContext(ctx, args)
}

// ExecContext keeps the statements that begin and end a transaction. All others are migrations, or writes whose texts
// contain values.
func (c *sqliteConn) ExecContext(
	ctx context.Context, text string, args []sqldriver.NamedValue,
) (sqldriver.Result, error) {
	switch text {
	case beginImmediate, "COMMIT", "ROLLBACK":
	default:
		return c.nativeConn.ExecContext(ctx, text, args)
	}
	statement, err := c.statement(ctx, text)
	if err != nil {
		return nil, err
	}
	return statement.ExecContext(ctx, args)
}

// write runs a statement once for each row of values, and returns how many rows it wrote in all.
func (c *sqliteConn) write(ctx context.Context, text string, rows [][]any) (int, error) {
	statement, err := c.statement(ctx, text)
	if err != nil {
		return 0, err
	}
	defer func() { clear(c.args) }()
	total := 0
	for _, values := range rows {
		result, err := statement.ExecContext(ctx, c.bind(values))
		if err != nil {
			return 0, err
		}
		written, err := result.RowsAffected()
		if err != nil {
			return 0, err
		}
		total += int(written)
	}
	return total, nil
}

// bind converts values to those that the driver takes. The driver copies them, so the next call reuses their memory.
func (c *sqliteConn) bind(values []any) []sqldriver.NamedValue {
	for len(c.args) < len(values) {
		c.args = append(c.args, sqldriver.NamedValue{})
		c.ids = append(c.ids, make([]byte, len(uuid.UUID{})))
	}
	for i, value := range values {
		if id, ok := value.(uuid.UUID); ok {
			value = c.ids[i]
			copy(value.([]byte), id[:])
		} else {
			value = kept(value)
		}
		c.args[i] = sqldriver.NamedValue{Ordinal: i + 1, Value: value}
	}
	return c.args[:len(values)]
}

func (c *sqliteConn) statement(ctx context.Context, text string) (nativeStatement, error) {
	if known, ok := c.prepared[text]; ok {
		return known, nil
	}
	if len(c.prepared) >= maxPrepared {
		if err := c.forget(); err != nil {
			return nil, err
		}
	}
	made, err := c.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	statement := made.(nativeStatement)
	c.prepared[text] = statement
	return statement, nil
}

func (c *sqliteConn) forget() error {
	var failed error
	for _, statement := range c.prepared {
		failed = errors.Join(failed, statement.Close())
	}
	clear(c.prepared)
	return failed
}

// Close closes the prepared statements before the connection.
func (c *sqliteConn) Close() error { return errors.Join(c.forget(), c.nativeConn.Close()) }
