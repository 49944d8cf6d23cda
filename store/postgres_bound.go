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

	"github.com/floatgate/ticketing"
)

// boundPostgres works in a transaction of a host's.
type boundPostgres struct {
	*postgresEngine

	tx *sql.Tx
}

// bind refuses a transaction whose statements would find other tables than those of the store.
func (e *postgresEngine) bind(ctx context.Context, pool *bun.DB, tx *sql.Tx) (engine, error) {
	if pool.Dialect().Name() != dialect.PG {
		return nil, refused("it is not one of PostgreSQL")
	}
	inside := *e
	_, inside.whole = pool.Driver().(pgdriver.Driver)
	b := &boundPostgres{&inside, tx}
	found, err := b.whereabouts(context.WithoutCancel(ctx))
	if err != nil {
		return nil, err
	}
	known := e.known.Load()
	if known != nil && pool.DB == e.db.DB {
		// It is on the server of the store, whichever that is by now: only its search path may lead elsewhere. Nothing is
		// asked outside of it, since it may have the only connection.
		known = &identity{found.server, known.tables}
	}
	if known != nil && *known == found {
		return b, nil
	}
	// The server may be another one than when it was last asked.
	if err := e.recognise(ctx); err != nil {
		return nil, fmt.Errorf("ticketing/store: %w", e.classify(err))
	}
	if *e.known.Load() != found {
		return nil, errElsewhere
	}
	return b, nil
}

// recognise asks for the identity of the store's tables.
func (e *postgresEngine) recognise(ctx context.Context) error {
	own, err := e.identify(ctx, e.db)
	if err == nil {
		e.known.Store(&own)
	}
	return err
}

// whereabouts is the identity of the tables that the host's transaction sees.
func (e *boundPostgres) whereabouts(ctx context.Context) (identity, error) {
	begun, _, err := e.begin(ctx, ticketing.Entrance{})
	if err != nil {
		return identity{}, e.classify(err)
	}
	found, err := e.identify(ctx, e.tx)
	if _, undone := e.tx.ExecContext(ctx, begun.rollback); err == nil {
		err = undone
	}
	if err = e.classify(err); errors.Is(err, ErrNotMigrated) {
		err = errElsewhere
	}
	return found, err
}

// identity tells the tables of a store from those of any other: by the start of the server, and by the database, the
// table and when it was first migrated. Nodes of a distributed engine are different servers with the same tables.
type identity struct{ server, tables string }

func (e *postgresEngine) identify(ctx context.Context, conn bun.IConn) (identity, error) {
	server, table := "extract(epoch FROM pg_postmaster_start_time())::text", "'ticketing_migrations'::regclass::oid"
	if e.rowGates || e.distributed {
		server, table = "''", "''"
	}
	var found identity
	err := e.query(ctx, conn, build(e, "SELECT "+server+", concat_ws(' ', current_database(), min(applied_at), "+table+
		") FROM ticketing_migrations"), func(row *sql.Rows) error { return row.Scan(&found.server, &found.tables) })
	return found, err
}

// begin begins a part of the transaction behind a savepoint and enters the gates.
func (e *boundPostgres) begin(ctx context.Context, in ticketing.Entrance) (tx *begun, inFlight []bool, err error) {
	// A statement that is cut short takes the host's transaction with it: the locks' time-outs end the waiting.
	unbroken := context.WithoutCancel(ctx)
	restore, err := e.settled(unbroken)
	if err != nil {
		return nil, nil, err
	}
	err = e.attempt(ctx, in, func(slice, patience time.Duration) error {
		answers, err := e.enterPart(unbroken, in, slice, patience)
		if err != nil {
			if _, undone := e.tx.ExecContext(unbroken, undoSavepoint); undone != nil {
				_ = e.tx.Rollback()
			}
			return err
		}
		tx, inFlight = part(e.tx, restore+keepSavepoint), answers
		return nil
	})
	return tx, inFlight, err
}

// settingsOfPart are those that a part changes, save for the search path: those of its time-outs, and those that its
// statements rely on.
func settingsOfPart() []string {
	return []string{
		"statement_timeout", "lock_timeout", "bytea_output", "enable_seqscan", "enable_bitmapscan", "enable_hashjoin",
		"enable_mergejoin", "enable_memoize", "jit",
	}
}

// settled checks what the host's transaction was set to, and is the statement that sets it again. What is set behind a
// savepoint outlives its release.
func (e *boundPostgres) settled(ctx context.Context) (restore string, err error) {
	changed := settingsOfPart()
	if e.schema != "" {
		changed = append(changed, "search_path")
	}
	asked := append([]string{
		"transaction_isolation", "transaction_read_only", "standard_conforming_strings", "client_encoding",
		"session_replication_role",
	}, changed...)
	set := make([]string, len(asked))
	question := "SELECT current_setting('" + strings.Join(asked, "'), current_setting('") + "')"
	err = e.query(ctx, e.tx, build(e, question), func(row *sql.Rows) error {
		into := make([]any, len(set))
		for i := range set {
			into[i] = &set[i]
		}
		return row.Scan(into...)
	})
	if err != nil {
		return "", err
	}
	isolation, readOnly, conforming, encoding, role, before := set[0], set[1], set[2], set[3], set[4], set[5:]
	switch {
	case isolation != "read committed":
		return "", refused("its isolation level is " + isolation + ", not READ COMMITTED")
	case readOnly != "off":
		return "", errHostWrites
	case conforming != "on":
		return "", refused("standard_conforming_strings is off")
	case encoding != "UTF8":
		return "", refused("its client_encoding is not UTF8")
	case role == "replica":
		return "", refused("its session_replication_role is replica, which checks no foreign keys")
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

// enterPart is one attempt to begin, in which no lock is waited for longer than slice.
func (e *boundPostgres) enterPart(
	ctx context.Context, in ticketing.Entrance, slice, patience time.Duration,
) ([]bool, error) {
	within := func(lock time.Duration) string {
		return fmt.Sprintf("SET LOCAL lock_timeout TO %d", max(lock.Milliseconds(), 1))
	}
	begin := savepoint + "; " + //nolint:gosec // Of numbers and a quoted name.
		e.settings(e.statement, 0) + byIndex + "SET LOCAL bytea_output TO hex; " + within(slice)
	after := ""
	if slice != patience {
		after = within(patience)
	}
	first := in
	if len(in.Close) > 0 && len(in.Claim) > 0 {
		// Another transaction of a host's has closed the gate, and has the key: this one is told so, and does not wait.
		first.Close, first.Share = nil, nil
	}
	locks, answers := e.entrance(first)
	if e.whole && answers && len(first.Close) == len(in.Close) {
		return e.ask(ctx, e.tx, begin+"; "+locks+"; "+after, true, len(in.Claim))
	}
	if _, err := e.tx.ExecContext(ctx, begin); err != nil {
		return nil, err
	}
	inFlight, err := e.ask(ctx, e.tx, locks, answers, len(in.Claim))
	if err == nil && len(first.Close) < len(in.Close) && slices.Contains(inFlight, false) {
		rest := in
		rest.Claim = nil
		locks, answers = e.entrance(rest)
		_, err = e.ask(ctx, e.tx, locks, answers, 0)
	}
	if err == nil && after != "" {
		_, err = e.tx.ExecContext(ctx, after)
	}
	return inFlight, err
}

// classify reads what an error means to whoever is in a host's transaction: there is no other run, and no other
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
