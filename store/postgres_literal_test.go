package store_test

import (
	"database/sql"
	"encoding/hex"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"
	"pgregory.net/rapid"

	"github.com/floatgate/ticketing/internal/testdb"
)

// anyTexts generates texts that could break a literal, mixed with any others.
func anyTexts() *rapid.Generator[string] {
	awkward := []string{
		"", "NULL", "null", `"NULL"`, "'", "''", `\`, `\\`, `\'`, `"`, `{}`, `{"a","b"}`, ",", ";", "?", "$1", "--", "/*",
		"\n", "\r\n", "\t", "\b", "\x01", "\x7f", " ", "  a  ", "é", "e\u0301", "日本", "👩🏾‍🎤", "\u202e", "\ufeff",
		"E'\\n'", `\x41`, "::text",
	}
	return rapid.OneOf(
		rapid.SampledFrom(awkward),
		rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom(awkward), 1, 4).Draw(t, "parts"), "")
		}),
		rapid.String().Filter(func(text string) bool { return !strings.ContainsRune(text, 0) }),
	)
}

// TestLiterals checks that PostgreSQL returns every value as it was written, by itself and as an element of an array,
// with NULL for none.
func TestLiterals(t *testing.T) {
	t.Parallel()
	s := testdb.Open(t, testdb.DSN(t), nil)
	rapid.Check(t, func(t *rapid.T) {
		const most = 6
		number := rapid.IntRange(1, most).Draw(t, "rows")
		equal := rapid.Bool().Draw(t, "equal rows")
		rows, want := make([][]any, number), make([][]sql.NullString, number)
		for i := range rows {
			if i > 0 && equal {
				rows[i], want[i] = rows[0], want[0]
				continue
			}
			add := func(value any, text string, present bool) {
				rows[i] = append(rows[i], value)
				want[i] = append(want[i], sql.NullString{String: text, Valid: present})
			}
			text := anyTexts().Draw(t, "text")
			add(text, text, true)
			bytes := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "bytes")
			if rapid.Bool().Draw(t, "no bytes") {
				add([]byte(nil), "", false)
			} else {
				add(bytes, `\x`+hex.EncodeToString(bytes), true)
			}
			id := uuid.UUID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "id"))
			if i > 0 && rapid.Bool().Draw(t, "the id of the row before") {
				id = rows[i-1][len(rows[i])].(uuid.UUID)
			}
			add(id, id.String(), true)
			amount := rapid.Int64().Draw(t, "number")
			add(amount, strconv.FormatInt(amount, 10), true)
			count := rapid.Int().Draw(t, "count")
			add(count, strconv.Itoa(count), true)
			at := time.UnixMilli(rapid.Int64Range(-1<<45, 1<<45).Draw(t, "time"))
			add(at, strconv.FormatInt(at.UnixMilli(), 10), true)
			add(time.Time{}, "", false)
			flag := rapid.Bool().Draw(t, "flag")
			add(flag, strconv.FormatBool(flag), true)
		}
		scalars, arrays, err := s.SelectLiterals(t.Context(), rows, rapid.Bool().Draw(t, "prepared"))
		if err != nil {
			t.Fatal(err)
		}
		is := is.New(t)
		is.Equal(scalars, want)
		if equal && number > 1 {
			// Equal rows keep their number, or are written once.
			want = want[:len(arrays)]
		}
		is.Equal(arrays, want)
	})
}

// TestUnkeepableText checks that a text that PostgreSQL would refuse, truncate or change is refused before it is sent,
// by itself and in an array.
func TestUnkeepableText(t *testing.T) {
	t.Parallel()
	s := testdb.Open(t, testdb.DSN(t), nil)
	for _, text := range []string{"\x00", "a\x00b", "\xff", "caf\xe9", "\xed\xa0\x80", "\xc0\x80"} {
		for _, rows := range [][][]any{{{text}}, {{text}, {"other"}}, {{"other"}, {text}}, {{text}, {text}}} {
			_, _, err := s.SelectLiterals(t.Context(), rows, true)
			is.New(t).True(err != nil)
		}
	}
}

// FuzzLiteral reads one text back from PostgreSQL, next to another one.
func FuzzLiteral(f *testing.F) {
	s := testdb.Open(f, testdb.DSN(f), nil)
	for _, text := range []string{"", "NULL", `{"a",NULL}`, `it's "\'`, "日本", "a\x00b", "\xff", `\x00`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		scalars, arrays, err := s.SelectLiterals(t.Context(), [][]any{{text}, {"other"}, {text}}, true)
		keepable := !strings.ContainsRune(text, 0) && strings.ToValidUTF8(text, "") == text
		is := is.New(t)
		is.Equal(err == nil, keepable)
		if !keepable {
			return
		}
		kept := sql.NullString{String: text, Valid: true}
		other := sql.NullString{String: "other", Valid: true}
		want := [][]sql.NullString{{kept}, {other}, {kept}}
		is.Equal(scalars, want)
		if text == "other" {
			want = want[:len(arrays)]
		}
		is.Equal(arrays, want)
	})
}
