package embedproxy_test

import (
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/embedproxy"
)

// times posts a body n times, and returns how many of the answers had a status.
func (s *shop) times(t *testing.T, n, status int, body string, headers ...string) int {
	t.Helper()
	count := 0
	for range n {
		if s.post(t, body, headers...).status == status {
			count++
		}
	}
	return count
}

// By default a session, and an address, make 60 requests and 10 checkouts a minute. Retry-After says when the window
// ends.
func TestDefaultLimits(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	at := &clock{}
	api := &script{}
	everywhere := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	shop := open(t, embedproxy.Local(api), func(c *embedproxy.Config) {
		c.RequestsPerMinute, c.CheckoutsPerMinute, c.Clock, c.TrustedProxies = 0, 0, at.now, everywhere
	})
	from := func(address, session string) []string {
		return []string{"X-Forwarded-For", address, "Cookie", "session=" + session}
	}
	// Ten checkouts of one address, each in its own session. The eleventh is refused in any session.
	for n := range 10 {
		is.Equal(shop.post(t, postCheckout, from("203.0.113.1", fmt.Sprint("a", n))...).status, 201)
	}
	at.move(20 * time.Second)
	api.got()
	got := shop.post(t, postCheckout, from("203.0.113.1", "b")...)
	got.failed(t, 429, "RATE_LIMITED")
	is.Equal(got.header["Retry-After"], []string{"40"})
	is.Equal(len(api.got()), 0)
	// Another address may still buy, and this one may read.
	is.Equal(shop.post(t, postCheckout, from("203.0.113.2", "b")...).status, 201)
	is.Equal(shop.times(t, 60, 200, postList, from("203.0.113.1", "c")...), 49) // of 60, with 11 checkouts

	// Ten checkouts of one session, each from an address of its own.
	for n := range 10 {
		is.Equal(shop.post(t, postCheckout, from(fmt.Sprint("198.51.100.", n), "d")...).status, 201)
	}
	shop.post(t, postCheckout, from("198.51.100.99", "d")...).failed(t, 429, "RATE_LIMITED")
	is.Equal(shop.times(t, 60, 200, postList, from("198.51.100.98", "d")...), 49)

	// The next window is a new one.
	at.move(time.Minute)
	is.Equal(shop.post(t, postCheckout, from("203.0.113.1", "d")...).status, 201)
	is.Equal(shop.post(t, postList, from("203.0.113.1", "d")...).status, 200)
}

// A browser cannot choose its address. The addresses of an IPv6 /64 share one limit, and those of a /56 share eight
// times as much.
func TestAddresses(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	api := &script{}
	shop := open(t, embedproxy.Local(api), func(c *embedproxy.Config) { c.RequestsPerMinute = 2 })
	is.Equal(shop.times(t, 1, 200, postList, "X-Forwarded-For", "203.0.113.1"), 1)
	is.Equal(shop.times(t, 1, 200, postList, "X-Forwarded-For", "203.0.113.2"), 1)
	is.Equal(shop.times(t, 1, 429, postList, "X-Forwarded-For", "203.0.113.3"), 1)

	shop = open(t, embedproxy.Local(api), func(c *embedproxy.Config) {
		c.RequestsPerMinute = 2
		c.Session = func(r *http.Request) (string, error) { return r.Header.Get("X-Forwarded-For"), nil }
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	})
	is.Equal(shop.times(t, 1, 200, postList, "X-Forwarded-For", "2001:db8::1"), 1)
	is.Equal(shop.times(t, 1, 200, postList, "X-Forwarded-For", "2001:db8::2"), 1)
	is.Equal(shop.times(t, 1, 429, postList, "X-Forwarded-For", "2001:db8::3"), 1)
	for n := 1; n <= 7; n++ {
		is.Equal(shop.times(t, 2, 200, postList, "X-Forwarded-For", fmt.Sprintf("2001:db8:0:%x::1", n)), 2)
	}
	is.Equal(shop.times(t, 1, 429, postList, "X-Forwarded-For", "2001:db8:0:8::1"), 1)
	is.Equal(shop.times(t, 1, 200, postList, "X-Forwarded-For", "2001:db8:0:100::1"), 1)
}

// Concurrent requests get exactly what the limits of a session and of an address allow.
func TestLimitsAtOnce(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	api := &script{}
	shop := open(t, api.remote(t, nil), func(c *embedproxy.Config) {
		c.RequestsPerMinute, c.CheckoutsPerMinute = 20, 5
	})
	var listed, sold, limited atomic.Int64
	var group sync.WaitGroup
	for n := range 40 {
		group.Go(func() {
			body := postList
			if n%2 == 0 {
				body = postCheckout
			}
			switch got := shop.post(t, body); got.status {
			case 200:
				listed.Add(1)
			case 201:
				sold.Add(1)
			case 429:
				limited.Add(1)
			default:
				t.Errorf("status %d: %s", got.status, got.body)
			}
		})
	}
	group.Wait()
	is.True(sold.Load() <= 5)
	is.Equal(listed.Load()+sold.Load()+limited.Load(), int64(40))
	is.True(listed.Load()+sold.Load() <= 20)
	checkouts := 0
	for _, route := range api.routes() {
		if route == routeCheckout {
			checkouts++
		}
	}
	is.Equal(int64(checkouts), sold.Load())
}

// A negative limit means no limit.
func TestNoLimits(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	shop := open(t, embedproxy.Local(&script{}), nil)
	is.Equal(shop.times(t, 70, 200, postList), 70)
	is.Equal(shop.times(t, 20, 201, postCheckout), 20)
	most := open(t, embedproxy.Local(&script{}), func(c *embedproxy.Config) {
		c.RequestsPerMinute, c.CheckoutsPerMinute = math.MaxInt, math.MaxInt
	})
	is.Equal(most.times(t, 12, 201, postCheckout), 12)
}
