package main_test

import (
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/pgtest"
)

// A single PostgreSQL is reported as no cluster, without a secret key and without tables.
func TestClusterStatusOfOnePostgres(t *testing.T) {
	t.Parallel()
	pgtest.NeedSingle(t)
	is := is.New(t)
	code, message := onPostgres(t).with("TICKETING_SECRET_KEY", "").refusal("cluster", "status")
	is.Equal(code, "NOT_A_CLUSTER")
	is.True(strings.HasSuffix(message, "it is one PostgreSQL, without the extension citus"))
}

// The status of a cluster lists its nodes and its largest companies. It fails with what to do until everything fits.
func TestClusterStatus(t *testing.T) {
	t.Parallel()
	pgtest.NeedCluster(t)
	is := is.New(t)
	sh := onPostgres(t)
	shown := sh.run("cluster", "status")
	is.Equal(shown.status, 1)
	is.Equal(shown.stderr, "ticketing: the cluster has 1 problem\n")
	is.True(strings.HasSuffix(shown.stdout,
		"\nProblem: The database has no tables yet. Run \"ticketing migrate --distribute\ncitus\".\n"))
	sh.object("migrate", "--distribute", "citus")
	company := sh.funded(3)
	status := sh.object("cluster", "status")
	is.Equal(status["ok"], true)
	nodes := status["nodes"].([]any)
	is.Equal(nodes[0].(map[string]any)["role"], "coordinator")
	companies := 0.0
	for _, node := range nodes {
		if count, ok := node.(map[string]any)["companies"].(float64); ok {
			companies += count
		}
	}
	is.Equal(companies, 1.0)
	largest := status["largest"].([]any)[0].(map[string]any)
	is.Equal(largest["id"], company)
	is.Equal(largest["movements"], 3.0)
	is.True(strings.HasSuffix(sh.run("cluster", "status").stdout, "\nEverything fits.\n"))
	for line := range strings.SplitSeq(sh.with("NO_COLOR", "1").shownAt(80, "cluster", "status"), "\n") {
		is.True(len(line) <= 80)
	}
}
