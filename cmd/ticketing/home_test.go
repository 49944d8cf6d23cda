package main_test

import (
	"html"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/browsertest"
)

// hrefs returns what a page links to and loads.
func hrefs(page string) (links []string) {
	for _, link := range regexp.MustCompile(`(?:href|src)="([^"#]+)"`).FindAllStringSubmatch(page, -1) {
		links = append(links, html.UnescapeString(link[1]))
	}
	return links
}

// browse requests a page, which is not the API's, and follows no redirect.
func browse(t *testing.T, method, url string) (status int, header http.Header, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(soon(t), method, url, http.NoBody)
	must(t, err)
	response, err := http.DefaultTransport.RoundTrip(request)
	must(t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	must(t, err)
	return response.StatusCode, response.Header, string(text)
}

// pasted runs a command in a shell and returns what it prints.
func pasted(t *testing.T, command string) string {
	t.Helper()
	printed, err := exec.CommandContext(t.Context(), "sh", "-c", command).Output()
	must(t, err)
	return string(printed)
}

// A server has a page at /. All that it links to on this server is there. It has the name that the operator gave, which
// is text and nothing else.
func TestHome(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	_, origin := newShell(t).with("TICKETING_DATABASE", "memory:", "TICKETING_TITLE", ` <b>Eko</b> & "Sons" `).serve()
	status, _, page := browse(t, http.MethodGet, origin+"/?utm=x")
	is.Equal(status, http.StatusOK)
	is.True(strings.Contains(page, "<title>&lt;b&gt;Eko&lt;/b&gt; &amp; &#34;Sons&#34;</title>"))
	is.True(!strings.Contains(page, "<b>Eko"))
	const name = "&lt;b&gt;Eko&lt;/b&gt; &amp; &#34;Sons&#34;"
	for path, says := range map[string]string{
		"/embed/v1/events?origin=https://shop.example": "<title>Tickets · " + name + "</title>",
		prefix + "/docs": "The API of <bdi>" + name + "</bdi>: ",
	} {
		_, _, text := browse(t, http.MethodGet, origin+path)
		is.True(strings.Contains(text, says)) // path
	}
	// The bar is painted first: it waits for one stylesheet and no script. The rest of the page waits for its own.
	for _, path := range []string{"/", prefix + "/docs", prefix + "/guide"} {
		_, _, text := browse(t, http.MethodGet, origin+path)
		bar, rest, _ := strings.Cut(text, "</header>")
		is.Equal(strings.Count(bar, `rel="stylesheet"`), 1) // path
		is.Equal(strings.Count(bar, "<script"), 0)          // path
		waits, _, _ := strings.Cut(rest, "<h1")
		is.Equal(strings.Count(waits, `rel="stylesheet"`), 1) // path
		is.True(strings.Contains(waits, "<script"))           // path
	}
	is.True(!strings.Contains(page, "This demo") && !strings.Contains(page, "svc_live"))
	console := strings.Replace(origin, "127.0.0.1", "localhost", 1) + "/business"
	links := strings.Join(hrefs(page), " ")
	for _, link := range []string{
		"api/public/v1/guide", "api/public/v1/docs", "api/public/v1/openapi.json", "healthz", "readyz",
		"embeds/v1/service.js", "embeds/v1/service.d.ts", "home.css", console,
	} {
		is.True(strings.Contains(" "+links+" ", " "+link+" ")) // link
	}
	for _, link := range hrefs(page) {
		if strings.HasPrefix(link, "https://pkg.go.dev/") {
			continue
		}
		if !strings.HasPrefix(link, "http") {
			link = origin + "/" + link
		}
		status, _, text := browse(t, http.MethodGet, link)
		if link == console {
			is.Equal(status, http.StatusSeeOther) // to sign in
			continue
		}
		is.Equal(status, http.StatusOK) // link
		if strings.HasSuffix(link, "/docs") || strings.HasSuffix(link, "/guide") {
			is.True(strings.Contains(text, " · &lt;b&gt;Eko&lt;/b&gt; &amp; &#34;Sons&#34;</title>"))
		}
	}
}

// The paths of documents without the prefix lead to those with it, relative to where they are, for GET and HEAD alone.
// The API answers for all paths that are almost these.
func TestHomeRedirects(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	_, origin := newShell(t).with("TICKETING_DATABASE", "memory:").serve("--no-console", "--operator-addr", "127.0.0.1:0")
	for _, path := range []string{"/docs", "/guide", "/openapi.json"} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			status, header, _ := browse(t, method, origin+path+"?v=1")
			is.Equal(status, http.StatusFound)
			is.Equal(header.Get("Location"), "api/public/v1"+path)
		}
	}
	status, header, _ := browse(t, http.MethodGet, origin+"/favicon.ico")
	is.Equal(status, http.StatusFound)
	status, header, _ = browse(t, http.MethodGet, origin+"/"+header.Get("Location"))
	is.Equal(status, http.StatusOK)
	is.Equal(header.Get("Content-Type"), "image/svg+xml")
	for _, path := range []string{
		"/docs/", "/docs/page.js", "/Guide", "/index.html", "/favicon.svg", "/home.html", "/home.css/",
	} {
		status, body := get(t, origin+path)
		is.Equal(status, http.StatusNotFound) // path
		is.True(strings.Contains(body, `"code":"NOT_FOUND"`))
	}
	for _, target := range []string{"//", "/%2e", "/.", "/x/..", "http://tickets.example/", "/%64ocs", "//docs"} {
		connection := dial(t, origin)
		ask(t, connection, target)
		status, body := answered(t, connection)
		is.Equal(status, http.StatusNotFound) // target
		is.True(strings.Contains(body, `"code":"NOT_FOUND"`))
	}
	for _, path := range []string{"/", "/docs", "/home.css"} {
		status, body := send(t, http.MethodPost, origin+path, "", "", "{}")
		is.Equal(status, http.StatusNotFound) // path
		is.True(strings.Contains(body, `"code":"NOT_FOUND"`))
	}

	// What is not there is not linked.
	_, _, page := browse(t, http.MethodGet, origin+"/")
	is.True(!strings.Contains(page, "Sign in") && !strings.Contains(page, "healthz"))
	is.True(strings.Contains(page, "<title>Ticketing</title>"))
}

// A name that no page could show is refused before anything else is done.
func TestTitleIsLimited(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	sh := newShell(t)
	for _, title := range []string{strings.Repeat("ọ", 61), "two\nlines", "a\u202eb", "bell\a"} {
		_, message := sh.refusal("serve", "--title", title)
		is.Equal(message, "--title: must be at most 60 printable characters on one line")
	}
}

// The page of a demo hides the API key from everything that may be a proxy. Paused tickets do not count as sold.
func TestDemoHomeBehindAProxy(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	sh := newShell(t).with("TICKETING_DATABASE", "memory:")
	_, at := sh.demo()
	for _, test := range []struct {
		line, headers string
		shown         bool
	}{
		{"GET / HTTP/1.1", "", true},
		{"GET / HTTP/1.0", "", false}, // nginx
		{"GET / HTTP/1.1", "X-Forwarded-For: 192.0.2.1\r\n", false},
		{"GET / HTTP/1.1", "X-Forwarded-Proto: https\r\n", false},
		{"GET / HTTP/1.1", "X-Real-IP: 192.0.2.1\r\n", false},
		{"GET / HTTP/1.1", "Forwarded: for=192.0.2.1\r\n", false},
		{"GET / HTTP/1.1", "Via: 1.1 proxy\r\n", false},
	} {
		connection := dial(t, at.WebOrigin)
		_, err := io.WriteString(connection, test.line+"\r\nHost: 127.0.0.1\r\n"+test.headers+"\r\n")
		is.NoErr(err)
		_, text := answered(t, connection)
		is.Equal(strings.Contains(text, at.APIKey), test.shown) // test.line, test.headers
		is.Equal(strings.Contains(text, "Bearer YOUR_API_KEY"), !test.shown)
	}

	status, _ := send(t, http.MethodPatch, at.WebOrigin+prefix+"/events/"+at.EventID+"/inventory/GENERAL_ADMISSION",
		at.APIKey, "", `{"status":"PAUSED"}`)
	is.Equal(status, http.StatusOK)
	_, _, text := browse(t, http.MethodGet, at.WebOrigin+"/")
	is.True(strings.Contains(text, "<dd>1 of 500</dd>"))

	for _, flags := range [][]string{
		{"--trusted-proxies", "127.0.0.1"}, {"--web-origin", "https://tickets.example"},
	} {
		_, proxied := sh.demo(flags...)
		_, _, text := browse(t, http.MethodGet, strings.TrimSuffix(proxied.BaseURL, prefix)+"/")
		is.True(strings.Contains(text, "Bearer YOUR_API_KEY")) // flags
		is.True(!strings.Contains(text, proxied.APIKey))
	}
}

// The page of a demo shows what was sold and two calls that sell another one. The API key is shown to a browser on this
// machine alone: not to another machine, a proxy, or a site whose name leads here.
func TestDemoHome(t *testing.T) {
	t.Parallel()
	browser := browsertest.New(t)
	is := is.New(t)
	_, at := newShell(t).with("TICKETING_DATABASE", "memory:", "TICKETING_TITLE", "Ọ̀ṣun Tickets").
		demo("--shop-addr", "127.0.0.1:0")
	connection := dial(t, at.WebOrigin)
	ask(t, connection, "/") // with the host tickets.example
	_, text := answered(t, connection)
	is.True(strings.Contains(text, "Bearer YOUR_API_KEY"))
	is.True(!strings.Contains(text, at.APIKey))

	for _, screen := range []struct {
		name string
		size browsertest.Size
	}{{"desktop", browsertest.Desktop}, {"phone", browsertest.Phone}} {
		p := browser.Open(t, at.WebOrigin+"/", screen.size)
		is.Equal(p.Text(`document.title`), "Demo · Ọ̀ṣun Tickets")
		p.Fits()
		p.Readable(screen.name + "-home")
		p.FullPicture(screen.name + "-home-all")
		browsertest.Axe(t, p)
		p.Media(browsertest.Media{Dark: true})
		browsertest.Axe(t, p)
		is.True(p.Transferred() <= 80_000)
		p.KeepsNothing()

		// By keyboard, the second call is copied, sent as a shell would, and seen after a reload.
		p.Allow("clipboard-read", "clipboard-write")
		p.TabTo(`[aria-label='Copy the checkout']`)
		order := pasted(t, p.Copied(func() {
			p.Press("\r")
			p.Wait(`document.querySelector("[role=status]").innerText === "Copied to the clipboard"`)
		}))
		is.True(strings.Contains(order, `"status":"CONFIRMED"`))
		id := regexp.MustCompile(`"id":"([0-9a-f-]{36})","object":"order"`).FindStringSubmatch(order)
		is.True(id != nil)
		p.Text(`location.reload()`)
		p.Wait(`document.querySelector("tbody").innerText.includes("` + id[1] + `")`)
		p.IsClean()
	}
	_, _, text = browse(t, http.MethodGet, at.WebOrigin+"/")
	is.True(strings.Contains(text, "<dd>3 of 500</dd>"))
	shown, _, ok := strings.Cut(text, "Sell one yourself")
	is.True(ok && !strings.Contains(shown, "@example.com")) // no buyer
}
