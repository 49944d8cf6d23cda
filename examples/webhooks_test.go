package examples_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/floatgate/ticketing/webhook"
)

func Example_webhooks() {
	db, secret := openReceiver() // a database with your tables, and what the endpoint was registered with

	accept := func(ctx context.Context, delivery webhook.Delivery) error {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback()
		id := delivery.Event.ID // not delivery.ID: a replay has another
		kept, err := tx.ExecContext(ctx, "INSERT INTO events (id) VALUES (?) ON CONFLICT (id) DO NOTHING", id)
		if err != nil {
			return err
		}
		if n, err := kept.RowsAffected(); err != nil || n == 0 {
			return err // nil: it was accepted before.
		}
		if _, err := tx.ExecContext(ctx, "INSERT INTO jobs (event_id, body) VALUES (?, ?)", id, delivery.Body); err != nil {
			return err
		}
		return tx.Commit()
	}
	mux := http.NewServeMux()
	mux.Handle("/webhooks", webhook.Handler(webhook.FixedSecrets(secret), accept, &webhook.HandlerConfig{
		OnError: func(r *http.Request, err error) { slog.WarnContext(r.Context(), "webhook", "err", err) },
	}))
	serve(mux) // with TLS, or behind a proxy that has it
	// Output:
	// 204 1
	// 204 1
	// 400 1
}

// inbox is the database of the receiver that serve tests.
var inbox *sql.DB

func openReceiver() (db *sql.DB, secret string) {
	folder, err := os.MkdirTemp("", "receiver")
	check(err)
	inbox, err = sql.Open("sqlite", filepath.Join(folder, "receiver.db"))
	check(err)
	_, err = inbox.ExecContext(context.Background(),
		"CREATE TABLE events (id TEXT PRIMARY KEY); CREATE TABLE jobs (event_id TEXT REFERENCES events, body BLOB)")
	check(err)
	return inbox, "svc_whsec_example"
}

// serve sends an event twice and a forgery of it, and prints each status and the number of jobs.
func serve(handler http.Handler) {
	defer slog.SetDefault(slog.Default())
	slog.SetDefault(slog.New(slog.DiscardHandler))
	event := webhook.NewEvent("0b8f6f0e-6d5c-4c1e-9a53-0f2d5f8b7a10", time.Now(), webhook.TicketValidated{})
	body, err := event.Encode()
	check(err)
	for _, secret := range []string{"svc_whsec_example", "svc_whsec_example", "svc_whsec_of somebody"} {
		request := httptest.NewRequest(http.MethodPost, "/webhooks", bytes.NewReader(body))
		request.Header.Set(webhook.HeaderEventID, event.ID)
		request.Header.Set(webhook.HeaderEvent, event.Type)
		request.Header.Set(webhook.HeaderSignature, webhook.Sign(secret, time.Now(), body))
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		var jobs int
		check(inbox.QueryRowContext(context.Background(), "SELECT count(*) FROM jobs").Scan(&jobs))
		fmt.Println(answer.Code, jobs)
	}
}

// The Go code of docs/webhooks.md is the body of the example above, byte for byte.
func TestWebhooksDocumentShowsTheExample(t *testing.T) {
	t.Parallel()
	shows(t, "../docs/webhooks.md", "webhooks_test.go")
}
