package main_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/matryer/is"
)

// The command asks the address at which a server listens whether it is ready or, with --live, whether it lives.
func TestHealthProbe(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	asked := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.RequestURI != "/healthz" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer asked.Close()
	address := strings.TrimPrefix(asked.URL, "http://")
	_, port, _ := strings.Cut(address, ":")
	sh := &shell{t: t, env: map[string]string{"TICKETING_ADDR": "0.0.0.0:" + port}}
	is.Equal(sh.object("health", "--live"), map[string]any{"status": "ok"})
	code, message := sh.refusal("health")
	is.Equal(code, "UNAVAILABLE")
	is.True(strings.HasSuffix(message, "/readyz responds with 503 Service Unavailable"))

	sh = sh.with("TICKETING_TLS_CERT", "chain.pem")
	code, message = sh.refusal("health", "--live")
	is.Equal(code, "INVALID_REQUEST")
	is.True(strings.Contains(message, "--operator-addr"))
	is.Equal(sh.object("health", "--live", "--operator-addr", address), map[string]any{"status": "ok"})

	asked.Close()
	code, message = sh.refusal("health", "--operator-addr", address)
	is.Equal(code, "UNAVAILABLE")
	is.True(strings.HasSuffix(message, "/readyz does not respond"))
}
