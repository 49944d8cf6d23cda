package main

import (
	"context"
	"database/sql"
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/httpapi"
)

// metrics are the metrics served at /metrics. They name no company, no key and no buyer.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	groups   *prometheus.HistogramVec
	runs     *prometheus.HistogramVec
	failed   *prometheus.CounterVec
	full     *prometheus.CounterVec
	slots    *prometheus.CounterVec
	webhooks *webhookMetrics
	mails    *mailMetrics
	console  *consoleMetrics
	store    *storeMetrics
	sales    *salesMetrics
	inFlight *prometheus.GaugeVec
	untraced prometheus.Counter // exports of spans that failed
	nodes    *clusterNodes      // nil: the database is no cluster's
}

// groupedOperations returns the operations whose calls share transactions. Their counters start at zero, so that the
// first increment is visible as a change.
func groupedOperations() []string {
	return []string{
		operationCheckout, operationValidate, operationAuthenticate, operationGetOrder, operationQuote,
	}
}

// slottedOperations returns the operations of the public API whose calls share no transaction, or share one only if
// many of them run.
func slottedOperations() []string {
	return []string{
		"events.create", "events.list", "events.get", "events.update", "events.cancel", "inventory.create",
		"inventory.list", "inventory.update", "inventory.cancel", operationQuote, "orders.list", operationGetOrder,
	}
}

// The names of the operations in GroupRun.Operation.
const (
	operationCheckout     = "checkouts.create"
	operationValidate     = "admissions.validate"
	operationAuthenticate = "authenticate"
	operationGetOrder     = "orders.get"
	operationQuote        = "quotes.create"
)

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ticketing_http_requests_total",
			Help: "Requests to the public API, by operation, HTTP status and error code (empty for a success).",
		}, []string{"method", "route", "status", "code"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "ticketing_http_request_duration_seconds",
			Help:    "How long requests to the public API took, by operation and class of the HTTP status.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"method", "route", "class"}),
		groups: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "ticketing_group_calls", Help: "How many calls shared a transaction, by operation.",
			Buckets: []float64{1, 2, 4, 8, 16, 32, 64, 128, 256},
		}, []string{"operation"}),
		runs: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "ticketing_group_duration_seconds", Help: "How long the transactions of groups took, by operation.",
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 20},
		}, []string{"operation"}),
		failed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ticketing_group_failures_total",
			Help: "Transactions of groups that failed, by operation; their calls run again, or get 5xx.",
		}, []string{"operation"}),
		full: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ticketing_group_queue_full_total",
			Help: "Calls that were refused at once, since the queue was full, by operation.",
		}, []string{"operation"}),
		slots: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ticketing_company_slots_full_total",
			Help: "Calls that were refused, since too many of their company ran and waited, by operation.",
		}, []string{"operation"}),
		inFlight: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "ticketing_http_requests_in_flight",
			Help: "Requests that are being served, of the public API with the embed SDK, and of the console.",
		}, []string{"surface"}),
		untraced: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "ticketing_trace_export_failures_total",
			Help: "Batches of spans that did not reach the collector.",
		}),
	}
	for _, operation := range slottedOperations() {
		m.slots.WithLabelValues(operation)
	}
	for _, operation := range groupedOperations() {
		m.failed.WithLabelValues(operation)
		m.full.WithLabelValues(operation)
	}
	b := built()
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "ticketing_build_info", Help: "What is running; always 1.",
		ConstLabels: prometheus.Labels{"version": b.Version, "commit": b.Commit, "go": b.Go},
	})
	build.Set(1)
	m.registry.MustRegister(
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		m.requests, m.duration, m.groups, m.runs, m.failed, m.full, m.slots, m.inFlight, m.untraced, build,
	)
	m.webhooks, m.mails = newWebhookMetrics(m.registry), newMailMetrics(m.registry)
	m.console, m.store, m.sales = newConsoleMetrics(m.registry), newStoreMetrics(m.registry), newSalesMetrics(m.registry)
	return m
}

// meters returns the part of the metrics that the service measures itself.
func (m *metrics) meters() meters {
	return meters{registry: m.registry, webhooks: m.webhooks, mails: m.mails, sales: m.sales}
}

// observe counts a response of the public API. A request that matches no operation has an empty method and route.
func (m *metrics) observe(ctx context.Context, answer httpapi.Answer) {
	m.requests.WithLabelValues(answer.Method, answer.Route, strconv.Itoa(answer.Status), string(answer.Code)).Inc()
	m.duration.WithLabelValues(answer.Method, answer.Route, statusClass(answer.Status)).Observe(answer.Duration.Seconds())
	nameSpan(ctx, answer.Method, answer.Route, answer.Status, string(answer.Code))
}

// statusClass returns the class of an HTTP status, such as 2xx.
func statusClass(status int) string {
	const classes = "1xx2xx3xx4xx5xx"
	if i := status/100 - 1; i >= 0 && i < 5 {
		return classes[3*i : 3*i+3]
	}
	return "5xx" // No handler sends one.
}

// serving returns a handler that counts the requests in flight.
func (m *metrics) serving(surface string, next http.Handler) http.Handler {
	inFlight := m.inFlight.WithLabelValues(surface)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		inFlight.Inc()
		defer inFlight.Dec()
		next.ServeHTTP(w, r)
	})
}

// ran counts the run of a group.
func (m *metrics) ran(run ticketing.GroupRun) {
	m.groups.WithLabelValues(run.Operation).Observe(float64(run.Calls))
	m.runs.WithLabelValues(run.Operation).Observe(run.Duration.Seconds())
	if run.Err != nil {
		m.failed.WithLabelValues(run.Operation).Inc()
	}
}

// refused counts a call that found its queue full.
func (m *metrics) refused(operation string) { m.full.WithLabelValues(operation).Inc() }

// slotsFull counts a call that got no slot of its company.
func (m *metrics) slotsFull(operation string) { m.slots.WithLabelValues(operation).Inc() }

// queues registers how many calls of an operation may wait for a group.
func (m *metrics) queues(most int) {
	limit := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "ticketing_group_queue_max", Help: "Calls of an operation that may wait for a group.",
	})
	limit.Set(float64(most))
	m.registry.MustRegister(limit)
}

// watch registers the metrics of the database connections.
func (m *metrics) watch(pool func() sql.DBStats) {
	gauge := func(name, help string, of func(sql.DBStats) float64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return of(pool()) })
	}
	m.registry.MustRegister(
		gauge("ticketing_database_connections_max", "Connections to the database at most.",
			func(s sql.DBStats) float64 { return float64(s.MaxOpenConnections) }),
		gauge("ticketing_database_connections_in_use", "Connections to the database that are used now.",
			func(s sql.DBStats) float64 { return float64(s.InUse) }),
		gauge("ticketing_database_connections_idle", "Connections to the database that are open and not used.",
			func(s sql.DBStats) float64 { return float64(s.Idle) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "ticketing_database_connection_waits_total",
			Help: "Calls that had to wait for a connection to the database.",
		}, func() float64 { return float64(pool().WaitCount) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "ticketing_database_connection_wait_seconds_total",
			Help: "For how long calls waited for a connection to the database, all together.",
		}, func() float64 { return pool().WaitDuration.Seconds() }),
	)
}

// watchClients registers the metrics of the client connections.
func (m *metrics) watchClients(clients *connections) {
	m.registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "ticketing_http_connections", Help: "Clients that are connected now.",
		}, func() float64 { open, _, _ := clients.counts(); return float64(open) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "ticketing_http_connections_idle", Help: "Connected clients that are kept alive between two requests.",
		}, func() float64 { _, idle, _ := clients.counts(); return float64(idle) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "ticketing_http_connections_max", Help: "Clients that may be connected at a time; 0 is any number.",
		}, func() float64 { return float64(clients.max) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "ticketing_http_connections_full_total",
			Help: "Connections that found as many clients connected as may be.",
		}, func() float64 { _, _, full := clients.counts(); return float64(full) }),
	)
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}
