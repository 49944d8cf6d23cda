package main

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/client"
)

// How long people wait in front of a gate: a scan has patience in all, each attempt of it less.
const (
	patience      = 15 * time.Second
	attempts      = 5
	attemptTime   = 4 * time.Second
	firstWait     = 200 * time.Millisecond
	longestWait   = time.Second
	longestAsked  = 5 * time.Second // more than that is not waited for
	conflictPause = time.Second
)

// Verdict is what becomes of a scan.
type Verdict string

// The verdicts, as the person at the gate reads them. Only Admitted lets somebody in.
const (
	Admitted   Verdict = "ADMITTED"
	AlreadyIn  Verdict = "ALREADY IN"
	Refunded   Verdict = "REFUNDED"
	Unknown    Verdict = "UNKNOWN"
	OtherEvent Verdict = "OTHER EVENT"
	NotATicket Verdict = "NOT A TICKET"
	TryAgain   Verdict = "TRY AGAIN"
	NotWorking Verdict = "NOT WORKING"
)

// Result is a verdict and, after Admitted and AlreadyIn, the validation.
type Result struct {
	Verdict    Verdict
	Validation ticketing.TicketValidation
}

// Config holds the options of a [Gate]. A nil *Config, and every zero field, means the default.
type Config struct {
	// Transport sends requests. Defaults to that of package client.
	Transport http.RoundTripper
	// Waiting is called when a scan has to wait, before each retry. Defaults to none.
	Waiting func()
	// Logger logs failures, without the scanned text. Defaults to none.
	Logger *slog.Logger
}

// Gate validates the tickets of one event. It keeps nothing of a scan.
type Gate struct {
	api      *client.Client
	event    uuid.UUID
	location string
	log      *slog.Logger
}

// NewGate returns a gate for an event. It sends nothing.
func NewGate(baseURL, apiKey string, event uuid.UUID, location string, config *Config) (*Gate, error) {
	var c Config
	if config != nil {
		c = *config
	}
	if c.Waiting == nil {
		c.Waiting = func() {}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	g := &Gate{event: event, location: location, log: c.Logger}
	api, err := client.New(baseURL, apiKey, &client.Config{
		Transport: c.Transport, Attempts: attempts, Timeout: attemptTime, FirstWait: firstWait, LongestWait: longestWait,
		LongestRetryAfter: longestAsked,
		OnRetry: func(ctx context.Context, failure error, _ time.Duration) {
			g.failed(ctx, failure)
			c.Waiting()
		},
	})
	g.api = api
	return g, err
}

// Check returns an error if the address does not serve the contract. A service that cannot be reached is no error: the
// network may come later than the gate.
func (g *Gate) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := g.api.Verify(ctx)
	if errors.Is(err, client.ErrContract) {
		return err
	}
	if err != nil {
		g.failed(ctx, err)
	}
	return nil
}

// Scan validates the ticket whose code was scanned. It returns after 15 seconds at most.
func (g *Gate) Scan(ctx context.Context, text string) Result {
	event, admission, err := ticketing.ParseAdmissionCode(text)
	switch {
	case err != nil:
		return Result{Verdict: NotATicket}
	case event != g.event:
		return Result{Verdict: OtherEvent} // It would be valid there, and used up here.
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	validation, err := g.validate(ctx, admission, "gate:"+uuid.NewString())
	switch {
	case err != nil:
		g.failed(ctx, err)
		return Result{Verdict: verdict(err)}
	case validation.AdmissionID != admission || validation.EventID != event:
		g.log.ErrorContext(ctx, "the answer is about another ticket")
		return Result{Verdict: NotWorking}
	case validation.Outcome == ticketing.OutcomeAdmitted:
		return Result{Admitted, validation}
	case validation.Outcome == ticketing.OutcomeAlreadyValidated:
		return Result{AlreadyIn, validation}
	}
	// A later service may have other outcomes. None of them is known to let anybody in.
	g.log.ErrorContext(ctx, "the outcome is not known", slog.String("outcome", string(validation.Outcome)))
	return Result{Verdict: NotWorking}
}

// validate makes the call of one scan, all of it with one key. The client retries it where that may help, except after
// CONFLICT. That is the answer for a refunded order, and also while an earlier attempt of this scan is in progress, so
// after an attempt without an answer it is asked again.
func (g *Gate) validate(ctx context.Context, admission uuid.UUID, key string) (ticketing.TicketValidation, error) {
	doubt := false
	for {
		validation, err := g.api.ValidateAdmission(ctx, g.event, admission, key, ticketing.ValidateParams{
			Location: g.location,
		})
		doubt = doubt || errors.Is(err, client.ErrAmbiguous)
		if !doubt || !errors.Is(err, ticketing.CodeConflict) {
			return validation, err
		}
		select {
		case <-ctx.Done():
			return validation, errors.Join(client.ErrAmbiguous, err)
		case <-time.After(conflictPause):
		}
	}
}

// verdict returns what an error means for the person at the gate.
func verdict(err error) Verdict {
	refused, answered := errors.AsType[*client.Error](err)
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	switch {
	case errors.Is(err, client.ErrAmbiguous):
		return TryAgain
	case untrusted, errors.Is(err, client.ErrContract), errors.Is(err, ticketing.CodeInvalidRequest):
		return NotWorking
	case !answered, refused.Status == http.StatusTooManyRequests, refused.Status >= http.StatusInternalServerError:
		return TryAgain
	case errors.Is(err, ticketing.CodeConflict):
		return Refunded
	case errors.Is(err, ticketing.CodeNotFound):
		return Unknown
	}
	return NotWorking // The key or the settings of this gate are refused.
}

// failed logs a failure as section 7, rule 5 allows: never the key or an answer's body.
func (g *Gate) failed(ctx context.Context, failure error) {
	refused, answered := errors.AsType[*client.Error](failure)
	switch {
	case errors.Is(failure, client.ErrContract):
		g.log.ErrorContext(ctx, "the address does not serve the contract")
	case errors.Is(failure, client.ErrAnswer):
		g.log.WarnContext(ctx, "an answer is not one of the contract") // The error may quote the answer.
	case answered:
		g.log.WarnContext(ctx, "the service refused", slog.Int("status", refused.Status),
			slog.String("code", string(refused.Refusal.Code)), slog.String("requestId", refused.RequestID))
	default:
		g.log.WarnContext(ctx, "no answer", slog.Any("error", failure))
	}
}
