package shop

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
)

// attempt is a checkout that passes through the proxy. It is empty until the proxy asks whether it may buy.
type attempt struct{ session, key string }

type attemptKey struct{}

// settle passes requests to the proxy, and records what became of a checkout before the browser can read it.
func (p *payments) settle(proxy http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		attempt := &attempt{}
		kept := &keptAnswer{ResponseWriter: w, status: http.StatusOK}
		proxy.ServeHTTP(kept, r.WithContext(context.WithValue(r.Context(), attemptKey{}, attempt)))
		if attempt.key != "" {
			var refused struct{ Error struct{ Code string } }
			_ = json.Unmarshal(kept.body.Bytes(), &refused) // Every answer of the proxy is JSON.
			p.ended(attempt.session, attempt.key, kept.status, refused.Error.Code)
		}
		w.WriteHeader(kept.status)
		_, _ = w.Write(kept.body.Bytes())
	})
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
