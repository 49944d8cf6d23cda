package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
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
	found, err := b.whereabouts(ctx)
	if err != nil {
		return nil, err
	}
	if known := e.known.Load(); known != nil && *known == found {
		return b, nil
	}
	// The server may be another one than when it was last asked.
	own, err := e.identity(ctx, e.db)
	if err != nil {
		return nil, fmt.Errorf("ticketing/store: %w", e.classify(err))
	}
	e.known.Store(&own)
	if own != found {
		return nil, errElsewhere
	}
	return b, nil
}

// whereabouts is the identity of the tables that the host's transaction sees.
func (e *boundPostgres) whereabouts(ctx context.Context) (string, error) {
	begun, _, err := e.begin(ctx, ticketing.Entrance{})
	if err != nil {
		return "", e.classify(err)
	}
	found, err := e.identity(ctx, e.tx)
	if _, undone := e.tx.ExecContext(ctx, begun.rollback); err == nil {
		err = undone
	}
	if err = e.classify(err); errors.Is(err, ErrNotMigrated) {
		err = errElsewhere
	}
	return found, err
}

// identity tells the tables of a store from those of any other: by the server, the database, the table and when it was
// first migrated. Nodes of a distributed engine are different servers with the same tables.
func (e *postgresEngine) identity(ctx context.Context, conn bun.IConn) (string, error) {
	node := `'ticketing_migrations'::regclass::oid, extract(epoch FROM pg_postmaster_start_time())`
	if e.rowGates || e.distributed {
		node = "''"
	}
	var found string
	err := e.query(ctx, conn, build(e, `SELECT concat_ws(' ', current_database(), min(applied_at), `+node+`)
		FROM ticketing_migrations`), func(row *sql.Rows) error { return row.Scan(&found) })
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

// settled checks what the host's transaction was set to, and is the statement that sets it again. What is set behind a
// savepoint outlives its release.
func (e *boundPostgres) settled(ctx context.Context) (restore string, err error) {
	var isolation, readOnly, conforming, encoding, path, statement, lock string
	err = e.query(ctx, e.tx, build(e, `SELECT current_setting('transaction_isolation'),
			current_setting('transaction_read_only'), current_setting('standard_conforming_strings'),
			current_setting('client_encoding'), current_setting('search_path'), current_setting('statement_timeout'),
			current_setting('lock_timeout')`),
		func(row *sql.Rows) error {
			return row.Scan(&isolation, &readOnly, &conforming, &encoding, &path, &statement, &lock)
		})
	switch {
	case err != nil:
		return "", err
	case isolation != "read committed":
		return "", refused("its isolation level is " + isolation + ", not READ COMMITTED")
	case readOnly != "off":
		return "", errHostWrites
	case conforming != "on":
		return "", refused("standard_conforming_strings is off")
	case encoding != "UTF8":
		return "", refused("its client_encoding is not UTF8")
	}
	text := build(e, "SELECT set_config('statement_timeout', ?, true), set_config('lock_timeout', ?, true)",
		statement, lock)
	if e.schema != "" {
		text.add(", set_config('search_path', ?, true)", path)
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
	begin := savepoint + "; " + e.settings(e.statement, 0) + within(slice) //nolint:gosec // Of numbers and a quoted name.
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
