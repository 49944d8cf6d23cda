package store

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	"modernc.org/sqlite"

	"github.com/floatgate/ticketing/driver"
)

const beginImmediate = "BEGIN IMMEDIATE"

// sqliteEngine has one connection that writes and a few that read.
type sqliteEngine struct {
	writer *bun.DB
	// turn has one slot, for the writer. Waiters get it in order of arrival. Within SQLite they would not, since SQLite
	// polls with sleeps.
	turn    chan struct{}
	timeout time.Duration
	readers *bun.DB
	// share divides the readers.
	share *connectionShare
	// prober checks whether another connection writes. It connects when it is first used.
	prober *bun.DB
	path   string // absolute
}

func openSQLite(ctx context.Context, path string, cfg Config) (*sqliteEngine, error) {
	if path == "" || path == ":memory:" {
		return nil, errors.New("ticketing/store: SQLite needs the path of a file; package store/memory needs none")
	}
	failed := func(err error) error { return fmt.Errorf("ticketing/store: open %s: %w", path, err) }
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, failed(err)
	}
	prepare := makeFile
	if cfg.MustExist || cfg.ReadOnly {
		prepare = findFile
	}
	if err := prepare(absolute); errors.Is(err, ErrNoDatabase) {
		return nil, failed(err)
	} else if err != nil {
		return nil, failed(fmt.Errorf("%w: %w", driver.ErrUnavailable, err))
	}
	e := &sqliteEngine{turn: make(chan struct{}, 1), timeout: cfg.BusyTimeout, path: absolute}
	e.share = newConnectionShare(cfg.Readers)
	if e.readers, err = connectSQLite(absolute, cfg.BusyTimeout, cfg.Readers, "query_only(1)"); err != nil {
		return nil, failed(err)
	}
	if cfg.ReadOnly {
		// Setting the journal mode would change a file that is not a database of this package yet.
		e.writer, e.prober = e.readers, e.readers
		return e, nil
	}
	e.writer, err = connectSQLite(absolute, cfg.BusyTimeout, 1,
		"journal_mode(WAL)", "synchronous(FULL)", "recursive_triggers(1)",
		"cache_size(-32768)",           // KiB: the pages that a large group changes, and the inner pages of the indexes
		"wal_autocheckpoint(4000)",     // pages, 16 MiB: the changes of many groups are copied once
		"journal_size_limit(67108864)") // the size to which the WAL is cut after a long Snapshot delayed it
	if err != nil {
		return nil, failed(err)
	}
	if e.prober, err = connectSQLite(absolute, 0, 1); err != nil {
		return nil, failed(err)
	}
	if err := e.checkDurable(ctx); err != nil {
		_ = e.close()
		return nil, failed(err)
	}
	return e, nil
}

// makeFile creates the file if it does not exist, for its owner alone. SQLite gives the files next to it the same mode.
func makeFile(path string) error {
	const mode = 0o600
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode) //nolint:gosec // The operator names the file.
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return file.Close()
}

// findFile fails if there is no database. If the file disappears meanwhile, SQLite does not create it either (mode=rw).
// findFile refuses an empty file, which SQLite would turn into a database. It may also be one that another process is
// creating, which has no page yet.
func findFile(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return ErrNoDatabase
	case err != nil:
		return err
	case info.IsDir():
		return &os.PathError{Op: "open", Path: path, Err: syscall.EISDIR}
	case info.Mode().IsRegular() && info.Size() == 0:
		return fmt.Errorf("%w: the file is empty", ErrNoDatabase)
	}
	return nil
}

// connectSQLite opens a pool whose connections all have the pragmas. The pragmas are part of the name, so that a
// connection that replaces a broken one has them too.
func connectSQLite(path string, timeout time.Duration, connections int, pragmas ...string) (*bun.DB, error) {
	options := url.Values{
		"mode":      {"rw"},
		"_dqs":      {"0"},
		"_pragma":   append([]string{fmt.Sprintf("busy_timeout(%d)", timeout.Milliseconds()), "foreign_keys(1)"}, pragmas...),
		"_error_rc": {"1"},
	}
	connector, err := connectorTo(path, options)
	if err != nil {
		return nil, err
	}
	db := sql.OpenDB(sqliteConnector{connector})
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return bun.NewDB(db, sqlitedialect.New()), nil
}

func connectorTo(path string, options url.Values) (sqldriver.Connector, error) {
	name := url.URL{Scheme: "file", Path: filepath.ToSlash(path), RawQuery: options.Encode()}
	if !strings.HasPrefix(name.Path, "/") {
		name.Path = "/" + name.Path // C:/… on Windows
	}
	return sqlite.NewConnector(name.String())
}

// openSQLitePool opens a pool for a host, whose transactions begin IMMEDIATE.
func openSQLitePool(path string) (*sql.DB, error) {
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("ticketing/store: open %s: %w", path, err)
	}
	connector, err := connectorTo(absolute, url.Values{
		"mode":      {"rw"},
		"_txlock":   {"immediate"},
		"_pragma":   {fmt.Sprintf("busy_timeout(%d)", busyTimeout.Milliseconds()), "foreign_keys(1)", "synchronous(FULL)"},
		"_error_rc": {"1"},
	})
	if err != nil {
		return nil, fmt.Errorf("ticketing/store: open %s: %w", path, err)
	}
	return sql.OpenDB(connector), nil
}

// checkDurable refuses a file system on which SQLite cannot keep the promise of Durable: SQLite would silently use
// another journal mode.
func (e *sqliteEngine) checkDurable(ctx context.Context) error {
	const patience, pause = 5 * time.Second, 5 * time.Millisecond
	for begun := time.Now(); ; {
		var mode string
		err := e.writer.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode)
		switch {
		case err == nil && mode != "wal":
			return fmt.Errorf("%w: its file system does not allow WAL: move the file to a local disk", ErrUnsupported)
		case err == nil:
			return e.checkWritable(ctx)
		}
		// SQLite does not wait when it turns on WAL, so several processes that open a new file at the same time conflict.
		err = e.classify(err)
		if !errors.Is(err, driver.ErrBusy) || time.Since(begun) > patience {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// checkWritable refuses a read-only file, which SQLite opens without an error. If another process is writing, the file
// is writable.
func (e *sqliteEngine) checkWritable(ctx context.Context) error {
	conn, err := e.writer.Conn(ctx)
	if err != nil {
		return e.classify(err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "PRAGMA busy_timeout(0)"); err != nil {
		return e.classify(err)
	}
	// BEGIN IMMEDIATE alone would succeed on such a file, as a read.
	_, err = conn.ExecContext(ctx, "BEGIN IMMEDIATE; CREATE TABLE ticketing_probe (a); ROLLBACK")
	if err != nil {
		_, _ = conn.ExecContext(ctx, "ROLLBACK") // In case it had begun.
	}
	restore := fmt.Sprintf("PRAGMA busy_timeout(%d)", e.timeout.Milliseconds())
	if _, restored := conn.ExecContext(ctx, restore); restored != nil {
		return e.classify(restored)
	}
	if err = e.classify(err); errors.Is(err, driver.ErrBusy) {
		return nil
	}
	return err
}

// traits of SQLite: it has one lane and no row locks, since there is one write transaction at a time. Writes are not
// sent together: a statement costs no round trip, so waiting saves nothing.
func (e *sqliteEngine) traits() traits {
	return traits{
		// CROSS JOIN makes SQLite keep this order, so the sums of each company are read by their key.
		platformSums: "SELECT c.id AS company_id, ? AS at, " + salesSums + `
			FROM ticketing_companies c CROSS JOIN ticketing_sales_sums s ON s.company_id = c.id
			AND s.event_id = ? AND s.tier = '' AND s.at >= ? AND s.at < ?` + notReset + " GROUP BY 1, 2",
		migrations: "sqlite", grouping: driver.Grouping{Lanes: 1, Local: true}, bindsValues: true, locksBeside: true,
		namesCompany: true, indexedBy: true,
		folded: func(column string) string { return "substr(lower(" + column + "), 1, 60)" },
	}
}

func (e *sqliteEngine) reader() bun.IConn { return e.readers }

func (e *sqliteEngine) pool() sql.DBStats { return e.readers.Stats() }

func (e *sqliteEngine) close() error {
	return errors.Join(e.prober.Close(), e.readers.Close(), e.writer.Close())
}

// snapshot runs a read at once, since SQLite takes the snapshot at the first read, not at BEGIN.
func (e *sqliteEngine) snapshot(ctx context.Context) (bun.IConn, func(), error) {
	give, err := e.share.take(ctx, e.timeout)
	if err != nil {
		return nil, nil, err
	}
	conn, err := e.readers.Conn(ctx)
	if err != nil {
		give()
		return nil, nil, err
	}
	release := func() {
		if _, err := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK"); err != nil {
			discard(conn)
		}
		_ = conn.Close()
		give()
	}
	for _, statement := range []string{"BEGIN", "SELECT 1 FROM sqlite_schema LIMIT 1"} {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			release()
			return nil, nil, err
		}
	}
	return conn, release, nil
}

// begin replaces the gates of companies and all row locks: there is one write transaction at a time, among all
// processes. So sharing a gate and taking it exclusively are the same. For the same reason no other process has a key
// in flight meanwhile: it waits, and then returns the original result.
func (e *sqliteEngine) begin(
	ctx context.Context, in driver.BeginOptions, _ *readAhead,
) (*openTx, []bool, error) {
	conn, release, err := e.beginWrite(ctx)
	if err != nil {
		return nil, nil, err
	}
	return ownTx(conn, release), make([]bool, len(in.Keys)), nil
}

func (e *sqliteEngine) beginMigration(ctx context.Context) (bun.Conn, func(), error) {
	return e.beginWrite(ctx)
}

func (e *sqliteEngine) beginWrite(ctx context.Context) (bun.Conn, func(), error) {
	if err := e.takeTurn(ctx); err != nil {
		return bun.Conn{}, nil, err
	}
	conn, err := e.writer.Conn(ctx)
	if err != nil {
		<-e.turn
		return bun.Conn{}, nil, err
	}
	release := func() {
		_ = conn.Close()
		<-e.turn
	}
	if _, err := conn.ExecContext(ctx, beginImmediate); err != nil {
		// If ctx ends just as the statement completes, it returns an error although the transaction has begun.
		_, _ = conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		release()
		return bun.Conn{}, nil, err
	}
	return conn, release, nil
}

func (e *sqliteEngine) takeTurn(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case e.turn <- struct{}{}:
		return nil
	default:
	}
	timeout := time.NewTimer(e.timeout)
	defer timeout.Stop()
	select {
	case e.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-timeout.C:
		return driver.ErrBusy
	}
}

func (e *sqliteEngine) hasMigrations(ctx context.Context, conn bun.IConn) (bool, error) {
	var tables int
	err := conn.QueryRowContext(ctx,
		"SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'ticketing_migrations'").Scan(&tables)
	return tables > 0, err
}

// discard closes a connection whose transaction could not be ended. That rolls back its writes.
func discard(conn bun.Conn) {
	_ = conn.Raw(func(any) error { return sqldriver.ErrBadConn })
}
