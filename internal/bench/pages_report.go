package bench

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// pagesReport is the report of a bench of the console's pages.
type pagesReport struct {
	Op          Op      `json:"op"`
	Store       string  `json:"store"` // "postgres", "sqlite" or "memory"
	Companies   int     `json:"companies"`
	Qty         int     `json:"qty"` // admissions of each sale
	Connections int     `json:"connections"`
	Seconds     float64 `json:"seconds"`    // of each run
	Rate        int     `json:"rate"`       // pages a second
	Sales       int     `json:"sales"`      // checkouts a second that are begun beside it
	Background  bool    `json:"background"` // work of a server beside it
	Events      int     `json:"events"`     // of the company whose pages they are
	Deliveries  int     `json:"deliveries"` // of that company
	Preload     preload `json:"preload"`

	pagesRun

	Runs   []pagesRun    `json:"runs"`
	Pages  []pageFigures `json:"pages"`
	Export exportFigures `json:"export"` // of all orders of the company, after the last run
	Books  booksVerified `json:"books"`
}

// pagesRun is the result of one run, or the medians of all runs.
type pagesRun struct {
	// The latencies are the server's time of all pages. They are null if no page was served.
	P50 *float64 `json:"p50Ms"`
	P95 *float64 `json:"p95Ms"`
	P99 *float64 `json:"p99Ms"`
	Max *float64 `json:"maxMs"`
	// SalesPerSecond is how many checkouts a second succeeded at the same time.
	SalesPerSecond float64 `json:"salesPerSecond"`
}

// pageFigures are the figures of one page, of all runs together.
type pageFigures struct {
	Page     string           `json:"page"`     // such as "/business/{companyId}"
	Requests int64            `json:"requests"` // that succeeded
	P50      *float64         `json:"p50Ms"`
	P95      *float64         `json:"p95Ms"`
	Max      *float64         `json:"maxMs"`
	Bytes    int              `json:"bytes"` // of the largest, as transferred
	Errors   map[string]int64 `json:"errors"`
}

func newPagesRun(took *histogram, sales float64) pagesRun {
	return pagesRun{
		P50: milliseconds(took.quantile(0.50)), P95: milliseconds(took.quantile(0.95)),
		P99: milliseconds(took.quantile(0.99)), Max: milliseconds(time.Duration(took.max.Load())),
		SalesPerSecond: rounded(sales),
	}
}

// summarise computes the medians of the runs, and the figures of each page. The largest latency is that of all runs.
func (r *pagesReport) summarise(answered map[string]*pageAnswers) {
	r.pagesRun = pagesRun{
		P50:            medianOf(r.Runs, func(run pagesRun) *float64 { return run.P50 }),
		P95:            medianOf(r.Runs, func(run pagesRun) *float64 { return run.P95 }),
		P99:            medianOf(r.Runs, func(run pagesRun) *float64 { return run.P99 }),
		SalesPerSecond: *medianOf(r.Runs, func(run pagesRun) *float64 { return &run.SalesPerSecond }),
	}
	for _, run := range r.Runs {
		if run.Max != nil && (r.Max == nil || *run.Max > *r.Max) {
			r.Max = run.Max
		}
	}
	for _, route := range pageRoutes() {
		page := answered[route]
		figures := pageFigures{
			Page: route, P50: milliseconds(page.took.quantile(0.50)), P95: milliseconds(page.took.quantile(0.95)),
			Max: milliseconds(time.Duration(page.took.max.Load())), Bytes: page.bytes, Errors: page.failed,
			Requests: page.took.total(),
		}
		r.Pages = append(r.Pages, figures)
	}
}

// failure returns why a completed bench fails nevertheless.
func (r *pagesReport) failure() error {
	var failed []string
	for _, page := range r.Pages {
		if len(page.Errors) > 0 {
			failed = append(failed, page.Page+": "+formatCounts(page.Errors))
		}
	}
	switch {
	case len(failed) > 0:
		return pagesFailed(failed)
	default:
		return r.Books.failure()
	}
}

// pagesFailed returns the error of a bench with pages that had a status other than 200, with their codes.
func pagesFailed(pages []string) error {
	return &Error{Code: codeBenchFailed, Text: "pages failed: " + strings.Join(pages, "; ")}
}

// WriteTable writes what was measured, and the figures as a table, the slowest page first.
func (r *pagesReport) WriteTable(out io.Writer) error {
	fmt.Fprintf(out, "%s, %s: companies %d, orders before %d, deliveries %d\n", r.Op, r.Store, r.Companies,
		r.Preload.Orders, r.Deliveries)
	fmt.Fprintf(out, "runs %d, each %gs of %d pages/s beside %d checkouts/s\n\n", len(r.Runs), r.Seconds, r.Rate, r.Sales)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\tREQUESTS\tP50 MS\tP95 MS\tMAX MS\tBYTES")
	variable := regexp.MustCompile(`\{[^}]*\}`)
	for _, page := range slices.SortedStableFunc(slices.Values(r.Pages), func(a, b pageFigures) int {
		return compareFigures(b.P95, a.P95)
	}) {
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%d\n", variable.ReplaceAllString(page.Page, "*"), page.Requests,
			figureOf(page.P50, 2), figureOf(page.P95, 2), figureOf(page.Max, 2), page.Bytes)
	}
	fmt.Fprintf(w, "all pages\t\t%s\t%s\t%s\t\n", figureOf(r.P50, 2), figureOf(r.P95, 2), figureOf(r.Max, 2))
	return w.Flush()
}

// compareFigures compares two figures. A missing one is the smaller.
func compareFigures(a, b *float64) int {
	value := func(f *float64) float64 {
		if f == nil {
			return -1
		}
		return *f
	}
	switch {
	case value(a) < value(b):
		return -1
	case value(a) > value(b):
		return 1
	default:
		return 0
	}
}

// Summary returns the sales at the same time, and the result of the verification.
func (r *pagesReport) Summary() []Line {
	books := fmt.Sprintf("in order: %d orders, %d entries", r.Books.Orders, r.Books.Entries)
	if !r.Books.OK {
		books = "NOT in order: " + r.Books.String()
	}
	lines := []Line{
		{"export of orders", fmt.Sprintf("%d in %s s, %s MB, the heap grew by %s MB", r.Export.Orders,
			figure(r.Export.Seconds, 2), figure(float64(r.Export.Bytes)/1e6, 1), figure(float64(r.Export.InUseGrowth)/1e6, 1))},
		{"books", books},
	}
	if r.Sales > 0 {
		lines = append([]Line{{"checkouts a second", figure(r.SalesPerSecond, 0)}}, lines...)
	}
	return lines
}
