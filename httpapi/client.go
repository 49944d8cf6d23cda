package httpapi

import (
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
)

// clientNetworks returns what a request is counted under: what one client commonly has of addresses, and the wider network
// that holds several such clients, empty where there is none.
type clientNetworks func(r *http.Request) (client, wider string)

// Prefixes of IPv6. A provider gives a connection a /64 at least, and commonly a site a /56, which is 256 of them.
const (
	clientBits = 64
	widerBits  = 56
)

// networksOf returns what an address is counted under. One of IPv4 is a client, and nothing wider is counted.
func networksOf(address netip.Addr) (client, wider string) {
	if address.Is4() {
		return address.String(), ""
	}
	return netip.PrefixFrom(address, clientBits).Masked().String(), netip.PrefixFrom(address, widerBits).Masked().String()
}

// connectionNetworks are those of the address that the connection came from.
func connectionNetworks(r *http.Request) (client, wider string) {
	address := connectionAddress(r)
	if !address.IsValid() {
		return r.RemoteAddr, "" // A socket that has no address.
	}
	return networksOf(address)
}

// connectionAddress is the address that the connection came from, invalid where it has none.
func connectionAddress(r *http.Request) netip.Addr {
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

// plainAddress is an address in its one form: IPv4 where it is mapped into IPv6, and without a zone.
func plainAddress(address netip.Addr) netip.Addr { return address.Unmap().WithZone("") }

// proxies find the client of a request that came through them.
type proxies struct {
	trusted    []netip.Prefix
	log        *slog.Logger
	unreadable sync.Once
}

func newProxies(trusted []netip.Prefix, log *slog.Logger) *proxies {
	p := &proxies{log: log}
	for _, prefix := range trusted {
		if !prefix.IsValid() {
			panic("httpapi: a trusted proxy is no range of addresses")
		}
		// Addresses are compared in their short form, so "::ffff:10.0.0.0/104" has to mean 10.0.0.0/8.
		if a := prefix.Addr(); a.Is4In6() && prefix.Bits() >= 96 {
			prefix = netip.PrefixFrom(a.Unmap(), prefix.Bits()-96)
		}
		p.trusted = append(p.trusted, prefix)
	}
	return p
}

// networks are those of the rightmost address in X-Forwarded-For that is none of a trusted proxy. A proxy whose header
// cannot be read is its own client, which is logged once: all its clients are then counted together.
func (p *proxies) networks(r *http.Request) (client, wider string) {
	proxy := connectionAddress(r)
	if !proxy.IsValid() || !p.trusts(proxy) {
		return connectionNetworks(r)
	}
	for _, rest := range slices.Backward(r.Header["X-Forwarded-For"]) {
		for more := true; more; {
			var entry string
			rest, entry, more = cutLast(rest)
			if entry == "" {
				continue
			}
			address, ok := parseForwarded(entry)
			if !ok {
				p.unreadable.Do(func() {
					p.log.WarnContext(r.Context(), "X-Forwarded-For cannot be read: the clients of this proxy are counted as one. "+
						"Its last entry must be an address, with or without a port. This is logged once",
						slog.String("proxy", proxy.String()))
				})
				return networksOf(proxy)
			}
			if !p.trusts(address) {
				return networksOf(address)
			}
		}
	}
	return networksOf(proxy)
}

func (p *proxies) trusts(address netip.Addr) bool {
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

// parseForwarded reads an entry of X-Forwarded-For: an address, or an address and a port, as Azure's gateways write it.
// One of IPv6 may be in brackets, and with a port must be.
func parseForwarded(entry string) (netip.Addr, bool) {
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
