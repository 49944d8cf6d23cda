package main

import (
	"fmt"
	"strconv"
	"text/tabwriter"
)

// show prints the report: as JSON, or as a table.
func (r *benchReport) show(p *program) error {
	if p.JSON {
		return encode(p.stdout, r)
	}
	fmt.Fprintf(p.stdout, "%s, %s, %s: clients %d, companies %d, quantity %d, processes %d, orders before %d\n",
		r.Op, r.Level, r.Store, r.Clients, r.Companies, r.Qty, r.Processes, r.Preload.Orders)
	fmt.Fprintf(p.stdout, "runs %d, each %gs each way\n\n", len(r.Runs), r.Seconds)
	w := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\tOPS/S\tP50 MS\tP95 MS\tP99 MS\tMAX MS\tGROUP\tERRORS")
	for i, run := range r.Runs {
		if len(r.Runs) > 1 {
			run.rows(w, fmt.Sprintf("run %d ", i+1))
		}
	}
	r.rows(w, map[bool]string{true: "median ", false: ""}[len(r.Runs) > 1])
	if err := w.Flush(); err != nil {
		return written(err)
	}
	fields := []field{}
	if r.Ratio != nil {
		fields = append(fields, field{"grouped / ungrouped", figure(*r.Ratio, 2)})
	}
	if r.CeilingRatio != nil {
		fields = append(fields, field{"grouped / SQL alone", figure(*r.CeilingRatio, 2)})
	}
	books := fmt.Sprintf("in order: %d orders, all %d that were acknowledged, %d entries", r.Books.Orders,
		r.Books.Acknowledged, r.Books.Entries)
	if !r.Books.OK {
		books = "NOT in order: " + r.Books.String()
	}
	if r.Books.OK && r.Op == opValidate {
		books += fmt.Sprintf(", all %d validations that were acknowledged", r.Books.Admitted)
	}
	fmt.Fprintln(p.stdout)
	return p.printFields(append(fields, field{"books", books})...)
}

func (r *benchRun) rows(w *tabwriter.Writer, name string) {
	r.Grouped.row(w, name+"grouped")
	if r.Ungrouped != nil {
		r.Ungrouped.row(w, name+"ungrouped")
	}
	if r.Ceiling != nil {
		fmt.Fprintf(w, "%sSQL alone\t%s\t-\t-\t-\t-\t-\t-\n", name, figure(*r.Ceiling, 0))
	}
}

func (s *benchSide) row(w *tabwriter.Writer, name string) {
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
