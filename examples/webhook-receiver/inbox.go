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

// Inbox stores the received events, and the jobs that follow from them, in an SQLite file.
type Inbox struct {
	db   *sql.DB
	wake chan struct{} // receives a value when there is work
}

// The id of an event is kept forever, since a replay may come at any time. Its body, which holds buyers, is kept only
// until the work is done.
const tables = `
CREATE TABLE IF NOT EXISTS events (id TEXT PRIMARY KEY, type TEXT NOT NULL, received_at TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS jobs (
	event_id TEXT PRIMARY KEY REFERENCES events (id), body BLOB NOT NULL, due_at INTEGER NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS jobs_due ON jobs (due_at);`

// OpenInbox opens an inbox, and creates it if it does not exist. Only its owner may read the file.
func OpenInbox(ctx context.Context, path string) (*Inbox, error) {
	if err := makeFile(path); err != nil {
		return nil, fmt.Errorf("open the inbox: %w", err)
	}
	// With synchronous(FULL) a commit is on the disk before it returns.
	name := (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: url.Values{
		"_txlock": {"immediate"},
		"_pragma": {"busy_timeout(5000)", "foreign_keys(1)", "journal_mode(WAL)", "synchronous(FULL)"},
	}.Encode()}).String()
	db, err := sql.Open("sqlite", name)
	if err != nil {
		return nil, fmt.Errorf("open the inbox: %w", err)
	}
	db.SetMaxOpenConns(1) // SQLite has one writer anyway.
	if _, err := db.ExecContext(ctx, tables); err != nil {
		return nil, errors.Join(fmt.Errorf("open the inbox: %w", err), db.Close())
	}
	return &Inbox{db: db, wake: make(chan struct{}, 1)}, nil
}

// makeFile creates the file if it does not exist. It does not open an existing file: closing it would release the locks
// of other connections in this process.
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

// Close closes the inbox, which may not be used afterwards.
func (i *Inbox) Close() error { return i.db.Close() }

// Keep stores an event and its job in one durable transaction, and reports whether the event is new. The primary key on
// the event's id makes one of two concurrent requests the duplicate. The delivery's id would not do, since a replay has
// another.
func (i *Inbox) Keep(ctx context.Context, id, kind string, body []byte, now time.Time) (fresh bool, err error) {
	tx, err := i.db.BeginTx(ctx, nil)
	if err != nil {
		return false, err
	}
	defer tx.Rollback()
	kept, err := tx.ExecContext(ctx,
		"INSERT INTO events (id, type, received_at) VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING",
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
	default: // A wake-up is pending already.
	}
	return true, nil
}

// next returns the job that has been due for the longest time, or sql.ErrNoRows.
func (i *Inbox) next(ctx context.Context, now time.Time) (id string, body []byte, err error) {
	err = i.db.QueryRowContext(ctx,
		"SELECT event_id, body FROM jobs WHERE due_at <= ? ORDER BY due_at, event_id LIMIT 1", now.UnixMilli(),
	).Scan(&id, &body)
	return id, body, err
}

// done deletes a job.
func (i *Inbox) done(ctx context.Context, id string) error {
	_, err := i.db.ExecContext(ctx, "DELETE FROM jobs WHERE event_id = ?", id)
	return err
}

// postpone moves a job to a later time.
func (i *Inbox) postpone(ctx context.Context, id string, until time.Time) error {
	_, err := i.db.ExecContext(ctx, "UPDATE jobs SET due_at = ? WHERE event_id = ?", until.UnixMilli(), id)
	return err
}
