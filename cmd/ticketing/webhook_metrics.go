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

// webhookMetrics are what /metrics tells of webhooks. They name no company, no endpoint and no address.
type webhookMetrics struct {
	attempts  *prometheus.CounterVec
	duration  prometheus.Histogram
	inFlight  prometheus.Gauge
	exhausted *prometheus.CounterVec
	backlog   prometheus.Gauge // of a server that delivers
	registry  *prometheus.Registry
}

// outcomes are what may come of an attempt: the class of the receiver's status, or why there is none.
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
		return string(delivery.ReasonAnswer) // No status of HTTP.
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
	// What is counted begins with zero, so that the first one is seen as a change.
	for _, kind := range ticketing.WebhookEventTypes() {
		m.exhausted.WithLabelValues(string(kind))
		for _, outcome := range outcomes() {
			m.attempts.WithLabelValues(string(kind), outcome)
		}
	}
	registry.MustRegister(m.attempts, m.duration, m.inFlight, m.exhausted)
	return m
}

// delivers has the age of the backlog told: a server that does not deliver knows nothing of it, and shall not say zero.
func (m *webhookMetrics) delivers() { m.registry.MustRegister(m.backlog) }

// webhookMeters hands on to Prometheus what the service alone knows: the deliveries that failed for good, of which it tells
// a function of the host's, too, but not of all where that is slow, and the age of the backlog.
type webhookMeters struct {
	noop.MeterProvider

	metrics *webhookMetrics
}

// Meter is the only one.
func (m webhookMeters) Meter(string, ...metric.MeterOption) metric.Meter {
	return webhookMeter{metrics: m.metrics}
}

type webhookMeter struct {
	noop.Meter

	metrics *webhookMetrics
}

// Int64Counter is one that counts where it is that of dead letters.
func (m webhookMeter) Int64Counter(name string, _ ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	if name != "ticketing.webhook.exhausted" {
		return noop.Int64Counter{}, nil
	}
	return exhaustedCounter{counter: m.metrics.exhausted}, nil
}

// Float64Gauge is one that tells where it is that of the backlog.
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

// Record tells the age.
func (g backlogGauge) Record(_ context.Context, age float64, _ ...metric.RecordOption) {
	g.gauge.Set(age)
}

type exhaustedCounter struct {
	noop.Int64Counter

	counter *prometheus.CounterVec
}

// Add counts by type of event.
func (c exhaustedCounter) Add(_ context.Context, number int64, options ...metric.AddOption) {
	about := metric.NewAddConfig(options).Attributes()
	kind, _ := about.Value("ticketing.event.type")
	c.counter.WithLabelValues(kind.AsString()).Add(float64(number))
}

// countedSender is a sender whose attempts are counted.
type countedSender struct {
	ticketing.Sender

	metrics *webhookMetrics
}

// Post makes one attempt.
func (s countedSender) Post(ctx context.Context, post ticketing.WebhookPost) (status int, err error) {
	s.metrics.inFlight.Inc()
	defer s.metrics.inFlight.Dec()
	began := time.Now()
	status, err = s.Sender.Post(ctx, post)
	s.metrics.duration.Observe(time.Since(began).Seconds())
	s.metrics.attempts.WithLabelValues(string(post.EventType), outcomeOf(status, err)).Inc()
	return status, err
}
