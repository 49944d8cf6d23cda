package testdb

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/dialect/sqlitedialect"

	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/store"
)

// Host is a way to keep a host's own rows in the database of a store. Its name is for subtests.
type Host struct {
	Name string
	// Open opens an empty store, and the host's pool on its database. A table that the host creates still exists in the
	// next test, without its rows.
	Open func(tb testing.TB) (*store.Store, *bun.DB)
	// WithoutBun is set for a host that binds the *sql.Tx of its transactions.
	WithoutBun bool
}

// SQLite reports whether the host uses SQLite.
func (h Host) SQLite() bool { return strings.HasPrefix(h.Name, "sqlite") }

// Bind binds a store to a transaction in the host's way.
func (h Host) Bind(ctx context.Context, s *store.Store, tx bun.Tx) (*store.Bound, error) {
	if h.WithoutBun {
		return s.BindSQL(ctx, tx.Tx)
	}
	return s.Bind(ctx, tx)
}

// Hosts returns the hosts on SQLite and on PostgreSQL. Their pool is separate from the store's, with Bun's own driver
// or another, or it is the store's. One has the tables in a schema that is not on the host's search path, one has row
// locks as gates, and one has tables as a distributed engine requires them. One of each database has no Bun.
func Hosts() []Host {
	return []Host{
		{Name: "sqlite", Open: func(tb testing.TB) (*store.Store, *bun.DB) {
			tb.Helper()
			dsn := SQLiteDSN(tb)
			return Open(tb, dsn, nil), bun.NewDB(Pool(tb, dsn), sqlitedialect.New())
		}},
		{Name: "postgres", Open: func(tb testing.TB) (*store.Store, *bun.DB) {
			tb.Helper()
			dsn := DSN(tb)
			return Open(tb, dsn, nil), bun.NewDB(Pool(tb, dsn), pgdialect.New())
		}},
		{Name: "pgx", Open: func(tb testing.TB) (*store.Store, *bun.DB) {
			tb.Helper()
			dsn := DSN(tb)
			config, err := pgx.ParseConfig(dsn)
			if err != nil {
				tb.Fatal(err)
			}
			pool := stdlib.OpenDB(*config)
			tb.Cleanup(func() { _ = pool.Close() })
			return Open(tb, dsn, nil), bun.NewDB(pool, pgdialect.New())
		}},
		{Name: "one pool", Open: func(tb testing.TB) (*store.Store, *bun.DB) {
			tb.Helper()
			db := bun.NewDB(Pool(tb, DSN(tb)), pgdialect.New())
			s, err := store.OpenDB(tb.Context(), db, nil)
			if err != nil {
				tb.Fatal(err)
			}
			return s, db
		}},
		{Name: "schema", Open: func(tb testing.TB) (*store.Store, *bun.DB) {
			tb.Helper()
			dsn := pgtest.Reuse(tb, "in a schema", migrateSchema, empty())
			return Open(tb, dsn, &store.Config{Schema: schema, Connections: connections}),
				bun.NewDB(Pool(tb, dsn), pgdialect.New())
		}},
		{Name: "row gates", Open: func(tb testing.TB) (*store.Store, *bun.DB) {
			tb.Helper()
			dsn := DSN(tb)
			return Open(tb, dsn, &store.Config{RowGates: true, Connections: connections}),
				bun.NewDB(Pool(tb, dsn), pgdialect.New())
		}},
		{Name: "partitioned", Open: func(tb testing.TB) (*store.Store, *bun.DB) {
			tb.Helper()
			dsn := PartitionedDSN(tb)
			return Open(tb, dsn, nil), bun.NewDB(Pool(tb, dsn), pgdialect.New())
		}},
		{Name: "sqlite without Bun", WithoutBun: true, Open: func(tb testing.TB) (*store.Store, *bun.DB) {
			tb.Helper()
			dsn := SQLiteDSN(tb)
			return Open(tb, dsn, nil), bun.NewDB(Pool(tb, dsn), sqlitedialect.New())
		}},
		{Name: "pgxpool without Bun", WithoutBun: true, Open: func(tb testing.TB) (*store.Store, *bun.DB) {
			tb.Helper()
			dsn := DSN(tb)
			pool, err := pgxpool.New(tb.Context(), dsn)
			if err != nil {
				tb.Fatal(err)
			}
			tb.Cleanup(pool.Close)
			db := stdlib.OpenDBFromPool(pool)
			tb.Cleanup(func() { _ = db.Close() })
			return Open(tb, dsn, nil), bun.NewDB(db, pgdialect.New())
		}},
	}
}

// Pool opens a pool for a host and closes it when the test ends.
func Pool(tb testing.TB, dsn string) *sql.DB {
	tb.Helper()
	pool, err := store.OpenPool(dsn)
	if err != nil {
		tb.Fatal(err)
	}
	pool.SetMaxOpenConns(connections)
	tb.Cleanup(func() { _ = pool.Close() })
	return pool
}

// schema is the one that holds the tables of a host which keeps its own in another.
const schema = "tickets"

func migrateSchema(tb testing.TB, dsn string) {
	tb.Helper()
	migrateWith(tb, dsn, &store.Config{Schema: schema})
}
