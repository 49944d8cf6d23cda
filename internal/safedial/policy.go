// Package safedial connects to hosts that strangers name, and only on the public internet.
//
// A [Dialer] resolves a name itself and checks every address of the response. It refuses the name if one of them is not
// public. It connects to exactly a checked address, and checks the connection's remote address again. No name is
// resolved between the check and the connection, so a DNS response that changes in between has no effect.
package safedial

import (
	"fmt"
	"net/netip"
	"slices"
	"sync"

	"code.dny.dev/ssrf"
)

// mappedBits is the length of the prefix of IPv4-mapped addresses, ::ffff:0:0/96.
const mappedBits = 96

// Policy determines which addresses may be dialled. The zero Policy allows only public addresses.
type Policy struct {
	// AllowPrivate also allows loopback, the private networks of RFC 1918 and unique-local addresses, for development.
	// All other special addresses remain refused, above all the metadata services of clouds, link-local or
	// unique-local.
	AllowPrivate bool
	// Denied addresses are refused, whatever else is allowed. An example are public addresses that are served from
	// inside. An IPv4 prefix also covers its IPv4-mapped form, and vice versa.
	Denied []netip.Prefix
}

// AddressError is the error for an address that may not be dialled.
type AddressError struct {
	Addr netip.Addr
}

// Error names the address.
func (e *AddressError) Error() string {
	return fmt.Sprintf("the address %s is not public", e.Addr.WithZone(""))
}

// Check returns nil if an address may be dialled, and otherwise an [*AddressError]. An IPv4-mapped address counts as
// its IPv4 address. Every address in the IANA registries of special-purpose addresses is refused, even one that is
// listed there as globally reachable: no server has such an address.
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

// unmap converts a prefix of IPv4-mapped addresses to one of IPv4 addresses. It returns a wider prefix unchanged.
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

// metadata returns the unique-local addresses at which clouds give a machine its credentials.
var metadata = sync.OnceValue(func() []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix("fd00:ec2::/32"),          // All local services of AWS, also the credentials of pods.
		netip.MustParsePrefix("fd20:ce::254/128"),       // Google Cloud.
		netip.MustParsePrefix("fd00:c1::a9fe:a9fe/128"), // Oracle Cloud.
	}
})

func isMetadata(addr netip.Addr) bool {
	return slices.ContainsFunc(metadata(), func(prefix netip.Prefix) bool { return prefix.Contains(addr) })
}

// registries checks the IANA registries, and refuses all IPv6 outside 2000::/3.
var registries = sync.OnceValue(func() *ssrf.Guardian { return ssrf.New(ssrf.WithAnyPort(), ssrf.WithAnyNetwork()) })

// alsoSpecial returns addresses that are in no registry of special-purpose addresses, but belong to no public server.
var alsoSpecial = sync.OnceValue(func() []netip.Prefix {
	return []netip.Prefix{
		netip.MustParsePrefix("168.63.129.16/32"), // Azure's platform, for every machine there.
		netip.MustParsePrefix("3ffe::/16"),        // The 6bone, returned (RFC 3701).
	}
})

// isPublic reports whether an address, unmapped and without a zone, is one of the public internet.
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

// isISATAP reports whether an IPv6 address contains the IPv4 address of a tunnel's end (RFC 5214): its interface id is
// 0000:5efe or 0200:5efe, followed by that address.
func isISATAP(addr netip.Addr) bool {
	b := addr.As16()
	return addr.Is6() && b[8]&^0x02 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe
}
