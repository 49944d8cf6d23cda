package bench

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// opReport is the report of a bench.
type opReport struct {
	Op          Op      `json:"op"`
	Level       string  `json:"level"` // "library" or "http"
	Store       string  `json:"store"` // "postgres", "sqlite" or "memory"
	Clients     int     `json:"clients"`
	Companies   int     `json:"companies"`
	Qty         int     `json:"qty"`
	Processes   int     `json:"processes"`
	Connections int     `json:"connections"`
	Seconds     float64 `json:"seconds"` // of each side in each run
	Preload     preload `json:"preload"`

	opRun

	Runs  []opRun       `json:"runs"`
	Books booksVerified `json:"books"`
}

// preload is what was sold before the measurement.
type preload struct {
	Orders  int     `json:"orders"`
	Seconds float64 `json:"seconds"`
}

// opRun is the result of one run, or the medians of all runs.
type opRun struct {
	Grouped   figures  `json:"grouped"`
	Ungrouped *figures `json:"ungrouped"` // null if not measured
	// Ratio is grouped divided by ungrouped, in operations a second.
	Ratio *float64 `json:"ratio"`
	// Ceiling is how many checkouts a second SQL alone writes. CeilingRatio is grouped divided by it.
	Ceiling      *float64 `json:"ceiling"`
	CeilingRatio *float64 `json:"ceilingRatio"`
	// Baseline is the same with one process and one company, and nil if not measured. BaselineRatio is grouped divided by
	// it.
	Baseline      *figures `json:"baseline,omitempty"`
	BaselineRatio *float64 `json:"baselineRatio,omitempty"`
	// Behind is the longest time that the oldest sale had waited for its dispatch at the end of a run, in milliseconds.
	// It is 0 if none waited, and nil without background work.
	Behind *float64 `json:"dispatchBehindMs,omitempty"`
}

// figures is the result of one side of a run.
type figures struct {
	OpsPerSecond float64 `json:"opsPerSecond"`
	// The latencies are null if no call began during the measurement.
	P50 *float64 `json:"p50Ms"`
	P95 *float64 `json:"p95Ms"`
	P99 *float64 `json:"p99Ms"`
	Max *float64 `json:"maxMs"`
	// MeanGroup is the mean number of calls in a group; null if nothing is grouped.
	MeanGroup *float64         `json:"meanGroupSize"`
	Calls     int64            `json:"calls"`
	Errors    map[string]int64 `json:"errors"`
}

// tally adds up the slices of one side of a run.
type tally struct {
	all      sliceOutcome
	duration time.Duration
	weighted float64
}

func newTally() *tally { return &tally{all: sliceOutcome{Errors: map[string]int64{}}} }

// add adds the outcomes of one slice, one of each process, and returns the calls a second of the slice.
func (t *tally) add(outcomes []*sliceOutcome) float64 {
	speed, window := 0.0, time.Duration(0)
	for _, o := range outcomes {
		t.all.add(o)
		speed += rate(o.Completed, o.Window)
		window = max(window, o.Window)
	}
	t.duration += window
	t.weighted += speed * window.Seconds()
	return speed
}

// rate returns the calls a second over all slices.
func (t *tally) rate() float64 { return t.weighted / cmp.Or(t.duration.Seconds(), 1) }

func (t *tally) side() figures {
	h := &t.all.Latencies
	s := figures{
		OpsPerSecond: rounded(t.rate()), P50: milliseconds(h.quantile(0.50)), P95: milliseconds(h.quantile(0.95)),
		P99: milliseconds(h.quantile(0.99)), Max: milliseconds(time.Duration(h.max.Load())),
		Calls: t.all.Succeeded, Errors: t.all.Errors,
	}
	if t.all.Groups > 0 {
		s.MeanGroup = new(rounded(float64(t.all.Grouped) / float64(t.all.Groups)))
	}
	return s
}

// milliseconds returns a latency in milliseconds, or nil for 0.
func milliseconds(d time.Duration) *float64 {
	if d == 0 {
		return nil
	}
	return new(math.Round(float64(d)/float64(time.Microsecond)) / 1000)
}

// rounded returns a figure rounded to three decimals.
func rounded(f float64) float64 { return math.Round(f*1000) / 1000 }

func newOpRun(b *bench, grouped, ungrouped, sql, baseline *tally) opRun {
	r := opRun{Grouped: grouped.side()}
	if b.compares() {
		r.Ungrouped = new(ungrouped.side())
		if r.Ungrouped.OpsPerSecond > 0 {
			r.Ratio = new(rounded(r.Grouped.OpsPerSecond / r.Ungrouped.OpsPerSecond))
		}
	}
	if b.ceiling != nil {
		r.Ceiling = new(rounded(sql.rate()))
		if *r.Ceiling > 0 {
			r.CeilingRatio = new(rounded(r.Grouped.OpsPerSecond / *r.Ceiling))
		}
	}
	if b.baseline != nil {
		r.Baseline = new(baseline.side())
		if r.Baseline.OpsPerSecond > 0 {
			r.BaselineRatio = new(rounded(r.Grouped.OpsPerSecond / r.Baseline.OpsPerSecond))
		}
	}
	return r
}

func (b *bench) newReport() *opReport {
	r := &opReport{
		Op: b.Op, Level: "library", Store: b.db.store(), Clients: b.Clients, Companies: b.Companies,
		Qty: b.Qty, Processes: b.Processes, Connections: b.Connections,
		Seconds: b.Duration.Seconds(),
		Preload: preload{Orders: int(b.sold), Seconds: rounded(b.preloading.Seconds())},
	}
	if b.HTTP {
		r.Level = "http"
	}
	return r
}

// store returns the name of the database's store in a report.
func (l *benchDatabase) store() string {
	switch {
	case l.folder != "":
		return "sqlite"
	case l.admin == nil:
		return "memory"
	default:
		return "postgres"
	}
}

// summarise computes the median of each figure over the runs. The largest latency is that of all runs. Calls and errors
// are summed.
func (r *opReport) summarise() {
	r.Grouped = medianSide(r.Runs, func(run opRun) *figures { return &run.Grouped })
	if r.Runs[0].Ungrouped != nil {
		r.Ungrouped = new(medianSide(r.Runs, func(run opRun) *figures { return run.Ungrouped }))
	}
	r.Ratio = medianOf(r.Runs, func(run opRun) *float64 { return run.Ratio })
	if r.Runs[0].Baseline != nil {
		r.Baseline = new(medianSide(r.Runs, func(run opRun) *figures { return run.Baseline }))
	}
	r.BaselineRatio = medianOf(r.Runs, func(run opRun) *float64 { return run.BaselineRatio })
	r.Ceiling = medianOf(r.Runs, func(run opRun) *float64 { return run.Ceiling })
	r.CeilingRatio = medianOf(r.Runs, func(run opRun) *float64 { return run.CeilingRatio })
	for _, run := range r.Runs {
		if run.Behind != nil && (r.Behind == nil || *run.Behind > *r.Behind) {
			r.Behind = run.Behind
		}
	}
}

func medianSide[T any](runs []T, of func(T) *figures) figures {
	figure := func(get func(*figures) *float64) *float64 {
		return medianOf(runs, func(run T) *float64 { return get(of(run)) })
	}
	s := figures{
		OpsPerSecond: *figure(func(s *figures) *float64 { return &s.OpsPerSecond }),
		P50:          figure(func(s *figures) *float64 { return s.P50 }),
		P95:          figure(func(s *figures) *float64 { return s.P95 }),
		P99:          figure(func(s *figures) *float64 { return s.P99 }),
		MeanGroup:    figure(func(s *figures) *float64 { return s.MeanGroup }),
		Errors:       map[string]int64{},
	}
	for _, run := range runs {
		side := of(run)
		if side.Max != nil && (s.Max == nil || *side.Max > *s.Max) {
			s.Max = side.Max
		}
		s.Calls += side.Calls
		for code, n := range side.Errors {
			s.Errors[code] += n
		}
	}
	return s
}

// medianOf returns the median of a figure over the runs that have it, or nil if none has. Of an even number of values,
// it is the mean of the middle two.
func medianOf[T any](runs []T, of func(T) *float64) *float64 {
	var values []float64
	for _, run := range runs {
		if value := of(run); value != nil {
			values = append(values, *value)
		}
	}
	if len(values) == 0 {
		return nil
	}
	slices.Sort(values)
	middle := len(values) / 2
	if len(values)%2 == 1 {
		return &values[middle]
	}
	return new(rounded((values[middle-1] + values[middle]) / 2))
}

// failure returns why a completed bench fails nevertheless.
func (r *opReport) failure() error {
	if err := r.Books.failure(); err != nil {
		return err
	}
	for _, side := range []*figures{&r.Grouped, r.Ungrouped, r.Baseline} {
		if side != nil && side.Calls == 0 {
			return &Error{Code: codeBenchFailed, Text: "no call succeeded: " + orNone(formatCounts(side.Errors))}
		}
	}
	return nil
}

func orNone(text string) string { return cmp.Or(text, "none") }

// formatCounts formats the number of errors of each code.
func formatCounts(errors map[string]int64) string {
	var parts []string
	for _, code := range slices.Sorted(maps.Keys(errors)) {
		parts = append(parts, fmt.Sprintf("%d %s", errors[code], code))
	}
	return strings.Join(parts, ", ")
}
