package store

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"io"
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
	"github.com/uptrace/bun/dialect/sqlitedialect"
	"github.com/uptrace/bun/schema"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ledger"
)

// Transient returns a transient error.
func Transient(err error) error { return &transientError{err} }

// IsTransient reports whether another run may succeed.
func IsTransient(err error) bool { return isTransient(err) }

// Prepared returns the statements that the connections keep: those of the writer, and those of a reader.
func (s *Store) Prepared(ctx context.Context) ([]string, error) {
	var texts []string
	for _, pool := range []*bun.DB{s.Writer(), s.Reader()} {
		conn, err := pool.Conn(ctx)
		if err != nil {
			return nil, err
		}
		err = conn.Raw(func(native any) error {
			texts = slices.AppendSeq(texts, maps.Keys(native.(*sqliteConn).prepared))
			return nil
		})
		if err := errors.Join(err, conn.Close()); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// Record makes the store remember the texts of its statements, and returns a function that returns them, each once.
func (s *Store) Record() func() []string {
	recorder := &recorder{engine: s.engine, texts: make(map[string]bool)}
	s.engine = recorder
	return recorder.seen
}

// recorder is an engine that remembers the statements that it runs.
type recorder struct {
	engine

	mu    sync.Mutex
	texts map[string]bool
}

func (r *recorder) query(
	ctx context.Context, conn bun.IConn, statement *builder, scan func(rowSet) error,
) error {
	r.remember(statement)
	return r.engine.query(ctx, conn, statement, scan)
}

func (r *recorder) exec(ctx context.Context, conn bun.IConn, statement *builder) (int, error) {
	r.remember(statement)
	return r.engine.exec(ctx, conn, statement)
}

func (r *recorder) remember(statement *builder) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, text := r.message(context.Background(), statement)
	r.texts[text] = true
}

func (r *recorder) seen() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.texts))
}

// sqlite returns the engine of a store on SQLite.
func (s *Store) sqlite() *sqliteEngine {
	if recorder, ok := s.engine.(*recorder); ok {
		return recorder.engine.(*sqliteEngine)
	}
	return s.engine.(*sqliteEngine)
}

// Settings returns named settings with which the node of a company runs the statements of an Update, a View or a
// Snapshot.
func (s *Store) Settings(
	ctx context.Context, company uuid.UUID, within string, names ...string,
) (settings map[string]string, err error) {
	ask := func(ctx context.Context, of *session) error {
		type setting struct{ name, value string }
		var found []setting
		found, err = query(ctx, of, "Settings", func(row rowSet, s *setting) error { return row.Scan(&s.name, &s.value) },
			`SELECT s.name, current_setting(s.name) FROM ticketing_companies c, unnest(?::text[]) AS s (name) WHERE c.id = ?`,
			"{"+strings.Join(names, ",")+"}", company)
		settings = make(map[string]string)
		for _, one := range found {
			settings[one.name] = one.value
		}
		return err
	}
	read := func(ctx context.Context, tx driver.ReadTx) error { return ask(ctx, tx.(*session)) }
	switch within {
	case "View":
		err = s.View(ctx, read)
	case "Snapshot":
		err = s.Snapshot(ctx, read)
	default:
		err = s.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
			_, err := tx.Begin(ctx, driver.BeginOptions{Exclusive: []uuid.UUID{company}})
			if err != nil {
				return err
			}
			return ask(ctx, &tx.(*transaction).session)
		})
	}
	return settings, err
}

// DistributeTables distributes the tables of any version of the schema.
func (s *Store) DistributeTables(ctx context.Context) error {
	engine, err := s.distributable()
	if err != nil {
		return err
	}
	return s.changeSchema(ctx, "distribute", func(ctx context.Context, conn bun.Conn) error {
		_, err := s.distribute(ctx, engine, conn)
		return err
	})
}

// Placements returns the tables and, for distributed ones, the column of the company or of the user.
func Placements() map[string]string {
	columns := make(map[string]string)
	for _, p := range placements() {
		columns[p.table] += p.column
	}
	return columns
}

// PlacementOrder returns the tables, each after those that its foreign keys reference.
func PlacementOrder() []string {
	var tables []string
	for _, p := range placements() {
		tables = append(tables, p.table)
	}
	return tables
}

// ApplyMigration applies a step as Migrate does.
func (s *Store) ApplyMigration(ctx context.Context, statement string) error {
	return s.changeSchema(ctx, "migrate", func(ctx context.Context, conn bun.Conn) error {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return err
		}
		return s.distributeAdded(ctx, conn)
	})
}

// MigrateNext applies the first pending migration and returns its name.
func (s *Store) MigrateNext(ctx context.Context) (string, error) { return s.applyNext(ctx) }

// TooOld returns the error for a PostgreSQL older than the oldest supported version.
func TooOld(version int) error { return tooOld(version) }

// Writer returns the connection that writes.
func (s *Store) Writer() *bun.DB { return s.sqlite().writer }

// Reader returns the pool of connections that read.
func (s *Store) Reader() *bun.DB { return s.sqlite().readers }

// Exec runs SQL that bypasses the store, and returns its error as the store would.
func (s *Store) Exec(ctx context.Context, statement string) error {
	_, err := s.Writer().DB.ExecContext(ctx, statement)
	return s.translate("test", err)
}

// SetLimits bounds a statement on PostgreSQL, and the time between two statements of a transaction.
func (s *Store) SetLimits(statement, idle time.Duration) {
	engine := s.engine.(*postgresEngine)
	engine.statement, engine.idle = statement, idle
	engine.keepSettings()
}

// Pool returns the pool of connections to PostgreSQL.
func (s *Store) Pool() *sql.DB { return s.engine.(*postgresEngine).db.DB }

// SelectLiterals reads rows back as PostgreSQL parsed them, once as the cells of rows and once as elements of arrays.
// Both are texts.
func (s *Store) SelectLiterals(
	ctx context.Context, rows [][]any, prepared bool,
) (scalars, arrays [][]sql.NullString, err error) {
	columns := make([]string, len(rows[0]))
	for i := range columns {
		columns[i] = "c" + strconv.Itoa(i)
	}
	e := s.engine.(*postgresEngine)
	read := func(statement *builder) (found [][]sql.NullString, err error) {
		if statement.err != nil {
			return nil, statement.err
		}
		if prepared {
			statement.prepare = keepAlways
		}
		ctx, text := e.message(ctx, statement)
		result, err := e.db.QueryContext(ctx, text)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, result.Close()) }()
		for result.Next() {
			row, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
			for i := range row {
				into[i] = &row[i]
			}
			if err := result.Scan(into...); err != nil {
				return nil, err
			}
			found = append(found, row)
		}
		return found, result.Err()
	}
	all := set{columns: columns, rows: rows}
	scalar := build(e, "SELECT ")
	for _, row := range rows {
		if len(scalar.text) > len("SELECT ") {
			scalar.add(" UNION ALL SELECT ")
		}
		for i, value := range row {
			if i > 0 {
				scalar.add(", ")
			}
			scalar.add("(")
			scalar.value(value)
			scalar.add(")::text")
		}
	}
	if scalars, err = read(scalar); err != nil {
		return nil, nil, err
	}
	array, t := build(e, "SELECT "), newValuesTable(all)
	t.shorten()
	for i := range columns {
		if i > 0 {
			array.add(", ")
		}
		array.add("(")
		t.appendCell(array, i)
		array.add(")::text")
	}
	if t.varying > 0 {
		array.add(" FROM ")
		t.appendFrom(array)
	}
	arrays, err = read(array)
	return scalars, arrays, err
}

// Lazily wraps a connection in the store's own kind of connection.
func Lazily(conn net.Conn) net.Conn { return &lazyConn{Conn: conn} }

// Classify translates an error of PostgreSQL into its meaning for the module.
func (s *Store) Classify(err error) error { return s.engine.(*postgresEngine).classify(err) }

// ByIndex is the settings under which every statement of PostgreSQL is planned.
func ByIndex() string { return byIndex() }

// LockStatement returns the statement by which a transaction of PostgreSQL takes its locks.
func LockStatement(in driver.BeginOptions) string {
	text, _ := (&postgresEngine{}).lockStatement(in)
	return text
}

// ShardTexts returns a function that writes an UPDATE of orders and an INSERT of them as statements that name shards,
// with their values, and one that returns how many different texts it had to prepare by then.
func ShardTexts() (write func(rows [][]any) string, prepared func() int) {
	e := &postgresEngine{
		gen: schema.NewQueryGen(pgdialect.New()), multiResult: true,
		shards: &companyShards{names: map[string]string{"ticketing_orders": "ticketing_orders_7"}}, shapes: &shapes{},
	}
	names := make(map[string]bool)
	return func(rows [][]any) string {
		of := set{columns: []string{"company_id", "id", "event_id", "buyer_email", "gross"}, rows: rows}
		to := build(e, "")
		for _, add := range []func(){
			func() { e.appendUpdate(to, "ticketing_orders", 2, of) }, func() { e.appendInsert(to, "ticketing_orders", of) },
		} {
			add()
			to.endPart(keepAlways, to.shards)
		}
		to.appendMessage(nil, func(template []byte, _ bool) (string, bool) {
			names[string(template)] = true
			return "name", false
		})
		return string(to.appendMessage(nil, nil))
	}, func() int { return len(names) }
}

// Pauses returns the functions that begin a pause of prepared statements, and that report whether there is none.
func Pauses() (stop func(), allowed func() bool) {
	shared := &preparing{log: slog.New(slog.DiscardHandler), most: maxStatements}
	return shared.stop, shared.allowed
}

// OpenPreparing opens a store on the connections of a connector of pgdriver's, which keep statements prepared.
func OpenPreparing(ctx context.Context, connector sqldriver.Connector) (*Store, error) {
	shared := &preparing{log: slog.New(slog.DiscardHandler), most: maxStatements}
	pool := sql.OpenDB(&preparingConnector{connector, shared})
	s := configured(nil)
	e := newPostgres(bun.NewDB(pool, pgdialect.New()), s.config)
	e.own, e.share, e.preparing = true, newConnectionShare(s.config.Connections), shared
	if err := e.checkServer(ctx); err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	s.engine, s.models = e, newModels(pgdialect.New())
	return s, nil
}

type preparingConnector struct {
	sqldriver.Connector

	shared *preparing
}

// Connect opens a connection.
func (c *preparingConnector) Connect(ctx context.Context) (sqldriver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return newPreparingConn(conn.(pgConn), c.shared), nil
}

// ExecIn runs a statement in a transaction of a store on PostgreSQL, behind the store's back.
func ExecIn(ctx context.Context, tx driver.Tx, text string) error {
	_, err := tx.(*transaction).conn.ExecContext(ctx, text)
	return err
}

// Record is a row of every type of column that joined reads have.
type Record struct {
	Text    string
	Bytes   []byte // nil: NULL
	ID      uuid.UUID
	Number  int64
	Count   int
	At      time.Time // zero: NULL
	Flag    bool
	Missing string // empty: NULL
	Hash    ledger.Hash
	Grants  []driver.Grant
}

// ReadJoined reads records back from PostgreSQL, those of each part by a read of its own, all of them in one statement.
func (s *Store) ReadJoined(ctx context.Context, parts [][]Record) ([][]Record, error) {
	var reads []*announcedRead
	for _, records := range parts {
		read := build(s.engine, "")
		for i, r := range records {
			if i > 0 {
				read.add(" UNION ALL ")
			}
			var missing any = r.Missing
			if r.Missing == "" {
				missing = time.Time{} // NULL, of any type.
			}
			read.add("SELECT ?, ?, ?, ?, ?, ?, ?, (?)::text, ?, ?", r.Text, r.Bytes, r.ID, r.Number, r.Count, r.At, r.Flag,
				missing, r.Hash[:], texts[driver.Grant](r.Grants).encode())
		}
		reads = append(reads, &announcedRead{statement: read})
	}
	statement, fill := joinReads(s.engine, "", reads)
	err := s.engine.query(ctx, s.engine.reader(), statement, func(rows rowSet) error {
		_, err := fill(rows)
		return err
	})
	found := make([][]Record, len(reads))
	for i, read := range reads {
		rows := &recordRows{records: read.records}
		for err == nil && rows.Next() {
			var r Record
			err = rows.Scan(&r.Text, &r.Bytes, (*id)(&r.ID), (*number)(&r.Number), &r.Count, (*moment)(&r.At), &r.Flag,
				(*missing)(&r.Missing), (*hash)(&r.Hash), (*texts[driver.Grant])(&r.Grants))
			found[i] = append(found[i], r)
		}
	}
	return found, err
}

// ScanRecords reads any bytes as rows of records.
func ScanRecords(records []byte) (rows int, err error) {
	all := &recordRows{records: records}
	counted := all.count()
	defer func() {
		if err == nil && counted != rows {
			panic(fmt.Sprintf("%d rows were counted, and %d read", counted, rows))
		}
	}()
	for all.Next() {
		rows++
		into := make([]any, len(all.fields))
		for i := range into {
			into[i] = [...]any{
				new(string), new([]byte), new(id), new(number), new(int), new(bool), new(hash), new(moment), new(missing),
			}[i%9]
		}
		err = errors.Join(err, all.Scan(into...))
	}
	return rows, err
}

// StatementsOf returns the statements of a migration.
func StatementsOf(migration string) []string { return statementsOf(migration) }

// CheckDurable checks the journal of a SQLite database as [Open] does.
func CheckDurable(ctx context.Context, db *sql.DB) error {
	return (&sqliteEngine{writer: bun.NewDB(db, sqlitedialect.New())}).checkDurable(ctx)
}

// NodeVersions is what a node says of itself.
type NodeVersions = nodeFacts

// CompareNodes returns the problems of a cluster of a coordinator a and a worker b.
func CompareNodes(a, b NodeVersions) []string {
	r := &clusterReader{metadata: []int{0, 1}, found: Cluster{Nodes: []ClusterNode{
		{Name: "a", Port: 5432, Reachable: true, Postgres: a.Postgres, Citus: a.Citus},
		{Name: "b", Port: 5432, Group: 1, Reachable: true, Postgres: b.Postgres, Citus: b.Citus},
	}}}
	for i, facts := range []*NodeVersions{&a, &b} {
		r.checkNode(&r.found.Nodes[i], facts)
	}
	r.compareVersions()
	return r.found.Problems
}

// ReadLocationsEvery sets how often a store reads the locations of shards.
func ReadLocationsEvery(s *Store, age time.Duration) {
	direct := s.engine.(*postgresEngine).direct
	direct.mu.Lock()
	defer direct.mu.Unlock()
	direct.age = age
}

// LeadNodesTo makes the addresses of all nodes lead to a database.
func LeadNodesTo(s *Store, dsn string) error {
	direct := s.engine.(*postgresEngine).direct
	elsewhere, err := newDirectNodes(context.Background(), dsn, s.config, nil)
	if err != nil {
		return err
	}
	at, err := url.Parse(dsn)
	if err != nil {
		return err
	}
	direct.open = func(string) (*bun.DB, error) { return elsewhere.open(at.Host) }
	return nil
}

// AbsentNode is a node of a cluster without a database.
type AbsentNode struct {
	nodes *directNodes
	back  func() bool
}

// NewAbsentNode returns a node. A caller who is to look whether it is back calls back.
func NewAbsentNode(back func() bool) *AbsentNode {
	return &AbsentNode{&directNodes{
		open: func(string) (*bun.DB, error) { return bun.NewDB(sql.OpenDB(nil), pgdialect.New()), nil },
		log:  slog.New(slog.DiscardHandler), nodes: make(map[string]*directNode),
	}, back}
}

// Used reports whether a call uses the node.
func (n *AbsentNode) Used(ctx context.Context) bool {
	node, probe := n.nodes.nodeAt(ctx, shardLocation{address: "node"})
	if !probe {
		return node != nil
	}
	other, second := n.nodes.nodeAt(ctx, shardLocation{address: "node"}) // of a call at the same time
	if other != nil || second {
		return false
	}
	if !n.back() {
		n.Lose(ctx)
		return false
	}
	n.nodes.gain(ctx, node)
	return true
}

// Lose records that the node cannot be reached.
func (n *AbsentNode) Lose(ctx context.Context) {
	n.nodes.lose(ctx, n.nodes.nodes["node"], driver.ErrUnavailable)
}

// Close closes the pool of the node.
func (n *AbsentNode) Close() { _ = n.nodes.close() }

// CompanyIn returns the company of a read.
func CompanyIn(text string, values []any) uuid.UUID { return companyIn(text, values) }

// RowsOf returns the condition that a column equals one of some ids.
func RowsOf(column string, ids ...uuid.UUID) any { return inIDs(column, ids) }

// EveryKind is a record with a column of each kind.
type EveryKind struct {
	ID, Maybe uuid.UUID
	Number    int64
	At        time.Time
	Text      string
	Yes       bool
	Bytes     []byte
}

// InsertsOfEveryKind returns a function that writes the statement which inserts records, from typed columns or from
// rows. If shaped is set, columns that varied before stay arrays.
func InsertsOfEveryKind(prepares, shaped, rows bool) func(records []EveryKind) (string, error) {
	e := &postgresEngine{gen: schema.NewQueryGen(pgdialect.New()), multiResult: true}
	if prepares {
		e.preparing = &preparing{}
	}
	if shaped {
		e.shapes = &shapes{}
	}
	return func(records []EveryKind) (string, error) { return e.insertEveryKind(records, rows) }
}

// SoleCompany returns the company of records whose Maybe is that of the company, from typed columns or from rows.
func SoleCompany(records []EveryKind, rows bool) uuid.UUID {
	of := setOf([]column[EveryKind]{
		idColumn("id", func(r *EveryKind) uuid.UUID { return r.ID }),
		idColumn("company_id", func(r *EveryKind) uuid.UUID { return r.Maybe }),
	}, records)
	if rows {
		of = of.boxedRows()
	}
	return of.soleCompany()
}

// CopyEveryKind adds records to the pending writes of a transaction, as a COPY.
func CopyEveryKind(ctx context.Context, tx driver.Tx, table string, records []EveryKind) error {
	of := tx.(*transaction)
	return of.copy(ctx, of.store.engine.(*postgresEngine), "Copy", table, everyKind(records))
}

// PutEveryKind adds records to the pending writes of a transaction, as an INSERT that is kept prepared.
func PutEveryKind(ctx context.Context, tx driver.Tx, table string, records []EveryKind) error {
	return tx.(*transaction).put(ctx, "Put", table, everyKind(records), "")
}

// Copies reports whether rows are written by COPY now.
func Copies(s *Store) bool { return s.engine.(*postgresEngine).copies() }

// CheckRefusal returns whether a transaction runs again because of an error to a message with rows, with the fields of
// the error, or with none after a response that cannot be, and whether rows are written by INSERT from then on.
func CheckRefusal(ctx context.Context, log *slog.Logger, fields map[byte]string) (again, inserts func() bool) {
	conn := &preparingConn{shared: &preparing{log: log}}
	again = func() bool {
		err := errResponse
		if fields != nil {
			err = &serverError{fields}
		}
		return isTransient((&postgresEngine{}).classify(conn.checkRefusal(ctx, err)))
	}
	return again, func() bool { return time.Now().UnixNano() < conn.shared.insertUntil.Load() }
}

// Pause begins a pause of prepared statements.
func Pause(s *Store) { s.engine.(*postgresEngine).preparing.stop() }

// ReadResponses reads responses to a message with rows, and returns the SQLSTATE of an error that they report, and
// whether the connection can be used after them.
func ReadResponses(responses []byte) (state string, usable bool, err error) {
	_, state, usable, err = readResponses(responses, answers{})
	return state, usable, err
}

// ReadBoundRows reads responses to a message of some statements, of which the last has joined reads, and returns the
// rows of these, and whether the connection can be used after them.
func ReadBoundRows(responses []byte, statements int) (rows [][]any, usable bool, err error) {
	found, _, usable, err := readResponses(responses, answers{statements: statements, joined: true})
	for of := (&boundRows{found.rows}); err == nil; {
		row := make([]sqldriver.Value, len(of.Columns()))
		if err = of.Next(row); err == nil {
			rows = append(rows, []any{row[0], row[1]})
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return rows, usable, err
}

func readResponses(sent []byte, expected answers) (found responses, state string, usable bool, err error) {
	conn := &closable{}
	c := &preparingConn{pgConn: conn, responses: bufio.NewReader(bytes.NewReader(sent))}
	found, err = c.readResponses(expected)
	state, _, _, _, _ = stateOf(err)
	return found, state, !conn.closed, err
}

// CheckBound returns for how long messages are simple ones after the error of one of the extended protocol, with the
// fields of the error, or with none after a response that cannot be, and whether a transaction runs again because of
// it.
func CheckBound(
	ctx context.Context, log *slog.Logger, fields map[byte]string,
) (simple time.Duration, again bool) {
	conn := &preparingConn{shared: &preparing{log: log}}
	err := errResponse
	if fields != nil {
		err = &serverError{fields}
	}
	again = isTransient((&postgresEngine{}).classify(conn.checkBound(ctx, err)))
	if until := conn.shared.simpleUntil.Load(); until != 0 {
		simple = time.Until(time.Unix(0, until))
	}
	return simple, again
}

// SendSimple makes the connections of a store send simple messages.
func SendSimple(s *Store) {
	s.engine.(*postgresEngine).preparing.simpleUntil.Store(time.Now().Add(time.Hour).UnixNano())
}

// PretendDirect makes the connections of a store send what they send only where they end at the server, but for the
// rows of COPY.
func PretendDirect(s *Store) {
	e := s.engine.(*postgresEngine)
	e.copiesRows = true
	e.keepSettings()
	e.copiesRows = false
}

// LongestBound is the longest message of the extended protocol that has no rows of COPY.
const LongestBound = maxBound

// LimitStatements limits how many statements a connection of the store keeps prepared.
func LimitStatements(s *Store, most int) { s.engine.(*postgresEngine).preparing.most = most }

// closable is a connection without a network.
type closable struct {
	pgConn

	closed bool
}

// Close records that the connection cannot be used any more.
func (c *closable) Close() error {
	c.closed = true
	return nil
}

func everyKind(records []EveryKind) set {
	return setOf([]column[EveryKind]{
		idColumn("id", func(r *EveryKind) uuid.UUID { return r.ID }),
		optionalColumn("maybe", func(r *EveryKind) uuid.UUID { return r.Maybe }),
		numberColumn("number", func(r *EveryKind) int64 { return r.Number }),
		timeColumn("at", func(r *EveryKind) time.Time { return r.At }),
		textColumn("text", func(r *EveryKind) string { return r.Text }),
		boolColumn("yes", func(r *EveryKind) bool { return r.Yes }),
		bytesColumn("bytes", func(r *EveryKind) []byte { return r.Bytes }),
	}, records)
}

func (e *postgresEngine) insertEveryKind(records []EveryKind, rows bool) (string, error) {
	of := everyKind(records)
	if rows {
		of = of.boxedRows()
	}
	statement := build(e, "")
	if e.appendInsert(statement, "records", of); statement.err != nil {
		return "", statement.err
	}
	return string(statement.appendMessage(nil, nil)), nil
}

// NodeURL returns the URL of a node of a cluster at an address.
func NodeURL(dsn, address string) (string, error) {
	database, err := url.Parse(dsn)
	if err != nil {
		return "", err
	}
	return nodeURL(database, address), nil
}

// Binary returns the binary form in which the value of a literal without its quotes is bound, and whether it has one.
func Binary(kind, literal string) (value string, ok bool) {
	const before = "before"
	b, ok := appendBinary([]byte(before), kind, []byte(literal))
	if !strings.HasPrefix(string(b), before) {
		panic("what was there changed")
	}
	return string(b[len(before):]), ok
}

// BinaryTexts returns the binary form of an array of texts, from the literal that a builder writes.
func BinaryTexts(texts []string) (value string, ok bool) {
	literal := []byte("{")
	for i, text := range texts {
		if i > 0 {
			literal = append(literal, ',')
		}
		literal = appendQuoted(literal, text)
	}
	return Binary("text[]", string(append(literal, '}')))
}

// MaxMerged is how many merged writes a connection keeps prepared.
const MaxMerged = maxMerged

// ScanGrants reads a list as a column has it.
func ScanGrants(list string) ([]driver.Grant, error) {
	var grants texts[driver.Grant]
	err := grants.Scan(list)
	return grants, err
}

// RememberFor sets how long a store remembers what it reads from now on.
func RememberFor(s *Store, lifetime time.Duration) {
	s.memory.companies.lifetime = lifetime
	s.memory.apiKeys.lifetime = lifetime
	s.memory.terms.lifetime = lifetime
}
