package ticketing_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/store/memory"
)

// spans records the names and attributes of ended spans.
type spans struct {
	noop.TracerProvider

	mu    sync.Mutex
	ended []string
}

func (s *spans) Tracer(string, ...trace.TracerOption) trace.Tracer { return tracer{spans: s} }

type tracer struct {
	noop.Tracer

	spans *spans
}

func (t tracer) Start(ctx context.Context, name string, _ ...trace.SpanStartOption) (context.Context, trace.Span) {
	return ctx, &span{spans: t.spans, told: name}
}

type span struct {
	noop.Span

	spans *spans
	told  string
}

func (s *span) SetAttributes(attributes ...attribute.KeyValue) {
	for _, a := range attributes {
		s.told += " " + string(a.Key) + "=" + a.Value.AsString()
	}
}

func (s *span) End(...trace.SpanEndOption) {
	s.spans.mu.Lock()
	defer s.spans.mu.Unlock()
	s.spans.ended = append(s.spans.ended, s.told)
}

// TestSpansNameTheOperationAndItsOutcome checks that an operation that reaches the store makes one span, which has its
// name and its outcome but no company, buyer or key.
func TestSpansNameTheOperationAndItsOutcome(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	told := &spans{}
	svc, err := ticketing.New(memory.New(), &ticketing.Config{TracerProvider: told})
	is.NoErr(err)
	company, err := svc.As(ticketing.Staff("test")).CreateCompany(t.Context(), "Adire Concerts")
	is.NoErr(err)
	caller := ticketing.TrustedCaller(company.ID, ticketing.AllGrants()...)
	_, err = svc.ListEvents(t.Context(), caller, ticketing.EventFilter{})
	is.NoErr(err)
	_, err = svc.CancelEvent(t.Context(), caller, uuid.New())
	is.True(errors.Is(err, ticketing.CodeNotFound))
	is.True(slices.Equal(told.ended, []string{
		"ticketing.events.list ticketing.code=OK",
		"ticketing.events.cancel ticketing.code=NOT_FOUND",
	}))
}
