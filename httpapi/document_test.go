package httpapi_test

import (
	"cmp"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/httpapi"
	"github.com/floatgate/ticketing/store/memory"
)

// library is a handler that serves the documents.
type library struct{ handler http.Handler }

func newLibrary(tb testing.TB, config *httpapi.Config) library {
	tb.Helper()
	svc, err := ticketing.New(memory.New(), nil)
	is.New(tb).NoErr(err)
	return library{newHandler(tb, svc, config)}
}

// get requests a document, and checks what holds for every answer.
func (l library) get(tb testing.TB, method, path string, with headers) answer {
	tb.Helper()
	is := is.New(tb)
	r := httptest.NewRequestWithContext(tb.Context(), method, path, nil)
	for _, h := range with {
		r.Header.Add(h[0], h[1])
	}
	w := httptest.NewRecorder()
	l.handler.ServeHTTP(w, r)
	is.Equal(w.Header()["X-Content-Type-Options"], []string{"nosniff"})
	is.True(w.Header().Get("X-Request-Id") != "")
	return answer{status: w.Code, header: w.Header(), body: w.Body.String()}
}

// exchanged sends a request to a server. It removes the Date from the answer.
func exchanged(tb testing.TB, r *http.Request) answer {
	tb.Helper()
	response, err := client.Do(r)
	is.New(tb).NoErr(err)
	a := read(tb, response)
	a.header.Del("Date")
	return a
}

const openAPIPath = httpapi.DefaultPrefix + "/openapi.json"

// Section 1: the contract is public, byte for byte as it is stored, and caches have to revalidate it.
func TestOpenAPIDocument(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	want, err := os.ReadFile(openAPIFile)
	is.NoErr(err)
	l := newLibrary(t, nil)
	for _, path := range []string{openAPIPath, openAPIPath + "?v=1", openAPIPath + "?limit=0&limit=0"} {
		response := l.get(t, "GET", path, headers{{"X-Request-Id", "the-request"}})
		is.Equal(response.status, 200)
		is.Equal(response.body, string(want))
		is.Equal(response.header["Content-Type"], []string{"application/json; charset=utf-8"})
		is.Equal(response.header["Cache-Control"], []string{"public, no-cache"})
		is.Equal(response.header["Vary"], []string{"Accept-Encoding"})
		is.Equal(response.header["Content-Length"], []string{strconv.Itoa(len(want))})
		is.Equal(response.header["X-Request-Id"], []string{"the-request"})
		is.Equal(response.header["Content-Encoding"], nil)
		is.Equal(len(response.header["Etag"]), 1)
	}
}

// publication is a document, or a file that one of them loads, with its expected properties.
type publication struct{ path, contentType, policy, holds string }

func publications() []publication {
	const (
		docs   = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
		guide  = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
		closed = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	)
	return []publication{
		{path: "/openapi.json", contentType: "application/json", holds: `"openapi": "3.1`},
		{path: "/docs", contentType: "text/html", policy: docs + closed, holds: "<title>API reference"},
		{path: "/docs/icon.svg", contentType: "image/svg+xml", holds: "<svg"},
		{path: "/docs/page.css", contentType: "text/css", holds: ".skip"},
		{path: "/docs/page.js", contentType: "text/javascript", holds: "clipboard.writeText"},
		{path: "/docs/reference.js", contentType: "text/javascript", holds: "swagger-ui-bundle.js"},
		{path: "/docs/reference.css", contentType: "text/css", holds: ".fields"},
		{path: "/docs/try.js", contentType: "text/javascript", holds: "persistAuthorization: false"},
		{path: "/docs/try.css", contentType: "text/css", holds: ".swagger-ui"},
		{path: "/docs/swagger-ui-bundle.js", contentType: "text/javascript", holds: "SwaggerUIBundle"},
		{path: "/docs/swagger-ui.css", contentType: "text/css", holds: ".swagger-ui"},
		{path: "/docs/licenses.txt", contentType: "text/plain", holds: "Apache License"},
		{path: "/guide", contentType: "text/html", policy: guide + closed, holds: "<title>Integration guide"},
		{path: "/guide/guide.css", contentType: "text/css", holds: "@media print"},
	}
}

// Each document has the declared type, needs no key, cannot be framed and sends no referrer. A page loads from and
// calls its own server only, and holds no inline script or style.
func TestDocuments(t *testing.T) {
	t.Parallel()
	for _, prefix := range []string{httpapi.DefaultPrefix, "", "/a/b"} {
		l := newLibrary(t, &httpapi.Config{Prefix: cmp.Or(prefix, "/"), RateLimit: -1})
		for _, test := range publications() {
			t.Run(prefix+test.path, func(t *testing.T) {
				t.Parallel()
				is := is.New(t)
				response := l.get(t, "GET", prefix+test.path, nil)
				is.Equal(response.status, 200)
				want := test.contentType + "; charset=utf-8"
				if test.contentType == "image/svg+xml" {
					want = test.contentType
				}
				is.Equal(response.header["Content-Type"], []string{want})
				is.Equal(response.header.Get("Content-Security-Policy"), test.policy)
				is.Equal(response.header["X-Frame-Options"], []string{"DENY"})
				is.Equal(response.header["Referrer-Policy"], []string{"no-referrer"})
				is.Equal(response.header["Cache-Control"], []string{"public, no-cache"})
				is.Equal(response.header["Set-Cookie"], nil)
				is.True(strings.Contains(response.body, test.holds))
				if test.contentType == "text/html" {
					is.Equal(regexp.MustCompile(`<style| style=| on[a-z]+=|<script>|javascript:`).FindString(response.body), "")
					// What a page links to is found relative to it, and exists. Only the console is another handler's.
					for _, link := range regexp.MustCompile(`(?:src|href)="([^"#]+)"`).FindAllStringSubmatch(response.body, -1) {
						if link[1] != "/business" && !strings.HasPrefix(link[1], "https://pkg.go.dev/") {
							is.Equal(l.get(t, "HEAD", prefix+"/"+link[1], nil).status, 200)
						}
					}
				}
			})
		}
	}
}

// The pages have the name of the service, which is text there and nothing else. A malformed name is refused.
func TestDocumentTitle(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	l := newLibrary(t, &httpapi.Config{Title: ` <i>Ọ̀ṣun</i> & Co `})
	for _, path := range []string{"/docs", "/guide"} {
		page := l.get(t, "GET", httpapi.DefaultPrefix+path, nil).body
		is.True(strings.Contains(page, " · &lt;i&gt;Ọ̀ṣun&lt;/i&gt; &amp; Co</title>"))
		is.True(!strings.Contains(page, "{{title}}") && !strings.Contains(page, "<i>Ọ"))
	}
	for _, title := range []string{strings.Repeat("x", 61), "a\nb", "\xff", "\u200b"} {
		func() {
			defer func() { is.True(recover() != nil) }()
			newLibrary(t, &httpapi.Config{Title: title})
		}()
	}
}

// HEAD returns the headers of GET and no body. A client that has a document, plain or compressed, gets 304. No other
// method is an operation of the contract.
func TestDocumentMethods(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, &httpapi.Config{RateLimit: -1, NewRequestID: func() string { return "same" }})
	server := httptest.NewServer(l.handler)
	t.Cleanup(server.Close)
	for _, test := range publications() {
		t.Run(test.path, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			path := httpapi.DefaultPrefix + test.path
			asked := func(method, coding, tag string) answer {
				r, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, http.NoBody)
				is.NoErr(err)
				r.Header.Set("Accept-Encoding", coding)
				r.Header.Set("If-None-Match", tag)
				return exchanged(t, r)
			}
			tags := make(map[string]bool)
			for _, coding := range []string{"identity", "gzip"} {
				get, head := asked("GET", coding, ""), asked("HEAD", coding, "")
				is.Equal(get.status, 200)
				is.Equal(get.header.Get("Content-Length"), strconv.Itoa(len(get.body)))
				is.True(get.body != "")
				is.Equal(head.body, "")
				is.Equal(head.header, get.header)
				is.Equal(head.status, 200)
				tag := get.header.Get("Etag")
				tags[tag] = true
				known := asked("GET", coding, tag)
				is.Equal(known.status, 304)
				is.Equal(known.body, "")
				is.Equal(known.header.Get("Etag"), tag)
			}
			is.Equal(len(tags), 2)
			for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"} {
				response := l.get(t, method, path, nil)
				is.Equal(response.status, 404)
				is.Equal(response.header["Cache-Control"], []string{"no-store"})
				is.True(strings.Contains(response.body, `"code":"NOT_FOUND"`))
			}
		})
	}
}

// Files beside the documents are not served, and a path that is almost a document's is not a path of the contract.
// There are no redirects.
func TestNothingElseIsADocument(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	l := newLibrary(t, &httpapi.Config{RateLimit: -1})
	near := []string{
		"/Docs", "/docs.html", "/docs//page.js", "/docs/reference.html", "/docs/docs.js", "/docs/index.html",
		"/docs/README.md", "/docs/swagger-ui", "/docs/LICENSE",
		"/docs/swagger-ui/swagger-ui-bundle.js", "/docs/../openapi.json", "/docs/%2e%2e/openapi.json",
		"/docs/..%2fopenapi.json",
		"/docs/openapi.json", "/docs/docs", "/guide/guide.md", "/guide/guide.html", "/guide/docs", "/openapi",
		"/openapi.yaml",
	}
	for _, document := range publications() {
		near = append(near, document.path+"/", document.path+"/x")
	}
	for _, path := range near {
		response := l.get(t, "GET", httpapi.DefaultPrefix+path, nil)
		is.Equal(response.status, 404)
		is.Equal(response.header["Content-Type"], []string{"application/json; charset=utf-8"})
		is.Equal(response.header["Cache-Control"], []string{"no-store"})
		is.Equal(response.header["Location"], nil)
		is.True(strings.Contains(response.body, `"code":"NOT_FOUND"`))
	}
}

// RFC 9110, section 12.5.3: a client gets what it accepts, and gzip if it accepts both equally, each with its own tag.
func TestDocumentEncoding(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, nil)
	plain := l.get(t, "GET", openAPIPath, nil).body
	tags := make(map[string]string)
	for _, test := range []struct {
		accept string
		gzip   bool
	}{
		{"", false},
		{"gzip", true},
		{"GZIP", true},
		{"x-gzip", true},
		{"gzip, deflate, br, zstd", true},
		{"deflate, br", false},
		{"gzip;q=0", false},
		{"gzip;q=0.000", false},
		{"gzip; q=0", false},
		{"gzip;q=0.001", true},
		{"*", true},
		{"*;q=0", false},
		{"br;q=1, *;q=0.1", true},
		{"*, gzip;q=0", false},
		{"gzip;q=0.5, identity", false},
		{"gzip;q=0.5, identity;q=0.5", true},
		{"gzip;q=0.5, *", false},
		{"gzip;q=0.5, *;q=0.5", true},
		{"gzip;q=0.5, identity;q=0.1, *", true},
		{"gzip;q=0.1, *;q=0", true},
		{"identity;q=0, gzip;q=0", false},
		{"identity;q=0, *;q=0.5", true},
		{"identity", false},
		{"gzip;q=2", false},
		{"gzip;q=NaN", false},
		{"gzip;q=", false},
		{"gzip;level=9", false},
		{"notgzip", false},
		{",,", false},
	} {
		t.Run(test.accept, func(t *testing.T) {
			is := is.New(t)
			var with headers
			if test.accept != "" {
				with = headers{{"Accept-Encoding", test.accept}}
			}
			response := l.get(t, "GET", openAPIPath, with)
			body := response.body
			is.Equal(response.header["Content-Length"], []string{strconv.Itoa(len(body))})
			encoding := response.header.Get("Content-Encoding")
			tags[encoding] = response.header.Get("Etag")
			if !test.gzip {
				is.Equal(encoding, "")
				is.Equal(body, plain)
				return
			}
			is.Equal(encoding, "gzip")
			is.True(len(body) < len(plain)/4)
			unpacked, err := gzip.NewReader(strings.NewReader(body))
			is.NoErr(err)
			text, err := io.ReadAll(unpacked)
			is.NoErr(err)
			is.Equal(string(text), plain)
		})
	}
	is := is.New(t)
	is.True(tags[""] != tags["gzip"])
	for _, tag := range tags {
		is.True(strings.HasPrefix(tag, `"`)) // strong
	}
	two := l.get(t, "GET", openAPIPath, headers{{"Accept-Encoding", "br"}, {"Accept-Encoding", "gzip"}})
	is.Equal(two.header.Get("Content-Encoding"), "gzip")
}

// A client that has the document gets 304 and no body.
func TestDocumentThatIsKnown(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	l := newLibrary(t, nil)
	plain := l.get(t, "GET", openAPIPath, nil).header.Get("Etag")
	packed := l.get(t, "GET", openAPIPath, headers{{"Accept-Encoding", "gzip"}}).header.Get("Etag")
	again := l.get(t, "GET", openAPIPath, nil).header.Get("Etag")
	is.Equal(plain, again)
	is.Equal(newLibrary(t, nil).get(t, "GET", openAPIPath, nil).header.Get("Etag"), plain) // after a restart, too
	for _, test := range []struct {
		with  headers
		known bool
	}{
		{headers{{"If-None-Match", plain}}, true},
		{headers{{"If-None-Match", "W/" + plain}}, true},
		{headers{{"If-None-Match", `"x" , ` + plain}}, true},
		{headers{{"If-None-Match", `"x"`}, {"If-None-Match", plain}}, true},
		{headers{{"If-None-Match", "*"}}, true},
		{headers{{"If-None-Match", packed}, {"Accept-Encoding", "gzip"}}, true},
		{headers{{"If-None-Match", packed}}, false},
		{headers{{"If-None-Match", plain}, {"Accept-Encoding", "gzip"}}, false},
		{headers{{"If-None-Match", `"x"`}}, false},
		{headers{{"If-None-Match", ""}}, false},
		{headers{{"If-None-Match", strings.Trim(plain, `"`)}}, false},
		{headers{{"If-Match", plain}}, false},
	} {
		for _, method := range []string{"GET", "HEAD"} {
			response := l.get(t, method, openAPIPath, test.with)
			if !test.known {
				is.Equal(response.status, 200)
				continue
			}
			is.Equal(response.status, 304)
			is.Equal(response.body, "")
			is.Equal(response.header["Cache-Control"], []string{"public, no-cache"})
			is.Equal(response.header["Vary"], []string{"Accept-Encoding"})
			is.Equal(response.header["Content-Type"], nil)
			is.True(response.header.Get("Etag") == plain || response.header.Get("Etag") == packed)
		}
	}
}

// The document's server is the prefix of the handler.
func TestDocumentServerIsThePrefix(t *testing.T) {
	t.Parallel()
	for prefix, want := range map[string][2]string{
		"":          {openAPIPath, httpapi.DefaultPrefix},
		"/":         {"/openapi.json", "/"},
		"/tickets/": {"/tickets/openapi.json", "/tickets"},
		"/a/b":      {"/a/b/openapi.json", "/a/b"},
	} {
		t.Run(prefix, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			response := newLibrary(t, &httpapi.Config{Prefix: prefix}).get(t, "GET", want[0], nil)
			is.Equal(response.status, 200)
			var document struct{ Servers []struct{ URL string } }
			is.NoErr(json.Unmarshal([]byte(response.body), &document))
			is.Equal(len(document.Servers), 1)
			is.Equal(document.Servers[0].URL, want[1])
		})
	}
}

// Documents count towards the rate limit, whether the client has them or not, and are logged under their own path.
func TestDocumentsAreCountedAndLogged(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	d := deploy(t, &httpapi.Config{RateLimit: 3})
	var codes []int
	for range 4 {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.server.URL+openAPIPath, http.NoBody)
		is.NoErr(err)
		r.Header.Set("If-None-Match", "*")
		codes = append(codes, exchanged(t, r).status)
	}
	is.Equal(codes, []int{304, 304, 304, 429})
	d.server.Close()
	entries := d.log.lines(t, "request")
	is.Equal(len(entries), 4)
	is.Equal(entries[0]["route"], "/openapi.json")
	is.Equal(fmt.Sprint(entries[0]["status"]), "304")
	is.Equal(entries[3]["route"], "")
	is.Equal(entries[3]["code"], "RATE_LIMITED")
}

// A document is served from memory: what a request allocates is the same for the largest as for the smallest,
// compressed and not. No other test runs beside it.
func TestDocumentsAreNotCopied(t *testing.T) {
	is := is.New(t)
	svc, err := ticketing.New(memory.New(), nil)
	is.NoErr(err)
	const most = 4 << 10 // bytes a request; the largest document has a megabyte

	handler := newServer(t, svc, &httpapi.Config{RateLimit: -1}).Config.Handler // without what a recorder copies
	for _, path := range []string{
		"/openapi.json", "/docs", "/docs/page.css", "/docs/swagger-ui-bundle.js", "/guide", "/guide/guide.css",
	} {
		for _, encoding := range []string{"identity", "gzip"} {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, httpapi.DefaultPrefix+path, nil)
			r.Header.Set("Accept-Encoding", encoding)
			w := &discard{header: http.Header{}}
			handler.ServeHTTP(w, r) // The document is made with the first request.
			var before, after runtime.MemStats
			const runs = 100
			runtime.ReadMemStats(&before)
			for range runs {
				clear(w.header)
				handler.ServeHTTP(w, r)
			}
			runtime.ReadMemStats(&after)
			is.True((after.TotalAlloc-before.TotalAlloc)/runs < most)
		}
	}
}

// BenchmarkDocument measures the cost of a document, whatever its size: no byte of it is copied.
func BenchmarkDocument(b *testing.B) {
	handler := newLibrary(b, &httpapi.Config{RateLimit: 1 << 30}).handler
	for _, bench := range []struct{ name, path, header, value string }{
		{"plain", "/openapi.json", "Accept-Encoding", "identity"},
		{"gzip", "/openapi.json", "Accept-Encoding", "gzip, deflate, br"},
		{"not modified", "/openapi.json", "If-None-Match", "*"},
		{"guide", "/guide", "Accept-Encoding", "gzip, deflate, br"},
		{"docs", "/docs", "Accept-Encoding", "gzip, deflate, br"},
		{"script of docs", "/docs/swagger-ui-bundle.js", "Accept-Encoding", "identity"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, httpapi.DefaultPrefix+bench.path, nil)
			r.Header.Set(bench.header, bench.value)
			w := &discard{header: http.Header{}}
			handler.ServeHTTP(w, r) // The document is made with the first request.
			b.ReportAllocs()
			for b.Loop() {
				clear(w.header)
				handler.ServeHTTP(w, r)
			}
		})
	}
}
