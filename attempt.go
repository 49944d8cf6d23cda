package ticketing

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/webhook"
)

// attemptTimeout is what a receiver has (section 6.3).
const attemptTimeout = 10 * time.Second

// parcel is a delivery with what an attempt takes.
type parcel struct {
	delivery DeliveryRecord
	body     []byte
	secret   WebhookSecret
	err      error     // why it cannot be sent
	version  time.Time // of its endpoint's last change when it was leased
	taken    time.Time // when it was leased, by the clock of this machine
}

var (
	errNoBody   = errors.New("the event cannot be rendered any more")
	errNoSecret = errors.New("the signing secret cannot be decrypted with the secret keys of this service")
	errUnsigned = errors.New("the request cannot be signed")
)

// parcels opens the secrets of deliveries that are leased; the others are left as they are. The endpoints are those that
// were enabled in the transaction that leased them, by number.
func (s *Service) parcels(
	deliveries []DeliveryRecord, bodies map[uuid.UUID][]byte, sealed map[WebhookSecretRef]WebhookSecretRecord,
	enabled map[int64]WebhookEndpointRecord,
) []parcel {
	opened := make(map[WebhookSecretRef]WebhookSecret, len(sealed))
	for ref, record := range sealed {
		secret, _, err := s.openWebhookSecret(record)
		if err != nil {
			s.log.Error("a webhook secret cannot be decrypted", slog.String("company", ref.CompanyID.String()),
				slog.Int64("endpoint", ref.Endpoint), slog.Int64("version", ref.Version), slog.Any("error", err))
			continue
		}
		opened[ref] = secret
	}
	parcels := make([]parcel, len(deliveries))
	taken := machineTime()
	for i, d := range deliveries {
		p := parcel{
			delivery: d, body: bodies[d.MessageID], secret: opened[d.secret()], taken: taken,
			version: enabled[d.Endpoint].UpdatedAt,
		}
		switch {
		case len(p.body) == 0:
			p.err = errNoBody
		case p.secret == "":
			p.err = errNoSecret
		}
		parcels[i] = p
	}
	return parcels
}

// attempt posts a delivery, unless its lease is too short for that.
func (s *Service) attempt(ctx context.Context, p parcel) *outcome {
	began := s.now()
	if began.Add(attemptTimeout).After(p.delivery.LeasedUntil) {
		return p.unsent(began)
	}
	o := &outcome{delivery: p.delivery, attempt: DeliveryAttempt{At: Time{began}}, jitter: rand.Float64()} //nolint:gosec // It spreads retries; nobody gains by guessing it.
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	status, err := s.post(ctx, p, began)
	o.at = s.now()
	o.attempt.DurationMS = max(0, o.at.Sub(began).Milliseconds())
	switch {
	case errors.Is(err, context.Canceled) && ctx.Err() == nil:
		// The sender was closed, since the process ends. It waits nevertheless: a host may have closed it too early.
		s.log.InfoContext(ctx, "an attempt to deliver a webhook was cut off and does not count",
			slog.String("delivery", p.delivery.ID.String()))
		o.result = resultCut
		return o
	case err != nil:
		o.attempt.Error = line(err.Error(), maxDeliveryError)
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			o.result = resultTimeout
		}
	case status < 200 || status > 299:
		o.attempt.Status, o.attempt.Error = status, "HTTP "+strconv.Itoa(status)
	default:
		o.attempt.Status, o.result = status, resultSuccess
	}
	s.telemetry.attempt(ctx, o)
	return o
}

// post hands a delivery to the sender. A panic of the sender's is an error like any other.
func (s *Service) post(ctx context.Context, p parcel, at time.Time) (status int, err error) {
	if p.err != nil {
		return 0, p.err
	}
	signature := webhook.Sign(string(p.secret), at, p.body)
	if signature == "" {
		return 0, errUnsigned
	}
	s.telemetry.flying.Add(ctx, 1)
	defer s.telemetry.flying.Add(context.WithoutCancel(ctx), -1)
	defer func() {
		if value := recover(); value != nil {
			s.contain("Sender.Post", value)
			err = errors.New("the sender panicked")
		}
	}()
	d := p.delivery
	return s.sender.Post(ctx, WebhookPost{
		EndpointID: d.EndpointID, DeliveryID: d.ID, EventID: d.MessageID, EventType: d.Type, URL: d.URL,
		Signature: signature, Body: p.body,
	})
}

// line is a text in one line, cut to so many characters.
func line(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most])
	}
	if text == "" {
		return "it failed"
	}
	return text
}
