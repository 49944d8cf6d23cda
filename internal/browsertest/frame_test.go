package browsertest_test

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/browsertest"
)

// A browser trusts the authority that a test gives it, and no other. A client in Go checks the names, too.
func TestAuthority(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	ours, theirs := browsertest.NewAuthority(t), browsertest.NewAuthority(t)
	handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write([]byte(good))
	})
	origin, other := ours.Server(t, handler), theirs.Server(t, handler)
	_, port, _ := strings.Cut(strings.TrimPrefix(origin, "https://"), ":")
	for name, trusted := range map[string]bool{
		"localhost": true, "shop.localhost": true, "127.0.0.1": true, "localhost.example": false,
	} {
		dialer := tls.Dialer{Config: &tls.Config{RootCAs: ours.Pool(), ServerName: name}}
		conn, err := dialer.DialContext(t.Context(), "tcp", "127.0.0.1:"+port)
		is.Equal(err == nil, trusted) // name
		if err == nil {
			is.NoErr(conn.Close())
		}
	}
	certFile, keyFile := ours.Files(t, "tickets.example")
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	is.NoErr(err)
	is.NoErr(pair.Leaf.VerifyHostname("tickets.example"))

	browser := browsertest.New(t, ours.Root)
	for _, at := range []string{origin, strings.Replace(origin, "localhost", "shop.localhost", 1)} {
		p := browser.Open(t, at, browsertest.Phone)
		is.Equal(p.Text(`isSecureContext + " " + document.querySelector("h1").innerText`), "true Ọ̀ṣun Night")
		p.IsClean()
	}
	p := browser.Open(t, origin, browsertest.Desktop)
	is.Equal(p.Text(`await fetch("`+other+`", { mode: "no-cors" }).then(() => "trusted", () => "refused")`), "refused")
}

// framed is a page of the origin HOST with a button in a shadow tree, and a frame of the origin FRAME in another one.
const framed = `<!doctype html><html lang="en"><title>Shop</title><link rel="icon" href="data:,">
<main><h1>Shop</h1><div id="host"></div><div style="height:2000px"></div><div id="frames"></div></main>
<script>
	document.querySelector("#host").attachShadow({ mode: "open" }).innerHTML = "<button>Buy a ticket</button><p></p>"
	const shadow = document.querySelector("#host").shadowRoot
	shadow.querySelector("button").onclick = () => { shadow.querySelector("p").append("bought ") }
	document.querySelector("#frames").attachShadow({ mode: "open" }).innerHTML =
		'<iframe title="Tickets" src="FRAME" style="border:0;width:300px;height:200px"></iframe>'
</script></html>`

// inner is the document of a frame.
const inner = `<!doctype html><html lang="en"><title>Tickets</title><main><h1>Tickets</h1>
<label>Name <input></label><button>Send</button><p id="sent"></p>
<script>
	document.querySelector("button").onclick = () => { sent.append(document.querySelector("input").value + "; ") }
</script></main></html>`

// What is in shadow trees and in frames of another origin or another site is found by role and name, clicked, tapped,
// typed into and reached by keyboard.
func TestFrames(t *testing.T) {
	t.Parallel()
	authority := browsertest.Trusted(t)
	frame := authority.Server(t, html(inner, ""))
	browser := browsertest.New(t)
	for name, test := range map[string]struct {
		size browsertest.Size
		site string
	}{
		"desk, same site":   {browsertest.Desktop, frame},
		"phone, other site": {browsertest.Phone, strings.Replace(frame, "localhost", "tickets.localhost", 1)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			host := authority.Server(t, html(strings.ReplaceAll(framed, "FRAME", test.site), ""))
			p := browser.Open(t, host, test.size)
			p.Role("button", "^Buy").Click()
			p.Wait(`document.querySelector("#host").shadowRoot.querySelector("p").innerText === "bought"`)
			p.Role("button", "^Buy").DoubleClick()
			p.Wait(`document.querySelector("#host").shadowRoot.querySelector("p").innerText === "bought bought bought"`)

			f := p.Frame.Frame(`document.querySelector("#frames").shadowRoot.querySelector("iframe")`)
			is.Equal(f.Text(`location.origin`), test.site)
			f.Role("textbox", "Name").Type("Ọ̀ṣun")
			f.Role("button", "Send").Click()
			f.Wait(`sent.innerText === "Ọ̀ṣun;"`)
			f.Role("textbox", "Name").Type("Ada")
			is.Equal(f.Roles("button"), []string{"Send"})
			f.TabToRole("button", "Send")
			p.Press("\r")
			f.Wait(`sent.innerText === "Ọ̀ṣun; Ada;"`)
			browsertest.Axe(t, f)
			browsertest.Axe(t, p)

			is.Equal(p.Elsewhere(), []string{test.site + "/"})
			p.OwnOrigins(test.site)
			p.IsClean()
			p.Tab(host, test.size).Text(`document.cookie = "a=b; path=/"`)
			is.Equal(p.Text(`document.cookie`), "a=b") // of the other tab
		})
	}
}

// What a policy blocks is reported, in the page and in a frame of another site.
func TestPolicyViolations(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	authority := browsertest.Trusted(t)
	frame := strings.Replace(authority.Server(t, html(inner, "script-src 'none'")), "localhost", "tickets.localhost", 1)
	host := authority.Server(t, html(strings.ReplaceAll(framed, "FRAME", frame), "style-src 'none'"))
	p := browsertest.New(t).Open(t, host, browsertest.Desktop)
	p.Frame.Frame(`document.querySelector("#frames").shadowRoot.querySelector("iframe")`).Role("button", "Send")
	p.Wait(`true`)
	found := strings.Join(p.PolicyViolations(), "\n")
	is.True(strings.Contains(found, "script-src-elem: kInlineViolation")) // of the frame
	is.True(strings.Contains(found, "style-src-attr: kInlineViolation"))  // of the page
}

// html returns a handler of one page with a policy.
func html(page, policy string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if policy != "" {
			w.Header().Set("Content-Security-Policy", policy)
		}
		_, _ = fmt.Fprint(w, page)
	})
}
