package ledger_test

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"
	"pgregory.net/rapid"

	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
)

// problems returns the problems that a verifier finds with the entries, then
// with the head if there is one.
func problems(entries []ledger.Entry, head *ledger.Head) []string {
	v := ledger.NewVerifier()
	var lines []string
	for _, e := range entries {
		for _, p := range v.Add(e) {
			lines = append(lines, p.String())
		}
	}
	if head != nil {
		for _, p := range v.Match(*head) {
			lines = append(lines, p.String())
		}
	}
	if v.Entries() != int64(len(entries)) || v.Problems() != int64(len(lines)) {
		panic("the verifier miscounts")
	}
	return lines
}

func headOf(e ledger.Entry) *ledger.Head {
	return &ledger.Head{
		CompanyID: e.CompanyID, Wallet: e.Wallet, Sequence: e.Sequence, Balance: e.After, Hash: e.Hash, At: e.At,
	}
}

// resealed returns the entry with the hash of its present bytes, like a forger
// who knows the format.
func resealed(e ledger.Entry) ledger.Entry {
	e.Hash = e.Sum()
	return e
}

// Every way to change one entry in the middle of a chain is found, and reported
// at that entry, or at the next if the hash was made to match.
func TestVerifierBlamesOnlyWhatIsWrong(t *testing.T) {
	t.Parallel()
	const prefix = "company 6f1d2c3b-4a59-4e68-8b77-0123456789ab wallet FLOAT sequence "
	for _, test := range []struct {
		name   string
		change func([]ledger.Entry) []ledger.Entry
		// want are the beginnings of the lines.
		want []string
	}{
		{
			name:   "nothing",
			change: func(c []ledger.Entry) []ledger.Entry { return c },
		},
		{
			name: "amount",
			change: func(c []ledger.Entry) []ledger.Entry {
				c[2].Amount++
				return c
			},
			want: []string{"3: balance after is 1000.50, not 0.50 plus 1000.01", "3: hash is "},
		},
		{
			name: "amount, sealed again",
			change: func(c []ledger.Entry) []ledger.Entry {
				c[2].Amount++
				c[2] = resealed(c[2])
				return c
			},
			want: []string{"3: balance after is ", "4: previous hash is "},
		},
		{
			name: "before",
			change: func(c []ledger.Entry) []ledger.Entry {
				c[2].Before++
				return c
			},
			want: []string{"3: balance after is ", "3: hash is ", "3: balance before is 0.51, the entry before left 0.50"},
		},
		{
			name: "after",
			change: func(c []ledger.Entry) []ledger.Entry {
				c[2].After++
				return c
			},
			want: []string{"3: balance after is ", "3: hash is "},
		},
		{
			name: "a movement that never was",
			change: func(c []ledger.Entry) []ledger.Entry {
				c[2].Amount++
				c[2].After++
				c[2] = resealed(c[2])
				return c
			},
			want: []string{"4: previous hash is ", "4: balance before is "},
		},
		{
			name: "negative balances",
			change: func(c []ledger.Entry) []ledger.Entry {
				c[2].Before, c[2].Amount, c[2].After = -3, 1, -2
				return c
			},
			want: []string{
				"3: balance before is negative: -0.03", "3: balance after is negative: -0.02", "3: hash is ",
				"3: balance before is -0.03, ",
				"4: balance before is ",
			},
		},
		{
			name: "a sum that wraps around",
			change: func(c []ledger.Entry) []ledger.Entry {
				c[2].Amount = math.MaxInt64
				c[2].After = c[2].Before + c[2].Amount
				c[2] = resealed(c[2])
				return c
			},
			want: []string{"3: balance after is negative", "4: previous hash is ", "4: balance before is "},
		},
		{
			name: "above the maximum",
			change: func(c []ledger.Entry) []ledger.Entry {
				c[2].Amount = money.MaxBalance
				c[2].After = c[2].Before + c[2].Amount
				c[2] = resealed(c[2])
				return c
			},
			want: []string{"3: balance after is above the maximum", "4: previous hash is ", "4: balance before is "},
		},
		{
			name: "sequence",
			change: func(c []ledger.Entry) []ledger.Entry {
				c[2].Sequence = 500
				return c
			},
			want: []string{"500: hash is ", "500: sequence 3 was expected"},
		},
		{
			name: "sequence, and previous hash of the next",
			change: func(c []ledger.Entry) []ledger.Entry {
				c[2].Sequence = 500
				c[3].Previous[0] ^= 1
				return c
			},
			want: []string{"500: hash is ", "500: sequence 3 was expected", "4: hash is ", "4: previous hash is "},
		},
		{
			name: "kind",
			change: func(c []ledger.Entry) []ledger.Entry {
				c[2].Kind = "OTHER"
				return c
			},
			want: []string{"3: hash is "},
		},
		{
			name: "malformed kind",
			change: func(c []ledger.Entry) []ledger.Entry {
				c[2].Kind = "other"
				return c
			},
			want: []string{"3: kind is not a name", "3: hash is "},
		},
		{
			name: "reference",
			change: func(c []ledger.Entry) []ledger.Entry {
				c[2].Reference += "0"
				return c
			},
			want: []string{"3: hash is "},
		},
		{
			name: "malformed reference, sealed again",
			change: func(c []ledger.Entry) []ledger.Entry {
				c[2].Reference = "a\n"
				c[2] = resealed(c[2])
				return c
			},
			want: []string{"3: reference is not ", "4: previous hash is "},
		},
		{
			name: "a later time",
			change: func(c []ledger.Entry) []ledger.Entry {
				c[2].At = c[2].At.Add(time.Hour)
				return c
			},
			want: []string{"3: hash is "},
		},
		{
			name: "a finer time",
			change: func(c []ledger.Entry) []ledger.Entry {
				c[2].At = c[2].At.Add(1)
				return c
			},
			want: []string{"3: time is finer than a millisecond"},
		},
		{
			name: "an earlier time",
			change: func(c []ledger.Entry) []ledger.Entry {
				c[2].At = start
				return c
			},
			want: []string{"3: hash is ", "3: time 2026-11-21T09:30:00Z runs back behind 2026-11-21T09:30:01Z"},
		},
		{
			name: "previous hash",
			change: func(c []ledger.Entry) []ledger.Entry {
				c[2].Previous[31] ^= 1
				return c
			},
			want: []string{"3: hash is ", "3: previous hash is "},
		},
		{
			name: "hash",
			change: func(c []ledger.Entry) []ledger.Entry {
				c[2].Hash[0] ^= 1
				return c
			},
			want: []string{"3: hash is "},
		},
		{
			name:   "the first is missing",
			change: func(c []ledger.Entry) []ledger.Entry { return c[1:] },
			want:   []string{"2: sequence 1 was expected"},
		},
		{
			name:   "one is missing",
			change: func(c []ledger.Entry) []ledger.Entry { return slices.Delete(c, 2, 3) },
			want:   []string{"4: sequence 3 was expected"},
		},
		{
			name:   "three are missing",
			change: func(c []ledger.Entry) []ledger.Entry { return slices.Delete(c, 1, 4) },
			want:   []string{"5: sequence 2 was expected"},
		},
		{
			name:   "one twice",
			change: func(c []ledger.Entry) []ledger.Entry { return slices.Insert(c, 3, c[2]) },
			want:   []string{"3: sequence 4 was expected"},
		},
		{
			name: "two swapped",
			change: func(c []ledger.Entry) []ledger.Entry {
				c[2], c[3] = c[3], c[2]
				return c
			},
			want: []string{"4: sequence 3 was expected", "5: sequence 4 was expected"},
		},
		{
			name: "one of another chain before the real one",
			change: func(c []ledger.Entry) []ledger.Entry {
				forged := c[2]
				forged.Previous = ledger.Hash{}
				return slices.Insert(c, 2, resealed(forged))
			},
			want: []string{"3: previous hash is "},
		},
		{
			name: "the last is missing",
			change: func(c []ledger.Entry) []ledger.Entry {
				return c[:len(c)-1]
			},
			want: []string{
				"6: head has balance 1.50, the last entry left 1001.00", "6: head has sequence 6, the last entry has 5",
			},
		},
		{
			name:   "all are missing",
			change: func([]ledger.Entry) []ledger.Entry { return nil },
			want: []string{
				"6: head has balance 1.50, the last entry left 0.00", "6: head has sequence 6, the last entry has 0",
			},
		},
		{
			name: "the last one's hash",
			change: func(c []ledger.Entry) []ledger.Entry {
				c[5].Hash[0] ^= 1
				return c
			},
			want: []string{"6: hash is "},
		},
		{
			name: "the last one's sequence",
			change: func(c []ledger.Entry) []ledger.Entry {
				c[5].Sequence = 500
				return c
			},
			want: []string{"500: hash is ", "500: sequence 6 was expected"},
		},
		{
			name: "the last one's balance",
			change: func(c []ledger.Entry) []ledger.Entry {
				c[5].After++
				return c
			},
			want: []string{"6: balance after is ", "6: hash is "},
		},
		{
			name: "the last one's time",
			change: func(c []ledger.Entry) []ledger.Entry {
				c[5].At = c[5].At.Add(time.Hour)
				return c
			},
			want: []string{"6: hash is "},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			chain := chainOf(t, 6)
			head := headOf(chain[5])
			lines := problems(test.change(chain), head)
			ok := len(lines) == len(test.want)
			for i := range min(len(lines), len(test.want)) {
				ok = ok && strings.HasPrefix(lines[i], prefix+test.want[i])
			}
			if !ok {
				t.Fatalf("found\n%s\nnot\n%s", strings.Join(lines, "\n"), strings.Join(test.want, "\n"))
			}
		})
	}
}

// A wallet whose head was changed does not match its entries.
func TestMatchFindsEveryChangeOfAHead(t *testing.T) {
	t.Parallel()
	chain := chainOf(t, 3)
	for _, test := range []struct {
		name   string
		change func(*ledger.Head)
	}{
		{name: "company", change: func(h *ledger.Head) { h.CompanyID[0] ^= 1 }},
		{name: "wallet", change: func(h *ledger.Head) { h.Wallet = ledger.Earnings }},
		{name: "sequence", change: func(h *ledger.Head) { h.Sequence-- }},
		{name: "balance", change: func(h *ledger.Head) { h.Balance-- }},
		{name: "hash", change: func(h *ledger.Head) { h.Hash[0] ^= 1 }},
		{name: "time", change: func(h *ledger.Head) { h.At = h.At.Add(time.Millisecond) }},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			h := headOf(chain[2])
			is.Equal(len(problems(chain, h)), 0)
			test.change(h)
			is.True(len(problems(chain, h)) > 0)
		})
	}
	is := is.New(t)
	is.Equal(reflect.TypeFor[ledger.Head]().NumField(), 6) // each has its case above
	genesis := ledger.Genesis(company, ledger.Earnings)
	is.Equal(len(problems(chain, &genesis)), 0) // a wallet that never moved matches
	genesis.At = start
	is.Equal(len(problems(chain, &genesis)), 0) // whatever its time is
	genesis.Balance = 1
	is.Equal(len(problems(chain, &genesis)), 1)
}

// Every bit of every field of an entry counts, and every byte of its text.
func TestVerifierFindsEveryMangledBit(t *testing.T) {
	t.Parallel()
	fields := map[string]func(e *ledger.Entry, bit int) bool{
		"CompanyID": func(e *ledger.Entry, bit int) bool { return flip(e.CompanyID[:], bit) },
		"Wallet":    func(e *ledger.Entry, bit int) bool { return flipString(&e.Wallet, bit) },
		"Sequence":  func(e *ledger.Entry, bit int) bool { return flipInt(&e.Sequence, bit) },
		"Kind":      func(e *ledger.Entry, bit int) bool { return flipString(&e.Kind, bit) },
		"Amount":    func(e *ledger.Entry, bit int) bool { return flipInt(&e.Amount, bit) },
		"Before":    func(e *ledger.Entry, bit int) bool { return flipInt(&e.Before, bit) },
		"After":     func(e *ledger.Entry, bit int) bool { return flipInt(&e.After, bit) },
		"Reference": func(e *ledger.Entry, bit int) bool { return flipString(&e.Reference, bit) },
		"At": func(e *ledger.Entry, bit int) bool {
			nanos := e.At.UnixNano()
			ok := flipInt(&nanos, bit)
			e.At = time.Unix(0, nanos).UTC()
			return ok
		},
		"Previous": func(e *ledger.Entry, bit int) bool { return flip(e.Previous[:], bit) },
		"Hash":     func(e *ledger.Entry, bit int) bool { return flip(e.Hash[:], bit) },
	}
	chain := chainOf(t, 4)
	for _, field := range reflect.VisibleFields(reflect.TypeFor[ledger.Entry]()) {
		name := field.Name
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mangle := fields[name]
			if mangle == nil {
				t.Fatal("the field is not mangled by this test")
			}
			bit := 0
			for ; ; bit++ {
				mangled := slices.Clone(chain)
				if !mangle(&mangled[1], bit) {
					break
				}
				if len(problems(mangled, headOf(chain[3]))) == 0 {
					t.Errorf("bit %d was changed unseen", bit)
				}
				// The change is in the text, unless the entry is now malformed.
				if name != "Hash" && mangled[1].Sum() == chain[1].Sum() &&
					mangled[1].At.Equal(mangled[1].At.Truncate(time.Millisecond)) {
					t.Errorf("bit %d does not count in the hash", bit)
				}
			}
			is.New(t).True(bit >= 8)
		})
	}
}

func flip(b []byte, bit int) bool {
	if bit/8 >= len(b) {
		return false
	}
	b[bit/8] ^= 1 << (bit % 8)
	return true
}

func flipString[S ~string](s *S, bit int) bool {
	b := []byte(*s)
	ok := flip(b, bit)
	*s = S(b)
	return ok
}

func flipInt[I ~int64](n *I, bit int) bool {
	if bit >= 64 {
		return false
	}
	*n ^= 1 << bit
	return true
}

// Any number of entries that were swapped, removed, repeated or changed are
// found, and an unchanged chain has no problem.
func TestVerifierFindsAnyTampering(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		head := ledger.Genesis(company, ledger.Float)
		var chain []ledger.Entry
		for range rapid.IntRange(1, 12).Draw(t, "entries") {
			e, next, err := head.Append("MOVE", money.Amount(rapid.Int64Range(0, 3).Draw(t, "amount")), "r",
				start.Add(time.Duration(len(chain))*time.Millisecond))
			if err != nil {
				t.Fatal(err)
			}
			chain, head = append(chain, e), next
		}
		tampered := slices.Clone(chain)
		for range rapid.IntRange(0, 3).Draw(t, "changes") {
			if len(tampered) == 0 {
				break
			}
			i := rapid.IntRange(0, len(tampered)-1).Draw(t, "i")
			j := rapid.IntRange(0, len(tampered)-1).Draw(t, "j")
			switch rapid.SampledFrom([]string{"swap", "remove", "repeat", "change", "reseal"}).Draw(t, "change") {
			case "swap":
				tampered[i], tampered[j] = tampered[j], tampered[i]
			case "remove":
				tampered = slices.Delete(tampered, i, i+1)
			case "repeat":
				tampered = slices.Insert(tampered, i, tampered[j])
			case "change":
				tampered[i].Amount += money.Amount(rapid.Int64Range(-2, 2).Draw(t, "by"))
			case "reseal":
				tampered[i].After += money.Amount(rapid.Int64Range(-2, 2).Draw(t, "by"))
				tampered[i].Amount = tampered[i].After - tampered[i].Before
				tampered[i] = resealed(tampered[i])
			}
		}
		found := problems(tampered, &head)
		if slices.Equal(tampered, chain) != (len(found) == 0) {
			t.Fatalf("problems: %q", found)
		}
	})
}

// Chains of different wallets and companies may come mixed; each is verified
// by itself.
func TestVerifierKeepsWalletsApart(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	other := uuid.MustParse("00000000-0000-4000-8000-000000000000")
	heads := []ledger.Head{
		ledger.Genesis(other, ledger.Float),
		ledger.Genesis(company, ledger.Earnings),
		ledger.Genesis(company, ledger.Float),
	}
	v := ledger.NewVerifier()
	for i := range 30 {
		h := &heads[i%3]
		e, next, err := h.Append("MOVE", money.Amount(i), "r", start)
		is.NoErr(err)
		is.Equal(v.Add(e), nil)
		*h = next
	}
	is.Equal(v.Wallets(), 3)
	is.Equal(v.Entries(), int64(30))
	is.Equal(v.Problems(), int64(0))
	is.Equal(v.Heads(), heads) // by company and wallet
	h, ok := v.Head(company, ledger.Float)
	is.True(ok)
	is.Equal(h, heads[2])
	_, ok = v.Head(other, ledger.Earnings)
	is.True(!ok)
}

// A problem is one line, whatever the database held.
func TestProblemsQuoteNothingHarmful(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	e := chainOf(t, 1)[0]
	e.Wallet = ledger.Wallet("F\x1b[2J\n" + strings.Repeat("x", 1000))
	e.Kind, e.Reference = "\n", "\n"
	for _, line := range problems([]ledger.Entry{e}, nil) {
		is.True(!strings.ContainsAny(line, "\n\x1b"))
		is.True(len(line) < 500)
	}
}

func BenchmarkVerifierAdd(b *testing.B) {
	chain := chainOf(b, 1000)
	b.ReportAllocs()
	for b.Loop() {
		v := ledger.NewVerifier()
		for _, e := range chain {
			if v.Add(e) != nil {
				b.Fatal("a sound chain has a problem")
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/entry")
}
