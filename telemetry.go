package ticketing

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"
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
//
// For ticket mails there are the attempts by outcome (sent, failed, refused, or server where the mail server could not
// be used) and their duration, the mails that failed for good, whether the process waits for its mail server, and how
// long the oldest due notification has waited.
type telemetry struct {
	tracer   trace.Tracer
	traces   bool // there is a provider of traces
	measures bool // and one of metrics
	duration metric.Float64Histogram

	orders     metric.Int64Counter
	admissions metric.Int64Counter
	gross      metric.Int64Counter
	commission metric.Int64Counter

	attempts  metric.Int64Counter
	attempted metric.Float64Histogram
	age       metric.Float64Histogram
	exhausted metric.Int64Counter
	inFlight  metric.Int64UpDownCounter
	backlog   metric.Float64Gauge

	mails       metric.Int64Counter
	mailTook    metric.Float64Histogram
	mailsFailed metric.Int64Counter
	mailBacklog metric.Float64Gauge
	mailWaiting metric.Int64Gauge
}

// newTelemetry returns the metrics of a service. A nil provider records nothing.
func newTelemetry(tracers trace.TracerProvider, meters metric.MeterProvider) (telemetry, error) {
	t := telemetry{traces: tracers != nil, measures: meters != nil}
	if tracers == nil {
		tracers = tracenoop.NewTracerProvider()
	}
	if meters == nil {
		meters = metricnoop.NewMeterProvider()
	}
	meter := meters.Meter(scopeName)
	t.tracer = tracers.Tracer(scopeName)
	// A meter may refuse an instrument. All refusals are reported together.
	var errs [16]error
	t.duration, errs[0] = meter.Float64Histogram("ticketing.operation.duration", metric.WithUnit("s"),
		metric.WithDescription("How long an operation of the data plane took, its transaction included."))
	t.attempts, errs[1] = meter.Int64Counter("ticketing.webhook.attempts",
		metric.WithDescription("Attempts to deliver a webhook."))
	t.attempted, errs[2] = meter.Float64Histogram("ticketing.webhook.attempt.duration", metric.WithUnit("s"),
		metric.WithDescription("How long an attempt to deliver a webhook took."))
	t.age, errs[3] = meter.Float64Histogram("ticketing.webhook.age", metric.WithUnit("s"),
		metric.WithDescription("How long after it happened an event was accepted by a receiver."))
	t.exhausted, errs[4] = meter.Int64Counter("ticketing.webhook.exhausted",
		metric.WithDescription("Deliveries that failed permanently."))
	t.inFlight, errs[5] = meter.Int64UpDownCounter("ticketing.webhook.in_flight",
		metric.WithDescription("Attempts to deliver a webhook that wait for an answer."))
	t.backlog, errs[6] = meter.Float64Gauge("ticketing.webhook.backlog.age", metric.WithUnit("s"),
		metric.WithDescription("How long the oldest delivery that is due, or event of which none was made yet, has waited."))
	t.mails, errs[7] = meter.Int64Counter("ticketing.mail.attempts",
		metric.WithDescription("Attempts to hand a ticket mail to the mail server."))
	t.mailTook, errs[8] = meter.Float64Histogram("ticketing.mail.attempt.duration", metric.WithUnit("s"),
		metric.WithDescription("How long an attempt to send a ticket mail took, rendering included."))
	t.mailsFailed, errs[9] = meter.Int64Counter("ticketing.mail.failed",
		metric.WithDescription("Ticket mails that failed permanently."))
	t.mailBacklog, errs[10] = meter.Float64Gauge("ticketing.mail.backlog.age", metric.WithUnit("s"),
		metric.WithDescription("How long the oldest ticket mail that is due has waited."))
	t.mailWaiting, errs[11] = meter.Int64Gauge("ticketing.mail.server.waiting",
		metric.WithDescription("1 while mails wait because the mail server cannot be used, else 0."))
	t.orders, errs[12] = meter.Int64Counter("ticketing.sales.orders", metric.WithUnit("{order}"),
		metric.WithDescription("Orders that checkouts made."))
	t.admissions, errs[13] = meter.Int64Counter("ticketing.sales.admissions", metric.WithUnit("{admission}"),
		metric.WithDescription("Admissions that checkouts sold."))
	t.gross, errs[14] = meter.Int64Counter("ticketing.sales.gross", metric.WithUnit("{kobo}"),
		metric.WithDescription("What the orders of checkouts cost in all."))
	t.commission, errs[15] = meter.Int64Counter("ticketing.sales.commission", metric.WithUnit("{kobo}"),
		metric.WithDescription("The commission on the orders of checkouts."))
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

// mail counts a mail that was handed over, or that the server would not take.
func (t *telemetry) mail(ctx context.Context, o *mailOutcome) {
	var name string
	switch o.result {
	case mailSent:
		name = "sent"
	case mailFailed:
		name = "failed"
	case mailRefused:
		name = "refused"
	case mailServerDown:
		name = "server"
	case mailPending, mailUnsent, mailCancelled, mailNoSender:
		return
	}
	outcome := metric.WithAttributes(attribute.String("ticketing.outcome", name))
	t.mails.Add(ctx, 1, outcome)
	t.mailTook.Record(ctx, max(0, o.at.Sub(o.began).Seconds()), outcome)
}

// mailServer records whether the process waits for its mail server.
func (t *telemetry) mailServer(ctx context.Context, waits bool) {
	value := int64(0)
	if waits {
		value = 1
	}
	t.mailWaiting.Record(ctx, value)
}

// observe begins the span and the measurement of an operation. The caller ends both with the returned function and the
// outcome. Only a fault of the service marks the span as failed; a refusal is a normal outcome.
//
// Calls that are refused before the store, such as malformed ones, are not observed: they would hide how long the
// others take.
func (s *Service) observe(ctx context.Context, operation string) (context.Context, func(error)) {
	// The clock of the service is used, so a test with a fixed clock measures zero.
	began := s.clock()
	ctx, span := s.telemetry.tracer.Start(ctx, "ticketing."+operation)
	return ctx, func(err error) {
		code := outcomeCode(err)
		if s.telemetry.duration.Enabled(ctx) { // Making a set of attributes costs more than all other metrics of a call.
			s.telemetry.duration.Record(ctx, s.clock().Sub(began).Seconds(), metric.WithAttributes(
				attribute.String("ticketing.operation", operation), attribute.String("ticketing.code", code)))
		}
		span.SetAttributes(attribute.String("ticketing.code", code))
		if code == string(CodeInternal) {
			span.SetStatus(otelcodes.Error, "internal error") // Its text may name what a trace must not.
		}
		span.End()
	}
}

// outcomeCode returns the contract's code of an error, and OK for no error. Every error that is not an [*Error] is
// INTERNAL_ERROR, as it is for clients. The code is a label, so it has few values: those of [Codes] and OK.
func outcomeCode(err error) string {
	if err == nil {
		return "OK"
	}
	if refused, ok := errors.AsType[*Error](err); ok {
		return string(refused.Code)
	}
	return string(CodeInternal)
}

// refusalInterval is the time between two log lines about refused calls of one operation.
const refusalInterval = 10 * time.Second

// refusals counts the calls that found a queue full, and logs them at intervals. A line for each call would make an
// overload worse. The first refusal of an operation is logged at once, so that the log shows when it began. Each
// operation with a recent refusal has a timer, which [Service.Drain] stops.
type refusals struct {
	log *slog.Logger

	mu     sync.Mutex
	counts map[string]*refusalCount // the operations with a refusal in this interval or the one before
}

// refusalCount is the number of calls that were refused since the last log line.
type refusalCount struct {
	calls int
	timer *time.Timer // ends the interval
}

// add counts a refused call. The first one of an operation starts its intervals.
func (r *refusals) add(ctx context.Context, operation string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	count := r.counts[operation]
	if count != nil {
		count.calls++
		return
	}
	if r.counts == nil {
		r.counts = make(map[string]*refusalCount)
	}
	r.counts[operation] = &refusalCount{timer: time.AfterFunc(refusalInterval, func() { r.next(operation) })}
	r.write(func(text string, args ...any) {
		r.log.WarnContext(ctx, text, args...) //nolint:sloglint // The text is a literal of write.
	}, operation, 1)
}

// next ends an interval of an operation. An interval without a refusal is the last, so an idle service has no timer.
func (r *refusals) next(operation string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	count := r.counts[operation]
	switch {
	case count == nil: // It was flushed meanwhile.
	// Without this an operation that was once refused would keep a timer forever.
	case count.calls == 0:
		delete(r.counts, operation)
	default:
		r.write(r.log.Warn, operation, count.calls)
		count.calls = 0
		count.timer.Reset(refusalInterval)
	}
}

// flush logs what is not logged yet and stops the timers. [Service.Drain] calls it.
func (r *refusals) flush() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for operation, count := range r.counts {
		count.timer.Stop()
		if count.calls > 0 {
			r.write(r.log.Warn, operation, count.calls)
		}
	}
	clear(r.counts)
}

// write logs one line. It names the operation and the number of calls, never a company or a caller. The first line of
// an operation belongs to the trace of its call, the others to none.
func (r *refusals) write(log func(string, ...any), operation string, calls int) {
	log("calls were refused: too many wait", slog.String("operation", operation), slog.Int("calls", calls))
}
