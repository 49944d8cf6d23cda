package main

import (
	"bytes"
	"context"
	_ "embed" // The page is a file of this folder.
	"html/template"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/floatgate/ticketing/httpapi"
	"github.com/floatgate/ticketing/internal/webfile"
	"github.com/floatgate/ticketing/internal/webpage"
	"github.com/floatgate/ticketing/widget"
)

var (
	//go:embed home.html
	homeSource string
	//go:embed home.css
	homeStyle []byte
)

// homeTemplate parses the page at "/" once.
var homeTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("home").Parse(homeSource))
})

// homeTimeout limits how long the page at "/" waits for the records of a demo.
const homeTimeout = 2 * time.Second

// home serves the page at "/", and redirects /docs, /guide and /openapi.json to the API's. All links are relative to
// the page, so they also work behind a proxy that adds a path.
type home struct {
	page   homePage
	plain  func() webfile.File // the page without a demo, which is made once
	style  func() webfile.File
	demo   atomic.Pointer[demoHome]
	hides  bool // The server is set up for a proxy or another machine: no page shows the API key.
	logger *slog.Logger
}

// homePage is what the page shows.
type homePage struct {
	Title   string
	Version string // empty: a development build
	Commit  string // empty: unknown
	API     string // the path of the API, relative to the page
	Console string // the address where people sign in; empty: there is no console
	Health  bool   // Health is served beside the API.
	Script  string // the path of the embed SDK, relative to the page
	Types   string // and of its types
	Demo    *homeDemo
}

// newHome returns the page of a server.
func newHome(r *running, title string, proxied bool, logger *slog.Logger) *home {
	h := &home{logger: logger, hides: proxied || !isLocalOrigin(r.webOrigin), page: homePage{
		Title: title, API: strings.TrimPrefix(httpapi.DefaultPrefix, "/"), Health: r.operator == nil,
		Script: strings.TrimPrefix(widget.ScriptPath, "/"), Types: strings.TrimPrefix(widget.TypesPath, "/"),
	}}
	if b := built(); b.Version != "(devel)" {
		h.page.Version = b.Version
	}
	if b := built(); b.Commit != "unknown" {
		h.page.Commit = b.Commit[:min(len(b.Commit), 12)]
	}
	if r.console != nil {
		h.page.Console = r.consoleOrigin + "/business"
	}
	h.plain = sync.OnceValue(func() webfile.File { return render(h.page) })
	h.style = sync.OnceValue(func() webfile.File { return webfile.New(homeStyle) })
	return h
}

// before returns a handler that serves the page and the redirects itself, and passes all other requests to next. A path
// must match byte for byte, as in [health.before].
func (h *home) before(next http.Handler) http.Handler {
	redirects := map[string]string{}
	for _, path := range []string{"/docs", "/guide", "/openapi.json"} {
		redirects[path] = h.page.API + path
	}
	redirects["/favicon.ico"] = h.page.API + "/docs/icon.svg" // Browsers ask for it beside JSON, too.
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, _, _ := strings.Cut(r.RequestURI, "?")
		to, redirected := redirects[path]
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			next.ServeHTTP(w, r)
		case path == "/":
			h.serve(w, r)
		case path == "/home.css":
			webpage.SetHeaders(w.Header(), "")
			w.Header().Set("Cache-Control", "public, no-cache")
			h.style().Serve(w, r, "text/css; charset=utf-8")
		case redirected:
			// Not http.Redirect, which makes the path absolute.
			w.Header().Set("Location", to)
			w.Header().Set("Cache-Control", "no-store")
			w.WriteHeader(http.StatusFound)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// serve sends the page. That of a demo is rendered for each request.
func (h *home) serve(w http.ResponseWriter, r *http.Request) {
	webpage.SetHeaders(w.Header(), webpage.Policy)
	w.Header().Set("Cache-Control", "no-cache")
	file := h.plain
	if demo := h.demo.Load(); demo != nil {
		ctx, cancel := context.WithTimeout(r.Context(), homeTimeout)
		defer cancel()
		shown, err := demo.show(ctx, !h.hides && isLocal(r))
		if err != nil {
			h.logger.WarnContext(ctx, "the page at / is shown without the demo", "error", err)
		} else {
			page := h.page
			page.Demo = shown
			w.Header().Set("Cache-Control", "no-store")
			file = func() webfile.File { return render(page) }
		}
	}
	file().Serve(w, r, "text/html; charset=utf-8")
}

func render(page homePage) webfile.File {
	var text bytes.Buffer
	if err := homeTemplate().Execute(&text, page); err != nil {
		panic(err) // A buffer accepts everything, and the template is tested.
	}
	return webfile.New(text.Bytes())
}

// isLocal reports whether a request seems to come from a browser on this machine that uses an address of this machine.
// Requests to another site's name that leads here do not, nor do those that show a proxy: by a header, or by HTTP/1.0.
// A proxy on this machine that rewrites Host, speaks HTTP/1.1 and adds no header looks like a browser.
func isLocal(r *http.Request) bool {
	if !r.ProtoAtLeast(1, 1) {
		return false
	}
	for name := range r.Header {
		if name == "Forwarded" || name == "Via" || name == "X-Real-Ip" || strings.HasPrefix(name, "X-Forwarded-") {
			return false
		}
	}
	client, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil || !isLoopback(client) {
		return false
	}
	return isLocalHost(r.Host)
}

// isLocalOrigin reports whether an origin is at this machine.
func isLocalOrigin(origin string) bool {
	u, err := url.Parse(origin)
	return err == nil && isLocalHost(u.Host)
}

// isLocalHost reports whether a host, with or without a port, is this machine.
func isLocalHost(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return host == "localhost" || isLoopback(strings.Trim(host, "[]"))
}

func isLoopback(address string) bool {
	ip := net.ParseIP(address)
	return ip != nil && ip.IsLoopback()
}
