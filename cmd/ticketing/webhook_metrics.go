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

// exhaustedMeters hands what the service counts of deliveries that failed for good on to Prometheus, and nothing else. The
// service tells a function of the host's of each, too, but not of all where it is slow.
type exhaustedMeters struct {
	noop.MeterProvider

	counter *prometheus.CounterVec
}

// Meter is the only one.
func (m exhaustedMeters) Meter(string, ...metric.MeterOption) metric.Meter {
	return exhaustedMeter{counter: m.counter}
}

type exhaustedMeter struct {
	noop.Meter

	counter *prometheus.CounterVec
}

// Int64Counter is one that counts where it is that of dead letters.
func (m exhaustedMeter) Int64Counter(name string, _ ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	if name != "ticketing.webhook.exhausted" {
		return noop.Int64Counter{}, nil
	}
	return exhaustedCounter{counter: m.counter}, nil
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
