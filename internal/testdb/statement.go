package testdb

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/uptrace/bun/driver/pgdriver"
)

// Statements records the SQL that is sent to PostgreSQL over a pool, statement by statement.
type Statements struct {
	mu   sync.Mutex
	said []string
}

// Pool opens a pool of connections to a database whose statements are recorded.
func (s *Statements) Pool(dsn string) *sql.DB {
	// A busy machine takes longer to fill a database than the driver's default timeout.
	return sql.OpenDB(&tap{pgdriver.NewConnector(pgdriver.WithDSN(dsn), pgdriver.WithTimeout(time.Minute)), s})
}

func (s *Statements) keep(message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said = append(s.said, split(message)...)
}

// tap opens connections that record what is sent over them.
type tap struct {
	*pgdriver.Connector

	to *Statements
}

// Connect opens a connection.
func (t *tap) Connect(ctx context.Context) (sqldriver.Conn, error) {
	conn, err := t.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &tapped{conn.(*pgdriver.Conn), t.to}, nil
}

type tapped struct {
	*pgdriver.Conn

	to *Statements
}

// ExecContext records a message and sends it.
func (c *tapped) ExecContext(
	ctx context.Context, message string, args []sqldriver.NamedValue,
) (sqldriver.Result, error) {
	c.to.keep(message)
	return c.Conn.ExecContext(ctx, message, args)
}

// QueryContext records a message and sends it.
func (c *tapped) QueryContext(
	ctx context.Context, message string, args []sqldriver.NamedValue,
) (sqldriver.Rows, error) {
	c.to.keep(message)
	return c.Conn.QueryContext(ctx, message, args)
}

// Take returns the statements recorded since the last call.
func (s *Statements) Take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	said := s.said
	s.said = nil
	return said
}

var (
	control = regexp.MustCompile(`^(BEGIN|SET LOCAL|COMMIT|ROLLBACK|MOVE |CLOSE )`)
	// settings matches a block of settings.
	settings = regexp.MustCompile(`DO \$set\$ BEGIN (SET LOCAL [^;]*; )*END \$set\$;?`)
)

// split splits a message into its statements. It leaves out those that only begin, configure or end a transaction, and
// those that move or close a cursor; the cursor's declaration is recorded instead.
func split(message string) []string {
	said := slices.DeleteFunc(parts(settings.ReplaceAllString(message, "")), control.MatchString)
	for i := range said {
		said[i] = strings.Join(strings.Fields(said[i]), " ")
	}
	return said
}

// parts returns the statements of a message.
func parts(message string) []string {
	var parts []string
	quoted, start := false, 0
	for i := range len(message) + 1 {
		switch {
		case i < len(message) && message[i] == '\'':
			quoted = !quoted
		case i == len(message) || message[i] == ';' && !quoted:
			if part := strings.TrimSpace(message[start:i]); part != "" {
				parts = append(parts, part)
			}
			start = i + 1
		}
	}
	return parts
}

// Explain returns PostgreSQL's plan of a statement under settings, line by line. The options are those of EXPLAIN.
func Explain(tb testing.TB, db *sql.DB, settings, options, statement string) string {
	tb.Helper()
	rows, err := db.QueryContext(tb.Context(), settings+"EXPLAIN ("+options+") "+statement)
	if err != nil {
		tb.Fatalf("%v: %s", err, statement)
	}
	defer func() { _ = rows.Close() }()
	var plan strings.Builder
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			tb.Fatal(err)
		}
		plan.WriteString(line + "\n")
	}
	if err := rows.Err(); err != nil {
		tb.Fatal(err)
	}
	return plan.String()
}
