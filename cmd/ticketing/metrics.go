package main

import (
	"context"
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/floatgate/ticketing/httpapi"
)

// metrics are what /metrics tells. They name no company, no key and no buyer.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ticketing_http_requests_total",
			Help: "Requests to the public API, by operation, HTTP status and error code (empty for a success).",
		}, []string{"method", "route", "status", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "ticketing_http_request_duration_seconds",
			Help:    "How long requests to the public API took, by operation.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"method", "route"}),
	}
	b := built()
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "ticketing_build_info", Help: "What is running; always 1.",
		ConstLabels: prometheus.Labels{"version": b.Version, "commit": b.Commit, "go": b.Go},
	})
	build.Set(1)
	m.registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		m.requests, m.duration, build,
	)
	return m
}

// observe counts an answer of the public API. A request to no operation has an empty method and route.
func (m *metrics) observe(_ context.Context, answer httpapi.Answer) {
	m.requests.WithLabelValues(answer.Method, answer.Route, strconv.Itoa(answer.Status), string(answer.Code)).Inc()
	m.duration.WithLabelValues(answer.Method, answer.Route).Observe(answer.Duration.Seconds())
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}
