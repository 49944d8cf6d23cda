package bench

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/webhook"
)

// receiver receives the deliveries of a bench, over TLS. Each endpoint has its own address on this machine.
type receiver struct {
	server *http.Server
	origin string
	roots  *x509.CertPool

	verified, unverified atomic.Int64
	watching             atomic.Bool

	mu      sync.Mutex
	secrets []string // of each endpoint
	seen    map[arrivedOnce]bool
	noted   []arrivedAt
}

// headerTimeout is how long a sender may take for the header of a request.
const headerTimeout = 10 * time.Second

// arrivedOnce is an event at an endpoint.
type arrivedOnce struct {
	endpoint int
	event    [36]byte
}

// arrivedAt is when an event about an order first arrived.
type arrivedAt struct {
	order uuid.UUID
	at    time.Time
}

func newReceiver(ctx context.Context) (*receiver, error) {
	certificate, err := newCertificate()
	if err != nil {
		return nil, err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &receiver{
		origin: "https://" + listener.Addr().String() + "/", roots: x509.NewCertPool(), seen: map[arrivedOnce]bool{},
	}
	r.roots.AddCert(certificate.Leaf)
	r.server = &http.Server{
		Handler: http.HandlerFunc(r.receive), ReadHeaderTimeout: headerTimeout,
		ErrorLog:  slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
	}
	go func() { _ = r.server.ServeTLS(listener, "", "") }()
	return r, nil
}

// newCertificate creates a certificate for this machine, valid for a day.
func newCertificate() (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, err
	}
	leaf, err := x509.ParseCertificate(der)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, err
}

// address returns the URL of the next endpoint.
func (r *receiver) address() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.origin + strconv.Itoa(len(r.secrets))
}

// expect sets the signing secret of the next endpoint.
func (r *receiver) expect(secret string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.secrets = append(r.secrets, secret)
}

// receive accepts requests that verify, as a receiver must (section 6.4), and records them.
func (r *receiver) receive(w http.ResponseWriter, request *http.Request) {
	at := time.Now()
	endpoint, event, body, err := r.check(request, at)
	if err != nil {
		r.unverified.Add(1)
		http.Error(w, "not accepted", http.StatusBadRequest)
		return
	}
	order := uuid.Nil
	if r.watching.Load() {
		order = orderOf(body)
	}
	r.mu.Lock()
	once := arrivedOnce{endpoint: endpoint, event: event}
	if first := !r.seen[once]; first && order != uuid.Nil {
		r.noted = append(r.noted, arrivedAt{order: order, at: at})
	}
	r.seen[once] = true
	r.mu.Unlock()
	r.verified.Add(1)
	w.WriteHeader(http.StatusNoContent)
}

var errNoEndpoint = errors.New("no endpoint")

func (r *receiver) check(request *http.Request, at time.Time) (endpoint int, event [36]byte, body []byte, err error) {
	if body, err = io.ReadAll(http.MaxBytesReader(nil, request.Body, webhook.MaxBody)); err != nil {
		return 0, event, nil, err
	}
	endpoint, err = strconv.Atoi(strings.TrimPrefix(request.URL.Path, "/"))
	if err != nil {
		return 0, event, nil, err
	}
	r.mu.Lock()
	known := endpoint >= 0 && endpoint < len(r.secrets)
	secret := ""
	if known {
		secret = r.secrets[endpoint]
	}
	r.mu.Unlock()
	if !known || len(request.Header.Get(webhook.HeaderEventID)) != len(event) {
		return 0, event, nil, errNoEndpoint
	}
	copy(event[:], request.Header.Get(webhook.HeaderEventID))
	return endpoint, event, body, webhook.Verify(request.Header.Get(webhook.HeaderSignature), body, at, secret)
}

// orderOf returns the order that an event is about, or the zero UUID if it is about something else.
func orderOf(body []byte) uuid.UUID {
	event, err := webhook.ParseEvent(body)
	if err != nil {
		return uuid.Nil
	}
	id := ""
	switch data := event.Data.(type) {
	case webhook.OrderCreated:
		id = data.Order.ID
	case webhook.CommissionAccrued:
		id = data.OrderID
	}
	order, _ := uuid.Parse(id)
	return order
}

// arrived returns how many events arrived, once for each endpoint.
func (r *receiver) arrived() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return int64(len(r.seen))
}

func (r *receiver) requests() int64 { return r.verified.Load() }

func (r *receiver) refused() int64 { return r.unverified.Load() }

// watch turns the recording of arrival times on or off.
func (r *receiver) watch(on bool) { r.watching.Store(on) }

// watched returns the arrivals recorded since the last call.
func (r *receiver) watched() []arrivedAt {
	r.mu.Lock()
	defer r.mu.Unlock()
	noted := r.noted
	r.noted = nil
	return noted
}
