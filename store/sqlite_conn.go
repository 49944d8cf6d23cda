package store

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/google/uuid"
)

// sqliteConnector makes connections that keep the statements they have prepared.
type sqliteConnector struct{ driver.Connector }

// Connect makes a connection.
func (c sqliteConnector) Connect(ctx context.Context) (driver.Conn, error) {
	made, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &sqliteConn{nativeConn: made.(nativeConn), prepared: make(map[string]nativeStatement)}, nil
}

// nativeConn and nativeStatement are what the driver makes.
type (
	nativeConn interface {
		driver.Conn
		driver.ConnPrepareContext
		driver.ExecerContext
		driver.QueryerContext
		driver.SessionResetter
		driver.Validator
	}
	nativeStatement interface {
		driver.Stmt
		driver.StmtExecContext
		driver.StmtQueryContext
	}
)

// maxPrepared is how many statements a connection keeps: more than the store has texts in common use.
const maxPrepared = 256

// sqliteConn keeps statements prepared, since SQLite takes longer to parse most of them than to run them. The pool sees
// to it that it is in one goroutine's hands at a time, and the store closes the rows of a statement before it runs the
// next.
type sqliteConn struct {
	nativeConn

	prepared map[string]nativeStatement
	args     []driver.NamedValue // of write, kept from one to the next
	ids      []any               // a blob of 16 bytes for each of args
}

// QueryContext keeps what has bound values. What has none is somebody's PRAGMA, or seldom asked.
func (c *sqliteConn) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	if len(args) == 0 {
		return c.nativeConn.QueryContext(ctx, text, args)
	}
	statement, err := c.statement(ctx, text)
	if err != nil {
		return nil, err
	}
	return statement.QueryContext(ctx, args)
}

// ExecContext keeps what begins and ends a transaction. What else comes this way are migrations.
func (c *sqliteConn) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
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

// write runs a statement once for each row of values, and tells how many rows it wrote in all.
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

// bind makes values what the driver takes. It copies them, so that the next may take the same place.
func (c *sqliteConn) bind(values []any) []driver.NamedValue {
	for len(c.args) < len(values) {
		c.args = append(c.args, driver.NamedValue{})
		c.ids = append(c.ids, make([]byte, len(uuid.UUID{})))
	}
	for i, value := range values {
		if id, ok := value.(uuid.UUID); ok {
			value = c.ids[i]
			copy(value.([]byte), id[:])
		} else {
			value = kept(value)
		}
		c.args[i] = driver.NamedValue{Ordinal: i + 1, Value: value}
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

// Close ends the statements before the connection.
func (c *sqliteConn) Close() error { return errors.Join(c.forget(), c.nativeConn.Close()) }
