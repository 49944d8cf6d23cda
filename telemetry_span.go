package ticketing

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	otelcodes "go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// errPanicked is the outcome of a group in its span while it runs, and so that of a group that panicked.
var errPanicked = errors.New("ticketing: the group panicked")

// spanOf returns the span of a context, or nil if nothing is traced.
func (t *telemetry) spanOf(ctx context.Context) trace.Span {
	if !t.traces {
		return nil
	}
	return trace.SpanFromContext(ctx)
}

// group begins the span "ticketing.group.<operation>" of a transaction that several requests share. The spans are those
// of the requests. It returns a function that ends the span with the error of the transaction.
//
// A span has one parent. It is the first of the requests that is sampled, so the trace of a request that runs alone is
// whole. The group links to the other requests, and each of them to the group, so that every slow sale leads to the
// transaction that it waited for. A group in which no request is sampled has no span.
func (t *telemetry) group(ctx context.Context, operation string, spans []trace.Span) (context.Context, func(error)) {
	var parent trace.Span
	var others []trace.Span
	for _, span := range spans {
		switch {
		case span == nil || !span.IsRecording():
		case parent == nil:
			parent = span
		default:
			others = append(others, span)
		}
	}
	if parent == nil {
		return ctx, func(error) {}
	}
	links := make([]trace.Link, len(others))
	for i, other := range others {
		links[i].SpanContext = other.SpanContext()
	}
	// The context is that of the first request, which need not be sampled.
	ctx, span := t.tracer.Start(trace.ContextWithSpan(ctx, parent), "ticketing.group."+operation,
		trace.WithLinks(links...), trace.WithAttributes(attribute.Int("ticketing.group.calls", len(spans))))
	for _, other := range others {
		other.AddLink(trace.Link{SpanContext: span.SpanContext()})
	}
	return ctx, func(err error) {
		if err != nil {
			span.SetStatus(otelcodes.Error, "the transaction failed") // Its text may name what a trace must not.
		}
		span.End()
	}
}
