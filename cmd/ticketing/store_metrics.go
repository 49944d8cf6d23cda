package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/store"
)

// storeMetrics are the metrics of the statements that the store runs. They name a statement, never its text.
type storeMetrics struct {
	duration *prometheus.HistogramVec
	failures *prometheus.CounterVec
	known    sync.Map // prometheus.Observer, by the name of the statement: a look-up that takes no lock
}

func newStoreMetrics(registry *prometheus.Registry) *storeMetrics {
	m := &storeMetrics{
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "ticketing_database_statement_duration_seconds",
			Help:    "How long statements of the store took, by name, the reading of their rows included.",
			Buckets: []float64{.0001, .0005, .001, .0025, .005, .01, .05, .1, .5, 1, 5},
		}, []string{"statement"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "ticketing_database_statement_failures_total",
			Help: "Statements of the store that failed, by name and reason. Many of them run again, and succeed.",
		}, []string{"statement", "reason"}),
	}
	// The metrics of statements that every transaction runs start at zero, so that the first increment is visible as a
	// change.
	for _, reason := range failureReasons() {
		m.failures.WithLabelValues("begin", reason)
		m.failures.WithLabelValues("commit", reason)
	}
	registry.MustRegister(m.duration, m.failures)
	return m
}

// observe counts a statement.
func (m *storeMetrics) observe(statement store.Statement) {
	known, ok := m.known.Load(statement.Name)
	if !ok {
		known, _ = m.known.LoadOrStore(statement.Name, m.duration.WithLabelValues(statement.Name))
	}
	known.(prometheus.Observer).Observe(statement.Duration.Seconds())
	if statement.Err != nil {
		m.failures.WithLabelValues(statement.Name, failureReason(statement.Err)).Inc()
	}
}

// failureReasons returns the reasons for which a statement may fail.
func failureReasons() []string { return []string{"busy", "unavailable", "canceled", "other"} }

func failureReason(err error) string {
	switch {
	case errors.Is(err, driver.ErrBusy):
		return "busy"
	case errors.Is(err, driver.ErrUnavailable):
		return "unavailable"
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "canceled"
	default:
		return "other"
	}
}

// databaseFiles are the sizes of the files of a SQLite database, read when Prometheus scrapes them.
type databaseFiles struct {
	path string
	size *prometheus.Desc
}

// watchFiles registers the sizes of the files of a SQLite database. Any other database has no files here.
func (m *metrics) watchFiles(name string) {
	if path, isSQLite := strings.CutPrefix(name, sqlitePrefix); isSQLite {
		m.registry.MustRegister(databaseFiles{path, prometheus.NewDesc("ticketing_database_file_bytes",
			"Size of the SQLite database and of its write-ahead log.", []string{"file"}, nil)})
	}
}

// Describe implements prometheus.Collector.
func (f databaseFiles) Describe(descriptions chan<- *prometheus.Desc) { descriptions <- f.size }

// Collect implements prometheus.Collector.
func (f databaseFiles) Collect(sizes chan<- prometheus.Metric) {
	for _, file := range []struct{ name, path string }{{"database", f.path}, {"wal", f.path + "-wal"}} {
		if about, err := os.Stat(file.path); err == nil {
			sizes <- prometheus.MustNewConstMetric(f.size, prometheus.GaugeValue, float64(about.Size()), file.name)
		}
	}
}

// clusterNodes are the nodes of a cluster that have shards, as the store knows them when Prometheus scrapes.
type clusterNodes struct {
	count *prometheus.Desc
	known func() (nodes int, absent []int)
}

// watchNodes registers how many nodes of a cluster respond. Any other database has none, and no sample.
func (m *metrics) watchNodes(known func() (nodes int, absent []int)) {
	m.nodes = &clusterNodes{known: known, count: prometheus.NewDesc("ticketing_cluster_nodes",
		"Nodes of a Citus cluster that have shards, by whether they responded when the server last looked for due work.",
		[]string{"state"}, nil)}
	m.registry.MustRegister(m.nodes)
}

// absent returns the groups of the nodes that do not respond.
func (n *clusterNodes) absent() []int {
	if n == nil {
		return nil
	}
	_, absent := n.known()
	return absent
}

// Describe implements prometheus.Collector.
func (n *clusterNodes) Describe(descriptions chan<- *prometheus.Desc) { descriptions <- n.count }

// Collect implements prometheus.Collector.
func (n *clusterNodes) Collect(counts chan<- prometheus.Metric) {
	nodes, absent := n.known()
	if nodes == 0 {
		return
	}
	for state, count := range map[string]int{"responding": nodes - len(absent), "absent": len(absent)} {
		counts <- prometheus.MustNewConstMetric(n.count, prometheus.GaugeValue, float64(count), state)
	}
}
