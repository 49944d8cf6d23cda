package money_test

import (
	"errors"
	"math"
	"math/big"
	"regexp"
	"strings"
	"testing"

	"github.com/matryer/is"
	"pgregory.net/rapid"

	"github.com/floatgate/ticketing/money"
)

// inputGrammar is the grammar of a money input, as the contract's decisions
// write it.
var inputGrammar = regexp.MustCompile(`^(?:(0|[1-9][0-9]{0,11})(\.[0-9]{1,2})?)\z`)

// numberLike draws texts near the grammar of a decimal, so that many of them
// lie just outside of it.
func numberLike() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringMatching(`[0-9]{0,14}(\.[0-9]{0,14})?`),
		rapid.StringMatching(`[-+ 0-9.,eExX_\n]{0,18}`),
		rapid.String(),
	)
}

// amountWithin draws amounts of both signs up to MaxBalance.
func amountWithin() *rapid.Generator[money.Amount] {
	return rapid.Custom(func(t *rapid.T) money.Amount {
		return money.Amount(rapid.Int64Range(int64(-money.MaxBalance), int64(money.MaxBalance)).Draw(t, "kobo"))
	})
}

func TestParseAcceptsOnlyTheGrammar(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		input  string
		want   money.Amount
		refuse bool
	}{
		{name: "zero", input: "0", want: 0},
		{name: "zero with one decimal", input: "0.0", want: 0},
		{name: "zero with two decimals", input: "0.00", want: 0},
		{name: "one kobo", input: "0.01", want: 1},
		{name: "one decimal counts tens of kobo", input: "0.1", want: 10},
		{name: "whole", input: "10", want: 1000},
		{name: "whole with decimals", input: "10.00", want: 1000},
		{name: "all digits", input: "1234567890.98", want: 123456789098},
		{name: "twelve digits", input: "999999999999", want: 99_999_999_999_900},
		{name: "largest", input: "999999999999.99", want: money.MaxInput},
		{name: "one naira over the largest", input: "1000000000000", refuse: true},
		{name: "one kobo over the largest", input: "1000000000000.00", refuse: true},
		{name: "far over the largest", input: strings.Repeat("9", 10_000), refuse: true},
		{name: "three decimals", input: "0.010", refuse: true},
		{name: "long fraction", input: "0." + strings.Repeat("0", 10_000), refuse: true},
		{name: "empty", input: "", refuse: true},
		{name: "point alone", input: ".", refuse: true},
		{name: "no digit before the point", input: ".50", refuse: true},
		{name: "no digit after the point", input: "1.", refuse: true},
		{name: "two points", input: "1.0.0", refuse: true},
		{name: "two points in a row", input: "1..0", refuse: true},
		{name: "leading zero", input: "01", refuse: true},
		{name: "leading zeros", input: "00", refuse: true},
		{name: "minus", input: "-1", refuse: true},
		{name: "minus zero", input: "-0", refuse: true},
		{name: "plus", input: "+1", refuse: true},
		{name: "sign after the point", input: "1.-1", refuse: true},
		{name: "exponent", input: "1e2", refuse: true},
		{name: "exponent after the point", input: "1.e", refuse: true},
		{name: "hexadecimal", input: "0x10", refuse: true},
		{name: "thousands separator", input: "1,000.00", refuse: true},
		{name: "underscore", input: "1_000", refuse: true},
		{name: "decimal comma", input: "1,5", refuse: true},
		{name: "space before", input: " 1", refuse: true},
		{name: "space after", input: "1 ", refuse: true},
		{name: "line break after", input: "1.00\n", refuse: true},
		{name: "zero byte after", input: "1\x00", refuse: true},
		{name: "not a number", input: "NaN", refuse: true},
		{name: "infinity", input: "Infinity", refuse: true},
		{name: "currency", input: "NGN 1", refuse: true},
		{name: "digits of another script", input: "\u0661\u0662", refuse: true},
		{name: "full-width digit after the point", input: "1.\uff15", refuse: true},
		{name: "invalid UTF-8", input: "1\xff", refuse: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			got, err := money.Parse(test.input)
			is.Equal(err != nil, test.refuse)
			if test.refuse {
				is.True(errors.Is(err, money.ErrAmount))
			}
			is.Equal(got, test.want)
		})
	}
}

func TestParseErrorDoesNotEchoTheInput(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	_, err := money.Parse("<script>")
	is.Equal(err.Error(), "must be a plain decimal from 0 to 999999999999.99 with at most two fractional digits")
}

func TestParseAgreesWithTheGrammar(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		checkParse(t, numberLike().Draw(t, "input"))
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "0", "0.1", "10.00", "999999999999.99", "1000000000000", "-1", "01", "1.", "1e2", " 1",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, input string) {
		checkParse(t, input)
	})
}

// fataler is what a rapid test and a fuzz test have in common.
type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checkParse checks Parse against the grammar, the value of the text, and
// String as its inverse.
func checkParse(t fataler, input string) {
	t.Helper()
	amount, err := money.Parse(input)
	if inputGrammar.MatchString(input) != (err == nil) {
		t.Fatalf("Parse(%q): error %v disagrees with the grammar", input, err)
	}
	if err != nil {
		return
	}
	if amount < 0 || amount > money.MaxInput {
		t.Fatalf("Parse(%q) = %d, out of range", input, amount)
	}
	text, _ := new(big.Rat).SetString(input)
	if text.Cmp(big.NewRat(int64(amount), 100)) != 0 {
		t.Fatalf("Parse(%q) = %d, another value", input, amount)
	}
	if again, err := money.Parse(amount.String()); err != nil || again != amount {
		t.Fatalf("Parse(%q) = %d, read back as %d, %v", input, amount, again, err)
	}
}

func TestParseIsTheInverseOfString(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		is := is.New(t)
		amount := money.Amount(rapid.Int64Range(0, int64(money.MaxInput)).Draw(t, "kobo"))
		got, err := money.Parse(amount.String())
		is.NoErr(err)
		is.Equal(got, amount)
	})
}

func TestStringHasTwoDecimals(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		amount money.Amount
		want   string
	}{
		{name: "zero", amount: 0, want: "0.00"},
		{name: "one kobo", amount: 1, want: "0.01"},
		{name: "minus five kobo", amount: -5, want: "-0.05"},
		{name: "ten kobo", amount: 10, want: "0.10"},
		{name: "just below one naira", amount: 99, want: "0.99"},
		{name: "one naira", amount: 100, want: "1.00"},
		{name: "minus one naira", amount: -100, want: "-1.00"},
		{name: "largest input", amount: money.MaxInput, want: "999999999999.99"},
		{name: "largest balance", amount: money.MaxBalance, want: "999999999999999.99"},
		{name: "largest integer", amount: math.MaxInt64, want: "92233720368547758.07"},
		{name: "lowest integer", amount: math.MinInt64, want: "-92233720368547758.08"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			is.Equal(test.amount.String(), test.want)
		})
	}
}

func TestAddStaysWithinMaxBalance(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		a, b    money.Amount
		want    money.Amount
		outside bool
	}{
		{name: "credit", a: 100, b: 50, want: 150},
		{name: "debit", a: 100, b: -150, want: -50},
		{name: "up to the bound", a: money.MaxBalance - 1, b: 1, want: money.MaxBalance},
		{name: "over the bound", a: money.MaxBalance, b: 1, outside: true},
		{name: "down to the bound", a: -money.MaxBalance + 1, b: -1, want: -money.MaxBalance},
		{name: "under the bound", a: -money.MaxBalance, b: -1, outside: true},
		{name: "integer overflow", a: math.MaxInt64, b: math.MaxInt64, outside: true},
		{name: "integer underflow to zero", a: math.MinInt64, b: math.MinInt64, outside: true},
		{name: "operands outside, sum within", a: math.MinInt64, b: math.MaxInt64, want: -1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			got, ok := test.a.Add(test.b)
			is.Equal(ok, !test.outside)
			is.Equal(got, test.want)
		})
	}
}

func TestTimesStaysWithinMaxBalance(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		amount  money.Amount
		n       int
		want    money.Amount
		outside bool
	}{
		{name: "twice", amount: 1_234, n: 2, want: 2_468},
		{name: "no times", amount: math.MaxInt64, n: 0, want: 0},
		{name: "fifty of the highest price", amount: money.MaxInput, n: 50, want: 4_999_999_999_999_950},
		{name: "negative", amount: 5, n: -3, want: -15},
		{name: "the bound", amount: money.MaxBalance, n: 1, want: money.MaxBalance},
		{name: "the lower bound", amount: money.MaxBalance, n: -1, want: -money.MaxBalance},
		{name: "over the bound", amount: money.MaxBalance/2 + 1, n: 2, outside: true},
		{name: "integer overflow", amount: math.MaxInt64, n: 3, outside: true},
		{name: "integer overflow to zero", amount: 1 << 62, n: 4, outside: true},
		{name: "lowest integer negated", amount: math.MinInt64, n: -1, outside: true},
		{name: "minus one times the lowest integer", amount: -1, n: math.MinInt, outside: true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			got, ok := test.amount.Times(test.n)
			is.Equal(ok, !test.outside)
			is.Equal(got, test.want)
		})
	}
}

func TestAddAndTimesAreExactOrRefuse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		is := is.New(t)
		a, b := rapid.Int64().Draw(t, "a"), rapid.Int64().Draw(t, "b")
		n := rapid.Int().Draw(t, "n")

		sum, ok := money.Amount(a).Add(money.Amount(b))
		want := new(big.Int).Add(big.NewInt(a), big.NewInt(b))
		is.Equal(ok, want.CmpAbs(big.NewInt(int64(money.MaxBalance))) <= 0)
		is.True(!ok || want.Cmp(big.NewInt(int64(sum))) == 0)

		product, ok := money.Amount(a).Times(n)
		want = new(big.Int).Mul(big.NewInt(a), big.NewInt(int64(n)))
		is.Equal(ok, want.CmpAbs(big.NewInt(int64(money.MaxBalance))) <= 0)
		is.True(!ok || want.Cmp(big.NewInt(int64(product))) == 0)
	})
}
