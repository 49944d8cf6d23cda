package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/store"
)

// staleReport is the report of a bench of a company without statistics.
type staleReport struct {
	Op          Op      `json:"op"`
	Level       string  `json:"level"` // "library" or "http"
	Store       string  `json:"store"` // "postgres" or "sqlite"
	Clients     int     `json:"clients"`
	Qty         int     `json:"qty"`
	Connections int     `json:"connections"`
	Seconds     float64 `json:"seconds"` // of each side in each run
	Preload     preload `json:"preload"` // of each company

	staleRun

	Runs  []staleRun    `json:"runs"`
	Books booksVerified `json:"books"`
}

// staleRun is the result of one run, or the medians of all runs.
type staleRun struct {
	Known    figures `json:"known"`
	Newcomer figures `json:"newcomer"`
	// Ratio is the newcomer divided by the known company, in operations a second. It is null if the known company made
	// no calls.
	Ratio *float64 `json:"ratio"`
}

// measureStale compares a company created after the tables were analysed with one from before. The statistics stay as
// they are during the bench.
func (b *bench) measureStale(ctx context.Context) (Report, error) {
	if err := b.db.freezeStatistics(ctx); err != nil {
		return nil, err
	}
	newcomer, err := b.newCompany(ctx, b.Config, b.firstOrders())
	if err != nil {
		return nil, err
	}
	for _, side := range []*bench{b, newcomer} {
		if err := side.startWorkers(ctx); err != nil {
			return nil, err
		}
	}
	full := b.newReport()
	report := &staleReport{
		Op: full.Op, Level: full.Level, Store: full.Store, Clients: full.Clients, Qty: full.Qty,
		Connections: full.Connections, Seconds: full.Seconds, Preload: full.Preload,
	}
	for i := range b.Runs {
		run, err := b.runStale(ctx, newcomer, i)
		if err != nil {
			return nil, err
		}
		report.Runs = append(report.Runs, run)
	}
	report.Known = medianSide(report.Runs, func(run staleRun) *figures { return &run.Known })
	report.Newcomer = medianSide(report.Runs, func(run staleRun) *figures { return &run.Newcomer })
	report.Ratio = medianOf(report.Runs, func(run staleRun) *float64 { return run.Ratio })
	if report.Books, err = b.verifyBoth(ctx, newcomer); err != nil {
		return nil, err
	}
	return report, report.failure()
}

// newCompany returns a bench of one more company, in the same database and with a number of orders. It ends with b.
func (b *bench) newCompany(ctx context.Context, c *Config, orders int) (*bench, error) {
	other := &bench{
		Config: c, Program: b.Program, db: b.db, store: b.store, secret: b.secret, filler: b.filler,
		left: ticketing.MaxTierAdmissions,
	}
	b.ends = append(b.ends, func(ctx context.Context) error {
		var errs []error
		for _, end := range slices.Backward(other.ends) {
			errs = append(errs, end(ctx))
		}
		return errors.Join(errs...)
	})
	var err error
	if other.shops, err = openShops(ctx, b.filler, b.store, 1, b.HTTP, func(int) {}); err != nil {
		return nil, err
	}
	return other, other.fill(ctx, orders)
}

// runStale measures both companies for the requested duration, in alternating slices.
func (b *bench) runStale(ctx context.Context, newcomer *bench, number int) (staleRun, error) {
	var slice time.Duration
	known, unknown := newTally(), newTally()
	sides := []func() error{
		func() error { return b.runSlice(ctx, known, sliceOrder{For: slice}) },
		func() error { return newcomer.runSlice(ctx, unknown, sliceOrder{For: slice}) },
	}
	for left := b.Duration; left > 0; left -= slice {
		b.slowest = max(b.slowest, newcomer.slowest)
		slice = b.sliceOf(left)
		b.Progress(fmt.Sprintf("run %d of %d", number+1, b.Runs), "%s of %s  %.0f/s, newcomer %.0f/s",
			(b.Duration - left).Round(time.Millisecond), b.Duration, known.rate(), unknown.rate())
		for _, measure := range sides {
			if err := measure(); err != nil {
				return staleRun{}, err
			}
		}
		slices.Reverse(sides) // Neither company always runs after the other.
	}
	run := staleRun{Known: known.side(), Newcomer: unknown.side()}
	if run.Known.OpsPerSecond > 0 {
		run.Ratio = new(rounded(run.Newcomer.OpsPerSecond / run.Known.OpsPerSecond))
	}
	return run, nil
}

// verifyBoth verifies the books of this bench, and those of the other one if there is one.
func (b *bench) verifyBoth(ctx context.Context, other *bench) (booksVerified, error) {
	books, err := b.verify(ctx)
	if err != nil || other == nil {
		return books, err
	}
	more, err := other.verify(ctx)
	books.Wallets += more.Wallets
	books.Entries += more.Entries
	books.Orders += more.Orders
	books.Acknowledged += more.Acknowledged
	books.Validated += more.Validated
	books.Admitted += more.Admitted
	books.Problems = append(books.Problems, more.Problems...)
	books.OK = books.OK && more.OK
	return books, err
}

// failure returns why a completed bench fails nevertheless.
func (r *staleReport) failure() error {
	both := opReport{Books: r.Books, opRun: opRun{Grouped: r.Known, Ungrouped: &r.Newcomer}}
	return both.failure()
}

// WriteTable writes what was measured, and the figures as a table.
func (r *staleReport) WriteTable(out io.Writer) error {
	fmt.Fprintf(out, "%s, %s, %s: clients %d, quantity %d, orders before %d of each company\n",
		r.Op, r.Level, r.Store, r.Clients, r.Qty, r.Preload.Orders)
	fmt.Fprintf(out, "runs %d, each %gs each company\n\n", len(r.Runs), r.Seconds)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\tOPS/S\tP50 MS\tP95 MS\tP99 MS\tMAX MS\tGROUP\tERRORS")
	rows := func(run staleRun, name string) {
		run.Known.row(w, name+"known")
		run.Newcomer.row(w, name+"newcomer")
	}
	name := ""
	if len(r.Runs) > 1 {
		name = "median "
		for i, run := range r.Runs {
			rows(run, fmt.Sprintf("run %d ", i+1))
		}
	}
	rows(r.staleRun, name)
	return w.Flush()
}

// Summary returns the ratio, and the result of the verification.
func (r *staleReport) Summary() []Line {
	ratio := "-"
	if r.Ratio != nil {
		ratio = figure(*r.Ratio, 2)
	}
	books := "in order"
	if !r.Books.OK {
		books = "NOT in order: " + r.Books.String()
	}
	return []Line{{"newcomer / known", ratio}, {"books", books}}
}

// freezeStatistics vacuums and analyses the tables once and turns off any later automatic analysis.
func (l *benchDatabase) freezeStatistics(ctx context.Context) error {
	if l.admin != nil {
		tables, err := l.tables(ctx)
		if err != nil {
			return err
		}
		for _, table := range tables {
			_, err := l.admin.ExecContext(ctx, "ALTER TABLE "+table+" SET (autovacuum_enabled = off)")
			if err != nil {
				return fmt.Errorf("keep the tables from being analysed: %w", err)
			}
		}
		return l.vacuum(ctx)
	}
	pool, err := store.OpenPool(l.dsn)
	if err != nil {
		return fmt.Errorf("analyze the tables: %w", err)
	}
	if _, err = pool.ExecContext(ctx, "ANALYZE"); err != nil {
		err = fmt.Errorf("analyze the tables: %w", err)
	}
	return errors.Join(err, pool.Close())
}
