package bench

import (
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
)

// WriteTable writes what was measured, and the figures as a table.
func (r *opReport) WriteTable(out io.Writer) error {
	fmt.Fprintf(out, "%s, %s, %s: clients %d, companies %d, quantity %d, processes %d, orders before %d\n",
		r.Op, r.Level, r.Store, r.Clients, r.Companies, r.Qty, r.Processes, r.Preload.Orders)
	fmt.Fprintf(out, "runs %d, each %gs each way\n\n", len(r.Runs), r.Seconds)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\tOPS/S\tP50 MS\tP95 MS\tP99 MS\tMAX MS\tGROUP\tERRORS")
	for i, run := range r.Runs {
		if len(r.Runs) > 1 {
			run.rows(w, fmt.Sprintf("run %d ", i+1))
		}
	}
	r.rows(w, map[bool]string{true: "median ", false: ""}[len(r.Runs) > 1])
	return w.Flush()
}

// Summary returns the ratios, and the result of the verification.
func (r *opReport) Summary() []Line {
	var lines []Line
	if r.Ratio != nil {
		lines = append(lines, Line{"grouped / ungrouped", figure(*r.Ratio, 2)})
	}
	if r.Behind != nil {
		lines = append(lines, Line{"dispatch behind at the end", figure(*r.Behind, 1) + " ms"})
	}
	if r.CeilingRatio != nil {
		lines = append(lines, Line{"grouped / SQL alone", figure(*r.CeilingRatio, 2)})
	}
	if r.BaselineRatio != nil {
		lines = append(lines, Line{"grouped / baseline", figure(*r.BaselineRatio, 2)})
	}
	books := fmt.Sprintf("in order: %d orders, all %d that were acknowledged, %d entries", r.Books.Orders,
		r.Books.Acknowledged, r.Books.Entries)
	if !r.Books.OK {
		books = "NOT in order: " + r.Books.String()
	}
	if r.Books.OK && r.Op == OpValidate {
		books += fmt.Sprintf(", all %d validations that were acknowledged", r.Books.Admitted)
	}
	return append(lines, Line{"books", books})
}

func (r *opRun) rows(w *tabwriter.Writer, name string) {
	r.Grouped.row(w, name+"grouped")
	if r.Ungrouped != nil {
		r.Ungrouped.row(w, name+"ungrouped")
	}
	if r.Baseline != nil {
		r.Baseline.row(w, name+"baseline")
	}
	if r.Ceiling != nil {
		fmt.Fprintf(w, "%sSQL alone\t%s\t-\t-\t-\t-\t-\t-\n", name, figure(*r.Ceiling, 0))
	}
}

func (s *figures) row(w *tabwriter.Writer, name string) {
	fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", name, figure(s.OpsPerSecond, 0), figureOf(s.P50, 2),
		figureOf(s.P95, 2), figureOf(s.P99, 2), figureOf(s.Max, 2), figureOf(s.MeanGroup, 1), orNone(formatCounts(s.Errors)))
}

// figureOf formats a figure that may be missing.
func figureOf(f *float64, decimals int) string {
	if f == nil {
		return "-"
	}
	return figure(*f, decimals)
}

func figure(f float64, decimals int) string { return strconv.FormatFloat(f, 'f', decimals, 64) }
