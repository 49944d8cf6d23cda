package store

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/internal/ids"
)

// Values as literals of PostgreSQL, by themselves and as elements of an array.

func (e *postgresEngine) appendValue(to *builder, value any) {
	b := to.beginLiteral()
	switch v := value.(type) {
	case uuid.UUID:
		*b = append(ids.AppendText(append(*b, '\''), v), '\'')
	case optional:
		if uuid.UUID(v) != uuid.Nil {
			e.appendValue(to, uuid.UUID(v))
			return
		}
		*b = append(*b, "NULL"...)
	case time.Time:
		if !v.IsZero() {
			e.appendValue(to, v.UnixMilli())
			return
		}
		*b = append(*b, "NULL"...)
	case int64:
		*b = append(strconv.AppendInt(append(*b, '\''), v, 10), '\'')
	case int:
		e.appendValue(to, int64(v))
		return
	case []byte:
		if v == nil {
			*b = append(*b, "NULL"...)
		} else {
			*b = append(hex.AppendEncode(append(*b, `'\x`...), v), '\'')
		}
	case string, bool:
		*b = e.gen.Append(*b, v)
	default:
		to.text = e.gen.Append(to.text, v)
		return
	}
	to.endLiteral(kindOf(value))
}

// kindOf returns the type of a column that holds the value.
func kindOf(value any) string {
	switch value.(type) {
	case uuid.UUID, optional:
		return "uuid"
	case time.Time, int64, int:
		return "bigint"
	case []byte:
		return "bytea"
	case bool:
		return "boolean"
	default:
		return "text"
	}
}

// appendElement writes a value as an element of an array literal.
func appendElement(b []byte, value any) []byte {
	switch v := value.(type) {
	case uuid.UUID:
		return ids.AppendText(b, v)
	case optional:
		if uuid.UUID(v) == uuid.Nil {
			return append(b, "NULL"...)
		}
		return ids.AppendText(b, uuid.UUID(v))
	case time.Time:
		if v.IsZero() {
			return append(b, "NULL"...)
		}
		return strconv.AppendInt(b, v.UnixMilli(), 10)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case int:
		return strconv.AppendInt(b, int64(v), 10)
	case bool:
		return strconv.AppendBool(b, v)
	case []byte:
		if v == nil {
			return append(b, "NULL"...)
		}
		b = append(b, `"\\x`...)
		return append(hex.AppendEncode(b, v), '"')
	case string:
		return appendQuoted(b, v)
	default:
		panic("ticketing/store: a value of an unknown type")
	}
}

// appendQuoted writes a text as an element of an array literal: quoted for the array, with its apostrophes doubled for
// the literal.
func appendQuoted(b []byte, text string) []byte {
	b = append(b, '"')
	if !strings.ContainsAny(text, `"\'`) {
		return append(append(b, text...), '"')
	}
	for i := range len(text) {
		switch c := text[i]; c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\'':
			b = append(b, '\'', '\'')
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}

// equalValues reports whether two values of a column are equal.
func equalValues(a, b any) bool {
	x, isBytes := a.([]byte)
	if !isBytes {
		return a == b
	}
	y := b.([]byte)
	return (x == nil) == (y == nil) && bytes.Equal(x, y)
}

// compareRows orders the rows of a set by their ids, texts and numbers. Any order would do, but all transactions must
// lock in the same one.
func compareRows(a, b []any) int {
	for i := range a {
		order := 0
		switch x := a[i].(type) {
		case uuid.UUID:
			y := b[i].(uuid.UUID)
			order = bytes.Compare(x[:], y[:])
		case string:
			order = strings.Compare(x, b[i].(string))
		case int64:
			order = cmp.Compare(x, b[i].(int64))
		default:
			panic("ticketing/store: rows are locked by a value of an unknown type")
		}
		if order != 0 {
			return order
		}
	}
	return 0
}
