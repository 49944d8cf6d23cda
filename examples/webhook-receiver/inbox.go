package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	_ "modernc.org/sqlite" // The driver of the inbox.
)

// Inbox keeps what was received, and the work that follows from it, in a file of SQLite.
type Inbox struct {
	db   *sql.DB
	wake chan struct{} // told when there is work
}

// An event's id is kept for good: a replay may come after any time. What buyers told stays only until the work is done.
const tables = `
CREATE TABLE IF NOT EXISTS events (id TEXT PRIMARY KEY, type TEXT NOT NULL, received_at TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS jobs (
	event_id TEXT PRIMARY KEY REFERENCES events (id), body BLOB NOT NULL, due_at INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS jobs_due ON jobs (due_at);`

// OpenInbox opens an inbox, and makes it where there is none. Only its owner may read the file.
func OpenInbox(ctx context.Context, path string) (*Inbox, error) {
	if err := makeFile(path); err != nil {
		return nil, fmt.Errorf("open the inbox: %w", err)
	}
	// synchronous(FULL): a commit is on the disk before it returns.
	name := (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: url.Values{
		"_txlock": {"immediate"},
		"_pragma": {"busy_timeout(5000)", "foreign_keys(1)", "journal_mode(WAL)", "synchronous(FULL)"},
	}.Encode()}).String()
	db, err := sql.Open("sqlite", name)
	if err != nil {
		return nil, fmt.Errorf("open the inbox: %w", err)
	}
	db.SetMaxOpenConns(1) // SQLite writes one transaction at a time anyway.
	if _, err := db.ExecContext(ctx, tables); err != nil {
		return nil, errors.Join(fmt.Errorf("open the inbox: %w", err), db.Close())
	}
	return &Inbox{db: db, wake: make(chan struct{}, 1)}, nil
}

// makeFile makes the file where there is none. One that is there is not touched: closing it would take the locks of
// whoever has it open in this process.
func makeFile(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // Its owner names it.
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return file.Close()
}

// Close closes the inbox. Nobody may use it any more.
func (i *Inbox) Close() error { return i.db.Close() }

// Keep keeps an event and its work in one durable transaction, and tells whether it is new. The primary key on the
// event's id is what makes one of two requests that come at once the duplicate; the delivery's id would not do, since a
// replay has another.
func (i *Inbox) Keep(ctx context.Context, id, kind string, body []byte, now time.Time) (fresh bool, err error) {
	tx, err := i.db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer tx.Rollback()
	kept, err := tx.ExecContext(ctx, "INSERT INTO events (id, type, received_at) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING",
		id, kind, now.UTC().Format(time.RFC3339Nano))
	if err != nil {
		return false, err
	}
	if n, err := kept.RowsAffected(); err != nil || n == 0 {
		return false, err
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO jobs (event_id, body, due_at) VALUES (?, ?, ?)",
		id, body, now.UnixMilli()); err != nil {
		return false, err
	}
	if err := tx.Commit(); err != nil {
		return false, err
	}
	select {
	case i.wake <- struct{}{}:
	default: // It was told already.
	}
	return true, nil
}

// next is the job that is due for the longest time, or sql.ErrNoRows.
func (i *Inbox) next(ctx context.Context, now time.Time) (id string, body []byte, err error) {
	err = i.db.QueryRowContext(ctx,
		"SELECT event_id, body FROM jobs WHERE due_at <= ? ORDER BY due_at, event_id LIMIT 1", now.UnixMilli(),
	).Scan(&id, &body)
	return id, body, err
}

// done forgets a job.
func (i *Inbox) done(ctx context.Context, id string) error {
	_, err := i.db.ExecContext(ctx, "DELETE FROM jobs WHERE event_id = ?", id)
	return err
}

// postpone leaves a job for later.
func (i *Inbox) postpone(ctx context.Context, id string, until time.Time) error {
	_, err := i.db.ExecContext(ctx, "UPDATE jobs SET due_at = ? WHERE event_id = ?", until.UnixMilli(), id)
	return err
}
