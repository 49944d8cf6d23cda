package clientaddr_test

import (
	"net/netip"
	"testing"

	"github.com/floatgate/ticketing/internal/clientaddr"
)

// FuzzForwarded parses any entry of X-Forwarded-For: the result is an address in its canonical form, the same for every
// notation, with and without a port.
func FuzzForwarded(f *testing.F) {
	for _, entry := range []string{
		"203.0.113.1", "203.0.113.1:80", "[2001:db8::1]:80", "[::1]", "::ffff:1.2.3.4", "fe80::1%0", "[", "]:1", "1.1.1.1:",
		"[1.1.1.1]",
	} {
		f.Add(entry, uint16(80))
	}
	f.Fuzz(func(t *testing.T, entry string, port uint16) {
		address, ok := clientaddr.ParseForwarded(entry)
		if !ok {
			return
		}
		if !address.IsValid() || address.Is4In6() || address.Zone() != "" {
			t.Fatalf("%q is %v", entry, address)
		}
		ways := []string{address.String(), netip.AddrPortFrom(address, port).String()}
		if address.Is6() {
			ways = append(ways, "["+address.String()+"]")
		}
		for _, way := range ways {
			if again, ok := clientaddr.ParseForwarded(way); !ok || again != address {
				t.Fatalf("%q is %v, and %q is %v, %v", entry, address, way, again, ok)
			}
		}
	})
}
