package store

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/floatgate/ticketing/driver"
)

// Every node of a cluster with a current catalogue runs every statement. The node that has the company runs it with one
// plan and without a message to another node. With [Config.DirectNodes] the store begins the transactions of a company
// there, and its builders read there. For a statement on distributed tables a wrong choice of the node changes no
// result, since that node passes it on: after a move of a shard it costs time, and reads outside of a transaction lack
// their settings on the other node. Statements on shards are checked: see companyShards. The gates and claims are locks
// of rows and of the company's node, so they meet wherever they are taken.

const (
	// locationsAge is how often the locations of shards are read.
	locationsAge = 10 * time.Second
	// locationsTimeout bounds that, and probeTimeout the look whether a node can be used.
	locationsTimeout, probeTimeout = time.Second, time.Second
	// maxHashes bounds how many companies' hashes are kept. A company without one costs a query.
	maxHashes = 100_000
)

// directNodes are the connections to the nodes of a cluster. It is safe for concurrent use.
type directNodes struct {
	open func(address string) (*bun.DB, error)
	size int // connections to each node
	log  *slog.Logger
	age  time.Duration // locationsAge

	shapes shapes // of the statements that name shards

	mu     sync.Mutex // of the fields below; no query runs under it
	closed bool
	nodes  map[string]*directNode // by address
	// hashes are those by which companies are distributed. They never change.
	hashes map[uuid.UUID]int64
	// shards are those of all nodes, by their hashes. companies has the shards that have the rows of a company, by the
	// shard of ticketing_companies.
	shards    []shardLocation
	companies map[int64]*companyShards
	read      time.Time // when they were last read
	named     time.Time // when the names were last read
	reading   bool
}

// shardLocation is a range of hashes and the node that has their companies. It has no address if that is the node of
// the store's own pool.
type shardLocation struct {
	least, most  int64
	shard, group int64
	address      string
}

// directNode is a pool of connections to a node. The lock of directNodes guards the fields after share.
type directNode struct {
	address string
	db      *bun.DB // nil: it could not be opened
	share   *connectionShare

	group int64
	// ready is set once the node was found to be the one that has the shards, and until it cannot be reached. probing is
	// set while one caller finds that out. The others use the store's own pool meanwhile.
	ready, probing bool
	absence        absence
	logged         bool // that it is absent
}

// newDirectNodes returns the connections to the nodes of a cluster, none yet. They have what the URL of the database
// has, but for the host.
func newDirectNodes(
	ctx context.Context, dsn string, cfg Config, preparing *preparing,
) (*directNodes, error) {
	parsed, err := url.Parse(dsn)
	if err != nil {
		return nil, errNotURL
	}
	open := func(address string) (*bun.DB, error) {
		connector, err := connectorFor(nodeURL(parsed, address))
		if err != nil {
			return nil, err
		}
		connector.preparing = preparing
		warnUnverified(context.WithoutCancel(ctx), connector, cfg)
		return bun.NewDB(newPool(connector, cfg), pgdialect.New()), nil
	}
	return &directNodes{
		open: open, size: cfg.Connections, log: cfg.Logger, age: locationsAge,
		nodes: make(map[string]*directNode), hashes: make(map[uuid.UUID]int64),
	}, nil
}

// nodeURL returns the URL of a node at an address: that of the database without its own host or socket.
func nodeURL(database *url.URL, address string) string {
	node := *database
	node.Host = address
	options := node.Query()
	options.Del("host")
	options.Del("port") // of a socket
	node.RawQuery = options.Encode()
	return node.String()
}

// atNode calls do with an engine that is connected to the node of a company, if there is one. If that node cannot be
// connected to, it calls do with e, which may reach it another way. So do must send nothing that counts before it has a
// connection: on a connection that turned out to be dead it may have sent BEGIN, or a read whose rows nobody saw.
func (e *postgresEngine) atNode(ctx context.Context, company uuid.UUID, do func(e *postgresEngine) error) error {
	if e.direct == nil || company == uuid.Nil {
		return do(e)
	}
	node, _ := e.direct.placeOf(ctx, e, company)
	if node == nil {
		return do(e)
	}
	err := do(e.near(node))
	// Somebody who leaves while a connection is made says nothing about the node.
	if _, unreached := errors.AsType[*connectError](err); !unreached || ctx.Err() != nil {
		return err
	}
	e.direct.lose(ctx, node, e.classify(err))
	return do(e)
}

// near returns an engine that is connected to a node.
func (e *postgresEngine) near(node *directNode) *postgresEngine {
	near := *e
	near.db, near.share, near.direct, near.isNode = node.db, node.share, nil, true
	return &near
}

// placeOf returns the node of a company and the shards that have its rows. The node is nil if it is unknown or absent,
// and then there are no shards, or if it is the one that e is connected to.
func (d *directNodes) placeOf(
	ctx context.Context, e *postgresEngine, company uuid.UUID,
) (node *directNode, shards *companyShards) {
	at, known, read := d.locate(company)
	if read {
		d.readLocations(context.WithoutCancel(ctx), e, company)
		at, known, _ = d.locate(company)
	}
	if !known {
		return nil, nil
	}
	if at.address == "" {
		return nil, d.shardsAt(at)
	}
	node, probe := d.nodeAt(ctx, at)
	if probe {
		if err := e.probe(context.WithoutCancel(ctx), node, at.group); err != nil {
			d.lose(ctx, node, e.classify(err))
			return nil, nil
		}
		d.gain(ctx, node)
	}
	if node == nil {
		return nil, nil
	}
	return node, d.shardsAt(at)
}

// readLocations reads the locations of all shards, and their names if these are not known.
func (d *directNodes) readLocations(ctx context.Context, e *postgresEngine, company uuid.UUID) {
	hash, shards, err := e.readShardLocations(ctx, company)
	var companies map[int64]*companyShards
	if err == nil && d.lacksNames(shards) {
		if found, unread := e.readShardNames(ctx); unread == nil { // Without names, statements name the tables.
			companies = found
		}
	}
	_ = closePools(d.learn(company, hash, shards, companies, err)) // What runs on them ends first.
}

// lacksNames reports whether the names of some of these shards are to be read. Those that were not found are not read
// again at once.
func (d *directNodes) lacksNames(shards []shardLocation) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if time.Since(d.named) < d.age ||
		!slices.ContainsFunc(shards, func(s shardLocation) bool { return d.companies[s.shard] == nil }) {
		return false
	}
	d.named = time.Now()
	return true
}

// shardsAt returns the shards at a location.
func (d *directNodes) shardsAt(at shardLocation) *companyShards {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.companies[at.shard]
}

// expireLocations makes the next caller read the locations, and the names of the shards if these are outdated.
func (d *directNodes) expireLocations(names bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.read = time.Time{}
	if names {
		d.companies, d.named = nil, time.Time{}
	}
}

// locate returns the location of a company. read is set for the caller who is to read the locations: one at a time, but
// everybody who has an unknown company.
func (d *directNodes) locate(company uuid.UUID) (at shardLocation, known, read bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	hash, known := d.hashes[company]
	if read = !known || !d.reading && time.Since(d.read) > d.age; read {
		d.reading = true
	}
	place, found := slices.BinarySearchFunc(d.shards, hash, func(s shardLocation, hash int64) int {
		switch {
		case s.most < hash:
			return -1
		case s.least > hash:
			return 1
		}
		return 0
	})
	if known && found {
		at = d.shards[place]
	}
	return at, known && found, read
}

// learn keeps what was read, and returns the pools that no location names any more. If nothing could be read, what is
// known counts for longer: the node of a company may be reached while the one with the catalogue is not.
func (d *directNodes) learn(
	company uuid.UUID, hash int64, shards []shardLocation, companies map[int64]*companyShards, err error,
) (unused []*bun.DB) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reading, d.read = false, time.Now()
	if err != nil {
		return nil
	}
	if len(d.hashes) >= maxHashes {
		clear(d.hashes)
	}
	d.hashes[company], d.shards = hash, shards
	if companies != nil {
		d.companies = companies
	}
	maps.DeleteFunc(d.nodes, func(address string, node *directNode) bool {
		used := slices.ContainsFunc(shards, func(s shardLocation) bool { return s.address == address })
		if !used && node.db != nil {
			unused = append(unused, node.db)
		}
		return !used
	})
	return unused
}

// nodeAt returns the node at a location if it is ready. probe is set for the one caller who is to find out whether it
// can be used.
func (d *directNodes) nodeAt(ctx context.Context, at shardLocation) (node *directNode, probe bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, false
	}
	node = d.nodes[at.address]
	if node == nil {
		node = &directNode{address: at.address, share: newConnectionShare(d.size)}
		d.nodes[at.address] = node
	}
	switch {
	case node.ready && node.group == at.group:
		return node, false
	case node.probing || time.Now().Before(node.absence.until):
		return nil, false
	}
	if node.db == nil {
		var err error
		if node.db, err = d.open(at.address); err != nil {
			d.miss(ctx, node, err)
			return nil, false
		}
	}
	node.ready, node.probing, node.group = false, true, at.group
	return node, true
}

// gain records that a node can be used.
func (d *directNodes) gain(ctx context.Context, node *directNode) {
	d.mu.Lock()
	defer d.mu.Unlock()
	node.ready, node.probing, node.absence = true, false, absence{}
	if node.logged {
		node.logged = false
		d.log.InfoContext(ctx, "ticketing/store: a node of the cluster is connected to again", "node", node.address)
	}
}

// lose records that a node cannot be used.
func (d *directNodes) lose(ctx context.Context, node *directNode, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if node.ready || node.probing {
		d.miss(ctx, node, err)
	}
}

// miss leaves a node alone for some time, twice as long after each failure. The caller holds the lock.
func (d *directNodes) miss(ctx context.Context, node *directNode, err error) {
	node.ready, node.probing = false, false
	node.absence.pause = min(max(2*node.absence.pause, firstAbsence), longestAbsence)
	node.absence.until = time.Now().Add(node.absence.pause)
	if !node.logged {
		node.logged = true
		d.log.WarnContext(ctx, "ticketing/store: a node of the cluster cannot be connected to; its companies are reached "+
			"through the node of the database's URL", "node", node.address, "error", err)
	}
}

// errOtherNode is the error of an address that leads elsewhere.
var errOtherNode = errors.New("the address leads to another node or another database")

// probe connects to a node, and returns an error if it is not the one of a group in the cluster of e. The address is
// the one that the nodes have for it: from here it may lead somewhere else.
func (e *postgresEngine) probe(ctx context.Context, node *directNode, group int64) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	own := e.known.Load()
	if own == nil {
		if err := e.identify(ctx); err != nil {
			return err
		}
		own = e.known.Load()
	}
	near := e.near(node)
	found, err := near.readIdentity(ctx, near.db)
	if err != nil {
		return err
	}
	var at int64
	err = near.query(ctx, near.db, build(e, "SELECT groupid::bigint FROM pg_catalog.pg_dist_local_group"),
		eachRow(func(row rowSet) error { return row.Scan(&at) }))
	if err == nil && (at != group || found.tables != own.tables) {
		return errOtherNode
	}
	return err
}

// readShardLocations reads the hash of a company, and all shards by their hashes. Those of other nodes without a
// current catalogue are left out.
func (e *postgresEngine) readShardLocations(
	ctx context.Context, company uuid.UUID,
) (hash int64, shards []shardLocation, err error) {
	ctx, cancel := context.WithTimeout(ctx, locationsTimeout)
	defer cancel()
	err = e.query(ctx, e.db, build(e, `SELECT h.hash, s.least, s.most, s.shardid, s.groupid,
			CASE WHEN s.own THEN '' ELSE s.nodename END, s.nodeport
		FROM (SELECT pg_catalog.worker_hash(?::uuid)::bigint AS hash) h LEFT JOIN (
			SELECT s.shardminvalue::bigint AS least, s.shardmaxvalue::bigint AS most, s.shardid, n.groupid::bigint,
				n.nodename, n.nodeport::bigint, n.groupid = l.groupid AS own
			FROM pg_catalog.pg_dist_shard s
				JOIN pg_catalog.pg_dist_placement p ON p.shardid = s.shardid AND p.shardstate = 1
				JOIN pg_catalog.pg_dist_node n ON n.groupid = p.groupid AND n.noderole = 'primary' AND n.isactive
				CROSS JOIN pg_catalog.pg_dist_local_group l
			WHERE s.logicalrelid = pg_catalog.to_regclass(`+e.anchorLiteral()+`)
				AND (n.groupid = l.groupid OR n.hasmetadata AND n.metadatasynced)
		) s ON true ORDER BY s.least`, company),
		eachRow(func(row rowSet) error {
			var least, most, shard, group, port sql.NullInt64
			var host sql.NullString
			if err := row.Scan(&hash, &least, &most, &shard, &group, &host, &port); err != nil || !least.Valid {
				return err
			}
			at := shardLocation{least: least.Int64, most: most.Int64, shard: shard.Int64, group: group.Int64}
			if host.String != "" {
				at.address = net.JoinHostPort(host.String, strconv.FormatInt(port.Int64, 10))
			}
			shards = append(shards, at)
			return nil
		}))
	return hash, shards, err
}

// soleCompany returns the company of a transaction, or the zero id if it has several or none.
func soleCompany(in driver.BeginOptions) uuid.UUID {
	companies := distinct(slices.Concat(in.Exclusive, in.Shared))
	if len(companies) != 1 {
		return uuid.Nil
	}
	return companies[0]
}

// companyIn returns the company of a query, or the zero id if it finds none or several. It decides on which node a
// query runs, and for those of namesShards also which shards it names.
func companyIn(text string, values []any) uuid.UUID {
	for i, value := range values {
		switch of := value.(type) {
		case uuid.UUID:
			before, after, found := strings.Cut(text, "company_id = ?")
			if found && strings.Count(before, "?") == i && !strings.Contains(after, "company_id = ?") {
				return of
			}
		case interface{ soleCompany() uuid.UUID }:
			if company := of.soleCompany(); company != uuid.Nil {
				return company
			}
		}
	}
	return uuid.Nil
}

// soleCompany returns the company of all rows, or the zero id if they have several or none.
func (s set) soleCompany() uuid.UUID {
	column := slices.IndexFunc(s.columns, func(name string) bool {
		return name == "company_id" || strings.HasSuffix(name, ".company_id")
	})
	if column < 0 {
		return uuid.Nil
	}
	if s.typed != nil {
		for row := 1; row < s.count; row++ {
			if !s.equal(column, 0, row) {
				return uuid.Nil
			}
		}
		of, _ := s.value(column, 0).(uuid.UUID)
		return of
	}
	return soleCompanyOf(s.rows, func(row []any) uuid.UUID {
		of, _ := row[column].(uuid.UUID)
		return of
	})
}

func (a inRows) soleCompany() uuid.UUID { return set(a).soleCompany() }

// stats adds up the statistics of the pools.
func (d *directNodes) stats(all sql.DBStats) sql.DBStats {
	for _, pool := range d.pools(false) {
		stats := pool.Stats()
		all.MaxOpenConnections += stats.MaxOpenConnections
		all.OpenConnections += stats.OpenConnections
		all.InUse += stats.InUse
		all.Idle += stats.Idle
		all.WaitCount += stats.WaitCount
		all.WaitDuration += stats.WaitDuration
		all.MaxIdleClosed += stats.MaxIdleClosed
		all.MaxIdleTimeClosed += stats.MaxIdleTimeClosed
		all.MaxLifetimeClosed += stats.MaxLifetimeClosed
	}
	return all
}

// close closes the connections. No others are opened afterwards.
func (d *directNodes) close() error { return closePools(d.pools(true)) }

// pools returns the pools that are open, the last ones if no more are to be opened.
func (d *directNodes) pools(last bool) (open []*bun.DB) {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = d.closed || last
	for _, node := range d.nodes {
		if node.db != nil {
			open = append(open, node.db)
		}
	}
	return open
}

func closePools(pools []*bun.DB) error {
	var failed []error
	for _, pool := range pools {
		failed = append(failed, pool.Close())
	}
	return errors.Join(failed...)
}
