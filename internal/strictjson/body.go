package strictjson

import (
	"bytes"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"
)

// Body reads the body of a request, of at most so many bytes, which has to be an object in JSON. Without a body, the
// result is as of [Reader.Absent] if the body is optional, and else a violation.
func (r *Reader) Body(w http.ResponseWriter, request *http.Request, most int64, optional bool) *Object {
	raw, problem := readBody(w, request, most)
	switch {
	case problem != "":
		return r.Broken("body", problem)
	case len(raw) == 0 && optional:
		return r.Absent()
	case len(raw) == 0:
		return r.Broken("body", "is required")
	case !isJSON(request.Header):
		return r.Broken("Content-Type", "must be application/json")
	}
	return r.Object(raw)
}

// firstBody is how much room a body gets before any of it has arrived. An ordinary body is smaller.
const firstBody = 4 << 10

// readBody reads the whole body, or returns what is wrong with it.
func readBody(w http.ResponseWriter, request *http.Request, most int64) (raw []byte, problem string) {
	if request.ContentLength > most {
		return nil, tooLarge(most)
	}
	var b bytes.Buffer
	if request.ContentLength > 0 {
		// ReadFrom wants room for one read more than the body needs. The room for a longer body grows with what
		// arrives, since a Content-Length alone proves nothing.
		b.Grow(int(min(request.ContentLength, firstBody)) + bytes.MinRead)
	}
	if _, err := b.ReadFrom(http.MaxBytesReader(w, request.Body, most)); err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return nil, tooLarge(most)
		}
		return nil, "could not be read to its end"
	}
	return b.Bytes(), ""
}

func tooLarge(most int64) string { return fmt.Sprintf("must be at most %d bytes", most) }

// isJSON reports whether there is one Content-Type and it is application/json, in any case. Its only parameter may be a
// charset, which has to be UTF-8.
func isJSON(header http.Header) bool {
	sent := header["Content-Type"]
	if len(sent) != 1 {
		return false
	}
	if sent[0] == "application/json" {
		return true
	}
	mediaType, params, err := mime.ParseMediaType(sent[0])
	if err != nil || mediaType != "application/json" {
		return false
	}
	charset, named := params["charset"]
	return len(params) == 0 || len(params) == 1 && named && strings.EqualFold(charset, "utf-8")
}
