package faultproxy_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/faultproxy"
)

// echo starts a server that sends back what it receives.
func echo(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.Copy(conn, conn)
			}()
		}
	}()
	return listener.Addr().String()
}

// caller is a connection through a proxy.
type caller struct {
	t *testing.T
	net.Conn
}

func dial(t *testing.T, p *faultproxy.Proxy) caller {
	t.Helper()
	conn, err := net.Dial("tcp", p.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return caller{t, conn}
}

func (c caller) say(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		c.t.Error(err)
	}
}

func (c caller) until(limit time.Duration) {
	c.t.Helper()
	if err := c.SetReadDeadline(time.Now().Add(limit)); err != nil {
		c.t.Fatal(err)
	}
}

func (c caller) hear(text string) {
	c.t.Helper()
	c.until(30 * time.Second)
	heard := make([]byte, len(text))
	if _, err := io.ReadFull(c, heard); err != nil || string(heard) != text {
		c.t.Fatalf("heard %q, %v", heard, err)
	}
}

// silent requires that nothing is received for a moment.
func (c caller) silent() {
	c.t.Helper()
	c.until(50 * time.Millisecond)
	if n, err := c.Read(make([]byte, 1)); n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Fatalf("heard %d bytes, %v", n, err)
	}
}

// closed requires that the connection ended without another byte.
func (c caller) closed() {
	c.t.Helper()
	c.until(30 * time.Second)
	if n, err := c.Read(make([]byte, 1)); n > 0 || err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Fatalf("heard %d bytes, %v", n, err)
	}
}

// Data of any other protocol is forwarded unchanged, short or long, and so is its end.
func TestAnythingPasses(t *testing.T) {
	t.Parallel()
	p := faultproxy.New(t, echo(t))
	for _, text := range []string{
		"x", "\x00\x00\x00\x00\x00\x00\x00\x00", "longer than eight", string(make([]byte, 1<<20)),
	} {
		c := dial(t, p)
		go c.say(text)
		c.hear(text)
		if err := c.Conn.(*net.TCPConn).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		c.closed()
	}
}

// Cut closes all connections, including those that are held, and no later one.
func TestCut(t *testing.T) {
	t.Parallel()
	p := faultproxy.New(t, echo(t))
	first, second := dial(t, p), dial(t, p)
	for _, c := range []caller{first, second} {
		c.say("before")
		c.hear("before")
	}
	defer p.Hold()()
	first.say("held")
	p.Cut()
	first.closed()
	second.closed()
	third := dial(t, p)
	third.silent()
}

// Refuse closes new connections at once until it is revoked. Open connections are not affected.
func TestRefuse(t *testing.T) {
	t.Parallel()
	p := faultproxy.New(t, echo(t))
	open := dial(t, p)
	open.say("a")
	open.hear("a")
	p.Refuse(true)
	dial(t, p).closed()
	open.say("b")
	open.hear("b")
	p.Refuse(false)
	again := dial(t, p)
	again.say("c")
	again.hear("c")
}

// If the server cannot be reached, the client's connection is closed.
func TestNoServer(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := faultproxy.New(t, listener.Addr().String())
	listener.Close()
	dial(t, p).closed()
}

// While a hold lasts, nothing is forwarded in either direction. After the release everything is.
func TestHold(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	server, err := net.Listen("tcp", "127.0.0.1:0")
	is.NoErr(err)
	defer server.Close()
	p := faultproxy.New(t, server.Addr().String())
	client := dial(t, p)
	accepted, err := server.Accept()
	is.NoErr(err)
	defer accepted.Close()
	backend := caller{t, accepted}
	client.say("before")
	backend.hear("before")

	first, second := p.Hold(), p.Hold()
	client.say("to the server")
	backend.say("to the client")
	client.silent()
	backend.silent()
	first()
	first() // Releasing a hold again has no effect.
	client.silent()
	backend.silent()
	second()
	client.hear("to the client")
	backend.hear("to the server")
}

// A test may end while connections are open, held and in use.
func TestEnd(t *testing.T) {
	t.Parallel()
	var c caller
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		t.Run("a test", func(t *testing.T) {
			p := faultproxy.New(t, echo(t))
			conn, err := net.Dial("tcp", p.Addr())
			if err != nil {
				t.Fatal(err)
			}
			c = caller{t, conn}
			c.say("a")
			c.hear("a")
			p.Hold()
			c.say("b")
			c.silent() // The data has reached the hold.
		})
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		t.Fatal("the proxy did not end")
	}
	defer c.Close()
	c.t = t
	c.closed()
}

// Connections made after a redirection reach the new server, even if the old one is gone. Open connections are not
// affected.
func TestRedirect(t *testing.T) {
	t.Parallel()
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	is.New(t).NoErr(err)
	is.New(t).NoErr(gone.Close())
	first := echo(t)
	p := faultproxy.New(t, first)
	open := dial(t, p)
	open.say("a")
	open.hear("a")
	p.Redirect(gone.Addr().String())
	dial(t, p).closed()
	p.Redirect(echo(t))
	moved := dial(t, p)
	moved.say("b")
	moved.hear("b")
	open.say("c")
	open.hear("c")
}
