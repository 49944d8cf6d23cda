package store_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/store"
)

// openOnOneConnection opens a store with a single connection on a database of its own, and returns its pool.
func openOnOneConnection(t *testing.T) (*store.Store, *sql.DB) {
	t.Helper()
	s := testdb.Open(t, testdb.FreshDSN(t), &store.Config{Connections: 1})
	batch := newBatch(1, 0)
	batch.Quantity = 100
	furnish(t, s, batch)
	return s, s.Pool()
}

// prepared counts the statements that the connection of a pool keeps prepared.
func prepared(t *testing.T, pool *sql.DB) (count int) {
	t.Helper()
	is.New(t).NoErr(pool.QueryRowContext(t.Context(),
		"SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'ticketing\\_%'").Scan(&count))
	return count
}

// several is how many admissions a sale of a test has. They and its facts go by COPY where rows do, and its other rows
// by INSERT.
const several = 3

func sell(t *testing.T, s *store.Store, order int) {
	t.Helper()
	is.New(t).NoErr(s.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
		return sale(ctx, tx, order, several)
	}))
}

// lines reads what the n-th order of a database contains.
func lines(t *testing.T, s *store.Store, n int) (found []driver.Admission) {
	t.Helper()
	is.New(t).NoErr(s.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) (err error) {
		found, err = tx.OrderLines(ctx, []driver.OrderNumber{{CompanyID: company, Number: int64(n)}})
		return err
	}))
	return found
}

// TestStatementsStayPrepared checks that the statements of a sale are prepared once, and then only executed.
func TestStatementsStayPrepared(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s, pool := openOnOneConnection(t)
	sell(t, s, 1)
	sell(t, s, 2) // Its messages may be of the extended protocol, whose beginning, COPY and COMMIT are prepared, too.
	sell(t, s, 3) // Writes that come together again may be merged, and prepared as one.
	first := prepared(t, pool)
	is.True(first >= 12)
	for order := 4; order < 8; order++ {
		sell(t, s, order)
	}
	is.Equal(prepared(t, pool), first)
	is.Equal(len(lines(t, s, 7)), several)
}

// TestPreparedStatementsAreLost checks that a session that lost its prepared statements, or is another one behind a
// pooler, costs a sale or a read another run. After that nothing is prepared for a while.
func TestPreparedStatementsAreLost(t *testing.T) {
	t.Parallel()
	for _, statement := range []string{"DEALLOCATE ALL", "DISCARD ALL"} {
		for name, next := range map[string]func(t *testing.T, s *store.Store){
			"sale": func(t *testing.T, s *store.Store) { t.Helper(); sell(t, s, 2) },
			"read": func(t *testing.T, s *store.Store) {
				t.Helper()
				is.New(t).Equal(len(lines(t, s, 1)), several)
				sell(t, s, 2)
			},
		} {
			t.Run(statement+", "+name, func(t *testing.T) {
				t.Parallel()
				is := is.New(t)
				s, pool := openOnOneConnection(t)
				sell(t, s, 1)
				lines(t, s, 1)
				_, err := pool.ExecContext(t.Context(), statement)
				is.NoErr(err)
				next(t, s)
				// The message that failed may have prepared its beginning, which is never used again.
				left := prepared(t, pool)
				is.True(left <= 2)
				sell(t, s, 3)
				is.Equal(len(lines(t, s, 3)), several)
				is.Equal(prepared(t, pool), left)
			})
		}
	}
}

// TestColumnsOfPreparedStatementsChange checks that a change of the schema under a running store does not fail a
// statement that was prepared before.
func TestColumnsOfPreparedStatementsChange(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s, pool := openOnOneConnection(t)
	sell(t, s, 1)
	before := lines(t, s, 1)
	is.Equal(len(before), several)
	_, err := pool.ExecContext(t.Context(), `ALTER TABLE ticketing_admissions ALTER tier TYPE varchar(300);
		ALTER TABLE ticketing_companies ALTER name TYPE varchar(300)`)
	is.NoErr(err)
	is.Equal(lines(t, s, 1), before)
	sell(t, s, 2)
	is.Equal(len(lines(t, s, 2)), several)
	is.True(prepared(t, pool) > 0)
}

// TestSearchPathOfPreparedStatements checks that the statements of two stores that share the sessions of a server, each
// with a schema of its own, read their own tables.
func TestSearchPathOfPreparedStatements(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	dsn := testdb.FreshDSN(t)
	stores := make([]*store.Store, 2)
	for i, schema := range []string{"north", "south"} {
		s, err := store.Open(t.Context(), dsn, &store.Config{Schema: schema})
		is.NoErr(err)
		t.Cleanup(func() { is.NoErr(s.Close()) })
		is.NoErr(s.Migrate(t.Context()))
		stores[i] = s
	}
	furnish(t, stores[0], newBatch(1, 0))
	for range 3 {
		for i, s := range stores {
			var found []driver.Company
			is.NoErr(s.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) (err error) {
				found, err = tx.Companies(ctx, []uuid.UUID{company})
				return err
			}))
			is.Equal(found[0].ID != uuid.Nil, i == 0)
		}
	}
}

// TestPausesOfPreparedStatements checks that each pause lasts twice as long as the one before, up to an hour, however
// many messages found at once that their statements are gone.
func TestPausesOfPreparedStatements(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		stop, allowed := store.Pauses()
		is.True(allowed())
		for _, minutes := range []int{1, 2, 4, 8, 16, 32, 60, 60} {
			for range 3 {
				stop()
			}
			time.Sleep(time.Duration(minutes)*time.Minute - time.Nanosecond)
			is.True(!allowed())
			time.Sleep(time.Nanosecond)
			is.True(allowed())
		}
	})
}

// TestStatementsAreLostAtTheCommit checks that a transaction whose last message, with the COMMIT, meets a session
// without its statements runs again and is kept once.
func TestStatementsAreLostAtTheCommit(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s, _ := openOnOneConnection(t)
	sell(t, s, 1)
	runs := 0
	is.NoErr(s.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
		runs++
		if err := sale(ctx, tx, 2, several); err != nil || runs > 1 {
			return err
		}
		return store.ExecIn(ctx, tx, "DEALLOCATE ALL")
	}))
	is.Equal(runs, 2)
	is.Equal(len(lines(t, s, 2)), several)
	is.Equal(len(lines(t, s, 3)), 0)
}

// TestNothingIsPreparedFor checks which sessions keep no statements: those of a host, and all with NoPrepare.
func TestNothingIsPreparedFor(t *testing.T) {
	t.Parallel()
	t.Run("NoPrepare", func(t *testing.T) {
		t.Parallel()
		s := testdb.Open(t, testdb.FreshDSN(t), &store.Config{Connections: 1, NoPrepare: true})
		furnish(t, s, newBatch(1, 0))
		is.New(t).Equal(prepared(t, s.Pool()), 0)
	})
	t.Run("a host's transaction", func(t *testing.T) {
		t.Parallel()
		is := is.New(t)
		s, pool := openOnOneConnection(t)
		before := prepared(t, pool)
		tx, err := pool.BeginTx(t.Context(), nil)
		is.NoErr(err)
		defer func() { _ = tx.Rollback() }()
		bound, err := s.BindSQL(t.Context(), tx)
		is.NoErr(err)
		is.NoErr(bound.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
			return sale(ctx, tx, 1, several)
		}))
		is.NoErr(tx.Commit())
		is.Equal(prepared(t, pool), before)
	})
}

// TestTextsOfReadsAfterWrites checks that a read of a text that no database keeps is refused, also when writes are sent
// with it.
func TestTextsOfReadsAfterWrites(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	s, _ := openOnOneConnection(t)
	for _, emails := range [][]string{{"a\x00b"}, {"a", "a\x00b"}, {"\xff"}} {
		refs := make([]driver.BuyerRef, len(emails))
		for i, email := range emails {
			refs[i] = driver.BuyerRef{CompanyID: company, Email: email}
		}
		err := update(t.Context(), s, func(ctx context.Context, tx driver.Tx) error {
			if err := tx.AppendSecretName(ctx, "0123456789abcdef", minute(1)); err != nil {
				return err
			}
			_, err := tx.Buyers(ctx, refs)
			return err
		})
		is.True(strings.Contains(err.Error(), "text"))
	}
}
