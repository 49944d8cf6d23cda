// Package shop is a small shop that sells tickets in a browser: its pages, its session, its payment step, and the
// browser proxy of package embedproxy. The command storefront serves it, and so does "ticketing demo", which is why it
// is a package of its own.
//
//	GET  /           the page with the widget in itself
//	GET  /frame      the page with the widget in a frame; over TLS alone
//	POST /tickets    the browser proxy
//	POST /pay        the payment
//
// What is worth copying:
//
//   - shop.go mounts the proxy, and has the policies of the two pages. They allow no inline script and no inline style.
//   - session.go has a session without an account: a random id in a signed cookie.
//   - payment.go remembers what a session has paid for, and decides which checkout may be sent. settle.go records what
//     became of it.
//   - payrequest.go and limit.go check and bound what a browser may ask to pay for.
//   - alert.go alerts the company's administrator if the company cannot sell.
//   - pages/shop.js wraps the SDK's transport, so that a checkout is paid first.
//
// A real shop has its payments in a database, written by its payment provider, and not in memory.
package shop

import (
	"context"
	"embed"
	"errors"
	"html/template"
	"io/fs"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/embedproxy"
)

// Config holds the options of a shop. Upstream and WebOrigin are required.
type Config struct {
	// Upstream is the API: [embedproxy.Remote] or [embedproxy.Local].
	Upstream embedproxy.Upstream
	// WebOrigin is where the SDK is served: that of the API, or one in front of it.
	WebOrigin string
	// Secure says that browsers reach the shop over HTTPS. Only then can it have a cookie for HTTPS alone, and the page
	// with the frame. Defaults to false.
	Secure bool
	// TrustedProxies are the addresses of load balancers, whose X-Forwarded-For is trusted. Defaults to none: buyers are
	// counted where their connections come from.
	TrustedProxies []netip.Prefix
	// Pictures are the origins of the pictures of events, such as https://images.example. Others are blocked. Defaults
	// to those of the shop alone.
	Pictures []string
	// SessionKey signs the cookies of sessions: 32 random bytes. Defaults to new ones, with which sessions end with the
	// process.
	SessionKey []byte
	// Alert is called when the company may not sell because its verification is not in order, at most once in
	// [AlertInterval]. It reaches the company's administrator: by mail, say. No buyer waits for it. Its context ends after
	// a minute. It must not panic. Defaults to a line in the log.
	Alert func(context.Context)
	// Logger gets what somebody at the shop can act on. Defaults to no log.
	Logger *slog.Logger
	// Clock returns the time. Defaults to time.Now.
	Clock func() time.Time
}

// pages are the shop's pages, styles and scripts.
//
//go:embed pages
var pages embed.FS

// shop is the handler's state.
type shop struct {
	config   Config
	template *template.Template
	sessions sessions
	payments *payments

	addresses, visitors *limit // of POST /pay
}

// New returns the handler of a shop.
func New(config Config) (http.Handler, error) {
	c := &config
	origin, err := url.Parse(c.WebOrigin)
	if err != nil || origin.Host == "" || c.WebOrigin != origin.Scheme+"://"+origin.Host {
		return nil, errors.New("shop: the web origin must be an origin such as https://tickets.example")
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Clock == nil {
		c.Clock = time.Now
	}
	if c.Alert == nil {
		c.Alert = func(ctx context.Context) {
			c.Logger.WarnContext(ctx, "the company may not sell now: its administrator must see to its verification")
		}
	}
	s := &shop{
		config: config, sessions: newSessions(c.SessionKey, c.Secure), payments: newPayments(c.Clock),
		addresses: newLimit(paysPerMinute), visitors: newLimit(paysPerMinute),
	}
	static, err := fs.Sub(pages, "pages")
	if err != nil {
		return nil, err
	}
	if s.template, err = template.ParseFS(static, "shop.html"); err != nil {
		return nil, err
	}
	alerts := &alerts{alert: c.Alert, clock: c.Clock}
	proxy, err := embedproxy.New(c.Upstream, &embedproxy.Config{
		Session: s.sessions.find, MayBuy: s.payments.mayBuy, OnAnswer: alerts.watch, Logger: c.Logger, Clock: c.Clock,
		TrustedProxies: c.TrustedProxies,
	})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) { s.page(w, r, false) })
	mux.HandleFunc("GET /frame", func(w http.ResponseWriter, r *http.Request) { s.page(w, r, true) })
	for _, file := range []string{"/shop.js", "/shop.css", "/icon.svg", "/picture.svg"} {
		mux.Handle("GET "+file, http.FileServerFS(static))
	}
	// Both refuse other methods themselves, in JSON.
	mux.Handle("/tickets", s.settle(proxy))
	mux.Handle("/pay", ownPages(http.HandlerFunc(s.pay)))
	return withHeaders(mux), nil
}

// ownPages refuses what the pages of other websites send: only the shop's own may pay.
func ownPages(next http.Handler) http.Handler {
	origins := http.NewCrossOriginProtection()
	origins.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusForbidden, string(ticketing.CodePermissionDenied), "The request comes from another origin.")
	}))
	return origins.Handler(next)
}

// content is what a page shows.
type content struct {
	WebOrigin string
	Frame     bool // the page with the frame
	Secure    bool
}

// page serves a page, and begins a session.
func (s *shop) page(w http.ResponseWriter, r *http.Request, frame bool) {
	s.sessions.begin(w, r)
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	header.Set("Content-Security-Policy", s.policy(frame))
	shown := content{WebOrigin: s.config.WebOrigin, Frame: frame, Secure: s.config.Secure}
	if err := s.template.Execute(w, shown); err != nil {
		s.config.Logger.WarnContext(r.Context(), "a page was not sent", "error", err)
	}
}

// policy returns the Content-Security-Policy of a page. "ticketing embed snippet" prints what of it the SDK needs.
func (s *shop) policy(frame bool) string {
	styles, frames := "'self' "+s.config.WebOrigin, "'none'"
	if frame {
		styles, frames = "'self'", s.config.WebOrigin
	}
	return strings.Join([]string{
		"default-src 'none'",
		"script-src 'self' " + s.config.WebOrigin,
		"style-src " + styles,
		"frame-src " + frames,
		"connect-src 'self'",
		"img-src " + strings.Join(append([]string{"'self'"}, s.config.Pictures...), " "),
		"base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
	}, "; ")
}

// withHeaders adds what every answer has.
func withHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		next.ServeHTTP(w, r)
	})
}
