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
)

const scopeName = "github.com/floatgate/ticketing"

// telemetry tells of each operation of the data plane that reached the store: a span "ticketing.<operation>", and the
// histogram "ticketing.operation.duration" in seconds. Both carry the operation and the code of its outcome, and
// neither a company, a key nor a buyer.
type telemetry struct {
	tracer   trace.Tracer
	duration metric.Float64Histogram
}

func newTelemetry(tracers trace.TracerProvider, meters metric.MeterProvider) (telemetry, error) {
	if tracers == nil {
		tracers = tracenoop.NewTracerProvider()
	}
	if meters == nil {
		meters = metricnoop.NewMeterProvider()
	}
	duration, err := meters.Meter(scopeName).Float64Histogram("ticketing.operation.duration", metric.WithUnit("s"),
		metric.WithDescription("How long an operation of the data plane took, its transaction included."))
	return telemetry{tracer: tracers.Tracer(scopeName), duration: duration}, err
}

// observe begins an operation; the function ends it with its outcome.
func (s *Service) observe(ctx context.Context, operation string) (context.Context, func(error)) {
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

// outcomeCode is the contract's code of an error, and OK for none.
func outcomeCode(err error) string {
	if err == nil {
		return "OK"
	}
	if refused, ok := errors.AsType[*Error](err); ok {
		return string(refused.Code)
	}
	return string(CodeInternal)
}

// read runs fn for reading, as an operation of the data plane.
func (s *Service) read(ctx context.Context, operation string, fn func(context.Context, ReadTx) error) error {
	ctx, end := s.observe(ctx, operation)
	err := s.store.View(ctx, fn)
	end(err)
	return err
}
