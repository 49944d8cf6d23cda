package main

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/delivery"
)

// webhookMetrics are the metrics of webhooks. They name no company, no endpoint and no address.
type webhookMetrics struct {
	attempts  *prometheus.CounterVec
	duration  prometheus.Histogram
	inFlight  prometheus.Gauge
	exhausted *prometheus.CounterVec
	backlog   prometheus.Gauge // only on a server that delivers
	registry  *prometheus.Registry
}

// outcomes returns the possible outcomes of an attempt: the class of the receiver's status, or the reason why there is
// none.
func outcomes() []string {
	classes := []string{"2xx", "3xx", "4xx", "5xx"}
	for _, reason := range []delivery.Reason{
		delivery.ReasonURL, delivery.ReasonDNS, delivery.ReasonAddress, delivery.ReasonConnect, delivery.ReasonTLS,
		delivery.ReasonTimeout, delivery.ReasonClosed, delivery.ReasonAnswer, delivery.ReasonCanceled,
	} {
		classes = append(classes, string(reason))
	}
	return classes
}

func outcomeOf(status int, err error) string {
	if failed, ok := errors.AsType[*delivery.Error](err); ok {
		return string(failed.Reason)
	}
	switch class := status / 100; class {
	case 2, 3, 4, 5:
		return strconv.Itoa(class) + "xx"
	default:
		return string(delivery.ReasonAnswer) // Not an HTTP status.
	}
}

func newWebhookMetrics(registry *prometheus.Registry) *webhookMetrics {
	m := &webhookMetrics{
		registry: registry,
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ticketing_webhook_attempts_total",
			Help: "Attempts to deliver a webhook, by type of event and by what came of it: 2xx, which is a success, 3xx, 4xx, " +
				"5xx, or why no answer came.",
		}, []string{"type", "outcome"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "ticketing_webhook_attempt_duration_seconds",
			Help:    "How long attempts to deliver a webhook took.",
			Buckets: []float64{.0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "ticketing_webhook_attempts_in_flight", Help: "Attempts to deliver a webhook that are under way.",
		}),
		exhausted: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ticketing_webhook_exhausted_total",
			Help: "Deliveries that failed for good, after their last attempt, by type of event.",
		}, []string{"type"}),
		backlog: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "ticketing_webhook_backlog_age_seconds",
			Help: "How long the oldest delivery that is due, or event of which none was made yet, has waited.",
		}),
	}
	// The counters start at zero, so that the first increment is visible as a change.
	for _, kind := range ticketing.WebhookEventTypes() {
		m.exhausted.WithLabelValues(string(kind))
		for _, outcome := range outcomes() {
			m.attempts.WithLabelValues(string(kind), outcome)
		}
	}
	registry.MustRegister(m.attempts, m.duration, m.inFlight, m.exhausted)
	return m
}

// delivers registers the age of the backlog. A server that does not deliver cannot know it, and must not report zero.
func (m *webhookMetrics) delivers() { m.registry.MustRegister(m.backlog) }

// webhookMeters forwards to Prometheus what only the service knows: the deliveries that failed for good, and the age of
// the backlog. The service also calls a function of the host for each exhausted delivery, but skips some if that
// function is slow. So a counter there would be incomplete.
type webhookMeters struct {
	noop.MeterProvider

	metrics *webhookMetrics
}

// Meter returns a meter for the metrics of webhooks, whatever its name.
func (m webhookMeters) Meter(string, ...metric.MeterOption) metric.Meter {
	return webhookMeter{metrics: m.metrics}
}

type webhookMeter struct {
	noop.Meter

	metrics *webhookMetrics
}

// Int64Counter returns a counter that counts exhausted deliveries, and a no-op for any other name.
func (m webhookMeter) Int64Counter(name string, _ ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	if name != "ticketing.webhook.exhausted" {
		return noop.Int64Counter{}, nil
	}
	return exhaustedCounter{counter: m.metrics.exhausted}, nil
}

// Float64Gauge returns a gauge of the backlog's age, and a no-op for any other name.
func (m webhookMeter) Float64Gauge(name string, _ ...metric.Float64GaugeOption) (metric.Float64Gauge, error) {
	if name != "ticketing.webhook.backlog.age" {
		return noop.Float64Gauge{}, nil
	}
	return backlogGauge{gauge: m.metrics.backlog}, nil
}

type backlogGauge struct {
	noop.Float64Gauge

	gauge prometheus.Gauge
}

// Record sets the age.
func (g backlogGauge) Record(_ context.Context, age float64, _ ...metric.RecordOption) {
	g.gauge.Set(age)
}

type exhaustedCounter struct {
	noop.Int64Counter

	counter *prometheus.CounterVec
}

// Add counts by event type.
func (c exhaustedCounter) Add(_ context.Context, number int64, options ...metric.AddOption) {
	about := metric.NewAddConfig(options).Attributes()
	kind, _ := about.Value("ticketing.event.type")
	c.counter.WithLabelValues(kind.AsString()).Add(float64(number))
}

// countedSender is a sender that counts its attempts.
type countedSender struct {
	ticketing.Sender

	metrics *webhookMetrics
}

// Post makes one attempt.
func (s countedSender) Post(ctx context.Context, post ticketing.WebhookRequest) (status int, err error) {
	s.metrics.inFlight.Inc()
	defer s.metrics.inFlight.Dec()
	began := time.Now()
	status, err = s.Sender.Post(ctx, post)
	s.metrics.duration.Observe(time.Since(began).Seconds())
	s.metrics.attempts.WithLabelValues(string(post.EventType), outcomeOf(status, err)).Inc()
	return status, err
}
