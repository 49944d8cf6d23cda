package bench

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"
	"time"
)

// rushReport is the report of a bench of checkouts beside pages of the console.
type rushReport struct {
	Op          Op      `json:"op"`
	Store       string  `json:"store"` // "postgres", "sqlite" or "memory"
	Clients     int     `json:"clients"`
	Companies   int     `json:"companies"`
	Qty         int     `json:"qty"`
	Connections int     `json:"connections"` // to PostgreSQL
	Seconds     float64 `json:"seconds"`     // of each side in each run
	Rate        int     `json:"rate"`        // pages a second
	Background  bool    `json:"background"`  // work of a server, all the time
	Events      int     `json:"events"`      // of the company whose pages they are
	Deliveries  int     `json:"deliveries"`  // of that company
	Preload     preload `json:"preload"`

	rushRun

	Runs []rushRun `json:"runs"`
	// PageErrors are the responses other than 200 by page and code, of all runs and of the warm-up.
	PageErrors map[string]map[string]int64 `json:"pageErrors"`
	Books      booksVerified               `json:"books"`
}

// rushRun is the result of one run, or the medians of all runs.
type rushRun struct {
	Without rushFigures `json:"without"` // no page is requested
	Beside  rushFigures `json:"beside"`  // pages are requested
	Pages   rushPages   `json:"pages"`

	took *histogram // of the pages
}

// rushFigures is the result of one side.
type rushFigures struct {
	figures

	// Ratio is the operations a second divided by those without pages. It is null if there is nothing to compare.
	Ratio *float64 `json:"ratio"`
}

// rushPages are the figures of all pages together. The latencies are the server's time.
type rushPages struct {
	Requests int64    `json:"requests"` // that succeeded
	P50      *float64 `json:"p50Ms"`
	P95      *float64 `json:"p95Ms"`
	Max      *float64 `json:"maxMs"`
}

// newRushRun returns the result of a run without that of its pages. summarise adds it when all are recorded.
func newRushRun(without, beside *tally, took *histogram) rushRun {
	r := rushRun{Without: rushFigures{figures: without.side()}, Beside: rushFigures{figures: beside.side()}, took: took}
	for _, side := range r.sides() {
		side.Ratio = ratioOf(&side.OpsPerSecond, &r.Without.OpsPerSecond)
	}
	return r
}

// sides returns the two sides, in the order of the table.
func (r *rushRun) sides() []*rushFigures { return []*rushFigures{&r.Without, &r.Beside} }

func newRushPages(took *histogram) rushPages {
	return rushPages{
		Requests: took.total(), P50: milliseconds(took.quantile(0.50)), P95: milliseconds(took.quantile(0.95)),
		Max: milliseconds(time.Duration(took.max.Load())),
	}
}

// summarise computes the medians of the runs. The largest latency is that of all runs. Requests are summed.
func (r *rushReport) summarise(answered map[string]*pageAnswers) {
	for i := range r.Runs {
		r.Runs[i].Pages = newRushPages(r.Runs[i].took)
	}
	for i, side := range r.sides() {
		side.figures = medianSide(r.Runs, func(run rushRun) *figures { return &run.sides()[i].figures })
		side.Ratio = medianOf(r.Runs, func(run rushRun) *float64 { return run.sides()[i].Ratio })
	}
	r.Pages = rushPages{
		P50: medianOf(r.Runs, func(run rushRun) *float64 { return run.Pages.P50 }),
		P95: medianOf(r.Runs, func(run rushRun) *float64 { return run.Pages.P95 }),
	}
	for _, run := range r.Runs {
		r.Pages.Requests += run.Pages.Requests
		if most := run.Pages.Max; most != nil && (r.Pages.Max == nil || *most > *r.Pages.Max) {
			r.Pages.Max = most
		}
	}
	r.PageErrors = map[string]map[string]int64{}
	for route, answers := range answered {
		if len(answers.failed) > 0 {
			r.PageErrors[route] = answers.failed
		}
	}
}

// failure returns why a completed bench fails nevertheless.
func (r *rushReport) failure() error {
	var failed []string
	for _, page := range slices.Sorted(maps.Keys(r.PageErrors)) {
		failed = append(failed, page+": "+formatCounts(r.PageErrors[page]))
	}
	if len(failed) > 0 {
		return pagesFailed(failed)
	}
	for _, side := range r.sides() {
		if side.Calls == 0 {
			return &Error{Code: codeBenchFailed, Text: "no call succeeded: " + orNone(formatCounts(side.Errors))}
		}
	}
	return r.Books.failure()
}

// WriteTable writes what was measured, and the figures as a table.
func (r *rushReport) WriteTable(out io.Writer) error {
	fmt.Fprintf(out, "checkouts beside pages, %s: clients %d, companies %d, quantity %d\n", r.Store, r.Clients,
		r.Companies, r.Qty)
	background := ""
	if r.Background {
		background = ", background work"
	}
	fmt.Fprintf(out, "runs %d, each %gs each way of %d pages/s; orders before %d%s\n\n", len(r.Runs), r.Seconds, r.Rate,
		r.Preload.Orders, background)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\tOPS/S\tRATIO\tP50 MS\tP95 MS\tP99 MS\tERRORS")
	for i, name := range []string{"without pages", "beside pages"} {
		side := r.sides()[i]
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", name, figure(side.OpsPerSecond, 0), figureOf(side.Ratio, 3),
			figureOf(side.P50, 2), figureOf(side.P95, 2), figureOf(side.P99, 2), orNone(formatCounts(side.Errors)))
	}
	return w.Flush()
}

// Summary returns the figures of the pages, and the result of the verification.
func (r *rushReport) Summary() []Line {
	pages := fmt.Sprintf("%d answered: p50 %s ms, p95 %s ms, max %s ms", r.Pages.Requests, figureOf(r.Pages.P50, 2),
		figureOf(r.Pages.P95, 2), figureOf(r.Pages.Max, 2))
	books := fmt.Sprintf("in order: %d orders, %d entries", r.Books.Orders, r.Books.Entries)
	if !r.Books.OK {
		books = "NOT in order: " + r.Books.String()
	}
	return []Line{{"pages", pages}, {"books", books}}
}
