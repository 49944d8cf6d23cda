package store_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
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

	store.ReadLocationsEvery(s, time.Millisecond)
	is.NoErr(moveCompany(t.Context(), t, dsn, ids[0]))
	mover := testdb.Open(t, dsn+"&application_name=mover", &store.Config{DirectNodes: true, Connections: 4})
	is.NoErr(touch(t.Context(), s, ids[0]))
	is.NoErr(touch(t.Context(), mover, ids[0]))
	is.True(connected(ids[0], "direct"))
	is.True(connected(ids[0], "mover"))
}

// TestClusterDirectNodesWithoutANode checks that a node that refuses connections stops its own companies alone, with an
// error that says so, that those of the others go on, and that it is connected to again once it is back.
func TestClusterDirectNodesWithoutANode(t *testing.T) {
	t.Parallel()
	pgtest.NeedCluster(t)
	is := is.New(t)
	dsn := testdb.FreshDSN(t)
	s := testdb.Open(t, dsn+"&application_name=direct", &store.Config{DirectNodes: true, Connections: 4})
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
	admin := beside(t, worker)
	for begun := time.Now(); ; {
		err := touch(t.Context(), s, there[0])
		connected := texts(t, admin, `SELECT 'yes' FROM pg_stat_activity
			WHERE datname = current_database() AND application_name = 'direct'`)
		if err == nil && len(connected) > 0 {
			break
		}
		if time.Since(begun) > time.Minute {
			t.Fatal("the node is not connected to again")
		}
	}
}

// TestClusterAddressThatLeadsElsewhere checks that an address of a node that leads to another node or database is not
// used: its companies are reached through the coordinator, and the log says so once.
func TestClusterAddressThatLeadsElsewhere(t *testing.T) {
	t.Parallel()
	pgtest.NeedCluster(t)
	is := is.New(t)
	dsn, other := testdb.FreshDSN(t), testdb.FreshDSN(t)
	log := new(bytes.Buffer)
	ids := spreadCompanies(t, testdb.Open(t, dsn, nil), 8)
	s := testdb.Open(t, dsn, &store.Config{
		DirectNodes: true, Connections: 4, Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	is.NoErr(store.LeadNodesTo(s, testdb.WorkerDSN(t, other)))
	for _, id := range ids {
		is.NoErr(touch(t.Context(), s, id))
	}
	is.True(strings.Contains(log.String(), "the address leads to another node or another database"))
	is.Equal(strings.Count(log.String(), "cannot be connected to"), 2) // once for each worker
	is.NoErr(s.Close())
	is.True(touch(t.Context(), s, ids[0]) != nil)
}

// TestNodeThatIsAbsent checks that one caller looks whether an absent node is back, once for each pause, whatever the
// others do meanwhile, and that the pauses grow and start again.
func TestNodeThatIsAbsent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is, probes := is.New(t), 0
		node := store.NewAbsentNode(func() bool { probes++; return probes > 3 })
		defer node.Close()
		for i, pause := range []time.Duration{0, time.Second, 2 * time.Second, 4 * time.Second} {
			if i > 0 {
				time.Sleep(pause - time.Millisecond)
				is.True(!node.Used(t.Context()))
				is.Equal(probes, i)
				time.Sleep(time.Millisecond)
			}
			is.Equal(node.Used(t.Context()), i == 3)
			is.Equal(probes, i+1)
		}
		is.True(node.Used(t.Context()))
		is.Equal(probes, 4)
		for range 16 { // Callers that fail together are one failure.
			node.Lose(t.Context())
		}
		is.True(!node.Used(t.Context()))
		time.Sleep(time.Second)
		is.True(node.Used(t.Context()))
	})
}

// TestCompanyOfARead checks which reads are sent to a company's node: those that name one company and no other.
func TestCompanyOfARead(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	one, two := number(1), number(2)
	rows := store.RowsOf
	for _, read := range []struct {
		text   string
		values []any
		want   uuid.UUID
	}{
		{"SELECT 1 FROM t WHERE company_id = ?", []any{one}, one},
		{"SELECT 1 FROM t WHERE id = ? AND company_id = ?", []any{two, one}, one},
		{"SELECT 1 FROM t WHERE id = ?", []any{one}, uuid.Nil},
		{"SELECT 1 FROM t WHERE company_id = ? UNION SELECT 1 FROM t WHERE company_id = ?", []any{one, two}, uuid.Nil},
		{"SELECT 1 FROM t WHERE ?", []any{rows("company_id", one)}, one},
		{"SELECT 1 FROM t WHERE ?", []any{rows("k.company_id", one, one)}, one},
		{"SELECT 1 FROM t WHERE ?", []any{rows("company_id", one, two)}, uuid.Nil},
		{"SELECT 1 FROM t WHERE ?", []any{rows("company_id", uuid.Nil, one)}, uuid.Nil},
		{"SELECT 1 FROM t WHERE ?", []any{rows("id", one)}, uuid.Nil},
		{"SELECT 1 FROM t WHERE ?", []any{rows("company_id")}, uuid.Nil},
	} {
		is.Equal(store.CompanyIn(read.text, read.values), read.want) // read.text
	}
}

// TestClusterLocksSeveralCompanies checks that a transaction may hold several companies where gates are locks of rows.
func TestClusterLocksSeveralCompanies(t *testing.T) {
	t.Parallel()
	coordinator, worker := twoNodes(t)
	ids := spreadCompanies(t, coordinator, 6)
	for _, s := range []*store.Store{coordinator, worker} {
		is.New(t).NoErr(s.Update(t.Context(), func(ctx context.Context, tx driver.Tx) error {
			_, err := tx.Begin(ctx, driver.BeginOptions{Exclusive: ids[:3], Shared: ids[3:]})
			return err
		}))
	}
}
