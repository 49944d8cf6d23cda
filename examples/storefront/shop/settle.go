package shop

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
)

// attempt is a checkout that passes through the proxy.
type attempt struct {
	session, key string
	sent         bool // The proxy may have sent it to the API.
}

type attemptKey struct{}

// settle passes requests to the proxy, and records what became of a checkout before the browser can read it.
func (s *shop) settle(proxy http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		kept := &keptAnswer{ResponseWriter: w}
		s.attempt(proxy, kept, r)
		w.WriteHeader(kept.status)
		_, _ = w.Write(kept.body.Bytes())
	})
}

// attempt passes a request to the proxy, and records what became of a checkout even if the proxy panics.
func (s *shop) attempt(proxy http.Handler, kept *keptAnswer, r *http.Request) {
	attempt := &attempt{}
	body := &keptBody{ReadCloser: r.Body}
	defer func() {
		if !attempt.sent {
			// It was refused on the way, such as for an event that is not published any more.
			attempt.session, _ = s.sessions.find(r)
			attempt.key = body.idempotencyKey()
		}
		var refused struct{ Error struct{ Code string } }
		_ = json.Unmarshal(kept.body.Bytes(), &refused) // Every answer of the proxy is JSON.
		s.payments.ended(attempt, kept.status, refused.Error.Code)
	}()
	passed := r.WithContext(context.WithValue(r.Context(), attemptKey{}, attempt))
	passed.Body = body
	proxy.ServeHTTP(kept, passed)
}

// keptBody keeps what the proxy reads of a body. The proxy bounds that.
type keptBody struct {
	io.ReadCloser

	read bytes.Buffer
}

// Read reads from the body.
func (k *keptBody) Read(p []byte) (int, error) {
	n, err := k.ReadCloser.Read(p)
	k.read.Write(p[:n])
	return n, err
}

// idempotencyKey returns the key of a checkout, or "" if the body is none.
func (k *keptBody) idempotencyKey() string {
	var sent struct {
		Payload struct{ IdempotencyKey string }
	}
	_ = json.Unmarshal(k.read.Bytes(), &sent)
	return sent.Payload.IdempotencyKey
}

// keptAnswer keeps an answer until it may be sent. Those of the proxy are small.
type keptAnswer struct {
	http.ResponseWriter

	status int
	body   bytes.Buffer
}

// WriteHeader keeps the status.
func (k *keptAnswer) WriteHeader(status int) { k.status = status }

// Write keeps the body.
func (k *keptAnswer) Write(p []byte) (int, error) { return k.body.Write(p) }
