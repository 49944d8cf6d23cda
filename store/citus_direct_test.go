package store_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/store"
)

// TestDirectNodesOfOnePostgres checks that a store which connects to nodes works where there is only one.
func TestDirectNodesOfOnePostgres(t *testing.T) {
	t.Parallel()
	pgtest.NeedSingle(t)
	s := testdb.Open(t, testdb.DSN(t), &store.Config{DirectNodes: true, Connections: 4})
	for _, id := range spreadCompanies(t, s, 2) {
		is.New(t).NoErr(touch(t.Context(), s, id))
	}
}

// touch changes a company in a transaction of its own.
func touch(ctx context.Context, s *store.Store, id uuid.UUID) error {
	return s.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, driver.BeginOptions{Shared: []uuid.UUID{id}}); err != nil {
			return err
		}
		companies, err := tx.Companies(ctx, []uuid.UUID{id})
		if err != nil {
			return err
		}
		companies[0].UpdatedAt = companies[0].UpdatedAt.Add(time.Second)
		return tx.UpdateCompany(ctx, companies[0])
	})
}

// TestClusterCompaniesAreReachedOnTheirNodes checks that transactions and reads of a company have a connection to the
// worker that has it, and that a shard which moves to another worker is found wherever it is.
func TestClusterCompaniesAreReachedOnTheirNodes(t *testing.T) {
	t.Parallel()
	pgtest.NeedCluster(t)
	is := is.New(t)
	dsn := testdb.FreshDSN(t)
	ids := spreadCompanies(t, testdb.Open(t, dsn, nil), 8)
	s := testdb.Open(t, dsn+"&application_name=direct", &store.Config{DirectNodes: true, Connections: 4})
	connected := func(id uuid.UUID, as string) bool {
		t.Helper()
		found := texts(t, beside(t, testdb.WorkerOf(t, dsn, id)), `SELECT 'yes' FROM pg_stat_activity
			WHERE datname = current_database() AND application_name = '`+as+`'`)
		return len(found) > 0
	}
	for _, id := range ids {
		is.NoErr(touch(t.Context(), s, id))
		is.True(connected(id, "direct"))
	}
	reader := testdb.Open(t, dsn+"&application_name=reader", &store.Config{DirectNodes: true, Connections: 4})
	is.True(!connected(ids[0], "reader"))
	is.NoErr(reader.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
		_, err := tx.Orders(ctx, []driver.OrderRef{{CompanyID: ids[0], ID: number(1)}})
		return err
	}))
	is.True(connected(ids[0], "reader"))

	coordinator := beside(t, dsn)
	_, err := coordinator.ExecContext(t.Context(), `SELECT citus_move_shard_placement(
			get_shard_id_for_distribution_column('ticketing_companies', '`+ids[0].String()+`'::uuid),
			a.nodename, a.nodeport, b.nodename, b.nodeport, 'block_writes')
		FROM pg_dist_node a, pg_dist_node b
		WHERE a.groupid = (SELECT groupid FROM pg_dist_placement WHERE shardid =
				get_shard_id_for_distribution_column('ticketing_companies', '`+ids[0].String()+`'::uuid))
			AND b.groupid = (SELECT min(groupid) FROM pg_dist_node WHERE groupid NOT IN (0, a.groupid))`)
	is.NoErr(err)
	is.NoErr(touch(t.Context(), s, ids[0]))
}

// TestClusterDirectNodesWithoutANode checks that a node that refuses connections stops its own companies alone, with an
// error that says so, that those of the others go on, and that it is connected to again once it is back.
func TestClusterDirectNodesWithoutANode(t *testing.T) {
	t.Parallel()
	pgtest.NeedCluster(t)
	is := is.New(t)
	dsn := testdb.FreshDSN(t)
	s := testdb.Open(t, dsn, &store.Config{DirectNodes: true, Connections: 4})
	ids := spreadCompanies(t, s, 20)
	worker := testdb.WorkerDSN(t, dsn)
	there := slices.DeleteFunc(slices.Clone(ids), func(id uuid.UUID) bool { return testdb.WorkerOf(t, dsn, id) != worker })
	is.True(len(there) > 0 && len(there) < len(ids))
	start := testdb.StopWorker(t, worker)
	for _, id := range ids {
		err := touch(t.Context(), s, id)
		is.Equal(errors.Is(err, driver.ErrUnavailable), slices.Contains(there, id))
		is.True(err == nil || slices.Contains(there, id))
	}
	start()
	for begun := time.Now(); touch(t.Context(), s, there[0]) != nil; {
		if time.Since(begun) > time.Minute {
			t.Fatal("the node is not connected to again")
		}
	}
}
