package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/uptrace/bun/schema"

	"github.com/floatgate/ticketing/ledger"
)

// The types below read columns into the fields of records: a pointer to a field is converted to a pointer to one of
// them. What is written goes through appendValue.
type (
	// id is 16 bytes, NULL for the zero id where a column allows it.
	id uuid.UUID
	// moment is milliseconds since 1970, NULL for the zero time.
	moment time.Time
	// hash is 32 bytes, NULL for the zero hash.
	hash ledger.Hash
)

// Scan reads what appendID of either dialect wrote.
func (i *id) Scan(src any) error {
	if src == nil {
		*i = id{}
		return nil
	}
	return (*uuid.UUID)(i).Scan(src)
}

func (m *moment) Scan(src any) error {
	switch ms := src.(type) {
	case nil:
		*m = moment{}
	case int64:
		*m = moment(time.UnixMilli(ms).UTC())
	default:
		return fmt.Errorf("a time is kept as %T", src)
	}
	return nil
}

func (h *hash) Scan(src any) error {
	b, ok := src.([]byte)
	if src != nil && (!ok || len(b) != len(h)) {
		return errors.New("a hash is not kept as 32 bytes")
	}
	*h = hash{}
	copy(h[:], b)
	return nil
}

// texts is a list of texts as a JSON array.
type texts[T ~string] []T

func (t texts[T]) encode() string {
	if len(t) == 0 {
		return "[]"
	}
	b, err := json.Marshal([]T(t))
	if err != nil {
		panic(err) // Strings always marshal.
	}
	return string(b)
}

func (t *texts[T]) Scan(src any) error {
	var b []byte
	switch s := src.(type) {
	case string:
		b = []byte(s)
	case []byte:
		b = s
	default:
		return fmt.Errorf("a list is kept as %T", src)
	}
	*t = nil
	if string(b) == "[]" {
		return nil
	}
	return json.Unmarshal(b, (*[]T)(t))
}

// optional is NULL for the zero id.
func optional(id uuid.UUID) any {
	if id == uuid.Nil {
		return nil
	}
	return id
}

var errText = errors.New("ticketing/store: a text holds a NUL byte or is not UTF-8")

// appendValue writes a value as a literal. A text that a database would change or cut is an error: texts are kept
// exactly or not at all.
func appendValue(gen schema.QueryGen, engine engine, b []byte, value any) ([]byte, error) {
	switch v := value.(type) {
	case string:
		if strings.IndexByte(v, 0) >= 0 || !utf8.ValidString(v) {
			return b, errText
		}
		return gen.Append(b, v), nil
	case uuid.UUID:
		return engine.appendID(b, v), nil
	case time.Time:
		if v.IsZero() {
			return gen.Append(b, nil), nil
		}
		return gen.Append(b, v.UnixMilli()), nil
	case list:
		return v.append(gen, engine, b)
	default:
		return gen.Append(b, v), nil
	}
}

// list is a list of rows as it stands behind VALUES: (1, 2), (3, 4).
type list struct {
	length int
	row    func(i int) []any
}

func rows[T any](of []T, row func(T) []any) list {
	return list{length: len(of), row: func(i int) []any { return row(of[i]) }}
}

func (l list) append(gen schema.QueryGen, engine engine, b []byte) ([]byte, error) {
	for i := range l.length {
		if i > 0 {
			b = append(b, ", "...)
		}
		for j, value := range l.row(i) {
			if j == 0 {
				b = append(b, '(')
			} else {
				b = append(b, ", "...)
			}
			var err error
			if b, err = appendValue(gen, engine, b, value); err != nil {
				return b, err
			}
		}
		b = append(b, ')')
	}
	return b, nil
}
