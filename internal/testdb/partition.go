package testdb

import (
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/uptrace/bun/driver/pgdriver"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/store"
)

// Partitions is the number of partitions of a table. Tests of the service's rules use few instead, since a connection
// and a statement take time for each partition. Only tests of plans need more.
const (
	Partitions = 8
	few        = 2
)

// Shared returns the tables without a company, and the one that maps keys to companies. A distributed engine keeps a
// copy of them on each node.
func Shared() []string {
	return []string{
		"ticketing_migrations", "ticketing_secrets", "ticketing_categories", "ticketing_api_key_directory",
		"ticketing_users", "ticketing_mail_senders", "ticketing_staff",
	}
}

// ofUsers returns the tables that belong to users. A distributed engine keeps all of a user on one node.
func ofUsers() []string {
	return []string{"ticketing_sessions", "ticketing_sign_in_tokens", "ticketing_passkeys"}
}

// Confined is a store whose groups hold one company each, as on an engine that keeps companies on different nodes.
type Confined struct{ *store.Store }

// Grouping returns the store's grouping, confined to groups of one company.
func (c Confined) Grouping() driver.Grouping {
	best := c.Store.Grouping()
	best.ByCompany = true
	return best
}

// Partitioned opens a database whose tables are hash-partitioned by the company or the user.
func Partitioned(tb testing.TB) Confined {
	tb.Helper()
	return Confined{pgtest.ReuseOpen(tb, "partitioned in few", partition(few), empty(), openFew, endStore)}
}

// PartitionedDSN is like [DSN], with such tables, in few partitions.
func PartitionedDSN(tb testing.TB) string {
	tb.Helper()
	return pgtest.Reuse(tb, "partitioned in few", partition(few), empty())
}

// FreshPartitionedDSN is like [FreshDSN], with such tables.
func FreshPartitionedDSN(tb testing.TB) string {
	tb.Helper()
	return pgtest.Copy(tb, "partitioned", partition(Partitions))
}

func partition(parts int) func(tb testing.TB, dsn string) {
	return func(tb testing.TB, dsn string) {
		tb.Helper()
		db := sql.OpenDB(pgdriver.NewConnector(pgdriver.WithDSN(dsn)))
		defer func() { _ = db.Close() }()
		steps, err := store.Migrations("postgres")
		if err != nil {
			tb.Fatal(err)
		}
		for _, step := range steps {
			if _, err := db.ExecContext(tb.Context(), "BEGIN;"+partitionInto(parts, step.SQL)+"COMMIT"); err != nil {
				tb.Fatal(err)
			}
		}
	}
}

// Partition converts a migration for PostgreSQL to one where the tables of companies are hash-partitioned by the
// company, and those of users by the user. PostgreSQL refuses it if a key does not contain the column, which is the
// rule of a distributed engine. The partitions are in separate schemas and have the names of their tables, so that
// every constraint keeps its name.
func Partition(migration string) string { return partitionInto(Partitions, migration) }

func partitionInto(parts int, migration string) string {
	var schemas strings.Builder
	for part := range parts {
		fmt.Fprintf(&schemas, "CREATE SCHEMA IF NOT EXISTS part_%d;\n", part)
	}
	table := regexp.MustCompile(`(?s)CREATE TABLE (\w+) \(\n.*?\n\)( WITH \([^)]*\))?;\n`)
	return schemas.String() + table.ReplaceAllStringFunc(migration, func(create string) string {
		match := table.FindStringSubmatch(create)
		name, options := match[1], match[2]
		if slices.Contains(Shared(), name) {
			return create
		}
		by := "company_id"
		switch {
		case name == "ticketing_companies":
			by = "id"
		case slices.Contains(ofUsers(), name):
			by = "user_id"
		}
		var made strings.Builder
		fmt.Fprintf(&made, "%s PARTITION BY HASH (%s);\n", strings.TrimSuffix(create, options+";\n"), by)
		for part := range parts {
			fmt.Fprintf(&made, "CREATE TABLE part_%d.%s PARTITION OF %s FOR VALUES WITH (MODULUS %d, REMAINDER %d)%s;\n",
				part, name, name, parts, part, options)
		}
		return made.String()
	})
}
