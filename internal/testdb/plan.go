package testdb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/uptrace/bun/driver/pgdriver"
)

// Plans has PostgreSQL explain each statement that is sent over a pool in the moment in which it is sent, by running it
// once more, before, in a savepoint that is rolled back. So each is explained with its own values on the rows that it
// meets.
type Plans struct {
	mu   sync.Mutex
	kept []Plan
}

// Plan is what PostgreSQL did for a statement.
type Plan struct {
	Statement string
	// Answered are the rows that the statement returned or changed.
	Answered float64
	// Discarded are the rows that were read and thrown away, by the condition of a scan or of a join.
	Discarded float64
	// Fetched are the rows that scans of tables read.
	Fetched float64
	// Pages are the pages of tables and indexes that were looked at.
	Pages float64
	// JSON is the plan.
	JSON string
}

// Take hands over the plans since the last time.
func (p *Plans) Take() []Plan {
	p.mu.Lock()
	defer p.mu.Unlock()
	kept := p.kept
	p.kept = nil
	return kept
}

// Pool opens a pool of connections to a database whose statements are explained.
func (p *Plans) Pool(dsn string) *sql.DB {
	return sql.OpenDB(&explainer{pgdriver.NewConnector(pgdriver.WithDSN(dsn), pgdriver.WithTimeout(time.Minute)), p})
}

type explainer struct {
	*pgdriver.Connector

	to *Plans
}

// Connect makes a connection.
func (e *explainer) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := e.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &explained{Conn: conn.(*pgdriver.Conn), to: e.to}, nil
}

type explained struct {
	*pgdriver.Conn

	to   *Plans
	open bool // a transaction is
}

// ExecContext explains each statement of a message, and sends it.
func (c *explained) ExecContext(ctx context.Context, message string, args []driver.NamedValue) (driver.Result, error) {
	result := driver.Result(driver.ResultNoRows)
	for _, statement := range parts(message) {
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

// QueryContext explains the statements of a message, and sends it. Outside of a transaction the settings that stand
// before its last statement hold for that one alone.
func (c *explained) QueryContext(ctx context.Context, message string, args []driver.NamedValue) (driver.Rows, error) {
	statements := parts(message)
	last := statements[len(statements)-1]
	before := strings.Join(statements[:len(statements)-1], ";")
	if !c.open && !strings.HasPrefix(before, "BEGIN") {
		if err := c.explain(ctx, last, before); err != nil {
			return nil, err
		}
		return c.Conn.QueryContext(ctx, message, args)
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

// follow keeps in mind whether a transaction is open.
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
	row := make([]driver.Value, 1)
	if err := rows.Next(row); err != nil {
		return err
	}
	if err := rows.Close(); err != nil {
		return err
	}
	if _, err := c.Conn.ExecContext(ctx, end, nil); err != nil {
		return err
	}
	plan, err := readPlan(statement, row[0])
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

func readPlan(statement string, value driver.Value) (Plan, error) {
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
	plan.add(root)
	return plan, nil
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
