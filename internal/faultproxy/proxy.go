// Package faultproxy is a proxy between a client and a server with which a test can break their connection at a chosen
// point. The test can cut, refuse or hold it, or cut it at one message of PostgreSQL's protocol, such as after COMMIT
// was sent and before its answer arrives.
package faultproxy

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"
)

// Proxy forwards the connections that it accepts to a server. Its methods may be called at any time, also from within
// the function given to OnMessage.
type Proxy struct {
	listener net.Listener
	ctx      context.Context //nolint:containedctx // It ends with the listener, which is no call's.
	running  sync.WaitGroup

	mu     sync.Mutex
	target string
	links  map[*link]struct{}
	count  int // connections accepted
	refuse bool
	// keepPorts is set by KeepPorts.
	keepPorts bool
	holds     int
	held      chan struct{} // closed when the last hold is released; nil if there is none
	observe   func(Message) Action
}

// New starts a proxy to a server's host and port, on its own port. The proxy and its connections end with the test.
func New(tb testing.TB, target string) *Proxy {
	tb.Helper()
	listener, err := new(net.ListenConfig).Listen(tb.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatalf("listen: %v", err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(tb.Context()))
	p := &Proxy{target: target, listener: listener, ctx: ctx, links: map[*link]struct{}{}}
	p.running.Go(p.accept)
	tb.Cleanup(func() {
		cancel()
		if err := listener.Close(); err != nil {
			tb.Errorf("close the proxy: %v", err)
		}
		p.Refuse(true) // Closes connections that were accepted a moment ago.
		p.Cut()
		p.running.Wait()
	})
	return p
}

// Addr returns the host and port that clients connect to.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Cut closes all connections now, in both directions. New ones are accepted.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.close()
	}
}

// Refuse sets whether the proxy closes new connections at once or forwards them. Open connections are not affected.
func (p *Proxy) Refuse(refuse bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = refuse
}

// Redirect makes the proxy forward later connections to another server, as when an address moves. Open connections are
// not affected.
func (p *Proxy) Redirect(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// KeepPorts gives later connections to the server the ports of the clients, at the address 127.0.0.2. So a client that
// asks the server for its port does not notice the proxy. A connection has another port where that one is taken, or
// where the system does not have the address.
func (p *Proxy) KeepPorts() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keepPorts = true
}

// Hold stops all connections, including later ones. Nothing that is sent from now on is forwarded in either direction
// until the hold is released. No connection breaks, and nothing is lost. With several holds, forwarding resumes after
// the last release.
func (p *Proxy) Hold() (release func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.holds == 0 {
		p.held = make(chan struct{})
	}
	p.holds++
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.holds--; p.holds == 0 {
			close(p.held)
			p.held = nil
		}
	})
}

// OnMessage calls fn with each message of the PostgreSQL protocol before it is forwarded, in both directions, and also
// on connections that are already open. The proxy then does what fn returns. Calls for one direction of a connection
// are sequential; all other calls may be concurrent. So fn may block, and must guard what it shares. It must have
// returned when the test ends. With a nil fn everything is forwarded.
//
// Connections are never encrypted: the proxy declines a client's request for encryption. A connection that does not
// begin like one of PostgreSQL is forwarded without calling fn.
func (p *Proxy) OnMessage(fn func(m Message) Action) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.observe = fn
}

func (p *Proxy) observer() func(Message) Action {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.observe
}

// holding returns a channel that is closed when the last hold is released, or nil if there is no hold.
func (p *Proxy) holding() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // The listener was closed.
		}
		p.running.Go(func() { p.serve(client) })
	}
}

// dial connects to a server, from the port of a client if one is given.
func (p *Proxy) dial(target string, client *net.TCPAddr) (net.Conn, error) {
	const patience = 10 * time.Second
	dialer := net.Dialer{Timeout: patience}
	if client != nil {
		from := dialer
		from.LocalAddr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2), Port: client.Port}
		if server, err := from.DialContext(p.ctx, "tcp", target); err == nil {
			return server, nil
		}
	}
	return dialer.DialContext(p.ctx, "tcp", target)
}

func (p *Proxy) serve(client net.Conn) {
	p.mu.Lock()
	target, from := p.target, client.RemoteAddr().(*net.TCPAddr)
	if !p.keepPorts {
		from = nil
	}
	p.mu.Unlock()
	server, err := p.dial(target, from)
	if err != nil {
		_ = client.Close()
		return
	}
	l := &link{proxy: p, client: client.(*net.TCPConn), server: server.(*net.TCPConn), done: make(chan struct{})}
	defer l.close()
	p.mu.Lock()
	refused := p.refuse
	if !refused {
		p.links[l] = struct{}{}
		p.count++
		l.number = p.count
	}
	p.mu.Unlock()
	if refused {
		return
	}
	l.run()
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.links, l)
}
