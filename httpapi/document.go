package httpapi

import (
	"bytes"
	"cmp"
	_ "embed" // The documents are files of this folder.
	"encoding/json"
	"html"
	"net/http"
	"sync"

	"github.com/julienschmidt/httprouter"

	"github.com/floatgate/ticketing/internal/webfile"
	"github.com/floatgate/ticketing/internal/webpage"
)

// openAPI is the contract. It is written by hand. Only its examples are generated, by a run of the tests.
//
//go:embed openapi.json
var openAPI []byte

// The files of the two pages. .ci/pages generates reference.html from openapi.json, and guide.html from guide.md.
var (
	//go:embed docs/reference.html
	referencePage []byte
	//go:embed docs/reference.js
	referenceScript []byte
	//go:embed docs/reference.css
	referenceStyle []byte
	//go:embed docs/try.js
	tryScript []byte
	//go:embed docs/try.css
	tryStyle []byte
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
	//go:embed guide/guide.css
	guideStyle []byte
)

// document is one of the published documents of section 4, or a file that one of them loads.
//
// It needs no credential and counts towards the rate limit. Its query is ignored, since links to documents often gain
// parameters. A cache may store it and has to revalidate it each time.
type document struct {
	path        string
	contentType string
	policy      string // its Content-Security-Policy; empty: none
	text        func() []byte

	// made is called at the first request of the document, so a document that nobody requests costs nothing.
	made func() webfile.File
}

// documents returns the documents of a handler under a prefix. Add a row here for a new document. The links of the
// pages are relative, so the pages are the same under every prefix.
func documents(prefix, title string) []*document {
	const (
		jsonText = contentType
		page     = "text/html; charset=utf-8"
		script   = "text/javascript; charset=utf-8"
		style    = "text/css; charset=utf-8"
		plain    = "text/plain; charset=utf-8"
		picture  = "image/svg+xml"
	)
	file := func(text []byte) func() []byte { return func() []byte { return text } }
	named := func(page []byte) func() []byte { return func() []byte { return withTitle(page, title) } }
	licenses := func() []byte {
		return bytes.Join([][]byte{swaggerNotice, swaggerLicense, bundledLicenses}, []byte("\n\n"))
	}
	all := []*document{
		{path: "/openapi.json", contentType: jsonText, text: func() []byte { return withServer(openAPI, prefix) }},
		{path: "/docs", contentType: page, policy: webpage.CallingPolicy, text: named(referencePage)},
		{path: "/docs/icon.svg", contentType: picture, text: webpage.Icon},
		{path: "/docs/page.css", contentType: style, text: webpage.Style},
		{path: "/docs/page.js", contentType: script, text: webpage.Script},
		{path: "/docs/reference.js", contentType: script, text: file(referenceScript)},
		{path: "/docs/reference.css", contentType: style, text: file(referenceStyle)},
		{path: "/docs/try.js", contentType: script, text: file(tryScript)},
		{path: "/docs/try.css", contentType: style, text: file(tryStyle)},
		{path: "/docs/swagger-ui-bundle.js", contentType: script, text: file(swaggerScript)},
		{path: "/docs/swagger-ui.css", contentType: style, text: file(swaggerStyle)},
		{path: "/docs/licenses.txt", contentType: plain, text: licenses},
		{path: "/guide", contentType: page, policy: webpage.Policy, text: named(guidePage)},
		{path: "/guide/guide.css", contentType: style, text: file(guideStyle)},
	}
	for _, d := range all {
		d.made = sync.OnceValue(func() webfile.File { return webfile.New(d.text()) })
	}
	return all
}

// withTitle returns the page with the name of the service filled in.
func withTitle(page []byte, title string) []byte {
	return bytes.ReplaceAll(page, []byte("{{title}}"), []byte(html.EscapeString(title)))
}

// withServer sets the URL of the document's server to the prefix.
func withServer(text []byte, prefix string) []byte {
	const server = `"url": "` + DefaultPrefix + `"`
	address, err := json.Marshal(cmp.Or(prefix, "/"))
	if err != nil {
		panic(err) // A string always encodes.
	}
	return bytes.Replace(text, []byte(server), append([]byte(`"url": `), address...), 1)
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
	header := x.Header()
	header.Set("X-Request-Id", x.id)
	header.Set("Cache-Control", "public, no-cache")
	webpage.SetHeaders(header, d.policy)
	return d.made().Serve(x, x.r, d.contentType)
}
