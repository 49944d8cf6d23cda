package ticketingtest

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/floatgate/ticketing/webhook"
)

// Webhooks is a receiver of webhooks: a real TLS server on this machine that records requests. By default it responds
// 204 to requests that its secrets verify and 400 to all others. Next and Always change that.
type Webhooks struct {
	// URL is the address of the receiver, https://127.0.0.1:PORT.
	URL string

	server  *httptest.Server
	mu      sync.Mutex
	secrets []string
	clock   func() time.Time
	got     []Received
	next    []http.HandlerFunc
	always  http.HandlerFunc
	grown   chan struct{} // closed and replaced with every request
}

// Received is a request that came to [Webhooks].
type Received struct {
	// EventID, Event and DeliveryID are the headers X-Service-Event-Id, X-Service-Event and X-Service-Delivery-Id, as
	// they came, verified or not.
	EventID, Event, DeliveryID string
	// Method, Proto and Header are those of the request.
	Method, Proto string
	Header        http.Header
	// Body is what came, at most a byte more than webhook.MaxBody.
	Body []byte
	// At is when the whole request had come, by the receiver's clock.
	At time.Time
	// Delivery is the result of [webhook.Receive], and Err its error; one of the two is zero.
	Delivery webhook.Delivery
	Err      error
}

// NewWebhooks starts a receiver that verifies with these secrets, and stops it when the test ends. Responses that hang
// end then, too.
func NewWebhooks(t testing.TB, secrets ...string) *Webhooks {
	t.Helper()
	w := &Webhooks{secrets: slices.Clone(secrets), clock: time.Now}
	ended, end := context.WithCancel(t.Context())
	w.server = httptest.NewUnstartedServer(http.HandlerFunc(w.receive))
	w.server.EnableHTTP2 = true
	w.server.Config.BaseContext = func(net.Listener) context.Context { return ended }
	w.server.StartTLS()
	w.URL = w.server.URL
	t.Cleanup(func() {
		end()
		w.server.CloseClientConnections()
		w.server.Close()
	})
	return w
}

// Addr returns the address that it listens at, HOST:PORT, for a dialer that maps another name to it. Its certificate is
// valid for 127.0.0.1, example.com and every name directly below that.
func (w *Webhooks) Addr() string { return w.server.Listener.Addr().String() }

// Roots returns the certificates by which a client trusts the receiver.
func (w *Webhooks) Roots() *x509.CertPool {
	roots := x509.NewCertPool()
	roots.AddCert(w.server.Certificate())
	return roots
}

// RootsPEM returns Roots in PEM, for a file.
func (w *Webhooks) RootsPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: w.server.Certificate().Raw})
}

// SetSecrets sets the secrets for all further signatures: two during a rotation. With none, every request is refused.
func (w *Webhooks) SetSecrets(secrets ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.secrets = slices.Clone(secrets)
}

// SetClock sets the clock for the times of signatures, such as the Now of a [Clock]. The default is time.Now.
func (w *Webhooks) SetClock(now func() time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clock = now
}

// Next sets the responses to the next requests, one each in the order they come, verified or not. Further responses are
// queued after those that are left. A response may read the body from its beginning.
func (w *Webhooks) Next(answers ...http.HandlerFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next = append(w.next, answers...)
}

// Always sets the response to every request after the responses of Next are used up, verified or not. Nil restores the
// default.
func (w *Webhooks) Always(answer http.HandlerFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.always = answer
}

// Status returns a response for [Webhooks]: a status and nothing more.
func Status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// Hang is a response for [Webhooks] that never comes: the connection stays open until the client gives up or the test
// ends.
func Hang(_ http.ResponseWriter, r *http.Request) {
	<-r.Context().Done()
	panic(http.ErrAbortHandler)
}

// All returns the requests recorded so far, in the order they came.
func (w *Webhooks) All() []Received {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.got)
}

// Of returns the verified requests of one type of event recorded so far.
func (w *Webhooks) Of(kind string) []Received {
	return slices.DeleteFunc(w.All(), func(r Received) bool { return r.Err != nil || r.Delivery.Event.Type != kind })
}

// Wait waits until at least n requests have come and returns all of them. A request is recorded before the response is
// sent, so its sender may still wait for it. If the context ends first, Wait returns the requests until then and an
// error.
func (w *Webhooks) Wait(ctx context.Context, n int) ([]Received, error) {
	for {
		got, grown := w.now()
		if len(got) >= n {
			return got, nil
		}
		select {
		case <-grown:
		case <-ctx.Done():
			return got, fmt.Errorf("ticketingtest: %d of %d webhooks came: %w", len(got), n, ctx.Err())
		}
	}
}

func (w *Webhooks) now() ([]Received, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.grown == nil {
		w.grown = make(chan struct{})
	}
	return slices.Clone(w.got), w.grown
}

func (w *Webhooks) receive(rw http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, webhook.MaxBody+1))
	if err != nil {
		return // The sender has hung up: the request is not recorded.
	}
	answer := w.keep(r, body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	answer(rw, r)
}

// keep records a request and chooses its response in one step, so that both have the same order.
func (w *Webhooks) keep(r *http.Request, body []byte) http.HandlerFunc {
	w.mu.Lock()
	defer w.mu.Unlock()
	got := Received{
		EventID: r.Header.Get(webhook.HeaderEventID), Event: r.Header.Get(webhook.HeaderEvent),
		DeliveryID: r.Header.Get(webhook.HeaderDeliveryID), Method: r.Method, Proto: r.Proto, Header: r.Header.Clone(),
		Body: body, At: w.clock(),
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	got.Delivery, got.Err = webhook.Receive(r, got.At, w.secrets...)
	w.got = append(w.got, got)
	if w.grown != nil {
		close(w.grown)
		w.grown = nil
	}
	switch {
	case len(w.next) > 0:
		answer := w.next[0]
		w.next = w.next[1:]
		return answer
	case w.always != nil:
		return w.always
	case got.Err != nil:
		return Status(http.StatusBadRequest)
	default:
		return Status(http.StatusNoContent)
	}
}
