package embedproxy

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/publicurl"
	"github.com/floatgate/ticketing/internal/safename"
	"github.com/floatgate/ticketing/money"
)

// Each method in this file reads one kind of value. It refuses a value of the wrong form.

// text reads a string of at most so many code points.
func (r *reader) text(most int) string {
	text, ok := r.string()
	if !ok {
		return ""
	}
	// A text never has more code points than bytes.
	if len(text) > most && utf8.RuneCountInString(text) > most {
		r.refuse("is too long")
		return ""
	}
	return text
}

// optionalText reads a string of at most so many code points, or null.
func (r *reader) optionalText(most int) *string {
	if r.null() {
		return nil
	}
	return new(r.text(most))
}

// form reads a string of at most so many code points that has a form.
func (r *reader) form(most int, has func(string) bool) string {
	text := r.text(most)
	if r.ok() && !has(text) {
		r.refuse("is malformed")
	}
	return text
}

// one reads a string that is one of the given ones.
func (r *reader) one(of ...string) string {
	text, ok := r.string()
	if !ok {
		return ""
	}
	if at := slices.Index(of, text); at >= 0 {
		return of[at]
	}
	r.refuse("is none of the documented values")
	return ""
}

// integer reads a number without sign, fraction and exponent.
func (r *reader) integer(least, most int) int {
	if !r.ok() {
		return 0
	}
	r.peek()
	begin := r.at
	for r.at < len(r.body) && '0' <= r.body[r.at] && r.body[r.at] <= '9' {
		r.at++
	}
	digits := r.body[begin:r.at]
	n, err := strconv.ParseUint(digits, 10, 31)
	switch {
	case digits == "" || digits[0] == '0' && len(digits) > 1:
		r.refuse("must be an integer")
	case err != nil || int(n) < least || int(n) > most:
		r.refuse("is out of range")
	}
	return int(n)
}

// boolean reads true or false.
func (r *reader) boolean() bool {
	if r.word("true") {
		return true
	}
	if !r.word("false") {
		r.refuse("must be true or false")
	}
	return false
}

// id reads the id of a resource.
func (r *reader) id() string {
	return r.form(36, func(text string) bool {
		_, err := ticketing.ParseID(text)
		return err == nil
	})
}

// currency reads the only currency there is.
func (r *reader) currency() string { return r.one(money.Currency) }

// amount is an amount of money as the contract writes it.
type amount struct {
	Amount   string `json:"amount"`
	Currency string `json:"currency"`
}

// amount reads an amount of money.
func (r *reader) amount() amount {
	var a amount
	for name := range r.members("amount", "currency") {
		switch name {
		case "amount":
			a.Amount = r.form(maxMoney, isMoney)
		case "currency":
			a.Currency = r.currency()
		}
	}
	return a
}

// maxMoney is the length of the longest amount: 15 digits, a point and two digits. The gross of an order may exceed the
// largest input.
const maxMoney = 18

// isMoney reports whether a text is an amount in the output format: without sign and leading zeros, with two decimals.
func isMoney(text string) bool {
	point := len(text) - 3
	if point < 1 || text[point] != '.' || text[0] == '0' && point > 1 {
		return false
	}
	for i := range len(text) {
		if i != point && (text[i] < '0' || text[i] > '9') {
			return false
		}
	}
	return true
}

// timestamp reads a moment: UTC with milliseconds and a trailing Z.
func (r *reader) timestamp() string { return r.form(len("2006-01-02T15:04:05.000Z"), isTimestamp) }

func isTimestamp(text string) bool {
	day, clock, ok := strings.Cut(text, "T")
	return ok && isDay(day) && len(clock) == len("15:04:05.000Z") && isClock(clock[:5]) &&
		clock[5] == ':' && isBelow(clock[6:8], 60) && clock[8] == '.' && isBelow(clock[9:11], 100) &&
		isBelow("0"+clock[11:12], 10) && clock[12] == 'Z'
}

// day reads a calendar day or null.
func (r *reader) day() *string {
	return nullable(r, func(r *reader) string { return r.form(len(time.DateOnly), isDay) })
}

func isDay(text string) bool {
	if len(text) != len(time.DateOnly) || text[4] != '-' || text[7] != '-' ||
		!isBelow(text[:2], 100) || !isBelow(text[2:4], 100) || !isBelow(text[5:7], 13) || !isBelow(text[8:], 32) {
		return false
	}
	year, month, day := number(text[:2])*100+number(text[2:4]), number(text[5:7]), number(text[8:])
	// A day that its month does not have becomes a day of another month.
	return month > 0 && day > 0 && time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC).Day() == day
}

// clock reads a time of day or null.
func (r *reader) clock() *string {
	return nullable(r, func(r *reader) string { return r.form(len("15:04"), isClock) })
}

func isClock(text string) bool {
	return len(text) == len("15:04") && text[2] == ':' && isBelow(text[:2], 24) && isBelow(text[3:], 60)
}

// isBelow reports whether two characters are digits of a number below a limit.
func isBelow(digits string, limit int) bool {
	return digits[0]-'0' <= 9 && digits[1]-'0' <= 9 && number(digits) < limit
}

// number returns the number of two digits.
func number(digits string) int { return int(digits[0]-'0')*10 + int(digits[1]-'0') }

// link reads an https URL without credentials and fragment.
func (r *reader) link(most int) string { return r.form(most, r.isLink) }

// isLink reports whether a text is such a URL. The images of a company usually have one origin, which is checked once.
func (r *reader) isLink(text string) bool {
	const scheme = "https://"
	if len(text) < len(scheme) {
		return false
	}
	path := strings.IndexByte(text[len(scheme):], '/') + len(scheme)
	if path < len(scheme) || r.origin == "" || text[:path] != r.origin || !isPlain(text[path:]) {
		if !publicurl.IsHTTPS(text) {
			return false
		}
		r.origin = text[:max(path, 0)]
	}
	return true
}

// isPlain reports whether a text has only characters that need no further check, in a URL or in a name.
func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; !isAlphanumeric(rune(c)) && strings.IndexByte("_/-.~?=&,;:@!$+*", c) < 0 {
			return false
		}
	}
	return true
}

// logo reads the URL of a logo, whose host must look public, or null.
func (r *reader) logo() *string {
	const maxLogo = 2048
	if r.null() {
		return nil
	}
	return new(r.form(maxLogo, func(text string) bool {
		if !publicurl.IsHTTPS(text) {
			return false
		}
		u, err := url.Parse(text)
		return err == nil && publicurl.IsPublicName(u.Hostname())
	}))
}

// color reads a color of six hexadecimal digits in upper case.
func (r *reader) color() string {
	const length = 7
	return r.form(length, func(text string) bool {
		return len(text) == length && text[0] == '#' && strings.Trim(text[1:], "0123456789ABCDEF") == ""
	})
}

// category reads the name of a ticket category.
func (r *reader) category() string {
	const maxCategory = 60
	return r.form(maxCategory, func(text string) bool {
		return isPlain(text) && text != "" || isLine(text) && strings.TrimSpace(text) == text
	})
}

// isLine reports whether a text is not empty and has no control character.
func isLine(text string) bool { return text != "" && !strings.ContainsFunc(text, unicode.IsControl) }

// maxRequestID is the length of the longest request id.
const maxRequestID = 128

func isRequestID(text string) bool { return safename.Valid(text, 1, maxRequestID) }

// maxCursor is the length of the longest cursor.
const maxCursor = 512

// isCursor reports whether a text is in the form of every cursor.
func isCursor(text string) bool {
	return text != "" && len(text) <= maxCursor && !strings.ContainsFunc(text, func(c rune) bool {
		return !isAlphanumeric(c) && c != '_' && c != '-'
	})
}

// maxCode is the length of the longest error code.
const maxCode = 100

// isCode reports whether a text is in the form of an error code.
func isCode(text string) bool {
	if text == "" || len(text) > maxCode || text[0] < 'A' || text[0] > 'Z' {
		return false
	}
	return !strings.ContainsFunc(text, func(c rune) bool {
		return c != '_' && (c < 'A' || c > 'Z') && (c < '0' || c > '9')
	})
}

func isAlphanumeric(c rune) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
