package store_test

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/store"
)

// stateOf returns the state of a cluster.
func stateOf(t *testing.T, s *store.Store) store.Cluster {
	t.Helper()
	found, err := s.Cluster(t.Context())
	is.New(t).NoErr(err)
	return found
}

// TestNoCluster checks that a file and a single PostgreSQL are not taken for a cluster without nodes.
func TestNoCluster(t *testing.T) {
	t.Parallel()
	pgtest.NeedSingle(t)
	is := is.New(t)
	_, err := testdb.Postgres(t).Cluster(t.Context())
	is.True(errors.Is(err, store.ErrNoCluster))
	_, err = isOpen(t, nil).Cluster(t.Context())
	is.True(errors.Is(err, store.ErrNoCluster))
}

// TestClusterTables checks what the state of a cluster says of tables that do not exist, are not distributed, or are
// distributed in part or in another way, and of a coordinator without an address.
func TestClusterTables(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	dsn := pgtest.Start(t, "fsync=off").DSN("postgres")
	db := beside(t, dsn)
	execute := func(statement string) {
		t.Helper()
		_, err := db.ExecContext(t.Context(), statement)
		is.NoErr(err)
	}
	execute(citusStandIn)
	s := testdb.Open(t, dsn, nil)
	is.Equal(stateOf(t, s).Problems, []string{
		"The workers do not know the address of the coordinator. There run " +
			"SELECT citus_set_coordinator_host('ADDRESS', PORT).",
		`The database has no tables yet. Run "ticketing migrate --distribute citus".`,
	})
	at, err := url.Parse(dsn)
	is.NoErr(err)
	execute("INSERT INTO pg_dist_node (nodeid, groupid, nodename, nodeport) VALUES (1, 0, '127.0.0.1', " + at.Port() + ")")
	is.NoErr(s.Migrate(t.Context()))
	found := stateOf(t, s)
	is.Equal(found.Problems[:1], []string{
		`The tables are not distributed: all companies are on the coordinator. Run "ticketing migrate --distribute citus".`,
	})
	is.Equal(found.Notes[0], "The cluster has no workers: SELECT citus_add_node('ADDRESS', PORT) adds one.")
	is.Equal(found.Nodes[0].Address(), "127.0.0.1:"+at.Port())
	is.True(found.Nodes[0].Active && found.Nodes[0].Reachable)

	is.NoErr(s.Distribute(t.Context()))
	execute(`DELETE FROM pg_dist_partition WHERE logicalrelid::text IN ('ticketing_orders', 'ticketing_outbox',
		'ticketing_buyers', 'ticketing_wallets')`)
	execute("UPDATE pg_dist_partition SET partmethod = 'h' WHERE logicalrelid = 'ticketing_categories'::regclass")
	is.Equal(stateOf(t, s).Problems[:2], []string{
		"ticketing_categories is a distributed table, which does not fit. Run SELECT " +
			`undistribute_table('ticketing_categories'), then "ticketing migrate --distribute citus".`,
		"4 tables are on the coordinator alone: ticketing_orders, ticketing_buyers, ticketing_wallets and 1 more. " +
			`Run "ticketing migrate --distribute citus".`,
	})
}

// TestClusterVersions checks that nodes whose versions or settings do not fit together are reported, with what to do.
func TestClusterVersions(t *testing.T) {
	t.Parallel()
	fits := store.NodeVersions{Postgres: "15.4", Citus: "13.2-1", Installed: "13.2-1", Prepared: 200}
	for name, test := range map[string]struct {
		change func(*store.NodeVersions)
		want   string
	}{
		"another minor version": {func(v *store.NodeVersions) { v.Postgres = "15.5" }, ""},
		"another PostgreSQL": {
			func(v *store.NodeVersions) { v.Postgres = "16.1" },
			"Node b:5432 runs PostgreSQL 16.1, and a:5432 runs 15.4. Upgrade to one version on all nodes.",
		},
		"another Citus": {
			func(v *store.NodeVersions) { v.Citus, v.Installed = "12.1-1", "12.1-1" },
			"Node b:5432 has the extension citus 12.1-1, and a:5432 has 13.2-1. Install one version on all nodes.",
		},
		"no two-phase commit": {
			func(v *store.NodeVersions) { v.Prepared = 0 },
			"Node b:5432 has max_prepared_transactions = 0, so API keys cannot be issued and nobody can sign in. Set it to " +
				"max_connections or more, and restart the node.",
		},
		"no extension": {
			func(v *store.NodeVersions) { v.Citus = "" },
			"Node b:5432 does not have the extension citus in this database. There run CREATE EXTENSION citus.",
		},
		"not updated": {
			func(v *store.NodeVersions) { v.Installed = "14.0-1" },
			"Node b:5432 has the extension citus 13.2-1, and the files of 14.0-1. Restart it, then run ALTER EXTENSION " +
				"citus UPDATE there.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			second := fits
			test.change(&second)
			is.Equal(strings.Join(store.CompareNodes(fits, second), "\n"), test.want)
		})
	}
}

// TestClusterState checks that the state of a cluster has its nodes with what is on them, and its largest companies,
// and that a node that is away, lacks the function or denies a role is reported with what to do.
func TestClusterState(t *testing.T) {
	t.Parallel()
	pgtest.NeedCluster(t)
	is := is.New(t)
	dsn := testdb.FreshDSN(t)
	s := testdb.Open(t, dsn, &store.Config{Connections: 4})
	ids := spreadCompanies(t, s, 12)
	found := stateOf(t, s)
	is.Equal(found.Problems, nil)
	is.True(len(found.Nodes) > 2)
	is.Equal(found.Nodes[0].Group, 0)
	var companies int64
	shards := 0
	for _, node := range found.Nodes {
		is.True(node.Active && node.Reachable && *node.Bytes > 0)
		is.True(node.Postgres != "" && node.Citus != "")
		shards += node.Shards
		if node.Companies != nil {
			companies += *node.Companies
		}
	}
	is.Equal(companies, int64(len(ids)))
	is.Equal(shards, found.Shards)

	// As an earlier version distributed them.
	is.Equal(found.Notes, nil)
	_, err := beside(t, dsn).ExecContext(t.Context(), `
		SELECT update_distributed_table_colocation('ticketing_sessions', colocate_with => 'none');
		SELECT update_distributed_table_colocation('ticketing_sign_in_tokens', colocate_with => 'ticketing_sessions');
		SELECT update_distributed_table_colocation('ticketing_passkeys', colocate_with => 'ticketing_sessions')`)
	is.NoErr(err)
	notes := stateOf(t, s).Notes
	is.Equal(len(notes), 1)
	_, command, _ := strings.Cut(notes[0], " Run ")
	_, err = beside(t, dsn).ExecContext(t.Context(), strings.TrimSuffix(command, " at a quiet hour."))
	is.NoErr(err)
	is.Equal(stateOf(t, s).Notes, nil)

	worker := testdb.WorkerDSN(t, dsn)
	at, err := url.Parse(worker)
	is.NoErr(err)
	execute := func(statement string) {
		t.Helper()
		_, err := beside(t, worker).ExecContext(t.Context(), statement)
		is.NoErr(err)
	}
	execute("SET citus.enable_ddl_propagation TO off; DROP FUNCTION ticketing_node_rows_1")
	found = stateOf(t, s)
	is.Equal(found.Problems, []string{"Node " + at.Host + " lacks the function ticketing_node_rows_1, so each look for " +
		`due work asks every shard. Run "ticketing migrate --distribute citus".`})
	is.NoErr(s.Distribute(t.Context()))
	is.Equal(stateOf(t, s).Problems, nil)

	_, err = beside(t, dsn).ExecContext(t.Context(), "SELECT undistribute_table('ticketing_passkeys')")
	is.NoErr(err)
	is.Equal(stateOf(t, s).Problems, []string{
		`The table ticketing_passkeys is on the coordinator alone. Run "ticketing migrate --distribute citus".`,
	})
	is.NoErr(s.Distribute(t.Context()))

	name := texts(t, beside(t, dsn), "SELECT current_database()")[0]
	admin := beside(t, strings.Replace(worker, "/"+name, "/postgres", 1))
	for _, statement := range []string{
		"ALTER DATABASE " + name + " ALLOW_CONNECTIONS false",
		"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '" + name + "' AND pid <> pg_backend_pid()",
	} {
		_, err = admin.ExecContext(t.Context(), statement)
		is.NoErr(err)
	}
	found = stateOf(t, s)
	is.Equal(len(found.Problems), 1)
	is.True(strings.HasPrefix(found.Problems[0], "Node "+at.Host+" does not respond, so the companies of "))
	away := slices.IndexFunc(found.Nodes, func(n store.ClusterNode) bool { return n.Address() == at.Host })
	is.True(!found.Nodes[away].Reachable && found.Nodes[away].Shards > 0 && found.Nodes[away].Companies == nil)
}
