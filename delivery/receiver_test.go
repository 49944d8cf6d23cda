package delivery_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/delivery"
)

const (
	host   = "hooks.example.com"
	public = "93.184.216.34"
)

// TestMain sets a proxy in the environment at which no server listens. A request through it would fail.
func TestMain(m *testing.M) {
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"} {
		if err := os.Setenv(name, "http://127.0.0.1:9"); err != nil {
			panic(err)
		}
	}
	slog.SetDefault(slog.New(slog.DiscardHandler)) // net/http logs what hostile receivers do.
	os.Exit(m.Run())
}

// authority signs certificates. They are valid for two centuries, so that they are valid in a bubble of synctest, too.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

var (
	century  = time.Date(1999, 1, 1, 0, 0, 0, 0, time.UTC)
	trusted  = newAuthority()
	stranger = newAuthority()
)

func newAuthority() *authority {
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"},
		NotBefore: century, NotAfter: century.AddDate(200, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		panic(err)
	}
	return &authority{certificate: certificate, key: key}
}

// sign returns a certificate for a host.
func (a *authority) sign(tb testing.TB, host string, change func(*x509.Certificate)) tls.Certificate {
	tb.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: host}, DNSNames: []string{host},
		NotBefore: century, NotAfter: century.AddDate(200, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(host); ip != nil {
		template.DNSNames, template.IPAddresses = nil, []net.IP{ip}
	}
	if change != nil {
		change(template)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		tb.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

// answers is a resolver that has one address for every name.
type answers struct {
	addr  string
	asked atomic.Int64
}

func (a *answers) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	a.asked.Add(1)
	return []netip.Addr{netip.MustParseAddr(a.addr)}, nil
}

// wires connects every dialled address to one listener, and counts the connections.
type wires struct {
	to     string
	dialed atomic.Int64
	open   atomic.Int64
	mu     sync.Mutex
	got    []string
}

func (w *wires) dial(ctx context.Context, network, address string) (net.Conn, error) {
	w.dialed.Add(1)
	w.mu.Lock()
	w.got = append(w.got, network+" "+address)
	w.mu.Unlock()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", w.to)
	if err != nil {
		return nil, err
	}
	w.open.Add(1)
	return &counted{Conn: conn, wires: w}, nil
}

type counted struct {
	net.Conn
	wires *wires
	once  sync.Once
}

func (c *counted) Close() error {
	c.once.Do(func() { c.wires.open.Add(-1) })
	return c.Conn.Close()
}

// receiver is a TLS server with a sender to it, over a public name and address.
type receiver struct {
	*httptest.Server
	wires  *wires
	sender *delivery.Sender
}

// receive starts a receiver, over HTTP/1.1 or HTTP/2.
func receive(tb testing.TB, http2 bool, handler http.HandlerFunc) *receiver {
	tb.Helper()
	return receiveAs(tb, host, http2, handler)
}

// receiveAs starts a receiver with a certificate for name.
func receiveAs(tb testing.TB, name string, http2 bool, handler http.HandlerFunc) *receiver {
	tb.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = http2
	server.TLS = &tls.Config{Certificates: []tls.Certificate{trusted.sign(tb, name, nil)}}
	server.StartTLS()
	tb.Cleanup(server.Close)
	r := &receiver{Server: server, wires: &wires{to: server.Listener.Addr().String()}}
	r.sender = newSender(tb, r.wires, nil)
	return r
}

// newSender returns a sender that trusts the test's authority.
func newSender(tb testing.TB, w *wires, change func(*delivery.Config)) *delivery.Sender {
	tb.Helper()
	config := &delivery.Config{RootCAs: trusted.pool(), Resolver: &answers{addr: public}}
	if w != nil {
		config.Dial = w.dial
	}
	if change != nil {
		change(config)
	}
	sender, err := delivery.New(config)
	is.New(tb).NoErr(err)
	tb.Cleanup(func() { is.New(tb).NoErr(sender.Close()) })
	return sender
}

// onBoth runs a test over HTTP/1.1 and HTTP/2.
func onBoth(t *testing.T, run func(t *testing.T, http2 bool)) {
	t.Helper()
	for name, http2 := range map[string]bool{"HTTP1": false, "HTTP2": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, http2)
		})
	}
}

func attempt() ticketing.WebhookRequest {
	return ticketing.WebhookRequest{
		EndpointID: uuid.MustParse("11111111-1111-4111-8111-111111111111"),
		DeliveryID: uuid.MustParse("22222222-2222-4222-8222-222222222222"),
		EventID:    uuid.MustParse("33333333-3333-4333-8333-333333333333"),
		EventType:  ticketing.FactOrderCreated,
		URL:        "https://" + host + "/hooks/a%2Fb?tenant=7&x=%20",
		Signature:  "t=1790000000,v1=00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff",
		Body: []byte("{\"id\":\"33333333-3333-4333-8333-333333333333\",\n \"emoji\":\"\xf0\x9f\x8e\xab\", " +
			"\"html\":\"<a>&\"}\n"),
	}
}

func to(url string) ticketing.WebhookRequest {
	a := attempt()
	a.URL = url
	return a
}
