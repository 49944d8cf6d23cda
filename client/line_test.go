package client_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/client"
	"github.com/floatgate/ticketing/httpapi"
	"github.com/floatgate/ticketing/internal/contracttest"
	"github.com/floatgate/ticketing/ticketingtest"
)

// fault is what happens to a request on its way to the service and back.
type fault func(r *http.Request, serve func() *http.Response) (*http.Response, error)

var errLine = errors.New("connection reset by peer")

// unreached fails before the service sees anything.
func unreached(*http.Request, func() *http.Response) (*http.Response, error) { return nil, errLine }

// broken fails after the service has answered.
func broken(_ *http.Request, serve func() *http.Response) (*http.Response, error) {
	serve()
	return nil, errLine
}

// undialled gets no connection at the address.
func undialled(r *http.Request, _ func() *http.Response) (*http.Response, error) {
	return dialling(func() (net.Conn, error) { return nil, errLine }).RoundTrip(r)
}

// unanswered gets no connection until the client has given up.
func unanswered(r *http.Request, _ func() *http.Response) (*http.Response, error) {
	return dialling(func() (net.Conn, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}).RoundTrip(r)
}

// hungUp gets a connection whose other end reads and closes.
func hungUp(r *http.Request, _ func() *http.Response) (*http.Response, error) {
	return dialling(func() (net.Conn, error) {
		near, far := net.Pipe()
		go func() {
			_, _ = far.Read(make([]byte, 1<<10))
			_ = far.Close()
		}()
		return near, nil
	}).RoundTrip(r)
}

// dialling returns a net/http transport over connections of the test's choice.
func dialling(dial func() (net.Conn, error)) http.RoundTripper {
	return &http.Transport{
		DisableKeepAlives: true,
		DialContext:       func(context.Context, string, string) (net.Conn, error) { return dial() },
	}
}

// cutRefusal fails in the middle of a refusal.
func cutRefusal(*http.Request, func() *http.Response) (*http.Response, error) {
	response := made(http.StatusConflict, "", "")
	response.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"error":{"code":"INV`), brokenOff{}))
	return response, nil
}

// lost lets the service do its work, and returns no answer until the client has given up.
func lost(r *http.Request, serve func() *http.Response) (*http.Response, error) {
	serve()
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// cut fails in the middle of the answer.
func cut(_ *http.Request, serve func() *http.Response) (*http.Response, error) {
	response := serve()
	response.Body = io.NopCloser(io.MultiReader(io.LimitReader(response.Body, 20), brokenOff{}))
	return response, nil
}

type brokenOff struct{}

func (brokenOff) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// garbled returns a success of a server that is not the service.
func garbled(_ *http.Request, serve func() *http.Response) (*http.Response, error) {
	serve()
	return made(http.StatusOK, "", "<html>welcome</html>"), nil
}

// hollow returns an envelope without data.
func hollow(_ *http.Request, serve func() *http.Response) (*http.Response, error) {
	serve()
	return made(http.StatusOK, "", `{"meta":{"requestId":"r"}}`), nil
}

// endless returns a success that continues with white space without end.
func endless(_ *http.Request, serve func() *http.Response) (*http.Response, error) {
	response := serve()
	response.Body = io.NopCloser(io.MultiReader(response.Body, spaces{}))
	return response, nil
}

type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// afterwards returns a fault that responds with status after the service has done its work.
func afterwards(status int) fault {
	return func(_ *http.Request, serve func() *http.Response) (*http.Response, error) {
		serve()
		return made(status, "", `{"error":{"code":"INTERNAL_ERROR","message":"An unexpected error occurred."}}`), nil
	}
}

// withheld returns a fault that replaces the service's answer by the page of a proxy.
func withheld(status int) fault {
	return func(_ *http.Request, serve func() *http.Response) (*http.Response, error) {
		serve()
		return made(status, "", "<html><title>Blocked</title>"), nil
	}
}

// instead returns a fault that responds without calling the service.
func instead(status int, code ticketing.Code, retryAfter string) fault {
	return func(*http.Request, func() *http.Response) (*http.Response, error) {
		return made(status, retryAfter, `{"error":{"code":"`+string(code)+`","message":"No."},"meta":{"requestId":"r"}}`), nil
	}
}

func limited(seconds int) fault {
	return instead(http.StatusTooManyRequests, ticketing.CodeRateLimited, strconv.Itoa(seconds))
}

func made(status int, retryAfter, body string) *http.Response {
	w := httptest.NewRecorder()
	if retryAfter != "" {
		w.Header().Set("Retry-After", retryAfter)
	}
	w.WriteHeader(status)
	_, _ = w.WriteString(body)
	return w.Result()
}

// line is a transport to a service, without a network. Each request uses the next of faults. Requests for the document
// have no fault.
type line struct {
	handler http.Handler

	mu     sync.Mutex
	faults []fault
	sent   []sending
}

type sending struct {
	what, id string // everything that must be the same in each attempt
	at       time.Time
}

func (l *line) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
	}
	served := r.Clone(r.Context())
	served.Body, served.RequestURI = io.NopCloser(bytes.NewReader(body)), r.URL.RequestURI()
	serve := func() *http.Response {
		w := httptest.NewRecorder()
		l.handler.ServeHTTP(w, served)
		return w.Result()
	}
	if strings.HasSuffix(r.URL.Path, "/openapi.json") {
		return serve(), nil
	}
	l.mu.Lock()
	l.sent = append(l.sent, sending{
		what: r.Method + " " + r.URL.RequestURI() + " " + r.Header.Get("Idempotency-Key") + " " + string(body),
		id:   r.Header.Get("X-Request-Id"), at: time.Now(),
	})
	become := fault(func(_ *http.Request, serve func() *http.Response) (*http.Response, error) { return serve(), nil })
	if len(l.faults) > 0 {
		become, l.faults = l.faults[0], l.faults[1:]
	}
	l.mu.Unlock()
	onward := r.Clone(r.Context())
	onward.Body = io.NopCloser(bytes.NewReader(body))
	return become(onward, serve)
}

// waits returns the times between the attempts.
func (l *line) waits() []time.Duration {
	var waits []time.Duration
	for i := 1; i < len(l.sent); i++ {
		waits = append(waits, l.sent[i].at.Sub(l.sent[i-1].at))
	}
	return waits
}

// connect returns a shop, an event on sale, a line to the shop's API, and a client that uses the line.
func connect(t *testing.T, config client.Config) (*ticketingtest.Shop, ticketing.Event, *line, *client.Client) {
	t.Helper()
	shop := ticketingtest.New(t, nil)
	event := shop.Event(t)
	shop.Inventory(t, event.ID, "VIP", 10_00, 100)
	l := &line{handler: contracttest.New(t.Error, shop.Service, &httpapi.Config{RateLimit: -1})}
	config.Transport = l
	api, err := client.New("http://tickets.example"+httpapi.DefaultPrefix, shop.APIKey, &config)
	is.New(t).NoErr(err)
	return shop, event, l, api
}

// bubble runs a test on a clock of its own, on which waits take no real time.
func bubble(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}
