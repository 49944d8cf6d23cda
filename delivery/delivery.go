// Package delivery posts webhooks. [New] returns a [Sender], which is the [ticketing.Sender] to set as Config.Sender.
//
// It connects only to the public internet. It resolves a name for each connection, requires every resolved address to
// be public, and connects to an address that it checked. It always verifies TLS, follows no redirects and ignores
// proxies of the environment. Deliveries to a host share connections, over HTTP/2 if the receiver supports it.
package delivery

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/publicurl"
	"github.com/floatgate/ticketing/internal/safedial"
	"github.com/floatgate/ticketing/webhook"
)

// MaxTimeout is the longest that an attempt may take in all (section 6.3).
const MaxTimeout = 10 * time.Second

const (
	// maxBody is how much of a response's body is read (section 6.3), and patience is how long the sender waits for it
	// after the status has arrived. The body is read only so that the connection can be used again.
	maxBody  = 64 << 10
	patience = time.Second

	// maxHeader bounds a response's header, including all 1xx responses before it.
	maxHeader = 64 << 10

	maxIdle        = 1024
	maxIdlePerHost = 64
	idleTimeout    = 55 * time.Second
	maxSessions    = 1024

	// An HTTP/2 connection that is silent for pingAfter gets a ping. Otherwise a connection that was cut without notice
	// would lose every delivery to its host.
	pingAfter, pingTimeout = 10 * time.Second, 5 * time.Second
)

// Resolver finds the addresses of a name; a [net.Resolver] is one. It is called with the network "ip". The addresses
// that it returns are checked like any other.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Config configures a [Sender]. A nil Config is the default one.
type Config struct {
	// Timeout is how long an attempt may take in all, from the look-up of the name to the last byte that is read.
	// Defaults to [MaxTimeout], which it may not exceed.
	Timeout time.Duration
	// DNSTimeout bounds the look-up of a name, and ConnectTimeout connecting to its addresses, one after the other.
	// Both are within Timeout. They default to 6 s and 5 s.
	DNSTimeout, ConnectTimeout time.Duration
	// AllowPrivate allows loopback, private and unique-local addresses, localhost, other local names and IP literals.
	// It is for development only: with it, anyone who may register an endpoint reaches what this machine reaches. TLS
	// is still verified. Defaults to public addresses only.
	AllowPrivate bool
	// Denied prefixes are never connected to, even with AllowPrivate. They are mainly for public addresses that lead
	// into the host's own network. Defaults to none.
	Denied []netip.Prefix
	// Dial makes connections in place of a [net.Dialer], to connect through a proxy or from a certain address. It is
	// called with the network "tcp" and an address that was resolved and checked, such as "93.184.216.34:443". It must
	// connect to exactly that address: a proxy that got the name instead would resolve it again, without the checks of
	// this package. The returned connection is not checked again, since its other end may be the proxy. TLS runs over
	// it. Dial may be called for several addresses at once; a panic becomes an error. Defaults to a net.Dialer, whose
	// connections are checked again.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// RootCAs verifies receivers in place of the system's roots. To have both, add to a copy of
	// [x509.SystemCertPool]. Defaults to the system's.
	RootCAs *x509.CertPool
	// Resolver looks up names in place of [net.DefaultResolver].
	Resolver Resolver
}

// Sender posts webhooks. It is safe for concurrent use, and starts nothing before it is used.
type Sender struct {
	transport    *http.Transport
	connections  connections
	timeout      time.Duration
	allowPrivate bool
}

var _ ticketing.Sender = (*Sender)(nil)

// New returns a sender, or an error that says what is wrong with the config.
func New(config *Config) (*Sender, error) {
	if config == nil {
		config = &Config{}
	}
	if err := config.check(); err != nil {
		return nil, err
	}
	timeout := cmp.Or(config.Timeout, MaxTimeout)
	s := &Sender{timeout: timeout, allowPrivate: config.AllowPrivate}
	dialer := &safedial.Dialer{
		Policy: safedial.Policy{
			AllowPrivate: config.AllowPrivate, Denied: append([]netip.Prefix(nil), config.Denied...),
		},
		Resolver:       config.Resolver,
		DNSTimeout:     config.DNSTimeout,
		ConnectTimeout: config.ConnectTimeout,
		Dial:           config.Dial,
	}
	secure := &tls.Config{
		MinVersion:         tls.VersionTLS12,
		RootCAs:            config.RootCAs,
		NextProtos:         []string{"h2", "http/1.1"},
		ClientSessionCache: tls.NewLRUClientSessionCache(maxSessions),
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetHTTP2(true)
	s.transport = &http.Transport{
		// No proxy: it would get the name. No compression: it adds a header that the contract does not have.
		Proxy:              nil,
		DisableCompression: true,
		DialTLSContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return s.dial(ctx, dialer, secure, network, address)
		},
		Protocols:              protocols,
		MaxIdleConns:           maxIdle,
		MaxIdleConnsPerHost:    maxIdlePerHost,
		IdleConnTimeout:        idleTimeout,
		MaxResponseHeaderBytes: maxHeader,
		HTTP2: &http.HTTP2Config{
			MaxReceiveBufferPerConnection: 16 * maxBody,
			MaxReceiveBufferPerStream:     maxBody,
			SendPingTimeout:               pingAfter,
			PingTimeout:                   pingTimeout,
			WriteByteTimeout:              timeout,
		},
	}
	return s, nil
}

func (c *Config) check() error {
	switch {
	case c.Timeout < 0 || c.DNSTimeout < 0 || c.ConnectTimeout < 0:
		return errors.New("delivery: a timeout is negative")
	case c.Timeout > MaxTimeout:
		return fmt.Errorf("delivery: Timeout is %v; it must be at most %v", c.Timeout, MaxTimeout)
	}
	for i, prefix := range c.Denied {
		if !prefix.IsValid() {
			return fmt.Errorf("delivery: Denied[%d] is not a valid prefix", i)
		}
	}
	return nil
}

// Post makes one attempt, as [ticketing.Sender] specifies. Its error is an [*Error].
//
// A request is sent a second time only if the first was certainly not handled: if a kept connection was closed before a
// byte was written, or if an HTTP/2 receiver reports that it refused the request.
func (s *Sender) Post(ctx context.Context, attempt ticketing.WebhookRequest) (status int, err error) {
	if !s.connections.begin() {
		return 0, explain(ctx, errClosed)
	}
	defer s.connections.end()
	within, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	request, err := s.request(within, attempt)
	if err != nil {
		return 0, err
	}
	answered, over := make(chan answer, 1), make(chan struct{})
	go s.exchange(request, answered, over)
	got := answer{err: context.DeadlineExceeded}
	select {
	case got = <-answered:
	case <-within.Done():
	}
	if got.err != nil {
		return 0, explain(ctx, got.err)
	}
	wait := time.NewTimer(patience)
	defer wait.Stop()
	select {
	case <-over:
	case <-wait.C:
	case <-within.Done():
	}
	if got.status < http.StatusContinue {
		return 0, &Error{Reason: ReasonAnswer, text: "the response has no valid status"}
	}
	return got.status, nil
}

type answer struct {
	status int
	err    error
}

// exchange sends the request, passes the status to answered, and reads the body so that the connection can be used
// again. It reads at most maxBody bytes, and no longer than the request's context lasts. Post does not wait for it:
// closing a connection first sends a TLS alert, and a receiver that reads nothing delays that by seconds.
func (s *Sender) exchange(request *http.Request, answered chan<- answer, over chan<- struct{}) {
	defer close(over)
	response, err := s.transport.RoundTrip(request)
	if err != nil {
		answered <- answer{err: err}
		return
	}
	defer response.Body.Close()
	answered <- answer{status: response.StatusCode}
	if response.ContentLength <= maxBody && response.StatusCode != http.StatusSwitchingProtocols {
		// The status has arrived; an error in the body does not change it.
		_, _ = io.CopyN(io.Discard, response.Body, maxBody)
	}
}

func (s *Sender) request(ctx context.Context, attempt ticketing.WebhookRequest) (*http.Request, error) {
	// The URL was checked at registration, perhaps by a process that allowed private addresses.
	url, err := publicurl.Check(attempt.URL, s.allowPrivate)
	if err != nil {
		return nil, &Error{Reason: ReasonURL, text: "the URL " + err.Error(), cause: err}
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(attempt.Body))
	if err != nil {
		return nil, &Error{Reason: ReasonURL, text: "the URL cannot be sent to", cause: err}
	}
	header := request.Header
	header.Set("Content-Type", webhook.ContentType)
	header.Set("User-Agent", webhook.UserAgent)
	header.Set(webhook.HeaderEventID, attempt.EventID.String())
	header.Set(webhook.HeaderEvent, string(attempt.EventType))
	header.Set(webhook.HeaderDeliveryID, attempt.DeliveryID.String())
	header.Set(webhook.HeaderSignature, attempt.Signature)
	return request, nil
}

// dial connects and does the TLS handshake. It has its own timeout: the transport finishes a connection even after the
// request that began it has ended, and the next request uses it.
func (s *Sender) dial(
	ctx context.Context, dialer *safedial.Dialer, secure *tls.Config, network, address string,
) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	plain, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	plain = s.connections.add(plain)
	secure = secure.Clone()
	secure.ServerName = host
	conn := tls.Client(plain, secure)
	if err := conn.HandshakeContext(ctx); err != nil {
		_ = plain.Close() // It was never used.
		return nil, &handshakeError{err}
	}
	return conn, nil
}

// CloseIdleConnections closes the connections that no attempt uses.
func (s *Sender) CloseIdleConnections() { s.transport.CloseIdleConnections() }

// Close closes all connections when the last attempt in progress is over. It neither interrupts the attempts nor waits
// for them. From then on Post fails with an error that wraps [context.Canceled]: the service does not count such an
// attempt. Close may be called again, and never fails.
func (s *Sender) Close() error {
	s.connections.close()
	s.transport.CloseIdleConnections()
	return nil
}
