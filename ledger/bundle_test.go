package ledger_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/race"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
)

type bundleVector struct {
	Name      string    `json:"name"`
	Secret    string    `json:"secret"`
	CompanyID uuid.UUID `json:"companyId"`
	PublicKey string    `json:"publicKey"`
	Bundle    string    `json:"bundle"`
}

// bundleVectors were not made by this package: they fix the format. The third is the second one a day earlier.
func bundleVectors(tb testing.TB) []bundleVector {
	tb.Helper()
	text, err := os.ReadFile("testdata/bundles.json")
	is.New(tb).NoErr(err)
	var vectors []bundleVector
	is.New(tb).NoErr(json.Unmarshal(text, &vectors))
	is.New(tb).Equal(len(vectors), 3)
	return vectors
}

func (v bundleVector) signing(tb testing.TB) ed25519.PrivateKey {
	tb.Helper()
	secret, err := hex.DecodeString(v.Secret)
	is.New(tb).NoErr(err)
	return ledger.SigningKey(secret)
}

func (v bundleVector) key(tb testing.TB) ed25519.PublicKey {
	tb.Helper()
	key, err := ledger.ParsePublicKey(v.PublicKey)
	is.New(tb).NoErr(err)
	return key
}

// cut splits a bundle into its body and its signed heads.
func cut(text string) (body, heads string) {
	const first = "ticketing-ledger-heads/v1\n"
	body, heads, _ = strings.Cut(text, first)
	return body, first + heads
}

// check verifies a text as a bundle.
func check(tb testing.TB, c ledger.BundleCheck, text string) ledger.BundleReport {
	tb.Helper()
	report, err := c.Verify(strings.NewReader(text))
	is.New(tb).NoErr(err)
	return report
}

// moves returns the wallets and entries of a bundle, parsed from its lines.
func moves(tb testing.TB, text string) (heads []ledger.Head, entries [][]ledger.Entry) {
	tb.Helper()
	is := is.New(tb)
	lines := strings.Split(text, "\n")
	company := uuid.MustParse(lines[1])
	for _, line := range lines[2:] {
		fields := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "ticketing-ledger-heads"):
			return heads, entries
		case len(fields) == 1:
			heads = append(heads, ledger.Genesis(company, ledger.Wallet(line)))
			entries = append(entries, nil)
		default:
			var amount int64
			_, err := fmt.Sscan(fields[2], &amount)
			is.NoErr(err)
			at, err := time.Parse(time.RFC3339Nano, fields[6])
			is.NoErr(err)
			i := len(heads) - 1
			e, next, err := heads[i].Append(ledger.Kind(fields[1]), money.Amount(amount), fields[5], at)
			is.NoErr(err)
			heads[i], entries[i] = next, append(entries[i], e)
		}
	}
	return heads, entries
}

func write(tb testing.TB, key ed25519.PrivateKey, company uuid.UUID, heads []ledger.Head, entries [][]ledger.Entry) (
	string, ledger.SignedHeads,
) {
	tb.Helper()
	is := is.New(tb)
	var out bytes.Buffer
	bundle := ledger.NewBundleWriter(&out, company)
	for i, head := range heads {
		is.NoErr(bundle.Begin(head.Wallet))
		for _, e := range entries[i] {
			is.NoErr(bundle.Add(e))
		}
	}
	signed, err := bundle.Sign(key)
	is.NoErr(err)
	return out.String(), signed
}

func TestBundlesOfTheGoldenVectors(t *testing.T) {
	t.Parallel()
	for _, v := range bundleVectors(t) {
		t.Run(v.Name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			signing := v.signing(t)
			is.Equal(ledger.FormatPublicKey(signing.Public().(ed25519.PublicKey)), v.PublicKey)
			heads, entries := moves(t, v.Bundle)
			text, signed := write(t, signing, v.CompanyID, heads, entries)
			is.Equal(text, v.Bundle)
			is.Equal(signed.Heads, heads)
			is.True(strings.HasSuffix(v.Bundle, string(signed.Bytes())))
			is.True(signed.SignedBy(v.key(t)))

			report := check(t, ledger.BundleCheck{Keys: []ed25519.PublicKey{v.key(t)}}, v.Bundle)
			is.Equal(report.Problems, []string{})
			is.True(report.OK())
			is.Equal(report.Wallets, 2)
			is.Equal(report.Entries, signed.Entries)
			is.Equal(*report.Signed, signed)
		})
	}
}

// The documentation of the format shows the lines of the vectors.
func TestTheFormatsPageShowsTheVectors(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/ledger-format.md")
	is.New(t).NoErr(err)
	lines := strings.Split(bundleVectors(t)[1].Bundle, "\n")
	for _, line := range []int{0, 1, 2, 3, 4, 7, 8} {
		text := lines[line]
		if at := strings.LastIndexByte(text, ' '); at > 0 {
			text = text[:at+9]
		}
		if !strings.Contains(string(page), "    "+text) {
			t.Errorf("docs/ledger-format.md lacks %q", text)
		}
	}
}

// Every bit of every byte counts.
func TestEveryFlipOfABundleIsFound(t *testing.T) {
	t.Parallel()
	race.Leave(t, "files that one goroutine reads")
	v := bundleVectors(t)[1]
	c := ledger.BundleCheck{Keys: []ed25519.PublicKey{v.key(t)}}
	spoilt := []byte(v.Bundle)
	for i := range spoilt {
		for bit := range 8 {
			spoilt[i] ^= 1 << bit
			if check(t, c, string(spoilt)).OK() {
				t.Errorf("nothing is wrong with bit %d of byte %d flipped", bit, i)
			}
			spoilt[i] ^= 1 << bit
		}
	}
}

func TestEveryOtherChangeOfABundleIsFound(t *testing.T) {
	t.Parallel()
	race.Leave(t, "files that one goroutine reads")
	v := bundleVectors(t)[1]
	c := ledger.BundleCheck{Keys: []ed25519.PublicKey{v.key(t)}}
	lines := strings.SplitAfter(strings.TrimSuffix(v.Bundle, "\n"), "\n")
	lines[len(lines)-1] += "\n"
	found := func(what, text string) {
		t.Helper()
		if check(t, c, text).OK() {
			t.Errorf("nothing is wrong with %s", what)
		}
	}
	for i := range len(v.Bundle) {
		found(fmt.Sprintf("all from byte %d on cut off", i), v.Bundle[:i])
		found(fmt.Sprintf("byte %d removed", i), v.Bundle[:i]+v.Bundle[i+1:])
		for _, inserted := range []string{" ", "\n", "0", "A", "\r", "\x00", v.Bundle[i : i+1]} {
			found(fmt.Sprintf("%q inserted before byte %d", inserted, i), v.Bundle[:i]+inserted+v.Bundle[i:])
		}
	}
	for i, line := range lines {
		before, after := strings.Join(lines[:i], ""), strings.Join(lines[i+1:], "")
		found(fmt.Sprintf("line %d removed", i+1), before+after)
		found(fmt.Sprintf("line %d twice", i+1), before+line+line+after)
		if i > 0 {
			swapped := strings.Join(lines[:i-1], "") + line + lines[i-1] + after
			found(fmt.Sprintf("lines %d and %d swapped", i, i+1), swapped)
		}
		found(fmt.Sprintf("line %d appended", i+1), v.Bundle+line)
	}
	found("itself appended", v.Bundle+v.Bundle)
	found("a line feed appended", v.Bundle+"\n")
	found("CRLF", strings.ReplaceAll(v.Bundle, "\n", "\r\n"))
	body, _ := cut(v.Bundle)
	_, tail := cut(bundleVectors(t)[2].Bundle)
	found("the heads of another bundle", body+tail)
}

// A forger without the key can make everything consistent except the signature.
func TestAForgedBundleIsFound(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	v := bundleVectors(t)[1]
	heads, entries := moves(t, v.Bundle)
	forged, _ := write(t, ledger.SigningKey([]byte("another secret")), v.CompanyID, heads, entries)
	report := check(t, ledger.BundleCheck{Keys: []ed25519.PublicKey{v.key(t)}}, forged)
	is.Equal(report.Problems, []string{
		"the signature does not match the public key: somebody else made or changed the file",
	})
	is.True(!check(t, ledger.BundleCheck{}, v.Bundle).OK()) // Without a key nothing is proven.
	other := ledger.SigningKey([]byte("another secret")).Public().(ed25519.PublicKey)
	is.True(check(t, ledger.BundleCheck{Keys: []ed25519.PublicKey{v.key(t), other}}, forged).OK())
	is.True(!check(t, ledger.BundleCheck{Keys: []ed25519.PublicKey{nil, v.key(t)[:31]}}, v.Bundle).OK())
}

func TestABundleContinuesAnOlderOne(t *testing.T) {
	t.Parallel()
	vectors := bundleVectors(t)
	now, before, nothing := vectors[1], vectors[2], vectors[0]
	keys := []ed25519.PublicKey{now.key(t)}
	signing := now.signing(t)
	_, tail := cut(before.Bundle)

	heads, entries := moves(t, now.Bundle)
	rewritten := [][]ledger.Entry{nil, entries[1]}
	head := ledger.Genesis(now.CompanyID, ledger.Float)
	for i, e := range entries[0] {
		reference := e.Reference
		if i == 1 {
			reference = "3c9f2b7e-1d4a-4c8b-9f00-aa11bb22cc34"
		}
		moved, next, err := head.Append(e.Kind, e.Amount, reference, e.At)
		is.New(t).NoErr(err)
		rewritten[0], head = append(rewritten[0], moved), next
	}
	another, _ := write(t, signing, now.CompanyID, heads, rewritten)
	short, _ := write(t, signing, now.CompanyID, heads, [][]ledger.Entry{entries[0][:2], entries[1]})
	lost, _ := write(t, signing, now.CompanyID, heads[1:], entries[1:])
	foreign, _ := write(t, signing, uuid.New(), nil, nil)

	for _, test := range []struct {
		name, older, newer string
		want               []string
	}{
		{name: "a day later", older: before.Bundle, newer: now.Bundle},
		{name: "a day later, by its heads", older: tail, newer: now.Bundle},
		{name: "itself", older: now.Bundle, newer: now.Bundle},
		{name: "when nothing had moved", older: nothing.Bundle, newer: now.Bundle},
		{
			name: "the older one", older: now.Bundle, newer: before.Bundle,
			want: []string{
				"wallet FLOAT: it had 4 entries before, now some of them are missing",
				"wallet EARNINGS: it had 5 entries before, now some of them are missing",
			},
		},
		{
			name: "rewritten", older: tail, newer: another,
			want: []string{"wallet FLOAT: entry 3 is not the one that stood there before: the history was rewritten"},
		},
		{
			name: "cut short", older: tail, newer: short,
			want: []string{"wallet FLOAT: it had 3 entries before, now some of them are missing"},
		},
		{
			name: "a wallet lost", older: tail, newer: lost,
			want: []string{"wallet FLOAT: the older file has it, this one does not"},
		},
		{
			name: "another company", older: tail, newer: foreign,
			want: []string{
				"the older file is of another company", "wallet FLOAT: the older file has it, this one does not",
				"wallet EARNINGS: the older file has it, this one does not",
			},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			older := check(t, ledger.BundleCheck{Keys: keys, HeadsAlone: true}, test.older)
			is.Equal(older.Problems, []string{})
			report := check(t, ledger.BundleCheck{Keys: keys, Against: older.Signed}, test.newer)
			is.Equal(report.Problems, append([]string{}, test.want...))
		})
	}
	is.New(t).Equal(check(t, ledger.BundleCheck{Keys: keys}, tail).Problems,
		[]string{"line 1: these are the signed heads of a bundle, without its entries"})
}

// A bundle alone cannot prove that it is the only history: the owner of the key can sign another one. Only an older
// head that was kept elsewhere shows it.
func TestTheKeySignsAnyHistory(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	v := bundleVectors(t)[1]
	head := ledger.Genesis(v.CompanyID, ledger.Float)
	e, head, err := head.Append(ledger.FloatCredit, 1, "PSK-2026-000001", time.Unix(0, 0))
	is.NoErr(err)
	text, _ := write(t, v.signing(t), v.CompanyID, []ledger.Head{head}, [][]ledger.Entry{{e}})
	c := ledger.BundleCheck{Keys: []ed25519.PublicKey{v.key(t)}}
	is.True(check(t, c, text).OK())
	c.Against = check(t, c, v.Bundle).Signed
	is.True(!check(t, c, text).OK())
}

func TestABundleIsWrittenOfWholeChainsOnly(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	chain := chainOf(t, 3)
	begin := func() *ledger.BundleWriter {
		bundle := ledger.NewBundleWriter(new(bytes.Buffer), company)
		is.NoErr(bundle.Begin(chain[0].Wallet))
		return bundle
	}
	is.True(errors.Is(begin().Add(chain[1]), ledger.ErrChain))
	changed := chain[0]
	changed.Amount++
	is.True(errors.Is(begin().Add(changed), ledger.ErrChain))
	foreign := chain[0]
	foreign.CompanyID = uuid.New()
	is.True(errors.Is(begin().Add(foreign), ledger.ErrMalformed))
	bundle := begin()
	is.True(errors.Is(bundle.Begin(chain[0].Wallet), ledger.ErrMalformed))
	is.NoErr(bundle.Begin("SAVINGS"))
	is.True(errors.Is(bundle.Add(chain[0]), ledger.ErrMalformed))
	is.True(errors.Is(bundle.Begin("savings"), ledger.ErrMalformed))
	is.True(errors.Is(ledger.NewBundleWriter(new(bytes.Buffer), company).Add(chain[0]), ledger.ErrMalformed))
}

func TestAFailingDiskFailsTheBundle(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	full := errors.New("no space left")
	for _, room := range []int{0, 1, 60, 300} {
		bundle := ledger.NewBundleWriter(&disk{room: room, err: full}, company)
		_ = bundle.Begin(ledger.Float)
		_, err := bundle.Sign(ledger.SigningKey([]byte("secret")))
		is.True(errors.Is(err, full))
	}
	_, err := ledger.BundleCheck{}.Verify(iotest.ErrReader(full))
	is.True(errors.Is(err, full))
	v := bundleVectors(t)[1]
	c := ledger.BundleCheck{Keys: []ed25519.PublicKey{v.key(t)}}
	report, err := c.Verify(iotest.OneByteReader(strings.NewReader(v.Bundle)))
	is.NoErr(err)
	is.True(report.OK())
}

type disk struct {
	room int
	err  error
}

func (d *disk) Write(b []byte) (int, error) {
	n := min(d.room, len(b))
	d.room -= n
	if n < len(b) {
		return n, d.err
	}
	return n, nil
}

// A file with an endless line takes no more memory than one line.
func TestAnEndlessLineIsRefused(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	endless := &repeated{text: "0"}
	report, err := ledger.BundleCheck{}.Verify(endless)
	is.NoErr(err)
	is.Equal(report.Problems, []string{"line 1: is longer than any line of a bundle"})
	is.True(endless.read <= 1<<18)
	long := bundleVectors(t)[1].Bundle[:64] + "FLOAT\n1 FLOAT_CREDIT 1 0 1 " + strings.Repeat("R", 600) + "\n"
	is.Equal(check(t, ledger.BundleCheck{}, long).Problems, []string{"line 4: is longer than any line of a bundle"})
}

type repeated struct {
	text string
	read int
}

func (r *repeated) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = r.text[(r.read+i)%len(r.text)]
	}
	r.read += len(b)
	return len(b), nil
}

func TestReportShowsAHundredProblems(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	var text strings.Builder
	text.WriteString(bundleVectors(t)[1].Bundle[:64] + "FLOAT\n")
	for range 200 {
		text.WriteString("1 A 1 0 1 R 2026-11-21T09:30:00.000Z " + strings.Repeat("0", 64) + "\n")
	}
	report := check(t, ledger.BundleCheck{}, text.String())
	is.Equal(len(report.Problems), 101)
	is.Equal(report.Entries, int64(200))
}

func TestPublicKeysHaveOneSpelling(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	v := bundleVectors(t)[0]
	is.Equal(ledger.FormatPublicKey(v.key(t)), v.PublicKey)
	for _, text := range []string{
		"", v.PublicKey[1:], v.PublicKey + "0", strings.ToUpper(v.PublicKey), " " + v.PublicKey[1:],
	} {
		_, err := ledger.ParsePublicKey(text)
		is.Equal(err, ledger.ErrPublicKey)
	}
}

// The verification of any file ends in a report, and only a file that a writer wrote has no problem.
func FuzzBundle(f *testing.F) {
	var keys []ed25519.PublicKey
	var against *ledger.SignedHeads
	known := map[string]bool{}
	for _, v := range bundleVectors(f) {
		keys = append(keys, v.key(f))
		known[v.Bundle] = true
		f.Add(v.Bundle)
		_, tail := cut(v.Bundle)
		f.Add(tail)
		report := check(f, ledger.BundleCheck{Keys: keys}, v.Bundle)
		against = report.Signed
	}
	f.Add("")
	f.Add("ticketing-ledger-bundle/v1\n")
	f.Fuzz(func(t *testing.T, text string) {
		report, err := ledger.BundleCheck{Keys: keys}.Verify(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if report.OK() && !known[text] {
			t.Fatalf("taken for signed: %q", text)
		}
		older, err := ledger.BundleCheck{Keys: keys, HeadsAlone: true, Against: against}.Verify(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if older.Signed != nil && len(older.Problems) == 0 && !bytes.HasSuffix([]byte(text), older.Signed.Bytes()) {
			t.Fatalf("heads that are not those of the text: %q", text)
		}
	})
}

// A signed number of entries that is wrong is a problem, even with a valid signature.
func TestASignedCountThatIsWrongIsFound(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	v := bundleVectors(t)[1]
	before, after, found := strings.Cut(v.Bundle, "\nentries ")
	is.True(found)
	count, after, _ := strings.Cut(after, "\n")
	body, _ := cut(v.Bundle)
	unsigned, _, found := strings.Cut(before+"\nentries 1"+count+"\n"+after, "signature ")
	is.True(found)
	signature := ed25519.Sign(v.signing(t), []byte(strings.TrimPrefix(unsigned, body)))
	report := check(t, ledger.BundleCheck{Keys: []ed25519.PublicKey{v.key(t)}},
		unsigned+"signature "+hex.EncodeToString(signature)+"\n")
	is.Equal(report.Problems, []string{fmt.Sprintf("1%s entries were signed, the file holds %s", count, count)})
}

// BenchmarkBundle measures the verification of a bundle.
func BenchmarkBundle(b *testing.B) {
	const count = 100_000
	key := ledger.SigningKey([]byte("secret"))
	var out bytes.Buffer
	bundle := ledger.NewBundleWriter(&out, company)
	is.New(b).NoErr(bundle.Begin(ledger.Float))
	head := ledger.Genesis(company, ledger.Float)
	at := time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)
	for range count {
		e, next, err := head.Append(ledger.FloatCredit, 1, "0b0d6f2e-57d4-4f0c-9c3e-5a1f2b3c4d5e", at)
		is.New(b).NoErr(err)
		is.New(b).NoErr(bundle.Add(e))
		head = next
	}
	_, err := bundle.Sign(key)
	is.New(b).NoErr(err)
	c := ledger.BundleCheck{Keys: []ed25519.PublicKey{key.Public().(ed25519.PublicKey)}}
	b.SetBytes(int64(out.Len()))
	b.ReportAllocs()
	for b.Loop() {
		report, err := c.Verify(bytes.NewReader(out.Bytes()))
		if err != nil || !report.OK() {
			b.Fatal(err, report.Problems)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/count, "ns/entry")
}
