package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"

	"github.com/floatgate/ticketing"
)

var errDraining = errors.New("the server drains")

// health answers, without a key, what is no part of the public API: whether the process lives, whether it can work, and
// its metrics.
type health struct{ handlers map[string]http.Handler }

// newHealth reports on a service until running ends: then the server drains, and is alive and not ready.
func newHealth(running context.Context, svc *ticketing.Service, m *metrics, logger *slog.Logger) *health {
	return &health{handlers: map[string]http.Handler{
		"/healthz": plain(func(context.Context) error { return nil }),
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
		}),
		"/metrics": m.handler(),
	}}
}

// before returns a handler that answers the paths of health itself and passes all other requests on. A path must be
// written exactly so: a proxy that keeps one from the public compares what was sent, so an escaped path, an absolute
// request target or a doubled slash does not lead here.
func (h *health) before(next http.Handler) http.Handler {
	// No http.ServeMux: it would clean paths, and a path is none of its business here.
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, _, _ := strings.Cut(r.RequestURI, "?")
		handler, ok := h.handlers[path]
		if !ok || (r.Method != http.MethodGet && r.Method != http.MethodHead) {
			handler = next
		}
		handler.ServeHTTP(w, r)
	})
}

// server is the server of --operator-addr, for health alone.
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

// serveHealth serves health on a listener until the function it returns is called, which takes what is asked meanwhile to
// its end. Without a listener it does nothing.
func (h *health) serveHealth(ctx context.Context, listener net.Listener, logger *slog.Logger) (stop func()) {
	if listener == nil {
		return func() {}
	}
	server, ended := h.server(logger), make(chan struct{})
	go func() {
		defer close(ended)
		if err := ignoring(server.Serve(listener), http.ErrServerClosed); err != nil {
			logger.ErrorContext(ctx, "health and metrics are not served any more", "error", err)
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

// plain answers 200 or 503, with no more than a word about why.
func plain(check func(context.Context) error) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		if err := check(r.Context()); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = io.WriteString(w, "unavailable\n")
			return
		}
		_, _ = io.WriteString(w, "ok\n")
	})
}
