// Package safedial connects to hosts that strangers name, and to the public internet alone.
//
// A [Dialer] resolves a name itself, looks at every address of the answer, refuses the name if one of them is not
// public, connects to exactly an address that it looked at, and looks again at what was connected. Between the look and
// the connection no name is resolved, so that there is nothing left for an answer that changes in between.
package safedial

import (
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"code.dny.dev/ssrf"
)

// mappedBits is how long the prefix of IPv4-mapped addresses is, ::ffff:0:0/96.
const mappedBits = 96

// Policy says which addresses are dialled. The zero Policy lets public addresses through alone.
type Policy struct {
	// AllowPrivate opens loopback, the private networks of RFC 1918 and unique-local addresses, for development. What
	// else is special stays closed, first of all the metadata of clouds, link-local or unique-local.
	AllowPrivate bool
	// Denied is closed, too, whatever else holds: public addresses that are served from inside, for instance. An IPv4
	// prefix also covers its IPv4-mapped form, and the other way round.
	Denied []netip.Prefix
}

// AddressError says that an address is not dialled.
type AddressError struct {
	Addr netip.Addr
}

// Error names the address.
func (e *AddressError) Error() string {
	return fmt.Sprintf("the address %s is not public", e.Addr.WithZone(""))
}

// Check tells whether an address may be dialled; if not, the error is an [*AddressError]. An IPv4-mapped address is the
// IPv4 address in it. All that the IANA registries of special-purpose addresses hold is refused, also what is said there
// to be globally reachable: nobody's server has such an address.
func (p Policy) Check(addr netip.Addr) error {
	addr = addr.Unmap()
	if !addr.IsValid() || addr.Zone() != "" || p.isDenied(addr) || !p.isOpen(addr) {
		return &AddressError{Addr: addr}
	}
	return nil
}

func (p Policy) isDenied(addr netip.Addr) bool {
	for _, prefix := range p.Denied {
		if unmap(prefix).Contains(addr) {
			return true
		}
	}
	return false
}

// unmap is a prefix of IPv4-mapped addresses as one of IPv4 addresses. A wider one is left as it is.
func unmap(prefix netip.Prefix) netip.Prefix {
	if prefix.Addr().Is4In6() && prefix.Bits() >= mappedBits {
		return netip.PrefixFrom(prefix.Addr().Unmap(), prefix.Bits()-mappedBits)
	}
	return prefix
}

func (p Policy) isOpen(addr netip.Addr) bool {
	if p.AllowPrivate && (addr.IsLoopback() || addr.IsPrivate()) {
		return !isMetadata(addr)
	}
	return isPublic(addr)
}

// metadata is where clouds tell a machine its credentials, as far as that is among unique-local addresses.
var metadata = sync.OnceValue(func() []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix("fd00:ec2::/32"),          // All that AWS serves on the spot, credentials of pods, too.
		netip.MustParsePrefix("fd20:ce::254/128"),       // Google Cloud.
		netip.MustParsePrefix("fd00:c1::a9fe:a9fe/128"), // Oracle Cloud.
	}
})

func isMetadata(addr netip.Addr) bool {
	return slices.ContainsFunc(metadata(), func(prefix netip.Prefix) bool { return prefix.Contains(addr) })
}

// registries holds what the IANA registries do, and closes all IPv6 outside 2000::/3.
var registries = sync.OnceValue(func() *ssrf.Guardian { return ssrf.New(ssrf.WithAnyPort(), ssrf.WithAnyNetwork()) })

// alsoSpecial is what no registry of special-purpose addresses holds and is no server's address all the same.
var alsoSpecial = sync.OnceValue(func() []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix("168.63.129.16/32"), // Azure's platform, to every machine there.
		netip.MustParsePrefix("3ffe::/16"),        // The 6bone, given back (RFC 3701).
	}
})

// isPublic tells whether an address, unmapped and without a zone, is one of the public internet.
func isPublic(addr netip.Addr) bool {
	if registries().SafeAddr(addr) != nil {
		return false
	}
	for _, prefix := range alsoSpecial() {
		if prefix.Contains(addr) {
			return false
		}
	}
	return !isISATAP(addr)
}

// isISATAP tells whether an IPv6 address holds an IPv4 address that a tunnel goes to (RFC 5214): its interface is
// 0000:5efe or 0200:5efe and that address.
func isISATAP(addr netip.Addr) bool {
	b := addr.As16()
	return addr.Is6() && b[8]&^0x02 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}
