package store

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ledger"
)

// The types below scan columns into the fields of records: a pointer to a field is converted to a pointer to one of
// them. Writes go through appendValue instead.
type (
	// id is 16 bytes, NULL for the zero id where a column allows it.
	id uuid.UUID
	// moment is milliseconds since 1970, NULL for the zero time.
	moment time.Time
	// hash is 32 bytes, NULL for the zero hash.
	hash ledger.Hash
)

// Scan reads an id in the form of either dialect.
func (i *id) Scan(src any) error {
	switch text := src.(type) {
	case nil:
		*i = id{}
		return nil
	case []byte: // PostgreSQL's driver returns text; SQLite stores the 16 bytes.
		if len(text) == len("00000000-0000-0000-0000-000000000000") {
			found, err := uuid.ParseBytes(text)
			*i = id(found)
			return err
		}
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
		return fmt.Errorf("a time is stored as %T", src)
	}
	return nil
}

func (h *hash) Scan(src any) error {
	b, ok := src.([]byte)
	if src != nil && (!ok || len(b) != len(h)) {
		return errors.New("a hash is not stored as 32 bytes")
	}
	*h = hash{}
	copy(h[:], b)
	return nil
}

// missing is a text, and number a number, that is zero if its row is missing.
type (
	missing string
	number  int64
)

// Scan reads a text.
func (m *missing) Scan(src any) error {
	switch text := src.(type) {
	case nil:
		*m = ""
	case string:
		*m = missing(text)
	case []byte:
		*m = missing(text)
	default:
		return fmt.Errorf("a text is stored as %T", src)
	}
	return nil
}

// Scan reads a number.
func (n *number) Scan(src any) error {
	value, ok := src.(int64)
	if src != nil && !ok {
		return fmt.Errorf("a number is stored as %T", src)
	}
	*n = number(value)
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
		return fmt.Errorf("a list is stored as %T", src)
	}
	if plain, ok := plainTexts[T](b); ok {
		*t = plain
		return nil
	}
	*t = nil
	return json.Unmarshal(b, (*[]T)(t))
}

// plainTexts returns the texts of a JSON array as encode writes it, if none has an escape. Each sale reads the grants
// of its key, and a decoder takes as long for them as the rest of the key.
func plainTexts[T ~string](b []byte) (texts []T, ok bool) {
	rest, opened := strings.CutPrefix(string(b), "[")
	rest, closed := strings.CutSuffix(rest, "]")
	// A decoder refuses control characters, and replaces what is no UTF-8.
	if !opened || !closed || strings.ContainsFunc(rest, func(r rune) bool {
		return r == '\\' || r < ' ' || r == utf8.RuneError
	}) {
		return nil, false
	}
	if rest == "" {
		return nil, true
	}
	rest, opened = strings.CutPrefix(rest, `"`)
	rest, closed = strings.CutSuffix(rest, `"`)
	if !opened || !closed {
		return nil, false
	}
	texts = make([]T, 0, strings.Count(rest, `","`)+1)
	for text := range strings.SplitSeq(rest, `","`) {
		if strings.Contains(text, `"`) {
			return nil, false
		}
		texts = append(texts, T(text))
	}
	return texts, true
}

// types is the list of fact types that an endpoint subscribes to, joined by commas.
type types []driver.FactType

func (t types) encode() string {
	names := make([]string, len(t))
	for i, name := range t {
		names[i] = string(name)
	}
	return strings.Join(names, ",")
}

func (t *types) Scan(src any) error {
	var joined missing
	if err := joined.Scan(src); err != nil {
		return err
	}
	*t = nil
	for name := range strings.SplitSeq(string(joined), ",") {
		*t = append(*t, driver.FactType(name))
	}
	return nil
}

// attempts are the attempts of a delivery as a JSON array, the first one first:
//
//	[{"at":1760000000000,"status":503,"ms":12,"error":"…"}]
//
// The time and the duration are in milliseconds. Zero and unknown values are left out.
type attempts []driver.DeliveryAttempt

type keptAttempt struct {
	At     int64  `json:"at"`
	Status int    `json:"status,omitempty"`
	MS     int64  `json:"ms,omitempty"`
	Error  string `json:"error,omitempty"`
}

// encode returns the JSON. If a text cannot be kept exactly, it returns that text instead, and appendValue refuses it.
func (a attempts) encode() string {
	if len(a) == 0 {
		return "[]"
	}
	kept := make([]keptAttempt, len(a))
	for i, attempt := range a {
		if !keepable(attempt.Error) {
			return attempt.Error
		}
		kept[i] = keptAttempt{attempt.At.UnixMilli(), attempt.Status, attempt.DurationMS, attempt.Error}
	}
	b, err := json.Marshal(kept)
	if err != nil {
		panic(err) // Numbers and texts always marshal.
	}
	return string(b)
}

func (a *attempts) Scan(src any) error {
	var text missing
	if err := text.Scan(src); err != nil {
		return err
	}
	*a = nil
	if text == "[]" {
		return nil
	}
	var kept []keptAttempt
	if err := json.Unmarshal([]byte(text), &kept); err != nil {
		return err
	}
	for _, attempt := range kept {
		*a = append(*a, driver.DeliveryAttempt{
			At:     driver.Time{Time: time.UnixMilli(attempt.At).UTC()},
			Status: attempt.Status, DurationMS: attempt.MS, Error: attempt.Error,
		})
	}
	return nil
}

// mailAttempts are the attempts of a notification as a JSON array, the first one first:
//
//	[{"at":1760000000000,"code":"550 5.1.1","error":"…"}]
//
// The time is in milliseconds. An empty code or error is left out.
type mailAttempts []driver.NotificationAttempt

type keptMailAttempt struct {
	At    int64  `json:"at"`
	Code  string `json:"code,omitempty"`
	Error string `json:"error,omitempty"`
}

// encode returns the JSON, or a text that cannot be kept exactly, as attempts do.
func (a mailAttempts) encode() string {
	if len(a) == 0 {
		return "[]"
	}
	kept := make([]keptMailAttempt, len(a))
	for i, attempt := range a {
		for _, text := range []string{attempt.Code, attempt.Error} {
			if !keepable(text) {
				return text
			}
		}
		kept[i] = keptMailAttempt{attempt.At.UnixMilli(), attempt.Code, attempt.Error}
	}
	b, err := json.Marshal(kept)
	if err != nil {
		panic(err) // Numbers and texts always marshal.
	}
	return string(b)
}

func (a *mailAttempts) Scan(src any) error {
	var text missing
	if err := text.Scan(src); err != nil {
		return err
	}
	*a = nil
	if text == "[]" {
		return nil
	}
	var kept []keptMailAttempt
	if err := json.Unmarshal([]byte(text), &kept); err != nil {
		return err
	}
	for _, attempt := range kept {
		*a = append(*a, driver.NotificationAttempt{
			At: driver.Time{Time: time.UnixMilli(attempt.At).UTC()}, Code: attempt.Code, Error: attempt.Error,
		})
	}
	return nil
}

// optional is an id that is written as NULL if it is zero.
type optional uuid.UUID

var errText = errors.New("ticketing/store: a text holds a NUL byte or is not UTF-8")
