package conformance_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// schema checks a value and returns what the browser gets of it.
type schema struct {
	read   func(value any) (any, error)
	hidden bool // the browser does not get it
}

// members are the members of a record.
type members struct {
	of       map[string]schema
	optional map[string]bool

	unknown, missing, null bool // these are accepted
}

// membersOf returns members of pairs of name and schema. A name with a question mark is optional.
func membersOf(pairs ...any) members {
	m := members{of: map[string]schema{}, optional: map[string]bool{}}
	for pair := range slices.Chunk(pairs, 2) {
		name, optional := strings.CutSuffix(pair[0].(string), "?")
		m.of[name], m.optional[name] = pair[1].(schema), optional
	}
	return m
}

func record(m members) schema {
	return schema{read: func(value any) (any, error) {
		object, ok := value.(map[string]any)
		if !ok {
			return nil, errUpstream
		}
		kept := map[string]any{}
		for name, member := range object {
			of, known := m.of[name]
			if !known && !m.unknown {
				return nil, errUpstream
			}
			if !known {
				continue
			}
			if member == nil && m.null {
				if !of.hidden {
					kept[name] = nil
				}
				continue
			}
			read, err := of.read(member)
			if err != nil {
				return nil, err
			}
			if !of.hidden {
				kept[name] = read
			}
		}
		for name := range m.of {
			if _, ok := object[name]; !ok && !m.optional[name] && !m.missing {
				return nil, errUpstream
			}
		}
		return kept, nil
	}}
}

func hide(of schema) schema {
	of.hidden = true
	return of
}

// text returns the schema of texts that match an expression as a whole; "" is any.
func text(form string) schema {
	return schema{read: func(value any) (any, error) {
		written, ok := value.(string)
		if !ok || (form != "" && !compiled(`(?s)^(?:`+form+`)$`).MatchString(written)) {
			return nil, errUpstream
		}
		return value, nil
	}}
}

// upTo returns the schema of texts of 1 to n characters.
func upTo(n int) schema {
	return schema{read: func(value any) (any, error) {
		written, _ := value.(string)
		if count := utf8.RuneCountInString(written); count < 1 || count > n {
			return nil, errUpstream
		}
		return value, nil
	}}
}

// expressions are the compiled expressions.
var expressions sync.Map

func compiled(form string) *regexp.Regexp {
	if of, ok := expressions.Load(form); ok {
		return of.(*regexp.Regexp)
	}
	of := regexp.MustCompile(form)
	expressions.Store(form, of)
	return of
}

func whole(least, most int64) schema {
	return schema{read: func(value any) (any, error) {
		number, ok := value.(json.Number)
		n, err := number.Int64()
		if !ok || err != nil || n < least || n > most {
			return nil, errUpstream
		}
		return value, nil
	}}
}

func maybe(of schema) schema {
	return schema{read: func(value any) (any, error) {
		if value == nil {
			return nil, nil
		}
		return of.read(value)
	}}
}

func array(of schema, least, most int) schema {
	return schema{read: func(value any) (any, error) {
		elements, ok := value.([]any)
		if !ok || len(elements) < least || len(elements) > most {
			return nil, errUpstream
		}
		kept := make([]any, len(elements))
		for i, element := range elements {
			read, err := of.read(element)
			if err != nil {
				return nil, err
			}
			kept[i] = read
		}
		return kept, nil
	}}
}

var (
	anything = schema{read: func(value any) (any, error) { return value, nil }}
	boolean  = schema{read: func(value any) (any, error) {
		if _, ok := value.(bool); !ok {
			return nil, errUpstream
		}
		return value, nil
	}}
	uuidText = text(`[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`)
)

// path returns the value at a path.
func path(value any, names ...string) any {
	for _, name := range names {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	return value
}
