package safedial_test

import (
	"encoding/json"
	"errors"
	"net/netip"
	"os"
	"testing"

	"github.com/matryer/is"
	"pgregory.net/rapid"

	"github.com/floatgate/ticketing/internal/safedial"
)

func load[T any](tb testing.TB, file string) []T {
	tb.Helper()
	data, err := os.ReadFile("testdata/" + file)
	if err != nil {
		tb.Fatal(err)
	}
	var entries []T
	if err := json.Unmarshal(data, &entries); err != nil {
		tb.Fatal(err)
	}
	return entries
}

type special struct {
	Registry, Prefix, Name, Source string
	GloballyReachable              bool
}

// last returns the last address of a prefix.
func last(prefix netip.Prefix) netip.Addr {
	b := prefix.Masked().Addr().AsSlice()
	for bit := prefix.Bits(); bit < len(b)*8; bit++ {
		b[bit/8] |= 0x80 >> (bit % 8)
	}
	addr, _ := netip.AddrFromSlice(b)
	return addr
}

// No address in the registries of special-purpose addresses may be dialled: neither the first and the last address of
// each prefix, nor any in between, nor the IPv4-mapped form of an IPv4 address.
func TestRegistriesAreClosed(t *testing.T) {
	t.Parallel()
	for _, s := range load[special](t, "special.json") {
		prefix := netip.MustParsePrefix(s.Prefix)
		t.Run(s.Prefix, func(t *testing.T) {
			t.Parallel()
			var policy safedial.Policy
			refused := func(addr netip.Addr) {
				t.Helper()
				if policy.Check(addr) == nil {
					t.Errorf("%s of %s (%s) is dialled", addr, s.Prefix, s.Name)
				}
				if addr.Is4() && policy.Check(netip.AddrFrom16(addr.As16())) == nil {
					t.Errorf("%s of %s (%s) is dialled in its mapped form", addr, s.Prefix, s.Name)
				}
			}
			refused(prefix.Masked().Addr())
			refused(last(prefix))
			if s.Prefix == "::ffff:0:0/96" {
				return // The addresses in between are IPv4, which has its own registry.
			}
			rapid.Check(t, func(t *rapid.T) {
				b := prefix.Masked().Addr().AsSlice()
				noise := rapid.SliceOfN(rapid.Byte(), len(b), len(b)).Draw(t, "noise")
				for bit := prefix.Bits(); bit < len(b)*8; bit++ {
					b[bit/8] |= noise[bit/8] & (0x80 >> (bit % 8))
				}
				addr, _ := netip.AddrFromSlice(b)
				if policy.Check(addr) == nil {
					t.Fatalf("%s of %s (%s) is dialled", addr, s.Prefix, s.Name)
				}
			})
		})
	}
}

// Each address of the corpus is allowed or refused as it says, with and without AllowPrivate.
func TestCorpusOfAddresses(t *testing.T) {
	t.Parallel()
	for _, entry := range load[struct {
		Address, Why        string
		Public, Development bool
	}](t, "addresses.json") {
		addr := netip.MustParseAddr(entry.Address)
		for _, check := range []struct{ private, want bool }{{false, entry.Public}, {true, entry.Development}} {
			err := safedial.Policy{AllowPrivate: check.private}.Check(addr)
			if (err == nil) != check.want {
				t.Errorf("%s (%s), private %v: %v", addr, entry.Why, check.private, err)
			}
		}
	}
}

// The zero Addr is refused, and an error names its address without a zone.
func TestAddressErrorNamesTheAddress(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	err := safedial.Policy{}.Check(netip.MustParseAddr("::ffff:10.0.0.1"))
	var refused *safedial.AddressError
	is.True(errors.As(err, &refused))
	is.Equal(refused.Addr, netip.MustParseAddr("10.0.0.1"))
	is.Equal(err.Error(), "the address 10.0.0.1 is not public")
	is.Equal(safedial.Policy{}.Check(netip.MustParseAddr("fe80::1%a b")).Error(), "the address fe80::1 is not public")
	is.True(safedial.Policy{}.Check(netip.Addr{}) != nil)
	is.True(safedial.Policy{AllowPrivate: true}.Check(netip.Addr{}) != nil)
}

// Denied addresses are refused in both forms, whatever else is allowed. No other address is.
func TestDeniedOnTop(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	policy := safedial.Policy{AllowPrivate: true, Denied: []netip.Prefix{
		netip.MustParsePrefix("8.8.8.0/24"), netip.MustParsePrefix("::ffff:9.9.9.0/120"),
		netip.MustParsePrefix("2606:4700::/32"), netip.MustParsePrefix("10.0.0.0/8"),
	}}
	for _, addr := range []string{"8.8.8.8", "::ffff:8.8.8.8", "9.9.9.9", "::ffff:9.9.9.9", "2606:4700::1", "10.1.1.1"} {
		is.True(policy.Check(netip.MustParseAddr(addr)) != nil) // it is denied
	}
	for _, addr := range []string{"8.8.4.4", "9.9.8.9", "2606:4701::1", "192.168.1.1", "127.0.0.1"} {
		is.NoErr(policy.Check(netip.MustParseAddr(addr)))
	}
}
