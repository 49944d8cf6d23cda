package strictjson

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// The functions of this file read one kind of value each, and refuse a wrong value at its place. They check the kind of
// a value, not its meaning, which the service checks.

// Text reads a string. It refuses U+0000, which no database stores, in every text.
func Text(at Place, value jsontext.Value) string {
	if value.Kind() != '"' {
		at.Refuse("must be a string")
		return ""
	}
	read := unquote(value)
	if strings.ContainsRune(read, 0) {
		at.Refuse("must not contain U+0000")
	}
	return read
}

// unquote decodes a string whose syntax was checked.
func unquote(value jsontext.Value) string {
	read, _ := jsontext.AppendUnquote(nil, value)
	return string(read)
}

// Enum reads a value of an enumeration. The service checks the value.
func Enum[T ~string](at Place, value jsontext.Value) T { return T(Text(at, value)) }

// ParseString reads a string that has a form. The error of parse is fit for the client.
func ParseString[T any](at Place, value jsontext.Value, parse func(string) (T, error)) T {
	var none T
	if value.Kind() != '"' {
		at.Refuse("must be a string")
		return none
	}
	read, err := parse(unquote(value))
	if err != nil {
		at.Refuse(err.Error())
		return none
	}
	return read
}

// Boolean reads true or false.
func Boolean(at Place, value jsontext.Value) bool {
	kind := value.Kind()
	if kind != 't' && kind != 'f' {
		at.Refuse("must be true or false")
	}
	return kind == 't'
}

// Integer reads a JSON number without fraction or exponent. The service checks its range; here it is bounded so that
// sums cannot overflow.
func Integer(at Place, value jsontext.Value) int {
	if value.Kind() != '0' || bytes.ContainsAny(value, ".eE") {
		at.Refuse("must be an integer, without fraction and exponent")
		return 0
	}
	const limit = 1_000_000_000
	n, err := strconv.Atoi(string(value))
	if err != nil || n > limit || n < -limit {
		at.Refuse("is out of range")
		return 0
	}
	return n
}

// maxItems bounds the work on a list. It is far above what the service allows of any list.
const maxItems = 1000

// Items returns a reader of lists for a reader of their items.
func Items[T any](parse func(Place, jsontext.Value) T) func(Place, jsontext.Value) []T {
	return func(at Place, value jsontext.Value) []T {
		if value.Kind() != '[' {
			at.Refuse("must be a list")
			return nil
		}
		values := split(at.in.r, value)
		if len(values) > maxItems {
			at.Refuse("has too many items")
			return nil
		}
		read := make([]T, len(values))
		for i, v := range values {
			at.index = i
			if v.value.Kind() == 'n' {
				at.Refuse("must not be null")
				continue
			}
			read[i] = parse(at, v.value)
		}
		return read
	}
}

// Fields returns a reader of objects for a function that reads their members.
func Fields[T any](read func(*Object) T) func(Place, jsontext.Value) T {
	return func(at Place, value jsontext.Value) T {
		return read(newObject(at.in.r, at, value))
	}
}
