package widget

import (
	"errors"
	"html"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// frameText is the frame's document. Its script runs the framed side, with the origin of the page around it.
const frameText = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>TITLE</title>
<link rel="icon" href="data:,">
<script src="` + framedPath + `" data-frame="ORIGIN" defer></script>
</head>
<body>
<noscript>Tickets are sold here by script, which this browser does not run.</noscript>
</body>
</html>
`

// framePolicy is the Content-Security-Policy of the frame's document, but for the origin at its end. The frame reaches
// no network: all that it shows comes from the page around it, except pictures. A form there is sent by script alone.
const framePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src https: data:; " +
	"connect-src 'none'; form-action 'none'; base-uri 'none'; frame-ancestors "

// frame returns a handler that serves the frame's document, under a title, to the page of one origin.
func frame(title string) http.HandlerFunc {
	document := strings.Replace(frameText, "TITLE", html.EscapeString(title), 1)
	return func(w http.ResponseWriter, r *http.Request) { serveFrame(w, r, document) }
}

func serveFrame(w http.ResponseWriter, r *http.Request, document string) {
	header := w.Header()
	origin, err := parseFrameQuery(r.URL.RawQuery)
	if err != nil {
		header.Set("Cache-Control", "no-store")
		header.Set("Content-Security-Policy", framePolicy+"'none'")
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	// The last one: a title may have the word, too.
	at := strings.LastIndex(document, "ORIGIN")
	text := document[:at] + html.EscapeString(origin) + document[at+len("ORIGIN"):]
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Length", strconv.Itoa(len(text)))
	header.Set("Cache-Control", caching)
	header.Set("Content-Security-Policy", framePolicy+origin)
	header.Set("Permissions-Policy", permissions())
	_, _ = w.Write([]byte(text)) // A client that went away has no use for an error.
}

// parseFrameQuery returns the origin of the page that frames the document: the query has nothing else.
func parseFrameQuery(query string) (origin string, err error) {
	const limit = 1000 // more than the longest host name takes, encoded
	values, err := url.ParseQuery(query)
	if err != nil || len(query) > limit || len(values) != 1 || len(values["origin"]) != 1 {
		return "", errors.New("the query must be origin=ORIGIN alone, as the SDK sends it")
	}
	origin = values["origin"][0]
	if !isOrigin(origin) {
		return "", errors.New("origin must be an https origin, such as https://shop.example")
	}
	return origin, nil
}

// permissions returns a Permissions-Policy that turns every feature off which a browser may give a page.
func permissions() string {
	return strings.Join(strings.Fields(features), "=(), ") + "=()"
}

// features are those that Chromium knows. It warns about names that it does not know, so there are no others.
//
//nolint:misspell // One of them is ch-ect.
const features = `
	accelerometer aria-notify autoplay browsing-topics camera captured-surface-control ch-device-memory ch-downlink
	ch-dpr ch-ect ch-prefers-color-scheme ch-prefers-reduced-motion ch-prefers-reduced-transparency ch-rtt
	ch-save-data ch-ua ch-ua-arch ch-ua-bitness ch-ua-form-factors ch-ua-full-version ch-ua-full-version-list
	ch-ua-high-entropy-values ch-ua-mobile ch-ua-model ch-ua-platform ch-ua-platform-version ch-ua-wow64
	ch-viewport-height ch-viewport-width ch-width clipboard-read clipboard-write compute-pressure
	cross-origin-isolated deferred-fetch deferred-fetch-minimal digital-credentials-create digital-credentials-get
	display-capture encrypted-media fullscreen gamepad geolocation gyroscope hid identity-credentials-get
	idle-detection interest-cohort keyboard-map language-detector language-model local-fonts local-network
	local-network-access loopback-network magnetometer media-playback-while-not-visible microphone midi
	on-device-speech-recognition otp-credentials payment picture-in-picture private-state-token-issuance
	private-state-token-redemption publickey-credentials-create publickey-credentials-get screen-wake-lock serial
	speaker-selection storage-access summarizer sync-xhr translator unload usb window-management xr-spatial-tracking`
