// Package faultproxy stands between a client and a server, so that a test can break their connection where it wants:
// cut it, refuse it, hold it, or cut it at one message of PostgreSQL's protocol, such as after COMMIT was sent and before
// its answer came.
package faultproxy

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"
)

// Proxy passes the connections that it accepts on to a server. Its methods may be called at any time, also from within
// the function given to OnMessage.
type Proxy struct {
	listener net.Listener
	ctx      context.Context //nolint:containedctx // It ends with the listener, which is no call's.
	running  sync.WaitGroup

	mu      sync.Mutex
	target  string
	links   map[*link]struct{}
	count   int // connections accepted
	refuse  bool
	holds   int
	held    chan struct{} // closed when the last hold is released; nil while there is none
	observe func(Message) Action
}

// New makes a proxy to a server's host and port, on a port of its own. It ends with the test, and so do its connections.
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
		p.Refuse(true) // What was accepted a moment ago.
		p.Cut()
		p.running.Wait()
	})
	return p
}

// Addr is where clients connect to, host and port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Cut closes all connections now, in both directions. New ones are welcome.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.close()
	}
}

// Refuse makes the proxy close new connections at once, or pass them on again. Those that are open stay.
func (p *Proxy) Refuse(refuse bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = refuse
}

// Redirect makes the proxy pass connections to come on to another server, as an address does that moves. Those that are
// open stay.
func (p *Proxy) Redirect(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// Hold stops all connections, those to come included: nothing that is sent from now on passes in either direction until
// the hold is released. No connection breaks, and nothing is lost. With several holds, the last release counts.
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

// OnMessage shows fn each message of the PostgreSQL protocol before it passes, in both directions and also on
// connections that are open already, and does with it what fn says. Each connection calls fn by itself, one message of a
// direction after the other, so fn may wait, and guards what it shares. It must have returned when the test ends. A nil
// fn passes everything.
//
// Connections are never encrypted: the proxy declines a client's request for it. What begins as no PostgreSQL connection
// does passes unseen.
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

// holding is closed when nothing is held any more; nil if nothing is.
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

func (p *Proxy) serve(client net.Conn) {
	const patience = 10 * time.Second
	dialer := net.Dialer{Timeout: patience}
	p.mu.Lock()
	target := p.target
	p.mu.Unlock()
	server, err := dialer.DialContext(p.ctx, "tcp", target)
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
