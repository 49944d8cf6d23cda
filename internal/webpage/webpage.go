// Package webpage holds what all pages of the service have in common: the name and the icon, by which a person knows
// them, the policy, and the stylesheet and script of those that are read without signing in.
package webpage

import (
	"cmp"
	_ "embed" // The files are files of this folder.
	"fmt"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"
)

// DefaultTitle is the name of a service that was given none.
const DefaultTitle = "Ticketing"

// MaxTitle is how many characters the name of a service may have. A longer one is cut off in the tab of a browser.
const MaxTitle = 60

var (
	//go:embed icon.svg
	icon []byte
	//go:embed page.css
	style []byte
	//go:embed page.js
	script []byte
)

// Icon returns the icon of the service, as SVG. The caller does not change it.
func Icon() []byte { return icon }

// Style returns the stylesheet of the pages that are read without signing in. The caller does not change it.
func Style() []byte { return style }

// Script returns their script. The pages can be read without it. The caller does not change it.
func Script() []byte { return script }

// Policy is the Content-Security-Policy of a page that loads from its own server only, calls nobody, and that no site
// may frame.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " + closed

// CallingPolicy is that of a page that also calls its own server.
const CallingPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; " + closed

const closed = "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// SetHeaders sets the headers that protect the reader of a page. An empty policy is for a file that a page loads.
func SetHeaders(header http.Header, policy string) {
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "no-referrer")
	if policy != "" {
		header.Set("Content-Security-Policy", policy)
	}
}

// ParseTitle returns the name of a service: trimmed, at most [MaxTitle] printable characters on one line. A blank one
// is the default.
func ParseTitle(text string) (string, error) {
	text = cmp.Or(strings.TrimSpace(text), DefaultTitle)
	notPrintable := func(r rune) bool { return !unicode.IsPrint(r) }
	if !utf8.ValidString(text) || utf8.RuneCountInString(text) > MaxTitle || strings.ContainsFunc(text, notPrintable) {
		return "", fmt.Errorf("must be at most %d printable characters on one line", MaxTitle)
	}
	return text, nil
}
