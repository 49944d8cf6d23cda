package ledger_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"
	"pgregory.net/rapid"

	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
)

var start = time.Date(2026, 11, 21, 9, 30, 0, 0, time.UTC)

// chainOf returns n entries of the company's FLOAT.
func chainOf(tb testing.TB, n int) []ledger.Entry {
	tb.Helper()
	head := ledger.Genesis(company, ledger.Float)
	entries := make([]ledger.Entry, 0, n)
	for i := range n {
		kind, amount := ledger.FloatCredit, money.Amount(1000_00)
		if i%2 == 1 {
			kind, amount = ledger.CheckoutDebit, -999_50
		}
		e, next, err := head.Append(kind, amount, fmt.Sprintf("reference-%d", i), start.Add(time.Duration(i)*time.Second))
		if err != nil {
			tb.Fatal(err)
		}
		entries, head = append(entries, e), next
	}
	return entries
}

func TestAppendHoldsTheLimitsOfAWallet(t *testing.T) {
	t.Parallel()
	// A wallet that holds 100.00 since the start.
	_, funded, err := ledger.Genesis(company, ledger.Float).Append(ledger.FloatCredit, 100_00, "r", start)
	is.New(t).NoErr(err)
	last := funded
	last.Sequence = math.MaxInt64
	almost := funded
	almost.Sequence = math.MaxInt64 - 1
	negative := funded
	negative.Balance = -1
	above := funded
	above.Balance = money.MaxBalance + 1
	uncounted := funded
	uncounted.Sequence = -1

	for _, test := range []struct {
		name   string
		head   ledger.Head
		amount money.Amount
		want   error
	}{
		{name: "all of it", head: funded, amount: -100_00},
		{name: "a kobo too much", head: funded, amount: -100_01, want: ledger.ErrInsufficient},
		{name: "the least number", head: funded, amount: math.MinInt64, want: ledger.ErrInsufficient},
		{name: "nothing", head: funded, amount: 0},
		{name: "nothing from nothing", head: ledger.Genesis(company, ledger.Earnings), amount: 0},
		{name: "to the maximum", head: funded, amount: money.MaxBalance - 100_00},
		{name: "past the maximum", head: funded, amount: money.MaxBalance - 99_99, want: ledger.ErrOverflow},
		{name: "the greatest number", head: funded, amount: math.MaxInt64, want: ledger.ErrOverflow},
		{name: "the last sequence", head: almost, amount: 1},
		{name: "past the last sequence", head: last, amount: 1, want: ledger.ErrOverflow},
		{name: "a negative head", head: negative, amount: 1, want: ledger.ErrMalformed},
		{name: "a head above the maximum", head: above, amount: -2, want: ledger.ErrMalformed},
		{name: "a negative sequence", head: uncounted, amount: 1, want: ledger.ErrMalformed},
		{name: "the zero head", head: ledger.Head{}, amount: 1, want: ledger.ErrMalformed},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			requireAppend(t, test.head, "KIND", test.amount, "r", start, test.want)
		})
	}
}

func TestAppendTakesOnlyNamesAndReferencesWithAForm(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name      string
		wallet    ledger.Wallet
		kind      ledger.Kind
		reference string
		ok        bool
	}{
		{name: "short", wallet: "W", kind: "K", reference: "r", ok: true},
		{name: "long", wallet: name32, kind: name32, reference: strings.Repeat("~", 128), ok: true},
		{name: "every visible character", wallet: "W", kind: "K", reference: "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", ok: true},
		{name: "no wallet", wallet: "", kind: "K", reference: "r"},
		{name: "long wallet", wallet: name32 + "X", kind: "K", reference: "r"},
		{name: "wallet in lower case", wallet: "Float", kind: "K", reference: "r"},
		{name: "no kind", wallet: "W", kind: "", reference: "r"},
		{name: "long kind", wallet: "W", kind: name32 + "X", reference: "r"},
		{name: "kind that begins with a digit", wallet: "W", kind: "1K", reference: "r"},
		{name: "kind that begins with an underscore", wallet: "W", kind: "_K", reference: "r"},
		{name: "kind with a line break", wallet: "W", kind: "K\n", reference: "r"},
		{name: "kind with a hyphen", wallet: "W", kind: "K-K", reference: "r"},
		{name: "no reference", wallet: "W", kind: "K", reference: ""},
		{name: "long reference", wallet: "W", kind: "K", reference: strings.Repeat("~", 129)},
		{name: "reference with a line feed", wallet: "W", kind: "K", reference: "a\nb"},
		{name: "reference with a carriage return", wallet: "W", kind: "K", reference: "a\r"},
		{name: "reference with a NUL", wallet: "W", kind: "K", reference: "\x00"},
		{name: "reference with a space", wallet: "W", kind: "K", reference: "a b"},
		{name: "reference with a DEL", wallet: "W", kind: "K", reference: "a\x7f"},
		{name: "reference beyond ASCII", wallet: "W", kind: "K", reference: "é"},
		{name: "reference that is no UTF-8", wallet: "W", kind: "K", reference: "\xff"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			want := ledger.ErrMalformed
			if test.ok {
				want = nil
			}
			requireAppend(t, ledger.Genesis(company, test.wallet), test.kind, 1, test.reference, start, want)
		})
	}
}

const name32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ_01239"

func TestAppendCutsTimesToUTCMilliseconds(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 10, 30, 0, 1_999_999, time.FixedZone("WAT", 3600))
	_, head, err := ledger.Genesis(company, ledger.Float).Append(ledger.FloatCredit, 1, "r", at)
	is.New(t).NoErr(err)
	cut := time.Date(2026, 11, 21, 9, 30, 0, 1_000_000, time.UTC)
	is.New(t).Equal(head.At, cut)

	for _, test := range []struct {
		name string
		at   time.Time
		want error
	}{
		{name: "the same moment", at: at},
		{name: "earlier in the same millisecond", at: cut},
		{name: "a nanosecond before the millisecond", at: cut.Add(-1), want: ledger.ErrTime},
		{name: "an hour before", at: cut.Add(-time.Hour), want: ledger.ErrTime},
		{name: "the last year", at: time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC)},
		{name: "a year of five digits", at: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), want: ledger.ErrMalformed},
		{name: "the year 0", at: time.Date(0, 12, 31, 23, 59, 59, 0, time.UTC), want: ledger.ErrMalformed},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			requireAppend(t, head, ledger.FloatCredit, 1, "r", test.at, test.want)
		})
	}
}

// requireAppend requires the error. Without one it requires that the entry
// follows the head, and that the head itself is unchanged.
func requireAppend(
	t *testing.T, h ledger.Head, kind ledger.Kind, amount money.Amount, reference string, at time.Time, want error,
) {
	t.Helper()
	is := is.New(t)
	before := h
	e, next, err := h.Append(kind, amount, reference, at)
	is.Equal(h, before)
	if want != nil {
		is.Equal(e, ledger.Entry{})
		is.Equal(next, ledger.Head{})
		if !errors.Is(err, want) {
			t.Fatalf("error is %v, not %v", err, want)
		}
		return
	}
	is.NoErr(err)
	is.Equal(e.Sequence, h.Sequence+1)
	is.Equal(e.Before, h.Balance)
	is.Equal(e.After, h.Balance+amount)
	is.Equal(e.Previous, h.Hash)
	is.Equal(e.Hash, e.Sum())
	is.True(e.At.Equal(at.Truncate(time.Millisecond)))
	is.Equal(e.At.Location(), time.UTC)
	is.Equal(next.Hash, e.Hash)
	is.Equal(next.Balance, e.After)
}

// Of any moves in any order, those that Append allows verify, and no balance
// leaves its limits.
func TestWhatAppendLetsThroughVerifies(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		wallets := []ledger.Wallet{ledger.Float, ledger.Earnings}
		heads := map[ledger.Wallet]ledger.Head{}
		for _, w := range wallets {
			heads[w] = ledger.Genesis(company, w)
		}
		verifier := ledger.NewVerifier()
		for range rapid.IntRange(0, 40).Draw(t, "moves") {
			w := rapid.SampledFrom(wallets).Draw(t, "wallet")
			h := heads[w]
			e, next, err := h.Append(
				ledger.Kind(rapid.StringMatching(`[A-Z][A-Z0-9_]{0,31}`).Draw(t, "kind")),
				money.Amount(rapid.Int64().Draw(t, "amount")),
				rapid.StringMatching(`[!-~]{1,128}`).Draw(t, "reference"),
				start.Add(time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "at"))),
			)
			if err != nil {
				continue
			}
			if next.Balance < 0 || next.Balance > money.MaxBalance {
				t.Fatalf("balance %d", next.Balance)
			}
			if problems := verifier.Add(e); problems != nil {
				t.Fatalf("%v", problems)
			}
			heads[w] = next
		}
		for _, h := range heads {
			if problems := verifier.Match(h); problems != nil {
				t.Fatalf("%v", problems)
			}
		}
	})
}
