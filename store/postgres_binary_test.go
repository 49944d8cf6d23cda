package store_test

import (
	"encoding/binary"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"
	"pgregory.net/rapid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/store"
)

// TestBinaryValues checks the binary form of values against that of PostgreSQL's documentation and sources, and that a
// literal of another form has none.
func TestBinaryValues(t *testing.T) {
	t.Parallel()
	const (
		id     = "00112233-4455-6677-8899-aabbccddeeff"
		idForm = "\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff"
	)
	array := func(kind, hasNull byte, elements ...string) string {
		count := byte(len(elements))
		return "\x00\x00\x00\x01\x00\x00\x00" + string([]byte{hasNull}) + "\x00\x00" + string([]byte{kind / 100, kind}) +
			"\x00\x00\x00" + string([]byte{count}) + "\x00\x00\x00\x01" + strings.Join(elements, "")
	}
	long := func(last string) string { return "\x00\x00\x00\x08" + strings.Repeat("\x00", 8-len(last)) + last }
	const null = "\xff\xff\xff\xff"
	for _, test := range []struct{ kind, literal, want string }{
		{"uuid", id, idForm},
		{"bigint", "258", "\x00\x00\x00\x00\x00\x00\x01\x02"},
		{"bigint", "-2", "\xff\xff\xff\xff\xff\xff\xff\xfe"},
		{"bigint", "-9223372036854775808", "\x80\x00\x00\x00\x00\x00\x00\x00"},
		{"bytea", `\x`, ""},
		{"bytea", `\x00ff`, "\x00\xff"},
		{"bigint[]", "{7,NULL,8}", array(20, 1, long("\x07"), null, long("\x08"))},
		{"int[]", "{1,-1}", array(23, 0, "\x00\x00\x00\x04\x00\x00\x00\x01", "\x00\x00\x00\x04\xff\xff\xff\xff")},
		{"boolean[]", "{true,false}", array(16, 0, "\x00\x00\x00\x01\x01", "\x00\x00\x00\x01\x00")},
		{"bytea[]", `{"\\x","\\x0aff",NULL}`, array(17, 1, "\x00\x00\x00\x00", "\x00\x00\x00\x02\x0a\xff", null)},
		{"text[]", `{"a","NULL",""}`, array(25, 0, "\x00\x00\x00\x01a", "\x00\x00\x00\x04NULL", "\x00\x00\x00\x00")},
		{"text[]", `{"\"\\","d''Or,}"}`, array(25, 0, "\x00\x00\x00\x02\"\\", "\x00\x00\x00\x06d'Or,}")},
		{"bigint[]", "{}", "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x14"},
	} {
		value, ok := store.Binary(test.kind, test.literal)
		if !ok || value != test.want {
			t.Errorf("%s %s: %q, %v", test.kind, test.literal, value, ok)
		}
	}
	value, ok := store.Binary("uuid[]", "{"+id+"}")
	is.New(t).True(ok && strings.HasSuffix(value, "\x00\x00\x00\x10"+idForm))
	for _, test := range [][2]string{
		{"uuid", "00112233"},
		{"uuid", ""},
		{"bigint", "9223372036854775808"},
		{"bigint", "1.5"},
		{"bigint", "-"},
		{"bytea", "00"},
		{"bytea", `\x0`},
		{"text", "a"},
		{"boolean", "TRUE"},
		{"bigint[]", ""},
		{"bigint[]", "{"},
		{"bigint[]", "{1,}"},
		{"bigint[]", "{,1}"},
		{"bigint[]", "{1,{2}}"},
		{"bigint[]", `{"1}`},
		{"bigint[]", `{"1"2}`},
		{"int[]", "{2147483648}"},
		{"boolean[]", "{yes}"},
		{"text[]", "{a}"},
	} {
		if value, ok := store.Binary(test[0], test[1]); ok {
			t.Errorf("%s %s: %q", test[0], test[1], value)
		}
	}
}

// TestBinaryTexts checks that each text of an array is bound as it is.
func TestBinaryTexts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(anyTexts(), 1, 5).Draw(t, "texts")
		value, ok := store.BinaryTexts(texts)
		if !ok {
			t.Fatal("it has no binary form")
		}
		rest := value[20:]
		for _, text := range texts {
			size := binary.BigEndian.Uint32([]byte(rest))
			if found := rest[4 : 4+size]; found != text {
				t.Fatalf("%q instead of %q", found, text)
			}
			rest = rest[4+size:]
		}
		if rest != "" {
			t.Fatalf("%q is left", rest)
		}
	})
}

// TestGrantsAreJSON checks that a list of texts is read as what a decoder of JSON makes of it.
func TestGrantsAreJSON(t *testing.T) {
	t.Parallel()
	check := func(t *rapid.T, list string) {
		var want []driver.Grant
		wantErr := json.Unmarshal([]byte(list), &want)
		found, err := store.ScanGrants(list)
		if (err == nil) != (wantErr == nil) || wantErr == nil && !slices.Equal(found, want) {
			t.Fatalf("%s: %q, %v instead of %q, %v", list, found, err, want, wantErr)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		list, err := json.Marshal(rapid.SliceOfN(anyTexts(), 0, 3).Draw(t, "texts"))
		if err != nil {
			t.Fatal(err)
		}
		check(t, string(list))
		part := rapid.SampledFrom([]string{"[", "]", `"`, ",", " ", "a", `\`, "1", "\n", "\xff", "null"})
		check(t, "["+strings.Join(rapid.SliceOfN(part, 0, 7).Draw(t, "parts"), "")+"]")
	})
}
