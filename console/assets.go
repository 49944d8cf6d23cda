package console

import (
	_ "embed" // The files of the pages are files of this folder.
	"slices"
	"sync"

	"github.com/floatgate/ticketing/internal/webfile"
	"github.com/floatgate/ticketing/internal/webpage"
)

// The files that pages load. console.js and console.css are made by .ci/assets from src. htmx.min.js and
// its extension are as their npm package has them: see assets/htmx/README.md.
var (
	//go:embed assets/console.css
	styleText []byte
	//go:embed assets/console.js
	scriptText []byte
	//go:embed assets/htmx/htmx.min.js
	htmxText []byte
	//go:embed assets/htmx/hx-sse.min.js
	streamText []byte
)

// asset is a file that pages load.
type asset struct {
	contentType string
	made        func() webfile.File
}

func assets() map[string]asset {
	file := func(contentType string, text []byte) asset {
		return asset{contentType, sync.OnceValue(func() webfile.File { return webfile.New(text) })}
	}
	return map[string]asset{
		"/console/console.css": file("text/css; charset=utf-8", styleText),
		"/console/console.js":  file("text/javascript; charset=utf-8", scriptText),
		// The extension is in the file of htmx, which starts at once: an extension that is loaded later opens no
		// stream.
		"/console/htmx.js":  file("text/javascript; charset=utf-8", slices.Concat(htmxText, []byte("\n"), streamText)),
		"/console/icon.svg": file("image/svg+xml", webpage.Icon()),
	}
}

// sendAsset sends the file, or 304 if the browser has it. Assets hold no personal data, so a browser may cache them.
func (x *exchange) sendAsset() (status int) {
	x.setPolicies(answer{})
	x.w.Header().Set("Cache-Control", "public, no-cache")
	found := x.assets[x.route.pattern]
	return found.made().Serve(x.w, x.r, found.contentType)
}
