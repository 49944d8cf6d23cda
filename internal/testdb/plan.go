package testdb

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/uptrace/bun/driver/pgdriver"
)

// Plans makes PostgreSQL explain each statement that is sent over a pool, just before it is sent. The statement is run
// once more for that, in a savepoint that is rolled back. So each is explained with its actual values on the actual
// rows.
type Plans struct {
	mu   sync.Mutex
	kept []Plan
}

// Plan is what PostgreSQL did for a statement.
type Plan struct {
	Statement string
	// Answered is how many rows the statement returned or changed, or the reads that it joins returned.
	Answered float64
	// Discarded is how many rows were read and discarded by the condition of a scan or of a join.
	Discarded float64
	// Fetched is how many rows the scans of tables read.
	Fetched float64
	// Pages is how many pages of tables and indexes were accessed.
	Pages float64
	// JSON is the plan.
	JSON string
}

// Take returns the plans since the last call.
func (p *Plans) Take() []Plan {
	p.mu.Lock()
	defer p.mu.Unlock()
	kept := p.kept
	p.kept = nil
	return kept
}

// Pool opens a pool of connections to a database whose statements are explained.
func (p *Plans) Pool(dsn string) *sql.DB { return sql.OpenDB(p.Connector(dsn)) }

// Connector returns a connector whose connections explain their statements, prepared ones, too.
func (p *Plans) Connector(dsn string) sqldriver.Connector {
	return &explainer{pgdriver.NewConnector(pgdriver.WithDSN(dsn), pgdriver.WithTimeout(time.Minute)), p}
}

type explainer struct {
	*pgdriver.Connector

	to *Plans
}

// Connect opens a connection.
func (e *explainer) Connect(ctx context.Context) (sqldriver.Conn, error) {
	conn, err := e.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &explained{Conn: conn.(*pgdriver.Conn), to: e.to, prepared: make(map[string]string)}, nil
}

type explained struct {
	*pgdriver.Conn

	to       *Plans
	open     bool              // a transaction is open
	prepared map[string]string // the texts of prepared statements, by name
}

// ExecContext explains each statement of a message, and sends it.
func (c *explained) ExecContext(
	ctx context.Context, message string, args []sqldriver.NamedValue,
) (sqldriver.Result, error) {
	result := sqldriver.Result(sqldriver.ResultNoRows)
	statements, err := c.prepare(ctx, parts(message))
	if err != nil {
		return nil, err
	}
	for _, statement := range statements {
		if err := c.explain(ctx, statement, ""); err != nil {
			return nil, err
		}
		var err error
		if result, err = c.Conn.ExecContext(ctx, statement, args); err != nil {
			return nil, err
		}
		c.follow(statement)
	}
	return result, nil
}

// QueryContext explains the statements of a message, and sends it. Outside of a transaction, the settings before the
// last statement apply to that statement only.
func (c *explained) QueryContext(
	ctx context.Context, message string, args []sqldriver.NamedValue,
) (sqldriver.Rows, error) {
	statements, err := c.prepare(ctx, parts(message))
	if err != nil {
		return nil, err
	}
	last := statements[len(statements)-1]
	before := strings.Join(statements[:len(statements)-1], ";")
	if !c.open && !strings.HasPrefix(before, "BEGIN") {
		if err := c.explain(ctx, last, before); err != nil {
			return nil, err
		}
		return c.Conn.QueryContext(ctx, strings.Join(statements, ";"), args)
	}
	if before != "" {
		if _, err := c.ExecContext(ctx, before, nil); err != nil {
			return nil, err
		}
	}
	if err := c.explain(ctx, last, ""); err != nil {
		return nil, err
	}
	return c.Conn.QueryContext(ctx, last, args)
}

// prepare sends the statements that prepare others, and returns the rest.
func (c *explained) prepare(ctx context.Context, statements []string) (rest []string, err error) {
	for _, statement := range statements {
		text, ok := strings.CutPrefix(statement, "PREPARE ")
		if !ok {
			rest = append(rest, statement)
			continue
		}
		if _, err := c.Conn.ExecContext(ctx, statement, nil); err != nil {
			return nil, err
		}
		name, _, _ := strings.Cut(text, " ")
		_, c.prepared[name], _ = strings.Cut(text, " AS ")
	}
	return rest, nil
}

// text returns a statement, or that which it executes.
func (c *explained) text(statement string) string {
	call, ok := strings.CutPrefix(statement, "EXECUTE ")
	if !ok {
		return statement
	}
	name, values, _ := strings.Cut(call, "(")
	return c.prepared[name] + "\n-- (" + values
}

// follow records whether a transaction is open.
func (c *explained) follow(statement string) {
	switch word, _, _ := strings.Cut(statement, " "); word {
	case "BEGIN":
		c.open = true
	case "COMMIT", "ROLLBACK":
		c.open = false
	}
}

func (c *explained) explain(ctx context.Context, statement, settings string) (err error) {
	if control.MatchString(statement) || !strings.Contains(statement, "ticketing_") {
		return nil
	}
	begin, end := "SAVEPOINT explained", "ROLLBACK TO SAVEPOINT explained"
	if !c.open {
		begin, end = "BEGIN;"+settings, "ROLLBACK"
	}
	if _, err := c.Conn.ExecContext(ctx, begin, nil); err != nil {
		return err
	}
	rows, err := c.Conn.QueryContext(ctx, "EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) "+statement, nil)
	if err != nil {
		return err
	}
	row := make([]sqldriver.Value, 1)
	if err := rows.Next(row); err != nil {
		return err
	}
	if err := rows.Close(); err != nil {
		return err
	}
	if _, err := c.Conn.ExecContext(ctx, end, nil); err != nil {
		return err
	}
	plan, err := readPlan(c.text(statement), row[0])
	if err != nil {
		return err
	}
	c.to.mu.Lock()
	defer c.to.mu.Unlock()
	c.to.kept = append(c.to.kept, plan)
	return nil
}

// node is a step of a plan. Its numbers are those of one loop.
type node struct {
	Type      string  `json:"Node Type"`
	Relation  string  `json:"Relation Name"`
	Rows      float64 `json:"Actual Rows"`
	Loops     float64 `json:"Actual Loops"`
	Filtered  float64 `json:"Rows Removed by Filter"`
	Rechecked float64 `json:"Rows Removed by Index Recheck"`
	Joined    float64 `json:"Rows Removed by Join Filter"`
	Hit       float64 `json:"Shared Hit Blocks"`
	Read      float64 `json:"Shared Read Blocks"`
	Plans     []node
}

func readPlan(statement string, value sqldriver.Value) (Plan, error) {
	text := fmt.Sprint(value)
	if bytes, ok := value.([]byte); ok {
		text = string(bytes)
	}
	var explained []struct{ Plan node }
	if err := json.Unmarshal([]byte(text), &explained); err != nil {
		return Plan{}, fmt.Errorf("the plan of %s: %w", statement, err)
	}
	root := explained[0].Plan
	plan := Plan{Statement: statement, Answered: root.Rows, Pages: root.Hit + root.Read, JSON: text}
	if strings.Contains(statement, "record_send(t)") {
		plan.Answered = root.records()
	}
	plan.add(root)
	return plan, nil
}

// records returns how many rows the reads that a statement joins returned: each is one row of all of them.
func (n node) records() (sum float64) {
	if len(n.Plans) == 0 {
		return n.Rows * n.Loops
	}
	for _, child := range n.Plans {
		if n.Type == "Aggregate" {
			sum += child.Rows * child.Loops
		} else {
			sum += child.records()
		}
	}
	return sum
}

func (p *Plan) add(n node) {
	p.Discarded += (n.Filtered + n.Rechecked + n.Joined) * n.Loops
	if n.Relation != "" && n.Type != "ModifyTable" {
		p.Fetched += (n.Rows + n.Filtered + n.Rechecked) * n.Loops
	}
	for _, child := range n.Plans {
		if n.Type == "ModifyTable" {
			p.Answered = max(p.Answered, child.Rows*child.Loops)
		}
		p.add(child)
	}
}
