package main

import (
	"context"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/floatgate/ticketing/console"
)

// consoleMetrics are the metrics of the console. They name no company and no person.
type consoleMetrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

func newConsoleMetrics(registry *prometheus.Registry) *consoleMetrics {
	m := &consoleMetrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ticketing_console_requests_total",
			Help: "Requests to the console, by page or act, HTTP status and error code (empty for a success).",
		}, []string{"method", "route", "status", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "ticketing_console_request_duration_seconds",
			Help:    "How long requests to the console took, by page or act and class of the HTTP status.",
			Buckets: []float64{.001, .0025, .005, .01, .03, .1, .3, 1, 3, 10},
		}, []string{"method", "route", "class"}),
	}
	registry.MustRegister(m.requests, m.duration)
	return m
}

// observe counts a response of the console. The route is empty if no page has the path.
func (m *consoleMetrics) observe(ctx context.Context, sent console.Answer) {
	m.requests.WithLabelValues(sent.Method, sent.Route, strconv.Itoa(sent.Status), string(sent.Code)).Inc()
	m.duration.WithLabelValues(sent.Method, sent.Route, statusClass(sent.Status)).Observe(sent.Duration.Seconds())
	nameSpan(ctx, sent.Method, sent.Route, sent.Status, string(sent.Code))
}
