package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/console"
)

// openConsole makes the console of a server, unless a flag turns it off, or it would be served over plain HTTP to other
// machines. The secret is that of the console at its issuer. The mailer is nil if the server sends no mails.
func (s *serving) openConsole(r *running, secret string, mailer ticketing.Mailer, listening net.Addr) error {
	oidc, err := s.oidc(secret)
	if err != nil || s.NoConsole {
		return err
	}
	config := &console.Config{
		Title:     s.Title.String(),
		WebOrigin: s.WebOrigin.origin, Mailer: mailer, TrustedProxies: s.TrustedProxies, Logger: r.logger,
		OIDC: oidc, OnRequest: r.metrics.console.observe,
	}
	origin := s.WebOrigin.origin
	if origin == "" {
		// Passkeys need a host name, so the console is at localhost if that leads to the listener.
		if local, ok := localhostOrigin(r.transport.scheme(), listening); ok {
			origin = local
		} else {
			origin, config.WebOrigin = r.webOrigin, r.webOrigin
		}
	}
	made, err := console.New(r.svc, config)
	if errors.Is(err, console.ErrPlainHTTP) {
		return nil
	}
	if err != nil {
		return badConsole(err)
	}
	r.console, r.consoleOrigin = r.metrics.serving("console", made), origin
	return nil
}

// logConsole logs the address of the console, or why there is none.
func (s *serving) logConsole(ctx context.Context, r *running) {
	switch {
	case r.console != nil:
		r.logger.InfoContext(ctx, "the console is served", slog.String("url", r.consoleOrigin+"/business"))
	case !s.NoConsole:
		r.logger.WarnContext(ctx, "there is no console: at the web origin it would be served over plain HTTP; give an "+
			"https:// origin as --web-origin, or --no-console", slog.String("webOrigin", r.webOrigin))
	}
}

// withConsole returns a handler that serves the paths of the console, if there is one, and passes all other requests to
// next unchanged.
func (r *running) withConsole(next http.Handler) http.Handler {
	if r.console == nil {
		return next
	}
	// Not an http.ServeMux: it would clean the paths of the API.
	paths := console.Paths()
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		for _, path := range paths {
			if request.URL.Path == path || strings.HasSuffix(path, "/") && strings.HasPrefix(request.URL.Path, path) {
				r.console.ServeHTTP(w, request)
				return
			}
		}
		next.ServeHTTP(w, request)
	})
}

// localhostOrigin returns the origin at localhost of a listener, and whether localhost leads to it.
func localhostOrigin(scheme string, listening net.Addr) (string, bool) {
	tcp, ok := listening.(*net.TCPAddr)
	if !ok || !tcp.IP.IsUnspecified() && !tcp.IP.Equal(net.IPv4(127, 0, 0, 1)) && !tcp.IP.Equal(net.IPv6loopback) {
		return "", false
	}
	return scheme + "://" + net.JoinHostPort("localhost", strconv.Itoa(tcp.Port)), true
}

// servesConsole reports whether a console is served at a web origin.
func servesConsole(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "https" || u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}
