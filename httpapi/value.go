package httpapi

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/money"
)

// The functions of this file read one kind of value each, and refuse a wrong value at its place. They check the kind of
// a value, not its meaning, which the service checks.

// text reads a string. It refuses U+0000, which no database stores, in every text.
func text(at place, value jsontext.Value) string {
	if value.Kind() != '"' {
		at.refuse("must be a string")
		return ""
	}
	read := unquote(value)
	if strings.ContainsRune(read, 0) {
		at.refuse("must not contain U+0000")
	}
	return read
}

// unquote decodes a string whose syntax was checked.
func unquote(value jsontext.Value) string {
	read, _ := jsontext.AppendUnquote(nil, value)
	return string(read)
}

// enum reads a value of an enumeration. The service checks the value.
func enum[T ~string](at place, value jsontext.Value) T { return T(text(at, value)) }

// amount reads a money string (section 2.1).
func amount(at place, value jsontext.Value) money.Amount {
	return parseString(at, value, money.Parse)
}

// id reads the id of a resource.
func id(at place, value jsontext.Value) uuid.UUID {
	return parseString(at, value, ticketing.ParseID)
}

// parseString reads a string that has a form. The error of parse is fit for the client.
func parseString[T any](at place, value jsontext.Value, parse func(string) (T, error)) T {
	var none T
	if value.Kind() != '"' {
		at.refuse("must be a string")
		return none
	}
	read, err := parse(unquote(value))
	if err != nil {
		at.refuse(err.Error())
		return none
	}
	return read
}

// boolean reads true or false.
func boolean(at place, value jsontext.Value) bool {
	kind := value.Kind()
	if kind != 't' && kind != 'f' {
		at.refuse("must be true or false")
	}
	return kind == 't'
}

// integer reads a JSON number without fraction or exponent. The service checks its range; here it is bounded so that
// sums cannot overflow.
func integer(at place, value jsontext.Value) int {
	if value.Kind() != '0' || bytes.ContainsAny(value, ".eE") {
		at.refuse("must be an integer, without fraction and exponent")
		return 0
	}
	const limit = 1_000_000_000
	n, err := strconv.Atoi(string(value))
	if err != nil || n > limit || n < -limit {
		at.refuse("is out of range")
		return 0
	}
	return n
}

// maxItems bounds the work on a list. It is far above what the service allows of any list.
const maxItems = 1000

// items returns a reader of lists for a reader of their items.
func items[T any](parse func(place, jsontext.Value) T) func(place, jsontext.Value) []T {
	return func(at place, value jsontext.Value) []T {
		if value.Kind() != '[' {
			at.refuse("must be a list")
			return nil
		}
		values := split(at.in.q, value)
		if len(values) > maxItems {
			at.refuse("has too many items")
			return nil
		}
		read := make([]T, len(values))
		for i, v := range values {
			at.index = i
			if v.value.Kind() == 'n' {
				at.refuse("must not be null")
				continue
			}
			read[i] = parse(at, v.value)
		}
		return read
	}
}

// fields returns a reader of objects for a function that reads their members.
func fields[T any](read func(*object) T) func(place, jsontext.Value) T {
	return func(at place, value jsontext.Value) T {
		return read(newObject(at.in.q, at, value))
	}
}
