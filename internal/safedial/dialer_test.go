package safedial_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"
	"golang.org/x/net/dns/dnsmessage"

	"github.com/floatgate/ticketing/internal/safedial"
)

type scenario struct {
	Name, Why, Host string
	Lookups         []struct {
		Answer []string
		Error  string
	}
	Connects    map[string]string
	Development bool
	Denied      []netip.Prefix
	Dials       []struct{ Connected, Refused, Failed string }
	Tried       int
}

// network is the resolver and the connections of a scenario.
type network struct {
	scenario
	over chan struct{} // closed when the scenario is over

	mu      sync.Mutex
	lookups int
	tried   []netip.Addr
	opened  []*wire
}

// wire is a connection with a remote address, which records whether it was closed.
type wire struct {
	net.Conn
	remote net.Addr
	closed chan struct{}
	once   sync.Once
}

func (w *wire) RemoteAddr() net.Addr { return w.remote }

func (w *wire) Close() error {
	w.once.Do(func() { close(w.closed) })
	return w.Conn.Close()
}

func (n *network) LookupNetIP(ctx context.Context, family, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	at := min(n.lookups, len(n.Lookups)-1)
	n.lookups++
	n.mu.Unlock()
	if family != "ip" || host != n.Host || at < 0 {
		return nil, fmt.Errorf("asked for %s of %s", family, host)
	}
	switch lookup := n.Lookups[at]; lookup.Error {
	case "no such host":
		return nil, &net.DNSError{Err: lookup.Error, Name: host, IsNotFound: true}
	case "server failure":
		return nil, errors.New(lookup.Error)
	case "silent":
		<-ctx.Done()
		return nil, ctx.Err()
	case "deaf":
		<-n.over
		return nil, errors.New(lookup.Error)
	case "panic":
		panic(lookup.Error)
	default:
		var addrs []netip.Addr
		for _, addr := range lookup.Answer {
			addrs = append(addrs, netip.MustParseAddr(addr))
		}
		return addrs, nil
	}
}

func (n *network) connect(ctx context.Context, _, address string) (net.Conn, error) {
	to := netip.MustParseAddrPort(address)
	n.mu.Lock()
	n.tried = append(n.tried, to.Addr())
	n.mu.Unlock()
	what, ok := n.Connects[to.Addr().String()]
	if !ok {
		what = n.Connects["*"]
	}
	switch what {
	case "refuses":
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	case "silent":
		<-ctx.Done()
		return nil, ctx.Err()
	case "":
	default:
		to = netip.AddrPortFrom(netip.MustParseAddr(what), to.Port())
	}
	here, there := net.Pipe()
	w := &wire{Conn: here, remote: net.TCPAddrFromAddrPort(to), closed: make(chan struct{})}
	go func() {
		<-w.closed
		there.Close()
	}()
	n.mu.Lock()
	n.opened = append(n.opened, w)
	n.mu.Unlock()
	return w, nil
}

// Whatever a name resolves to, and however that changes, only the addresses that the corpus allows are connected to. A
// refused address is never tried, and no connection is left open.
func TestCorpusOfAnswers(t *testing.T) {
	t.Parallel()
	for _, s := range load[scenario](t, "dns.json") {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { s.run(t) })
		})
	}
}

func (s scenario) run(t *testing.T) {
	n := &network{scenario: s, over: make(chan struct{})}
	defer close(n.over)
	dialer := (&safedial.Dialer{
		Policy:   safedial.Policy{AllowPrivate: s.Development, Denied: s.Denied},
		Resolver: n,
	}).WithBuiltIn(n.connect)
	for i, want := range s.Dials {
		began := time.Now()
		before := len(n.tried)
		conn, err := dialer.DialContext(t.Context(), "tcp", net.JoinHostPort(s.Host, "443"))
		if time.Since(began) > 6*time.Second {
			t.Errorf("dial %d took %v", i, time.Since(began))
		}
		var address *safedial.AddressError
		switch {
		case want.Connected != "":
			if err != nil {
				t.Fatalf("dial %d (%s): %v", i, s.Why, err)
			}
			if got := conn.RemoteAddr().String(); got != net.JoinHostPort(want.Connected, "443") {
				t.Errorf("dial %d (%s): connected to %s", i, s.Why, got)
			}
			conn.Close()
		case err == nil:
			t.Fatalf("dial %d (%s): connected to %s", i, s.Why, conn.RemoteAddr())
		case want.Refused != "":
			if !errors.As(err, &address) || address.Addr.WithZone("").String() != want.Refused {
				t.Errorf("dial %d (%s): %v, not refused for %s", i, s.Why, err, want.Refused)
			}
			if len(s.Connects) == 0 && len(n.tried) != before {
				t.Errorf("dial %d (%s): tried %v", i, s.Why, n.tried)
			}
		case want.Failed == "dns":
			if _, ok := errors.AsType[*net.DNSError](err); !ok {
				t.Errorf("dial %d (%s): %v, no failure of DNS", i, s.Why, err)
			}
		case want.Failed == "connect":
			if _, ok := errors.AsType[*net.OpError](err); !ok {
				t.Errorf("dial %d (%s): %v, no failure to connect", i, s.Why, err)
			}
		}
	}
	if s.Tried != 0 && len(n.tried) != s.Tried {
		t.Errorf("%s: tried %d addresses", s.Why, len(n.tried))
	}
	synctest.Wait()
	for _, w := range n.opened {
		select {
		case <-w.closed:
		default:
			t.Errorf("%s: the connection to %s was left open", s.Why, w.remote)
		}
	}
}

// Looking up and connecting have separate timeouts. An unresponsive address delays the next one by a quarter of a
// second.
func TestTimeouts(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		script  scenario
		timeout safedial.Dialer
		want    time.Duration
	}{
		{"look-up", script([]string{}, "silent", nil), safedial.Dialer{DNSTimeout: 2 * time.Second}, 2 * time.Second},
		{"look-up by default", script([]string{}, "deaf", nil), safedial.Dialer{}, 6 * time.Second},
		{
			"connect", script([]string{"8.8.8.8"}, "", map[string]string{"*": "silent"}),
			safedial.Dialer{ConnectTimeout: time.Second},
			time.Second,
		},
		{
			"connect by default", script([]string{"8.8.8.8", "8.8.4.4"}, "", map[string]string{"*": "silent"}),
			safedial.Dialer{},
			5 * time.Second,
		},
		{
			"next address", script([]string{"8.8.8.8", "8.8.4.4"}, "", map[string]string{"8.8.8.8": "silent"}),
			safedial.Dialer{},
			250 * time.Millisecond,
		},
		{
			"next address after a refusal", script([]string{"8.8.8.8", "8.8.4.4"}, "", map[string]string{"8.8.8.8": "refuses"}),
			safedial.Dialer{},
			0,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				n := &network{scenario: test.script, over: make(chan struct{})}
				defer close(n.over)
				dialer := test.timeout.WithBuiltIn(n.connect)
				dialer.Resolver = n
				began := time.Now()
				conn, err := dialer.DialContext(t.Context(), "tcp", "hooks.example.com:443")
				is.Equal(time.Since(began), test.want)
				if test.want < time.Second {
					is.NoErr(err)
					conn.Close()
					return
				}
				var timeout net.Error
				is.True(errors.As(err, &timeout) && timeout.Timeout())
			})
		})
	}
}

func script(answer []string, failure string, connects map[string]string) scenario {
	s := scenario{Host: "hooks.example.com", Connects: connects}
	s.Lookups = append(s.Lookups, struct {
		Answer []string
		Error  string
	}{answer, failure})
	return s
}

// A caller whose context ends gets the context's error at once.
func TestGivingUp(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]scenario{
		"look-up": script(nil, "deaf", nil), "connect": script([]string{"8.8.8.8"}, "", map[string]string{"*": "silent"}),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				is := is.New(t)
				n := &network{scenario: s, over: make(chan struct{})}
				defer close(n.over)
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Second, cancel)
				began := time.Now()
				_, err := (&safedial.Dialer{Resolver: n}).WithBuiltIn(n.connect).DialContext(ctx, "tcp", "hooks.example.com:443")
				is.True(errors.Is(err, context.Canceled))
				is.Equal(time.Since(began), time.Second)
			})
		})
	}
}

// A dial function of the host gets a checked address, never a name and never a refused address. Its connection is
// accepted unchecked, since it may lead through a proxy.
func TestOwnDial(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	n := &network{scenario: script([]string{"::ffff:93.184.216.34"}, "", map[string]string{"93.184.216.34": "10.0.0.1"})}
	var got []string
	dialer := &safedial.Dialer{Resolver: n, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		got = append(got, network+" "+address)
		return n.connect(ctx, network, address)
	}}
	conn, err := dialer.DialContext(t.Context(), "tcp", "hooks.example.com:8443")
	is.NoErr(err)
	is.Equal(conn.RemoteAddr().String(), "10.0.0.1:8443")
	conn.Close()
	_, err = dialer.DialContext(t.Context(), "tcp", "127.0.0.1:8443")
	is.True(err != nil)
	is.Equal(got, []string{"tcp 93.184.216.34:8443"})
}

// A dial function that panics, returns nothing or never returns leads to an error like any other.
func TestOwnDialMisbehaves(t *testing.T) {
	t.Parallel()
	over := make(chan struct{})
	defer close(over)
	for name, dial := range map[string]func(context.Context, string, string) (net.Conn, error){
		"panic":   func(context.Context, string, string) (net.Conn, error) { panic("a secret") },
		"nothing": func(context.Context, string, string) (net.Conn, error) { return nil, nil }, //nolint:nilnil // On purpose.
		"never": func(context.Context, string, string) (net.Conn, error) {
			<-over
			return nil, errors.New("over")
		},
		"exit": func(context.Context, string, string) (net.Conn, error) {
			runtime.Goexit()
			return nil, nil //nolint:nilnil // On purpose.
		},
	} {
		is := is.New(t)
		dialer := &safedial.Dialer{Dial: dial, ConnectTimeout: 50 * time.Millisecond}
		_, err := dialer.DialContext(t.Context(), "tcp", "8.8.8.8:443")
		is.True(err != nil) // no connection
		is.Equal(errors.Is(err, safedial.ErrPanicked), name == "panic")
		is.True(!strings.Contains(err.Error(), "secret")) // the value of a panic is not revealed
	}
}

// A connection that is made after the caller stopped waiting is closed.
func TestLateConnectionIsClosed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		is := is.New(t)
		n := &network{}
		slow := func(_ context.Context, network, address string) (net.Conn, error) {
			time.Sleep(time.Minute)
			return n.connect(context.Background(), network, address) //nolint:usetesting // It outlives its context.
		}
		dialer := &safedial.Dialer{ConnectTimeout: time.Second, Dial: slow}
		_, err := dialer.DialContext(t.Context(), "tcp", "8.8.8.8:443")
		is.True(err != nil)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		is.Equal(len(n.opened), 1)
		<-n.opened[0].closed
	})
}

// A target other than "host:port" over TCP is refused before any look-up.
func TestBadTargets(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	dialer := &safedial.Dialer{Resolver: &network{}}
	for _, target := range []string{
		"", "8.8.8.8", "8.8.8.8:", "8.8.8.8:0", "8.8.8.8:65536", "8.8.8.8:https", "8.8.8.8:-1", "[8.8.8.8:443",
	} {
		_, err := dialer.DialContext(t.Context(), "tcp", target)
		is.True(err != nil) // a bad target
	}
	for _, network := range []string{"udp", "unix", "tcp4", ""} {
		_, err := dialer.DialContext(t.Context(), network, "8.8.8.8:443")
		is.True(err != nil) // a bad network
	}
}

// nameServer serves the queries of one connection over TCP. hooks.example.com is an alias of db.internal, which has the
// given addresses.
func nameServer(conn net.Conn, addrs []netip.Addr) {
	defer conn.Close()
	length := make([]byte, 2)
	for {
		if _, err := conn.Read(length); err != nil {
			return
		}
		query := make([]byte, int(length[0])<<8|int(length[1]))
		for at := 0; at < len(query); {
			n, err := conn.Read(query[at:])
			if err != nil {
				return
			}
			at += n
		}
		var message dnsmessage.Message
		if err := message.Unpack(query); err != nil {
			return
		}
		question := message.Questions[0]
		internal := dnsmessage.MustNewName("db.internal.")
		answer := func(name dnsmessage.Name, kind dnsmessage.Type, body dnsmessage.ResourceBody) {
			message.Answers = append(message.Answers, dnsmessage.Resource{
				Header: dnsmessage.ResourceHeader{Name: name, Type: kind, Class: dnsmessage.ClassINET}, Body: body,
			})
		}
		message.Response, message.Additionals = true, nil
		answer(question.Name, dnsmessage.TypeCNAME, &dnsmessage.CNAMEResource{CNAME: internal})
		for _, addr := range addrs {
			switch {
			case addr.Is4() && question.Type == dnsmessage.TypeA:
				answer(internal, question.Type, &dnsmessage.AResource{A: addr.As4()})
			case addr.Is6() && question.Type == dnsmessage.TypeAAAA:
				answer(internal, question.Type, &dnsmessage.AAAAResource{AAAA: addr.As16()})
			}
		}
		packed, err := message.Pack()
		if err != nil {
			return
		}
		if _, err := conn.Write(append([]byte{byte(len(packed) >> 8), byte(len(packed))}, packed...)); err != nil {
			return
		}
	}
}

// With Go's own resolver, a CNAME is followed to its final addresses, for both families, and these are checked.
func TestRealResolverFollowsCNAME(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		addrs   []string
		refused string
	}{
		{[]string{"93.184.216.34", "2606:4700::1"}, ""},
		{[]string{"10.0.0.1"}, "10.0.0.1"},
		{[]string{"93.184.216.34", "::1"}, "::1"},
		{[]string{"2606:4700::1", "169.254.169.254"}, "169.254.169.254"},
	} {
		is := is.New(t)
		var addrs []netip.Addr
		for _, addr := range test.addrs {
			addrs = append(addrs, netip.MustParseAddr(addr))
		}
		n := &network{}
		resolver := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
			here, there := net.Pipe()
			go nameServer(there, addrs)
			return here, nil
		}}
		dialer := (&safedial.Dialer{Resolver: resolver}).WithBuiltIn(n.connect)
		conn, err := dialer.DialContext(t.Context(), "tcp", "hooks.example.com:443")
		if test.refused == "" {
			is.NoErr(err)
			is.True(slices.Contains(addrs, netip.MustParseAddrPort(conn.RemoteAddr().String()).Addr()))
			conn.Close()
			continue
		}
		var refused *safedial.AddressError
		is.True(errors.As(err, &refused))
		is.Equal(refused.Addr.String(), test.refused)
		is.Equal(len(n.tried), 0)
	}
}

// With real sockets, loopback can be connected to in development only, by its address and by its name.
func TestRealSockets(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	is.NoErr(err)
	defer listener.Close()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	is.NoErr(err)
	for _, host := range []string{"127.0.0.1", "localhost"} {
		conn, err := (&safedial.Dialer{Policy: safedial.Policy{AllowPrivate: true}}).DialContext(t.Context(), "tcp",
			net.JoinHostPort(host, port))
		is.NoErr(err)
		is.Equal(conn.RemoteAddr().String(), listener.Addr().String())
		conn.Close()
		_, err = new(safedial.Dialer).DialContext(t.Context(), "tcp", net.JoinHostPort(host, port))
		is.True(err != nil) // loopback is refused
	}
}
