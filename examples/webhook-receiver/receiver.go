package main

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"
)

// maxBody is the largest body that is read, in bytes. Events are far smaller.
const maxBody = 1 << 20

// Receiver stores webhooks in an inbox.
type Receiver struct {
	Secrets []string
	Inbox   *Inbox
	Log     *slog.Logger
	Clock   func() time.Time
}

// Event holds the members of a body that a receiver needs (section 6.3).
type Event struct {
	ID         string          `json:"id"`
	Type       string          `json:"type"`
	APIVersion string          `json:"api_version"`
	Data       json.RawMessage `json:"data"`
}

var (
	errNoEvent  = errors.New("the body is not an event of v1")
	errMismatch = errors.New("the headers and the body name different events")
)

// Handler serves POST /webhooks.
func (r *Receiver) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /webhooks", r.receive)
	return mux
}

func (r *Receiver) receive(w http.ResponseWriter, request *http.Request) {
	// Read the raw bytes first: they are what was signed.
	body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, maxBody))
	if err != nil {
		http.Error(w, "the body is too large, or ended early", http.StatusBadRequest)
		return
	}
	event, err := r.check(request.Header, body)
	if err != nil {
		// Neither the body nor the headers are logged: anyone may have sent them.
		r.Log.WarnContext(request.Context(), "refused", slog.String("why", err.Error()))
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	fresh, err := r.Inbox.Keep(request.Context(), event.ID, event.Type, body, r.Clock())
	if err != nil { // Not stored: the service tries again.
		r.Log.ErrorContext(request.Context(), "not kept", slog.String("event", event.ID), slog.Any("err", err))
		http.Error(w, "not kept, try again", http.StatusInternalServerError)
		return
	}
	r.Log.InfoContext(request.Context(), "accepted", slog.String("event", event.ID), slog.String("type", event.Type),
		slog.Bool("fresh", fresh))
	w.WriteHeader(http.StatusNoContent) // Also for a duplicate, which was accepted before.
}

// check verifies, parses, and compares (section 6.4), in this order.
func (r *Receiver) check(header http.Header, body []byte) (Event, error) {
	if err := verify(header.Get("X-Service-Signature"), body, r.Clock(), r.Secrets); err != nil {
		return Event{}, err
	}
	var event Event // Unknown members are ignored (section 9).
	if json.Unmarshal(body, &event) != nil || event.APIVersion != "v1" || event.ID == "" {
		return Event{}, errNoEvent
	}
	if event.ID != header.Get("X-Service-Event-Id") || event.Type != header.Get("X-Service-Event") {
		return Event{}, errMismatch
	}
	return event, nil
}
