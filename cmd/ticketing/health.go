package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/floatgate/ticketing"
)

var errDraining = errors.New("the server drains")

// health serves endpoints that need no key and are not part of the public API: liveness, readiness and metrics.
type health struct{ handlers map[string]http.Handler }

// newHealth returns the health of a service. After running ends, the server drains: it is alive and not ready.
func newHealth(running context.Context, svc *ticketing.Service, m *metrics, logger *slog.Logger) *health {
	return &health{handlers: map[string]http.Handler{
		"/healthz": plain(func(context.Context) error { return nil }, nil),
		"/readyz": plain(func(ctx context.Context) error {
			if running.Err() != nil {
				return errDraining
			}
			ctx, cancel := context.WithTimeout(ctx, readyTimeout)
			defer cancel()
			err := svc.Ready(ctx)
			if err != nil {
				logger.WarnContext(ctx, "not ready", "error", err)
			}
			return err
		}, m.nodes.absent),
		"/metrics": m.handler(),
	}}
}

// before returns a handler that serves the paths of health itself and passes all other requests to next. A path must
// match byte for byte. A proxy that hides a path from the public compares the raw request target. So an escaped path,
// an absolute request target or a doubled slash does not match here.
func (h *health) before(next http.Handler) http.Handler {
	// Not an http.ServeMux: it would clean the paths of all requests.
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, _, _ := strings.Cut(r.RequestURI, "?")
		handler, ok := h.handlers[path]
		if !ok || (r.Method != http.MethodGet && r.Method != http.MethodHead) {
			handler = next
		}
		handler.ServeHTTP(w, r)
	})
}

// server returns the server of --operator-addr, which serves only health.
func (h *health) server(logger *slog.Logger) *http.Server {
	return &http.Server{
		Handler:                      h.before(http.NotFoundHandler()),
		DisableGeneralOptionsHandler: true,
		ReadHeaderTimeout:            headerTimeout,
		ReadTimeout:                  readTimeout,
		WriteTimeout:                 writeTimeout,
		IdleTimeout:                  idleTimeout,
		MaxHeaderBytes:               maxHeaderBytes,
		ErrorLog:                     slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
}

// serveHealth serves health on a listener until the returned function is called. That function waits for the requests
// in progress, at most readyTimeout. Without a listener, serveHealth does nothing.
func (h *health) serveHealth(ctx context.Context, listener net.Listener, logger *slog.Logger) (stop func()) {
	if listener == nil {
		return func() {}
	}
	server, ended := h.server(logger), make(chan struct{})
	go func() {
		defer close(ended)
		if err := ignoring(server.Serve(listener), http.ErrServerClosed); err != nil {
			logger.ErrorContext(ctx, "health and metrics are no longer served", "error", err)
		}
	}()
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTimeout)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			_ = server.Close()
		}
		<-ended
	}
}

// plain returns a handler that responds 200 or 503, with a single word that gives no details. With 200 a second line
// has the groups of the nodes that do not respond, if there are any: the companies of the other nodes sell, so a load
// balancer must keep the server.
func plain(check func(context.Context) error, absent func() []int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		if err := check(r.Context()); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, "unavailable\n")
			return
		}
		text := "ok\n"
		if absent != nil {
			var groups []string
			for _, group := range absent() {
				groups = append(groups, strconv.Itoa(group))
			}
			if len(groups) > 0 {
				text += "absent nodes: " + strings.Join(groups, ", ") + "\n"
			}
		}
		_, _ = io.WriteString(w, text)
	})
}
