package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect"
	"github.com/uptrace/bun/driver/pgdriver"

	"github.com/floatgate/ticketing/driver"
)

// boundPostgres works in a host's transaction.
type boundPostgres struct {
	*postgresEngine

	tx *sql.Tx
}

// bind refuses a transaction whose statements would find other tables than those of the store.
func (e *postgresEngine) bind(ctx context.Context, pool *bun.DB, tx *sql.Tx) (engine, error) {
	inside := *e
	// Sessions of the host keep no statements of the store, and its driver may take no rows.
	inside.multiResult, inside.preparing, inside.copiesRows, inside.kept = false, nil, false, ""
	if pool != nil {
		if pool.Dialect().Name() != dialect.PG {
			return nil, errNoPostgres
		}
		_, inside.multiResult = pool.Driver().(pgdriver.Driver)
	}
	b := &boundPostgres{&inside, tx}
	found, err := b.identifyBound(context.WithoutCancel(ctx))
	if err != nil {
		if other, asked := isSQLite(context.WithoutCancel(ctx), tx); asked == nil && other {
			return nil, errNoPostgres
		}
		return nil, err
	}
	known := e.known.Load()
	if known != nil && pool != nil && pool.DB == e.db.DB {
		// The transaction is on the same server as the store, even after a failover: only its search path may differ.
		// No query runs outside of the transaction, since it may hold the only connection.
		known = &identity{found.server, known.tables}
	}
	if known != nil && *known == found {
		return b, nil
	}
	// The server may have changed since its identity was last read.
	if err := e.identify(ctx); err != nil {
		return nil, fmt.Errorf("ticketing/store: %w", e.classify(err))
	}
	if *e.known.Load() != found {
		return nil, errElsewhere
	}
	return b, nil
}

// identify reads the identity of the store's tables.
func (e *postgresEngine) identify(ctx context.Context) error {
	own, err := e.readIdentity(ctx, e.db)
	if err == nil {
		e.known.Store(&own)
	}
	return err
}

// identifyBound returns the identity of the tables that the host's transaction sees.
func (e *boundPostgres) identifyBound(ctx context.Context) (identity, error) {
	begun, _, err := e.begin(ctx, driver.BeginOptions{}, nil)
	if err != nil {
		return identity{}, e.classify(err)
	}
	found, err := e.readIdentity(ctx, e.tx)
	if _, undone := e.tx.ExecContext(ctx, begun.rollback); err == nil {
		err = undone
	}
	if err = e.classify(err); errors.Is(err, ErrNotMigrated) {
		err = errElsewhere
	}
	return found, err
}

// identity distinguishes the tables of a store from those of any other. It consists of the start time of the server,
// the database, the table and the time of its first migration. Nodes of a distributed engine are different servers with
// the same tables.
type identity struct{ server, tables string }

func (e *postgresEngine) readIdentity(ctx context.Context, conn bun.IConn) (identity, error) {
	server, table := "extract(epoch FROM pg_postmaster_start_time())::text", "'ticketing_migrations'::regclass::oid"
	if e.rowGates || e.distributed {
		server, table = "''", "''"
	}
	var found identity
	err := e.query(ctx, conn, build(e, "SELECT "+server+", concat_ws(' ', current_database(), min(applied_at), "+table+
		") FROM ticketing_migrations"), eachRow(func(row rowSet) error { return row.Scan(&found.server, &found.tables) }))
	return found, err
}

// begin sets a savepoint in the transaction and enters the gates.
func (e *boundPostgres) begin(
	ctx context.Context, in driver.BeginOptions, _ *readAhead,
) (tx *openTx, inFlight []bool, err error) {
	// Cancelling a statement would abort the host's transaction, so only the lock timeouts end the waiting.
	unbroken := context.WithoutCancel(ctx)
	restore, err := e.checkSettings(unbroken)
	if err != nil {
		return nil, nil, err
	}
	err = e.attempt(ctx, in, func(slice, patience time.Duration) error {
		answers, err := e.trySavepoint(unbroken, in, slice, patience)
		if err != nil {
			if _, undone := e.tx.ExecContext(unbroken, undoSavepoint); undone != nil {
				_ = e.tx.Rollback()
			}
			return err
		}
		tx, inFlight = beginSavepoint(e.tx, restore+keepSavepoint), answers
		return nil
	})
	return tx, inFlight, err
}

// savepointSettings returns the settings that begin changes after the savepoint, except for the search path: the
// timeouts, and the settings that the store's statements rely on.
func savepointSettings() []string {
	return []string{
		"statement_timeout", "lock_timeout", "bytea_output", "enable_seqscan", "enable_bitmapscan", "enable_hashjoin",
		"enable_mergejoin", "enable_memoize", "jit",
	}
}

// checkSettings checks the settings of the host's transaction and returns the statement that restores them. A setting
// that is made after a savepoint outlives the savepoint's release.
func (e *boundPostgres) checkSettings(ctx context.Context) (restore string, err error) {
	changed := savepointSettings()
	if e.schema != "" {
		changed = append(changed, "search_path")
	}
	asked := append([]string{
		"transaction_isolation", "transaction_read_only", "standard_conforming_strings", "client_encoding",
		"session_replication_role",
	}, changed...)
	set := make([]string, len(asked))
	question := "SELECT current_setting('" + strings.Join(asked, "'), current_setting('") + "')"
	err = e.query(ctx, e.tx, build(e, question), eachRow(func(row rowSet) error {
		into := make([]any, len(set))
		for i := range set {
			into[i] = &set[i]
		}
		return row.Scan(into...)
	}))
	if err != nil {
		return "", err
	}
	isolation, readOnly, conforming, encoding, role, before := set[0], set[1], set[2], set[3], set[4], set[5:]
	switch {
	case isolation != "read committed":
		return "", refuseTx("its isolation level is " + isolation + ", not READ COMMITTED")
	case readOnly != "off":
		return "", errHostWrites
	case conforming != "on":
		return "", refuseTx("standard_conforming_strings is off")
	case encoding != "UTF8":
		return "", refuseTx("its client_encoding is not UTF8")
	case role == "replica":
		return "", refuseTx("its session_replication_role is replica, which checks no foreign keys")
	}
	text := build(e, "SELECT ")
	for i, name := range changed {
		if i > 0 {
			text.add(", ")
		}
		text.add("set_config(?, ?, true)", name, before[i])
	}
	text.add("; ")
	return string(text.text), text.err
}

// trySavepoint is one attempt to begin. It waits for no lock longer than slice.
func (e *boundPostgres) trySavepoint(
	ctx context.Context, in driver.BeginOptions, slice, patience time.Duration,
) ([]bool, error) {
	within := func(lock time.Duration) string {
		return fmt.Sprintf("SET LOCAL lock_timeout TO %d", max(lock.Milliseconds(), 1))
	}
	// On a cluster the host's settings apply on the nodes: the store's could not be taken back there.
	begin := savepoint + "; " + //nolint:gosec // Of numbers and a quoted name.
		e.searchPath() + e.limits(e.statement, 0) + byIndex() + "SET LOCAL bytea_output TO hex; " + within(slice)
	after := ""
	if slice != patience {
		after = within(patience)
	}
	first := in
	if len(in.Exclusive) > 0 && len(in.Keys) > 0 {
		// Another transaction of the host may hold the gate exclusively, and the key. Take the claims first, so that this
		// call is refused instead of waiting for the gate.
		first.Exclusive, first.Shared = nil, nil
	}
	locks, returnsRows := e.lockStatement(first)
	if e.multiResult && returnsRows && len(first.Exclusive) == len(in.Exclusive) {
		return e.ask(ctx, e.tx, begin+"; "+locks+"; "+after, true, len(in.Keys))
	}
	if _, err := e.tx.ExecContext(ctx, begin); err != nil {
		return nil, err
	}
	inFlight, err := e.ask(ctx, e.tx, locks, returnsRows, len(in.Keys))
	if err == nil && len(first.Exclusive) < len(in.Exclusive) && slices.Contains(inFlight, false) {
		rest := in
		rest.Keys = nil
		locks, returnsRows = e.lockStatement(rest)
		_, err = e.ask(ctx, e.tx, locks, returnsRows, 0)
	}
	if err == nil && after != "" {
		_, err = e.tx.ExecContext(ctx, after)
	}
	return inFlight, err
}

// classify translates an error for a caller in the host's transaction: no other run is possible, and no other
// connection.
func (e *boundPostgres) classify(err error) error {
	if err == nil || errors.Is(err, ErrTransaction) {
		return err
	}
	if errors.Is(err, sql.ErrTxDone) {
		return errHostEnded
	}
	switch state, _, _, _, _ := stateOf(err); state {
	case "25P02":
		return errHostFailed
	case "25006":
		return errHostWrites
	}
	return e.postgresEngine.classify(err)
}
