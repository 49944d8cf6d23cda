// Package publicurl decides which URLs a stranger may supply: https, with a host name of the public internet.
//
// It checks only the text. An acceptable name may have an unacceptable address, today or tomorrow. So code that
// connects must dial through package safedial.
package publicurl

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// MaxLength is the maximum number of characters of a URL.
const MaxLength = 2048

const maxName, maxLabel = 253, 63

// Check checks a URL to send to. It must be absolute, https, of at most [MaxLength] ASCII characters, without
// credentials and fragment, with a port from 1 to 65535 if it has one. Its host must be a name of the public internet,
// see [IsPublicName]. With allowPrivate it may also be localhost or another local name, an IPv4 address of four decimal
// numbers, or an IPv6 address in brackets, without a zone.
//
// Check returns the URL to store: its scheme and host are in lower case, and the rest is unchanged. Checking that URL
// again returns it unchanged. The error is a short phrase that says what to change, and is meant to follow the name of
// a field. It repeats nothing of the URL but its host.
func Check(raw string, allowPrivate bool) (normalized string, err error) {
	if err := checkText(raw); err != nil {
		return "", err
	}
	u, err := url.Parse(raw)
	if err != nil {
		// The parser's message contains the URL, which may contain a password.
		return "", errors.New("must be a URL such as https://hooks.example.com/tickets, with a valid host and port")
	}
	const scheme = "https://"
	if len(raw) < len(scheme) || !strings.EqualFold(raw[:len(scheme)], scheme) {
		return "", errors.New("must begin with https://")
	}
	authority := raw[len(scheme):]
	if end := strings.IndexAny(authority, "/?"); end >= 0 {
		authority = authority[:end]
	}
	switch {
	case u.User != nil || strings.Contains(authority, "@"):
		return "", errors.New("must not contain credentials")
	case strings.Contains(authority, "%"):
		return "", errors.New("must not have a percent sign in its host")
	case u.Hostname() == "":
		return "", errors.New("must have a host")
	case authority != u.Host:
		return "", errors.New("must have a plain host and port")
	case strings.HasSuffix(authority, ":") || u.Port() != "" && !isPort(u.Port()):
		return "", errors.New("must have a port from 1 to 65535, or none")
	}
	if err := checkHost(strings.ToLower(u.Hostname()), strings.HasPrefix(authority, "["), allowPrivate); err != nil {
		return "", err
	}
	if ascii, err := lookupName(u.Hostname()); !IsHTTPS(raw) ||
		authority[0] != '[' && (err != nil || ascii != strings.ToLower(u.Hostname())) {
		return "", errors.New("must have a host that can be looked up")
	}
	return scheme + strings.ToLower(authority) + raw[len(scheme)+len(authority):], nil
}

// checkText makes the checks that need no parser. So no parser sees such texts, and no two parsers can disagree about
// them.
func checkText(raw string) error {
	switch {
	case raw == "":
		return errors.New("must not be empty")
	case !utf8.ValidString(raw):
		return errors.New("must be valid UTF-8")
	case utf8.RuneCountInString(raw) > MaxLength:
		return fmt.Errorf("must be at most %d characters", MaxLength)
	case strings.ContainsFunc(raw, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }):
		return errors.New("must not contain spaces or control characters")
	case strings.Contains(raw, `\`):
		return errors.New("must not contain backslashes")
	case strings.Contains(raw, "#"):
		return errors.New("must not have a fragment")
	case strings.ContainsFunc(raw, func(r rune) bool { return r >= utf8.RuneSelf }):
		return checkLetters(raw)
	}
	return nil
}

// checkLetters returns the error for a URL with non-ASCII letters. It names the ASCII form of the host if that would be
// accepted.
func checkLetters(raw string) error {
	if u, err := url.Parse(raw); err == nil {
		if ascii, err := lookupName(u.Hostname()); err == nil && ascii != u.Hostname() && IsPublicName(ascii) {
			return fmt.Errorf("must be written in ASCII, its host as %s", ascii)
		}
	}
	return errors.New("must be written in ASCII: a host with other letters as xn--…, the rest percent-encoded")
}

func checkHost(host string, bracketed, allowPrivate bool) error {
	labels := strings.Split(host, ".")
	last := labels[len(labels)-1]
	switch {
	case allowPrivate && isHost(host, bracketed) && last != "":
		return nil
	case bracketed || isNumber(last) && last != "":
		return errors.New("must have a host name, not an IP address")
	case last == "" && len(labels) > 1:
		return errors.New("must not have a dot at the end of its host")
	case allowPrivate:
		return errors.New("must have a host of letters, digits, hyphens and dots")
	case len(labels) == 1 || IsDomain(host) && isLocal(labels):
		return errors.New("must have a public host name, not one of a machine or a local network")
	case !IsPublicName(host):
		return errors.New("must have a host of letters, digits, hyphens and dots, such as hooks.example.com")
	}
	return nil
}

func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0 && s[0] != '0'
}

// IsHTTPS reports whether s is an absolute https URL with a host, without credentials or fragment, that a browser reads
// as the same URL. The host may be local or an address.
func IsHTTPS(s string) bool {
	// A browser turns backslashes into slashes, and drops the # of an empty fragment.
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

// isHost reports whether a host is an address or a name that a browser accepts.
func isHost(host string, bracketed bool) bool {
	if bracketed {
		ip, err := netip.ParseAddr(host)
		return err == nil && ip.Is6() && ip.Zone() == ""
	}
	ascii, err := lookupName(host)
	if err != nil {
		return false
	}
	host = ascii
	labels := strings.Split(strings.TrimSuffix(host, "."), ".")
	for _, label := range labels {
		if isRagged(label) || strings.ContainsFunc(label, notInLabel) {
			return false
		}
	}
	// A browser reads a host whose last label is a number as an address.
	if !isNumber(labels[len(labels)-1]) {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Is4()
}

// lookupName returns a host as a browser looks it up, in lower-case ASCII. Two hyphens are allowed anywhere, as in
// v1--shop.example.com.
func lookupName(host string) (string, error) { return lookup().ToASCII(host) }

var lookup = sync.OnceValue(func() *idna.Profile {
	return idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(false), idna.CheckHyphens(false))
})

// IsPublicName reports whether a host looks like one of the public internet. It must be a domain of ASCII letters,
// without a dot at its end. It must not be an address in any spelling, nor a name that only a machine or a local
// network knows.
func IsPublicName(host string) bool {
	host = strings.ToLower(host)
	if len(host) > maxName || !IsDomain(host) {
		return false
	}
	labels := strings.Split(host, ".")
	for _, label := range labels {
		if len(label) > maxLabel {
			return false
		}
	}
	return !isLocal(labels)
}

// isLocal reports whether a name of two labels or more, in lower case, is reserved for machines and local networks.
func isLocal(labels []string) bool {
	switch labels[len(labels)-1] {
	case "localhost", "local", "internal", "localdomain":
		return true
	case "arpa":
		return labels[len(labels)-2] == "home"
	}
	return false
}

// IsDomain reports whether s is a domain of two labels or more, of letters, digits and inner hyphens. The last label
// must not be a number, since resolvers read such a name as an address.
func IsDomain(s string) bool {
	labels := strings.Split(s, ".")
	for _, label := range labels {
		if isRagged(label) || strings.ContainsFunc(label, func(r rune) bool { return notInLabel(r) || r == '_' }) {
			return false
		}
	}
	return len(labels) >= 2 && !isNumber(labels[len(labels)-1])
}

// isRagged reports whether a label is empty or has a hyphen at an end.
func isRagged(label string) bool {
	return label == "" || label[0] == '-' || label[len(label)-1] == '-'
}

func notInLabel(r rune) bool {
	return ('a' > r || r > 'z') && ('A' > r || r > 'Z') && ('0' > r || r > '9') && r != '-' && r != '_'
}

// isNumber reports whether a label is decimal, octal or hexadecimal, as the parts of an IPv4 address may be written.
func isNumber(label string) bool {
	digits, hexadecimal := strings.CutPrefix(strings.ToLower(label), "0x")
	return strings.Trim(digits, "0123456789") == "" ||
		hexadecimal && strings.Trim(digits, "0123456789abcdef") == ""
}
