package strictjson

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Object is an object of a body. Its members are read by name. The caller chooses with [Required], [Optional],
// [Present], [Changed] or [Clearable] what an absent or null member means.
type Object struct {
	r       *Reader
	at      Place
	members []member
	// broken means that the value is no object, which is already reported: no member is reported as missing.
	broken bool
}

type member struct {
	name  string
	value jsontext.Value
	known bool
}

// Place is the position of a value in the body. Its path is built only to report a violation.
type Place struct {
	in    *Object
	name  string
	index int // of an item of a list; else -1
}

// path returns a path such as "lines[1].quantity", and "body" for the whole.
func (p Place) path() string {
	if p.in == nil {
		return "body"
	}
	path := p.name
	if p.in.at.in != nil {
		path = p.in.at.path() + "." + path
	}
	if p.index >= 0 {
		path += "[" + strconv.Itoa(p.index) + "]"
	}
	return path
}

// Refuse adds a violation of the value.
func (p Place) Refuse(message string) { p.in.r.Refuse(p.path(), message) }

// Required reads a member that must be there.
func Required[T any](o *Object, name string, parse func(Place, jsontext.Value) T) T {
	value, sent := o.take(name)
	if sent {
		return notNull(o, name, value, parse)
	}
	if !o.broken {
		o.place(name).Refuse("is required")
	}
	var none T
	return none
}

// Optional reads a member that may be absent or null, which gives the zero value.
func Optional[T any](o *Object, name string, parse func(Place, jsontext.Value) T) T {
	value, sent := o.take(name)
	if !sent || value.Kind() == 'n' {
		var none T
		return none
	}
	return parse(o.place(name), value)
}

// Present reads a member that may be absent, which gives the zero value. It may not be null.
func Present[T any](o *Object, name string, parse func(Place, jsontext.Value) T) T {
	value, sent := o.take(name)
	if !sent {
		var none T
		return none
	}
	return notNull(o, name, value, parse)
}

// Changed reads a member of a PATCH: nil if it is absent. It may not be null.
func Changed[T any](o *Object, name string, parse func(Place, jsontext.Value) T) *T {
	value, sent := o.take(name)
	if !sent {
		return nil
	}
	return new(notNull(o, name, value, parse))
}

// Clearable reads a member of a PATCH: nil if it is absent. Null gives a pointer to the zero value.
func Clearable[T any](o *Object, name string, parse func(Place, jsontext.Value) T) *T {
	value, sent := o.take(name)
	switch {
	case !sent:
		return nil
	case value.Kind() == 'n':
		return new(T)
	}
	return new(parse(o.place(name), value))
}

func notNull[T any](o *Object, name string, value jsontext.Value, parse func(Place, jsontext.Value) T) T {
	if value.Kind() == 'n' {
		o.place(name).Refuse("must not be null")
		var none T
		return none
	}
	return parse(o.place(name), value)
}

func (o *Object) place(name string) Place { return Place{in: o, name: name, index: -1} }

// take finds a member. Names are case-sensitive, and a repeated member is refused.
func (o *Object) take(name string) (jsontext.Value, bool) {
	var value jsontext.Value
	for i := range o.members {
		m := &o.members[i]
		if m.name != name {
			continue
		}
		m.known = true
		if value != nil {
			o.place(name).Refuse("must be there once")
			continue
		}
		value = m.value
	}
	return value, value != nil
}

// refuseUnknown refuses the members that were not read.
func (o *Object) refuseUnknown() {
	for _, m := range o.members {
		if !m.known {
			o.place(Shortened(m.name)).Refuse("is not a known member")
		}
	}
}

// Shortened returns a name that the client invented in a form fit for a message.
func Shortened(name string) string {
	const most = 60
	if strings.TrimSpace(name) == "" || strings.ContainsFunc(name, unicode.IsControl) {
		name = strconv.Quote(name) // Otherwise it would show as nothing, or break the line.
	}
	if utf8.RuneCountInString(name) <= most {
		return name
	}
	return string([]rune(name)[:most]) + "…"
}

func newObject(r *Reader, at Place, value jsontext.Value) *Object {
	o := &Object{r: r, at: at}
	if value.Kind() == '{' {
		o.members = split(r, value)
		r.objects = append(r.objects, o)
		return o
	}
	r.Refuse(at.path(), "must be an object")
	o.broken = true
	return o
}

// split splits an object or list into its members, one level deep. The value is part of the body, whose syntax was
// checked.
func split(r *Reader, value jsontext.Value) []member {
	named := value.Kind() == '{'
	r.reset(value)
	_, _ = r.decoder.ReadToken()
	var members []member
	for {
		var m member
		if next := r.decoder.PeekKind(); next == '}' || next == ']' || next == jsontext.KindInvalid {
			return members
		}
		if named {
			token, _ := r.decoder.ReadToken()
			m.name = token.String()
		}
		read, _ := r.decoder.ReadValue()
		// The decoder may overwrite the value that it returned; the same bytes of the body stay.
		end := r.decoder.InputOffset()
		m.value = value[end-int64(len(read)) : end]
		members = append(members, m)
	}
}
