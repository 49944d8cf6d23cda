package delivery_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"
	"golang.org/x/net/http2"

	"github.com/floatgate/ticketing/delivery"
)

// piped returns a config whose connections are pipes to a function, so that time passes in a bubble.
func piped(connection func(net.Conn)) *delivery.Config {
	return &delivery.Config{
		RootCAs: trusted.pool(), Resolver: &answers{addr: public},
		Dial: func(context.Context, string, string) (net.Conn, error) {
			here, there := net.Pipe()
			go func() {
				defer there.Close()
				connection(there)
			}()
			return here, nil
		},
	}
}

// never is a resolver that ignores its context.
type never struct{ over chan struct{} }

func (n never) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	<-n.over
	return nil, nil
}

// Section 6.3: 10 seconds in all, whatever takes the time. The look-up and the connecting have their own limits, and
// the sender waits at most a second for a body. No goroutine is left: the bubble would not end.
func TestTimeIsBounded(t *testing.T) {
	t.Parallel()
	certificate := trusted.sign(t, host, nil)
	secured := func(connection func(*tls.Conn)) func(net.Conn) {
		return func(plain net.Conn) {
			conn := tls.Server(plain, &tls.Config{Certificates: []tls.Certificate{certificate}})
			if conn.HandshakeContext(context.Background()) == nil { //nolint:usetesting // It may outlive the test's.
				connection(conn)
			}
		}
	}
	write := func(conn net.Conn, text string) { _, _ = io.WriteString(conn, text) }
	drip := func(conn net.Conn, text string, every time.Duration) {
		for {
			if _, err := io.WriteString(conn, text); err != nil {
				return
			}
			time.Sleep(every)
		}
	}
	for _, test := range []struct {
		name       string
		connection func(net.Conn)
		change     func(config *delivery.Config, over chan struct{})
		want       time.Duration
		status     int
		reason     delivery.Reason
		text       string
	}{
		{
			name: "no answer", connection: secured(func(c *tls.Conn) { awaitEnd(c) }), want: 10 * time.Second,
			reason: delivery.ReasonTimeout, text: "timeout",
		},
		{
			name: "no answer, half the time", connection: secured(func(c *tls.Conn) { awaitEnd(c) }),
			change: func(c *delivery.Config, _ chan struct{}) { c.Timeout = 5 * time.Second }, want: 5 * time.Second,
			reason: delivery.ReasonTimeout, text: "timeout",
		},
		{
			name: "nothing is read", connection: secured(func(*tls.Conn) { time.Sleep(time.Minute) }), want: 10 * time.Second,
			reason: delivery.ReasonTimeout, text: "timeout",
		},
		{name: "a header byte a second", connection: secured(func(c *tls.Conn) {
			request(c)
			write(c, "HTTP/1.1 200 OK\r\nX-A: ")
			drip(c, "a", time.Second)
		}), want: 10 * time.Second, reason: delivery.ReasonTimeout, text: "timeout"},
		{name: "1xx every second", connection: secured(func(c *tls.Conn) {
			request(c)
			drip(c, "HTTP/1.1 103 Early Hints\r\n\r\n", time.Second)
		}), want: 10 * time.Second, reason: delivery.ReasonTimeout, text: "timeout"},
		{name: "late", connection: secured(func(c *tls.Conn) {
			request(c)
			time.Sleep(9 * time.Second)
			write(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}), want: 9 * time.Second, status: 200},
		{name: "a body that does not come", connection: secured(func(c *tls.Conn) {
			request(c)
			write(c, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
			awaitEnd(c)
		}), want: time.Second, status: 200},
		{name: "a body byte by byte", connection: secured(func(c *tls.Conn) {
			request(c)
			write(c, "HTTP/1.1 500 No\r\nContent-Length: 500\r\n\r\n")
			drip(c, "a", 100*time.Millisecond)
		}), want: time.Second, status: 500},
		{name: "a body at the end of the time", connection: secured(func(c *tls.Conn) {
			request(c)
			time.Sleep(9500 * time.Millisecond)
			write(c, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
			awaitEnd(c)
		}), want: 10 * time.Second, status: 200},
		{name: "no handshake", connection: awaitEnd, want: 10 * time.Second, reason: delivery.ReasonTimeout},
		{
			name: "no DNS", change: func(c *delivery.Config, over chan struct{}) { c.Resolver = never{over} },
			want: 6 * time.Second, reason: delivery.ReasonDNS, text: "DNS: timeout",
		},
		{name: "no DNS, sooner", change: func(c *delivery.Config, over chan struct{}) {
			c.Resolver, c.DNSTimeout = never{over}, time.Second
		}, want: time.Second, reason: delivery.ReasonDNS, text: "DNS: timeout"},
		{name: "no connection", change: func(c *delivery.Config, _ chan struct{}) {
			c.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}
		}, want: 5 * time.Second, reason: delivery.ReasonConnect, text: "timeout while connecting"},
		{name: "a deaf dial function", change: func(c *delivery.Config, over chan struct{}) {
			c.ConnectTimeout = time.Second
			c.Dial = func(context.Context, string, string) (net.Conn, error) {
				<-over
				return nil, io.EOF
			}
		}, want: time.Second, reason: delivery.ReasonConnect, text: "timeout while connecting"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				over := make(chan struct{})
				config := piped(test.connection)
				if test.change != nil {
					test.change(config, over)
				}
				sender, err := delivery.New(config)
				is.NoErr(err)
				began := time.Now()
				status, err := sender.Post(t.Context(), attempt())
				is.Equal(time.Since(began), test.want)
				is.Equal(status, test.status)
				switch {
				case test.status != 0:
					is.NoErr(err)
				case test.text != "":
					isReason(t, err, test.reason, test.text)
				default: // The handshake and the attempt end at the same moment.
					is.True(err != nil && (err.Error() == "timeout" || err.Error() == "TLS: timeout"))
				}
				is.NoErr(sender.Close())
				close(over)
				time.Sleep(2 * time.Minute) // The receivers sleep, too.
			})
		})
	}
}

// A connection that was cut without notice is detected and not used again. Over HTTP/2 it would otherwise lose all
// deliveries to its host.
func TestSilentConnectionIsGivenUp(t *testing.T) {
	t.Parallel()
	certificate := trusted.sign(t, host, nil)
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		dialed := 0
		config := piped(nil)
		config.Dial = func(context.Context, string, string) (net.Conn, error) {
			dialed++
			here, there := net.Pipe()
			gate := newValve(there, time.Now().Add(time.Minute))
			go func() {
				defer gate.Close()
				conn := tls.Server(gate, &tls.Config{Certificates: []tls.Certificate{certificate}, NextProtos: []string{"h2"}})
				serveFrames(conn, func(framer *http2.Framer, stream uint32) bool {
					return framer.WriteHeaders(http2.HeadersFrameParam{
						StreamID: stream, BlockFragment: header(":status", "200"), EndHeaders: true, EndStream: true,
					}) == nil
				})
			}()
			return here, nil
		}
		sender, err := delivery.New(config)
		is.NoErr(err)
		defer sender.Close()
		for range 3 {
			_, err = sender.Post(t.Context(), attempt())
			is.NoErr(err)
		}
		is.Equal(dialed, 1)
		time.Sleep(50 * time.Second) // It is pinged meanwhile, and responds.
		_, err = sender.Post(t.Context(), attempt())
		is.NoErr(err)
		is.Equal(dialed, 1)
		time.Sleep(30 * time.Second) // The connection is dead from the first minute on.
		_, err = sender.Post(t.Context(), attempt())
		is.NoErr(err)
		is.Equal(dialed, 2)
		is.NoErr(sender.Close())
	})
}

// valve is the receiver's end of a connection that is dead from a moment on: it discards what arrives, and sends
// nothing. Unlike a bare pipe it buffers what it writes, as a socket does.
type valve struct {
	net.Conn
	until time.Time
	out   chan []byte
	over  chan struct{}
	once  sync.Once
}

func newValve(conn net.Conn, until time.Time) *valve {
	v := &valve{Conn: conn, until: until, out: make(chan []byte, 1024), over: make(chan struct{})}
	go func() {
		for {
			select {
			case p := <-v.out:
				_, _ = v.Conn.Write(p)
			case <-v.over:
				return
			}
		}
	}()
	return v
}

func (v *valve) Read(p []byte) (int, error) {
	for {
		n, err := v.Conn.Read(p)
		if err != nil || time.Now().Before(v.until) {
			return n, err
		}
	}
}

func (v *valve) Write(p []byte) (int, error) {
	if time.Now().Before(v.until) {
		v.out <- bytes.Clone(p)
	}
	return len(p), nil
}

func (v *valve) Close() error {
	v.once.Do(func() { close(v.over) })
	return v.Conn.Close()
}
