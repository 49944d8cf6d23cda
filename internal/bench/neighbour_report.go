package bench

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// neighbourReport is the report of a bench with a neighbour.
type neighbourReport struct {
	Neighbour   Flood   `json:"neighbour"`
	Op          Op      `json:"op"`          // of the quiet company
	Store       string  `json:"store"`       // "postgres", "sqlite" or "memory"
	Clients     int     `json:"clients"`     // of the quiet company
	Qty         int     `json:"qty"`         // admissions per checkout
	Connections int     `json:"connections"` // to PostgreSQL
	Seconds     float64 `json:"seconds"`     // for each number of attacking connections, each way, in each run

	neighbourRun

	Runs  []neighbourRun `json:"runs"`
	Books booksVerified  `json:"books"`
}

// neighbourRun is the result of one run, or the medians of all runs.
type neighbourRun struct {
	Levels []neighbourLevel `json:"levels"`
}

// neighbourLevel is the result of the quiet company for one number of attacking connections.
type neighbourLevel struct {
	Attackers int     `json:"attackers"` // connections
	Quiet     figures `json:"quiet"`     // alone
	Attacked  figures `json:"attacked"`
	// The ratios are attacked divided by quiet. They are null if there is nothing to compare.
	P50Ratio *float64 `json:"p50Ratio"`
	P99Ratio *float64 `json:"p99Ratio"`
	// Refused counts the quiet company's calls that got a 503.
	Refused int64      `json:"refused"`
	Flood   floodSpeed `json:"flood"`
}

// floodSpeed is the result of the attackers' calls, per second.
type floodSpeed struct {
	Answered float64 `json:"answeredPerSecond"`
	Refused  float64 `json:"refusedPerSecond"` // 503
	Failed   float64 `json:"failedPerSecond"`  // in any other way
}

// codeRefused is the code that a 503 is counted under.
const codeRefused = "503 INTERNAL_ERROR"

func newNeighbourLevel(attackers int, quiet, attacked *tally, flood *floodTally) neighbourLevel {
	l := neighbourLevel{
		Attackers: attackers, Quiet: quiet.side(), Attacked: attacked.side(),
		Flood: floodSpeed{
			Answered: rounded(rate(flood.answeredThen, flood.measured)),
			Refused:  rounded(rate(flood.refusedThen, flood.measured)),
			Failed:   rounded(rate(flood.failedThen, flood.measured)),
		},
	}
	l.P50Ratio = ratioOf(l.Attacked.P50, l.Quiet.P50)
	l.P99Ratio = ratioOf(l.Attacked.P99, l.Quiet.P99)
	l.Refused = l.Quiet.Errors[codeRefused] + l.Attacked.Errors[codeRefused]
	return l
}

func ratioOf(a, b *float64) *float64 {
	if a == nil || b == nil || *b == 0 {
		return nil
	}
	return new(rounded(*a / *b))
}

// summarise computes the median of each figure over the runs. Refused calls and errors are summed instead.
func (r *neighbourReport) summarise() {
	for i, attackers := range floodConnections() {
		of := func(get func(*neighbourLevel) *float64) *float64 {
			return medianOf(r.Runs, func(run neighbourRun) *float64 { return get(&run.Levels[i]) })
		}
		sides := func(get func(*neighbourLevel) *figures) figures {
			runs := make([]opRun, len(r.Runs))
			for j := range r.Runs {
				runs[j].Grouped = *get(&r.Runs[j].Levels[i])
			}
			return medianSide(runs, func(run opRun) *figures { return &run.Grouped })
		}
		level := neighbourLevel{
			Attackers: attackers,
			Quiet:     sides(func(l *neighbourLevel) *figures { return &l.Quiet }),
			Attacked:  sides(func(l *neighbourLevel) *figures { return &l.Attacked }),
			P50Ratio:  of(func(l *neighbourLevel) *float64 { return l.P50Ratio }),
			P99Ratio:  of(func(l *neighbourLevel) *float64 { return l.P99Ratio }),
			Flood: floodSpeed{
				Answered: *of(func(l *neighbourLevel) *float64 { return &l.Flood.Answered }),
				Refused:  *of(func(l *neighbourLevel) *float64 { return &l.Flood.Refused }),
				Failed:   *of(func(l *neighbourLevel) *float64 { return &l.Flood.Failed }),
			},
		}
		for _, run := range r.Runs {
			level.Refused += run.Levels[i].Refused
		}
		r.Levels = append(r.Levels, level)
	}
}

// failure returns why a completed bench fails nevertheless.
func (r *neighbourReport) failure() error {
	if err := r.Books.failure(); err != nil {
		return err
	}
	for _, level := range r.Levels {
		for _, side := range []*figures{&level.Quiet, &level.Attacked} {
			if side.Calls == 0 {
				return &Error{Code: codeBenchFailed, Text: "no call of the quiet company succeeded: " +
					orNone(formatCounts(side.Errors))}
			}
		}
	}
	return nil
}

// WriteTable writes what was measured, and the figures as a table.
func (r *neighbourReport) WriteTable(out io.Writer) error {
	fmt.Fprintf(out, "--op %s of a quiet company, beside a flood (%s), http, %s\n", r.Op, r.Neighbour, r.Store)
	fmt.Fprintf(out, "clients %d, quantity %d; runs %d, each %gs each way\n\n", r.Clients, r.Qty, len(r.Runs), r.Seconds)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "FLOOD\tP50 MS\tATTACKED\tRATIO\tP99 MS\tATTACKED\tRATIO\t503\tFLOOD/S\t503/S")
	for _, l := range r.Levels {
		fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\n", l.Attackers,
			figureOf(l.Quiet.P50, 1), figureOf(l.Attacked.P50, 1), figureOf(l.P50Ratio, 2),
			figureOf(l.Quiet.P99, 1), figureOf(l.Attacked.P99, 1), figureOf(l.P99Ratio, 2),
			l.Refused, figure(l.Flood.Answered, 0), figure(l.Flood.Refused, 0))
	}
	return w.Flush()
}

// Summary returns the failed calls, and the result of the verification.
func (r *neighbourReport) Summary() []Line {
	var lines []Line
	for _, l := range r.Levels {
		if failed := formatCounts(l.Quiet.Errors) + formatCounts(l.Attacked.Errors); failed != "" {
			lines = append(lines, Line{fmt.Sprintf("errors, %d", l.Attackers), failed})
		}
		if l.Flood.Failed > 0 {
			lines = append(lines, Line{fmt.Sprintf("flood, %d", l.Attackers), figure(l.Flood.Failed, 0) + "/s failed"})
		}
	}
	books := fmt.Sprintf("in order: %d orders, %d entries", r.Books.Orders, r.Books.Entries)
	if !r.Books.OK {
		books = "NOT in order: " + r.Books.String()
	}
	return append(lines, Line{"books", books})
}
