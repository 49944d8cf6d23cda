package ticketingtest_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/ticketingtest"
	"github.com/floatgate/ticketing/webhook"
)

const (
	current = "svc_whsec_current"
	next    = "svc_whsec_next"
)

// post sends an event, signed as the service does, and returns the status.
func post(ctx context.Context, w *ticketingtest.Webhooks, secret string, at time.Time) (int, error) {
	event := webhook.NewEvent("0b8f6f0e-6d5c-4c1e-9a53-0f2d5f8b7a10", at, webhook.BalanceLow{Currency: "NGN"})
	body, err := event.Encode()
	if err != nil {
		return 0, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.URL, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header.Set(webhook.HeaderEventID, event.ID)
	request.Header.Set(webhook.HeaderEvent, event.Type)
	request.Header.Set(webhook.HeaderDeliveryID, "7d9e2c51-8a34-4b6f-9c1d-2e3f40516273")
	request.Header.Set(webhook.HeaderSignature, webhook.Sign(secret, at, body))
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: w.Roots(), MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true,
	}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, err
}

// A request is recorded as it came, with the result of webhook.Receive.
func TestWebhooksKeepWhatComes(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := ticketingtest.NewWebhooks(t, current)
	clock := ticketingtest.NewClock(time.Time{})
	w.SetClock(clock.Now)

	status, err := post(t.Context(), w, current, clock.Now())
	is.NoErr(err)
	is.Equal(status, http.StatusNoContent)
	status, err = post(t.Context(), w, next, clock.Now())
	is.NoErr(err)
	is.Equal(status, http.StatusBadRequest)

	got := w.All()
	is.Equal(len(got), 2)
	is.Equal(got[0].EventID, "0b8f6f0e-6d5c-4c1e-9a53-0f2d5f8b7a10")
	is.Equal(got[0].Event, "balance.low")
	is.Equal(got[0].DeliveryID, "7d9e2c51-8a34-4b6f-9c1d-2e3f40516273")
	is.Equal(got[0].Method, "POST")
	is.Equal(got[0].Proto, "HTTP/2.0")
	is.True(strings.HasPrefix(got[0].Header.Get("X-Service-Signature"), "t="))
	is.Equal(got[0].At, clock.Now())
	is.NoErr(got[0].Err)
	is.Equal(got[0].Delivery.Event.Data, webhook.BalanceLow{Currency: "NGN"})
	is.Equal(got[0].Delivery.Body, got[0].Body)
	is.True(errors.Is(got[1].Err, webhook.ErrSignature))
	is.Equal(got[1].Delivery, webhook.Delivery{})
	is.Equal(got[1].Body, got[0].Body)
	is.Equal(w.Of(webhook.TypeBalanceLow), got[:1])
	is.Equal(w.Of(webhook.TypeOrderCreated), []ticketingtest.Received{})
}

func TestWebhooksRotateTheirSecrets(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := ticketingtest.NewWebhooks(t)
	for _, step := range []struct {
		secrets       []string
		current, next int
	}{
		{nil, 400, 400},
		{[]string{current}, 204, 400},
		{[]string{current, next}, 204, 204},
		{[]string{next}, 400, 204},
	} {
		w.SetSecrets(step.secrets...)
		status, err := post(t.Context(), w, current, time.Now())
		is.NoErr(err)
		is.Equal(status, step.current)
		status, err = post(t.Context(), w, next, time.Now())
		is.NoErr(err)
		is.Equal(status, step.next)
	}
}

// Answers are given in their order, also to unverified requests. After them the default returns.
func TestReceiversAnswerAsAsked(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := ticketingtest.NewWebhooks(t, current)
	w.Next(ticketingtest.Status(http.StatusServiceUnavailable))
	w.Next(ticketingtest.Status(http.StatusOK), func(rw http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || !bytes.Contains(body, []byte("balance.low")) {
			rw.WriteHeader(http.StatusTeapot)
			return
		}
		rw.WriteHeader(http.StatusGone)
	})
	w.Always(ticketingtest.Status(http.StatusInternalServerError))
	for _, want := range []int{503, 200, 410, 500, 500} {
		status, err := post(t.Context(), w, next, time.Now())
		is.NoErr(err)
		is.Equal(status, want)
	}
	w.Always(nil)
	status, err := post(t.Context(), w, current, time.Now())
	is.NoErr(err)
	is.Equal(status, http.StatusNoContent)
}

// A receiver that hangs has recorded the request, and lets the test end.
func TestWebhooksHang(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := ticketingtest.NewWebhooks(t, current)
	w.Always(ticketingtest.Hang)
	ctx, giveUp := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := post(ctx, w, current, time.Now())
		ended <- err
	}()
	_, err := w.Wait(t.Context(), 1)
	is.NoErr(err)
	giveUp()
	is.True(errors.Is(<-ended, context.Canceled))

	var inner recorder // A test that ends while its receiver hangs.
	other := ticketingtest.NewWebhooks(&inner, current)
	other.Always(ticketingtest.Hang)
	go func() {
		_, err := post(t.Context(), other, current, time.Now())
		ended <- err
	}()
	_, err = other.Wait(t.Context(), 1)
	is.NoErr(err)
	inner.end()
	err = <-ended
	is.True(err != nil && !errors.Is(err, context.Canceled))
}

func TestWebhooksWaitForSoMany(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := ticketingtest.NewWebhooks(t, current)
	waited := make(chan []ticketingtest.Received)
	go func() {
		got, _ := w.Wait(t.Context(), 2)
		waited <- got
	}()
	for range 2 {
		_, err := post(t.Context(), w, current, time.Now())
		is.NoErr(err)
	}
	is.Equal(len(<-waited), 2)

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	got, err := w.Wait(ended, 3)
	is.True(errors.Is(err, context.Canceled))
	is.Equal(len(got), 2)
}

// A client that trusts Roots reaches the receiver under its other names. Other clients and other names are refused.
func TestWebhooksHaveACertificate(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	w := ticketingtest.NewWebhooks(t, current)
	roots := x509.NewCertPool()
	is.True(roots.AppendCertsFromPEM(w.RootsPEM()))
	dial := func(roots *x509.CertPool, name string) error {
		conn, err := net.Dial("tcp", w.Addr())
		is.NoErr(err)
		defer conn.Close()
		return tls.Client(conn, &tls.Config{RootCAs: roots, ServerName: name, MinVersion: tls.VersionTLS12}).
			HandshakeContext(t.Context())
	}
	is.NoErr(dial(roots, "hooks.example.com"))
	is.NoErr(dial(w.Roots(), "example.com"))
	is.True(dial(roots, "hooks.example.net") != nil)
	is.True(dial(x509.NewCertPool(), "hooks.example.com") != nil)
}
