package main_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/browsertest"
	"github.com/floatgate/ticketing/internal/race"
	"github.com/floatgate/ticketing/widget"
)

// The printed lines need no database, and name the origin and the path that they were asked for.
func TestEmbedSnippet(t *testing.T) {
	t.Parallel()
	race.Leave(t, "commands that run one after the other")
	is := is.New(t)
	sh := newEmptyShell(t).with("TICKETING_DATABASE", "postgres://nowhere.invalid/none")
	did := sh.run("embed", "snippet", "--proxy", "/shop/tickets", "--web-origin", "https://tickets.example/")
	is.Equal(did.status, 0)
	is.Equal(did.stderr, "")
	is.Equal(did.stdout, `Into the page, where the tickets go:

<div id="tickets"></div>
<script src="https://tickets.example/embeds/v1/service.js" defer></script>
<script src="/shop/tickets.js" defer></script>

Into the file /shop/tickets.js of the website's own, since a strict policy allows no script within a page:

ServiceEmbedsV1.mount({
  target: '#tickets',
  transport: ServiceEmbedsV1.proxyTransport('/shop/tickets'),
})

Into the Content-Security-Policy of the page:

script-src 'self' https://tickets.example; style-src 'self' https://tickets.example; connect-src 'self'; `+
		"img-src 'self' https:\n")
	pictured := sh.object("embed", "snippet", "--proxy", "/t", "--web-origin", "https://tickets.example", "--pictures",
		"https://img.example, https://logo.example:8443")
	is.True(strings.HasSuffix(pictured["csp"].(string), "; img-src 'self' https://img.example https://logo.example:8443"))

	// The pictures in the frame are under the frame's own policy, and the output says so.
	framed := sh.run("embed", "snippet", "--proxy", "/t", "--web-origin", "https://tickets.example", "--frame")
	is.Equal(framed.status, 0)
	is.True(strings.HasSuffix(framed.stdout, "frame-src https://tickets.example; connect-src 'self'\n\n"+
		"The page needs no img-src for the tickets: the pictures in the frame are under the frame's own policy.\n"))
	// Without a web origin, the lines are those of the README with a note.
	did = sh.run("embed", "snippet", "--proxy", "/tickets")
	is.Equal(did.status, 0)
	is.True(strings.Contains(did.stdout, `<script src="https://tickets.example/embeds/v1/service.js" defer></script>`))
	is.True(strings.Contains(did.stderr, "set yours with --web-origin"))
	is.Equal(did.stdout, sh.with("TICKETING_WEB_ORIGIN", "https://tickets.example").run(
		"embed", "snippet", "--proxy", "/tickets").stdout)

	sh = sh.with("TICKETING_WEB_ORIGIN", "https://tickets.example")
	for name, args := range map[string][]string{
		"relative path":         {"--proxy", "tickets"},
		"path of another host":  {"--proxy", "//tickets"},
		"path with a quote":     {"--proxy", "/a'b"},
		"path with an escape":   {"--proxy", "/a%22"},
		"path with a parent":    {"--proxy", "/a/../b"},
		"path with a dot":       {"--proxy", "/a/."},
		"pictures in a frame":   {"--proxy", "/tickets", "--frame", "--pictures", "https://img.example"},
		"URL":                   {"--proxy", "https://shop.example/tickets"},
		"frame over plain HTTP": {"--proxy", "/tickets", "--frame", "--web-origin", "http://tickets.example"},
		"origin with a quote":   {"--proxy", "/tickets", "--web-origin", `https://a"b`},
		"origin with a path":    {"--proxy", "/tickets", "--web-origin", "https://tickets.example/a"},
		"pictures over HTTP":    {"--proxy", "/tickets", "--pictures", "http://img.example"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			refused := sh.run(append([]string{"embed", "snippet"}, args...)...)
			is.Equal(refused.status, 1)
			is.Equal(refused.stdout, "")
		})
	}
}

// The printed lines work as they are pasted, under no more than the printed policy: in the page and in a frame.
func TestEmbedSnippetIsPasted(t *testing.T) {
	t.Parallel()
	authority := browsertest.Trusted(t)
	browser := browsertest.New(t)
	sdk := authority.Server(t, widget.New(nil))
	sh := newEmptyShell(t)
	for name, args := range map[string][]string{"page": nil, "frame": {"--frame"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			made := sh.object(append([]string{
				"embed", "snippet", "--proxy", "/tickets", "--web-origin", sdk,
			}, args...)...)
			mux := http.NewServeMux()
			mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(http.StatusNoContent)
			})
			policy := "default-src 'none'; " + made["csp"].(string)
			if name == "frame" {
				policy += "; img-src 'self'" // for the page's own icon
			}
			mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/html; charset=utf-8")
				w.Header().Set("Content-Security-Policy", policy)
				_, _ = io.WriteString(w, `<!doctype html><html lang="en"><title>Shop</title>`+
					`<meta name="viewport" content="width=device-width">`+
					`<main><h1>Shop</h1>`+made["html"].(string)+`</main></html>`)
			})
			mux.HandleFunc("GET "+made["scriptPath"].(string), func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
				_, _ = io.WriteString(w, made["script"].(string))
			})
			mux.HandleFunc("POST /tickets", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, `{"data":[],"meta":{"requestId":"r1","page":{"hasMore":false,"nextCursor":null}}}`)
			})
			p := browser.Open(t, authority.Server(t, mux), browsertest.Phone)
			p.OwnOrigins(sdk)
			shown := p.Frame
			if name == "frame" {
				shown = p.Frame.Frame(`document.querySelector("#tickets iframe")`)
			}
			region := shown.Role("region", "^Tickets")
			shown.Role("heading", "^Events$")
			is.True(strings.Contains(region.Text(`this.innerText`), "No events on sale"))
			p.Fits()
			p.IsClean()
		})
	}
}
