package httpapi

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// object is an object of a body. Its members are read by name. The caller chooses with required, optional, present,
// changed or clearable what an absent or null member means.
type object struct {
	q       *request
	at      place
	members []member
	// broken means that the value is no object, which is already reported: no member is reported as missing.
	broken bool
}

type member struct {
	name  string
	value jsontext.Value
	known bool
}

// place is the position of a value in the body. Its path is built only to report a violation.
type place struct {
	in    *object
	name  string
	index int // of an item of a list; else -1
}

// path returns a path such as "lines[1].quantity", and "body" for the whole.
func (p place) path() string {
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

func (p place) refuse(message string) { p.in.q.refuse(p.path(), message) }

// required reads a member that must be there.
func required[T any](o *object, name string, parse func(place, jsontext.Value) T) T {
	value, sent := o.take(name)
	if sent {
		return notNull(o, name, value, parse)
	}
	if !o.broken {
		o.place(name).refuse("is required")
	}
	var none T
	return none
}

// optional reads a member that may be absent or null, which gives the zero value.
func optional[T any](o *object, name string, parse func(place, jsontext.Value) T) T {
	value, sent := o.take(name)
	if !sent || value.Kind() == 'n' {
		var none T
		return none
	}
	return parse(o.place(name), value)
}

// present reads a member that may be absent, which gives the zero value. It may not be null.
func present[T any](o *object, name string, parse func(place, jsontext.Value) T) T {
	value, sent := o.take(name)
	if !sent {
		var none T
		return none
	}
	return notNull(o, name, value, parse)
}

// changed reads a member of a PATCH: nil if it is absent. It may not be null.
func changed[T any](o *object, name string, parse func(place, jsontext.Value) T) *T {
	value, sent := o.take(name)
	if !sent {
		return nil
	}
	return new(notNull(o, name, value, parse))
}

// clearable reads a member of a PATCH: nil if it is absent. Null gives a pointer to the zero value.
func clearable[T any](o *object, name string, parse func(place, jsontext.Value) T) *T {
	value, sent := o.take(name)
	switch {
	case !sent:
		return nil
	case value.Kind() == 'n':
		return new(T)
	}
	return new(parse(o.place(name), value))
}

func notNull[T any](o *object, name string, value jsontext.Value, parse func(place, jsontext.Value) T) T {
	if value.Kind() == 'n' {
		o.place(name).refuse("must not be null")
		var none T
		return none
	}
	return parse(o.place(name), value)
}

func (o *object) place(name string) place { return place{in: o, name: name, index: -1} }

// take finds a member. Names are case-sensitive, and a repeated member is refused.
func (o *object) take(name string) (jsontext.Value, bool) {
	var value jsontext.Value
	for i := range o.members {
		m := &o.members[i]
		if m.name != name {
			continue
		}
		m.known = true
		if value != nil {
			o.place(name).refuse("must be there once")
			continue
		}
		value = m.value
	}
	return value, value != nil
}

// refuseUnknown refuses the members that were not read.
func (o *object) refuseUnknown() {
	for _, m := range o.members {
		if !m.known {
			o.place(shortened(m.name)).refuse("is not a known member")
		}
	}
}

// shortened returns a name that the client invented in a form fit for a message.
func shortened(name string) string {
	const most = 60
	if strings.TrimSpace(name) == "" || strings.ContainsFunc(name, unicode.IsControl) {
		name = strconv.Quote(name) // Otherwise it would show as nothing, or break the line.
	}
	if utf8.RuneCountInString(name) <= most {
		return name
	}
	return string([]rune(name)[:most]) + "…"
}

func newObject(q *request, at place, value jsontext.Value) *object {
	o := &object{q: q, at: at}
	if value.Kind() == '{' {
		o.members = split(q, value)
		q.objects = append(q.objects, o)
		return o
	}
	q.refuse(at.path(), "must be an object")
	o.broken = true
	return o
}

// split splits an object or list into its members, one level deep. The value is part of the body, whose syntax was
// checked.
func split(q *request, value jsontext.Value) []member {
	named := value.Kind() == '{'
	q.reset(value)
	_, _ = q.decoder.ReadToken()
	var members []member
	for {
		var m member
		if next := q.decoder.PeekKind(); next == '}' || next == ']' || next == jsontext.KindInvalid {
			return members
		}
		if named {
			token, _ := q.decoder.ReadToken()
			m.name = token.String()
		}
		read, _ := q.decoder.ReadValue()
		// The decoder may overwrite the value that it returned; the same bytes of the body stay.
		end := q.decoder.InputOffset()
		m.value = value[end-int64(len(read)) : end]
		members = append(members, m)
	}
}
