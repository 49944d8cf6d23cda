package ledger_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/ledger"
)

func TestParseHashTakesOneSpelling(t *testing.T) {
	t.Parallel()
	digits := strings.Repeat("0123456789abcdef", 4)
	for _, test := range []struct {
		name, text string
		ok         bool
	}{
		{name: "digits", text: digits, ok: true},
		{name: "zero", text: strings.Repeat("0", 64), ok: true},
		{name: "empty", text: ""},
		{name: "short", text: digits[1:]},
		{name: "a byte short", text: digits[2:]},
		{name: "long", text: digits + "0"},
		{name: "a byte long", text: digits + "00"},
		{name: "upper case", text: strings.ToUpper(digits)},
		{name: "one letter in upper case", text: digits[:63] + "F"},
		{name: "another letter", text: digits[:63] + "g"},
		{name: "a line break", text: digits[:63] + "\n"},
		{name: "a prefix", text: "0x" + digits[2:]},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			h, err := ledger.ParseHash(test.text)
			if !test.ok {
				is.Equal(err, ledger.ErrHash)
				is.Equal(h, ledger.Hash{})
				return
			}
			is.NoErr(err)
			is.Equal(h.String(), test.text)
		})
	}
}

func TestAHashIsItsTextInJSON(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	h := chainOf(t, 1)[0].Hash
	text, err := json.Marshal(h)
	is.NoErr(err)
	is.Equal(string(text), `"`+h.String()+`"`)
	var back ledger.Hash
	is.NoErr(json.Unmarshal(text, &back))
	is.Equal(back, h)
	is.True(json.Unmarshal([]byte(`"00"`), &back) != nil)
	is.Equal(back, h) // a failure leaves it unchanged
}

func FuzzParseHash(f *testing.F) {
	f.Add(strings.Repeat("0123456789abcdef", 4))
	f.Add(strings.Repeat("0123456789ABCDEF", 4))
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		h, err := ledger.ParseHash(text)
		if err == nil && h.String() != text {
			t.Fatalf("%q is taken for %s", text, h)
		}
		if err != nil && h != (ledger.Hash{}) {
			t.Fatalf("%q is refused and gives %s", text, h)
		}
	})
}
