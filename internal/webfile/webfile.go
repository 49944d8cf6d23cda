// Package webfile serves texts that are part of a program: plain or compressed, and not at all to a client that has
// them.
package webfile

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
)

// File is a text, plain and compressed, each with its own strong entity tag. Equal texts have equal tags.
type File struct{ plain, gzipped representation }

type representation struct {
	text     []byte
	encoding string // its Content-Encoding; empty: none
	tag      string
}

// New returns the file of a text.
func New(text []byte) File {
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
	return File{
		plain:   representation{text: text, tag: `"` + tag + `"`},
		gzipped: representation{text: packed.Bytes(), encoding: "gzip", tag: `"` + tag + `-gzip"`},
	}
}

// Version is the digest of the text: 32 hexadecimal digits.
func (f File) Version() string { return strings.Trim(f.plain.tag, `"`) }

// Serve sends the file to a GET or HEAD, or 304 if the client has it, and returns the status. All other headers are the
// caller's, who sets them before.
func (f File) Serve(w http.ResponseWriter, r *http.Request, contentType string) (status int) {
	chosen := f.plain
	if acceptsGzip(r.Header["Accept-Encoding"]) {
		chosen = f.gzipped
	}
	header := w.Header()
	header.Set("Vary", "Accept-Encoding")
	header.Set("Etag", chosen.tag)
	if isAmong(chosen.tag, r.Header["If-None-Match"]) {
		w.WriteHeader(http.StatusNotModified)
		return http.StatusNotModified
	}
	header.Set("Content-Type", contentType)
	if chosen.encoding != "" {
		header.Set("Content-Encoding", chosen.encoding)
	}
	header.Set("Content-Length", strconv.Itoa(len(chosen.text))) // for HEAD, too
	w.WriteHeader(http.StatusOK)
	_, _ = w.Write(chosen.text) // A client that went away has no use for an error.
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
