package store

import (
	"cmp"
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path"
	"strings"
	"sync/atomic"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/driver/pgdriver"
	"github.com/uptrace/bun/schema"

	"github.com/floatgate/ticketing/driver"
)

const (
	// oldestPostgres is the oldest supported version, in PostgreSQL's numeric form. It is the oldest version that the
	// project tests and that the PostgreSQL project still supports.
	oldestPostgres = 140000
	// statementTimeout is how long a statement of an Update or a View may take. The driver does not cancel a statement,
	// so the database does, before the driver's read timeout.
	statementTimeout = 8 * time.Second
	// snapshotTimeout is the same within a Snapshot, which may read a company's whole history.
	snapshotTimeout = 50 * time.Second
	readTimeout     = 60 * time.Second
	// maxConnAge bounds the life of a connection, so that connections spread over servers that a balancer adds, and a
	// session gives back its memory. A new one has to prepare all statements again. What an old one has prepared stays
	// right while tables grow: see TestNewcomerPlans. maxConnIdle bounds how long it may be idle.
	maxConnAge  = time.Hour
	maxConnIdle = 2 * time.Minute
)

// postgresEngine works on a pool of connections to PostgreSQL, its own or a host's.
type postgresEngine struct {
	db       *bun.DB
	share    *connectionShare
	gen      schema.QueryGen
	own      bool // close closes the pool
	patience time.Duration
	rowGates bool
	schema   string
	// place is the schema of the tables, which was configured or found through the search path.
	place string
	// multiResult is set if the driver returns the rows of one of several statements in a message.
	multiResult bool
	// distributed is set if the tables are distributed over several nodes.
	distributed bool
	// nodes is what is known of the nodes of a cluster, and direct are the connections to them, or nil.
	nodes  *clusterNodes
	direct *directNodes
	// isNode is set if the engine is connected to the node that has the company of its statements. It is for reads outside
	// of a transaction, and for transactions on shards until they may use other nodes, see reachNodes: other transactions
	// send their settings to all nodes.
	isNode bool
	// shards are what statements name in place of the tables, see onShards. node is where they are, or nil for the node of
	// db.
	shards *companyShards
	node   *directNode
	// shapes are those of the statements that name shards, or nil.
	shapes *shapes
	// preparing is the state of prepared statements. It is nil for a host's pool.
	preparing *preparing
	// copiesRows is set if rows may be written by COPY: see copies.
	copiesRows bool
	// kept are the settings that each session of the store keeps, or empty, and keptLimit is the limit of statements among
	// them: see keepSettings.
	kept      string
	keptLimit time.Duration
	// known is the identity of the tables when it was last read.
	known *atomic.Pointer[identity]
	// statement bounds a statement, and idle the time between two statements of a transaction: statementTimeout and
	// maxDuration.
	statement, idle time.Duration
}

func openPostgres(ctx context.Context, dsn string, cfg Config) (*postgresEngine, error) {
	connector, err := connectorFor(dsn)
	if err != nil {
		return nil, err
	}
	if !cfg.NoPrepare {
		connector.preparing = &preparing{log: cfg.Logger, most: maxStatements}
	}
	warnUnverified(ctx, connector, cfg)
	pool := newPool(connector, cfg)
	e := newPostgres(bun.NewDB(pool, pgdialect.New()), cfg)
	e.own, e.share, e.preparing = true, newConnectionShare(cfg.Connections), connector.preparing
	err = e.checkServer(ctx)
	if err == nil && e.distributed && cfg.DirectNodes {
		if e.preparing != nil {
			e.preparing.most = maxShardStatements
		}
		e.direct, err = newDirectNodes(ctx, dsn, cfg, e.preparing)
	}
	if err == nil && !e.distributed && e.preparing != nil {
		e.allowCopy(ctx)
		e.keepSettings()
	}
	if err != nil {
		_ = pool.Close()
		return nil, err
	}
	return e, nil
}

// warnUnverified logs that the certificate of a server is not verified.
func warnUnverified(ctx context.Context, connector *closingConnector, cfg Config) {
	if conf := connector.Config(); !verified(conf) && !local(conf) {
		cfg.Logger.WarnContext(ctx, "ticketing/store: the certificate of the database is not verified: "+
			"ask for sslmode=verify-full&sslrootcert=FILE", "host", conf.Addr)
	}
}

// newPool returns the pool of a store's own connections.
func newPool(connector sqldriver.Connector, cfg Config) *sql.DB {
	pool := sql.OpenDB(connector)
	pool.SetMaxOpenConns(cfg.Connections)
	pool.SetMaxIdleConns(cfg.Connections)
	pool.SetConnMaxLifetime(maxConnAge)
	pool.SetConnMaxIdleTime(maxConnIdle)
	return pool
}

func newPostgres(db *bun.DB, cfg Config) *postgresEngine {
	_, whole := db.Driver().(pgdriver.Driver)
	return &postgresEngine{
		db: db, gen: schema.NewQueryGen(db.Dialect()), patience: cfg.BusyTimeout, rowGates: cfg.RowGates || cfg.DirectNodes,
		schema: cfg.Schema, multiResult: whole, known: new(atomic.Pointer[identity]), statement: statementTimeout,
		idle: maxDuration, nodes: &clusterNodes{},
	}
}

var errNotURL = fmt.Errorf("%w: it is not a URL such as postgres://USER:PASSWORD@HOST:5432/NAME; "+
	"special characters in it are percent-encoded, @ as %%40", ErrDSN)

// connectorFor parses a database URL.
func connectorFor(dsn string) (*closingConnector, error) {
	// The messages of the parser and the driver are left out, since they may contain the password.
	parsed, err := url.Parse(dsn)
	if err != nil {
		return nil, errNotURL
	}
	options, err := readOptions(withSocket(dsn, parsed))
	if err != nil {
		return nil, err
	}
	options = append(options, pgdriver.WithReadTimeout(readTimeout))
	if !parsed.Query().Has("application_name") {
		options = append(options, pgdriver.WithApplicationName("ticketing"))
	}
	connector := pgdriver.NewConnector(options...)
	conf := connector.Config()
	if !parsed.Query().Has("sslmode") && !parsed.Query().Has("sslrootcert") && local(conf) {
		pgdriver.WithInsecure(true)(conf)
	}
	conf.EnableTracing = false
	return newClosingConnector(connector), nil
}

// withSocket returns a database URL that names the socket of a server where it names the folder of it, as libpq takes
// it: postgres://USER@/NAME?host=/var/run/postgresql&port=5432. The driver dials the path as it stands.
func withSocket(dsn string, parsed *url.URL) string {
	const name = ".s.PGSQL."
	query := parsed.Query()
	folder := query.Get("host")
	if !strings.HasPrefix(folder, "/") || strings.HasPrefix(path.Base(folder), name) {
		return dsn
	}
	query.Set("host", path.Join(folder, name+cmp.Or(query.Get("port"), parsed.Port(), "5432")))
	query.Del("port")
	at := *parsed
	at.RawQuery = query.Encode()
	return at.String()
}

// readOptions parses a database URL with the driver, which panics on some.
func readOptions(dsn string) (options []pgdriver.Option, err error) {
	defer func() {
		if recover() != nil {
			err = fmt.Errorf("%w: it has an option that is not understood, such as an sslmode other than disable, require, "+
				"verify-ca and verify-full, or a certificate that cannot be read", ErrDSN)
		}
	}()
	option := pgdriver.WithDSN(dsn)
	probe := &pgdriver.Config{}
	option(probe)
	return []pgdriver.Option{option}, nil
}

func local(conf *pgdriver.Config) bool {
	if conf.Network == "unix" {
		return true
	}
	host, _, err := net.SplitHostPort(conf.Addr)
	if err != nil {
		host = conf.Addr
	}
	address := net.ParseIP(host)
	return host == "localhost" || address != nil && address.IsLoopback()
}

func verified(conf *pgdriver.Config) bool {
	return conf.TLSConfig != nil && !conf.TLSConfig.InsecureSkipVerify
}

var errNoTLS = errors.New("the server offers no TLS: switch it on there, or append sslmode=disable to the " +
	"URL where the network between is trusted")

// closingConnector closes the network connection that the driver leaves open after a failed login.
type closingConnector struct {
	*pgdriver.Connector

	preparing *preparing // nil: the connections prepare nothing
}

type dialledKey struct{}

func newClosingConnector(connector *pgdriver.Connector) *closingConnector {
	conf := connector.Config()
	dial := conf.Dialer
	conf.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		if dialled, ok := ctx.Value(dialledKey{}).(*net.Conn); ok {
			*dialled = conn
		}
		return &lazyConn{Conn: conn}, nil
	}
	return &closingConnector{Connector: connector}
}

// lazyConn saves most of the driver's calls to SetReadDeadline: the driver makes one for each row that it reads.
type lazyConn struct {
	net.Conn

	reads time.Time // the current read deadline
}

// SetReadDeadline sets when a read fails. A deadline more than 20 s in the future may lag by up to a second.
func (c *lazyConn) SetReadDeadline(at time.Time) error {
	const far, little = 20 * time.Second, time.Second
	if later := at.Sub(c.reads); later >= 0 && later < little && time.Until(at) > far {
		return nil
	}
	c.reads = at
	return c.Conn.SetReadDeadline(at)
}

// SetDeadline sets when reads and writes fail.
func (c *lazyConn) SetDeadline(at time.Time) error {
	c.reads = at
	return c.Conn.SetDeadline(at)
}

// Connect opens a connection.
func (c *closingConnector) Connect(ctx context.Context) (sqldriver.Conn, error) {
	var dialled net.Conn
	conn, err := c.Connector.Connect(context.WithValue(ctx, dialledKey{}, &dialled))
	if err != nil {
		if dialled != nil {
			_ = dialled.Close()
		}
		if strings.Contains(err.Error(), "SSL is not enabled on the server") { // The driver has no error value for it.
			err = errNoTLS
		}
		return nil, &connectError{err}
	}
	if c.preparing == nil {
		return conn, nil
	}
	return newPreparingConn(conn.(*pgdriver.Conn), c.preparing), nil
}

// checkServer reads the version and the settings of the server, and refuses those that the store does not support.
func (e *postgresEngine) checkServer(ctx context.Context) error {
	var version int
	var conforming, encoding string
	err := e.query(ctx, e.db, build(e, `SELECT current_setting('server_version_num')::bigint,
			current_setting('standard_conforming_strings'), current_setting('client_encoding'), coalesce(current_schema(), '')`),
		eachRow(func(row rowSet) error { return row.Scan(&version, &conforming, &encoding, &e.place) }))
	if err == nil {
		e.distributed, err = e.extended(ctx)
	}
	if err != nil {
		return fmt.Errorf("ticketing/store: open: %w", e.classify(err))
	}
	if err := e.checkNode(ctx); err != nil {
		return err
	}
	e.place = cmp.Or(e.place, e.schema) // A schema that does not exist yet is not the current one.
	switch {
	case version < oldestPostgres:
		return tooOld(version)
	case conforming != "on":
		return fmt.Errorf("%w: its connections have standard_conforming_strings off", ErrUnsupported)
	case encoding != "UTF8":
		return fmt.Errorf("%w: its connections have a client_encoding other than UTF8", ErrUnsupported)
	}
	return nil
}

func tooOld(version int) error {
	return fmt.Errorf("%w: PostgreSQL %d is too old, %d or later is needed",
		ErrUnsupported, version/10000, oldestPostgres/10000)
}

// traits differ on a distributed database, which must see the company of each statement to find its node.
func (e *postgresEngine) traits() traits {
	sums := platformSums
	if e.distributed {
		sums = distributedSums
	}
	return traits{
		platformSums: sums,
		prepares:     e.shards != nil || e.preparing != nil && !e.distributed,
		migrations:   "postgres", batchesWrites: true,
		grouping: driver.Grouping{
			Lanes: 2, ByCompany: e.distributed,
			Reads: e.multiResult && (!e.distributed || e.direct != nil),
		},
		multiStatement: e.multiResult, joinsReads: e.multiResult && !e.distributed,
		locksBeside: !e.distributed, namesCompany: e.distributed, oneNode: e.distributed, rowLock: rowLock,
		skipLocked: rowLock + " SKIP LOCKED", byCodePoint: ` COLLATE "C"`,
		folded: func(column string) string { return "substr(lower(" + column + ` COLLATE "C"), 1, 60)` },
	}
}

// platformSums reads the sums of each company by their key, in a subquery: for a join, the planner may read those of
// all events. Citus allows no groups in such a subquery.
const (
	sumsOfCompany = ` FROM ticketing_sales_sums t
		WHERE t.company_id = c.id AND t.event_id = ? AND t.tier = '' AND t.at >= ? AND t.at < ?`
	platformSums = "SELECT c.id AS company_id, s.* FROM ticketing_companies c CROSS JOIN LATERAL (SELECT ? AS at, " +
		salesSums + sumsOfCompany + " GROUP BY 1) s" + notReset
	distributedSums = "SELECT c.id AS company_id, ? AS at, " + salesSums +
		" FROM ticketing_companies c CROSS JOIN LATERAL (SELECT *" + sumsOfCompany + ") s" + notReset + " GROUP BY 1, 2"
)

func (e *postgresEngine) reader() bun.IConn { return e.db }

func (e *postgresEngine) pool() sql.DBStats { return e.direct.stats(e.db.Stats()) }

func (e *postgresEngine) close() error {
	if !e.own {
		return nil
	}
	return errors.Join(e.db.Close(), e.direct.close())
}

func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// query runs a statement. If a read finds its pooled connection dead, it is sent again: after a restart of the
// database, all idle connections are dead.
func (e *postgresEngine) query(
	ctx context.Context, conn bun.IConn, statement *builder, scan func(rowSet) error,
) error {
	opened, isSnapshot := conn.(*postgresSnapshot)
	switch {
	case isSnapshot && opened.tx == nil:
		return opened.begin(ctx, statement, scan)
	case conn != bun.IConn(e.db):
		ctx, text := e.message(ctx, statement)
		rows, err := conn.QueryContext(ctx, text)
		if err != nil {
			return err
		}
		return scanAll(rows, scan)
	case !e.multiResult:
		return e.queryAlone(ctx, string(statement.appendMessage(nil, nil)), scan)
	}
	return e.atNode(ctx, statement.company, func(e *postgresEngine) error { return e.queryPool(ctx, statement, scan) })
}

// queryPool runs a read on any connection of the pool, which ends with it.
func (e *postgresEngine) queryPool(ctx context.Context, statement *builder, scan func(rowSet) error) error {
	if e.shards != nil {
		message := build(e, "")
		e.appendHere(message)
		message.append(statement)
		message.endPart(statement.kept(), e.shards)
		statement = message
	}
	settings := e.settings("", e.statement, 0)
	settings.full += e.onNodes(readByIndex)
	if statement.oneConnection {
		// Citus keeps one connection to a node, and reads the definition of each shard again on every other one.
		const one = "SET LOCAL citus.max_adaptive_executor_pool_size TO 1; "
		settings.full += one
	}
	sent, text := e.messageAfter(ctx, settings, statement)
	for tries := e.db.Stats().OpenConnections; ; tries-- {
		conn, err := e.take(ctx, e.patience)
		if err != nil {
			return err
		}
		rows, err := conn.QueryContext(sent, text)
		if err == nil {
			return errors.Join(scanAll(rows, scan), conn.Close())
		}
		_ = conn.Close()
		var lost *lostError
		if tries <= 0 || !errors.As(e.classify(err), &lost) {
			return err
		}
	}
}

// queryAlone reads in a transaction of its own, for a driver that returns only the rows of a message's first statement.
// It sends the settings in a message before.
func (e *postgresEngine) queryAlone(ctx context.Context, text string, scan func(rowSet) error) error {
	begin := e.settings("BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY; ", e.statement, e.patience)
	conn, err := e.start(ctx, begin.full, e.patience)
	if err != nil {
		return err
	}
	rows, err := conn.QueryContext(ctx, text)
	if err == nil {
		err = scanAll(rows, scan)
	}
	if err == nil {
		_, err = conn.ExecContext(ctx, "COMMIT")
	}
	if err != nil {
		e.abandon(ctx, conn, err)
		return err
	}
	return conn.Close()
}

func (e *postgresEngine) exec(ctx context.Context, conn bun.IConn, statement *builder) (int, error) {
	bounded, cancel := context.WithTimeout(ctx, e.statement+time.Second)
	defer cancel()
	sent, text := e.message(bounded, statement)
	_, err := conn.ExecContext(sent, text)
	if err != nil && expired(bounded) && !expired(ctx) {
		err = &lostError{err}
	}
	return 0, err
}

func (e *postgresEngine) hasMigrations(ctx context.Context, conn bun.IConn) (bool, error) {
	found := false
	// to_regclass would read the session's cache, which may be older than the wait for the lock of migrations.
	err := e.query(ctx, conn, build(e, `SELECT EXISTS (SELECT FROM pg_catalog.pg_class
		WHERE relname = 'ticketing_migrations' AND pg_catalog.pg_table_is_visible(oid))`),
		eachRow(func(row rowSet) error { return row.Scan(&found) }))
	return found, err
}

// start takes a connection and sends the message that begins a transaction. If the connection turns out to be dead, it
// tries another one.
func (e *postgresEngine) start(ctx context.Context, message string, patience time.Duration) (pooledConn, error) {
	for tries := e.db.Stats().OpenConnections; ; tries-- {
		conn, err := e.take(ctx, patience)
		if err != nil {
			return pooledConn{}, err
		}
		if _, err = conn.ExecContext(ctx, message); err == nil {
			return conn, nil
		}
		e.abandon(ctx, conn, err)
		var lost *lostError
		if tries <= 0 || !errors.As(e.classify(err), &lost) {
			return pooledConn{}, err
		}
	}
}

// take waits for a connection that is not reserved, no longer than for a lock. If a patience shorter than the
// configured one ends while a connection is being opened, the database is not unavailable, although the driver would
// report its timeout like that.
func (e *postgresEngine) take(ctx context.Context, patience time.Duration) (pooledConn, error) {
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	conn, err := e.connect(waiting, patience)
	var making *connectError
	if err != nil && expired(waiting) && ctx.Err() == nil && !expired(ctx) &&
		(patience < e.patience || !errors.As(err, &making)) {
		return conn, errNoConnection
	}
	return conn, err
}

func (e *postgresEngine) connect(ctx context.Context, patience time.Duration) (pooledConn, error) {
	give, err := e.share.take(ctx, patience)
	if err != nil {
		return pooledConn{}, err
	}
	conn, err := e.db.Conn(ctx)
	if err != nil {
		give()
		return pooledConn{}, err
	}
	return pooledConn{conn, give}, nil
}

// abandon returns to the pool a connection whose transaction may have begun, with the error for which it is abandoned.
// One to a server that may only read is closed: the next one may lead to the new primary.
func (e *postgresEngine) abandon(ctx context.Context, conn pooledConn, cause error) {
	_, err := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
	if _, lost := errors.AsType[*lostError](e.classify(cause)); lost || err != nil {
		discard(conn.Conn)
	}
	_ = conn.Close()
}
