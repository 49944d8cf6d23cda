package cursor_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"
	"pgregory.net/rapid"

	"github.com/floatgate/ticketing/internal/cursor"
)

// The vectors in testdata were generated independently of this package. They pin the format.
func TestGoldenVectors(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	text, err := os.ReadFile("testdata/vectors.json")
	is.NoErr(err)
	var vectors []struct {
		Parts    []string `json:"parts"`
		Scope    string   `json:"scope"`
		Position string   `json:"position"`
		Cursor   string   `json:"cursor"`
	}
	is.NoErr(json.Unmarshal(text, &vectors))
	is.True(len(vectors) > 0)
	for _, v := range vectors {
		scope := cursor.Scope(v.Parts...)
		is.Equal(hex.EncodeToString(scope[:]), v.Scope)
		position, err := hex.DecodeString(v.Position)
		is.NoErr(err)
		is.Equal(cursor.Encode(scope, position), v.Cursor)
		got, err := cursor.Decode(v.Cursor, scope, len(position))
		is.NoErr(err)
		is.Equal(got, position)
	}
}

// Changing, inserting or removing any character yields either an invalid cursor or the cursor of another position.
func TestEveryOtherCharacterCounts(t *testing.T) {
	t.Parallel()
	scope := cursor.Scope("orders", "company")
	// 17, 18 and 19 bytes: with and without unused bits in the last character.
	for _, position := range [][]byte{{}, {7}, {7, 8}, {1, 2, 3, 4, 5, 6, 7, 8}} {
		good := cursor.Encode(scope, position)
		for i := range len(good) {
			for c := range 256 {
				bad := []byte(good)
				bad[i] = byte(c)
				requireOther(t, string(bad), good, scope, position)
			}
			requireOther(t, good[:i]+good[i+1:], good, scope, position)
			for _, c := range "A_=\n\r .+/" {
				requireOther(t, good[:i]+string(c)+good[i:], good, scope, position)
			}
		}
		for _, tail := range []string{"A", "AA", "AAA", "AAAA", "=", "==", "\n", "\r\n", " ", "\x00"} {
			requireOther(t, good+tail, good, scope, position)
			requireOther(t, tail+good, good, scope, position)
		}
	}
}

// requireOther requires that s is refused, or that it is the canonical cursor of another position.
func requireOther(t *testing.T, s, good string, scope [16]byte, position []byte) {
	t.Helper()
	if s == good {
		return
	}
	got, err := cursor.Decode(s, scope, len(position))
	switch {
	case err == nil && (slices.Equal(got, position) || cursor.Encode(scope, got) != s):
		t.Errorf("%q was taken for %x", s, got)
	case err != nil && (err != cursor.ErrInvalid || got != nil): //nolint:errorlint // It is never wrapped.
		t.Errorf("%q is refused with %v and %x", s, err, got)
	}
}

func TestDecodeTakesOnlyItsScopeVersionAndSize(t *testing.T) {
	t.Parallel()
	scope := cursor.Scope("orders", "company")
	good := cursor.Encode(scope, []byte("position"))
	raw, err := base64.RawURLEncoding.DecodeString(good)
	is.New(t).NoErr(err)
	otherVersion := slices.Clone(raw)
	otherVersion[0]++
	tooLong := append(slices.Clone(raw[:17]), make([]byte, cursor.MaxPosition+1)...)
	longest := cursor.Encode(scope, make([]byte, cursor.MaxPosition))

	for _, test := range []struct {
		name   string
		cursor string
		scope  [16]byte
		size   int
		ok     bool
	}{
		{name: "itself", cursor: good, scope: scope, size: 8, ok: true},
		{name: "longest", cursor: longest, scope: scope, size: cursor.MaxPosition, ok: true},
		{name: "empty", cursor: "", scope: scope, size: 8},
		{name: "another scope", cursor: good, scope: cursor.Scope("events", "company"), size: 8},
		{name: "the zero scope", cursor: good, size: 8},
		{name: "a smaller size", cursor: good, scope: scope, size: 7},
		{name: "a larger size", cursor: good, scope: scope, size: 9},
		{name: "a negative size", cursor: "", scope: scope, size: -17},
		{
			name: "a byte past the longest", cursor: base64.RawURLEncoding.EncodeToString(tooLong), scope: scope,
			size: cursor.MaxPosition + 1,
		},
		{name: "another version", cursor: base64.RawURLEncoding.EncodeToString(otherVersion), scope: scope, size: 8},
		{name: "padded", cursor: base64.URLEncoding.EncodeToString(raw), scope: scope, size: 8},
		{name: "very long", cursor: strings.Repeat("A", 1<<20), scope: scope, size: 8},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			position, err := cursor.Decode(test.cursor, test.scope, test.size)
			if !test.ok {
				is.Equal(err, cursor.ErrInvalid)
				is.Equal(position, nil)
				return
			}
			is.NoErr(err)
			is.Equal(len(position), test.size)
		})
	}
}

func TestCursorsHaveAtMost512CharactersOfTheAlphabet(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	is.Equal(cursor.MaxLength, 512)
	is.Equal(len(cursor.Encode(cursor.Scope(), make([]byte, cursor.MaxPosition))), cursor.MaxLength)
	every := regexp.MustCompile(`^[A-Za-z0-9_-]+$`)
	for i := range 256 {
		is.True(every.MatchString(cursor.Encode(cursor.Scope("x"), []byte{byte(i), byte(i), byte(i), byte(i)})))
	}
	defer func() { is.True(recover() != nil) }()
	cursor.Encode(cursor.Scope(), make([]byte, cursor.MaxPosition+1))
}

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		scope := cursor.Scope(rapid.SliceOf(rapid.String()).Draw(t, "parts")...)
		position := rapid.SliceOfN(rapid.Byte(), 0, cursor.MaxPosition).Draw(t, "position")
		got, err := cursor.Decode(cursor.Encode(scope, position), scope, len(position))
		if err != nil || !slices.Equal(got, position) {
			t.Fatalf("%x became %x, %v", position, got, err)
		}
	})
}

// Scopes differ if a part is empty, or if parts differ only in where one ends and the next begins.
func TestScopesOfOtherPartsDiffer(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.StringMatching(`[a\x00]{0,2}`), 0, 4)
		a, b := parts.Draw(t, "a"), parts.Draw(t, "b")
		if slices.Equal(a, b) != (cursor.Scope(a...) == cursor.Scope(b...)) {
			t.Fatalf("%q and %q", a, b)
		}
	})
}

func FuzzDecode(f *testing.F) {
	scope := cursor.Scope("orders", "company")
	f.Add(cursor.Encode(scope, []byte("position")), 8)
	f.Add(cursor.Encode(scope, nil), 0)
	f.Add(strings.Repeat("AQ-_", 128), cursor.MaxPosition)
	f.Add("", -17)
	f.Fuzz(func(t *testing.T, s string, size int) {
		position, err := cursor.Decode(s, scope, size)
		if err != nil {
			return
		}
		if len(position) != size || cursor.Encode(scope, position) != s || len(s) > cursor.MaxLength {
			t.Fatalf("%q is taken for %x", s, position)
		}
	})
}
