// Package widget serves the embed SDK: the script, types, style and frame with which a website sells tickets (section
// 4.13 of the contract).
//
//	mux.Handle("/embeds/v1/", widget.New(nil))
//	mux.Handle("/embed/v1/", widget.New(nil))
//
// None of it is secret, and none of it knows a company: the page that loads it brings the transport to its own proxy.
// See docs/embed.md.
package widget

import (
	"embed"
	"net/http"

	"github.com/floatgate/ticketing/internal/webfile"
)

// The paths of the SDK on the web origin.
const (
	ScriptPath = "/embeds/v1/service.js"
	TypesPath  = "/embeds/v1/service.d.ts"
	StylePath  = "/embeds/v1/widget.css"
	FramePath  = "/embed/v1/events"
)

// framedPath is the script of the frame's document. Only that document loads it.
const framedPath = "/embeds/v1/framed.js"

// Config configures [New].
type Config struct {
	// Other serves all other paths. Defaults to 404.
	Other http.Handler
	// Title is the name of the service, which the title of the frame's document ends with: "Tickets · Eko Events". A
	// screen reader says it, and it is the name of the frame in a browser's tools. Defaults to none: "Tickets".
	Title string
}

// New returns a handler of the SDK's four paths, and of the script of the frame's document, /embeds/v1/framed.js. They
// need no credential and are never rate limited.
//
// The files may be loaded by any site and be cached for five minutes. After that a cache asks again with their
// entity tag. The frame's document takes the query origin=ORIGIN alone: the origin of the page around it, which has to
// be https. Only that page may frame it. A cache may keep it for five minutes, too, since it depends on its URL alone.
func New(config *Config) http.Handler {
	var c Config
	if config != nil {
		c = *config
	}
	if c.Other == nil {
		c.Other = http.NotFoundHandler()
	}
	title := "Tickets"
	if c.Title != "" {
		title += " · " + c.Title
	}
	served := map[string]http.HandlerFunc{
		ScriptPath: asset("service.js", "text/javascript; charset=utf-8"),
		TypesPath:  asset("service.d.ts", "application/typescript; charset=utf-8"),
		StylePath:  asset("widget.css", "text/css; charset=utf-8"),
		FramePath:  frame(title),
		framedPath: asset("framed.js", "text/javascript; charset=utf-8"),
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		serve, found := served[r.URL.Path]
		if !found {
			c.Other.ServeHTTP(w, r)
			return
		}
		header := w.Header()
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			header.Set("Allow", "GET, HEAD")
			http.Error(w, "only GET and HEAD are allowed", http.StatusMethodNotAllowed)
			return
		}
		serve(w, r)
	})
}

// assets are made of the sources in src by .ci/assets.
//
//go:embed assets
var assets embed.FS

// caching is how long a cache keeps what is served. A release is everywhere after five minutes.
const caching = "public, max-age=300"

// asset returns a handler of one of the files.
func asset(name, contentType string) http.HandlerFunc {
	text, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // It is part of the program.
	}
	file := webfile.New(text)
	return func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Cache-Control", caching)
		header.Set("Access-Control-Allow-Origin", "*")
		header.Set("Cross-Origin-Resource-Policy", "cross-origin")
		file.Serve(w, r, contentType)
	}
}
