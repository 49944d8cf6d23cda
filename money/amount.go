package money

import (
	"errors"
	"math"
	"strconv"
)

// Amount is a sum in kobo, a hundredth of a naira. It may be negative, as a
// ledger's debits are. The type itself has no bounds: [Parse] bounds input,
// [Amount.Add] and [Amount.Times] bound what is computed.
type Amount int64

// Currency is the only currency of the service, by its ISO 4217 code.
const Currency = "NGN"

const (
	// MaxInput is the largest amount that a client may send,
	// 999999999999.99 (Section 8).
	MaxInput Amount = 99_999_999_999_999

	// MaxBalance is the largest amount that the service stores or returns,
	// 999999999999999.99: 15 digits before the point. It has room for 50
	// admissions at MaxInput, twenty times over.
	MaxBalance Amount = 99_999_999_999_999_999
)

// kobo is how many minor units a naira has.
const kobo = 100

// maxText is the length of the longest text of an int64 as an amount,
// "-92233720368547758.08".
const maxText = 21

// ErrAmount is the error of [Parse] for a text that is not a money input. Its
// message is fit for the client.
var ErrAmount = errors.New("must be a plain decimal from 0 to 999999999999.99 with at most two fractional digits")

// Parse parses a money input (Section 2.1): one to twelve digits without a
// leading zero, then at most a point and one or two digits. The result is
// between 0 and [MaxInput]. Anything else is [ErrAmount].
func Parse(s string) (Amount, error) {
	const maxWhole = 12
	whole, fraction, ok := cutDecimal(s, maxWhole, 2)
	if !ok {
		return 0, ErrAmount
	}
	return joinAmount(whole, fraction), nil
}

// cutDecimal splits a plain decimal at its point. The whole part has one to
// maxWhole digits and no leading zero; the fraction is empty, or has one to
// maxFraction digits after a point.
func cutDecimal(s string, maxWhole, maxFraction int) (whole, fraction string, ok bool) {
	n := countDigits(s)
	if n == 0 || n > maxWhole || n > 1 && s[0] == '0' {
		return "", "", false
	}
	if n == len(s) {
		return s, "", true
	}
	whole, fraction = s[:n], s[n+1:]
	if s[n] != '.' || fraction == "" || len(fraction) > maxFraction || countDigits(fraction) != len(fraction) {
		return "", "", false
	}
	return whole, fraction, true
}

// countDigits returns how many ASCII digits s begins with.
func countDigits(s string) int {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return i
		}
	}
	return len(s)
}

// joinAmount returns the amount of digits before the point, at most 15 of
// them, and digits after it, at most two.
func joinAmount(whole, fraction string) Amount {
	var a Amount
	for i := range len(whole) {
		a = a*10 + Amount(whole[i]-'0')
	}
	for i := range 2 {
		a *= 10
		if i < len(fraction) {
			a += Amount(fraction[i] - '0')
		}
	}
	return a
}

// String returns a in naira with exactly two decimals, as in "1234.60", "0.00"
// and "-0.05". It is right for every int64 and, from 0 to [MaxInput], the
// inverse of [Parse].
func (a Amount) String() string {
	return string(a.appendText(make([]byte, 0, maxText)))
}

func (a Amount) appendText(b []byte) []byte {
	naira, rest := a/kobo, a%kobo
	if a < 0 {
		b = append(b, '-')
		// Negated after the division, since the lowest int64 itself has no
		// positive counterpart.
		naira, rest = -naira, -rest
	}
	b = append(strconv.AppendInt(b, int64(naira), 10), '.')
	if rest < 10 {
		b = append(b, '0')
	}
	return strconv.AppendInt(b, int64(rest), 10)
}

// Add returns a plus b. It returns 0 and false if the sum is outside of
// -[MaxBalance] to [MaxBalance].
func (a Amount) Add(b Amount) (Amount, bool) {
	if b > 0 && a > math.MaxInt64-b || b < 0 && a < math.MinInt64-b {
		return 0, false
	}
	return bounded(a + b)
}

// Times returns a times n. It returns 0 and false if the product is outside of
// -[MaxBalance] to [MaxBalance].
func (a Amount) Times(n int) (Amount, bool) {
	product := a * Amount(n)
	// Dividing back shows an overflow, save for the lowest int64 times -1,
	// whose wrapped product is out of bounds anyway.
	if n != 0 && product/Amount(n) != a {
		return 0, false
	}
	return bounded(product)
}

func bounded(a Amount) (Amount, bool) {
	if a < -MaxBalance || a > MaxBalance {
		return 0, false
	}
	return a, true
}
