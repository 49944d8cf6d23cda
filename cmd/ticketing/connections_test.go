package main_test

import (
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/matryer/is"
)

// counts reports whether the metrics of a server contain all the given lines.
func (p *process) counts(lines ...string) bool {
	p.t.Helper()
	connection := dial(p.t, p.operator())
	ask(p.t, connection, "/metrics")
	status, metrics := answered(p.t, connection)
	is.New(p.t).Equal(status, http.StatusOK)
	for _, line := range lines {
		if !strings.Contains(metrics, "\n"+line+"\n") {
			return false
		}
	}
	return true
}

// capped starts a server with at most two connections, and with health on a separate listener.
func (s *shell) capped() (p *process, origin string) {
	s.t.Helper()
	return s.serve("--max-connections", "2", "--operator-addr", "127.0.0.1:0")
}

// At the limit a new client takes the slot of the connection that has been idle longest, and of no other.
func TestIdleConnectionsMakeRoom(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	p, origin := newShell(t).with("TICKETING_DATABASE", "memory:").capped()
	request := func(connection net.Conn) {
		t.Helper()
		ask(t, connection, prefix+"/events")
		status, _ := answered(t, connection)
		is.Equal(status, http.StatusUnauthorized)
	}
	idle := func(connections string) { // A server counts a connection as idle only after its response.
		t.Helper()
		eventually(t, connections+" are idle", func() bool {
			return p.counts("ticketing_http_connections_idle " + connections)
		})
	}
	first, second := dial(t, origin), dial(t, origin)
	request(first)
	idle("1")
	request(second)
	idle("2")
	request(first)
	idle("2")
	is.True(p.counts(
		"ticketing_http_connections 2", "ticketing_http_connections_max 2", "ticketing_http_connections_full_total 0",
	))
	third := dial(t, origin)
	request(third)
	_, err := second.Read(make([]byte, 1))
	is.True(err != nil) // It was closed.
	request(first)
	request(third)
	is.True(p.counts("ticketing_http_connections 2", "ticketing_http_connections_full_total 1"))
	p.signal(syscall.SIGTERM)
	is.Equal(p.wait(), 0)
	is.Equal(strings.Count(p.errors(), "as many clients are connected as --max-connections allows"), 1)
}

// Connections that send nothing keep nobody out. The oldest of them is closed to make room, and no other.
func TestSilentConnectionsMakeRoom(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	p, origin := newShell(t).with("TICKETING_DATABASE", "memory:").capped()
	silent, second := dial(t, origin), dial(t, origin)
	eventually(t, "both are connected", func() bool { return p.counts("ticketing_http_connections 2") })
	third := dial(t, origin)
	ask(t, third, prefix+"/events")
	status, _ := answered(t, third)
	is.Equal(status, http.StatusUnauthorized)
	_, err := silent.Read(make([]byte, 1))
	is.True(err != nil) // It was closed, long before its own timeout,
	ask(t, second, prefix+"/events")
	status, _ = answered(t, second)
	is.Equal(status, http.StatusUnauthorized) // and the other one keeps its slot.
	p.signal(syscall.SIGTERM)
	is.Equal(p.wait(), 0)
}

// While all connections are busy, a new client waits until one of them has its response. Health is served in the
// meantime, and a drain does not wait for the waiting client.
func TestConnectionsWaitForRoom(t *testing.T) {
	t.Parallel()
	leftOut(t)
	is := is.New(t)
	sh := newShell(t)
	shop := sh.openShop()
	p, origin := sh.capped()
	one, two := shop.begin(t, origin, "cart-0001"), shop.begin(t, origin, "cart-0002")
	waiting := dial(t, origin)
	ask(t, waiting, prefix+"/events")
	eventually(t, "it finds no room", func() bool { return p.counts("ticketing_http_connections_full_total 1") })
	is.True(p.counts("ticketing_http_connections 2"))
	status, _ := one.finish()
	is.Equal(status, http.StatusCreated)
	status, _ = answered(t, waiting)
	is.Equal(status, http.StatusUnauthorized)

	late := shop.begin(t, origin, "cart-0003") // It takes the slot of the idle connection.
	last := dial(t, origin)
	ask(t, last, prefix+"/events")
	eventually(t, "the last one finds no room", func() bool { return p.counts("ticketing_http_connections_full_total 3") })
	p.signal(syscall.SIGTERM)
	_, err := last.Read(make([]byte, 1))
	is.True(err != nil) // It is no longer served.
	for _, inFlight := range []*half{two, late} {
		status, _ := inFlight.finish()
		is.Equal(status, http.StatusCreated)
	}
	is.Equal(p.wait(), 0)
}
