package main

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
)

// meters passes to Prometheus what only the service knows: what it sold, what waits, and some metrics of webhooks and
// mails. Of webhooks these are the deliveries that failed for good, and the age of the backlog; of mails, all. For each
// delivery or mail that failed for good the service also calls a function of the host, but skips calls if that function
// is slow. So a counter there would be incomplete.
type meters struct {
	noop.MeterProvider

	registry *prometheus.Registry
	webhooks *webhookMetrics
	mails    *mailMetrics
	sales    *salesMetrics
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
	case "ticketing.sales.orders":
		return plainCounter{counter: m.meters.sales.orders}, nil
	case "ticketing.sales.admissions":
		return plainCounter{counter: m.meters.sales.admissions}, nil
	case "ticketing.sales.gross":
		return plainCounter{counter: m.meters.sales.gross}, nil
	case "ticketing.sales.commission":
		return plainCounter{counter: m.meters.sales.commission}, nil
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

// Int64ObservableGauge returns a gauge that is read when Prometheus asks, and a no-op for any other name.
func (m meter) Int64ObservableGauge(
	name string, _ ...metric.Int64ObservableGaugeOption,
) (metric.Int64ObservableGauge, error) {
	switch name {
	case "ticketing.group.queue.calls":
		return wholeObservable{observable: observed("ticketing_group_queue_calls", "operation",
			"Calls that wait for a group, by operation.", "ticketing.operation")}, nil
	case "ticketing.backlog.items":
		return wholeObservable{observable: observed("ticketing_backlog_items", "queue",
			"What waits in the whole database: facts to make deliveries of, deliveries and ticket mails that are not over, "+
				"due or not; 100000 is that many or more.", "ticketing.queue")}, nil
	default:
		return noop.Int64ObservableGauge{}, nil
	}
}

// Float64ObservableGauge returns a gauge that is read when Prometheus asks, and a no-op for any other name.
func (m meter) Float64ObservableGauge(
	name string, _ ...metric.Float64ObservableGaugeOption,
) (metric.Float64ObservableGauge, error) {
	if name != "ticketing.backlog.age" {
		return noop.Float64ObservableGauge{}, nil
	}
	return plainObservable{observable: observed("ticketing_backlog_age_seconds", "queue",
		"For how long the first fact, delivery or mail has been due; 0 while none is.", "ticketing.queue")}, nil
}

// RegisterCallback registers a function that reads gauges when Prometheus asks.
func (m meter) RegisterCallback(read metric.Callback, gauges ...metric.Observable) (metric.Registration, error) {
	c := callback{read: read}
	for _, gauge := range gauges {
		if known, ok := gauge.(interface{ about() *observable }); ok {
			c.gauges = append(c.gauges, known.about())
		}
	}
	if len(c.gauges) == 0 {
		return noop.Registration{}, nil
	}
	return noop.Registration{}, m.meters.registry.Register(c)
}

// observable is a gauge by one attribute.
type observable struct {
	description *prometheus.Desc
	attribute   attribute.Key
}

func observed(name, label, help, about string) *observable {
	return &observable{prometheus.NewDesc(name, help, []string{label}, nil), attribute.Key(about)}
}

func (o *observable) about() *observable { return o }

type wholeObservable struct {
	noop.Int64ObservableGauge
	*observable
}

type plainObservable struct {
	noop.Float64ObservableGauge
	*observable
}

// callback is a function that reads gauges. If it fails, they are missing.
type callback struct {
	read   metric.Callback
	gauges []*observable
}

// Describe implements prometheus.Collector.
func (c callback) Describe(descriptions chan<- *prometheus.Desc) {
	for _, gauge := range c.gauges {
		descriptions <- gauge.description
	}
}

// Collect implements prometheus.Collector.
func (c callback) Collect(values chan<- prometheus.Metric) {
	_ = c.read(context.Background(), observer{values: values})
}

// observer passes what a callback reads to Prometheus.
type observer struct {
	noop.Observer

	values chan<- prometheus.Metric
}

// ObserveInt64 passes a value on.
func (o observer) ObserveInt64(gauge metric.Int64Observable, value int64, options ...metric.ObserveOption) {
	o.pass(gauge, float64(value), options)
}

// ObserveFloat64 passes a value on.
func (o observer) ObserveFloat64(gauge metric.Float64Observable, value float64, options ...metric.ObserveOption) {
	o.pass(gauge, value, options)
}

func (o observer) pass(gauge any, value float64, options []metric.ObserveOption) {
	known, ok := gauge.(interface{ about() *observable })
	if !ok {
		return
	}
	about := metric.NewObserveConfig(options).Attributes()
	label, _ := about.Value(known.about().attribute)
	o.values <- prometheus.MustNewConstMetric(known.about().description, prometheus.GaugeValue, value, label.AsString())
}
