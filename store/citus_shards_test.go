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
			_, err := readCompany(t.Context(), s, id)
			is.NoErr(err)
			if s != reader { // Its last message, and the only one, prepares the statement.
				is.NoErr(touch(t.Context(), s, id))
			}
		}
		is.True(strings.Contains(lastStatements(t, dsn, id, "reader"), "pg_dist_placement"))
		is.True(strings.Contains(lastStatements(t, dsn, id, "reader"), "FROM ticketing_companies_1"))

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

// TestClusterReadOfTwoCompanies checks that a View names the shards of the first company that it reads, and reads
// another one from wherever that is; also two companies in one call.
func TestClusterReadOfTwoCompanies(t *testing.T) {
	t.Parallel()
	pgtest.NeedCluster(t)
	is := is.New(t)
	dsn := testdb.FreshDSN(t)
	ids := spreadCompanies(t, testdb.Open(t, dsn, nil), 8)
	other := slices.IndexFunc(ids, func(id uuid.UUID) bool {
		return testdb.WorkerOf(t, dsn, id) != testdb.WorkerOf(t, dsn, ids[0])
	})
	is.True(other > 0)
	s := testdb.Open(t, dsn+"&application_name=pair", &store.Config{DirectNodes: true, Connections: 4, NoPrepare: true})
	pair := []uuid.UUID{ids[0], ids[other]}
	is.NoErr(s.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
		for _, asked := range [][]uuid.UUID{pair[:1], pair[1:], pair, pair[:1]} {
			companies, err := tx.Companies(ctx, asked)
			if err != nil {
				return err
			}
			for i, company := range companies {
				is.Equal(company.ID, asked[i])
				is.Equal(company.Name, newCompany(asked[i]).Name)
			}
		}
		return nil
	}))
	is.True(strings.Contains(lastStatements(t, dsn, pair[0], "pair"), "FROM ticketing_companies_1"))
	is.Equal(lastStatements(t, dsn, pair[1], "pair"), "") // The other company is read through the coordinator.
}

// TestClusterListOfCompanies checks that a page of all companies needs one connection to each node, and that a page of
// few of them may use several.
func TestClusterListOfCompanies(t *testing.T) {
	t.Parallel()
	pgtest.NeedCluster(t)
	is := is.New(t)
	dsn := testdb.FreshDSN(t)
	ids := spreadCompanies(t, testdb.Open(t, dsn, nil), 8)
	for _, test := range []struct {
		name  string
		ask   driver.CompanyQuery
		found int
		one   bool
	}{
		{name: "all", ask: driver.CompanyQuery{Order: driver.CompaniesNewest, Limit: 100}, found: len(ids), one: true},
		{name: "page", ask: driver.CompanyQuery{Order: driver.CompaniesByName, Limit: 3}, found: 3, one: true},
		{
			name:  "some",
			ask:   driver.CompanyQuery{Order: driver.CompaniesNewest, Status: driver.CompanySuspended, Limit: 100},
			found: 0,
		},
	} {
		s := testdb.Open(t, dsn+"&application_name="+test.name, &store.Config{Connections: 1})
		is.NoErr(s.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
			companies, err := tx.SearchCompanies(ctx, test.ask)
			is.Equal(len(companies), test.found)
			return err
		}))
		sent := strings.Join(texts(t, beside(t, dsn), `SELECT query FROM pg_stat_activity
			WHERE datname = current_database() AND application_name = '`+test.name+`'`), "\n")
		is.True(strings.Contains(sent, "statement_timeout"))
		is.Equal(strings.Contains(sent, "citus.max_adaptive_executor_pool_size TO 1"), test.one)
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

// TestShardTexts checks that a statement which names shards leaves the texts of users alone, and that it soon has two
// texts to prepare, for one row and for many, whichever of its columns vary.
func TestShardTexts(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	write, prepared := store.ShardTexts()
	company := number(1)
	row := func(id, event int, email string, gross int64) []any {
		return []any{company, number(id), number(event), email, gross}
	}
	text := write([][]any{row(1, 1, `ticketing_orders "ticketing_orders"`, 5)})
	is.Equal(strings.Count(text, `'ticketing_orders "ticketing_orders"'`), 2)
	is.Equal(strings.Count(text, "ticketing_orders_7"), 2)
	groups := [][][]any{
		{row(1, 1, "a", 5), row(2, 1, "a", 5)},
		{row(1, 1, "a", 5), row(2, 2, "a", 5)},
		{row(1, 1, "a", 5), row(2, 1, "b", 5)},
		{row(1, 1, "a", 5), row(2, 1, "a", 6)},
		{row(1, 1, "a", 5), row(2, 1, "a", 5), row(3, 2, "a", 5), row(4, 2, "b", 6)},
	}
	for _, rows := range groups {
		write(rows)
	}
	known := prepared()
	for _, rows := range slices.Backward(groups) {
		is.Equal(strings.Count(write(rows), "ticketing_orders_7"), 2)
	}
	write([][]any{row(9, 9, "z", 9)})
	is.True(prepared() <= known+2) // the last shape of both
	known = prepared()
	for _, rows := range groups {
		write(rows)
	}
	is.Equal(prepared(), known)
}
