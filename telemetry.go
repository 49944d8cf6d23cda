package ticketing

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/floatgate/ticketing/driver"
)

// scopeName is the instrumentation scope of all spans and metrics.
const scopeName = "github.com/floatgate/ticketing"

// telemetry holds the tracer and the metrics of a service.
//
// Each operation of the data plane that reached the store has a span "ticketing.<operation>" and a value in the
// histogram "ticketing.operation.duration", in seconds. Both carry the operation and the code of its outcome. Neither
// carries a company, a key or a buyer: metrics must stay few, and traces must not hold personal data.
//
// For webhooks there are the attempts by outcome (succeeded, failed or timeout) and their duration, the time from a
// fact to its acceptance, the exhausted deliveries by type of event, and the attempts in flight. A process whose Run
// sends webhooks also records, at each look for work, how long the oldest due item has waited.
type telemetry struct {
	tracer   trace.Tracer
	duration metric.Float64Histogram

	attempts  metric.Int64Counter
	attempted metric.Float64Histogram
	age       metric.Float64Histogram
	exhausted metric.Int64Counter
	inFlight  metric.Int64UpDownCounter
	backlog   metric.Float64Gauge
}

// newTelemetry returns the metrics of a service. A nil provider records nothing.
func newTelemetry(tracers trace.TracerProvider, meters metric.MeterProvider) (telemetry, error) {
	if tracers == nil {
		tracers = tracenoop.NewTracerProvider()
	}
	if meters == nil {
		meters = metricnoop.NewMeterProvider()
	}
	meter := meters.Meter(scopeName)
	t := telemetry{tracer: tracers.Tracer(scopeName)}
	var errs [7]error
	t.duration, errs[0] = meter.Float64Histogram("ticketing.operation.duration", metric.WithUnit("s"),
		metric.WithDescription("How long an operation of the data plane took, its transaction included."))
	t.attempts, errs[1] = meter.Int64Counter("ticketing.webhook.attempts",
		metric.WithDescription("Attempts to deliver a webhook."))
	t.attempted, errs[2] = meter.Float64Histogram("ticketing.webhook.attempt.duration", metric.WithUnit("s"),
		metric.WithDescription("How long an attempt to deliver a webhook took."))
	t.age, errs[3] = meter.Float64Histogram("ticketing.webhook.age", metric.WithUnit("s"),
		metric.WithDescription("How long after it happened an event was accepted by a receiver."))
	t.exhausted, errs[4] = meter.Int64Counter("ticketing.webhook.exhausted",
		metric.WithDescription("Deliveries that failed for good."))
	t.inFlight, errs[5] = meter.Int64UpDownCounter("ticketing.webhook.in_flight",
		metric.WithDescription("Attempts to deliver a webhook that wait for an answer."))
	t.backlog, errs[6] = meter.Float64Gauge("ticketing.webhook.backlog.age", metric.WithUnit("s"),
		metric.WithDescription("How long the oldest delivery that is due, or event of which none was made yet, has waited."))
	return t, errors.Join(errs[:]...)
}

// attempt counts an attempt that had a reply, failed or timed out. An attempt that was cut off by this process is not
// counted. The age of an event is measured only when a receiver accepts it, from the time of the fact.
func (t *telemetry) attempt(ctx context.Context, o *outcome) {
	name := "failed"
	switch o.result {
	case resultSuccess:
		name = "succeeded"
		t.age.Record(ctx, max(0, o.at.Sub(o.delivery.MessageAt).Seconds()))
	case resultTimeout:
		name = "timeout"
	case resultFailure, resultUnsent, resultCut:
	}
	// The labels have few values, so that the number of time series stays small.
	outcome := metric.WithAttributes(attribute.String("ticketing.outcome", name))
	t.attempts.Add(ctx, 1, outcome)
	t.attempted.Record(ctx, float64(o.attempt.DurationMS)/1000, outcome)
}

// exhaust counts a delivery that failed for good, by the type of its event.
func (t *telemetry) exhaust(ctx context.Context, kind FactType) {
	t.exhausted.Add(ctx, 1, metric.WithAttributes(attribute.String("ticketing.event.type", string(kind))))
}

// observe begins the span and the measurement of an operation. The caller ends both with the returned function and the
// outcome. Only a fault of the service marks the span as failed; a refusal is a normal outcome.
func (s *Service) observe(ctx context.Context, operation string) (context.Context, func(error)) {
	// The clock of the service is used, so a test with a fixed clock measures zero.
	began := s.clock()
	ctx, span := s.telemetry.tracer.Start(ctx, "ticketing."+operation)
	return ctx, func(err error) {
		code := attribute.String("ticketing.code", outcomeCode(err))
		s.telemetry.duration.Record(ctx, s.clock().Sub(began).Seconds(),
			metric.WithAttributes(attribute.String("ticketing.operation", operation), code))
		span.SetAttributes(code)
		if outcomeCode(err) == string(CodeInternal) {
			span.SetStatus(otelcodes.Error, "internal error") // Its text may name what a trace must not.
		}
		span.End()
	}
}

// outcomeCode returns the contract's code of an error, and OK for no error. Every error that is not an [*Error] is
// INTERNAL_ERROR, as it is for clients.
func outcomeCode(err error) string {
	if err == nil {
		return "OK"
	}
	if refused, ok := errors.AsType[*Error](err); ok {
		return string(refused.Code)
	}
	return string(CodeInternal)
}

// read runs fn for reading, as an operation of the data plane, on a slot of the caller's company. It checks no
// authority: the caller has authenticated, and a read is not checked again in its transaction (section 5, rule 5, is
// about writes).
func (s *Service) read(
	ctx context.Context, operation string, caller Caller, fn func(context.Context, driver.ReadTx) error,
) error {
	ctx, end := s.observe(ctx, operation)
	// A read takes no gate: it sees what is committed when it runs.
	err := s.onOwnSlot(ctx, operation, caller.companyID, false, func() error {
		return s.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error { return fn(ctx, cachedRates{tx, &s.rates}) })
	})
	end(err)
	return err
}

// readPage is read for a page of a list; fn returns the number of lines on the page.
func (s *Service) readPage(
	ctx context.Context, operation string, caller Caller, fn func(context.Context, driver.ReadTx) (lines int, err error),
) error {
	ctx, end := s.observe(ctx, operation)
	err := s.onPageSlot(ctx, operation, caller.companyID, func() (lines int, err error) {
		err = s.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) (err error) {
			lines, err = fn(ctx, cachedRates{tx, &s.rates})
			return err
		})
		return lines, err
	})
	end(err)
	return err
}
