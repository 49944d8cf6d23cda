package ticketing_test

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/delivery"
	"github.com/floatgate/ticketing/ticketingtest"
)

// internet has public names and addresses that lead to receivers on this machine. So package delivery's sender takes
// all of its steps: it looks names up, checks the addresses, connects and makes the TLS handshake.
type internet struct {
	mu    sync.Mutex
	names map[string]netip.Addr
	leads map[netip.Addr]string // HOST:PORT on this machine
	roots *x509.CertPool
}

func newInternet(tb testing.TB) *internet {
	tb.Helper()
	return &internet{
		names: make(map[string]netip.Addr), leads: make(map[netip.Addr]string),
		roots: ticketingtest.NewWebhooks(tb).Roots(), // All servers of net/http/httptest have one certificate.
	}
}

// join gives a listener on this machine a name and a public address.
func (i *internet) join(addr string) (url string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	n := len(i.names) + 1
	name, public := fmt.Sprintf("hooks%d.example.com", n), netip.AddrFrom4([4]byte{93, 184, byte(n >> 8), byte(n)})
	i.names[name], i.leads[public] = public, addr
	return "https://" + name
}

// move changes the address of a name. With an empty address the name is unknown.
func (i *internet) move(name, addr string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.names, name)
	if addr != "" {
		i.names[name] = netip.MustParseAddr(addr)
	}
}

// LookupNetIP implements [delivery.Resolver].
func (i *internet) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if addr, known := i.names[host]; known {
		return []netip.Addr{addr}, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

func (i *internet) dial(ctx context.Context, network, address string) (net.Conn, error) {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, err
	}
	i.mu.Lock()
	lead, known := i.leads[at.Addr()]
	i.mu.Unlock()
	if !known || at.Port() != 443 {
		return nil, errors.New("nobody is there")
	}
	return new(net.Dialer).DialContext(ctx, network, lead)
}

// sender returns a sender of package delivery. Its connections are closed when the test ends.
func (i *internet) sender(tb testing.TB, changes ...func(*delivery.Config)) *delivery.Sender {
	tb.Helper()
	config := &delivery.Config{Resolver: i, Dial: i.dial, RootCAs: i.roots}
	for _, change := range changes {
		change(config)
	}
	s, err := delivery.New(config)
	is.New(tb).NoErr(err)
	tb.Cleanup(func() { is.New(tb).NoErr(s.Close()) })
	return s
}

// wired is a shop whose webhooks are sent over TLS.
type wired struct {
	*ticketingtest.Shop

	net    *internet
	sender *delivery.Sender
	svc    *ticketing.Service
	event  ticketing.Event
}

func newWired(tb testing.TB, shop *ticketingtest.Shop, changes ...func(*delivery.Config)) *wired {
	tb.Helper()
	w := &wired{Shop: shop, net: newInternet(tb), event: shop.Event(tb)}
	shop.Inventory(tb, w.event.ID, "VIP", 100_00, 100)
	w.sender = w.net.sender(tb, changes...)
	w.svc = sender(tb, shop, w.sender)
	return w
}

// onWires runs a test on each store.
func onWires(t *testing.T, test func(t *testing.T, w *wired)) {
	t.Helper()
	onShops(t, nil, func(t *testing.T, shop *ticketingtest.Shop) { test(t, newWired(t, shop)) })
}

// receiver returns a TLS receiver and its URL. SetSecrets gives it the secret.
func (w *wired) receiver(tb testing.TB) (r *ticketingtest.Webhooks, url string) {
	tb.Helper()
	r = ticketingtest.NewWebhooks(tb)
	r.SetClock(w.Clock.Now)
	return r, w.net.join(r.Addr())
}

// hook registers a receiver for the given types, or for all four if none is given.
func (w *wired) hook(
	tb testing.TB, events ...ticketing.FactType,
) (*ticketingtest.Webhooks, ticketing.IssuedWebhookEndpoint) {
	tb.Helper()
	r, url := w.receiver(tb)
	if len(events) == 0 {
		events = ticketing.WebhookEventTypes()
	}
	made, err := w.Staff.CreateWebhookEndpoint(tb.Context(), w.Company.ID,
		ticketing.WebhookEndpointParams{URL: url + "/hooks", Events: events})
	is.New(tb).NoErr(err)
	r.SetSecrets(string(made.Secret))
	return r, made
}

func (w *wired) sell(tb testing.TB) ticketing.Order {
	tb.Helper()
	return w.Sell(tb, w.event.ID, "VIP", 1)
}
