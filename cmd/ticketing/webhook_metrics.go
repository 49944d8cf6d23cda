package main

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

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
				"5xx, or why there was no response.",
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
			Help: "Deliveries that failed permanently, after their last attempt, by type of event.",
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
