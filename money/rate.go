package money

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/ericlagergren/decimal"
)

// Unit is the unit of a rate's value. Always read it: a value has no meaning
// without its unit (Section 2.6).
type Unit string

const (
	// BasisPoints counts in ten-thousandths: 250 is 2.5 percent. At most 10000.
	BasisPoints Unit = "BASIS_POINTS"

	// Percent counts in hundredths: 2.5 is 2.5 percent. At most 100.
	Percent Unit = "PERCENT"

	// Fraction is the share itself: 0.025 is 2.5 percent. At most 1.
	Fraction Unit = "FRACTION"
)

// The errors of ParseUnit and ParseRate. Their messages are fit for the client.
var (
	// ErrUnit means that a unit is none of the three.
	ErrUnit = errors.New("must be BASIS_POINTS, PERCENT or FRACTION")

	// ErrRate means that a rate's value is malformed.
	ErrRate = errors.New("must be a plain decimal with at most twelve digits before and after the point")

	// ErrRateMaximum means that a rate's value is well formed and exceeds
	// the maximum of its unit, so that it would take more than the gross.
	ErrRateMaximum = errors.New("must not exceed 10000 BASIS_POINTS, 100 PERCENT or 1 FRACTION")
)

// ParseUnit parses the name of a unit, in upper case as the contract writes
// it. Anything else is [ErrUnit].
func ParseUnit(s string) (Unit, error) {
	unit := Unit(s)
	if _, ok := unit.scale(); !ok {
		return "", ErrUnit
	}
	return unit, nil
}

// scale returns the exponent of the power of ten by which a value of the unit
// is divided to be a share. Since the largest share is 1, that power is also
// the maximum of the unit.
func (u Unit) scale() (int, bool) {
	switch u {
	case BasisPoints:
		return 4, true
	case Percent:
		return 2, true
	case Fraction:
		return 0, true
	default:
		return 0, false
	}
}

// Rate is a share of a gross from 0 to the whole, as a value in a [Unit].
// Rates compare with ==, by value and unit: 2.50 PERCENT equals 2.5 PERCENT,
// and differs from 250 BASIS_POINTS, which is as much. The zero Rate is
// 0 BASIS_POINTS.
type Rate struct {
	// unscaled and digits are the value in lowest terms: unscaled divided by
	// 10 to the power of digits, with digits as small as can be.
	unscaled int64
	digits   int
	// unit is empty for BasisPoints, so that the zero Rate equals the
	// parsed one.
	unit Unit
}

// ParseRate parses a rate's value: plain decimal text with at most twelve
// digits before the point and twelve after it, without sign, exponent, space
// or leading zero. Trailing zeros are ignored. The errors are [ErrUnit],
// [ErrRate] and [ErrRateMaximum], in this order.
func ParseRate(value string, unit Unit) (Rate, error) {
	scale, ok := unit.scale()
	if !ok {
		return Rate{}, ErrUnit
	}
	// The text is checked here, since decimal would also take " 1", "0x10"
	// and "NaN".
	const maxDigits = 12
	whole, fraction, ok := cutDecimal(value, maxDigits, maxDigits)
	if !ok {
		return Rate{}, ErrRate
	}
	text := whole
	if fraction = strings.TrimRight(fraction, "0"); fraction != "" {
		text += "." + fraction
	}
	number, ok := newDecimal().SetString(text)
	if !ok || !number.IsFinite() {
		return Rate{}, ErrRate
	}
	if number.Cmp(decimal.New(1, -scale)) > 0 {
		return Rate{}, ErrRateMaximum
	}
	// Below 10000 with twelve fractional digits: 16 digits in all.
	unscaled, ok := number.Mantissa()
	if !ok || unscaled > math.MaxInt64 {
		return Rate{}, ErrRate
	}
	rate := Rate{unscaled: int64(unscaled), digits: len(fraction)}
	if unit != BasisPoints {
		rate.unit = unit
	}
	return rate, nil
}

// Value returns the rate's value as plain text without trailing zeros, as in
// "2.5", "0" and "0.000000000001". With [Rate.Unit], ParseRate reads it back.
func (r Rate) Value() string {
	s := strconv.FormatInt(r.unscaled, 10)
	if r.digits == 0 {
		return s
	}
	if missing := r.digits + 1 - len(s); missing > 0 {
		s = strings.Repeat("0", missing) + s
	}
	point := len(s) - r.digits
	return s[:point] + "." + s[point:]
}

// Unit returns the unit that the rate was given in.
func (r Rate) Unit() Unit {
	if r.unit == "" {
		return BasisPoints
	}
	return r.unit
}

// Of returns the rate's share of a gross: the exact product, rounded once,
// half up, to the kobo (Section 2.6). It is between 0 and gross. Of panics if
// gross is negative or exceeds [MaxBalance], which no gross that the service
// computes does.
func (r Rate) Of(gross Amount) Amount {
	if gross < 0 || gross > MaxBalance {
		panic(fmt.Sprintf("money: share of a gross of %s", gross))
	}
	scale, _ := r.Unit().scale()
	share := decimal.New(r.unscaled, r.digits+scale)
	product := newDecimal()
	product.Mul(product.SetMantScale(int64(gross), 0), share)
	// Away from zero is up, since nothing here is negative. Int64, not the
	// mantissa, because 99.5 is rounded to 10 with an exponent of one.
	rounded, ok := product.Quantize(0).Int64()
	if !ok {
		panic(fmt.Sprintf("money: %s %s of %s is no amount", r.Value(), r.Unit(), gross))
	}
	return Amount(rounded)
}

// newDecimal returns a zero whose operations are exact up to 60 digits, where
// the longest product here has 33, and which rounds halves away from zero. The
// default of decimal is 16 digits and half to even.
func newDecimal() *decimal.Big {
	const precision = 60
	return decimal.WithContext(decimal.Context{Precision: precision, RoundingMode: decimal.ToNearestAway})
}
