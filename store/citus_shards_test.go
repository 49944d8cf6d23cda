package store_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/store"
)

// moveCompany moves the shards of a company to the other worker, without writers meanwhile.
func moveCompany(ctx context.Context, t *testing.T, dsn string, id uuid.UUID) error {
	t.Helper()
	shard := "get_shard_id_for_distribution_column('ticketing_companies', '" + id.String() + "'::uuid)"
	_, err := beside(t, dsn).ExecContext(ctx, `SELECT citus_move_shard_placement(`+shard+`,
			a.nodename, a.nodeport, b.nodename, b.nodeport, 'block_writes')
		FROM pg_dist_node a, pg_dist_node b
		WHERE a.groupid = (SELECT groupid FROM pg_dist_placement WHERE shardid = `+shard+`)
			AND b.groupid = (SELECT min(groupid) FROM pg_dist_node WHERE groupid NOT IN (0, a.groupid))`)
	return err
}

// lastStatements returns the last statements that connections of an application sent to the worker of a company.
func lastStatements(t *testing.T, dsn string, id uuid.UUID, application string) string {
	t.Helper()
	return strings.Join(texts(t, beside(t, testdb.WorkerOf(t, dsn, id)), `SELECT query FROM pg_stat_activity
		WHERE datname = current_database() AND application_name = '`+application+`'`), "\n")
}

// readCompany reads a company, in a View.
func readCompany(ctx context.Context, s *store.Store, id uuid.UUID) (found driver.Company, err error) {
	err = s.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		companies, err := tx.Companies(ctx, []uuid.UUID{id})
		if err == nil {
			found = companies[0]
		}
		return err
	})
	return found, err
}

// TestClusterShardsOfACompany checks that frequent statements of a company name its shards, and that a server which
// knows them reads and writes what is there after they were moved: it never uses what the former node still has.
func TestClusterShardsOfACompany(t *testing.T) {
	t.Parallel()
	pgtest.NeedCluster(t)
	is := is.New(t)
	dsn := testdb.FreshDSN(t)
	ids := spreadCompanies(t, testdb.Open(t, dsn, nil), 4)
	for _, config := range []store.Config{
		{DirectNodes: true, Connections: 4},
		{DirectNodes: true, Connections: 4, NoPrepare: true},
	} {
		id := ids[0]
		ids = ids[1:]
		// Locations are read once, so only an error can show that they are out of date.
		s := testdb.Open(t, dsn+"&application_name=shards", &config)
		reader := testdb.Open(t, dsn+"&application_name=reader", &config)
		stale := testdb.Open(t, dsn, &config)
		for _, s := range []*store.Store{s, reader, stale} {
			store.ReadLocationsEvery(s, time.Hour)
			is.NoErr(touch(t.Context(), s, id))
			_, err := readCompany(t.Context(), s, id)
			is.NoErr(err)
		}
		is.True(strings.Contains(lastStatements(t, dsn, id, "reader"), "pg_dist_placement") || !config.NoPrepare)
		is.True(strings.Contains(lastStatements(t, dsn, id, "reader"), "ticketing_companies_1") || !config.NoPrepare)

		is.NoErr(moveCompany(t.Context(), t, dsn, id))
		is.NoErr(touch(t.Context(), s, id))
		before, err := readCompany(t.Context(), testdb.Open(t, dsn, nil), id)
		is.NoErr(err)
		is.NoErr(touch(t.Context(), s, id))
		for _, s := range []*store.Store{reader, stale} { // Both still know the former node.
			found, err := readCompany(t.Context(), s, id)
			is.NoErr(err)
			is.Equal(found.UpdatedAt, before.UpdatedAt.Add(time.Second))
		}
		is.NoErr(touch(t.Context(), stale, id))
		found, err := readCompany(t.Context(), s, id)
		is.NoErr(err)
		is.Equal(found.UpdatedAt, before.UpdatedAt.Add(2*time.Second))
	}
}

// TestClusterMoveWaitsForATransaction checks that shards stay where they are while a transaction uses them.
func TestClusterMoveWaitsForATransaction(t *testing.T) {
	t.Parallel()
	pgtest.NeedCluster(t)
	is := is.New(t)
	dsn := testdb.FreshDSN(t)
	s := testdb.Open(t, dsn, &store.Config{DirectNodes: true, Connections: 4})
	id := spreadCompanies(t, s, 1)[0]
	is.NoErr(touch(t.Context(), s, id))
	from := testdb.WorkerOf(t, dsn, id)
	var moving sync.WaitGroup
	var failed error
	is.NoErr(s.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{id}}); err != nil {
			return err
		}
		moving.Go(func() { failed = moveCompany(t.Context(), t, dsn, id) })
		// The move waits for the lock of the transaction.
		for begun := time.Now(); ; {
			waiting := texts(t, beside(t, from), `SELECT 'yes' FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
				AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)
			waiting = append(waiting, texts(t, beside(t, dsn), `SELECT 'yes' FROM pg_locks WHERE locktype = 'advisory'
				AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`)...)
			if len(waiting) > 0 {
				break
			}
			if time.Since(begun) > 4*time.Second {
				t.Error("the move does not wait")
				break
			}
		}
		_, err := tx.Companies(ctx, []uuid.UUID{id})
		if err != nil {
			return err
		}
		return tx.AppendFacts(ctx, []driver.Fact{{CompanyID: id, ID: number(7), At: time.Unix(1, 0), Type: "sale"}})
	}))
	moving.Wait()
	is.NoErr(failed)
	is.True(testdb.WorkerOf(t, dsn, id) != from)
	is.NoErr(testdb.Open(t, dsn, nil).View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
		facts, err := tx.ListFacts(ctx, id, driver.Position{}, 10)
		is.True(slices.ContainsFunc(facts, func(f driver.Fact) bool { return f.ID == number(7) }))
		return err
	}))
}
