package httpapi

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	_ "embed" // The documents are files of this folder.
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/julienschmidt/httprouter"
)

// openAPI is the contract. It is written by hand, except its examples, which a run of the tests writes.
//
//go:embed openapi.json
var openAPI []byte

// The files of the two pages. guide.html is generated from guide.md: see .ci/guide.
var (
	//go:embed docs/index.html
	docsPage []byte
	//go:embed docs/docs.js
	docsScript []byte
	//go:embed docs/docs.css
	docsStyle []byte
	//go:embed docs/swagger-ui/swagger-ui-bundle.js
	swaggerScript []byte
	//go:embed docs/swagger-ui/swagger-ui.css
	swaggerStyle []byte
	//go:embed docs/swagger-ui/LICENSE
	swaggerLicense []byte
	//go:embed docs/swagger-ui/NOTICE
	swaggerNotice []byte
	//go:embed docs/swagger-ui/swagger-ui-bundle.js.LICENSE.txt
	bundledLicenses []byte
	//go:embed guide/guide.html
	guidePage []byte
	//go:embed guide/guide.js
	guideScript []byte
	//go:embed guide/guide.css
	guideStyle []byte
)

// The policies of the pages: they load from and call their own server only, and no site may frame them. The images are
// those in Swagger UI's stylesheet, and the empty icon, which keeps browsers from requesting /favicon.ico.
const (
	docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	guidePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

// document is one of the published documents of section 4, or a file that one of them loads.
//
// It needs no credential and counts towards the rate limit. Its query is ignored, since links to documents often gain
// parameters. Caches may store it, and have to revalidate it each time.
type document struct {
	path        string
	contentType string
	policy      string // its Content-Security-Policy; empty: none
	text        func() []byte

	// made is called when the document is first requested, so a document that is never requested costs nothing.
	made func() representations
}

// representations are the same text, plain and compressed, each with its own entity tag.
type representations struct{ plain, gzipped representation }

type representation struct {
	text     []byte
	encoding string // its Content-Encoding; empty: none
	tag      string
}

// documents returns the documents of a handler under a prefix. A new document is a new row here. The pages link
// relative to themselves, so they are the same under every prefix.
func documents(prefix string) []*document {
	const (
		jsonText = contentType
		page     = "text/html; charset=utf-8"
		script   = "text/javascript; charset=utf-8"
		style    = "text/css; charset=utf-8"
		plain    = "text/plain; charset=utf-8"
	)
	file := func(text []byte) func() []byte { return func() []byte { return text } }
	licenses := func() []byte {
		return bytes.Join([][]byte{swaggerNotice, swaggerLicense, bundledLicenses}, []byte("\n\n"))
	}
	all := []*document{
		{path: "/openapi.json", contentType: jsonText, text: func() []byte { return withServer(openAPI, prefix) }},
		{path: "/docs", contentType: page, policy: docsPolicy, text: file(docsPage)},
		{path: "/docs/docs.js", contentType: script, text: file(docsScript)},
		{path: "/docs/docs.css", contentType: style, text: file(docsStyle)},
		{path: "/docs/swagger-ui-bundle.js", contentType: script, text: file(swaggerScript)},
		{path: "/docs/swagger-ui.css", contentType: style, text: file(swaggerStyle)},
		{path: "/docs/licenses.txt", contentType: plain, text: licenses},
		{path: "/guide", contentType: page, policy: guidePolicy, text: file(guidePage)},
		{path: "/guide/guide.js", contentType: script, text: file(guideScript)},
		{path: "/guide/guide.css", contentType: style, text: file(guideStyle)},
	}
	for _, d := range all {
		d.made = sync.OnceValue(func() representations { return represent(d.text()) })
	}
	return all
}

// withServer sets the URL of the document's server to the prefix.
func withServer(text []byte, prefix string) []byte {
	const server = `"url": "` + DefaultPrefix + `"`
	address, err := json.Marshal(cmp.Or(prefix, "/"))
	if err != nil {
		panic(err) // A text always encodes.
	}
	return bytes.Replace(text, []byte(server), append([]byte(`"url": `), address...), 1)
}

func represent(text []byte) representations {
	var packed bytes.Buffer
	w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err == nil {
		_, err = w.Write(text)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(err) // The level is valid, and a buffer accepts everything.
	}
	sum := sha256.Sum256(text)
	tag := hex.EncodeToString(sum[:16])
	return representations{
		plain:   representation{text: text, tag: `"` + tag + `"`},
		gzipped: representation{text: packed.Bytes(), encoding: "gzip", tag: `"` + tag + `-gzip"`},
	}
}

// routeDocuments adds the documents to the router, for GET and HEAD.
func routeDocuments(router *httprouter.Router, documents []*document) {
	for _, d := range documents {
		op := &operation{method: http.MethodGet, path: d.path, status: http.StatusOK}
		found := func(w http.ResponseWriter, _ *http.Request, _ httprouter.Params) {
			x := w.(*exchange) //nolint:forcetypeassert // Only exchange.find calls a handle.
			x.op, x.document = op, d
		}
		router.Handle(http.MethodGet, d.path, found)
		router.Handle(http.MethodHead, d.path, found)
	}
}

// sendDocument sends the document, or 304 if the client has it, and returns the status.
func (x *exchange) sendDocument() int {
	d := x.document
	made := d.made()
	chosen := made.plain
	if acceptsGzip(x.r.Header["Accept-Encoding"]) {
		chosen = made.gzipped
	}
	header := x.Header()
	header.Set("X-Request-Id", x.id)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cache-Control", "public, no-cache")
	header.Set("Vary", "Accept-Encoding")
	header.Set("Etag", chosen.tag)
	if d.policy != "" {
		header.Set("Content-Security-Policy", d.policy)
	}
	if isAmong(chosen.tag, x.r.Header["If-None-Match"]) {
		x.WriteHeader(http.StatusNotModified)
		return http.StatusNotModified
	}
	header.Set("Content-Type", d.contentType)
	if chosen.encoding != "" {
		header.Set("Content-Encoding", chosen.encoding)
	}
	header.Set("Content-Length", strconv.Itoa(len(chosen.text))) // for HEAD, too
	x.WriteHeader(http.StatusOK)
	_, _ = x.Write(chosen.text) // A client that went away has no use for an error.
	return http.StatusOK
}

// isAmong reports whether an If-None-Match names the tag, or any. The comparison is weak, as RFC 9110 requires. No tag
// of ours holds a comma.
func isAmong(tag string, sent []string) bool {
	for _, list := range sent {
		for one := range strings.SplitSeq(list, ",") {
			one = strings.Trim(one, " \t")
			if one == "*" || strings.TrimPrefix(one, "W/") == tag {
				return true
			}
		}
	}
	return false
}

// acceptsGzip reports whether the client accepts gzip and does not prefer the plain text (RFC 9110, section 12.5.3). A
// client that refuses both gets the plain text.
func acceptsGzip(sent []string) bool {
	const unnamed = -1.0
	gzipped, plain, others := unnamed, unnamed, unnamed
	for _, list := range sent {
		for one := range strings.SplitSeq(list, ",") {
			coding, parameters, _ := strings.Cut(one, ";")
			weight := weightOf(parameters)
			switch strings.ToLower(strings.Trim(coding, " \t")) {
			case "gzip", "x-gzip":
				gzipped = max(gzipped, weight)
			case "identity":
				plain = max(plain, weight)
			case "*":
				others = max(others, weight)
			}
		}
	}
	if gzipped == unnamed {
		gzipped = others
	}
	if plain == unnamed {
		plain = others
	}
	return gzipped > 0 && gzipped >= plain
}

// weightOf parses "q=0.5"; no weight is 1, and a malformed weight is 0.
func weightOf(parameters string) float64 {
	text := strings.Trim(parameters, " \t")
	if text == "" {
		return 1
	}
	name, value, _ := strings.Cut(text, "=")
	weight, err := strconv.ParseFloat(value, 64)
	if err != nil || !strings.EqualFold(name, "q") || !(weight >= 0 && weight <= 1) {
		return 0
	}
	return weight
}
