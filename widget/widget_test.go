package widget_test

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/widget"
)

// paths are those of section 4.13 and the script of the frame, with their types and, for the files, their names in the
// folder of assets.
var paths = []struct{ path, file, contentType string }{
	{"/embeds/v1/service.js", "service.js", "text/javascript; charset=utf-8"},
	{"/embeds/v1/service.d.ts", "service.d.ts", "application/typescript; charset=utf-8"},
	{"/embeds/v1/widget.css", "widget.css", "text/css; charset=utf-8"},
	{"/embeds/v1/framed.js", "framed.js", "text/javascript; charset=utf-8"},
	{"/embed/v1/events?origin=https://shop.example", "", "text/html; charset=utf-8"},
}

// response is what a handler answers.
type response struct {
	status int
	header http.Header
	body   string
}

func request(t *testing.T, handler http.Handler, method, path string, header http.Header) response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	r.Header = header
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return response{w.Code, w.Header(), w.Body.String()}
}

// The files of the SDK are served to any site, plain or compressed, and not sent to a cache that has them.
func TestFiles(t *testing.T) {
	t.Parallel()
	handler := widget.New(nil)
	for _, test := range paths[:4] {
		t.Run(test.file, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			want, err := os.ReadFile("assets/" + test.file)
			is.NoErr(err)
			plain := request(t, handler, "GET", test.path, nil)
			is.Equal(plain.status, 200)
			is.Equal(plain.body, string(want))
			common := map[string]string{
				"Cache-Control": "public, max-age=300", "Vary": "Accept-Encoding", "X-Content-Type-Options": "nosniff",
				"Access-Control-Allow-Origin": "*", "Cross-Origin-Resource-Policy": "cross-origin",
				"Referrer-Policy": "no-referrer", "X-Frame-Options": "", "Set-Cookie": "",
			}
			tag := plain.header.Get("Etag")
			is.True(strings.HasPrefix(tag, `"`)) // It is strong.

			packed := request(t, handler, "GET", test.path+"?v=2", http.Header{"Accept-Encoding": {"br, gzip"}})
			is.Equal(packed.header.Get("Content-Encoding"), "gzip")
			is.True(packed.header.Get("Etag") != tag)
			unpacked, err := gzip.NewReader(strings.NewReader(packed.body))
			is.NoErr(err)
			read, err := io.ReadAll(unpacked)
			is.NoErr(err)
			is.Equal(string(read), string(want))

			head := request(t, handler, "HEAD", test.path, nil)
			is.Equal(head.status, 200)
			is.Equal(head.header.Get("Content-Length"), strconv.Itoa(len(want)))

			known := request(t, handler, "GET", test.path, http.Header{"If-None-Match": {`"other", ` + tag}})
			is.Equal(known.status, 304)
			is.Equal(known.body, "")
			other := request(t, handler, "GET", test.path, http.Header{"If-None-Match": {`"other"`}})
			is.Equal(other.status, 200)

			for i, answered := range []response{plain, packed, head, known} {
				for name, value := range common {
					is.Equal(answered.header.Get(name), value)
				}
				if i < 3 {
					is.Equal(answered.header.Get("Content-Type"), test.contentType)
				}
			}
		})
	}
}

// What a browser loads is small: 15 KB of script and 5 KB of style, compressed as they are sent.
func TestSizes(t *testing.T) {
	t.Parallel()
	handler := widget.New(nil)
	for path, limit := range map[string]int{
		widget.ScriptPath: 15_000, "/embeds/v1/framed.js": 15_000, widget.StylePath: 5_000,
	} {
		response := request(t, handler, "GET", path, http.Header{"Accept-Encoding": {"gzip"}})
		size := len(response.body)
		t.Logf("%s: %d bytes", path, size)
		if response.header.Get("Content-Encoding") != "gzip" || size > limit {
			t.Errorf("%s has %d bytes, more than %d", path, size, limit)
		}
	}
}

// Other methods are refused on the SDK's paths, and other paths are the host's.
func TestOtherRequests(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	handler := widget.New(&widget.Config{Other: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "other "+r.URL.Path)
	})})
	for _, test := range paths {
		for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS", "get"} {
			response := request(t, handler, method, test.path, nil)
			is.Equal(response.status, 405)
			is.Equal(response.header.Get("Allow"), "GET, HEAD")
		}
		is.Equal(request(t, handler, "GET", test.path, nil).status, 200)
	}
	for _, path := range []string{
		"/", "/embeds/v1/", "/embeds/v1/service.js/", "/embeds/v1/../v1/service.js", "/embed/v1/events/", "/EMBED/v1/events",
		"/embeds/v1/widget.ts",
	} {
		is.Equal(request(t, handler, "POST", path, nil).body, "other "+path)
		is.Equal(request(t, widget.New(nil), "GET", path, nil).status, 404)
	}
}

// The frame's document gives nothing away, loads its own script and style alone, and only the page of the one origin
// may frame it.
func TestFrame(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	response := request(t, widget.New(nil), "GET", "/embed/v1/events?origin=https%3A%2F%2Fshop.example%3A8443", nil)
	is.Equal(response.status, 200)
	header := response.header
	is.Equal(header.Get("Content-Security-Policy"), "default-src 'none'; script-src 'self'; style-src 'self'; "+
		"img-src https: data:; connect-src 'none'; form-action 'none'; base-uri 'none'; "+
		"frame-ancestors https://shop.example:8443")
	is.Equal(header.Get("Referrer-Policy"), "no-referrer")
	is.Equal(header.Get("X-Content-Type-Options"), "nosniff")
	is.Equal(header.Get("Cache-Control"), "public, max-age=300")
	is.Equal(header["X-Frame-Options"], nil)
	is.Equal(header["Access-Control-Allow-Origin"], nil) // Another page has no reason to read it.
	for feature := range strings.SplitSeq(header.Get("Permissions-Policy"), ", ") {
		is.True(strings.HasSuffix(feature, "=()"))
	}
	for _, feature := range []string{"camera=()", "geolocation=()", "microphone=()", "payment=()", "usb=()"} {
		is.True(strings.Contains(header.Get("Permissions-Policy"), feature))
	}
	document := response.body
	is.Equal(strings.Count(document, `data-frame="https://shop.example:8443"`), 1)
	is.Equal(strings.Count(document, "<script"), 1)
	is.True(!strings.Contains(document, "style="))

	head := request(t, widget.New(nil), "HEAD", "/embed/v1/events?origin=https://shop.example", nil)
	is.Equal(head.header.Get("Content-Security-Policy"),
		strings.Replace(header.Get("Content-Security-Policy"), ":8443", "", 1))
}

// origins are the values of the parameter, and whether the document is served to them.
var origins = map[string]bool{
	"https://shop.example":                            true,
	"https://shop.example:8443":                       true,
	"https://localhost:1":                             true,
	"https://a-b_c.shop.example:65535":                true,
	"https://xn--lnd-gla.example":                     true,
	"https://127.0.0.1:8443":                          true,
	"https://[::1]:8443":                              true,
	"https://[2001:db8::1]":                           true,
	"https://[::ffff:102:304]":                        true,
	"https://0x7f.example":                            true,
	"https://1.2.3.4.example":                         true,
	"":                                                false,
	"null":                                            false,
	"*":                                               false,
	"https://*":                                       false,
	"https://*.shop.example":                          false,
	"'self'":                                          false,
	"https:":                                          false,
	"https://":                                        false,
	"https:///":                                       false,
	"http://shop.example":                             false,
	"HTTPS://shop.example":                            false,
	"//shop.example":                                  false,
	"shop.example":                                    false,
	"javascript:alert(1)":                             false,
	"data:text/html,x":                                false,
	"wss://shop.example":                              false,
	"file:///etc/passwd":                              false,
	"https://Shop.example":                            false,
	"https://shop.example/":                           false,
	"https://shop.example/a":                          false,
	"https://shop.example?a":                          false,
	"https://shop.example#a":                          false,
	"https://shop.example\\a":                         false,
	"https://shop.example;a":                          false,
	"https://shop.example%2ea":                        false,
	"https://user@shop.example":                       false,
	"https://user:pw@shop.example":                    false,
	"https://@shop.example":                           false,
	"https://shop.example:":                           false,
	"https://shop.example:0":                          false,
	"https://shop.example:443":                        false,
	"https://shop.example:08443":                      false,
	"https://shop.example:+8443":                      false,
	"https://shop.example:65536":                      false,
	"https://shop.example:84430000":                   false,
	"https://shop.example:80:80":                      false,
	"https://shop.example:*":                          false,
	"https://:8443":                                   false,
	"https://shop.example\r\nX-A: b":                  false,
	"https://shop.example\n":                          false,
	"https://shop.example\x00":                        false,
	"https://shop.example, https://b.c":               false,
	"https://shop.example https://b.c":                false,
	" https://shop.example":                           false,
	"https://shop.example\"><script>":                 false,
	"https://shop..example":                           false,
	"https://.shop.example":                           false,
	"https://shop.example.":                           false,
	"https://ọ̀ṣun.example":                           false,
	"https://shop。example":                            false,
	"https://" + strings.Repeat("a", 64) + ".example": false,
	"https://" + strings.Repeat("a.", 127) + "a":      false,
	"https://1":                                       false,
	"https://127.1":                                   false,
	"https://127.0.0.01":                              false,
	"https://256.0.0.1":                               false,
	"https://1.2.3.4.5":                               false,
	"https://0x7f000001":                              false,
	"https://shop.0x":                                 false,
	"https://shop.1":                                  false,
	"https://[::1":                                    false,
	"https://::1":                                     false,
	"https://[::1]a":                                  false,
	"https://[::1]]":                                  false,
	"https://[[::1]]":                                 false,
	"https://[]":                                      false,
	"https://[1.2.3.4]":                               false,
	"https://[::0001]":                                false,
	"https://[0:0:0:0:0:0:0:1]":                       false,
	"https://[2001:DB8::1]":                           false,
	"https://[fe80::1%eth0]":                          false,
	"https://[::ffff:1.2.3.4]":                        false,
	"https://[::1]:443":                               false,
	"https://" + strings.Repeat("a", 900):             false,
}

// The parameter is one bare origin, exactly as a browser writes it. Nothing else gets into a header, or into the text.
func TestFrameOrigins(t *testing.T) {
	t.Parallel()
	handler := widget.New(nil)
	for origin, served := range origins {
		t.Run(origin, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			response := request(t, handler, "GET", "/embed/v1/events?"+query(origin), nil)
			document := response.body
			ancestors := response.header.Get("Content-Security-Policy")
			if served {
				is.Equal(response.status, 200)
				is.True(strings.HasSuffix(ancestors, "; frame-ancestors "+origin))
				is.True(strings.Contains(document, `data-frame="`+origin+`"`))
				return
			}
			is.Equal(response.status, 400)
			is.True(strings.HasSuffix(ancestors, "; frame-ancestors 'none'"))
			is.Equal(document, "origin must be an https origin, such as https://shop.example\n")
			is.Equal(response.header.Get("Cache-Control"), "no-store")
			is.Equal(response.header.Get("Content-Type"), "text/plain; charset=utf-8")
		})
	}
}

// The query has the parameter once, and no other.
func TestFrameQueries(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	const one = "origin=https://shop.example"
	for _, query := range []string{
		"", "origin", "Origin=https://shop.example", one + "&" + one, one + "&origin=", one + "&theme=dark",
		"theme=dark&" + one,
		one + ";a=b", one + "%", one + "&%6frigin=https://b.example", "origin[]=https://shop.example",
	} {
		is.Equal(request(t, widget.New(nil), "GET", "/embed/v1/events?"+query, nil).status, 400)
	}
}
