package console

import (
	_ "embed" // The files of the pages are files of this folder.
	"net/http"
	"slices"
	"sync"

	"github.com/floatgate/ticketing/internal/webfile"
	"github.com/floatgate/ticketing/internal/webpage"
)

// The files that pages load. console.js, bar.css and console.css are made by .ci/assets from src. htmx.min.js and its
// extension are as their npm package has them: see assets/htmx/README.md.
var (
	//go:embed assets/bar.css
	barText []byte
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

// assets are the files that pages load, by their paths. All consoles of a process share them.
var assets = sync.OnceValue(func() map[string]asset {
	file := func(contentType string, text []byte) asset {
		return asset{contentType, sync.OnceValue(func() webfile.File { return webfile.New(text) })}
	}
	return map[string]asset{
		"/console/bar.css":     file("text/css; charset=utf-8", barText),
		"/console/console.css": file("text/css; charset=utf-8", styleText),
		"/console/console.js":  file("text/javascript; charset=utf-8", scriptText),
		// The extension is in the file of htmx, which starts at once: an extension that is loaded later opens no
		// stream.
		"/console/htmx.js":  file("text/javascript; charset=utf-8", slices.Concat(htmxText, []byte("\n"), streamText)),
		"/console/icon.svg": file("image/svg+xml", webpage.Icon()),
	}
})

// fileAddress returns the address of an asset with its version, the digest of its text, so that a browser which has it
// does not ask for it again.
func fileAddress(name string) string {
	path := "/console/" + name
	return path + "?v=" + assets()[path].made().Version()
}

// barAddress returns the address of the stylesheet of the bar, which sets the accent, too. Without a color the accent
// is the console's own.
func barAddress(color string) string {
	if color == "" {
		return fileAddress("bar.css")
	}
	return barPath + color + ".css?v=" + barVersion()
}

// cacheControl returns how long a browser may keep a file of a version. With the version in its address the file never
// changes. A server of another version, as beside this one during an upgrade, may have another file at that address.
func cacheControl(r *http.Request, version string) string {
	if r.URL.Query().Get("v") == version {
		return "public, max-age=31536000, immutable"
	}
	return "public, no-cache"
}

// sendAsset sends the file, or 304 if the browser has it. Assets hold no personal data, so a browser may cache them.
func (x *exchange) sendAsset() (status int) {
	x.setPolicies(answer{})
	found := assets()[x.route.pattern]
	x.w.Header().Set("Cache-Control", cacheControl(x.r, found.made().Version()))
	return found.made().Serve(x.w, x.r, found.contentType)
}
