package bench

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// webhookReport is the report of a bench of webhooks.
type webhookReport struct {
	Op          Op      `json:"op"`
	Store       string  `json:"store"` // "postgres", "sqlite" or "memory"
	Companies   int     `json:"companies"`
	Endpoints   int     `json:"endpoints"` // of each company
	Connections int     `json:"connections"`
	Seconds     float64 `json:"seconds"` // of each part of each run, roughly
	Rate        int     `json:"rate"`    // events a second, while latencies are measured
	Preload     preload `json:"preload"`

	webhookRun

	Runs     []webhookRun    `json:"runs"`
	Verified webhookVerified `json:"verified"`
	Books    booksVerified   `json:"books"`
}

// webhookRun is the result of one run, or the medians of all runs.
type webhookRun struct {
	// DeliveriesPerSecond is how fast the backlog was delivered and recorded as delivered.
	DeliveriesPerSecond float64 `json:"deliveriesPerSecond"`
	// The latencies are from the commit of a sale to the receiver. They are null if nothing arrived.
	P50 *float64 `json:"p50Ms"`
	P95 *float64 `json:"p95Ms"`
	P99 *float64 `json:"p99Ms"`
	Max *float64 `json:"maxMs"`
}

func newWebhookRun(speed float64, latencies *histogram) webhookRun {
	return webhookRun{
		DeliveriesPerSecond: rounded(speed), P50: milliseconds(latencies.quantile(0.50)),
		P95: milliseconds(latencies.quantile(0.95)), P99: milliseconds(latencies.quantile(0.99)),
		Max: milliseconds(time.Duration(latencies.max.Load())),
	}
}

// summarise computes the medians of the runs. The largest latency is that of all runs.
func (r *webhookReport) summarise() {
	r.webhookRun = webhookRun{
		DeliveriesPerSecond: *medianOf(r.Runs, func(run webhookRun) *float64 { return &run.DeliveriesPerSecond }),
		P50:                 medianOf(r.Runs, func(run webhookRun) *float64 { return run.P50 }),
		P95:                 medianOf(r.Runs, func(run webhookRun) *float64 { return run.P95 }),
		P99:                 medianOf(r.Runs, func(run webhookRun) *float64 { return run.P99 }),
	}
	for _, run := range r.Runs {
		if run.Max != nil && (r.Max == nil || *run.Max > *r.Max) {
			r.Max = run.Max
		}
	}
}

// failure returns why a completed bench fails nevertheless.
func (r *webhookReport) failure() error {
	switch {
	case !r.Verified.OK:
		return &Error{Code: codeDeliveriesLost, Text: "the deliveries are not in order: " +
			strings.Join(r.Verified.Problems, "; ")}
	default:
		return r.Books.failure()
	}
}

// WriteTable writes what was measured, and the figures as a table.
func (r *webhookReport) WriteTable(out io.Writer) error {
	fmt.Fprintf(out, "%s, %s: companies %d, endpoints of each %d, orders before %d\n", r.Op, r.Store, r.Companies,
		r.Endpoints, r.Preload.Orders)
	fmt.Fprintf(out, "runs %d: %gs as fast as it can, then %gs of %d events/s, from the commit to the receiver\n\n",
		len(r.Runs), r.Seconds, r.Seconds, r.Rate)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\tDELIVERIES/S\tP50 MS\tP95 MS\tP99 MS\tMAX MS")
	for i, run := range r.Runs {
		if len(r.Runs) > 1 {
			run.row(w, fmt.Sprintf("run %d", i+1))
		}
	}
	r.row(w, map[bool]string{true: "median", false: "webhooks"}[len(r.Runs) > 1])
	return w.Flush()
}

// Summary returns the results of the two verifications.
func (r *webhookReport) Summary() []Line {
	verified := fmt.Sprintf("in order: all %d events arrived, in %d requests", r.Verified.Expected, r.Verified.Requests)
	if !r.Verified.OK {
		verified = "NOT in order: " + strings.Join(r.Verified.Problems, "; ")
	}
	books := fmt.Sprintf("in order: %d orders, %d entries", r.Books.Orders, r.Books.Entries)
	if !r.Books.OK {
		books = "NOT in order: " + r.Books.String()
	}
	return []Line{{"deliveries", verified}, {"books", books}}
}

func (r *webhookRun) row(w *tabwriter.Writer, name string) {
	fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", name, figure(r.DeliveriesPerSecond, 0), figureOf(r.P50, 2),
		figureOf(r.P95, 2), figureOf(r.P99, 2), figureOf(r.Max, 2))
}
