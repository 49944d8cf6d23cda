package seal_test

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/matryer/is"
	"pgregory.net/rapid"

	"github.com/floatgate/ticketing/internal/seal"
)

const (
	nameA = "00000000000000aa"
	nameB = "00000000000000bb"
)

func keyOf(name string, b byte) seal.Key {
	return seal.Key{Name: name, Secret: bytes.Repeat([]byte{b}, seal.MinKey)}
}

func ringOf(tb testing.TB, keys ...seal.Key) *seal.Ring {
	tb.Helper()
	r, err := seal.New(keys)
	if err != nil {
		tb.Fatal(err)
	}
	return r
}

func sealed(tb testing.TB, r *seal.Ring, domain, id, value string) string {
	tb.Helper()
	text, err := r.Seal(rand.Reader, domain, id, []byte(value))
	if err != nil {
		tb.Fatal(err)
	}
	return text
}

// The vectors in testdata were generated independently of this package. They pin the format.
func TestGoldenVectors(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	text, err := os.ReadFile("testdata/vectors.json")
	is.NoErr(err)
	var vectors []struct {
		Key    string `json:"key"`
		Name   string `json:"name"`
		Domain string `json:"domain"`
		ID     string `json:"id"`
		Nonce  string `json:"nonce"`
		Value  string `json:"value"`
		Sealed string `json:"sealed"`
	}
	is.NoErr(json.Unmarshal(text, &vectors))
	is.True(len(vectors) > 0)
	bytesOf := func(text string) []byte {
		b, err := hex.DecodeString(text)
		is.NoErr(err)
		return b
	}
	for _, v := range vectors {
		r := ringOf(t, seal.Key{Name: v.Name, Secret: bytesOf(v.Key)})
		made, err := r.Seal(bytes.NewReader(bytesOf(v.Nonce)), v.Domain, v.ID, bytesOf(v.Value))
		is.NoErr(err)
		is.Equal(made, v.Sealed)
		value, current, err := r.Open(v.Sealed, v.Domain, v.ID)
		is.NoErr(err)
		is.True(current)
		is.Equal(hex.EncodeToString(value), v.Value)
	}
}

func TestNewRefusesUnfitKeysWithoutShowingThem(t *testing.T) {
	t.Parallel()
	secret := []byte("a very secret master key of a length of forty-six")
	for _, test := range []struct {
		name string
		keys []seal.Key
		want string // "" if no error is expected
	}{
		{name: "no key", want: "none is given"},
		{name: "32 bytes", keys: []seal.Key{{Name: nameA, Secret: secret[:32]}}},
		{name: "31 bytes", keys: []seal.Key{{Name: nameA, Secret: secret[:31]}}, want: "key 1 has fewer than 32 bytes"},
		{name: "a short key behind", keys: []seal.Key{{nameA, secret}, {nameB, nil}}, want: "key 2 has fewer than 32 bytes"},
		{name: "no name", keys: []seal.Key{{Secret: secret}}, want: "key 1 has no name"},
		{name: "upper case", keys: []seal.Key{{"00000000000000AA", secret}}, want: "key 1 has no name"},
		{name: "one name twice", keys: []seal.Key{{nameA, secret}, keyOf(nameA, 1)}, want: "two keys are named " + nameA},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			r, err := seal.New(test.keys)
			if test.want == "" {
				is.NoErr(err)
				return
			}
			is.True(r == nil)
			is.True(errors.Is(err, seal.ErrKeys))
			is.True(strings.Contains(err.Error(), test.want))
			is.True(!strings.Contains(err.Error(), "secret"))
		})
	}
}

// A sealed value consists of its version, the name of its key, and a box. It reveals nothing of the value, and differs
// each time.
func TestSealedValuesHaveOneFormAndShowNothing(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	r := ringOf(t, keyOf(nameA, 1), keyOf(nameB, 2))
	one, two := sealed(t, r, "domain", "id", "0123456789"), sealed(t, r, "domain", "id", "0123456789")
	is.True(one != two)
	form := regexp.MustCompile(`^s1:` + nameA + `:[A-Za-z0-9_-]{51}$`) // 12 + 10 + 16 bytes
	for _, text := range []string{one, two} {
		is.True(form.MatchString(text))
		is.True(!strings.Contains(text, "6789"))
	}
}

// While a master key is being replaced, values sealed under the old key open as long as it is in the ring. Open
// distinguishes them from new ones.
func TestRotationOfAMasterKey(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	before, after := keyOf(nameA, 1), keyOf(nameB, 2)
	old := sealed(t, ringOf(t, before), "domain", "id", "value")
	both := ringOf(t, after, before)
	value, current, err := both.Open(old, "domain", "id")
	is.NoErr(err)
	is.Equal(string(value), "value")
	is.True(!current)
	resealed := sealed(t, both, "domain", "id", "value")
	value, current, err = ringOf(t, after).Open(resealed, "domain", "id")
	is.NoErr(err)
	is.Equal(string(value), "value")
	is.True(current)
	_, _, err = ringOf(t, after).Open(old, "domain", "id")
	is.True(errors.Is(err, seal.ErrUnknownKey))
	// Another key under the name of the old one opens nothing.
	_, _, err = ringOf(t, keyOf(nameA, 9)).Open(old, "domain", "id")
	is.True(errors.Is(err, seal.ErrSealed))
}

func TestEveryCharacterOfASealedValueCounts(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	r := ringOf(t, keyOf(nameA, 1))
	good := sealed(t, r, "domain", "id", "0123456789")
	refused := func(bad string) {
		t.Helper()
		value, current, err := r.Open(bad, "domain", "id")
		is.True(errors.Is(err, seal.ErrSealed) || errors.Is(err, seal.ErrUnknownKey))
		is.True(value == nil && !current)
		is.True(len(bad) < 24 || !strings.Contains(err.Error(), bad[20:]))
	}
	for i := range good {
		for _, c := range []byte("Aa0_:\n") {
			if good[i] != c {
				refused(good[:i] + string(c) + good[i+1:])
			}
		}
		refused(good[:i])
		refused(good[:i] + "\n" + good[i:])
	}
	refused(good + "A")
	refused(good + "=")
	refused(" " + good)
}

// A value that is moved to another record, or used as one of another kind, does not open.
func TestAValueOpensForItsOwnRecordOnly(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	r := ringOf(t, keyOf(nameA, 1))
	text := sealed(t, r, "bank", "account", "value")
	for _, of := range [][2]string{
		{"bank", "accoun"}, {"bankaccount", ""}, {"", "bankaccount"}, {"banka", "ccount"}, {"Bank", "account"},
	} {
		_, _, err := r.Open(text, of[0], of[1])
		is.True(errors.Is(err, seal.ErrSealed))
	}
}

func TestSealFailsWithoutRandomness(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	text, err := ringOf(t, keyOf(nameA, 1)).Seal(strings.NewReader("short"), "domain", "id", []byte("0123456789"))
	is.True(err != nil)
	is.Equal(text, "")
	is.True(!strings.Contains(err.Error(), "6789"))
}

func TestPrintingARingShowsNoKey(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	key := seal.Key{Name: nameA, Secret: []byte("a very secret master key of a length of forty-six")}
	r := ringOf(t, key)
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%x"} {
		for _, value := range []any{r, *r} {
			printed := fmt.Sprintf(format, value)
			is.True(!strings.Contains(printed, "secret"))
			is.True(!strings.Contains(printed, hex.EncodeToString([]byte("secret"))))
		}
	}
}

// Every sealed value opens to the original.
func TestOpenIsTheInverseOfSeal(t *testing.T) {
	t.Parallel()
	r := ringOf(t, keyOf(nameA, 1))
	rapid.Check(t, func(rt *rapid.T) {
		domain, id := rapid.String().Draw(rt, "domain"), rapid.String().Draw(rt, "id")
		value := rapid.SliceOf(rapid.Byte()).Draw(rt, "value")
		text, err := r.Seal(rand.Reader, domain, id, value)
		if err != nil {
			rt.Fatal(err)
		}
		opened, current, err := r.Open(text, domain, id)
		if err != nil || !current || !bytes.Equal(opened, value) {
			rt.Fatalf("%x opened as %x: %v %v", value, opened, current, err)
		}
	})
}

// No text opens but one that was sealed, and none causes a panic.
func FuzzOpen(f *testing.F) {
	r := ringOf(f, keyOf(nameA, 1), keyOf(nameB, 2))
	// A constant, since every process of a fuzzing run must use the same one.
	const good = "s1:" + nameA + ":PuLICXA2L9aKqEp-TFasyg8vkl5pmNJVZ0Eo2dMraOz6PbmNc-w"
	if value, _, err := r.Open(good, "domain", "id"); err != nil || string(value) != "0123456789" {
		f.Fatalf("opened as %q: %v", value, err)
	}
	for _, text := range []string{"", "s1:", "s1:" + nameA + ":", good, good[:20], strings.ToUpper(good)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		value, _, err := r.Open(text, "domain", "id")
		if err == nil && text != good {
			t.Errorf("%q opened as %q", text, value)
		}
	})
}
