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

// Webhooks is a receiver of webhooks: a real TLS server on this machine that keeps what comes and answers as it is told.
// It accepts what its secrets verify with 204 and refuses the rest with 400, until it is told otherwise.
type Webhooks struct {
	// URL is where it receives, https://127.0.0.1:PORT.
	URL string

	server  *httptest.Server
	mu      sync.Mutex
	secrets []string
	clock   func() time.Time
	got     []Received
	next    []http.HandlerFunc
	always  http.HandlerFunc
	grown   chan struct{} // closed and made anew with every request
}

// Received is a request that came to [Webhooks].
type Received struct {
	// EventID, Event and DeliveryID are the headers X-Service-Event-Id, X-Service-Event and X-Service-Delivery-Id, as they
	// came, verified or not.
	EventID, Event, DeliveryID string
	// Method, Proto and Header are those of the request.
	Method, Proto string
	Header        http.Header
	// Body is what came, at most a byte more than webhook.MaxBody.
	Body []byte
	// At is when it had come, by the receiver's clock.
	At time.Time
	// Delivery is what [webhook.Receive] read, and Err why it refused to; one of the two is zero.
	Delivery webhook.Delivery
	Err      error
}

// NewWebhooks starts a receiver that verifies with these secrets, and stops it when the test ends. Answers that hang then
// end, too.
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

// Addr is where it listens, HOST:PORT, for a dialer that is to lead another name there. Its certificate is good for
// 127.0.0.1, example.com and every name directly below that.
func (w *Webhooks) Addr() string { return w.server.Listener.Addr().String() }

// Roots are the certificates that a client trusts it by.
func (w *Webhooks) Roots() *x509.CertPool {
	roots := x509.NewCertPool()
	roots.AddCert(w.server.Certificate())
	return roots
}

// RootsPEM are Roots in PEM, for a file.
func (w *Webhooks) RootsPEM() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: w.server.Certificate().Raw})
}

// SetSecrets sets what signatures are verified with from now on: two while a rotation is under way, and none refuses all.
func (w *Webhooks) SetSecrets(secrets ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.secrets = slices.Clone(secrets)
}

// SetClock sets the clock that the times of signatures are held against, as the Now of a [Clock]. It begins as time.Now.
func (w *Webhooks) SetClock(now func() time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.clock = now
}

// Next answers the next requests, one each in the order they come, verified or not. What is given while others are left
// comes after those. An answer may read the body, which it finds as it came.
func (w *Webhooks) Next(answers ...http.HandlerFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next = append(w.next, answers...)
}

// Always answers every request that no answer of Next is left for, verified or not. Nil is the answer that a receiver
// begins with.
func (w *Webhooks) Always(answer http.HandlerFunc) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.always = answer
}

// Status is an answer for [Webhooks]: a status and nothing more.
func Status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
}

// Hang is an answer for [Webhooks] that does not come: the connection stays open until the client gives up or the test
// ends.
func Hang(_ http.ResponseWriter, r *http.Request) {
	<-r.Context().Done()
	panic(http.ErrAbortHandler)
}

// All are the requests that came so far, in the order they came.
func (w *Webhooks) All() []Received {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.got)
}

// Of are the verified requests of one type of event that came so far.
func (w *Webhooks) Of(kind string) []Received {
	return slices.DeleteFunc(w.All(), func(r Received) bool { return r.Err != nil || r.Delivery.Event.Type != kind })
}

// Wait waits until n requests or more have come and returns all of them. A request has come before it is answered: its
// sender may not know yet. Wait fails when the context ends before; what came until then is returned, too.
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
		return // Whoever sent it has hung up: it did not come.
	}
	answer := w.keep(r, body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	answer(rw, r)
}

// keep notes a request down and decides how it is answered, in one step, so that the order of both is the same.
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
