package safedial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"time"
)

const (
	defaultDNSTimeout     = 6 * time.Second
	defaultConnectTimeout = 5 * time.Second

	// stagger is how long an address may take before the next one is tried in parallel (RFC 8305).
	stagger = 250 * time.Millisecond
	// maxAttempts is how many addresses of one DNS response are tried. A response with thousands of addresses is meant
	// to make us attack the hosts of others.
	maxAttempts = 16
)

// ErrPanicked is wrapped if a resolver or a dial function of the host panicked. Of the panic's value it contains only
// the type.
var ErrPanicked = errors.New("safedial: a function of the host's panicked")

// Resolver looks up the addresses of a name. A [net.Resolver] is one.
type Resolver interface {
	// LookupNetIP is called with the network "ip".
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Dialer connects as the package describes. The zero Dialer is ready to use. It is safe for concurrent use and must not
// be changed after its first use.
type Dialer struct {
	Policy Policy
	// Resolver looks up every name, once for each connection. Defaults to [net.DefaultResolver]. That one looks up the
	// exact name, without the search domains of the machine, unless private addresses are allowed.
	Resolver Resolver
	// DNSTimeout bounds a look-up, and ConnectTimeout all attempts to connect after it. They default to 6 s, which is
	// enough for a second name server after an unresponsive one, and to 5 s.
	DNSTimeout, ConnectTimeout time.Duration
	// Dial makes the connection instead of a [net.Dialer]. It is called with the network "tcp" and a checked address,
	// never a name. It may be called for several addresses concurrently, and is not waited for after the timeout. Its
	// connection is not checked, since the remote end may legitimately be a proxy. So Dial must connect to that address
	// and no other.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// builtIn replaces the net.Dialer in tests.
	builtIn func(ctx context.Context, network, address string) (net.Conn, error)
}

// DialContext connects to "host:port" over TCP. The error is a [*net.DNSError] if the name could not be resolved, an
// [*AddressError] if an address is not public, a [*net.OpError] if no address could be connected to, and the context's
// error if that ended.
func (d *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if network != "tcp" {
		return nil, net.UnknownNetworkError(network)
	}
	host, portText, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil || port == 0 {
		return nil, &net.AddrError{Err: "invalid port", Addr: address}
	}
	addrs, err := d.lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	// Check all addresses before connecting to any: a name with one private address is an attack or a mistake.
	for i, addr := range addrs {
		addrs[i] = addr.Unmap()
		if err := d.Policy.Check(addr); err != nil {
			return nil, err
		}
	}
	return d.connect(ctx, inTurn(addrs), uint16(port))
}

// lookup returns at least one address, or an error.
func (d *Dialer) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr}, nil
	}
	lookupCtx, cancel := context.WithTimeout(ctx, cmp.Or(d.DNSTimeout, defaultDNSTimeout))
	defer cancel()
	type answer struct {
		addrs []netip.Addr
		err   error
	}
	// A resolver that ignores its context is abandoned.
	answers := make(chan answer, 1)
	go func() {
		var a answer
		defer func() { answers <- a }()
		defer caught(&a.err)
		a.addrs, a.err = d.ask(lookupCtx, host)
	}()
	select {
	case a := <-answers:
		return addresses(ctx, host, a.addrs, a.err)
	case <-lookupCtx.Done():
		return addresses(ctx, host, nil, lookupCtx.Err())
	}
}

// ask calls the resolver.
func (d *Dialer) ask(ctx context.Context, host string) ([]netip.Addr, error) {
	if d.Resolver != nil {
		return d.Resolver.LookupNetIP(ctx, "ip", host)
	}
	if !d.Policy.AllowPrivate && host != "" && host[len(host)-1] != '.' {
		host += "."
	}
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

// addresses returns a copy of the addresses that a resolver returned, or the reason why there are none.
func addresses(ctx context.Context, host string, addrs []netip.Addr, err error) ([]netip.Addr, error) {
	var known *net.DNSError
	switch {
	case err == nil && len(addrs) > 0:
		return slices.Clone(addrs), nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err == nil:
		return nil, &net.DNSError{Err: "no addresses", Name: host, IsNotFound: true}
	case errors.As(err, &known):
		return nil, err
	}
	return nil, &net.DNSError{
		UnwrapErr: err, Err: err.Error(), Name: host, IsTimeout: errors.Is(err, context.DeadlineExceeded),
	}
}

// inTurn returns the order in which addresses are tried: as the resolver sorted them, alternating IPv4 and IPv6,
// without duplicates, and at most maxAttempts.
func inTurn(addrs []netip.Addr) []netip.Addr {
	var families [2][]netip.Addr
	for _, addr := range addrs {
		family := &families[0]
		if addr.Is4() != addrs[0].Is4() {
			family = &families[1]
		}
		if !slices.Contains(*family, addr) && len(*family) < maxAttempts {
			*family = append(*family, addr)
		}
	}
	var sorted []netip.Addr
	for i := range max(len(families[0]), len(families[1])) {
		for _, family := range families {
			if i < len(family) {
				sorted = append(sorted, family[i])
			}
		}
	}
	return sorted[:min(len(sorted), maxAttempts)]
}

// connect tries the addresses in order, the next one as soon as one failed or took too long. It returns the first
// connection.
func (d *Dialer) connect(ctx context.Context, addrs []netip.Addr, port uint16) (net.Conn, error) {
	dialCtx, cancel := context.WithTimeout(ctx, cmp.Or(d.ConnectTimeout, defaultConnectTimeout))
	defer cancel()
	type outcome struct {
		conn net.Conn
		err  error
	}
	outcomes := make(chan outcome)
	dial := func(addr netip.Addr) {
		conn, err := d.dial(dialCtx, netip.AddrPortFrom(addr, port))
		select {
		case outcomes <- outcome{conn, err}:
		case <-dialCtx.Done(): // Nobody waits any more.
			if conn != nil {
				_ = conn.Close() // It was never used.
			}
		}
	}
	turn := time.NewTimer(0)
	defer turn.Stop()
	var failures []error
	started := 0
	for len(failures) < len(addrs) {
		var wait <-chan time.Time
		if started < len(addrs) {
			wait = turn.C
		}
		select {
		case <-wait:
			go dial(addrs[started])
			started++
			turn.Reset(stagger)
		case o := <-outcomes:
			if o.err == nil {
				return o.conn, nil
			}
			failures = append(failures, o.err)
			turn.Reset(0)
		case <-dialCtx.Done():
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded}
		}
	}
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.Join(failures...)}
}

// dial makes one connection, and checks what it is connected to.
func (d *Dialer) dial(ctx context.Context, to netip.AddrPort) (conn net.Conn, err error) {
	defer caught(&err)
	switch {
	case d.Dial != nil:
		conn, err = d.Dial(ctx, "tcp", to.String())
	case d.builtIn != nil:
		conn, err = d.builtIn(ctx, "tcp", to.String())
	default:
		conn, err = new(net.Dialer).DialContext(ctx, "tcp", to.String())
	}
	switch {
	case err != nil:
		return nil, err
	case conn == nil:
		return nil, errors.New("safedial: the dial function returned neither a connection nor an error")
	case d.Dial != nil:
		return conn, nil
	}
	if err := d.checkRemote(conn, to); err != nil {
		_ = conn.Close() // It was never used.
		return nil, err
	}
	return conn, nil
}

func (d *Dialer) checkRemote(conn net.Conn, to netip.AddrPort) error {
	remote, ok := conn.RemoteAddr().(*net.TCPAddr)
	if !ok {
		return fmt.Errorf("safedial: connected over %s", conn.RemoteAddr().Network())
	}
	addr := remote.AddrPort().Addr().Unmap()
	if addr != to.Addr() || remote.AddrPort().Port() != to.Port() {
		return &AddressError{Addr: addr}
	}
	return d.Policy.Check(addr)
}

// caught turns a panic into an error.
func caught(err *error) {
	if value := recover(); value != nil { //nolint:revive // It is deferred itself, which is where recover works.
		*err = fmt.Errorf("%w: %T", ErrPanicked, value)
	}
}
