// Package strictjson reads JSON from outside: every member has to be known, to be there once and to have the right
// kind, and all violations of one body are reported together. It reads forms, not meanings.
//
//	var r strictjson.Reader
//	body := r.Object(raw)
//	tier := strictjson.Required(body, "tier", strictjson.Text)
//	if violations := r.Violations(); len(violations) > 0 { … }
//
// Names are case-sensitive. A repeated name, invalid UTF-8, a lone surrogate, U+0000 and data after the value are
// violations.
package strictjson

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxViolations is how many violations a [Reader] keeps, whatever is wrong.
const MaxViolations = 50

// Reader reads one body and collects its violations. What cannot be read is the zero value. The zero Reader is ready.
type Reader struct {
	violations []string
	objects    []*Object         // whose members have to be known
	decoder    *jsontext.Decoder // used again for each level
}

// Refuse adds a violation at the part that the path names.
func (r *Reader) Refuse(path, message string) { r.Add(path + ": " + message) }

// Add adds a violation, which begins with its path.
func (r *Reader) Add(violation string) {
	if len(r.violations) < MaxViolations {
		r.violations = append(r.violations, violation)
	}
}

// Violations returns all violations. Those of members that nothing has read are added at the first call, so it is
// called after all members were read.
func (r *Reader) Violations() []string {
	for _, o := range r.objects {
		o.refuseUnknown()
	}
	r.objects = nil
	return r.violations
}

// Object reads a body that has to be one object. The result refers to raw.
func (r *Reader) Object(raw []byte) *Object {
	if path, problem := r.checkSyntax(raw); problem != "" {
		r.Refuse(path, problem)
		return &Object{r: r, broken: true}
	}
	return newObject(r, Place{}, bytes.Trim(raw, " \t\r\n"))
}

// Absent returns an object without members, for a body that may be left out.
func (r *Reader) Absent() *Object { return &Object{r: r} }

// Broken adds a violation of the body as a whole. It returns an object whose members are not reported as missing.
func (r *Reader) Broken(path, message string) *Object {
	r.Refuse(path, message)
	return &Object{r: r, broken: true}
}

// checkSyntax reads the whole body once: it must be one JSON value in UTF-8, without lone surrogates, and nothing may
// follow it. It returns where and how the body breaks this, or empty strings.
func (r *Reader) checkSyntax(raw []byte) (path, problem string) {
	r.reset(raw)
	_, err := r.decoder.ReadValue()
	if err == nil {
		if r.decoder.PeekKind() == jsontext.KindInvalid &&
			len(bytes.TrimLeft(raw[r.decoder.InputOffset():], " \t\r\n")) == 0 {
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

// reset gives the decoder a new input. It allows duplicate names, since [Object.take] can say which name is repeated.
func (r *Reader) reset(raw []byte) {
	// The decoder reads such a buffer in place.
	source, options := bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true)
	if r.decoder == nil {
		r.decoder = jsontext.NewDecoder(source, options)
		return
	}
	r.decoder.Reset(source, options)
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
			path.WriteString("[" + Shortened(token) + "]")
			continue
		case path.Len() > 0:
			path.WriteByte('.')
		}
		path.WriteString(Shortened(token))
	}
	if path.Len() == 0 {
		return "body"
	}
	return path.String()
}
