// Package money holds the amounts that the service counts and the commission
// rates that it applies to them. It does no input or output and knows no wallet.
//
// # Amounts
//
// An [Amount] is a whole number of kobo, the minor unit of the Nigerian naira
// and the smallest sum there is here: 12.34 naira are Amount(1234). Amounts
// add, multiply and compare as integers. Floats are never used, since a float
// can't hold 0.10.
//
// [Parse] parses what a client sends. It accepts this grammar and nothing
// else: no sign, exponent, leading zero, thousands separator or space:
//
//	(0|[1-9][0-9]{0,11})(\.[0-9]{1,2})?
//
// [Amount.String] writes what a client receives, always with two decimals, so
// "10" and "10.00" are one input and both are returned as "10.00". In JSON an
// amount is the money object of Section 2.1, {"amount":"10.00","currency":"NGN"},
// which may carry more than an input can, up to 15 digits before the point
// ([MaxBalance]): the gross of 50 admissions, say, or a wallet's balance.
//
// # Rates
//
// A commission [Rate] is a value and a unit, and the value means nothing
// without its unit (Section 2.6). These three are the same share of a gross:
//
//	250   BASIS_POINTS   of at most 10000
//	2.5   PERCENT        of at most 100
//	0.025 FRACTION       of at most 1
//
// A value is plain decimal text with at most twelve fractional digits, 0 is
// allowed, and so is the maximum, which is the whole gross.
//
// # Rounding
//
// [Rate.Of] multiplies exactly and rounds once, half up, to the kobo. At 2.5
// percent a gross of 1234.60 is 123460 kobo; the exact product is 3086.5 kobo;
// the half goes up to 3087; the commission is 30.87. Rounding half to even, the
// default of many libraries, would have given 30.86. The order's gross is
// rounded as one sum: the commissions of its lines, each rounded, may add up
// to something else.
package money
