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

// rateGrammar is the grammar of a rate's value.
var rateGrammar = regexp.MustCompile(`^(?:(0|[1-9][0-9]{0,11})(\.[0-9]{1,12})?)\z`)

// maximum returns the inclusive maximum of a unit's value. A share is the
// value divided by it.
func maximum(unit money.Unit) int64 {
	return map[money.Unit]int64{money.BasisPoints: 10_000, money.Percent: 100, money.Fraction: 1}[unit]
}

func units() []money.Unit {
	return []money.Unit{money.BasisPoints, money.Percent, money.Fraction}
}

// shares draws shares as whole trillionths, and some of them round.
func shares() *rapid.Generator[int64] {
	return rapid.OneOf(
		rapid.Int64Range(0, 1e12),
		rapid.Map(rapid.Int64Range(0, 10_000), func(points int64) int64 { return points * 1e8 }),
	)
}

// valueOf returns a share of trillionths as a value in a unit, with all its
// trailing zeros. In basis points it has eight fractional digits.
func valueOf(trillionths int64, unit money.Unit) string {
	digits := map[money.Unit]int{money.BasisPoints: 8, money.Percent: 10, money.Fraction: 12}[unit]
	return big.NewRat(trillionths, int64(1e12)/maximum(unit)).FloatString(digits)
}

// rates draws any legal rate, also with all twelve fractional digits.
func rates() *rapid.Generator[money.Rate] {
	return rapid.Custom(func(t *rapid.T) money.Rate {
		unit := rapid.SampledFrom(units()).Draw(t, "unit")
		digits := rapid.IntRange(0, 12).Draw(t, "digits")
		scale := int64(math.Pow10(digits))
		unscaled := rapid.Int64Range(0, maximum(unit)*scale).Draw(t, "unscaled")
		rate, err := money.ParseRate(big.NewRat(unscaled, scale).FloatString(digits), unit)
		if err != nil {
			t.Fatalf("a legal rate: %v", err)
		}
		return rate
	})
}

// grosses draws amounts from nothing to the largest.
func grosses() *rapid.Generator[money.Amount] {
	return rapid.Map(rapid.Int64Range(0, int64(money.MaxBalance)), func(kobo int64) money.Amount {
		return money.Amount(kobo)
	})
}

// exactShare returns the exact product of rate and gross in kobo.
func exactShare(rate money.Rate, gross money.Amount) *big.Rat {
	value, _ := new(big.Rat).SetString(rate.Value())
	return value.Mul(value, big.NewRat(int64(gross), maximum(rate.Unit())))
}

// halfUp rounds a number that is not negative: the floor of it and a half.
func halfUp(exact *big.Rat) money.Amount {
	shifted := new(big.Rat).Add(exact, big.NewRat(1, 2))
	return money.Amount(new(big.Int).Quo(shifted.Num(), shifted.Denom()).Int64())
}

func TestParseUnitKnowsThreeNames(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	for _, name := range []string{"BASIS_POINTS", "PERCENT", "FRACTION"} {
		unit, err := money.ParseUnit(name)
		is.NoErr(err)
		is.Equal(unit, money.Unit(name))
	}
	for _, name := range []string{"", "percent", "Percent", "PERCENT ", "BPS", "%", "BASIS-POINTS"} {
		unit, err := money.ParseUnit(name)
		is.True(errors.Is(err, money.ErrUnit))
		is.Equal(unit, money.Unit(""))
		is.Equal(err.Error(), "must be BASIS_POINTS, PERCENT or FRACTION")
	}
}

func TestParseRateReadsPlainDecimalsUpToTheMaximum(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		value string
		unit  money.Unit
		want  string
		err   error
	}{
		{name: "zero basis points", value: "0", unit: money.BasisPoints, want: "0"},
		{name: "zero with decimals", value: "0.00", unit: money.Percent, want: "0"},
		{name: "250 basis points", value: "250", unit: money.BasisPoints, want: "250"},
		{name: "2.5 percent", value: "2.50", unit: money.Percent, want: "2.5"},
		{name: "fraction", value: "0.025", unit: money.Fraction, want: "0.025"},
		{name: "zeros before the point stay", value: "100.0", unit: money.BasisPoints, want: "100"},
		{name: "least value", value: "0.000000000001", unit: money.Fraction, want: "0.000000000001"},
		{name: "small value is never an exponent", value: "0.0000001", unit: money.Percent, want: "0.0000001"},
		{name: "twelve fractional digits", value: "9999.999999999999", unit: money.BasisPoints, want: "9999.999999999999"},
		{name: "twelve fractional zeros", value: "1.000000000000", unit: money.Percent, want: "1"},

		{name: "maximum of basis points", value: "10000", unit: money.BasisPoints, want: "10000"},
		{name: "maximum of percent", value: "100", unit: money.Percent, want: "100"},
		{name: "maximum of fraction", value: "1", unit: money.Fraction, want: "1"},
		{name: "maximum with decimals", value: "10000.000000000000", unit: money.BasisPoints, want: "10000"},
		{name: "above basis points", value: "10000.000000000001", unit: money.BasisPoints, err: money.ErrRateMaximum},
		{name: "above percent", value: "100.000000000001", unit: money.Percent, err: money.ErrRateMaximum},
		{name: "above fraction", value: "1.000000000001", unit: money.Fraction, err: money.ErrRateMaximum},
		{name: "percent as fraction", value: "2.5", unit: money.Fraction, err: money.ErrRateMaximum},
		{name: "largest text", value: "999999999999.999999999999", unit: money.BasisPoints, err: money.ErrRateMaximum},

		{name: "thirteen fractional digits", value: "0.0000000000001", unit: money.Percent, err: money.ErrRate},
		{name: "thirteen fractional zeros", value: "1.0000000000000", unit: money.Percent, err: money.ErrRate},
		{name: "thirteen digits", value: "1000000000000", unit: money.BasisPoints, err: money.ErrRate},
		{name: "very long", value: strings.Repeat("9", 10_000), unit: money.BasisPoints, err: money.ErrRate},
		{name: "empty", value: "", unit: money.Percent, err: money.ErrRate},
		{name: "point alone", value: ".", unit: money.Percent, err: money.ErrRate},
		{name: "no digit before the point", value: ".5", unit: money.Percent, err: money.ErrRate},
		{name: "no digit after the point", value: "5.", unit: money.Percent, err: money.ErrRate},
		{name: "leading zero", value: "02.5", unit: money.Percent, err: money.ErrRate},
		{name: "minus", value: "-1", unit: money.Percent, err: money.ErrRate},
		{name: "minus zero", value: "-0", unit: money.Percent, err: money.ErrRate},
		{name: "plus", value: "+1", unit: money.Percent, err: money.ErrRate},
		{name: "exponent", value: "1e1", unit: money.Percent, err: money.ErrRate},
		{name: "exponent after the point", value: "1.0e1", unit: money.Percent, err: money.ErrRate},
		{name: "hexadecimal", value: "0x10", unit: money.Percent, err: money.ErrRate},
		{name: "not a number", value: "NaN", unit: money.Percent, err: money.ErrRate},
		{name: "infinity", value: "Infinity", unit: money.Percent, err: money.ErrRate},
		{name: "space before", value: " 1", unit: money.Percent, err: money.ErrRate},
		{name: "space after", value: "1 ", unit: money.Percent, err: money.ErrRate},
		{name: "percent sign", value: "2.5%", unit: money.Percent, err: money.ErrRate},
		{name: "decimal comma", value: "2,5", unit: money.Percent, err: money.ErrRate},
		{name: "digits of another script", value: "\u0662", unit: money.Percent, err: money.ErrRate},

		{name: "no unit", value: "1", unit: "", err: money.ErrUnit},
		{name: "unit in lower case", value: "1", unit: "percent", err: money.ErrUnit},
		{name: "unit is told before the value", value: "x", unit: "x", err: money.ErrUnit},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			rate, err := money.ParseRate(test.value, test.unit)
			is.True(errors.Is(err, test.err))
			if test.err != nil {
				is.Equal(rate, money.Rate{})
				return
			}
			is.Equal(rate.Value(), test.want)
			is.Equal(rate.Unit(), test.unit)
		})
	}
}

func TestRateErrorsSayWhatIsAllowed(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	_, err := money.ParseRate("<script>", money.Percent)
	is.Equal(err.Error(), "must be a plain decimal with at most twelve digits before and after the point")
	_, err = money.ParseRate("101", money.Percent)
	is.Equal(err.Error(), "must not exceed 10000 BASIS_POINTS, 100 PERCENT or 1 FRACTION")
}

func TestRatesCompareByValueAndUnit(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	parse := func(value string, unit money.Unit) money.Rate {
		rate, err := money.ParseRate(value, unit)
		is.NoErr(err)
		return rate
	}
	is.True(parse("2.50", money.Percent) == parse("2.5", money.Percent))
	is.True(parse("2.5", money.Percent) != parse("250", money.BasisPoints))
	is.True(parse("1", money.Percent) != parse("1", money.Fraction))
	is.True(parse("0.0", money.BasisPoints) == money.Rate{}) // The zero Rate is 0 BASIS_POINTS.
	is.Equal(money.Rate{}.Value(), "0")
	is.Equal(money.Rate{}.Unit(), money.BasisPoints)
	is.Equal(money.Rate{}.Of(money.MaxBalance), money.Amount(0))
}

func TestParseRateAgreesWithTheGrammar(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		checkParseRate(t, numberLike().Draw(t, "value"), string(rapid.SampledFrom(units()).Draw(t, "unit")))
	})
}

func FuzzParseRate(f *testing.F) {
	for _, unit := range append(units(), "", "percent") {
		for _, value := range []string{
			"", "0", "0.025", "2.5", "100", "10000", "10000.000000000001", "1e2", "-1", " 1", "NaN", "0x1",
		} {
			f.Add(value, string(unit))
		}
	}
	f.Fuzz(func(t *testing.T, value, unit string) {
		checkParseRate(t, value, unit)
	})
}

// checkParseRate holds ParseRate to its grammar, to the units' maxima, to the
// value of the text, and to Value and Unit as its inverse.
func checkParseRate(t fataler, value, unitName string) {
	t.Helper()
	unit, unitErr := money.ParseUnit(unitName)
	rate, err := money.ParseRate(value, money.Unit(unitName))
	number, _ := new(big.Rat).SetString(value)
	var want error
	switch {
	case unitErr != nil:
		want = money.ErrUnit
	case !rateGrammar.MatchString(value):
		want = money.ErrRate
	case number.Cmp(big.NewRat(maximum(unit), 1)) > 0:
		want = money.ErrRateMaximum
	}
	if !errors.Is(err, want) {
		t.Fatalf("ParseRate(%q, %q): error %v, want %v", value, unitName, err, want)
	}
	if err != nil {
		return
	}
	canonical := rate.Value()
	read, ok := new(big.Rat).SetString(canonical)
	if !ok || read.Cmp(number) != 0 || !rateGrammar.MatchString(canonical) {
		t.Fatalf("ParseRate(%q) is written as %q", value, canonical)
	}
	if strings.Contains(canonical, ".") && strings.HasSuffix(canonical, "0") {
		t.Fatalf("ParseRate(%q) is written with trailing zeros: %q", value, canonical)
	}
	if again, err := money.ParseRate(canonical, rate.Unit()); err != nil || again != rate {
		t.Fatalf("ParseRate(%q) is read back as %v, %v", value, again, err)
	}
	if share := rate.Of(money.MaxBalance); share < 0 || share > money.MaxBalance {
		t.Fatalf("%q of the largest gross is %d", value, share)
	}
}

func TestOfRoundsOnceHalfUp(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		value string
		unit  money.Unit
		gross money.Amount
		want  money.Amount
	}{
		{name: "no rate", value: "0", unit: money.Percent, gross: money.MaxBalance, want: 0},
		{name: "no gross", value: "100", unit: money.Percent, gross: 0, want: 0},
		{name: "all of one kobo", value: "1", unit: money.Fraction, gross: 1, want: 1},
		{name: "all of everything", value: "10000", unit: money.BasisPoints, gross: money.MaxBalance, want: money.MaxBalance},
		{name: "no rounding", value: "250", unit: money.BasisPoints, gross: 2_500_000, want: 62_500},
		{name: "half goes up to odd", value: "2.5", unit: money.Percent, gross: 123_460, want: 3_087},
		{name: "half goes up to even", value: "2.5", unit: money.Percent, gross: 123_420, want: 3_086},
		{name: "half a kobo", value: "50", unit: money.Percent, gross: 1, want: 1},
		{name: "just below half a kobo", value: "0.499999999999", unit: money.Fraction, gross: 1, want: 0},
		{name: "just above half a kobo", value: "0.500000000001", unit: money.Fraction, gross: 1, want: 1},
		{name: "no second rounding of 0.4999", value: "0.4999", unit: money.Fraction, gross: 1, want: 0},
		{name: "carry into a new digit", value: "99.5", unit: money.Percent, gross: 100, want: 100},
		{
			name: "carry at sixteen digits", value: "0.1", unit: money.Fraction, gross: money.MaxBalance,
			want: 10_000_000_000_000_000,
		},
		{
			name: "no first rounding of 33 digits", value: "9999.999999999999", unit: money.BasisPoints,
			gross: 95_000_000_000_000_001, want: 94_999_999_999_999_991,
		},
		{
			name: "longest product", value: "9999.999999999999", unit: money.BasisPoints, gross: money.MaxBalance,
			want: 99_999_999_999_999_989,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			rate, err := money.ParseRate(test.value, test.unit)
			is.NoErr(err)
			is.Equal(rate.Of(test.gross), test.want)
		})
	}
}

func TestOfIsTheExactProductRoundedHalfUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		is := is.New(t)
		rate, gross := rates().Draw(t, "rate"), grosses().Draw(t, "gross")
		exact, got := exactShare(rate, gross), rate.Of(gross)
		is.Equal(got, halfUp(exact))

		difference := new(big.Rat).Sub(big.NewRat(int64(got), 1), exact)
		is.True(difference.Abs(difference).Cmp(big.NewRat(1, 2)) <= 0) // Within half a kobo.
		is.True(got >= 0 && got <= gross)
	})
}

// The product closest below a power of ten is where rounding up makes the
// result a digit longer.
func TestOfCarriesIntoANewDigit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		is := is.New(t)
		power := rapid.Int64Range(1, 33).Draw(t, "power")
		least := int64(math.Pow10(max(0, int(power)-17))) // Keeps the gross within MaxBalance.
		unscaled := rapid.Int64Range(least, 1e16).Draw(t, "unscaled")
		product := new(big.Int).Exp(big.NewInt(10), big.NewInt(power), nil)
		product.Sub(product, big.NewInt(1))
		gross := money.Amount(product.Quo(product, big.NewInt(unscaled)).Int64())
		rate, err := money.ParseRate(big.NewRat(unscaled, 1e12).FloatString(12), money.BasisPoints)
		is.NoErr(err)
		is.Equal(rate.Of(gross), halfUp(exactShare(rate, gross)))
	})
}

func TestOfGrowsWithTheGross(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		is := is.New(t)
		rate := rates().Draw(t, "rate")
		a, b := grosses().Draw(t, "a"), grosses().Draw(t, "b")
		is.True(rate.Of(min(a, b)) <= rate.Of(max(a, b)))
	})
}

func TestOfGrowsWithTheRate(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		is := is.New(t)
		gross := grosses().Draw(t, "gross")
		a, b := shares().Draw(t, "a"), shares().Draw(t, "b")
		low, err := money.ParseRate(valueOf(min(a, b), money.Fraction), money.Fraction)
		is.NoErr(err)
		high, err := money.ParseRate(valueOf(max(a, b), money.Fraction), money.Fraction)
		is.NoErr(err)
		is.True(low.Of(gross) <= high.Of(gross))
	})
}

// 250 basis points, 2.5 percent and 0.025 take the same share of every gross.
func TestOfDoesNotDependOnTheUnit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		is := is.New(t)
		share, gross := shares().Draw(t, "share"), grosses().Draw(t, "gross")
		taken := make(map[money.Amount]bool)
		for _, unit := range units() {
			rate, err := money.ParseRate(valueOf(share, unit), unit)
			is.NoErr(err)
			taken[rate.Of(gross)] = true
		}
		is.Equal(len(taken), 1)
	})
}

func TestOfPanicsOutsideOfWhatAGrossCanBe(t *testing.T) {
	t.Parallel()
	for _, gross := range []money.Amount{-1, math.MinInt64, money.MaxBalance + 1, math.MaxInt64} {
		t.Run(gross.String(), func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			defer func() { is.True(recover() != nil) }()
			money.Rate{}.Of(gross)
		})
	}
}
