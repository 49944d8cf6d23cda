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

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/webhook"
)

// attemptTimeout is the time that a receiver has to respond (section 6.3).
const attemptTimeout = 10 * time.Second

// job is a leased delivery together with what an attempt needs.
//
// A job is in memory only. If the process ends, its lease runs out and another process claims the delivery.
//
// taken is by the clock of the machine, since the time in memory is measured by it. The lease is by the clock of the
// service.
type job struct {
	// delivery is the record as it was leased.
	delivery driver.Delivery
	body     []byte
	secret   WebhookSecret
	err      error     // why it cannot be sent; nil: it can
	version  time.Time // when the endpoint was last changed, as read with the lease
	taken    time.Time // when it was leased, by the clock of this machine
}

// The reasons why a delivery cannot be sent. A company sees them as the error of a failed attempt, so they name no
// secret.
var (
	errNoBody   = errors.New("the event cannot be rendered any more")
	errNoSecret = errors.New("the signing secret cannot be decrypted with the secret keys of this service")
	errUnsigned = errors.New("the request cannot be signed")
)

// jobs decrypts the secrets of leased deliveries and joins each delivery with its body. A delivery that is not
// leased gets a job as well, which deliverer.enqueue does not send. enabled holds, by number, the endpoints that were
// enabled in the transaction that took the lease.
//
// A delivery without a body or a secret is not dropped. Its job has an error, so that the attempt fails and is
// visible in the list of deliveries.
func (s *Service) jobs(
	ctx context.Context, deliveries []driver.Delivery, bodies map[uuid.UUID][]byte,
	sealed map[driver.WebhookSecretRef]driver.WebhookSecret, enabled map[int64]driver.WebhookEndpoint,
) []job {
	opened := make(map[driver.WebhookSecretRef]WebhookSecret, len(sealed))
	for ref, record := range sealed {
		secret, _, err := s.openWebhookSecret(record)
		if err != nil {
			s.log.ErrorContext(ctx, "a webhook secret cannot be decrypted", slog.String("company", ref.CompanyID.String()),
				slog.Int64("endpoint", ref.Endpoint), slog.Int64("version", ref.Version), slog.Any("error", err))
			continue
		}
		opened[ref] = secret
	}
	jobs := make([]job, len(deliveries))
	// The clock of the machine measures the age of a job in memory, whatever is done to the service's clock.
	taken := machineTime()
	for i, d := range deliveries {
		// An endpoint that was not enabled has the zero time as its version.
		j := job{
			delivery: d, body: bodies[d.MessageID], secret: opened[d.SecretRef()], taken: taken,
			version: enabled[d.Endpoint].UpdatedAt,
		}
		switch {
		case len(j.body) == 0:
			j.err = errNoBody
		case j.secret == "":
			j.err = errNoSecret
		}
		jobs[i] = j
	}
	return jobs
}

// attempt sends a delivery once, unless its lease ends before the attempt could time out. Another process could then
// claim and send the same delivery.
//
// What it returns is still to be written. A status of 2xx is a success; anything else is a failed attempt (section
// 6.5), except for a sender that was closed. The deadline of the attempt is a result of its own, because a receiver
// that hangs is given fewer attempts at a time.
func (s *Service) attempt(ctx context.Context, j job) *outcome {
	began := s.now()
	if began.Add(attemptTimeout).After(j.delivery.LeasedUntil) {
		return j.unsent(began)
	}
	o := &outcome{
		delivery: j.delivery, attempt: DeliveryAttempt{At: Time{Time: began}},
		jitter: rand.Float64(), //nolint:gosec // It spreads retries; nobody gains by guessing it.
	}
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	// The time of the signature is that of the attempt, so a retry is not refused as too old.
	status, err := s.post(ctx, j, began)
	o.at = s.now()
	o.attempt.DurationMS = max(0, o.at.Sub(began).Milliseconds())
	switch {
	case errors.Is(err, context.Canceled) && ctx.Err() == nil:
		// The sender was closed, because the process ends. The attempt does not count, but it waits before the retry
		// like any other: a host may have closed the sender too early.
		s.log.InfoContext(ctx, "an attempt to deliver a webhook was cut off and does not count",
			slog.String("delivery", j.delivery.ID.String()))
		o.result = resultCut
		return o
	case err != nil:
		// Companies see this text, so it is bounded and on one line whatever the sender wrote.
		o.attempt.Error = oneLine(err.Error(), maxDeliveryError)
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

// post calls the sender and returns the status of the receiver. The signature has the time of this attempt, while the
// body is the same in every attempt (section 6.4). A panic of the sender is an error like any other: the host's code
// must not end the process.
func (s *Service) post(ctx context.Context, j job, at time.Time) (status int, err error) {
	if j.err != nil {
		return 0, j.err
	}
	signature := webhook.Sign(string(j.secret), at, j.body)
	// There is no signature for an empty secret or for a time that the header cannot hold.
	if signature == "" {
		return 0, errUnsigned
	}
	s.telemetry.inFlight.Add(ctx, 1)
	defer s.telemetry.inFlight.Add(context.WithoutCancel(ctx), -1)
	defer func() {
		if value := recover(); value != nil {
			s.contain(s.logError(ctx), "Sender.Post", value)
			err = errors.New("the sender panicked")
		}
	}()
	d := j.delivery
	return s.sender.Post(ctx, WebhookRequest{
		EndpointID: d.EndpointID, DeliveryID: d.ID, EventID: d.MessageID, EventType: d.Type, URL: d.URL,
		Signature: signature, Body: j.body,
	})
}

// oneLine returns the text on one line, cut to the given number of characters. Control characters become spaces,
// because the text of a sender's error may hold anything and is shown in lists and logs. A sender of a host may return
// any text. The store keeps only valid UTF-8, and a list shows one line.
func oneLine(text string, most int) string {
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
