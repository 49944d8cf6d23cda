package digest_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/matryer/is"
	"pgregory.net/rapid"

	"github.com/floatgate/ticketing/internal/digest"
)

// keyOf returns a master key of n bytes b.
func keyOf(b byte, n int) []byte {
	return bytes.Repeat([]byte{b}, n)
}

func ringOf(tb testing.TB, keys ...[]byte) *digest.Ring {
	tb.Helper()
	r, err := digest.New(keys)
	if err != nil {
		tb.Fatal(err)
	}
	return r
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
		Secret string `json:"secret"`
		Digest string `json:"digest"`
	}
	is.NoErr(json.Unmarshal(text, &vectors))
	is.True(len(vectors) > 0)
	for _, v := range vectors {
		key, err := hex.DecodeString(v.Key)
		is.NoErr(err)
		secret, err := hex.DecodeString(v.Secret)
		is.NoErr(err)
		r := ringOf(t, key)
		is.Equal(r.Names(), []string{v.Name})
		is.Equal(r.Sum(v.Domain, v.ID, secret), v.Digest)
		ok, current := r.Verify(v.Digest, v.Domain, v.ID, secret)
		is.True(ok && current)
	}
}

func TestNewRefusesUnfitKeysWithoutShowingThem(t *testing.T) {
	t.Parallel()
	secret := []byte("a very secret master key of a length of forty-six")
	for _, test := range []struct {
		name string
		keys [][]byte
		want string // "" if no error is expected
	}{
		{name: "no key", want: "none is given"},
		{name: "32 bytes", keys: [][]byte{secret[:32]}},
		{name: "31 bytes", keys: [][]byte{secret[:31]}, want: "key 1 has fewer than 32 bytes"},
		{name: "a short key behind", keys: [][]byte{secret, nil}, want: "key 2 has fewer than 32 bytes"},
		{name: "the same twice", keys: [][]byte{keyOf(1, 32), secret, secret}, want: "keys 2 and 3 are the same"},
		{name: "the same to HMAC", keys: [][]byte{secret, append(bytes.Clone(secret), 0)}, want: "keys 1 and 2 are the same"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			r, err := digest.New(test.keys)
			if test.want == "" {
				is.NoErr(err)
				return
			}
			is.True(r == nil)
			is.True(errors.Is(err, digest.ErrKeys))
			is.True(strings.Contains(err.Error(), test.want))
			is.True(!strings.Contains(err.Error(), "secret"))
		})
	}
}

// A digest consists of its version, the name of its key, and one code.
func TestDigestsHaveOneForm(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	r := ringOf(t, keyOf(1, 32), keyOf(2, 32))
	form := regexp.MustCompile(`^v1:([0-9a-f]{16}):[A-Za-z0-9_-]{43}$`)
	for _, d := range []string{r.Sum("domain", "id", []byte("secret")), r.Dummy()} {
		match := form.FindStringSubmatch(d)
		is.True(match != nil)
		is.Equal(match[1], r.Names()[0])
	}
}

// While a master key is being replaced, old digests remain valid as long as the old key is in the ring. Verify
// distinguishes them from new ones.
func TestRotationOfAMasterKey(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	secret := []byte("secret")
	before := ringOf(t, keyOf(1, 32))
	during := ringOf(t, keyOf(2, 40), keyOf(1, 32))
	after := ringOf(t, keyOf(2, 40))
	is.Equal(during.Names(), []string{after.Names()[0], before.Names()[0]})

	old := before.Sum("domain", "id", secret)
	renewed := during.Sum("domain", "id", secret)
	is.True(old != renewed)
	for _, test := range []struct {
		ring        *digest.Ring
		digest      string
		ok, current bool
	}{
		{ring: before, digest: old, ok: true, current: true},
		{ring: before, digest: renewed},
		{ring: during, digest: old, ok: true},
		{ring: during, digest: renewed, ok: true, current: true},
		{ring: after, digest: old},
		{ring: after, digest: renewed, ok: true, current: true},
	} {
		ok, current := test.ring.Verify(test.digest, "domain", "id", secret)
		is.Equal(ok, test.ok)
		is.Equal(current, test.current)
		ok, current = test.ring.Verify(test.digest, "domain", "id", []byte("another"))
		is.True(!ok && !current)
	}
}

// No other text is accepted as the digest, not even one that differs in a single character.
func TestEveryCharacterOfADigestCounts(t *testing.T) {
	t.Parallel()
	r := ringOf(t, keyOf(1, 32), keyOf(2, 32))
	secret := []byte("secret")
	good := r.Sum("domain", "id", secret)
	for i := range len(good) {
		for c := range 256 {
			bad := []byte(good)
			bad[i] = byte(c)
			requireRefused(t, r, string(bad), good, secret)
		}
		requireRefused(t, r, good[:i], good, secret)
		requireRefused(t, r, good[:i]+good[i+1:], good, secret)
		requireRefused(t, r, good[:i]+"\n"+good[i:], good, secret)
	}
	names := r.Names()
	for _, bad := range []string{
		good + "=", good + "\n", " " + good, good + good,
		"v1", "v1:", "v1:" + names[0], "v1:" + names[0] + ":", "v1::" + good[20:], "v2" + good[2:], "V1" + good[2:],
		strings.ReplaceAll(good, names[0], names[1]), strings.ReplaceAll(good, names[0], strings.ToUpper(names[0])),
		strings.ReplaceAll(good, names[0], "0000000000000000"), strings.Repeat("v1:", 1<<16), r.Dummy(),
	} {
		requireRefused(t, r, bad, good, secret)
	}
}

func requireRefused(t *testing.T, r *digest.Ring, bad, good string, secret []byte) {
	t.Helper()
	if ok, current := r.Verify(bad, "domain", "id", secret); bad != good && (ok || current) {
		t.Errorf("%q was taken for %q", bad, good)
	}
}

// A digest is valid for exactly one domain, id and secret, wherever one ends and the next begins.
func TestDigestsOfOtherInputsDiffer(t *testing.T) {
	t.Parallel()
	r := ringOf(t, keyOf(1, 32))
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.StringMatching(`[a\x00]{0,2}`)
		type input struct{ domain, id, secret string }
		a := input{part.Draw(t, "domain"), part.Draw(t, "id"), part.Draw(t, "secret")}
		b := input{part.Draw(t, "domain"), part.Draw(t, "id"), part.Draw(t, "secret")}
		d := r.Sum(a.domain, a.id, []byte(a.secret))
		if ok, current := r.Verify(d, b.domain, b.id, []byte(b.secret)); ok != (a == b) || current != ok {
			t.Fatalf("%q and %q: %t, %t", a, b, ok, current)
		}
	})
}

// The dummy is refused even if a decoder ignores the last two bits of its code.
func TestNoSecretHasTheDummy(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	r := ringOf(t, keyOf(1, 32), keyOf(2, 32))
	for _, secret := range []string{"", "secret", r.Dummy()} {
		ok, current := r.Verify(r.Dummy(), "", "", []byte(secret))
		is.True(!ok && !current)
	}
	// The last character of a code is one of the sixteen with two zero bits.
	last := regexp.MustCompile(`[AEIMQUYcgkosw048]$`)
	is.True(!last.MatchString(r.Dummy()))
	for i := range 200 {
		is.True(last.MatchString(r.Sum("domain", strconv.Itoa(i), nil)))
	}
}

// Changes of the caller's keys, or of the returned names, do not affect the ring.
func TestRingKeepsCopies(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	key := keyOf(1, 32)
	r := ringOf(t, key)
	want := r.Sum("domain", "id", nil)
	clear(key)
	r.Names()[0] = ""
	is.Equal(r.Sum("domain", "id", nil), want)
	is.Equal(r.Names(), ringOf(t, keyOf(1, 32)).Names())
}

// A ring that is printed to a log shows no key.
func TestPrintingARingShowsNoKey(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	r := ringOf(t, keyOf('K', 32), keyOf('L', 100))
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
		for _, value := range []any{r, *r, struct{ Ring digest.Ring }{*r}} {
			text := fmt.Sprintf(verb, value)
			for _, key := range []string{
				"KKK", "4b4b", "4B4B", "75 75", "0x4b, 0x4b", "LLL", "4c4c", "4C4C", "76 76", "0x4c, 0x4c",
			} {
				is.True(!strings.Contains(text, key))
			}
		}
	}
}

// An unknown id or key name must cost the same as a known one: both hash the same bytes under a key, so both allocate
// the same. Allocations are counted outside of parallel tests.
func TestRefusalsDoTheSameWork(t *testing.T) {
	is := is.New(t)
	r := ringOf(t, keyOf(1, 32), keyOf(2, 32))
	secret := []byte("secret")
	good := r.Sum("domain", "id", secret)
	work := func(d string) float64 {
		return testing.AllocsPerRun(100, func() { r.Verify(d, "domain", "id", secret) })
	}
	for _, d := range []string{r.Dummy(), strings.ReplaceAll(good, r.Names()[0], "0000000000000000"), "x" + good[1:]} {
		is.Equal(work(d), work(good))
	}
	is.True(work("") > 0)
}

func FuzzVerify(f *testing.F) {
	r := ringOf(f, keyOf(1, 32), keyOf(2, 32))
	secret := []byte("secret")
	good, old := r.Sum("domain", "id", secret), ringOf(f, keyOf(2, 32)).Sum("domain", "id", secret)
	f.Add(good)
	f.Add(old)
	f.Add(r.Dummy())
	f.Add("v1:")
	f.Fuzz(func(t *testing.T, d string) {
		ok, current := r.Verify(d, "domain", "id", secret)
		if ok != (d == good || d == old) || current != (d == good) {
			t.Fatalf("%q: %t, %t", d, ok, current)
		}
	})
}

func BenchmarkVerify(b *testing.B) {
	r := ringOf(b, keyOf(1, 32), keyOf(2, 32))
	secret := keyOf('s', 43)
	const id = "6f1d2c3b-4a59-4e68-8b77-0123456789ab"
	for _, bench := range []struct{ name, digest string }{
		{name: "current", digest: r.Sum("domain", id, secret)},
		{name: "old", digest: ringOf(b, keyOf(2, 32)).Sum("domain", id, secret)},
		{name: "dummy", digest: r.Dummy()},
		{name: "malformed", digest: "v1:"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r.Verify(bench.digest, "domain", id, secret)
			}
		})
	}
}

func BenchmarkSum(b *testing.B) {
	r := ringOf(b, keyOf(1, 32))
	secret := keyOf('s', 43)
	b.ReportAllocs()
	for b.Loop() {
		r.Sum("domain", "6f1d2c3b-4a59-4e68-8b77-0123456789ab", secret)
	}
}
