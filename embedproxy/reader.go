package embedproxy

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// reader reads one body of the API in one pass. It is strict: an object has exactly the members that its reader names,
// each once. The first problem ends the reading, and makes what was read so far invalid.
//
// A problem names its place by known names only. It repeats nothing of the body.
type reader struct {
	body    string
	at      int    // how much of body was read
	problem string // empty as long as there is none
	path    string // of the problem
	origin  string // of the last URL that was checked
}

func newReader(body []byte) *reader { return &reader{body: string(body)} }

// close checks that nothing follows the value that was read. It returns the problem of the body, if it has any.
func (r *reader) close() error {
	if r.ok() {
		if r.peek(); r.at < len(r.body) {
			r.refuse("must not be followed by anything")
		}
	}
	if r.ok() {
		return nil
	}
	path := r.path
	if path == "" {
		path = "body"
	}
	return &rejection{reason: path + ": " + r.problem}
}

func (r *reader) ok() bool { return r.problem == "" }

func (r *reader) refuse(problem string) {
	if r.ok() {
		r.problem = problem
	}
}

// within adds the name of a member, or the index of an item, to the front of the path of a problem in it.
func (r *reader) within(step string) {
	switch {
	case r.path == "":
		r.path = step
	case r.path[0] == '[':
		r.path = step + r.path
	default:
		r.path = step + "." + r.path
	}
}

// members reads an object. It yields the name of each member, and the body of the loop has to read the value. It
// refuses an unknown member, a repeated one and a missing one.
func (r *reader) members(names ...string) iter.Seq[string] {
	return r.membersWith(len(names), names...)
}

// membersWith reads an object as members does. The first needed names are required, the rest are optional.
func (r *reader) membersWith(needed int, names ...string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if !r.take('{') {
			return
		}
		var seen uint32
		next := 0 // Members usually come in the order of names.
		for r.more('}', seen == 0) {
			i := r.name(names, next)
			switch {
			case !r.ok():
				return
			case i < 0:
				r.refuse("must have no other members than its own")
				return
			case seen&(1<<i) != 0:
				r.refuse("must be there once")
				r.within(names[i])
				return
			}
			seen |= 1 << i
			next = i + 1
			more := yield(names[i])
			if !r.ok() {
				r.within(names[i])
				return
			}
			if !more {
				return
			}
		}
		for i, name := range names[:needed] {
			if r.ok() && seen&(1<<i) == 0 {
				r.refuse("must be there")
				r.within(name)
			}
		}
	}
}

// name reads the name of a member and its colon. It returns the index of the name, or -1.
func (r *reader) name(names []string, next int) int {
	if next < len(names) && r.expected(names[next]) {
		if !r.take(':') {
			return -1
		}
		return next
	}
	name, ok := r.string()
	if !ok || !r.take(':') {
		return -1
	}
	return slices.Index(names, name)
}

// expected reads a member's name if it is next and has no escapes, and reports whether it did.
func (r *reader) expected(name string) bool {
	r.peek()
	rest := r.body[r.at:]
	if len(rest) < len(name)+2 || rest[0] != '"' || rest[len(name)+1] != '"' || rest[1:len(name)+1] != name {
		return false
	}
	r.at += len(name) + 2
	return true
}

// list reads a list of least to most items.
func list[T any](r *reader, least, most int, item func(*reader) T) []T {
	items := make([]T, 0, min(most, 8)) // An empty list is [], not null.
	if !r.take('[') {
		return items
	}
	for r.more(']', len(items) == 0) {
		if len(items) == most {
			r.refuse(fmt.Sprintf("must have at most %d items", most))
			return items
		}
		read := item(r)
		if !r.ok() {
			r.within("[" + strconv.Itoa(len(items)) + "]")
			return items
		}
		items = append(items, read)
	}
	if r.ok() && len(items) < least {
		r.refuse(fmt.Sprintf("must have at least %d items", least))
	}
	return items
}

// more reads the comma before the next member or item, or the end of an object or list. It reports whether there is a
// next one.
func (r *reader) more(end byte, first bool) bool {
	switch c := r.peek(); {
	case !r.ok():
		return false
	case c == end:
		r.at++
		return false
	case first:
		return true
	}
	return r.take(',')
}

// peek skips white space and returns the next byte, or 0 at the end.
func (r *reader) peek() byte {
	for r.at < len(r.body) {
		switch c := r.body[r.at]; c {
		case ' ', '\t', '\r', '\n':
			r.at++
		default:
			return c
		}
	}
	return 0
}

// take reads a byte that must be next.
func (r *reader) take(c byte) bool {
	if !r.ok() {
		return false
	}
	if r.peek() != c {
		r.refuse("is of another type, or no JSON")
		return false
	}
	r.at++
	return true
}

// word reads a word if it is next, and reports whether it did. The caller checks what follows.
func (r *reader) word(word string) bool {
	if !r.ok() {
		return false
	}
	r.peek()
	if !strings.HasPrefix(r.body[r.at:], word) {
		return false
	}
	r.at += len(word)
	return true
}

// string reads a string.
func (r *reader) string() (string, bool) {
	if !r.take('"') {
		return "", false
	}
	begin, ascii, escaped := r.at, true, false
	for i := begin; i < len(r.body); i++ {
		c := r.body[i]
		if ' ' <= c && c < utf8.RuneSelf && c != '"' && c != '\\' {
			continue
		}
		switch {
		case c == '"':
			r.at = i + 1
			if escaped {
				return r.unescape(begin - 1)
			}
			if text := r.body[begin:i]; ascii || utf8.ValidString(text) {
				return text, true
			}
			r.refuse("must be in UTF-8")
			return "", false
		case c == '\\':
			escaped = true
			i++ // The next byte may be an escaped quotation mark.
		case c < ' ':
			r.refuse("must have no bare control characters")
			return "", false
		default:
			ascii = false
		}
	}
	r.refuse("must be ended")
	return "", false
}

// unescape decodes the string between an offset and the current position.
func (r *reader) unescape(begin int) (string, bool) {
	text, err := jsontext.AppendUnquote(nil, r.body[begin:r.at])
	if err != nil { // A malformed escape, a lone surrogate, or invalid UTF-8.
		r.refuse("must have well-formed escapes")
		return "", false
	}
	return string(text), true
}

// object reads an object with any members, and drops it. It refuses a repeated name.
func (r *reader) object() {
	if !r.ok() {
		return
	}
	if r.peek() != '{' {
		r.refuse("must be an object")
		return
	}
	decoder := jsontext.NewDecoder(strings.NewReader(r.body[r.at:]))
	if _, err := decoder.ReadValue(); err != nil && !errors.Is(err, io.EOF) {
		r.refuse("must be valid JSON, without a repeated name")
		return
	}
	r.at += int(decoder.InputOffset())
}

// null reads a null if it is next, and reports whether it did.
func (r *reader) null() bool { return r.word("null") }

// nullable returns nil for null, and otherwise what read returns.
func nullable[T any](r *reader, read func(*reader) T) *T {
	if r.null() {
		return nil
	}
	return new(read(r))
}
