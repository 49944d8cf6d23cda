package mail

import (
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxAddress is how long a path of SMTP may be in bytes, without its angle brackets (RFC 5321, section 4.5.3.1.3).
const maxAddress = 254

var errAddress = errors.New("mail: malformed address")

// parseAddress returns the address without the quotes of its local part, which the library adds where they are needed.
// An address is one dot-atom or quoted local part, an @ and a domain of letters, digits and hyphens, without a name, a
// comment or an address literal. Letters that are not ASCII are for servers that offer SMTPUTF8.
func parseAddress(s string) (string, error) {
	if len(s) > maxAddress || !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) {
		return "", errAddress
	}
	local, domain := splitAddress(s)
	if !isDomain(domain) {
		return "", errAddress
	}
	if isDotAtom(local) {
		return s, nil
	}
	local, ok := unquote(local)
	if !ok {
		return "", errAddress
	}
	return local + "@" + domain, nil
}

// splitAddress divides the address at its last @: a quoted local part may hold others.
func splitAddress(s string) (local, domain string) {
	at := strings.LastIndexByte(s, '@')
	if at < 0 {
		return s, ""
	}
	return s[:at], s[at+1:]
}

func isDomain(s string) bool {
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' ||
			strings.ContainsFunc(label, func(r rune) bool { return r != '-' && !isLetter(r) }) {
			return false
		}
	}
	return true
}

func isDotAtom(s string) bool {
	for atom := range strings.SplitSeq(s, ".") {
		if atom == "" || strings.ContainsFunc(atom, func(r rune) bool {
			return !isLetter(r) && !strings.ContainsRune("!#$%&'*+-/=?^_`{|}~", r)
		}) {
			return false
		}
	}
	return true
}

// isLetter reports whether r is an ASCII letter or digit, or a letter, digit or mark of another script.
func isLetter(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' ||
		r >= utf8.RuneSelf && (unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r))
}

// unquote returns what a quoted local part stands for. It is printable ASCII.
func unquote(s string) (string, bool) {
	if len(s) < 3 || s[0] != '"' || s[len(s)-1] != '"' || !isPrintable(s) {
		return "", false
	}
	s = s[1 : len(s)-1]
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			return "", false
		case '\\':
			if i++; i == len(s) {
				return "", false
			}
		}
		b.WriteByte(s[i])
	}
	return b.String(), true
}
