package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// copyOf returns a deep copy of a JSON value.
func copyOf(value any) any {
	switch of := value.(type) {
	case object:
		c := make(object, len(of))
		for name, member := range of {
			c[name] = copyOf(member)
		}
		return c
	case list:
		c := make(list, len(of))
		for i, element := range of {
			c[i] = copyOf(element)
		}
		return c
	default:
		return value
	}
}

// with returns a copy of a JSON value in which the value at a path, such as data.lines.0.tier, is replaced.
func with(value any, path string, replaced any) any {
	c := copyOf(value)
	names := strings.Split(path, ".")
	at := c
	for _, name := range names[:len(names)-1] {
		at = child(at, name)
	}
	last := names[len(names)-1]
	switch of := at.(type) {
	case object:
		of[last] = replaced
	case list:
		i, _ := strconv.Atoi(last)
		of[i] = replaced
	}
	return c
}

// without returns a copy of a JSON value that lacks the member at a path.
func without(value any, path string) any {
	c := copyOf(value)
	names := strings.Split(path, ".")
	at := c
	for _, name := range names[:len(names)-1] {
		at = child(at, name)
	}
	if of, ok := at.(object); ok {
		delete(of, names[len(names)-1])
	}
	return c
}

func child(of any, name string) any {
	switch of := of.(type) {
	case object:
		return of[name]
	case list:
		if i, err := strconv.Atoi(name); err == nil && i < len(of) {
			return of[i]
		}
	}
	return nil
}

// at returns the value at a path.
func at(value any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		value = child(value, name)
	}
	return value
}

// walk calls fn for a JSON value and each value within it, in the order of names. Of a list it visits only the first
// element.
func walk(value any, path string, fn func(path string, value any)) {
	fn(path, value)
	switch of := value.(type) {
	case object:
		for _, name := range slices.Sorted(maps.Keys(of)) {
			walk(of[name], join(path, name), fn)
		}
	case list:
		if len(of) > 0 {
			walk(of[0], join(path, "0"), fn)
		}
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// variant is a JSON value with one fault.
type variant struct {
	name string
	body any
}

// shapeFaults returns copies of a JSON value, each with one fault of shape: a member that is missing, null or of
// another type, or an unknown member of an object. Paths in nullable may be null.
func shapeFaults(value any, nullable ...string) []variant {
	var faults []variant
	walk(value, "", func(path string, of any) {
		if members, ok := of.(object); ok {
			unknown := join(path, markPrefix+"unknown")
			faults = append(faults, variant{unknown + " added", with(value, unknown, mark)})
			for _, name := range slices.Sorted(maps.Keys(members)) {
				member := join(path, name)
				faults = append(faults, variant{member + " missing", without(value, member)})
			}
		}
		if path == "" {
			return
		}
		faults = append(faults, variant{path + " of another type", with(value, path, anotherType(of))})
		if of != nil && !slices.Contains(nullable, path) {
			faults = append(faults, variant{path + " null", with(value, path, nil)})
		}
	})
	return faults
}

// anotherType returns a value of another JSON type.
func anotherType(of any) any {
	switch of := of.(type) {
	case string:
		return 7
	case int:
		return strconv.Itoa(of)
	case bool:
		return strconv.FormatBool(of)
	case list:
		return object{}
	case object:
		return list{}
	default:
		return true
	}
}

// decode parses exactly one JSON value, with numbers as they are written.
func decode(text []byte) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, errors.New("data after the value")
	}
	return value, nil
}

// canonical returns a value of this package in the form that decode returns.
func canonical(value any) any {
	decoded, _ := decode(encode(value))
	return decoded
}

// difference returns the first difference of two decoded JSON values, or "".
func difference(want, got any, path string) string {
	place := path
	if place == "" {
		place = "the body"
	}
	switch want := want.(type) {
	case object:
		got, ok := got.(object)
		if !ok {
			return place + " is no object"
		}
		for _, name := range slices.Sorted(maps.Keys(got)) {
			if _, ok := want[name]; !ok {
				return join(path, name) + " is there and must not be"
			}
		}
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if _, ok := got[name]; !ok {
				return join(path, name) + " is missing"
			}
			if said := difference(want[name], got[name], join(path, name)); said != "" {
				return said
			}
		}
		return ""
	case list:
		got, ok := got.(list)
		if !ok || len(got) != len(want) {
			return fmt.Sprintf("%s is no array of %d", place, len(want))
		}
		for i := range want {
			if said := difference(want[i], got[i], join(path, strconv.Itoa(i))); said != "" {
				return said
			}
		}
		return ""
	default:
		if want != got {
			return fmt.Sprintf("%s is %s and not %s", place, short(encode(got)), short(encode(want)))
		}
		return ""
	}
}
