package store_test

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"
	"pgregory.net/rapid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/store"
)

// bound returns the statements that the connection of a pool prepared with a message of the extended protocol.
func bound(tb testing.TB, pool *sql.DB) (statements []string) {
	tb.Helper()
	is := is.New(tb)
	rows, err := pool.QueryContext(tb.Context(),
		"SELECT statement FROM pg_prepared_statements WHERE NOT from_sql AND name LIKE 'ticketing\\_%' ORDER BY 1")
	is.NoErr(err)
	defer func() { is.NoErr(rows.Close()) }()
	for rows.Next() {
		var statement string
		is.NoErr(rows.Scan(&statement))
		statements = append(statements, statement)
	}
	is.NoErr(rows.Err())
	return statements
}

// TestWhatIsBound checks that messages whose statements are all prepared go by the extended protocol, where the
// connection ends at the server, and nowhere else.
func TestWhatIsBound(t *testing.T) {
	t.Parallel()
	dsn := testdb.FreshDSN(t)
	batch := newBatch(1, 0)
	batch.Quantity = 100
	furnish(t, testdb.Open(t, dsn, nil), batch)
	at, err := url.Parse(dsn)
	is.New(t).NoErr(err)
	relayed := *at
	relayed.Host = forward(t, "tcp", "127.0.0.1:0", at.Host)
	for n, test := range []struct {
		name, dsn string
		cfg       store.Config
		bound     bool
	}{
		{"direct", dsn, store.Config{}, copiesHere()},
		{"relayed", relayed.String(), store.Config{}, false},
		{"NoPrepare", dsn, store.Config{NoPrepare: true}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			is := is.New(t)
			cfg := test.cfg
			cfg.Connections = 1
			s := testdb.Open(t, test.dsn, &cfg)
			for order := range 3 {
				sell(t, s, 10*n+order+1)
				is.Equal(len(lines(t, s, 1)), several)
			}
			found := bound(t, s.Pool())
			if !test.bound {
				is.Equal(len(found), 0)
				return
			}
			for _, statement := range []string{"BEGIN ISOLATION LEVEL READ COMMITTED", "COMMIT"} {
				is.True(slices.Contains(found, statement))
			}
			isCopy := func(statement string) bool { return strings.HasPrefix(statement, "COPY ") }
			is.True(slices.ContainsFunc(found, isCopy))
			before := prepared(t, s.Pool())
			sell(t, s, 10*n+4)
			is.Equal(prepared(t, s.Pool()), before) // Nothing is prepared twice.
		})
	}
}

// TestBoundValues checks that values that are bound are kept as those in the text of a statement, and that texts which
// no database keeps are refused.
func TestBoundValues(t *testing.T) {
	t.Parallel()
	pgtest.NeedSingle(t)
	is := is.New(t)
	s, pool := openOnOneConnection(t)
	_, err := pool.ExecContext(t.Context(), `CREATE TABLE records
		(id uuid, maybe uuid, number bigint, at bigint, text text, yes boolean, bytes bytea);
		CREATE TABLE bound (LIKE records)`)
	is.NoErr(err)
	insert := store.InsertsOfEveryKind(false, false, true)
	const different = `SELECT count(*) FROM ((TABLE records EXCEPT ALL TABLE bound) UNION ALL
		(TABLE bound EXCEPT ALL TABLE records)) AS d`
	ctx := t.Context()
	rapid.Check(t, func(t *rapid.T) {
		records := rapid.SliceOfN(anyRecord(), 1, 5).Draw(t, "records")
		written, refused := insert(records)
		for range 2 { // The first may prepare the statement.
			err := s.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
				_, err := tx.Begin(ctx, driver.BeginOptions{})
				return errors.Join(err, store.PutEveryKind(ctx, tx, "bound", records))
			})
			if (err == nil) != (refused == nil) {
				t.Fatalf("bound: %v, in the text: %v", err, refused)
			}
			if refused != nil {
				return
			}
			if _, err := pool.ExecContext(ctx, written); err != nil {
				t.Fatal(err)
			}
		}
		var count int
		if err := pool.QueryRowContext(ctx, different).Scan(&count); err != nil || count != 0 {
			t.Fatalf("%d rows differ (%v)", count, err)
		}
	})
}
