package ticketing

import (
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
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
	if len(*v) == before && !isHTTPSURL(s) {
		v.add(path, "must be an absolute https URL with a host, without credentials or a fragment")
	}
}

func isHTTPSURL(s string) bool {
	// A browser turns backslashes into slashes and drops a fragment's bare mark.
	if strings.ContainsAny(s, "\\#") || strings.ContainsFunc(s, unicode.IsSpace) {
		return false
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" || u.User != nil {
		return false
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return false
		}
	}
	return isHost(u.Hostname(), strings.HasPrefix(u.Host, "["))
}

// isHost tells whether a host is an address or a name that a browser takes.
func isHost(host string, bracketed bool) bool {
	if bracketed {
		ip, err := netip.ParseAddr(host)
		return err == nil && ip.Is6() && ip.Zone() == ""
	}
	ascii, err := idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(false)).ToASCII(host)
	if err != nil {
		return false
	}
	host = ascii
	labels := strings.Split(strings.TrimSuffix(host, "."), ".")
	for _, label := range labels {
		if label == "" || strings.ContainsFunc(label, notInLabel) {
			return false
		}
	}
	// A last label that is a number makes a browser read an address.
	if !isNumber(labels[len(labels)-1]) {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Is4()
}

func notInLabel(r rune) bool { return !isAlphanumeric(r) && r != '-' && r != '_' }

// isNumber tells whether a label is decimal, octal or hexadecimal, as the parts of an IPv4 address may be spelt.
func isNumber(label string) bool {
	digits, hexadecimal := strings.CutPrefix(strings.ToLower(label), "0x")
	return strings.Trim(digits, "0123456789") == "" ||
		hexadecimal && strings.Trim(digits, "0123456789abcdef") == ""
}

// publicURL is an httpsURL whose host looks like one of the public internet: a plain ASCII name of two labels or
// more, no address in any spelling, no name that only a machine or a local network knows (section 2.7).
func publicURL(v *violations, path, s string, limit int) {
	before := len(*v)
	httpsURL(v, path, s, limit)
	if len(*v) > before {
		return
	}
	if u, err := url.Parse(s); err != nil || !isPublicName(u.Hostname()) {
		v.add(path, "must have a public host name, not an address, a local name or a name with a trailing dot")
	}
}

func isPublicName(host string) bool {
	host = strings.ToLower(host)
	if len(host) > 253 || strings.ContainsFunc(host, func(r rune) bool { return r >= utf8.RuneSelf }) {
		return false
	}
	labels := strings.Split(host, ".")
	for _, label := range labels {
		if !isDomainLabel(label) || len(label) > 63 {
			return false
		}
	}
	last := labels[len(labels)-1]
	return len(labels) >= 2 && !isNumber(last) && last != "localhost" && last != "local" && last != "internal"
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
	labels := strings.Split(domain, ".")
	for _, label := range labels {
		if !isDomainLabel(label) {
			return false
		}
	}
	return len(labels) >= 2 && !isNumber(labels[len(labels)-1]) && (isDotAtom(local) || isQuoted(local))
}

// isDomainLabel tells whether a label is letters, digits and inner hyphens.
func isDomainLabel(label string) bool {
	return label != "" && label[0] != '-' && label[len(label)-1] != '-' &&
		!strings.ContainsFunc(label, func(r rune) bool { return !isAlphanumeric(r) && r != '-' })
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
