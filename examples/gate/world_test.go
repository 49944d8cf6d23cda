package main_test

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"
	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	gate "github.com/floatgate/ticketing/examples/gate"
	"github.com/floatgate/ticketing/httpapi"
	"github.com/floatgate/ticketing/internal/contracttest"
	"github.com/floatgate/ticketing/ticketingtest"
)

// fault is what happens to one validation on its way to the API and back.
type fault func(r *http.Request, api func() *http.Response) (*http.Response, error)

var errLine = errors.New("connection reset by peer")

// lostAnswer lets the API admit, and returns no answer until the gate has given up.
func lostAnswer(r *http.Request, api func() *http.Response) (*http.Response, error) {
	api()
	return neverAnswered(r, api)
}

// neverAnswered returns no answer, before the API sees anything.
func neverAnswered(r *http.Request, _ func() *http.Response) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// brokenConnection lets the API admit, and then fails.
func brokenConnection(_ *http.Request, api func() *http.Response) (*http.Response, error) {
	api()
	return nil, errLine
}

// neverArrived fails before the API sees anything.
func neverArrived(*http.Request, func() *http.Response) (*http.Response, error) { return nil, errLine }

// afterCommit lets the API admit, and then applies another fault.
func afterCommit(otherwise fault) fault {
	return func(r *http.Request, api func() *http.Response) (*http.Response, error) {
		api()
		return otherwise(r, api)
	}
}

// altered returns the API's response with a text replaced.
func altered(old, changed string) fault {
	return func(_ *http.Request, api func() *http.Response) (*http.Response, error) {
		answered := api()
		body, err := io.ReadAll(answered.Body)
		if err != nil || !bytes.Contains(body, []byte(old)) {
			return made(http.StatusTeapot, "", ""), err
		}
		return made(answered.StatusCode, "", strings.Replace(string(body), old, changed, 1)), nil
	}
}

// refuse returns a fault that responds without calling the API.
func refuse(status int, code ticketing.Code, retryAfter string) fault {
	return func(*http.Request, func() *http.Response) (*http.Response, error) {
		return made(status, retryAfter, `{"error":{"code":"`+string(code)+`","message":"No."},"meta":{"requestId":"r"}}`), nil
	}
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

func gateway(*http.Request, func() *http.Response) (*http.Response, error) {
	return made(http.StatusBadGateway, "", "<html>welcome to the gateway</html>"), nil
}

var (
	failed    = refuse(http.StatusInternalServerError, ticketing.CodeInternal, "")
	conflicts = refuse(http.StatusConflict, ticketing.CodeConflict, "")
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// world is an API with a company that has an event, and a transport to it that may fail.
type world struct {
	*ticketingtest.Shop

	t     *testing.T
	event uuid.UUID
	key   string // with the one grant that a gate needs
	api   http.Handler

	mu     sync.Mutex
	log    bytes.Buffer
	faults []fault
	sent   []string // key and body of each validation, as it arrived
	waited int
}

func newWorld(t *testing.T, faults ...fault) *world {
	t.Helper()
	w := &world{Shop: ticketingtest.New(t, nil), t: t, faults: faults}
	issued, err := w.Staff.IssueAPIKey(t.Context(), w.Company.ID, "gate", []ticketing.Grant{ticketing.GrantTicketValidate})
	is.New(t).NoErr(err)
	w.key, w.event = issued.Key, w.Event(t).ID
	w.Inventory(t, w.event, "VIP", 15_000_00, 10)
	w.api = contracttest.New(t.Error, w.Service, &httpapi.Config{RateLimit: -1})
	return w
}

// inWorld runs a test in a world with its own clock, on which waits take no time.
func inWorld(t *testing.T, test func(is *is.I, w *world), faults ...fault) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(is.New(t), newWorld(t, faults...)) })
}

// gate returns a gate on a transport.
func (w *world) gate(line http.RoundTripper, location string) *gate.Gate {
	w.t.Helper()
	g, err := gate.NewGate("http://tickets.example"+httpapi.DefaultPrefix, w.key, w.event, location, &gate.Config{
		Transport: line, Logger: slog.New(slog.NewTextHandler(w, nil)),
		Waiting: func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.waited++
		},
	})
	is.New(w.t).NoErr(err)
	return g
}

// code returns the code of an admission of the world's event.
func (w *world) code(admission uuid.UUID) string {
	return ticketing.FormatAdmissionCode(w.event, admission)
}

// Write writes to the log.
func (w *world) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(p)
}

// RoundTrip records each validation, and applies the next of the faults to it.
func (w *world) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
	}
	served := r.Clone(r.Context())
	served.Body, served.RequestURI = io.NopCloser(bytes.NewReader(body)), r.URL.RequestURI()
	api := func() *http.Response {
		answered := httptest.NewRecorder()
		w.api.ServeHTTP(answered, served)
		return answered.Result()
	}
	become := fault(func(*http.Request, func() *http.Response) (*http.Response, error) { return api(), nil })
	if strings.HasSuffix(r.URL.Path, "/validate") {
		w.mu.Lock()
		w.sent = append(w.sent, r.Header.Get("Idempotency-Key")+" "+string(body))
		if len(w.faults) > 0 {
			become, w.faults = w.faults[0], w.faults[1:]
		}
		w.mu.Unlock()
	}
	return become(r, api)
}
