package httpapi

import (
	"net"
	"net/http"
	"net/netip"

	"github.com/go-chi/chi/v5/middleware"
)

// behindProxies finds the client behind trusted proxies for [proxiedAddress].
func behindProxies(proxies []netip.Prefix, next http.Handler) http.Handler {
	trusted := make([]string, len(proxies))
	for i, p := range proxies {
		// Addresses are compared in their short form, so "::ffff:10.0.0.0/104" has to mean 10.0.0.0/8.
		if a := p.Addr(); a.Is4In6() && p.Bits() >= 96 {
			p = netip.PrefixFrom(a.Unmap(), p.Bits()-96)
		}
		trusted[i] = p.String()
	}
	return middleware.ClientIPFromXFF(trusted...)(next)
}

// proxiedAddress is the client that [behindProxies] found. A proxy whose header can't be read is its own client.
func proxiedAddress(r *http.Request) string {
	if address := middleware.GetClientIPAddr(r.Context()); address.IsValid() {
		return customer(address)
	}
	return clientAddress(r)
}

// clientAddress is the address that the connection came from.
func clientAddress(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	address, err := netip.ParseAddr(host)
	if err != nil {
		return r.RemoteAddr
	}
	return customer(address.Unmap())
}

// customer is what one customer has of addresses: one of IPv4, a /64 of IPv6.
func customer(address netip.Addr) string {
	if address.Is4() {
		return address.String()
	}
	const bits = 64
	return netip.PrefixFrom(address.WithZone(""), bits).Masked().String()
}
