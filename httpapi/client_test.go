package httpapi_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/netip"
	"strconv"
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/httpapi"
	"github.com/floatgate/ticketing/store/memory"
)

// behind returns a handler with a limit that trusts 10.0.0.0/8, and its log.
func behind(t *testing.T, limit int) (status func(forwarded string) int, log *bytes.Buffer) {
	t.Helper()
	svc, err := ticketing.New(memory.New(), nil)
	is.New(t).NoErr(err)
	log = new(bytes.Buffer)
	handler := newHandler(t, svc, &httpapi.Config{
		RateLimit: limit, TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, Clock: new(clock).now,
		Logger: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	return func(forwarded string) int {
		r := from("10.0.0.1:1", forwarded)
		return statusOf(handler, &r)
	}, log
}

// A port in X-Forwarded-For is not part of the client: each client is counted separately, whatever its ports.
func TestForwardedWithPorts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, first, same, other string }{
		{"IPv4 and port", "203.0.113.1:4711", "203.0.113.1:4712", "203.0.113.2:4711"},
		{"with and without", "203.0.113.1:4711", "203.0.113.1", "203.0.113.3"},
		{"IPv6 and port", "[2001:db8::1]:4711", "2001:db8::1", "[2001:db8:0:1::1]:4711"},
		{"brackets alone", "[2001:db8::1]", "[2001:db8::2]:80", "[2001:db8:0:1::1]"},
		{"mapped IPv4", "[::ffff:203.0.113.1]:4711", "203.0.113.1:1", "::ffff:203.0.113.2"},
		{"zone", "fe80::1%eth0", "[fe80::1%eth1]:80", "fe80:0:0:1::1"},
		{"a proxy with a port", "203.0.113.1:4711, 10.0.0.2:80", "203.0.113.1", "203.0.113.2:4711 ,\t[::ffff:10.0.0.2]:80"},
		{"empty entries", ", 203.0.113.1:4711, ,", "203.0.113.1", "203.0.113.2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			status, log := behind(t, 1)
			is.Equal(status(test.first), 404)
			is.Equal(status(test.same), 429)
			is.Equal(status(test.other), 404)
			is.Equal(log.String(), "")
		})
	}
}

// If X-Forwarded-For cannot be parsed, the log warns once, with the proxy and without the entry. The clients of that
// proxy are counted as one.
func TestForwardedThatCannotBeRead(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	status, log := behind(t, 3)
	for _, entry := range []string{"unknown", "203.0.113.7:port", "203.0.113.7:70000"} {
		is.Equal(status("203.0.113.9, "+entry), 404)
	}
	is.Equal(status("[203.0.113.7]"), 429)
	is.Equal(strings.Count(log.String(), "X-Forwarded-For cannot be read"), 1)
	is.True(strings.Contains(log.String(), "proxy=10.0.0.1"))
	is.True(!strings.Contains(log.String(), "unknown") && !strings.Contains(log.String(), "203.0.113"))
}

// A /64 of IPv6 is a client, and its /56 may make eight times the requests of a client. Requests that a /64 is refused
// do not count for the others. IPv4 has no wider network.
func TestWiderNetworks(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	status, _ := behind(t, 2)
	inOne := func(subnet int) int { return status(fmt.Sprintf("2001:db8:0:%x::1", subnet)) }
	for range 2 {
		is.Equal(inOne(0), 404)
	}
	for range 20 {
		is.Equal(inOne(0), 429)
	}
	for i := range 14 {
		is.Equal(inOne(1+i/2), 404)
	}
	is.Equal(inOne(0xff), 429) // Its first, and the 17th of the /56.
	is.Equal(inOne(0x100), 404)
	for i := range 20 {
		is.Equal(status("203.0.113."+strconv.Itoa(i)), 404)
	}
}
