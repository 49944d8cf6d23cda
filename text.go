package ticketing

import (
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/floatgate/ticketing/internal/publicurl"
)

// text trims a text of at most limit characters, which may be empty. Control characters are refused, save for tabs
// and line breaks (LF or CRLF) where the text may have several lines.
func text(v *violations, path, s string, limit int, multiline bool) string {
	s = strings.TrimSpace(s)
	checkText(v, path, s, limit, multiline)
	return s
}

// checkText is text for what is taken as it is.
func checkText(v *violations, path, s string, limit int, multiline bool) {
	switch {
	case !utf8.ValidString(s):
		v.add(path, "must be valid UTF-8")
	case utf8.RuneCountInString(s) > limit:
		v.add(path, fmt.Sprintf("must be at most %d characters", limit))
	case hasControl(s, multiline):
		v.add(path, "must not contain control characters")
	}
}

// requiredText trims a text on one line, of least to limit characters.
func requiredText(v *violations, path, s string, least, limit int) string {
	before := len(*v)
	s = text(v, path, s, limit, false)
	if len(*v) == before && utf8.RuneCountInString(s) < least {
		if least == 1 {
			v.add(path, "must not be empty")
		} else {
			v.add(path, fmt.Sprintf("must be %d to %d characters", least, limit))
		}
	}
	return s
}

func hasControl(s string, multiline bool) bool {
	if multiline {
		s = strings.NewReplacer("\r\n", "", "\n", "", "\t", "").Replace(s)
	}
	return strings.ContainsFunc(s, unicode.IsControl)
}

// httpsURL checks an absolute https URL with a host, without credentials or fragment. It is not trimmed. What is let
// through, a browser reads as the same URL.
func httpsURL(v *violations, path, s string, limit int) {
	before := len(*v)
	checkText(v, path, s, limit, false)
	if len(*v) == before && !publicurl.IsHTTPS(s) {
		v.add(path, "must be an absolute https URL with a host, without credentials or a fragment")
	}
}

// publicURL is an httpsURL whose host looks like one of the public internet: a plain ASCII name of two labels or
// more, no address in any spelling, no name that only a machine or a local network knows (section 2.7).
func publicURL(v *violations, path, s string, limit int) {
	before := len(*v)
	httpsURL(v, path, s, limit)
	if len(*v) > before {
		return
	}
	if u, err := url.Parse(s); err != nil || !publicurl.IsPublicName(u.Hostname()) {
		v.add(path, "must have a public host name, not an address, a local name or a name with a trailing dot")
	}
}

// email trims and lower-cases one address, which may be empty: no display name, a dot-atom or quoted local part, a
// domain of at least two labels.
func email(v *violations, path, s string, limit int) string {
	before := len(*v)
	s = text(v, path, s, limit, false)
	if len(*v) == before && s != "" && !isEmail(s) {
		v.add(path, "must be one email address, such as ada@example.com")
	}
	return strings.ToLower(s)
}

// requiredEmail is an email that is not empty.
func requiredEmail(v *violations, path, s string, limit int) string {
	s = email(v, path, s, limit)
	if s == "" {
		v.add(path, "must not be empty")
	}
	return s
}

// isEmail tells whether s is an addr-spec of RFC 5322 in its plain form: no comments, no folding, no address literal.
func isEmail(s string) bool {
	at := strings.LastIndexByte(s, '@')
	if at < 0 {
		return false
	}
	local, domain := s[:at], s[at+1:]
	return publicurl.IsDomain(domain) && (isDotAtom(local) || isQuoted(local))
}

func isDotAtom(s string) bool {
	for atom := range strings.SplitSeq(s, ".") {
		if atom == "" || strings.ContainsFunc(atom, func(r rune) bool {
			return !isAlphanumeric(r) && !strings.ContainsRune("!#$%&'*+-/=?^_`{|}~", r)
		}) {
			return false
		}
	}
	return true
}

func isQuoted(s string) bool {
	if len(s) < 3 || s[0] != '"' || s[len(s)-1] != '"' {
		return false
	}
	s = s[1 : len(s)-1]
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] < ' ' || s[i] > '~' || s[i] == '"':
			return false
		case s[i] == '\\':
			// The pair's second character may be a quote or another backslash, too.
			i++
			if i == len(s) || s[i] < ' ' || s[i] > '~' {
				return false
			}
		}
	}
	return true
}

func isAlphanumeric(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}
