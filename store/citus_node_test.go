package store_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/store"
)

// spreadCompanies creates companies with a fact to dispatch, a due delivery and a pending mail each, and returns their
// ids in order. They are on all nodes: the ids are of many shards.
func spreadCompanies(t *testing.T, s *store.Store, count int) []uuid.UUID {
	t.Helper()
	var ids []uuid.UUID
	for n := range count {
		id := uuid.NewSHA1(uuid.Nil, []byte{byte(n)})
		ids = append(ids, id)
		written(t, s, func(ctx context.Context, tx driver.Tx) error {
			return errors.Join(
				tx.CreateCompany(ctx, newCompany(id)),
				tx.AppendFacts(ctx, []driver.Fact{{CompanyID: id, At: minute(n), ID: number(500 + n), Type: "order.created"}}),
				tx.AppendDeliveries(ctx, []driver.Delivery{newDelivery(id, 1, 1), newDelivery(id, 2, 2)}),
				tx.AppendNotifications(ctx, []driver.Notification{newNotification(id, 1)}),
			)
		})
	}
	slices.SortFunc(ids, compareIDs)
	return ids
}

func compareIDs(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) }

func dueOf(t *testing.T, s *store.Store, query driver.WorkQuery) (due []driver.DueWork) {
	t.Helper()
	is.New(t).NoErr(s.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) (err error) {
		due, err = tx.DueWork(ctx, query)
		return err
	}))
	return due
}

// TestClusterDueWork checks that work of companies on several nodes is found in order and page by page, with one
// statement to each node and one that lists the nodes. A Snapshot asks every shard, and finds the same.
func TestClusterDueWork(t *testing.T) {
	t.Parallel()
	pgtest.NeedCluster(t)
	is := is.New(t)
	var statements atomic.Int64
	dsn := testdb.FreshDSN(t)
	count := func(_ context.Context, statement store.Statement) {
		if statement.Name == "DueWork" {
			statements.Add(1)
		}
	}
	s := testdb.Open(t, dsn, &store.Config{Connections: 4, OnStatement: count})
	ids := spreadCompanies(t, s, 20)
	query := driver.WorkQuery{At: minute(9), Limit: 100, After: []driver.DueWork{
		{Kind: driver.WorkDispatch}, {Kind: driver.WorkPublish}, {Kind: driver.WorkDeliver}, {Kind: driver.WorkMail},
	}}
	due := dueOf(t, s, query)
	nodes := texts(t, beside(t, dsn), `SELECT DISTINCT groupid::text
		FROM pg_dist_placement JOIN pg_dist_shard USING (shardid) WHERE logicalrelid = 'ticketing_companies'::regclass`)
	is.True(len(nodes) > 1)
	is.Equal(int(statements.Load()), len(nodes)+1)
	of := map[driver.WorkKind][]uuid.UUID{}
	for _, work := range due {
		of[work.Kind] = append(of[work.Kind], work.CompanyID)
	}
	is.Equal(of[driver.WorkDispatch], ids)
	is.Equal(of[driver.WorkMail], ids)
	is.Equal(len(of[driver.WorkDeliver]), 2*len(ids)) // Of both endpoints.
	is.Equal(len(of[driver.WorkPublish]), 0)
	is.True(slices.IsSortedFunc(due, func(a, b driver.DueWork) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), compareIDs(a.CompanyID, b.CompanyID), cmp.Compare(a.Endpoint, b.Endpoint))
	}))
	is.NoErr(s.Snapshot(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
		everywhere, err := tx.DueWork(ctx, query)
		is.Equal(everywhere, due)
		return err
	}))
	query.Limit = 3
	for _, kind := range []driver.WorkKind{driver.WorkDispatch, driver.WorkDeliver} {
		var paged []driver.DueWork
		query.After = []driver.DueWork{{Kind: kind}}
		for {
			page := dueOf(t, s, query)
			paged = append(paged, page...)
			if len(page) < query.Limit {
				break
			}
			query.After[0] = page[len(page)-1]
		}
		is.Equal(paged, slices.DeleteFunc(slices.Clone(due), func(d driver.DueWork) bool { return d.Kind != kind }))
	}
}

// TestClusterDueWorkOfLocalTables checks that due work is found where a table is not distributed as the others are.
func TestClusterDueWorkOfLocalTables(t *testing.T) {
	t.Parallel()
	pgtest.NeedCluster(t)
	is := is.New(t)
	dsn := testdb.FreshDSN(t)
	s := testdb.Open(t, dsn, &store.Config{Connections: 4})
	ids := spreadCompanies(t, s, 5)
	query := driver.WorkQuery{At: minute(9), Limit: 100, After: []driver.DueWork{
		{Kind: driver.WorkDispatch}, {Kind: driver.WorkMail},
	}}
	due := dueOf(t, s, query)
	is.Equal(len(due), 2*len(ids))
	_, err := beside(t, dsn).ExecContext(t.Context(), "SELECT undistribute_table('ticketing_notifications')")
	is.NoErr(err)
	is.Equal(dueOf(t, s, query), due)
}

// TestClusterDueWorkWithoutANode checks that a node that refuses connections takes nothing but its own companies' work
// from the answer, that a Snapshot fails meanwhile, and that the node's work is found again once it is back.
func TestClusterDueWorkWithoutANode(t *testing.T) {
	t.Parallel()
	pgtest.NeedCluster(t)
	is := is.New(t)
	dsn := testdb.FreshDSN(t)
	s := testdb.Open(t, dsn, &store.Config{Connections: 4})
	ids := spreadCompanies(t, s, 20)
	query := driver.WorkQuery{At: minute(9), Limit: 100, After: []driver.DueWork{{Kind: driver.WorkDispatch}}}
	is.Equal(len(dueOf(t, s, query)), len(ids))
	there := texts(t, beside(t, testdb.WorkerDSN(t, dsn)), `SELECT id::text FROM ticketing_companies
		WHERE get_shard_id_for_distribution_column('ticketing_companies', id) IN (
			SELECT shardid FROM pg_dist_placement WHERE groupid = (SELECT groupid FROM pg_dist_local_group)) ORDER BY 1`)
	is.True(len(there) > 0 && len(there) < len(ids))
	start := testdb.StopWorker(t, testdb.WorkerDSN(t, dsn))

	companies := func() (found []string) {
		for _, work := range dueOf(t, s, query) {
			found = append(found, work.CompanyID.String())
		}
		return found
	}
	var left []string
	for _, id := range ids {
		if !slices.Contains(there, id.String()) {
			left = append(left, id.String())
		}
	}
	is.Equal(companies(), left)
	is.Equal(companies(), left) // The node is left alone for now.
	nodes, absent := s.AbsentNodes()
	is.True(nodes > 1)
	is.Equal(len(absent), 1)
	err := s.Snapshot(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
		_, err := tx.DueWork(ctx, query)
		return err
	})
	is.True(errors.Is(err, driver.ErrUnavailable))

	start()
	for begun := time.Now(); len(companies()) < len(ids); {
		if time.Since(begun) > time.Minute {
			t.Fatal("the node is not asked again")
		}
	}
	_, absent = s.AbsentNodes()
	is.Equal(len(absent), 0)
}
