package main

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
)

// meters forwards to Prometheus what only the service knows. Of webhooks these are the deliveries that failed for good,
// and the age of the backlog; of mails, all. The service also calls a function of the host for each delivery or mail
// that failed for good, but skips some if that function is slow. So a counter there would be incomplete.
type meters struct {
	noop.MeterProvider

	webhooks *webhookMetrics
	mails    *mailMetrics
}

// Meter returns a meter for these metrics, whatever its name.
func (m meters) Meter(string, ...metric.MeterOption) metric.Meter { return meter{meters: m} }

type meter struct {
	noop.Meter

	meters meters
}

// Int64Counter returns a counter that Prometheus has, and a no-op for any other name.
func (m meter) Int64Counter(name string, _ ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	switch name {
	case "ticketing.webhook.exhausted":
		return labelledCounter{counter: m.meters.webhooks.exhausted, label: "ticketing.event.type"}, nil
	case "ticketing.mail.attempts":
		return labelledCounter{counter: m.meters.mails.attempts, label: "ticketing.outcome"}, nil
	case "ticketing.mail.failed":
		return plainCounter{counter: m.meters.mails.failed}, nil
	default:
		return noop.Int64Counter{}, nil
	}
}

// Float64Histogram returns a histogram that Prometheus has, and a no-op for any other name.
func (m meter) Float64Histogram(name string, _ ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	if name != "ticketing.mail.attempt.duration" {
		return noop.Float64Histogram{}, nil
	}
	return plainHistogram{histogram: m.meters.mails.duration}, nil
}

// Float64Gauge returns a gauge that Prometheus has, and a no-op for any other name.
func (m meter) Float64Gauge(name string, _ ...metric.Float64GaugeOption) (metric.Float64Gauge, error) {
	switch name {
	case "ticketing.webhook.backlog.age":
		return plainGauge{gauge: m.meters.webhooks.backlog}, nil
	case "ticketing.mail.backlog.age":
		return plainGauge{gauge: m.meters.mails.backlog}, nil
	default:
		return noop.Float64Gauge{}, nil
	}
}

// Int64Gauge returns a gauge that Prometheus has, and a no-op for any other name.
func (m meter) Int64Gauge(name string, _ ...metric.Int64GaugeOption) (metric.Int64Gauge, error) {
	if name != "ticketing.mail.server.waiting" {
		return noop.Int64Gauge{}, nil
	}
	return wholeGauge{gauge: m.meters.mails.waiting}, nil
}

// labelledCounter counts by one attribute. Other attributes are dropped.
type labelledCounter struct {
	noop.Int64Counter

	counter *prometheus.CounterVec
	label   string
}

// Add counts.
func (c labelledCounter) Add(_ context.Context, number int64, options ...metric.AddOption) {
	about := metric.NewAddConfig(options).Attributes()
	value, _ := about.Value(attribute.Key(c.label))
	c.counter.WithLabelValues(value.AsString()).Add(float64(number))
}

type plainCounter struct {
	noop.Int64Counter

	counter prometheus.Counter
}

// Add counts.
func (c plainCounter) Add(_ context.Context, number int64, _ ...metric.AddOption) {
	c.counter.Add(float64(number))
}

type plainHistogram struct {
	noop.Float64Histogram

	histogram prometheus.Histogram
}

// Record counts the value in its bucket.
func (h plainHistogram) Record(_ context.Context, value float64, _ ...metric.RecordOption) {
	h.histogram.Observe(value)
}

type plainGauge struct {
	noop.Float64Gauge

	gauge prometheus.Gauge
}

// Record sets the value.
func (g plainGauge) Record(_ context.Context, value float64, _ ...metric.RecordOption) {
	g.gauge.Set(value)
}

type wholeGauge struct {
	noop.Int64Gauge

	gauge prometheus.Gauge
}

// Record sets the value.
func (g wholeGauge) Record(_ context.Context, value int64, _ ...metric.RecordOption) {
	g.gauge.Set(float64(value))
}
