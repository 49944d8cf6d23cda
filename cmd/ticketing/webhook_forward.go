package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/delivery"
	"github.com/floatgate/ticketing/webhook"
)

// forwarder posts events to a developer's address. It allows every address, since the person who runs it can reach it
// anyway. Otherwise it is as strict as deliveries to endpoints (section 6.3): no redirects, no proxy, ten seconds, 64
// KiB.
type forwarder struct {
	url, secret string
	client      *http.Client
}

const (
	forwardTimeout     = delivery.MaxTimeout
	maxForwardResponse = 64 << 10
)

func newForwarder(to, secret string, roots *x509.CertPool) *forwarder {
	transport := &http.Transport{
		DialContext:       (&net.Dialer{Timeout: forwardTimeout}).DialContext,
		TLSClientConfig:   &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2: true,
		// Deliveries to endpoints do not ask for compression either.
		DisableCompression: true,
	}
	return &forwarder{url: to, secret: secret, client: &http.Client{
		Transport: transport, Timeout: forwardTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

func (r *forwarder) close() { r.client.CloseIdleConnections() }

// post makes the only attempt, as a separate delivery.
func (r *forwarder) post(ctx context.Context, event ticketing.WebhookEvent) forwardResult {
	at := time.Now()
	result := forwardResult{
		At: ticketing.Time{Time: at.UTC()}, EventID: event.ID, EventType: event.Type, DeliveryID: uuid.New(),
	}
	status, err := r.send(ctx, event, result.DeliveryID, at)
	result.DurationMS = time.Since(at).Milliseconds()
	if err != nil {
		text := forwardError(err)
		result.Error = &text
	} else {
		result.HTTPStatus = &status
	}
	return result
}

func (r *forwarder) send(
	ctx context.Context, event ticketing.WebhookEvent, deliveryID uuid.UUID, at time.Time,
) (status int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, bytes.NewReader(event.Body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", webhook.ContentType)
	request.Header.Set("User-Agent", webhook.UserAgent)
	request.Header.Set(webhook.HeaderEventID, event.ID.String())
	request.Header.Set(webhook.HeaderEvent, string(event.Type))
	request.Header.Set(webhook.HeaderDeliveryID, deliveryID.String())
	request.Header.Set(webhook.HeaderSignature, webhook.Sign(r.secret, at, event.Body))
	response, err := r.client.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	// The content of the response is irrelevant, and so is whether all of it arrives.
	_, _ = io.CopyN(io.Discard, response.Body, maxForwardResponse)
	return response.StatusCode, nil
}

// forwardError returns the text of an error for an attempt without a response.
func forwardError(err error) string {
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() {
		return "no answer within " + forwardTimeout.String()
	}
	if of, ok := errors.AsType[*url.Error](err); ok {
		err = of.Err
	}
	return err.Error()
}

// newSecretText returns the part of a new signing secret after its prefix: 32 random bytes.
func newSecretText() string {
	random := make([]byte, 32)
	_, _ = rand.Read(random) // It never fails.
	return base64.RawURLEncoding.EncodeToString(random)
}
