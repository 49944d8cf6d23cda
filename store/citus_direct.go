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

// Every node of a cluster runs every statement. The node that has the company runs it with one plan and without a
// message to another node. With [Config.DirectNodes] the store begins the transactions of a company there, and reads
// there. Which node that is only affects the speed: if a shard has moved meanwhile, the node that was asked passes the
// statement on. The gates and claims are locks of rows and of the company's node, so they meet wherever they are taken.

const (
	// placesAge is how long the places of shards count before they are read again.
	placesAge = 10 * time.Second
	// placesPatience bounds the wait for them.
	placesPatience = time.Second
	// maxHashes bounds how many companies' hashes are kept; a company without one costs a query.
	maxHashes = 100_000
)

// directNodes are the connections to the nodes of a cluster. It is safe for concurrent use.
type directNodes struct {
	open func(address string) (*directNode, error)
	log  *slog.Logger

	mu    sync.Mutex
	nodes map[string]*directNode // by address
	// hashes are those by which companies are distributed. They never change.
	hashes map[uuid.UUID]int64
	// shards are those on other nodes than the one that the store's own pool is connected to.
	shards  []placedShard
	read    time.Time // when they were last read
	reading bool
}

// placedShard is a range of hashes and the address of the node that has their companies.
type placedShard struct {
	least, most int64
	address     string
}

// directNode is a pool of connections to a node.
type directNode struct {
	db    *bun.DB
	share *connectionShare
	away  absence // guarded by the lock of directNodes
}

// newDirectNodes returns the connections to the nodes of a cluster, none yet. They have what the URL of the database
// has, but for the host.
func newDirectNodes(dsn string, cfg Config) (*directNodes, error) {
	parsed, err := url.Parse(dsn)
	if err != nil || parsed.Host == "" {
		return nil, errNotURL
	}
	open := func(address string) (*directNode, error) {
		of := *parsed
		of.Host = address
		options := of.Query()
		options.Del("host")
		of.RawQuery = options.Encode()
		connector, err := connectorFor(of.String())
		if err != nil {
			return nil, err
		}
		return &directNode{
			db:    bun.NewDB(newPool(connector, cfg), pgdialect.New()),
			share: newConnectionShare(cfg.Connections),
		}, nil
	}
	return &directNodes{
		open: open, log: cfg.Logger, nodes: make(map[string]*directNode), hashes: make(map[uuid.UUID]int64),
	}, nil
}

// atNode calls do with an engine that is connected to the node of a company, if there is one. If that node cannot be
// reached, it calls do with e, which may reach it another way.
func (e *postgresEngine) atNode(ctx context.Context, company uuid.UUID, do func(e *postgresEngine) error) error {
	if e.direct == nil || company == uuid.Nil {
		return do(e)
	}
	address, node := e.direct.nodeOf(ctx, e, company)
	if node == nil {
		return do(e)
	}
	near := *e
	near.db, near.share, near.direct, near.isNode = node.db, node.share, nil, true
	err := do(&near)
	var failed *connectError
	unreached := errors.As(err, &failed)
	if e.direct.record(node, !unreached, time.Now()) {
		if unreached {
			e.direct.log.WarnContext(ctx, "ticketing/store: a node of the cluster cannot be reached directly; its companies "+
				"are reached through the node of --database", "node", address, "error", e.classify(err))
		} else {
			e.direct.log.InfoContext(ctx, "ticketing/store: a node of the cluster is reached directly again", "node", address)
		}
	}
	if unreached && ctx.Err() == nil {
		return do(e)
	}
	return err
}

// nodeOf returns the node of a company, or nil if it is unknown, away, or the one that e is connected to.
func (d *directNodes) nodeOf(ctx context.Context, e *postgresEngine, company uuid.UUID) (string, *directNode) {
	d.mu.Lock()
	defer d.mu.Unlock()
	hash, known := d.hashes[company]
	// One caller reads again what is known, and the others use it meanwhile.
	if !known || !d.reading && time.Since(d.read) > placesAge {
		d.reading = true
		d.mu.Unlock()
		found, shards, err := e.readPlaces(ctx, company)
		d.mu.Lock()
		d.reading, d.read = false, time.Now()
		switch {
		case err == nil:
			if len(d.hashes) >= maxHashes {
				clear(d.hashes)
			}
			d.hashes[company], d.shards, hash = found, shards, found
		case !known:
			return "", nil
		}
	}
	at, ok := slices.BinarySearchFunc(d.shards, hash, func(s placedShard, hash int64) int {
		switch {
		case s.most < hash:
			return -1
		case s.least > hash:
			return 1
		}
		return 0
	})
	if !ok {
		return "", nil
	}
	address := d.shards[at].address
	node := d.nodes[address]
	if node == nil {
		opened, err := d.open(address)
		if err != nil {
			return "", nil
		}
		node, d.nodes[address] = opened, opened
	}
	if time.Now().Before(node.away.until) {
		return "", nil
	}
	return address, node
}

// record records whether a node was reached, and reports whether that has changed.
func (d *directNodes) record(node *directNode, reached bool, now time.Time) (changed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	wasAway := node.away != absence{}
	if reached {
		node.away = absence{}
		return wasAway
	}
	node.away.pause = min(max(2*node.away.pause, firstAbsence), longestAbsence)
	node.away.until = now.Add(node.away.pause)
	return !wasAway
}

// readPlaces reads the hash of a company, and the shards that other nodes have, by their hashes. It gives up early:
// the company may be reached although the node of the URL is not.
func (e *postgresEngine) readPlaces(
	ctx context.Context, company uuid.UUID,
) (hash int64, shards []placedShard, err error) {
	ctx, cancel := context.WithTimeout(ctx, placesPatience)
	defer cancel()
	err = e.query(ctx, e.db, build(e, `SELECT h.hash, s.least, s.most, s.nodename, s.nodeport
		FROM (SELECT pg_catalog.worker_hash(?::uuid)::bigint AS hash) h LEFT JOIN (
			SELECT s.shardminvalue::bigint AS least, s.shardmaxvalue::bigint AS most, n.nodename, n.nodeport::bigint
			FROM pg_catalog.pg_dist_shard s
				JOIN pg_catalog.pg_dist_placement p ON p.shardid = s.shardid AND p.shardstate = 1
				JOIN pg_catalog.pg_dist_node n ON n.groupid = p.groupid AND n.noderole = 'primary' AND n.isactive
			WHERE s.logicalrelid = pg_catalog.to_regclass(`+e.anchorLiteral()+`)
				AND p.groupid <> (SELECT groupid FROM pg_catalog.pg_dist_local_group)
		) s ON true ORDER BY s.least`, company),
		eachRow(func(row rowSet) error {
			var least, most, port sql.NullInt64
			var host sql.NullString
			if err := row.Scan(&hash, &least, &most, &host, &port); err != nil || !least.Valid {
				return err
			}
			shards = append(shards, placedShard{
				least.Int64, most.Int64, net.JoinHostPort(host.String, strconv.FormatInt(port.Int64, 10)),
			})
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

// companyIn returns the company of a query, or the zero id if it finds none. It need not be right.
func companyIn(text string, values []any) uuid.UUID {
	for i, value := range values {
		switch of := value.(type) {
		case uuid.UUID:
			before, _, found := strings.Cut(text, "company_id = ?")
			if found && strings.Count(before, "?") == i {
				return of
			}
		case interface{ firstCompany() uuid.UUID }:
			if company := of.firstCompany(); company != uuid.Nil {
				return company
			}
		}
	}
	return uuid.Nil
}

// firstCompany returns the company of the first row.
func (s set) firstCompany() uuid.UUID {
	column := slices.Index(s.columns, "company_id")
	if len(s.rows) == 0 || column < 0 {
		return uuid.Nil
	}
	company, _ := s.rows[0][column].(uuid.UUID)
	return company
}

func (a inRows) firstCompany() uuid.UUID { return set(a).firstCompany() }

// stats adds up the statistics of the pools.
func (d *directNodes) stats(all sql.DBStats) sql.DBStats {
	if d == nil {
		return all
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for node := range maps.Values(d.nodes) {
		of := node.db.Stats()
		all.MaxOpenConnections += of.MaxOpenConnections
		all.OpenConnections += of.OpenConnections
		all.InUse += of.InUse
		all.Idle += of.Idle
		all.WaitCount += of.WaitCount
		all.WaitDuration += of.WaitDuration
		all.MaxIdleClosed += of.MaxIdleClosed
		all.MaxIdleTimeClosed += of.MaxIdleTimeClosed
		all.MaxLifetimeClosed += of.MaxLifetimeClosed
	}
	return all
}

// close closes the connections.
func (d *directNodes) close() error {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	var failed []error
	for node := range maps.Values(d.nodes) {
		failed = append(failed, node.db.Close())
	}
	return errors.Join(failed...)
}
