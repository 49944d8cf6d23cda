package httpapi

import (
	"bytes"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// body reads the body, which has to be an object.
func (q *request) body() *object { return q.readBody(false) }

// optionalBody reads the body; an absent body is an empty object (section 4.9).
func (q *request) optionalBody() *object { return q.readBody(true) }

func (q *request) readBody(optional bool) *object {
	raw, problem := q.bytes()
	switch {
	case problem == "" && len(raw) == 0 && optional:
		return &object{q: q}
	case problem == "" && len(raw) == 0:
		problem = "is required"
	case problem == "" && !isJSON(q.r.Header):
		q.refuse("Content-Type", "must be application/json")
		return &object{q: q, broken: true}
	}
	if problem != "" {
		q.refuse("body", problem)
		return &object{q: q, broken: true}
	}
	if path, problem := q.checkSyntax(raw); problem != "" {
		q.refuse(path, problem)
		return &object{q: q, broken: true}
	}
	return newObject(q, place{}, bytes.Trim(raw, " \t\r\n"))
}

// firstBody is how much room a body gets before any of it has arrived. An ordinary body is smaller.
const firstBody = 4 << 10

// bytes reads the whole body, or returns what is wrong with it.
func (q *request) bytes() (raw []byte, problem string) {
	most := q.api.maxBody
	if q.r.ContentLength > most {
		return nil, tooLarge(most)
	}
	var b bytes.Buffer
	if q.r.ContentLength > 0 {
		// ReadFrom wants room for one read more than the body needs. The room for a longer body grows with what
		// arrives, since a Content-Length alone proves nothing.
		b.Grow(int(min(q.r.ContentLength, firstBody)) + bytes.MinRead)
	}
	if _, err := b.ReadFrom(http.MaxBytesReader(q.ResponseWriter, q.r.Body, most)); err != nil {
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

// checkSyntax reads the whole body once: it must be one JSON value in UTF-8, without lone surrogates, and nothing may
// follow it. It returns where and how the body breaks this, or empty strings.
func (q *request) checkSyntax(raw []byte) (path, problem string) {
	q.reset(raw)
	_, err := q.decoder.ReadValue()
	if err == nil {
		if q.decoder.PeekKind() == jsontext.KindInvalid &&
			len(bytes.TrimLeft(raw[q.decoder.InputOffset():], " \t\r\n")) == 0 {
			return "", ""
		}
		return "body", "must be one JSON value, with nothing behind it"
	}
	path, problem = "body", "is not valid JSON in UTF-8"
	if wrong, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		path = pointed(wrong.JSONPointer)
		problem = fmt.Sprintf("%s, at byte %d", problem, wrong.ByteOffset)
	}
	return path, problem
}

// reset gives the decoder a new input. It allows duplicate names, since [object.take] can say which name is repeated.
func (q *request) reset(raw []byte) {
	// The decoder reads such a buffer in place.
	source, options := bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true)
	if q.decoder == nil {
		q.decoder = jsontext.NewDecoder(source, options)
		return
	}
	q.decoder.Reset(source, options)
}

// pointed writes the beginning of a JSON pointer as a path, up to the number of levels that the contract has.
func pointed(pointer jsontext.Pointer) string {
	const levels = 3
	var path strings.Builder
	depth := 0
	for token := range pointer.Tokens() {
		depth++
		if depth > levels {
			break
		}
		switch {
		case token != "" && strings.Trim(token, "0123456789") == "":
			path.WriteString("[" + shortened(token) + "]")
			continue
		case path.Len() > 0:
			path.WriteByte('.')
		}
		path.WriteString(shortened(token))
	}
	if path.Len() == 0 {
		return "body"
	}
	return path.String()
}
