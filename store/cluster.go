package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// ErrNoCluster is the error of [Store.Cluster] on a database that belongs to no cluster: SQLite, and a PostgreSQL
// without the extension citus.
var ErrNoCluster = errors.New("ticketing/store: the database is not a cluster")

// Cluster is the state of a Citus cluster, as [Store.Cluster] found it.
type Cluster struct {
	// Shards is how many shards the companies are spread over. It is 0 while the tables are not distributed.
	Shards int
	// Nodes are ordered by group, the coordinator first.
	Nodes []ClusterNode
	// Largest are the companies with the most movements, at most ten, the largest first. Those of nodes that did not
	// respond are missing.
	Largest []ClusterCompany
	// Problems says what keeps companies from selling, or an operation of the cluster from working, and what to do.
	Problems []string
	// Notes says what may be intended.
	Notes []string
}

// ClusterNode is a node of a cluster.
type ClusterNode struct {
	Name  string // host name or address, as the cluster knows it
	Port  int
	Group int // 0: the coordinator
	// Standby reports whether the node is a standby of its group, which Citus calls a secondary.
	Standby bool
	// Active reports whether the cluster uses the node. Reachable reports whether it responded to the role of the store.
	Active, Reachable bool
	// Postgres and Citus are the versions of the server and of the extension. They are empty if the node did not respond.
	Postgres, Citus string
	// Shards is how many of [Cluster].Shards are on the node.
	Shards int
	// Bytes is the size of all the tables' shards on the node, with indexes and the copies of reference tables. Companies
	// is how many companies are on it. Nil means that the node did not say.
	Bytes, Companies *int64
}

// Address returns the host and port of the node.
func (n *ClusterNode) Address() string { return net.JoinHostPort(n.Name, strconv.Itoa(n.Port)) }

// call returns a call of a function of Citus with the address of the node.
func (n *ClusterNode) call(function string) string {
	return "SELECT " + function + "(" + literal(n.Name) + ", " + strconv.Itoa(n.Port) + ")"
}

// ClusterCompany is a company on a node. Movements is how many movements its two wallets have.
type ClusterCompany struct {
	ID        uuid.UUID
	Name      string
	Movements int64
	Group     int
}

const (
	// largestCompanies is how many of the largest companies are returned.
	largestCompanies = 10
	// listedTables is how many tables a problem names.
	listedTables = 3
)

// Cluster returns the state of the Citus cluster of the database. It asks each node for itself, so a node that does not
// respond is part of the result, and so are tables that are distributed only in part. It needs no migrated tables and
// changes nothing. A node has 3 s to respond, and 8 s to count its companies. It fails with [ErrNoCluster] on a
// database that belongs to no cluster.
func (s *Store) Cluster(ctx context.Context) (Cluster, error) {
	e, ok := s.engine.(*postgresEngine)
	switch {
	case !ok:
		return Cluster{}, fmt.Errorf("%w: it is a file on one machine", ErrNoCluster)
	case !e.distributed:
		return Cluster{}, fmt.Errorf("%w: it is one PostgreSQL, without the extension citus", ErrNoCluster)
	}
	r := &clusterReader{engine: e, placed: make(map[int]int)}
	for _, read := range []func(context.Context) error{r.readNodes, r.readTables, r.readShards, r.readReferences} {
		if err := read(ctx); err != nil {
			return Cluster{}, s.translateFor(ctx, "read the catalogue of the cluster", err)
		}
	}
	for i := range r.found.Nodes {
		if err := r.readNode(ctx, i); err != nil {
			return Cluster{}, s.translateFor(ctx, "read the state of a node", err)
		}
	}
	r.compareVersions()
	slices.SortFunc(r.found.Largest, func(a, b ClusterCompany) int {
		return cmp.Or(cmp.Compare(b.Movements, a.Movements), slices.Compare(a.ID[:], b.ID[:]))
	})
	r.found.Largest = r.found.Largest[:min(len(r.found.Largest), largestCompanies)]
	return r.found, nil
}

// clusterReader reads the state of a cluster.
type clusterReader struct {
	engine *postgresEngine
	found  Cluster
	// local is the group of the node that the store is connected to, and role is the role there.
	local int
	role  string
	// rights are the tables with what the role may do with them, as rows of VALUES.
	rights []string
	// placed is how many shards of companies are on each group.
	placed map[int]int
	// metadata are the groups that have current metadata, and facts is what each node responded, by its place.
	metadata []int
	facts    []nodeFacts
}

// nodeFacts is what a node is asked first.
type nodeFacts struct {
	Postgres  string `json:"postgres"`
	Citus     string `json:"citus"`
	Installed string `json:"installed"` // the version of the files on its disk
	Prepared  int    `json:"prepared"`
	Logical   bool   `json:"logical"`
	Function  bool   `json:"function"`
}

// nodeShards is what a node has of the shards that the catalogue places on it.
type nodeShards struct {
	Bytes   int64 `json:"bytes"`
	Missing int   `json:"missing"`
	Denied  int   `json:"denied"`
}

func (r *clusterReader) problem(format string, values ...any) {
	r.found.Problems = append(r.found.Problems, fmt.Sprintf(format, values...))
}

func (r *clusterReader) note(format string, values ...any) {
	r.found.Notes = append(r.found.Notes, fmt.Sprintf(format, values...))
}

// read runs a query on the node that the store is connected to.
func (r *clusterReader) read(ctx context.Context, text string, scan func(rowSet) error) error {
	return r.engine.query(ctx, r.engine.db, build(r.engine, text), eachRow(scan))
}

func (r *clusterReader) readNodes(ctx context.Context) error {
	err := r.read(ctx, "SELECT coalesce(max(groupid), 0)::bigint, current_user::text FROM pg_catalog.pg_dist_local_group",
		func(row rowSet) error { return row.Scan(&r.local, &r.role) })
	if err != nil {
		return err
	}
	err = r.read(ctx, `SELECT nodename, nodeport::bigint, groupid::bigint, noderole <> 'primary', isactive, metadatasynced
		FROM pg_catalog.pg_dist_node ORDER BY groupid, noderole <> 'primary', nodename, nodeport`,
		func(row rowSet) error {
			var node ClusterNode
			var synced bool
			err := row.Scan(&node.Name, &node.Port, &node.Group, &node.Standby, &node.Active, &synced)
			if synced {
				r.metadata = append(r.metadata, node.Group)
			}
			r.found.Nodes = append(r.found.Nodes, node)
			return err
		})
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(r.found.Nodes, func(n ClusterNode) bool { return n.Group == 0 }) {
		r.problem("The workers do not know the address of the coordinator. There run " +
			"SELECT citus_set_coordinator_host('ADDRESS', PORT).")
	}
	if !slices.ContainsFunc(r.found.Nodes, func(n ClusterNode) bool { return n.Group != 0 }) {
		r.note("The cluster has no workers: SELECT citus_add_node('ADDRESS', PORT) adds one.")
	}
	r.facts = make([]nodeFacts, len(r.found.Nodes))
	return nil
}

// readTables compares how the tables are distributed with how they should be.
func (r *clusterReader) readTables(ctx context.Context) error {
	there, err := r.engine.spread(ctx, r.engine.reader())
	if err != nil {
		return err
	}
	var missing, local []string
	for _, p := range placements() {
		found, made := there[p.table]
		done, err := p.distributed(found)
		switch {
		case !made:
			missing = append(missing, p.table)
		case err != nil:
			r.problem("%s is a %s table, which does not fit. Run SELECT undistribute_table('%s'), then \"ticketing migrate "+
				"--distribute citus\".", p.table, found, p.table)
		case !done:
			local = append(local, p.table)
		}
	}
	switch {
	case len(missing) == len(placements()):
		r.problem("The database has no tables yet. Run \"ticketing migrate --distribute citus\".")
		return nil
	case len(missing) > 0:
		r.problem("%s. Run \"ticketing migrate\".", someTables(missing, "is missing", "are missing"))
	}
	if !isDistributed(there) {
		r.problem("The tables are not distributed: all companies are on the coordinator. Run \"ticketing migrate " +
			"--distribute citus\".")
	} else if len(local) > 0 {
		r.problem("%s. Run \"ticketing migrate --distribute citus\".",
			someTables(local, "is on the coordinator alone", "are on the coordinator alone"))
	}
	if err := r.readColocation(ctx); err != nil {
		return err
	}
	return r.read(ctx, `SELECT t.name, p.privilege FROM unnest(ARRAY[`+r.tables()+`]) AS t (name),
			unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS p (privilege)
		WHERE pg_catalog.has_table_privilege(
			pg_catalog.to_regclass(pg_catalog.format('%I.%I', `+literal(r.engine.place)+`, t.name)), p.privilege)`,
		func(row rowSet) error {
			var table, privilege string
			err := row.Scan(&table, &privilege)
			r.rights = append(r.rights, "("+literal(table)+", "+literal(privilege)+")")
			return err
		})
}

// colocateUsers moves the tables of users to the nodes of the companies' shards.
const colocateUsers = "SELECT alter_distributed_table('ticketing_sessions', colocate_with => '" + anchor +
	"', cascade_to_colocated => true)"

// readColocation reports whether the tables of users are distributed as earlier versions did. Then the shards of
// sessions move apart from those of the audit log.
func (r *clusterReader) readColocation(ctx context.Context) error {
	return r.read(ctx, `SELECT 1 FROM pg_catalog.pg_dist_partition u, pg_catalog.pg_dist_partition c
		WHERE u.logicalrelid = pg_catalog.to_regclass(`+literal(quoted(r.engine.place)+".ticketing_sessions")+`)
			AND c.logicalrelid = pg_catalog.to_regclass(`+r.engine.anchorLiteral()+`)
			AND u.partmethod = c.partmethod AND u.colocationid <> c.colocationid`,
		func(rowSet) error {
			r.note("An earlier version distributed what users sign in with, so a sign-in may need two nodes. Run %s "+
				"at a quiet hour.", colocateUsers)
			return nil
		})
}

// someTables returns a sentence about tables, of which it names a few.
func someTables(tables []string, one, many string) string {
	switch more := len(tables) - listedTables; {
	case len(tables) == 1:
		return "The table " + tables[0] + " " + one
	case more <= 0:
		return "The tables " + strings.Join(tables, ", ") + " " + many
	default:
		return fmt.Sprintf("%d tables %s: %s and %d more", len(tables), many, strings.Join(tables[:listedTables], ", "),
			more)
	}
}

// tables returns the names of the tables as literals.
func (r *clusterReader) tables() string {
	var names []string
	for _, p := range placements() {
		names = append(names, literal(p.table))
	}
	return strings.Join(names, ", ")
}

// readShards counts the shards of companies on each group.
func (r *clusterReader) readShards(ctx context.Context) error {
	err := r.read(ctx, `SELECT p.groupid::bigint, count(*) FROM pg_catalog.pg_dist_shard s
			JOIN pg_catalog.pg_dist_placement p ON p.shardid = s.shardid
			JOIN pg_catalog.pg_dist_partition t ON t.logicalrelid = s.logicalrelid
		WHERE s.logicalrelid = pg_catalog.to_regclass(`+r.engine.anchorLiteral()+`) AND t.partmethod <> 'n'
		GROUP BY 1 ORDER BY 1`,
		func(row rowSet) error {
			var group, shards int
			err := row.Scan(&group, &shards)
			r.placed[group] = shards
			r.found.Shards += shards
			return err
		})
	for group, shards := range r.placed {
		if !slices.ContainsFunc(r.found.Nodes, func(n ClusterNode) bool { return n.Group == group && !n.Standby }) {
			r.problem("%d of %d shards are on a node of group %d, which is not in the cluster. Add that node again, or "+
				"restore it.", shards, r.found.Shards, group)
		}
	}
	return err
}

// readReferences finds the nodes that lack a copy of a reference table.
func (r *clusterReader) readReferences(ctx context.Context) error {
	return r.read(ctx, `SELECT n.nodename, n.nodeport::bigint, count(*) FROM pg_catalog.pg_dist_node n
			CROSS JOIN pg_catalog.pg_dist_partition t
			JOIN pg_catalog.pg_dist_shard s ON s.logicalrelid = t.logicalrelid
			JOIN pg_catalog.pg_class c ON c.oid = t.logicalrelid
			JOIN pg_catalog.pg_namespace m ON m.oid = c.relnamespace
		WHERE n.noderole = 'primary' AND n.isactive AND t.partmethod = 'n' AND t.repmodel = 't'
			AND m.nspname = `+literal(r.engine.place)+` AND c.relname = ANY (ARRAY[`+r.tables()+`])
			AND NOT EXISTS (SELECT FROM pg_catalog.pg_dist_placement p
				WHERE p.shardid = s.shardid AND p.groupid = n.groupid AND p.shardstate = 1)
		GROUP BY 1, 2 ORDER BY 1, 2`,
		func(row rowSet) error {
			var node ClusterNode
			var tables int
			err := row.Scan(&node.Name, &node.Port, &tables)
			r.problem("Node %s has no copy of %d reference tables, so no shard can be moved to it by hand. Run "+
				"SELECT replicate_reference_tables().", node.Address(), tables)
			return err
		})
}

// readNode asks a node, and reports what does not fit.
func (r *clusterReader) readNode(ctx context.Context, at int) error {
	node := &r.found.Nodes[at]
	if !node.Standby {
		node.Shards = r.placed[node.Group]
	}
	if !node.Active {
		r.problem("Node %s is disabled%s. When it runs, run %s.", node.Address(), r.concerned(node),
			node.call("citus_activate_node"))
	}
	facts := &r.facts[at]
	why, err := r.ask(ctx, node, nodeTimeout, r.factsSQL(), facts)
	if err != nil {
		return err
	}
	if why != "" {
		r.away(node, why)
		return nil
	}
	node.Reachable, node.Postgres, node.Citus = true, facts.Postgres, facts.Citus
	if node.Standby || !node.Active {
		return nil
	}
	r.checkNode(node, facts)
	if r.found.Shards == 0 {
		return nil
	}
	if err := r.readNodeShards(ctx, node); err != nil || !facts.Function || node.Shards == 0 {
		return err
	}
	return r.readCompanies(ctx, node)
}

// away reports that a node did not do what it was asked.
func (r *clusterReader) away(node *ClusterNode, why string) {
	switch {
	case !node.Active:
	case strings.HasPrefix(why, "permission denied"):
		r.refused(node, why)
	default:
		r.problem("Node %s does not respond%s. Start it, and check that it lets the role %s in: %s.", node.Address(),
			r.concerned(node), r.role, why)
	}
}

func (r *clusterReader) refused(node *ClusterNode, why string) {
	r.problem("Node %s refuses the role %s%s. There grant it what it has on the coordinator: %s.", node.Address(), r.role,
		r.concerned(node), why)
}

// concerned returns whom a node that is away stops.
func (r *clusterReader) concerned(node *ClusterNode) string {
	if node.Shards == 0 || node.Standby {
		return ""
	}
	return fmt.Sprintf(", so the companies of %d of %d shards cannot sell", node.Shards, r.found.Shards)
}

// checkNode reports what does not fit at a node.
func (r *clusterReader) checkNode(node *ClusterNode, facts *nodeFacts) {
	address := node.Address()
	if node.Group != 0 && !slices.Contains(r.metadata, node.Group) {
		r.problem("Node %s does not have the current catalogue of the cluster. On the coordinator run %s.", address,
			node.call("start_metadata_sync_to_node"))
	}
	switch {
	case facts.Citus == "":
		r.problem("Node %s does not have the extension citus in this database. There run CREATE EXTENSION citus.", address)
	case facts.Installed != "" && facts.Citus != facts.Installed:
		r.problem("Node %s has the extension citus %s, and the files of %s. Restart it, then run ALTER EXTENSION citus "+
			"UPDATE there.", address, facts.Citus, facts.Installed)
	}
	if facts.Prepared == 0 {
		r.problem("Node %s has max_prepared_transactions = 0, so API keys cannot be issued and nobody can sign in. Set it "+
			"to max_connections or more, and restart the node.", address)
	}
	if !facts.Logical {
		r.note("Node %s has no wal_level = logical, so a rebalance must stop the writes of each shard that it moves.",
			address)
	}
	switch {
	case r.found.Shards == 0 || node.Group == 0 && node.Shards == 0:
	case !facts.Function:
		r.problem("Node %s lacks the function %s, so each look for due work asks every shard. Run \"ticketing migrate "+
			"--distribute citus\".", address, nodeFunction)
	case node.Shards == 0:
		r.note("Node %s has no shards: SELECT citus_rebalance_start() moves some to it.", address)
	}
}

// compareVersions reports nodes whose versions differ from those of the first one that responded.
func (r *clusterReader) compareVersions() {
	first := -1
	for i := range r.found.Nodes {
		node := &r.found.Nodes[i]
		switch {
		case !node.Reachable || node.Standby:
		case first < 0:
			first = i
		default:
			r.compareWith(&r.found.Nodes[first], node)
		}
	}
}

func (r *clusterReader) compareWith(first, node *ClusterNode) {
	if node.Citus != first.Citus && node.Citus != "" && first.Citus != "" {
		r.problem("Node %s has the extension citus %s, and %s has %s. Install one version on all nodes.", node.Address(),
			node.Citus, first.Address(), first.Citus)
	}
	major := func(version string) string { return strings.FieldsFunc(version+".", notDigit)[0] }
	if major(node.Postgres) != major(first.Postgres) {
		r.problem("Node %s runs PostgreSQL %s, and %s runs %s. Upgrade to one version on all nodes.", node.Address(),
			node.Postgres, first.Address(), first.Postgres)
	}
}

func notDigit(r rune) bool { return r < '0' || r > '9' }

// factsSQL returns the query of [nodeFacts]. It uses nothing of the extension, whose version may be the problem.
func (r *clusterReader) factsSQL() string {
	return `SELECT json_build_object('postgres', split_part(current_setting('server_version'), ' ', 1),
		'citus', coalesce((SELECT extversion FROM pg_extension WHERE extname = 'citus'), ''),
		'installed', coalesce((SELECT default_version FROM pg_available_extensions() WHERE name = 'citus'), ''),
		'prepared', current_setting('max_prepared_transactions')::integer,
		'logical', current_setting('wal_level') = 'logical',
		'function', to_regprocedure(` + r.engine.nodeFunctionLiteral() + `) IS NOT NULL)::text`
}

// readNodeShards reads the sizes of the shards of a node, and whether the role may use them.
func (r *clusterReader) readNodeShards(ctx context.Context, node *ClusterNode) error {
	var shards nodeShards
	values := cmp.Or(strings.Join(r.rights, ", "), "('', '')")
	why, err := r.ask(ctx, node, nodeTimeout, `WITH placed AS MATERIALIZED (
			SELECT c.relname, to_regclass(shard_name(s.logicalrelid, s.shardid)) AS shard
			FROM pg_dist_shard s JOIN pg_dist_placement p ON p.shardid = s.shardid
				JOIN pg_class c ON c.oid = s.logicalrelid JOIN pg_namespace n ON n.oid = c.relnamespace
			WHERE n.nspname = `+literal(r.engine.place)+` AND c.relname = ANY (ARRAY[`+r.tables()+`])
				AND p.groupid = (SELECT groupid FROM pg_dist_local_group)
		)
		SELECT json_build_object('bytes', (SELECT coalesce(sum(pg_total_relation_size(shard)), 0) FROM placed),
			'missing', (SELECT count(*) FROM placed WHERE shard IS NULL),
			'denied', (SELECT count(DISTINCT shard) FROM placed JOIN (VALUES `+values+`) AS r (name, privilege)
				ON r.name = relname WHERE NOT has_table_privilege(shard, r.privilege)))::text`, &shards)
	switch {
	case err != nil:
		return err
	case why != "":
		r.refused(node, why)
		return nil
	}
	node.Bytes = &shards.Bytes
	if shards.Missing > 0 {
		r.problem("Node %s lacks %d tables of shards that are placed on it. Restore the node from its backup.",
			node.Address(), shards.Missing)
	}
	if shards.Denied > 0 {
		r.problem("Node %s does not let the role %s do with %d tables of shards what it may do on the coordinator. Grant "+
			"the rights again on the coordinator, which sends them to all nodes.", node.Address(), r.role, shards.Denied)
	}
	return nil
}

// readCompanies counts the companies of a node and reads its largest.
func (r *clusterReader) readCompanies(ctx context.Context, node *ClusterNode) error {
	var found []struct {
		Count     *int64    `json:"count"`
		ID        uuid.UUID `json:"id"`
		Name      string    `json:"name"`
		Movements int64     `json:"movements"`
	}
	count := `SELECT count(*), NULL::uuid, NULL::text, NULL::bigint FROM {` + anchor + `}`
	largest := `SELECT NULL::bigint, w.company_id, c.name, w.movements
		FROM (SELECT company_id, sum(sequence)::bigint AS movements FROM {ticketing_wallets} GROUP BY company_id
			ORDER BY movements DESC, company_id LIMIT ` + strconv.Itoa(largestCompanies) + `) w
		JOIN {` + anchor + `} c ON c.id = w.company_id`
	why, err := r.ask(ctx, node, statementTimeout, `SELECT json_agg(f)::text FROM (
			SELECT sum(count) AS count, id, name, movements FROM `+r.engine.nodeFunctionName()+`(
				ARRAY[`+literal(anchor)+`, 'ticketing_wallets'], ARRAY['', ''],
				ARRAY[`+literal(count)+`, `+literal(largest)+`]) AS f (count bigint, id uuid, name text, movements bigint)
			GROUP BY id, name, movements ORDER BY movements DESC NULLS FIRST, id LIMIT `+
		strconv.Itoa(largestCompanies+1)+`) f`, &found)
	switch {
	case err != nil:
		return err
	case why != "":
		r.problem("Node %s could not count its companies: %s.", node.Address(), why)
		return nil
	}
	for _, row := range found {
		if row.Count != nil {
			node.Companies = row.Count
			continue
		}
		r.found.Largest = append(r.found.Largest, ClusterCompany{
			ID: row.ID, Name: row.Name, Movements: row.Movements, Group: node.Group,
		})
	}
	return nil
}

// ask runs a query on a node and decodes its result, one text of JSON. The result why is the reason if the node fails;
// an error is one of the node that the store is connected to.
func (r *clusterReader) ask(
	ctx context.Context, node *ClusterNode, timeout time.Duration, query string, into any,
) (why string, err error) {
	bounded := *r.engine
	bounded.statement = timeout
	ok, text := true, ""
	remote := node.Group != r.local || node.Standby
	statement := build(&bounded, "SELECT true, ("+query+")")
	if remote {
		statement = build(&bounded, `SELECT success, coalesce(result, '')
			FROM pg_catalog.master_run_on_worker(ARRAY[?]::text[], ARRAY[?]::integer[], ARRAY[?]::text[], false)`,
			node.Name, node.Port, query)
	}
	err = bounded.query(ctx, r.engine.db, statement, eachRow(func(row rowSet) error { return row.Scan(&ok, &text) }))
	switch {
	case err == nil && ok:
		return "", json.Unmarshal([]byte(text), into)
	case err == nil:
		text, _, _ = strings.Cut(strings.TrimPrefix(text, "ERROR:"), "\n")
		return strings.TrimSpace(text), nil
	case remote && ctx.Err() == nil && stateIs(err, statementCancelled):
		return fmt.Sprintf("it did not respond within %s", timeout), nil
	case remote && ctx.Err() == nil && isNodeError(err):
		return r.engine.classify(err).Error(), nil
	default:
		return "", err
	}
}
