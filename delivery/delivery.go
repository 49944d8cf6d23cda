// Package delivery posts webhooks: it is the [ticketing.Sender] that comes with the service.
//
// It goes to the public internet and nowhere else: names are resolved for each connection, every address of the answer
// has to be public, and what was looked at is what is connected to. TLS is always verified, redirects are not followed,
// proxies of the environment are not used. Connections are kept and shared by the deliveries to a host, over HTTP/2
// where the receiver speaks it.
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

// MaxTimeout is how long an attempt takes at most, in all (section 6.3).
const MaxTimeout = 10 * time.Second

const (
	// maxBody is how much of an answer's body is read (section 6.3), and patience how long it is waited for once the
	// status is there: a body decides nothing, it is read for the sake of the connection, which then serves again.
	maxBody  = 64 << 10
	patience = time.Second

	// maxHeader bounds an answer's header, with all that went before it as 1xx.
	maxHeader = 64 << 10

	maxIdle        = 1024
	maxIdlePerHost = 64
	idleTimeout    = 55 * time.Second
	maxSessions    = 1024

	// A connection over HTTP/2 that says nothing for so long is asked whether it lives: one that was cut without a word
	// would swallow every delivery to its host.
	pingAfter, pingTimeout = 10 * time.Second, 5 * time.Second
)

// Resolver finds the addresses of a name; a [net.Resolver] is one. It is called with the network "ip". What it answers is
// looked at like any other answer.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Config is how webhooks are sent. A nil Config is the default one.
type Config struct {
	// Timeout is how long an attempt takes in all, from the look-up of the name to the last byte that is read. Defaults
	// to [MaxTimeout], which it may not exceed.
	Timeout time.Duration
	// DNSTimeout bounds looking up a name, ConnectTimeout connecting to its addresses, one after the other, both within
	// Timeout. They default to 6 s and 5 s.
	DNSTimeout, ConnectTimeout time.Duration
	// AllowPrivate opens loopback, private and unique-local addresses, localhost, other local names and IP literals.
	// It is for development alone: with it, whoever registers an endpoint reaches what this machine reaches. TLS is
	// verified all the same. Defaults to public addresses only.
	AllowPrivate bool
	// Denied is not connected to, whatever else holds: public addresses that lead to the inside of the host's own
	// network, first of all. Defaults to none.
	Denied []netip.Prefix
	// Dial makes connections in place of a [net.Dialer], for a way out through a proxy or from a certain address. It is
	// called with the network "tcp" and an address that was resolved and looked at, such as "93.184.216.34:443", and
	// has to connect to exactly that one: a proxy that is handed the name instead would resolve it again, and nothing
	// here would protect it. What it returns is not looked at again, since its other end may be the proxy. TLS is
	// spoken over it. It may be called for several addresses at once; a panic is an error. Defaults to a net.Dialer,
	// whose connections are looked at again.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// RootCAs verifies receivers in place of the system's roots. To have both, add to a copy of
	// [x509.SystemCertPool]. Defaults to the system's.
	RootCAs *x509.CertPool
	// Resolver looks names up in place of [net.DefaultResolver].
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

// New makes a sender. Its error tells what is wrong with the config.
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
		Policy:         safedial.Policy{AllowPrivate: config.AllowPrivate, Denied: append([]netip.Prefix(nil), config.Denied...)},
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
		// Neither a proxy nor compression: the first would be handed the name, the second asks for more than the
		// contract's headers do.
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
		return errors.New("delivery: a time-out is negative")
	case c.Timeout > MaxTimeout:
		return fmt.Errorf("delivery: Timeout is %v, and at most %v", c.Timeout, MaxTimeout)
	}
	for i, prefix := range c.Denied {
		if !prefix.IsValid() {
			return fmt.Errorf("delivery: Denied[%d] is not a valid prefix", i)
		}
	}
	return nil
}

// Post makes one attempt, as [ticketing.Sender] says. Its error is an [*Error].
//
// A request is sent a second time only where nothing of the first was handled for certain: over a kept connection that
// was closed before a byte was written, or where an HTTP/2 receiver says that it refused it.
func (s *Sender) Post(ctx context.Context, attempt ticketing.WebhookPost) (status int, err error) {
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
		return 0, &Error{Reason: ReasonAnswer, text: "the answer has no valid status"}
	}
	return got.status, nil
}

type answer struct {
	status int
	err    error
}

// exchange sends the request, tells the answer, and reads what there is of its body, so that the connection can be used
// again: not where that is much, and no longer than the request's context holds. Nobody has to wait for it: a connection
// is not closed without a word of farewell, and a receiver that takes no more words delays that by seconds.
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
		// The status is there, and what becomes of the rest changes nothing about it.
		_, _ = io.CopyN(io.Discard, response.Body, maxBody)
	}
}

func (s *Sender) request(ctx context.Context, attempt ticketing.WebhookPost) (*http.Request, error) {
	// It was checked when it was registered, perhaps by a process in which private addresses were open.
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

// dial connects and shakes hands. It is bounded by itself: what a request began goes on when the request ends, for the
// next one to use.
func (s *Sender) dial(ctx context.Context, dialer *safedial.Dialer, secure *tls.Config, network, address string) (net.Conn, error) {
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

// CloseIdleConnections closes the connections that no attempt is using.
func (s *Sender) CloseIdleConnections() { s.transport.CloseIdleConnections() }

// Close lets the attempts under way end as they will, and closes all connections when the last of them is over. It waits
// for none. Post fails from now on, with an error that wraps [context.Canceled]: the service counts no such attempt.
// Close may be called again, and never fails.
func (s *Sender) Close() error {
	s.connections.close()
	s.transport.CloseIdleConnections()
	return nil
}
