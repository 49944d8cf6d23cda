package shop

import (
	"math"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// limit bounds the requests of a client in a minute. All clients have the same minute, so it remembers no longer.
type limit struct {
	most int

	mu    sync.Mutex
	ends  time.Time
	count map[string]int // by the client
}

func newLimit(most int) *limit { return &limit{most: most} }

// take counts a request. It returns 0 if the request may pass, and else in how many seconds the client may try again.
func (l *limit) take(client string, now time.Time) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !now.Before(l.ends) {
		l.ends, l.count = now.Add(time.Minute), make(map[string]int)
	}
	l.count[client]++
	if l.count[client] <= l.most {
		return 0
	}
	return int(math.Ceil(l.ends.Sub(now).Seconds()))
}

// network returns the address that a request comes from: the rightmost one in X-Forwarded-For that is no trusted proxy,
// if the connection comes from one. An IPv6 address counts by its /64, of which a client has all addresses.
func (s *shop) network(r *http.Request) netip.Prefix {
	connection, _ := netip.ParseAddrPort(r.RemoteAddr)
	address := connection.Addr().Unmap()
	for _, hop := range slices.Backward(strings.Split(strings.Join(r.Header["X-Forwarded-For"], ","), ",")) {
		if !slices.ContainsFunc(s.config.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(address) }) {
			break
		}
		before, err := netip.ParseAddr(strings.TrimSpace(hop))
		if err != nil {
			break
		}
		address = before.Unmap()
	}
	prefix, _ := address.Prefix(min(address.BitLen(), 64))
	return prefix
}
