package pgtest

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"testing"
)

const clusterEnvironment = "TICKETING_TEST_CITUS"

// OnCluster reports whether databases are made on a Citus cluster. TICKETING_TEST_CITUS is then the URL of a database
// on the coordinator that has the extension and all workers. Its role must be a superuser on each node. A database is
// made on every node, with the extension, and is a cluster of its own. Servers of [Start] are never part of it.
func OnCluster() bool { return os.Getenv(clusterEnvironment) != "" }

// DirectNodes reports whether TICKETING_TEST_GATES is "nodes": on a cluster, stores then connect to every node.
func DirectNodes() bool { return OnCluster() && os.Getenv("TICKETING_TEST_GATES") == "nodes" }

// worker is a node of a cluster other than the coordinator.
type worker struct {
	host  string
	port  int
	url   *url.URL
	admin *sql.DB
}

// findWorkers returns the workers that the coordinator knows. They accept the login of the coordinator's URL.
func findWorkers(ctx context.Context, coordinator *sql.DB, login *url.URL) (workers []*worker, err error) {
	rows, err := coordinator.QueryContext(ctx, `SELECT nodename, nodeport FROM pg_dist_node
		WHERE groupid <> 0 AND isactive AND noderole = 'primary' ORDER BY groupid`)
	if err != nil {
		return nil, fmt.Errorf("list the nodes of the cluster: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		at := *login
		w := &worker{url: &at}
		if err := rows.Scan(&w.host, &w.port); err != nil {
			return nil, fmt.Errorf("list the nodes of the cluster: %w", err)
		}
		at.Host = net.JoinHostPort(w.host, strconv.Itoa(w.port))
		w.admin = openPool(at.String())
		workers = append(workers, w)
	}
	if len(workers) == 0 && rows.Err() == nil {
		return nil, errors.New("the cluster of " + clusterEnvironment + " has no workers")
	}
	return workers, rows.Err()
}

// fewShards are as many as a table needs for several on each of a few nodes. More of them take time in each test that
// makes or empties a database.
const fewShards = 4

// join makes a cluster of the databases of one name.
func (s *shared) join(ctx context.Context, name string) error {
	nodes := s.open(name)
	defer func() { _ = onEach(nodes, (*sql.DB).Close) }()
	err := onEach(nodes, func(db *sql.DB) error { return run(ctx, db, "CREATE EXTENSION citus") })
	if err != nil {
		return err
	}
	coordinator := nodes[0]
	// An operator may have set more copies of a shard for other databases.
	for _, setting := range []string{fmt.Sprintf("shard_count TO %d", fewShards), "shard_replication_factor TO 2"} {
		if err := run(ctx, coordinator, fmt.Sprintf("ALTER DATABASE %s SET citus.%s", name, setting)); err != nil {
			return err
		}
	}
	port := cmp.Or(s.url.Port(), "5432")
	_, err = coordinator.ExecContext(ctx, "SELECT citus_set_coordinator_host($1, $2)", s.url.Hostname(), port)
	if err != nil {
		return err
	}
	for _, w := range s.workers {
		if _, err := coordinator.ExecContext(ctx, "SELECT citus_add_node($1, $2)", w.host, w.port); err != nil {
			return err
		}
	}
	return nil
}

// NeedCluster skips a test that is about a real cluster where there is none.
func NeedCluster(tb testing.TB) {
	tb.Helper()
	if !OnCluster() {
		tb.Skip("no Citus cluster: set " + clusterEnvironment + " to the URL of a database on its coordinator")
	}
}

// NeedSingle skips a test that is about a single server where databases are made on a cluster.
func NeedSingle(tb testing.TB) {
	tb.Helper()
	if OnCluster() {
		tb.Skip("it is about a database of one server, and " + clusterEnvironment + " is set")
	}
}
