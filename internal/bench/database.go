package bench

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/store"
	"github.com/floatgate/ticketing/store/memory"
)

// benchPrefix is the prefix of the names of the schemas and folders that benches work in.
const benchPrefix = "ticketing_bench_"

// removeTimeout bounds the removal of what a bench made.
const removeTimeout = 2 * time.Minute

// benchDatabase is a bench's own schema or file.
type benchDatabase struct {
	dsn    string // as a store opens it
	schema string // PostgreSQL
	folder string // SQLite
	made   bool   // There is something to remove, or there may be.
	// rowGates and directNodes are those of the store.
	rowGates, directNodes bool
	serves                bool // The store is that of a server, and counts its statements.
	// distributed is set if the tables are distributed over the nodes of a cluster.
	distributed bool
	// admin is a pool to PostgreSQL, separate from the store's. It is for work that needs plain SQL.
	admin *sql.DB

	program *Program
}

// The databases other than servers, as [Config] names them.
const (
	inMemory     = "memory:"
	sqlitePrefix = "sqlite:"
)

// newBenchDatabase returns a schema or a file of the bench's own, in or beside a database. The remove method removes
// it.
func newBenchDatabase(p *Program, c *Config) (*benchDatabase, error) {
	database := c.Database
	path, isSQLite := strings.CutPrefix(database, sqlitePrefix)
	switch {
	case database == inMemory:
		return &benchDatabase{program: p, dsn: inMemory}, nil
	case isSQLite:
		folder, err := os.MkdirTemp(filepath.Dir(path), benchPrefix)
		if err != nil {
			err = fmt.Errorf("%w: make a folder beside the file: %w", ticketing.ErrUnavailable, err)
			return nil, p.OpenError(err)
		}
		file := sqlitePrefix + filepath.Join(folder, "bench.db")
		return &benchDatabase{program: p, dsn: file, folder: folder, made: true}, nil
	}
	admin, err := store.OpenPool(database)
	if err != nil {
		return nil, p.OpenError(err)
	}
	// An idle connection may be dead by the time it is needed.
	admin.SetMaxIdleConns(0)
	return &benchDatabase{
		program: p, dsn: database, schema: benchPrefix + randomHex(8), admin: admin,
		rowGates: c.RowGates, directNodes: c.DirectNodes,
	}, nil
}

// open opens the store and migrates it.
func (l *benchDatabase) open(ctx context.Context, connections int) (driver.Store, func() error, error) {
	if l.dsn == inMemory {
		return memory.New(), func() error { return nil }, nil
	}
	cfg := &store.Config{
		Schema: l.schema, Connections: connections, RowGates: l.rowGates, DirectNodes: l.directNodes,
	}
	if l.serves {
		cfg.OnStatement = l.program.OnStatement
	}
	opened, err := store.Open(ctx, l.dsn, cfg)
	if err != nil {
		return nil, nil, l.program.OpenError(err)
	}
	l.made = true
	if err := opened.Migrate(ctx); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("migrate the database: %w", err), opened.Close())
	}
	if err := l.distribute(ctx, opened); err != nil {
		return nil, nil, errors.Join(err, opened.Close())
	}
	return opened, opened.Close, nil
}

// distribute distributes the tables, as those of a server are, if the database belongs to a cluster.
func (l *benchDatabase) distribute(ctx context.Context, opened *store.Store) error {
	missing, err := opened.Undistributed(ctx)
	switch {
	case errors.Is(err, store.ErrNotDistributable):
		return nil
	case err == nil && len(missing) > 0:
		l.program.Progress("distributing the tables over the cluster", "")
		err = opened.Distribute(ctx)
	}
	if err != nil {
		return fmt.Errorf("distribute the tables: %w", err)
	}
	l.distributed = true
	return nil
}

// settle vacuums and analyses the tables, and waits for a checkpoint.
func (l *benchDatabase) settle(ctx context.Context) error {
	if l.admin == nil {
		return nil
	}
	l.program.Progress("vacuuming the tables", "")
	if err := l.vacuum(ctx); err != nil {
		return err
	}
	l.program.Progress("waiting for a checkpoint", "")
	return l.checkpoint(ctx)
}

// vacuum removes what dead rows left in tables and indexes, and updates PostgreSQL's statistics, as autovacuum does
// sooner or later. An empty table has nothing to remove. Each table is a statement of its own, since the driver waits a
// minute for one.
func (l *benchDatabase) vacuum(ctx context.Context) error {
	tables, err := l.tables(ctx)
	if err != nil {
		return err
	}
	for _, table := range tables {
		var size int64
		if err := l.admin.QueryRowContext(ctx, "SELECT pg_relation_size($1::regclass)", table).Scan(&size); err != nil {
			return fmt.Errorf("size of %s: %w", table, err)
		}
		statement := "VACUUM (ANALYZE) "
		if size == 0 && !l.distributed { // The rows of a distributed table are elsewhere.
			statement = "ANALYZE "
		}
		if _, err := l.admin.ExecContext(ctx, statement+table); err != nil {
			return fmt.Errorf("vacuum %s: %w", table, err)
		}
	}
	return nil
}

// checkpoint has PostgreSQL write to disk what the preload changed, since otherwise a checkpoint that the preload began
// would take part in the measurement. Where the role may not ask for a checkpoint there is none. On a cluster the
// preload is on other nodes.
func (l *benchDatabase) checkpoint(ctx context.Context) error {
	if l.distributed {
		return nil
	}
	const mostTries = 30
	for tries := 1; ; tries++ {
		_, err := l.admin.ExecContext(ctx, "CHECKPOINT")
		if err == nil || lacksPrivilege(err) {
			return nil
		}
		// The driver waits a minute for a statement. The checkpoint goes on, and the next one waits for it.
		waited, ok := errors.AsType[net.Error](err)
		if !ok || !waited.Timeout() || ctx.Err() != nil || tries == mostTries {
			return fmt.Errorf("checkpoint: %w", err)
		}
	}
}

// lacksPrivilege reports whether an error of PostgreSQL is that the role has no right to do something.
func lacksPrivilege(err error) bool {
	const sqlState, insufficientPrivilege = 'C', "42501"
	refused, ok := errors.AsType[interface {
		error
		Field(code byte) string
	}](err)
	return ok && refused.Field(sqlState) == insufficientPrivilege
}

// tables returns the tables of the bench's schema, as they are written in SQL.
func (l *benchDatabase) tables(ctx context.Context) (tables []string, err error) {
	rows, err := l.admin.QueryContext(ctx,
		"SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname = $1", l.schema)
	if err != nil {
		return nil, fmt.Errorf("list the tables: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var table string
		if err := rows.Scan(&table); err != nil {
			return nil, fmt.Errorf("list the tables: %w", err)
		}
		tables = append(tables, table)
	}
	return tables, rows.Err()
}

// LeftError reports what could not be removed.
type LeftError struct {
	what, remedy string
	err          error
	// After is the failure that came before; nil if there was none.
	After error
}

func (e *LeftError) Error() string {
	return fmt.Sprintf("%s is left behind (%v): remove it with %s", e.what, e.err, e.remedy)
}
func (e *LeftError) Unwrap() error { return e.err }

// removePause is the pause between two attempts to remove a schema.
const removePause = 200 * time.Millisecond

// remove removes everything that the bench made, even after its context has ended.
func (l *benchDatabase) remove(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTimeout)
	defer cancel()
	if l.folder != "" {
		if err := os.RemoveAll(l.folder); err != nil {
			return &LeftError{what: "the folder " + l.folder, remedy: "rm -r " + l.folder, err: err}
		}
	}
	if l.admin == nil {
		return nil
	}
	defer func() { _ = l.admin.Close() }()
	if !l.made {
		return nil
	}
	// Backends of disconnected clients still hold locks for a moment, and the database may be restarting.
	//nolint:gosec // The name of the schema was made here.
	drop := "DROP SCHEMA IF EXISTS " + l.schema + " CASCADE"
	for {
		_, err := l.admin.ExecContext(ctx, drop)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(removePause):
		case <-ctx.Done():
			return &LeftError{what: "the schema " + l.schema, remedy: drop, err: err}
		}
	}
}
