package ticketing

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/internal/publicurl"
)

// trimmedText trims a text of at most limit characters (Unicode code points), which may be empty. It refuses control
// characters, except tabs and line breaks (LF or CRLF) in a text that may have several lines. The limit counts code
// points, as the contract counts all lengths, and not bytes.
func trimmedText(v *violations, path, s string, limit int, multiline bool) string {
	s = strings.TrimSpace(s)
	checkText(v, path, s, limit, multiline)
	return s
}

// checkText checks a text as trimmedText does, but does not trim it. Invalid UTF-8 is refused, since no store could
// keep it exactly. Of several violations it reports the first: the later checks would follow from it.
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

// requiredText trims a text on one line, of least to limit characters. The length counts after trimming. It reports one
// violation for each text: the first check that fails.
func requiredText(v *violations, path, s string, least, limit int) string {
	before := len(*v)
	s = trimmedText(v, path, s, limit, false)
	// A text that has a violation already gets no second one about its length.
	if len(*v) == before && utf8.RuneCountInString(s) < least {
		if least == 1 {
			v.add(path, "must not be empty")
		} else {
			v.add(path, fmt.Sprintf("must be %d to %d characters", least, limit))
		}
	}
	return s
}

// hasControl reports whether a text has a control character that is not allowed. A CR without an LF is never allowed,
// since clients would show it differently. A text with several lines keeps its line breaks as they were sent: LF or
// CRLF.
func hasControl(s string, multiline bool) bool {
	if multiline {
		s = strings.NewReplacer("\r\n", "", "\n", "", "\t", "").Replace(s)
	}
	return strings.ContainsFunc(s, unicode.IsControl)
}

// httpsURL checks an absolute https URL with a host and without credentials or fragment. It does not trim it. A browser
// reads every URL that passes as the same URL: browser proxies refuse anything else, so it must not get into a
// response. A URL is kept as it was sent, so two spellings of one URL are two texts.
func httpsURL(v *violations, path, s string, limit int) {
	before := len(*v)
	checkText(v, path, s, limit, false)
	if len(*v) == before && !publicurl.IsHTTPS(s) {
		v.add(path, "must be an absolute https URL with a host, without credentials or a fragment")
	}
}

// publicURL checks an httpsURL whose host looks like one of the public internet (section 2.7): a plain ASCII name of
// two labels or more. An address in any spelling is refused, and so is a name that only a machine or a local network
// knows. It is checked without a look-up: a name may change what it resolves to at any time.
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

// email trims and lower-cases one address, which may be empty. It has no display name, a dot-atom or quoted local part,
// and a domain of at least two labels. The lower case makes one buyer of all spellings (section 4.11, rule 3). The
// check proves the form and not that the address exists.
func email(v *violations, path, s string, limit int) string {
	before := len(*v)
	s = trimmedText(v, path, s, limit, false)
	if len(*v) == before && s != "" && !isEmail(s) {
		v.add(path, "must be one email address, such as ada@example.com")
	}
	return strings.ToLower(s)
}

// requiredEmail is email for an address that must not be empty.
func requiredEmail(v *violations, path, s string, limit int) string {
	s = email(v, path, s, limit)
	if s == "" {
		v.add(path, "must not be empty")
	}
	return s
}

// isEmail reports whether s is an addr-spec of RFC 5322 in its plain form: no comments, no folding, no address literal.
// The last @ divides it, because a quoted local part may hold others.
func isEmail(s string) bool {
	at := strings.LastIndexByte(s, '@')
	if at < 0 {
		return false
	}
	local, domain := s[:at], s[at+1:]
	return publicurl.IsDomain(domain) && (isDotAtom(local) || isQuoted(local))
}

// isDotAtom reports whether s is a dot-atom of RFC 5322: one or more atoms with a dot between them.
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

// isQuoted reports whether s is a quoted string of RFC 5322 in ASCII, with at least one character between the quotes.
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
			// The second character of the pair may also be a quote or another backslash.
			i++
			if i == len(s) || s[i] < ' ' || s[i] > '~' {
				return false
			}
		}
	}
	return true
}

// isAlphanumeric reports whether r is an ASCII letter or digit.
func isAlphanumeric(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}

// ParseID parses the id of a resource: the 36 characters of a UUID of version 4, in either case (section 2.1).
//
// Its error does not repeat the input, so it may be used as a violation.
func ParseID(s string) (uuid.UUID, error) {
	// uuid.Parse also accepts braces, "urn:uuid:" and bare digits. With 36 characters only the plain form is left.
	if len(s) == 36 {
		if id, err := uuid.Parse(s); err == nil && id.Version() == 4 && id.Variant() == uuid.RFC4122 {
			return id, nil
		}
	}
	return uuid.Nil, errors.New("must be a UUID of version 4")
}

// optional returns a pointer to s, and nil for the empty string, with which records stand for no text.
func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
