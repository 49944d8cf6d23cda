package main

import "github.com/prometheus/client_golang/prometheus"

// mailMetrics are the metrics of ticket mails. They name no company, no order and no address. The service measures them
// itself, see [meters].
type mailMetrics struct {
	attempts *prometheus.CounterVec
	duration prometheus.Histogram
	failed   prometheus.Counter
	backlog  prometheus.Gauge // this one and the next only on a server that sends
	waiting  prometheus.Gauge
	registry *prometheus.Registry
}

// mailOutcomes returns the possible outcomes of an attempt to send a mail.
func mailOutcomes() []string { return []string{"sent", "failed", "refused", "server"} }

func newMailMetrics(registry *prometheus.Registry) *mailMetrics {
	m := &mailMetrics{
		registry: registry,
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ticketing_mail_attempts_total",
			Help: "Attempts to send a ticket mail, by what came of it: sent, failed and tried again later, refused " +
				"permanently, or server where the mail server cannot be used, which counts against no mail.",
		}, []string{"outcome"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "ticketing_mail_attempt_duration_seconds",
			Help:    "How long attempts to send a ticket mail took, rendering included.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120},
		}),
		failed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "ticketing_mail_failed_total",
			Help: "Ticket mails that failed permanently: refused, after ten attempts, or expired.",
		}),
		backlog: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "ticketing_mail_backlog_age_seconds", Help: "How long the oldest ticket mail that is due has waited.",
		}),
		waiting: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "ticketing_mail_server_waiting",
			Help: "1 while mails wait because the mail server cannot be used, otherwise 0.",
		}),
	}
	// The counters start at zero, so that the first increment is visible as a change.
	for _, outcome := range mailOutcomes() {
		m.attempts.WithLabelValues(outcome)
	}
	registry.MustRegister(m.attempts, m.duration, m.failed)
	return m
}

// sends registers the metrics that only a server that sends mails can know. Any other server would always report zero.
func (m *mailMetrics) sends() { m.registry.MustRegister(m.backlog, m.waiting) }
