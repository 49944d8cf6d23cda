package store_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
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
	differing := twins(t, pool, "bound")
	insert := store.InsertsOfEveryKind(false, false, true)
	ctx := t.Context()
	rapid.Check(t, func(t *rapid.T) {
		records := rapid.SliceOfN(anyRecord(), 1, 5).Draw(t, "records")
		written, refused := insert(records)
		for range 2 { // The first may prepare the statement.
			err := s.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
				_, err := tx.Begin(ctx, driver.BeginOptions{Keys: claim("key")}) // With a claim the COMMIT is in the same message.
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
		if count, err := differing(); err != nil || count != 0 {
			t.Fatalf("%d rows differ (%v)", count, err)
		}
	})
	// The records above may all have been refused.
	for range 2 {
		is.NoErr(s.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
			_, err := tx.Begin(ctx, driver.BeginOptions{Keys: claim("key")})
			return errors.Join(err, store.PutEveryKind(ctx, tx, "bound", []store.EveryKind{{ID: uuid.UUID{1}}}))
		}))
	}
	is.Equal(slices.Contains(bound(t, pool), "COMMIT"), copiesHere())
}

const (
	parsed  = "1\x00\x00\x00\x04"
	isBound = "2\x00\x00\x00\x04"
	done    = "C\x00\x00\x00\x0dSELECT 1\x00"
	// row is a row of joined reads: of the second, "ab".
	row     = "D\x00\x00\x00\x14\x00\x02\x00\x00\x00\x04\x00\x00\x00\x01\x00\x00\x00\x02ab"
	noRows  = "D\x00\x00\x00\x12\x00\x02\x00\x00\x00\x04\xff\xff\xff\xff\xff\xff\xff\xff"
	tooLong = "D\x7f\xff\xff\xff"
)

// TestRowsOfBoundMessages checks which rows among the responses to a message are those of its joined reads.
func TestRowsOfBoundMessages(t *testing.T) {
	t.Parallel()
	first := []any{int64(1), []byte("ab")}
	empty := []any{int64(-1), nil}
	for name, test := range map[string]struct {
		responses  string
		statements int
		rows       [][]any
		ok, usable bool
	}{
		"rows of the only statement": {isBound + row + noRows + done + ready, 1, [][]any{first, empty}, true, true},
		"none":                       {isBound + done + ready, 1, nil, true, true},
		"of the last alone": {
			parsed + isBound + row + done + isBound + row + done + ready, 2, [][]any{first}, true, true,
		},
		"refused":                   {isBound + row + done + exists + ready, 2, nil, false, true},
		"ended by the server":       {isBound + row + failing, 1, nil, false, false},
		"cut off":                   {isBound + row[:9], 1, nil, false, false},
		"a row that is too long":    {isBound + tooLong + done + ready, 1, nil, false, false},
		"a field of another length": {isBound + row[:len(row)-3] + "\x03ab" + done + ready, 1, nil, false, true},
		"a row without its fields":  {isBound + "D\x00\x00\x00\x06\x00\x00" + done + ready, 1, nil, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			rows, usable, err := store.ReadBoundRows([]byte(test.responses), test.statements)
			is.Equal(err == nil, test.ok)
			is.Equal(usable, test.usable)
			is.Equal(rows, test.rows)
		})
	}
}

// TestBoundMessagesOfSchemas checks that the reads and writes of two stores on the sessions of one server, each with a
// schema of its own, are of their own tables, however they are sent.
func TestBoundMessagesOfSchemas(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	dsn := testdb.FreshDSN(t)
	stores := make([]*store.Store, 2)
	for i, schema := range []string{"north", `so"uth; x`} {
		stores[i] = testdb.Open(t, dsn, &store.Config{Schema: schema, Connections: 1})
		is.NoErr(stores[i].Migrate(t.Context()))
		batch := newBatch(1, 0)
		batch.Quantity = 100
		furnish(t, stores[i], batch)
	}
	const sales = 4
	for order := range sales {
		for i, s := range stores {
			sell(t, s, order+1)
			if i == 0 {
				sell(t, s, 100+order)
			}
			var wallets []driver.Wallet
			var lines []driver.Admission
			is.NoErr(s.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) (err error) {
				refs, last := driver.WalletRefs(company), []driver.OrderNumber{{CompanyID: company, Number: int64(order + 1)}}
				tx.(driver.Announcer).Announce(ctx, func(ctx context.Context, tx driver.ReadTx) {
					_, _ = tx.Wallets(ctx, refs)
					_, _ = tx.OrderLines(ctx, last)
				})
				if wallets, err = tx.Wallets(ctx, refs); err != nil {
					return err
				}
				lines, err = tx.OrderLines(ctx, last)
				return err
			}))
			is.Equal(wallets[0].Sequence, int64(order+1)*int64(2-i))
			is.Equal(len(lines), several)
		}
	}
	for _, s := range stores {
		var path string
		is.NoErr(s.Pool().QueryRowContext(t.Context(), "SHOW search_path").Scan(&path))
		is.Equal(path, `"$user", public`) // The session does not keep it.
		ofReads := func(statement string) bool {
			return strings.Contains(statement, "search_path") && !strings.Contains(statement, "lock_timeout")
		}
		is.Equal(slices.ContainsFunc(bound(t, s.Pool()), ofReads), copiesHere())
	}
}

// TestBoundMessagesAfterErrors checks that a message which PostgreSQL refuses leaves the session as it was: the next
// sales use it, and prepare nothing again.
func TestBoundMessagesAfterErrors(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	dsn := testdb.FreshDSN(t)
	s, other := testdb.Open(t, dsn, &store.Config{Connections: 1}), testdb.Open(t, dsn, nil)
	batch := newBatch(1, 0)
	batch.Quantity = 100
	furnish(t, s, batch)
	pool := s.Pool()
	refused := func(order int) {
		err := s.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error { return sale(ctx, tx, order, several) })
		var broken *driver.ConstraintError
		is.True(errors.As(err, &broken))
	}
	sell(t, s, 1)
	// A message that waits in vain for a gate has prepared its beginning all the same.
	var counts []int
	is.NoErr(other.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, driver.BeginOptions{Exclusive: []uuid.UUID{company}}); err != nil {
			return err
		}
		for range 3 {
			is.True(errors.Is(s.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
				_, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{company}, LockTimeout: time.Millisecond})
				return err
			}), driver.ErrBusy))
			counts = append(counts, prepared(t, pool))
		}
		return nil
	}))
	is.Equal(len(slices.Compact(counts)), 1)
	is.Equal(slices.ContainsFunc(bound(t, pool), func(statement string) bool {
		return strings.HasPrefix(statement, "BEGIN ")
	}), copiesHere())
	for range 3 { // Their writes may be merged then.
		refused(1)
	}
	before := prepared(t, pool)
	refused(1)
	is.Equal(prepared(t, pool), before)
	sell(t, s, 2)
	sell(t, s, 3)
	before = prepared(t, pool)
	for order := 4; order < 7; order++ {
		refused(3)
		sell(t, s, order)
	}
	is.Equal(prepared(t, pool), before)
	is.Equal(len(lines(t, s, 6)), several)
}

// TestBoundMessagesWithoutRoom checks that a connection that may prepare nothing more sends what is prepared already by
// the extended protocol all the same, with what the messages begin and end with unnamed.
func TestBoundMessagesWithoutRoom(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s, pool := openOnOneConnection(t)
	sell(t, s, 1)
	first := prepared(t, pool)
	store.LimitStatements(s, first)
	for order := 2; order < 5; order++ {
		sell(t, s, order)
	}
	is.Equal(len(lines(t, s, 4)), several)
	is.Equal(prepared(t, pool), first)
}

// TestMessagesAreSimpleAfter checks after which errors no message goes by the extended protocol for a while: those of a
// pooler that keeps statements of its own, and responses that cannot be.
func TestMessagesAreSimpleAfter(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fields        map[byte]string
		simple, again bool
	}{
		"a Bind that a pooler refuses":  {map[byte]string{'S': "FATAL", 'V': "FATAL", 'C': "08P01"}, true, true},
		"a violation of the protocol":   {map[byte]string{'S': "ERROR", 'V': "ERROR", 'C': "08P01"}, true, true},
		"another protocol":              {nil, true, true},
		"a constraint":                  {map[byte]string{'S': "ERROR", 'V': "ERROR", 'C': "23505"}, false, false},
		"a server that shuts down":      {map[byte]string{'S': "FATAL", 'V': "FATAL", 'C': "57P01"}, false, true},
		"a session without a statement": {map[byte]string{'S': "ERROR", 'V': "ERROR", 'C': "26000"}, false, true},
		"a statement that is too slow":  {map[byte]string{'S': "ERROR", 'V': "ERROR", 'C': "57014"}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			var log strings.Builder
			took, again := store.CheckBound(t.Context(), slog.New(slog.NewTextHandler(&log, nil)), test.fields)
			is.Equal(took > time.Minute, test.simple)
			is.Equal(again, test.again)
			is.Equal(strings.Contains(log.String(), "extended protocol"), test.simple)
		})
	}
}

// TestBoundMessagesThroughPgBouncer checks that messages of the extended protocol that a pooler passes to sessions
// without their statements cost a sale another run and no more: a pooler may come between at any time.
func TestBoundMessagesThroughPgBouncer(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	dsn := testdb.FreshDSN(t)
	batch := newBatch(1, 0)
	batch.Quantity = 1000
	furnish(t, testdb.Open(t, dsn, nil), batch)
	s := testdb.Open(t, pgtest.PgBouncer(t, dsn, "default_pool_size=3"), &store.Config{Connections: 6})
	store.PretendDirect(s)
	const callers, sales = 6, 10
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			for n := range sales {
				if err := s.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
					return sale(ctx, tx, caller*sales+n+1, several)
				}); err != nil {
					t.Errorf("sale %d of caller %d: %v", n, caller, err)
				}
			}
		})
	}
	all.Wait()
	is.Equal(len(lines(t, s, callers*sales)), several)
}

// TestSimpleMessages checks that no message goes by the extended protocol after one met another protocol, and none that
// is long.
func TestSimpleMessages(t *testing.T) {
	t.Parallel()
	t.Run("after another protocol", func(t *testing.T) {
		t.Parallel()
		s, pool := openOnOneConnection(t)
		store.SendSimple(s)
		for order := range 3 {
			sell(t, s, order+1)
		}
		is.New(t).Equal(len(bound(t, pool)), 0)
	})
	t.Run("long", func(t *testing.T) {
		t.Parallel()
		is := is.New(t)
		s, pool := openOnOneConnection(t)
		_, err := pool.ExecContext(t.Context(),
			"CREATE TABLE kept (id uuid, maybe uuid, number bigint, at bigint, text text, yes boolean, bytes bytea)")
		is.NoErr(err)
		put := func(size int) {
			is.NoErr(s.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
				_, err := tx.Begin(ctx, driver.BeginOptions{Keys: claim("key")}) // With a claim the COMMIT is in the same message.
				record := store.EveryKind{ID: number(1), Text: strings.Repeat("x", size)}
				return errors.Join(err, store.PutEveryKind(ctx, tx, "kept", []store.EveryKind{record}))
			}))
		}
		for range 3 {
			put(store.LongestBound)
		}
		is.True(!slices.Contains(bound(t, pool), "COMMIT"))
		put(1)
		is.Equal(slices.Contains(bound(t, pool), "COMMIT"), copiesHere())
		var count int
		is.NoErr(pool.QueryRowContext(t.Context(), "SELECT count(*) FROM kept").Scan(&count))
		is.Equal(count, 4)
	})
}
