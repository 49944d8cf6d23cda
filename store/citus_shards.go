package store

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// A node of a cluster plans a statement on a distributed table twice: as that of a cluster, and then as that of the
// shard. It keeps neither plan of most statements. With [Config.DirectNodes] the frequent statements of one company
// name its shards instead. They are those of one PostgreSQL, in their messages, their plans and what they cost.
//
// What makes that right is that the shards are where the catalogue says, for as long as they are used:
//
//   - A transaction first runs an UPDATE of the distributed table that changes no row. Citus takes the lock by which
//     every write of a shard excludes a move of it or a split, and holds it to the end of the transaction. Such a
//     change takes the lock for all colocated shards on every node before it changes the catalogue, and so does the
//     UPDATE with the one of companies.
//   - After that, in the same message, the transaction fails if the catalogue of the node does not place the shard
//     there. A read outside of a transaction does so, too, without the lock: as a statement of Citus it may still read
//     from the node that had the shard a moment ago.
//
// A transaction that fails like that begins again the other way, which reaches the company wherever it is. Statements
// that are not among the frequent ones name the distributed tables in any case, on the same connection.

// companyShards are the shards of all tables that have the rows of a company, on one node. id and names are never
// changed.
type companyShards struct {
	id int64 // the shard of ticketing_companies
	// names are those of the shards, by the names of the tables.
	names map[string]string

	mu     sync.RWMutex
	texts  map[string][]byte // statements that name the shards, by those that name the tables
	length int               // of texts, in bytes
}

// maxShardTexts bounds the statements that are remembered for the shards of a company, in bytes.
const maxShardTexts = 1 << 20

// rename returns a statement that names the shards in place of the tables. The statement is a template, so no text of
// a user is in it. The result must not be changed.
func (c *companyShards) rename(template []byte) []byte {
	c.mu.RLock()
	renamed, known := c.texts[string(template)]
	c.mu.RUnlock()
	if known {
		return renamed
	}
	renamed = storeTable.ReplaceAllFunc(template, func(name []byte) []byte {
		if shard, found := c.names[strings.Trim(string(name), `"`)]; found {
			return []byte(shard)
		}
		return name
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.length += len(template) + len(renamed); c.length > maxShardTexts || c.texts == nil {
		c.texts, c.length = make(map[string][]byte), len(template)+len(renamed)
	}
	c.texts[string(template)] = renamed
	return renamed
}

// namesShards reports whether a statement names the shards of its company, by its name: see [Statement]. Each is about
// one company, and about tables that are distributed by company.
func namesShards(name string) bool {
	switch name {
	case "FindAPIKeys", "DueWork": // They ask all companies.
		return false
	case "Admissions", "Brandings", "CountEvents", "CountTiers", "DispatchFacts", "Events", "ListBatches", "ListEvents",
		"ListOrders", "Lock", "LockBatches", "OrderEndings", "PriceList", "Rates", "SumBatches", "TakeFacts":
		return true
	}
	return isHot(name)
}

// errMoved is the error of a read of a View that named shards which are not on their node any more. It is made again.
var errMoved = errors.New("ticketing/store: the company is not on the node that was asked")

// onShards returns an engine whose statements name the shards of a company. It returns nil if these are not known, or
// their node cannot be used.
func (e *postgresEngine) onShards(ctx context.Context, company uuid.UUID) *postgresEngine {
	if e.direct == nil || company == uuid.Nil {
		return nil
	}
	node, shards := e.direct.placeOf(ctx, e, company)
	if shards == nil {
		return nil
	}
	on := *e
	if node != nil {
		on = *e.near(node)
	}
	on.direct, on.isNode, on.distributed = nil, true, false
	on.shards, on.node, on.shapes = shards, node, &e.direct.shapes
	return &on
}

// moved is called with the driver's error of the first message to an engine of onShards. It reports whether the same
// may be tried the other way, since the shards are not there. The locations are then read again, and a node that cannot
// be connected to is left alone.
func (d *directNodes) moved(ctx context.Context, on *postgresEngine, err error) bool {
	switch _, unreached := errors.AsType[*connectError](err); {
	case unreached && on.node != nil && ctx.Err() == nil:
		d.lose(ctx, on.node, on.classify(err))
		return true
	case stateIs(err, divisionByZero, undefinedTable, "25006", "42501"):
		// Or a server that may only read, or a role without UPDATE on the table of companies.
		d.expireLocations(stateIs(err, undefinedTable))
		return true
	}
	return err.Error() == poolClosed
}

const (
	divisionByZero = "22012"
	// poolClosed is the error of a pool that was closed because its node has no shards any more.
	poolClosed = "sql: database is closed"
)

// appendHere adds the statement that fails, by a division by zero, if the shards are not on the node, or also
// elsewhere, or if Citus would reach them by a connection of its own, which would not see what the transaction wrote.
func (e *postgresEngine) appendHere(to *builder) {
	e.appendSilent(to, `(SELECT 1 / CASE WHEN count(*) = 1 AND current_setting('citus.enable_local_execution') = 'on'
			AND min(p.groupid) = (SELECT groupid FROM pg_catalog.pg_dist_local_group) THEN 1 ELSE 0 END
		FROM pg_catalog.pg_dist_placement p WHERE p.shardid = ? AND p.shardstate = 1) < 0`, e.shards.id)
}

// lockShards returns the statements that keep the shards of a company where they are, and then take the locks: the
// claims, and the row of the company in place of its gate. If all claims are in flight it waits for no row, since the
// calls that have the claims may hold it; it may wait for a move of the shards, though. None returns rows, as in
// lockMessage.
func (e *postgresEngine) lockShards(in driver.BeginOptions, after string) (message *builder, returnsClaims bool) {
	company := soleCompany(in)
	message = build(e, "")
	message.add("UPDATE "+anchor+" SET status = status WHERE id = ? AND status = ''", company)
	message.endPart(keepNot, nil) // Citus 13 plans a prepared one at each EXECUTE, and keeps all plans.
	e.appendHere(message)
	gate := "(SELECT count(1) FROM (SELECT 1 FROM " + anchor + " WHERE id = ?" + rowLock + ") AS locked) < 0"
	if returnsClaims = len(in.Keys) > 0; returnsClaims {
		e.appendSilent(message, claimsCondition, numbers(e.claims(in.Keys)))
		gate = "CASE WHEN strpos(" + claimsSetting + ", 't') > 0 THEN " + gate + " ELSE false END"
	}
	e.appendSilent(message, gate, company)
	if after != "" {
		message.add(after)
		message.endPart(keepNot, nil)
	}
	return message, returnsClaims
}

// shardEngine returns the engine for a statement about a company, and nil if that is the store's own. A View names the
// shards of the first company that a frequent statement is about.
func (s *session) shardEngine(ctx context.Context, name string, company uuid.UUID) *postgresEngine {
	if company == uuid.Nil || !namesShards(name) {
		return nil
	}
	if e, direct := s.store.engine.(*postgresEngine); direct && s.alone && s.on == nil && !s.noShards {
		if s.on = e.onShards(ctx, company); s.on != nil {
			s.onCompany = company
		} else {
			s.noShards = true
		}
	}
	if s.onCompany != company {
		return nil
	}
	return s.on
}

// companyIn returns the company of a query where its statement may name shards, and else the zero id.
func (s *session) companyIn(text string, values []any) uuid.UUID {
	if !s.mayNameShards() {
		return uuid.Nil
	}
	return companyIn(text, values)
}

// engineAt is shardEngine, or the store's own engine.
func (s *session) engineAt(ctx context.Context, name string, company uuid.UUID) engine {
	if on := s.shardEngine(ctx, name, company); on != nil {
		return on
	}
	return s.store.engine
}

// moved is called with the driver's error of a statement of a View that named shards. It reports whether the statement
// may be made on the distributed tables, as all further ones are.
func (s *session) moved(ctx context.Context, err error) bool {
	if e := s.store.engine.(*postgresEngine); !e.direct.moved(ctx, s.on, err) {
		return false
	}
	s.on, s.onCompany, s.noShards = nil, uuid.Nil, true
	s.ahead.forget()
	return true
}

// retryMoved runs a read of a View, and once more if the shards that it named are not on their node.
func retryMoved[R any](read func() (R, error)) (R, error) {
	found, err := read()
	if errors.Is(err, errMoved) {
		return read()
	}
	return found, err
}

// shards returns the shards that statements of the session name, or nil.
func (s *session) shards() *companyShards {
	if s.on == nil {
		return nil
	}
	return s.on.shards
}

// soleCompanyOf returns the company of records, or the zero id if they have several or none.
func soleCompanyOf[R any](records []R, company func(R) uuid.UUID) uuid.UUID {
	var sole uuid.UUID
	for i, record := range records {
		of := company(record)
		if i > 0 && of != sole {
			return uuid.Nil
		}
		sole = of
	}
	return sole
}

func (s stock) soleCompany() uuid.UUID {
	return soleCompanyOf(s, func(q driver.StockQuery) uuid.UUID { return q.CompanyID })
}

func (t terms) soleCompany() uuid.UUID { return t.of.soleCompany() }

// readShardNames reads the names of the shards of all tables, by the shard of the companies. Those that have copies on
// several nodes are left out, since all copies would have to be written.
func (e *postgresEngine) readShardNames(ctx context.Context) (map[int64]*companyShards, error) {
	ctx, cancel := context.WithTimeout(ctx, locationsTimeout)
	defer cancel()
	all := make(map[int64]*companyShards)
	err := e.query(ctx, e.db, build(e, `SELECT a.shardid, c.relname, pg_catalog.shard_name(s.logicalrelid, s.shardid)::text
		FROM pg_catalog.pg_dist_partition ap
			JOIN pg_catalog.pg_dist_shard a ON a.logicalrelid = ap.logicalrelid
			JOIN pg_catalog.pg_dist_partition sp ON sp.colocationid = ap.colocationid
			JOIN pg_catalog.pg_dist_shard s ON s.logicalrelid = sp.logicalrelid AND s.shardminvalue = a.shardminvalue
			JOIN pg_catalog.pg_class c ON c.oid = s.logicalrelid AND c.relnamespace = (
				SELECT relnamespace FROM pg_catalog.pg_class WHERE oid = ap.logicalrelid)
		WHERE ap.logicalrelid = pg_catalog.to_regclass(`+e.anchorLiteral()+`) AND 1 = (
			SELECT count(*) FROM pg_catalog.pg_dist_placement p WHERE p.shardid = a.shardid AND p.shardstate = 1)`),
		eachRow(func(row rowSet) error {
			var id int64
			var table, shard string
			if err := row.Scan(&id, &table, &shard); err != nil {
				return err
			}
			if all[id] == nil {
				all[id] = &companyShards{id: id, names: make(map[string]string)}
			}
			all[id].names[table] = shard
			return nil
		}))
	// A table that is not distributed with the others has no shard beside theirs.
	maps.DeleteFunc(all, func(_ int64, shards *companyShards) bool {
		return slices.ContainsFunc(placements(), func(p placement) bool {
			return (p.column == "company_id" || p.table == anchor) && shards.names[p.table] == ""
		})
	})
	return all, err
}

// reachNodes adds the settings for other nodes before the first statement of a transaction on shards that may reach
// some.
func (tx *transaction) reachNodes(statement *builder) {
	if tx.on == nil || tx.reaches || statement.shards != nil {
		return
	}
	tx.reaches = true
	e := tx.store.engine.(*postgresEngine)
	tx.pending.add(strings.TrimSuffix(e.onNodes(e.limits(e.statement, tx.patience)), "; "))
	tx.pending.endPart(keepNot, nil)
}

// mayNameShards reports whether some statements of the session name shards.
func (s *session) mayNameShards() bool {
	e, ok := s.store.engine.(*postgresEngine)
	return ok && e.direct != nil && (s.on != nil || s.alone && !s.noShards)
}
