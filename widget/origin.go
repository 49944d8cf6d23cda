package widget

import (
	"net/netip"
	"strconv"
	"strings"
)

// isOrigin reports whether a text is an https origin exactly as a browser writes one: https://, a host and, if it is
// not 443, a port. It has no path, not even a slash, no credentials and no upper case. A host is a name in ASCII, where
// other letters are Punycode, or an address, of version 6 in brackets. So an origin has no letter that ends a part of a
// header or of HTML.
func isOrigin(text string) bool {
	host, found := strings.CutPrefix(text, "https://")
	if !found {
		return false
	}
	if at := strings.LastIndexByte(host, ':'); at > strings.LastIndexByte(host, ']') {
		port := host[at+1:]
		number, err := strconv.ParseUint(port, 10, 16)
		if err != nil || number == 0 || number == 443 || strconv.FormatUint(number, 10) != port {
			return false
		}
		host = host[:at]
	}
	if strings.HasPrefix(host, "[") {
		return isAddress6(host)
	}
	return isName(host) || isAddress4(host)
}

// isName reports whether a host is a name in lower-case ASCII that a browser does not read as an address.
func isName(host string) bool {
	const name, label = 253, 63 // how long a DNS name and its labels may be
	if len(host) > name {
		return false
	}
	last := ""
	for last = range strings.SplitSeq(host, ".") {
		if last == "" || len(last) > label || strings.ContainsFunc(last, notInLabel) {
			return false
		}
	}
	return !isNumber(last)
}

func notInLabel(r rune) bool {
	return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
}

// isNumber reports whether the last label of a host makes a browser read the host as an address of version 4.
func isNumber(label string) bool {
	digits, hexadecimal := strings.CutPrefix(label, "0x")
	return strings.Trim(digits, "0123456789") == "" || hexadecimal && strings.Trim(digits, "0123456789abcdef") == ""
}

func isAddress4(host string) bool {
	address, err := netip.ParseAddr(host)
	return err == nil && address.Is4() && address.String() == host
}

// isAddress6 reports whether a host is an address of version 6 in brackets, in the one form that browsers write.
func isAddress6(host string) bool {
	inner := strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	address, err := netip.ParseAddr(inner)
	if err != nil || !address.Is6() || address.Zone() != "" || "["+inner+"]" != host {
		return false
	}
	if address.Is4In6() { // Browsers write its end in hexadecimal, too.
		bytes := address.As16()
		group := func(at int) string {
			return strconv.FormatUint(uint64(bytes[at])<<8|uint64(bytes[at+1]), 16)
		}
		return inner == "::ffff:"+group(12)+":"+group(14)
	}
	return address.String() == inner
}
