package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/floatgate/ticketing/driver"
)

// A query over all companies is one task for each shard on a cluster, and most shards have nothing to return. A node
// answers for all of its shards in one task: the statement names a company whose rows would be on that node, so Citus
// sends it there, and calls a function that runs queries on the shards of the node. Each node is asked by itself. So
// what an absent node has is missing, and nothing else.

// nodeFunction is the function that runs queries on the shards of a node. [Store.Distribute] and [Store.Migrate] create
// it on a cluster, where Citus creates it on each node, also on one that is added later. If it is missing, queries ask
// every shard. The number is that of its body: servers of two versions have a function each.
const nodeFunction = "ticketing_node_rows_1"

// nodeFunctionTypes are the types of its arguments: the tables that the queries name, as {table}; for each query its
// probe, or an empty text; and the queries. All return rows of the same columns. A query with a probe runs on the
// shards where the probe returns true, since a probe takes a tenth of the time to plan.
const nodeFunctionTypes = "(text[], text[], text[])"

// nodeFunctionSQL returns the statement that creates the function for the tables of a schema.
func nodeFunctionSQL(schema string) string {
	return "CREATE OR REPLACE FUNCTION " + quoted(schema) + "." + nodeFunction +
		` (tables text[], probes text[], queries text[])
RETURNS SETOF record LANGUAGE plpgsql STABLE
SET search_path TO pg_catalog, ` + quoted(schema) + `, pg_temp
SET enable_seqscan TO off SET enable_bitmapscan TO off SET jit TO off
AS $function$
DECLARE
	names text[];
	probe text;
	query text;
	found_any boolean;
	shards integer := 0;
BEGIN
	FOR names IN
		SELECT array_agg(shard_name(t.relation, s.shardid) ORDER BY t.place)
		FROM (
			SELECT place, to_regclass(quote_ident(` + literal(schema) + `) || '.' || quote_ident(name)) AS relation
			FROM unnest(tables) WITH ORDINALITY AS given (name, place)
		) t
			JOIN pg_dist_shard s ON s.logicalrelid = t.relation
			JOIN pg_dist_placement p ON p.shardid = s.shardid AND p.shardstate = 1
		WHERE p.groupid = (SELECT groupid FROM pg_dist_local_group)
			-- Of several placements of a shard, that of the lowest group counts.
			AND NOT EXISTS (SELECT FROM pg_dist_placement o
				WHERE o.shardid = p.shardid AND o.shardstate = 1 AND o.groupid < p.groupid)
		GROUP BY s.shardminvalue
	LOOP
		IF cardinality(names) <> cardinality(tables) THEN
			RAISE EXCEPTION 'a table has no shard beside those of the others' USING ERRCODE = 'undefined_table';
		END IF;
		shards := shards + 1;
		FOR i IN 1 .. cardinality(queries) LOOP
			probe := probes[i];
			query := queries[i];
			FOR j IN 1 .. cardinality(tables) LOOP
				probe := replace(probe, '{' || tables[j] || '}', names[j]);
				query := replace(query, '{' || tables[j] || '}', names[j]);
			END LOOP;
			found_any := true;
			IF probe <> '' THEN
				EXECUTE probe INTO found_any;
			END IF;
			IF found_any THEN
				RETURN QUERY EXECUTE query;
			END IF;
		END LOOP;
	END LOOP;
	IF shards = 0 THEN
		RAISE EXCEPTION 'the node has no shard of the tables' USING ERRCODE = 'undefined_table';
	END IF;
END
$function$`
}

func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }

// createNodeFunction creates the function on all nodes.
func (e *postgresEngine) createNodeFunction(ctx context.Context, conn bun.IConn) error {
	_, err := conn.ExecContext(ctx, nodeFunctionSQL(e.place))
	return err
}

// nodeFunctionName returns the name of the function with its schema.
func (e *postgresEngine) nodeFunctionName() string { return quoted(e.place) + "." + nodeFunction }

// lacksNodeFunction reports whether the tables are distributed and the function is missing.
func (e *postgresEngine) lacksNodeFunction(ctx context.Context) (lacking bool, err error) {
	err = e.query(ctx, e.db, build(e, `SELECT EXISTS (
			SELECT FROM pg_catalog.pg_dist_partition
			WHERE logicalrelid = pg_catalog.to_regclass(`+e.anchorLiteral()+`) AND partmethod <> 'n'
		) AND pg_catalog.to_regprocedure(`+e.nodeFunctionLiteral()+`) IS NULL`),
		eachRow(func(row rowSet) error { return row.Scan(&lacking) }))
	return lacking, err
}

// anchorLiteral and nodeFunctionLiteral are the names of the table of companies and of the function, as texts.
func (e *postgresEngine) anchorLiteral() string { return literal(quoted(e.place) + "." + anchor) }

func (e *postgresEngine) nodeFunctionLiteral() string {
	return literal(e.nodeFunctionName() + nodeFunctionTypes)
}

// Bounds of a question to a node.
const (
	// nodeTimeout bounds a question to one node, which the other nodes' answers wait for. absentTimeout bounds a question
	// to a node that could not be reached for the last one. A node that took too long for the last one gets
	// statementTimeout, since it may need that long each time.
	nodeTimeout   = 3 * time.Second
	absentTimeout = time.Second
	// firstAbsence is how long a node that did not answer is not asked, twice as long after each failure, up to
	// longestAbsence.
	firstAbsence   = time.Second
	longestAbsence = 30 * time.Second
)

// clusterNodes is what is known of the nodes of a cluster. It is safe for concurrent use.
type clusterNodes struct {
	mu sync.Mutex
	// keys are company ids by the shard that has their rows.
	keys map[int64]uuid.UUID
	// groups are the nodes that had shards when they were last read.
	groups []int
	// absent are the nodes that did not answer, by group.
	absent map[int]absence
	// doubted is set after a statement for all shards failed, until all nodes answer one by one.
	doubted bool
}

type absence struct {
	until time.Time     // when the node is asked again
	pause time.Duration // from the last failure until then
	slow  bool          // it was reached, and took too long
}

// clusterNode is a node that has shards. key is a company id whose rows would be on it.
type clusterNode struct {
	group int
	shard int64
	key   uuid.UUID
}

// skip reports whether a node is not asked for now, and how long a question to it may take.
func (n *clusterNodes) skip(group int, now time.Time) (skip bool, timeout time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	of, absent := n.absent[group]
	if !absent {
		return false, nodeTimeout
	}
	if of.slow {
		return now.Before(of.until), statementTimeout
	}
	return now.Before(of.until), absentTimeout
}

// record records whether a node answered, or took too long, and reports whether that it answers has changed.
func (n *clusterNodes) record(group int, answered, slow bool, now time.Time) (changed bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	of, absent := n.absent[group]
	if answered {
		delete(n.absent, group)
		return absent
	}
	of.slow = slow
	of.pause = min(max(2*of.pause, firstAbsence), longestAbsence)
	of.until = now.Add(of.pause)
	if n.absent == nil {
		n.absent = make(map[int]absence)
	}
	n.absent[group] = of
	return !absent
}

// doubt records whether a statement for all shards may fail because of a node that is away.
func (n *clusterNodes) doubt(doubted bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.doubted = doubted
}

// mayBeAway reports whether a node did not answer when it was last asked.
func (n *clusterNodes) mayBeAway() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.doubted || len(n.absent) > 0
}

// nodesWithShards returns the nodes that have shards of companies. It reads them each time, since shards move. It
// returns none if the tables are not distributed or the function is missing. It calls run with each statement.
func (e *postgresEngine) nodesWithShards(run func(*builder, func(rowSet) error) error) ([]clusterNode, error) {
	var nodes []clusterNode
	err := run(build(e, `SELECT p.groupid, min(p.shardid)
		FROM pg_catalog.pg_dist_shard s JOIN pg_catalog.pg_dist_placement p ON p.shardid = s.shardid
		WHERE s.logicalrelid = pg_catalog.to_regclass(`+e.anchorLiteral()+`) AND p.shardstate = 1
			AND pg_catalog.to_regprocedure(`+e.nodeFunctionLiteral()+`) IS NOT NULL
		GROUP BY 1 ORDER BY 1`),
		eachRow(func(row rowSet) error {
			var node clusterNode
			err := row.Scan(&node.group, &node.shard)
			nodes = append(nodes, node)
			return err
		}))
	if err != nil || len(nodes) == 0 {
		return nil, err
	}
	if e.nodes.fill(nodes) {
		return nodes, nil
	}
	// The ids are any that are spread over all shards. With twenty for each shard, one without any has a chance
	// of one in 400 million; it is then asked as every shard is.
	keys := make(map[int64]uuid.UUID)
	err = run(build(e, `WITH s AS (
			SELECT shardid, shardminvalue::bigint AS least, shardmaxvalue::bigint AS most FROM pg_catalog.pg_dist_shard
			WHERE logicalrelid = pg_catalog.to_regclass(`+e.anchorLiteral()+`)
		), k AS MATERIALIZED (
			SELECT id, pg_catalog.worker_hash(id) AS hash
			FROM (SELECT md5(n::text)::uuid AS id FROM generate_series(1, (SELECT 20 * count(*) FROM s)) n) ids
		)
		SELECT DISTINCT ON (s.shardid) s.shardid, k.id FROM s JOIN k ON k.hash BETWEEN s.least AND s.most
		ORDER BY s.shardid`),
		eachRow(func(row rowSet) error {
			var shard int64
			var key uuid.UUID
			err := row.Scan(&shard, (*id)(&key))
			keys[shard] = key
			return err
		}))
	if err != nil {
		return nil, err
	}
	e.nodes.mu.Lock()
	e.nodes.keys = keys
	e.nodes.mu.Unlock()
	if !e.nodes.fill(nodes) { // A shard was split meanwhile.
		return nil, nil
	}
	return nodes, nil
}

// fill sets the keys of the nodes, and reports whether all are known.
func (n *clusterNodes) fill(nodes []clusterNode) (complete bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.groups = n.groups[:0]
	for _, node := range nodes {
		n.groups = append(n.groups, node.group)
	}
	// A node that has no shards any more is not missed.
	maps.DeleteFunc(n.absent, func(group int, _ absence) bool { return !slices.Contains(n.groups, group) })
	complete = true
	for i, node := range nodes {
		key, known := n.keys[node.shard]
		nodes[i].key = key
		complete = complete && known
	}
	return complete
}

var _ driver.NodesStore = (*Store)(nil)

// Nodes returns how many nodes of a cluster the last DueWork asked: one outside of a cluster.
func (s *Store) Nodes() int {
	e, ok := s.engine.(*postgresEngine)
	if !ok {
		return 1
	}
	e.nodes.mu.Lock()
	defer e.nodes.mu.Unlock()
	return max(len(e.nodes.groups), 1)
}

// AbsentNodes returns how many nodes of a cluster have shards, and the groups of those among them that did not respond
// when they were last asked, in order. It asks nothing: the nodes are those of the last DueWork, which a service that
// runs makes every few seconds. Before that, and outside of a cluster, nodes is 0.
func (s *Store) AbsentNodes() (nodes int, absent []int) {
	e, ok := s.engine.(*postgresEngine)
	if !ok {
		return 0, nil
	}
	e.nodes.mu.Lock()
	defer e.nodes.mu.Unlock()
	return len(e.nodes.groups), slices.Sorted(maps.Keys(e.nodes.absent))
}

// nodeQuery is a query that each node runs on its own shards. add gives it its parts.
type nodeQuery struct {
	// columns are the names and types of the rows, as a column definition list.
	columns         string
	tables          []string
	probes, queries []string
	err             error
}

// storeTable matches the name of a table of the store.
var storeTable = regexp.MustCompile(`"?\b(ticketing_\w+)"?`)

// add adds a query to those that run on each shard, with its probe or nil. They must contain no text of a user, since
// the name of a table in it would be replaced.
func (q *nodeQuery) add(probe, query *builder) {
	onShard := func(statement *builder) string {
		if statement == nil {
			return ""
		}
		q.err = errors.Join(q.err, statement.err)
		return storeTable.ReplaceAllStringFunc(string(statement.appendMessage(nil, nil)), func(name string) string {
			name = strings.Trim(name, `"`)
			if !slices.Contains(q.tables, name) {
				q.tables = append(q.tables, name)
			}
			return "{" + name + "}"
		})
	}
	q.probes, q.queries = append(q.probes, onShard(probe)), append(q.queries, onShard(query))
}

// statement returns the statement that asks the node of a company. The subquery is one row also where the company does
// not exist.
func (q *nodeQuery) statement(e *postgresEngine, key uuid.UUID) *builder {
	to := build(e, "SELECT f.* FROM (SELECT count(*) FROM "+anchor+" WHERE id = ?) c, LATERAL "+e.nodeFunctionName()+
		"(?, ?, ?) AS f ("+q.columns+")", key, textArray(q.tables), textArray(q.probes), textArray(q.queries))
	to.err = errors.Join(to.err, q.err)
	return to
}

// textArray is a fragment: an array of texts.
type textArray []string

func (a textArray) appendTo(to *builder) {
	to.add("ARRAY[")
	for i, text := range a {
		if i > 0 {
			to.add(", ")
		}
		to.value(text)
	}
	to.add("]::text[]")
}

// askNodes asks each node of a cluster in turn, and returns the rows of those that answer. asked is false if the query
// must ask every shard instead: outside of a cluster, and in a transaction or a Snapshot, whose statements must not
// fail one by one.
//
// A node that does not answer is logged, and not asked for some time. If none answers, askNodes fails.
func askNodes[R any](
	ctx context.Context, s *session, name string, ask func(q *nodeQuery), scan func(rowSet, *R) error,
) (found []R, asked bool, err error) {
	found, _, asked, err = askPresentNodes(ctx, s, name, ask, scan)
	return found, asked, err
}

// askPresentNodes is askNodes, and returns how many nodes did not answer.
func askPresentNodes[R any](
	ctx context.Context, s *session, name string, ask func(q *nodeQuery), scan func(rowSet, *R) error,
) (found []R, missing int, asked bool, err error) {
	e, ok := s.store.engine.(*postgresEngine)
	if !ok || !e.distributed || s.conn != bun.IConn(e.db) || !s.alone || s.announcing {
		return nil, 0, false, nil
	}
	if s.ended.Load() {
		return nil, 0, true, errEnded
	}
	var nodes []clusterNode
	err = s.store.observe(ctx, name, func() (err error) {
		nodes, err = e.nodesWithShards(func(statement *builder, scan func(rowSet) error) error {
			return e.query(ctx, e.db, statement, scan)
		})
		return err
	})
	if err != nil || len(nodes) == 0 {
		return nil, 0, err != nil, err
	}
	q := &nodeQuery{}
	ask(q)
	answers := 0
	var failed error
	for _, node := range nodes {
		skip, timeout := e.nodes.skip(node.group, time.Now())
		if skip {
			continue
		}
		var native error
		err := s.store.observe(ctx, name, func() error {
			var rows []R
			bounded := *e
			bounded.statement = timeout
			native = bounded.query(ctx, e.db, q.statement(e, node.key), scanInto(&rows, scan))
			if native == nil {
				found = append(found, rows...)
			}
			return native
		})
		switch {
		case err == nil:
			answers++
		case stateIs(native, undefinedFunction, undefinedTable): // It was not created on this node, or a shard moved away.
			return nil, 0, false, nil
		case !isNodeError(native) || ctx.Err() != nil:
			return nil, 0, true, err
		default:
			failed = err
		}
		if e.nodes.record(node.group, err == nil, stateIs(native, statementCancelled), time.Now()) {
			s.store.logNode(ctx, node.group, err)
		}
	}
	if answers == 0 {
		return nil, len(nodes), true, cmp.Or(failed, errNoNode)
	}
	return found, len(nodes) - answers, true, nil
}

// askNodesWithin is askPresentNodes in a transaction. The first failure ends a transaction, so it skips the nodes that
// are known to be absent, and a failure of another one ends the run: the next run of the Update skips that node, too.
func askNodesWithin[R any](
	ctx context.Context, s *session, name string, ask func(q *nodeQuery), scan func(rowSet, *R) error,
) (found []R, missing int, asked bool, err error) {
	e, ok := s.store.engine.(*postgresEngine)
	if !ok || !e.distributed || s.announcing {
		return nil, 0, false, nil
	}
	var native error
	run := func(statement *builder, scan func(rowSet) error) error {
		return s.run(ctx, name, statement, func(ctx context.Context, statement *builder) error {
			native = e.query(ctx, s.conn, statement, scan)
			return native
		})
	}
	// This sends the pending writes, too. So a failure below is one of the node that is asked.
	nodes, err := e.nodesWithShards(run)
	if err != nil || len(nodes) == 0 {
		return nil, 0, err != nil, err
	}
	q := &nodeQuery{}
	ask(q)
	for _, node := range nodes {
		if skip, _ := e.nodes.skip(node.group, time.Now()); skip {
			missing++
			continue
		}
		var rows []R
		err := run(q.statement(e, node.key), scanInto(&rows, scan))
		if err != nil && !isNodeError(native) {
			return nil, 0, true, err
		}
		if e.nodes.record(node.group, err == nil, stateIs(native, statementCancelled), time.Now()) {
			s.store.logNode(ctx, node.group, err)
		}
		if err != nil {
			return nil, 0, true, &transientError{err}
		}
		found = append(found, rows...)
	}
	if missing == len(nodes) {
		return nil, missing, true, errNoNode
	}
	return found, missing, true, nil
}

// errNoNode is the error of a query while all nodes are left alone.
var errNoNode = fmt.Errorf("ticketing/store: %w: no node of the cluster answers", driver.ErrUnavailable)

func (s *Store) logNode(ctx context.Context, group int, err error) {
	if err == nil {
		s.config.Logger.InfoContext(ctx, "ticketing/store: a node of the cluster answers again", "group", group)
		return
	}
	s.config.Logger.WarnContext(ctx, "ticketing/store: a node of the cluster does not answer; its due work waits",
		"group", group, "error", err)
}

// SQLSTATEs of what does not exist on a node.
const (
	undefinedFunction = "42883"
	undefinedTable    = "42P01"
	// statementCancelled is that of a statement that took too long.
	statementCancelled = "57014"
)

func stateIs(err error, states ...string) bool {
	found, _, _, _, native := stateOf(err)
	return native && slices.Contains(states, found)
}

// isNodeError reports whether the coordinator reported an error of a node: that it cannot be reached, has no room, is
// stopping, or did not answer in time. An error of the connection to the coordinator itself is none.
func isNodeError(err error) bool {
	state, _, _, fatal, native := stateOf(err)
	var connecting *connectError
	const class = 2
	return native && !fatal && !errors.As(err, &connecting) &&
		slices.Contains([]string{"08", "53", "55", "57", "58"}, state[:min(class, len(state))])
}
