package bench

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// mailReport is the report of a bench of ticket mails.
type mailReport struct {
	Op              Op      `json:"op"`
	Store           string  `json:"store"` // "postgres", "sqlite" or "memory"
	Companies       int     `json:"companies"`
	Qty             int     `json:"qty"`             // admissions of each mail that is sent
	MailConnections int     `json:"mailConnections"` // to the mail server
	Connections     int     `json:"connections"`     // to PostgreSQL
	Seconds         float64 `json:"seconds"`         // of each part of each run, roughly
	Rate            int     `json:"rate"`            // sales a second, while latencies are measured
	Preload         preload `json:"preload"`

	mailRun

	Runs     []mailRun     `json:"runs"`
	Verified mailVerified  `json:"verified"`
	Books    booksVerified `json:"books"`
}

// mailRun is the result of one run, or the medians of all runs.
type mailRun struct {
	// Render is how long a mail with the most admissions takes to render, in milliseconds.
	Render *float64 `json:"renderMs"`
	// MailsPerSecond is how fast the backlog was made, sent and recorded as sent.
	MailsPerSecond float64 `json:"mailsPerSecond"`
	// The latencies are from the commit of a sale to the acceptance by the mail server. They are null if nothing arrived.
	P50 *float64 `json:"p50Ms"`
	P95 *float64 `json:"p95Ms"`
	P99 *float64 `json:"p99Ms"`
	Max *float64 `json:"maxMs"`
}

func newMailRun(rendered time.Duration, speed float64, latencies *histogram) mailRun {
	return mailRun{
		Render: milliseconds(rendered), MailsPerSecond: rounded(speed), P50: milliseconds(latencies.quantile(0.50)),
		P95: milliseconds(latencies.quantile(0.95)), P99: milliseconds(latencies.quantile(0.99)),
		Max: milliseconds(time.Duration(latencies.max.Load())),
	}
}

// summarise computes the medians of the runs. The largest latency is that of all runs.
func (r *mailReport) summarise() {
	r.mailRun = mailRun{
		Render:         medianOf(r.Runs, func(run mailRun) *float64 { return run.Render }),
		MailsPerSecond: *medianOf(r.Runs, func(run mailRun) *float64 { return &run.MailsPerSecond }),
		P50:            medianOf(r.Runs, func(run mailRun) *float64 { return run.P50 }),
		P95:            medianOf(r.Runs, func(run mailRun) *float64 { return run.P95 }),
		P99:            medianOf(r.Runs, func(run mailRun) *float64 { return run.P99 }),
	}
	for _, run := range r.Runs {
		if run.Max != nil && (r.Max == nil || *run.Max > *r.Max) {
			r.Max = run.Max
		}
	}
}

// failure returns why a completed bench fails nevertheless.
func (r *mailReport) failure() error {
	switch {
	case !r.Verified.OK:
		return &Error{Code: codeMailsLost, Text: "the mails are not in order: " + strings.Join(r.Verified.Problems, "; ")}
	default:
		return r.Books.failure()
	}
}

// WriteTable writes what was measured, and the figures as a table.
func (r *mailReport) WriteTable(out io.Writer) error {
	fmt.Fprintf(out, "%s, %s: companies %d, quantity %d, mail connections %d, orders before %d\n", r.Op,
		r.Store, r.Companies, r.Qty, r.MailConnections, r.Preload.Orders)
	fmt.Fprintf(out, "runs %d: %gs as fast as it can, then %gs of %d sales/s to acceptance\n\n",
		len(r.Runs), r.Seconds, r.Seconds, r.Rate)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "\tRENDER %d MS\tMAILS/S\tP50 MS\tP95 MS\tP99 MS\tMAX MS\n", renderedAdmissions)
	for i, run := range r.Runs {
		if len(r.Runs) > 1 {
			run.row(w, fmt.Sprintf("run %d", i+1))
		}
	}
	r.row(w, map[bool]string{true: "median", false: "mails"}[len(r.Runs) > 1])
	return w.Flush()
}

// Summary returns the results of the two verifications.
func (r *mailReport) Summary() []Line {
	verified := fmt.Sprintf("in order: each of %d sales has its mail, once", r.Verified.Expected)
	if !r.Verified.OK {
		verified = "NOT in order: " + strings.Join(r.Verified.Problems, "; ")
	}
	books := fmt.Sprintf("in order: %d orders, %d entries", r.Books.Orders, r.Books.Entries)
	if !r.Books.OK {
		books = "NOT in order: " + r.Books.String()
	}
	return []Line{{"mails", verified}, {"books", books}}
}

func (r *mailRun) row(w *tabwriter.Writer, name string) {
	fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", name, figureOf(r.Render, 2), figure(r.MailsPerSecond, 0),
		figureOf(r.P50, 2), figureOf(r.P95, 2), figureOf(r.P99, 2), figureOf(r.Max, 2))
}
