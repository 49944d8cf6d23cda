// Package clientaddr finds the address of a client, also behind trusted proxies, and the keys that it is counted under.
package clientaddr

import (
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
)

// Prefix lengths of IPv6. A provider gives a connection at least a /64, and commonly a site a /56, which holds 256 of
// them.
const (
	clientBits = 64
	widerBits  = 56
)

// Keys returns the keys that an address is counted under: the addresses that one client commonly has, and the wider
// network that holds several such clients. An IPv4 address is one client, and has no wider network.
func Keys(address netip.Addr) (client, wider string) {
	if address.Is4() {
		return address.String(), ""
	}
	return netip.PrefixFrom(address, clientBits).Masked().String(), netip.PrefixFrom(address, widerBits).Masked().String()
}

// Connection returns the address that the connection came from. It is invalid if the connection has none.
func Connection(r *http.Request) netip.Addr {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	address, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}
	}
	return plainAddress(address)
}

// plainAddress returns the canonical form of an address: IPv4 if it is mapped into IPv6, and without a zone.
func plainAddress(address netip.Addr) netip.Addr { return address.Unmap().WithZone("") }

// Proxies are the proxies whose X-Forwarded-For is trusted.
type Proxies struct {
	trusted    []netip.Prefix
	log        *slog.Logger
	unreadable sync.Once
}

// New returns proxies. It panics if one is the zero prefix. Without any, the client is where the connection comes from.
func New(trusted []netip.Prefix, log *slog.Logger) *Proxies {
	p := &Proxies{log: log}
	for _, prefix := range trusted {
		if !prefix.IsValid() {
			panic("a trusted proxy is not a valid range of addresses")
		}
		// Addresses are compared in their short form, so "::ffff:10.0.0.0/104" has to mean 10.0.0.0/8.
		if a := prefix.Addr(); a.Is4In6() && prefix.Bits() >= 96 {
			prefix = netip.PrefixFrom(a.Unmap(), prefix.Bits()-96)
		}
		p.trusted = append(p.trusted, prefix)
	}
	return p
}

// Client returns the address of the client: the rightmost address in X-Forwarded-For that is not a trusted proxy's. If
// the header of a proxy cannot be parsed, the client is the proxy, and this is logged once. The address is invalid if
// the connection has none.
func (p *Proxies) Client(r *http.Request) netip.Addr {
	proxy := Connection(r)
	if !proxy.IsValid() || !p.trusts(proxy) {
		return proxy
	}
	for _, rest := range slices.Backward(r.Header["X-Forwarded-For"]) {
		for more := true; more; {
			var entry string
			rest, entry, more = cutLast(rest)
			if entry == "" {
				continue
			}
			address, ok := ParseForwarded(entry)
			if !ok {
				p.unreadable.Do(func() {
					p.log.WarnContext(r.Context(), "X-Forwarded-For cannot be read: the clients of this proxy are counted as one. "+
						"Its last entry must be an address, with or without a port. This is logged once",
						slog.String("proxy", proxy.String()))
				})
				return proxy
			}
			if !p.trusts(address) {
				return address
			}
		}
	}
	return proxy
}

// Keys returns the keys of the client of a request, see [Keys]. A connection without an address is its own key.
func (p *Proxies) Keys(r *http.Request) (client, wider string) {
	address := p.Client(r)
	if !address.IsValid() {
		return r.RemoteAddr, ""
	}
	return Keys(address)
}

func (p *Proxies) trusts(address netip.Addr) bool {
	for _, prefix := range p.trusted {
		if prefix.Contains(address) {
			return true
		}
	}
	return false
}

// cutLast cuts the last entry off a list, without white space around it.
func cutLast(list string) (rest, entry string, more bool) {
	i := strings.LastIndexByte(list, ',')
	return list[:max(i, 0)], strings.Trim(list[i+1:], " \t"), i >= 0
}

// ParseForwarded parses an entry of X-Forwarded-For: an address, or an address and a port, as Azure's gateways write
// it. An IPv6 address may be in brackets, and with a port must be.
func ParseForwarded(entry string) (netip.Addr, bool) {
	if address, err := netip.ParseAddr(entry); err == nil {
		return plainAddress(address), true
	}
	if with, err := netip.ParseAddrPort(entry); err == nil {
		return plainAddress(with.Addr()), true
	}
	inner, opened := strings.CutPrefix(entry, "[")
	inner, closed := strings.CutSuffix(inner, "]")
	address, err := netip.ParseAddr(inner)
	if !opened || !closed || err != nil || !address.Is6() {
		return netip.Addr{}, false
	}
	return plainAddress(address), true
}
