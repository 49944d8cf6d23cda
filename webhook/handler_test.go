package webhook_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime/debug"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/webhook"
)

// request returns a delivery as the service sends it.
func request(t *testing.T, event webhook.Event) *http.Request {
	t.Helper()
	body, err := event.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return signed(event.ID, event.Type, body)
}

func signed(id, kind string, body []byte) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "/webhooks", bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/json; charset=utf-8")
	r.Header.Set("User-Agent", "Service-Webhooks/1.0")
	r.Header.Set("X-Service-Event-Id", id)
	r.Header.Set("X-Service-Event", kind)
	r.Header.Set("X-Service-Delivery-Id", deliveryID)
	r.Header.Set("X-Service-Signature", webhook.Sign(secret, now, body))
	return r
}

// kept is a receiver that records deliveries and errors.
type kept struct {
	deliveries []webhook.Delivery
	errors     []error
}

func (k *kept) handler(secrets ...string) http.Handler {
	return webhook.Handler(webhook.FixedSecrets(secrets...), func(_ context.Context, d webhook.Delivery) error {
		k.deliveries = append(k.deliveries, d)
		return nil
	}, k.config())
}

func (k *kept) config() *webhook.HandlerConfig {
	return &webhook.HandlerConfig{
		Clock:   func() time.Time { return now },
		OnError: func(_ *http.Request, err error) { k.errors = append(k.errors, err) },
	}
}

func answer(handler http.Handler, r *http.Request) (status int, text string) {
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

// Every type arrives as it was sent.
func TestHandlerHandsDeliveriesOn(t *testing.T) {
	t.Parallel()
	for _, event := range samples() {
		t.Run(event.Type, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			var k kept
			status, text := answer(k.handler(next, secret), request(t, event))
			is.Equal(status, http.StatusNoContent)
			is.Equal(text, "")
			body, err := event.Encode()
			is.NoErr(err)
			is.Equal(k.deliveries, []webhook.Delivery{{Event: event, ID: deliveryID, SignedAt: now.UTC(), Body: body}})
			is.Equal(k.errors, nil)
		})
	}
}

// Section 6.4, each rule of it: a refused request never reaches accept, is reported to OnError, and is not quoted.
func TestHandlerRefuses(t *testing.T) {
	t.Parallel()
	event := webhook.NewEvent(eventID, now, webhook.BalanceLow{OrderID: "hidden"})
	resign := func(r *http.Request, body string) {
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
		r.Header.Set("X-Service-Signature", webhook.Sign(secret, now, []byte(body)))
	}
	encoded, err := event.Encode()
	if err != nil {
		t.Fatal(err)
	}
	set := func(name, value string) func(r *http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	add := func(name, value string) func(r *http.Request) {
		return func(r *http.Request) { r.Header.Add(name, value) }
	}
	remove := func(name string) func(r *http.Request) { return func(r *http.Request) { r.Header.Del(name) } }
	sends := func(body io.Reader) func(r *http.Request) {
		return func(r *http.Request) { r.Body = io.NopCloser(body) }
	}
	resigned := func(body string) func(r *http.Request) { return func(r *http.Request) { resign(r, body) } }
	const signature, id, kind = "X-Service-Signature", "X-Service-Event-Id", "X-Service-Event"
	aged := webhook.Sign(secret, now.Add(-301*time.Second), encoded)
	large := string(encoded) + strings.Repeat(" ", webhook.MaxBody)
	for name, test := range map[string]struct {
		change func(r *http.Request)
		want   error
		status int
	}{
		"no signature":   {remove(signature), webhook.ErrSignatureHeader, 400},
		"two signatures": {add(signature, webhook.Sign(secret, now, encoded)), webhook.ErrSignatureHeader, 400},
		"another secret": {set(signature, webhook.Sign(next, now, encoded)), webhook.ErrSignature, 400},
		"an old one":     {set(signature, aged), webhook.ErrTimestamp, 400},
		"another body":   {sends(strings.NewReader(string(encoded) + " ")), webhook.ErrSignature, 400},
		"no body":        {sends(http.NoBody), webhook.ErrSignature, 400},
		"no body at all": {func(r *http.Request) { r.Body = nil }, webhook.ErrSignature, 400},
		"half a body": {
			sends(iotest.TimeoutReader(iotest.OneByteReader(bytes.NewReader(encoded)))), iotest.ErrTimeout, 400,
		},
		"signed nonsense": {resigned("hidden"), webhook.ErrEvent, 400},
		"other nonsense":  {sends(strings.NewReader("{")), webhook.ErrSignature, 400}, // It is not even parsed.
		"another version": {resigned(strings.Replace(string(encoded), `"v1"`, `"v2"`, 1)), webhook.ErrVersion, 400},
		"another id":      {set(id, deliveryID), webhook.ErrMismatch, 400},
		"no id":           {remove(id), webhook.ErrMismatch, 400},
		"two ids":         {add(id, deliveryID), webhook.ErrMismatch, 400},
		"another type":    {set(kind, "order.created"), webhook.ErrMismatch, 400},
		"no type":         {remove(kind), webhook.ErrMismatch, 400},
		"two types":       {add(kind, "order.created"), webhook.ErrMismatch, 400},
		"too large":       {resigned(large), webhook.ErrTooLarge, 413},
		"too large, of a size that was not told": {
			func(r *http.Request) { resign(r, large); r.ContentLength = -1 }, webhook.ErrTooLarge, 413,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			r := request(t, event)
			test.change(r)
			var k kept
			status, told := answer(k.handler(secret), r)
			is.Equal(status, test.status)
			is.Equal(len(k.deliveries), 0)
			is.Equal(len(k.errors), 1)
			is.True(errors.Is(k.errors[0], test.want))
			for _, text := range []string{told, k.errors[0].Error()} {
				is.True(text != "")
				is.True(!strings.Contains(text, "hidden"))
				is.True(!strings.Contains(text, secret))
			}
		})
	}
}

// The body is read to its limit and no further: a sender without a secret cannot fill the memory.
func TestHandlerReadsNoMoreThanItMust(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	r := request(t, samples()[0])
	endless := &counter{}
	r.Body, r.ContentLength = io.NopCloser(endless), -1
	var k kept
	status, _ := answer(k.handler(secret), r)
	is.Equal(status, http.StatusRequestEntityTooLarge)
	is.True(endless.read <= webhook.MaxBody+1)

	told := &counter{}
	r.Body, r.ContentLength = io.NopCloser(told), webhook.MaxBody+1
	status, _ = answer(k.handler(secret), r)
	is.Equal(status, http.StatusRequestEntityTooLarge)
	is.Equal(told.read, 0)
}

type counter struct{ read int }

func (c *counter) Read(p []byte) (int, error) {
	c.read += len(p)
	return len(p), nil
}

func TestHandlerTakesPOSTAlone(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	for _, method := range []string{"GET", "HEAD", "PUT", "PATCH", "DELETE", "OPTIONS", "post"} {
		r := request(t, samples()[0])
		r.Method = method
		var k kept
		w := httptest.NewRecorder()
		k.handler(secret).ServeHTTP(w, r)
		is.Equal(w.Code, http.StatusMethodNotAllowed)
		is.Equal(w.Header().Get("Allow"), "POST")
		is.Equal(len(k.deliveries), 0)
	}
}

// After a failure of the receiver the status makes the sender try again. A panic stays in its request.
func TestHandlerAsksForAnotherAttempt(t *testing.T) {
	t.Parallel()
	fault := errors.New("the disk is full of " + secret)
	accepts := func(context.Context, webhook.Delivery) error { return nil }
	for name, test := range map[string]struct {
		secrets webhook.Secrets
		accept  func(ctx context.Context, d webhook.Delivery) error
		want    string
	}{
		"accept fails": {
			webhook.FixedSecrets(secret), func(context.Context, webhook.Delivery) error { return fault },
			"webhook: accept: the disk is full of " + secret,
		},
		"accept panics": {
			webhook.FixedSecrets(secret), func(context.Context, webhook.Delivery) error { panic(fault) },
			"webhook: accept panicked with a *errors.errorString", // A payload may be in its text.
		},
		"no secrets can be had": {
			func(context.Context) ([]string, error) { return nil, fault }, accepts,
			"webhook: secrets: the disk is full of " + secret,
		},
		"there are none":    {webhook.FixedSecrets(), accepts, webhook.ErrSecret.Error()},
		"there is an empty": {webhook.FixedSecrets(secret, ""), accepts, webhook.ErrSecret.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			var k kept
			status, told := answer(webhook.Handler(test.secrets, test.accept, k.config()), request(t, samples()[0]))
			is.Equal(status, http.StatusInternalServerError)
			is.Equal(told, "not accepted, try again\n")
			is.Equal(len(k.errors), 1)
			is.Equal(k.errors[0].Error(), test.want)
		})
	}
}

// OnError can see where a panic was.
func TestHandlerReportsPanicsOnTheirStack(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	var stack string
	config := new(kept).config()
	config.OnError = func(*http.Request, error) { stack = string(debug.Stack()) }
	status, _ := answer(webhook.Handler(webhook.FixedSecrets(secret), panics, config), request(t, samples()[0]))
	is.Equal(status, http.StatusInternalServerError)
	is.True(strings.Contains(stack, "webhook_test.panics("))
}

func panics(context.Context, webhook.Delivery) error { panic("a fault") }

// FixedSecrets copies the secrets that it gets.
func TestFixedSecretsStay(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	given := []string{secret, next}
	secrets := webhook.FixedSecrets(given...)
	given[0] = ""
	got, err := secrets(t.Context())
	is.NoErr(err)
	is.Equal(got, []string{secret, next})
}

// http.ErrAbortHandler passes through without an answer.
func TestHandlerLetsAbortsThrough(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	handler := webhook.Handler(webhook.FixedSecrets(secret), func(context.Context, webhook.Delivery) error {
		panic(http.ErrAbortHandler)
	}, &webhook.HandlerConfig{Clock: func() time.Time { return now }})
	defer func() { is.Equal(recover(), http.ErrAbortHandler) }()
	answer(handler, request(t, samples()[0]))
}

// Section 6.4, item 5, and 6.5: during a rotation every delivery is accepted, without a restart.
func TestHandlerAsksForSecretsEachTime(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	secrets := []string{secret}
	accepted := 0
	handler := webhook.Handler(
		func(context.Context) ([]string, error) { return secrets, nil },
		func(context.Context, webhook.Delivery) error { accepted++; return nil },
		&webhook.HandlerConfig{Clock: func() time.Time { return now }},
	)
	send := func(secret string) int {
		r := request(t, samples()[3])
		body, err := samples()[3].Encode()
		is.NoErr(err)
		r.Header.Set("X-Service-Signature", webhook.Sign(secret, now, body))
		status, _ := answer(handler, r)
		return status
	}
	is.Equal(send(next), http.StatusBadRequest) // Not deployed yet.
	secrets = []string{secret, next}
	is.Equal(send(secret), http.StatusNoContent)
	is.Equal(send(next), http.StatusNoContent)
	secrets = []string{next}
	is.Equal(send(secret), http.StatusBadRequest)
	is.Equal(send(next), http.StatusNoContent)
	is.Equal(accepted, 3)
}

// Without a config the clock is the machine's, and errors are dropped.
func TestHandlerHasDefaults(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	handler := webhook.Handler(webhook.FixedSecrets(secret), func(context.Context, webhook.Delivery) error {
		return nil
	}, nil)
	r := request(t, samples()[0]) // Signed at another time.
	status, _ := answer(handler, r)
	is.Equal(status, http.StatusBadRequest)
	r = request(t, samples()[0])
	body, err := samples()[0].Encode()
	is.NoErr(err)
	r.Header.Set("X-Service-Signature", webhook.Sign(secret, time.Now(), body))
	status, _ = answer(handler, r)
	is.Equal(status, http.StatusNoContent)
}
