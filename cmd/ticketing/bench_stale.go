package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/store"
)

// staleReport is the report of a bench with --stale.
type staleReport struct {
	Op          benchOp      `json:"op"`
	Level       string       `json:"level"` // "library" or "http"
	Store       string       `json:"store"` // "postgres" or "sqlite"
	Clients     int          `json:"clients"`
	Qty         int          `json:"qty"`
	Connections int          `json:"connections"`
	Seconds     float64      `json:"seconds"` // of each side in each run
	Preload     benchPreload `json:"preload"` // of each company

	staleRun

	Runs  []staleRun `json:"runs"`
	Books benchBooks `json:"books"`
}

// staleRun is the result of one run, or the medians of all runs.
type staleRun struct {
	Known    benchSide `json:"known"`
	Newcomer benchSide `json:"newcomer"`
	// Ratio is the newcomer divided by the known company, in operations a second. It is null if the known company made
	// no calls.
	Ratio *float64 `json:"ratio"`
}

func (c *benchCommand) checkStale(p *program) error {
	switch {
	case p.Database == inMemory:
		return badValue("--stale: memory has no statistics: name a database")
	case c.Op == opWebhook:
		return badValue("--stale: cannot measure webhook")
	case c.Companies > 1 || c.Processes > 1 || c.Ceiling || c.Background:
		return badValue("--stale: measures two companies in one process: without --companies, --processes, --ceiling and --background")
	}
	return nil
}

// measureStale compares a company created after the tables were analysed with one from before. The statistics stay as
// they are during the bench.
func (b *bench) measureStale(ctx context.Context) (benchShown, error) {
	if err := b.place.freezeStatistics(ctx); err != nil {
		return nil, err
	}
	newcomer := &bench{
		benchCommand: b.benchCommand, place: b.place, store: b.store, secret: b.secret, progress: b.progress, filler: b.filler,
		left: ticketing.MaxTierAdmissions,
	}
	defer func() { b.ends = append(b.ends, newcomer.ends...) }() // They end with this bench.
	var err error
	newcomer.shops, err = openShops(ctx, b.filler, b.store, 1, b.HTTP, func(int) {})
	if err != nil {
		return nil, err
	}
	if err := newcomer.fill(ctx); err != nil {
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
	for i := range int(b.Runs) {
		run, err := b.runStale(ctx, newcomer, i)
		if err != nil {
			return nil, err
		}
		report.Runs = append(report.Runs, run)
	}
	report.Known = medianSide(report.Runs, func(run staleRun) *benchSide { return &run.Known })
	report.Newcomer = medianSide(report.Runs, func(run staleRun) *benchSide { return &run.Newcomer })
	report.Ratio = medianOf(report.Runs, func(run staleRun) *float64 { return run.Ratio })
	if report.Books, err = b.verifyBoth(ctx, newcomer); err != nil {
		return nil, err
	}
	return report, report.failure()
}

// runStale measures both companies for the requested duration, in alternating slices.
func (b *bench) runStale(ctx context.Context, newcomer *bench, number int) (staleRun, error) {
	var slice time.Duration
	known, unknown := newTally(), newTally()
	turns := []func() error{
		func() error { return b.turn(ctx, known, sliceOrder{For: slice}) },
		func() error { return newcomer.turn(ctx, unknown, sliceOrder{For: slice}) },
	}
	for left := b.Duration.Duration; left > 0; left -= slice {
		b.slowest = max(b.slowest, newcomer.slowest)
		slice = b.sliceOf(left)
		b.progress.report(fmt.Sprintf("run %d of %d", number+1, int(b.Runs)), "%s of %s  %.0f/s, newcomer %.0f/s",
			(b.Duration.Duration - left).Round(time.Millisecond), b.Duration, known.rate(), unknown.rate())
		for _, turn := range turns {
			if err := turn(); err != nil {
				return staleRun{}, err
			}
		}
		slices.Reverse(turns) // Neither company always runs after the other.
	}
	run := staleRun{Known: known.side(), Newcomer: unknown.side()}
	if run.Known.OpsPerSecond > 0 {
		run.Ratio = new(rounded(run.Newcomer.OpsPerSecond / run.Known.OpsPerSecond))
	}
	return run, nil
}

// verifyBoth verifies the books of both companies.
func (b *bench) verifyBoth(ctx context.Context, newcomer *bench) (benchBooks, error) {
	books, err := b.verify(ctx)
	if err != nil {
		return books, err
	}
	more, err := newcomer.verify(ctx)
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
	both := benchReport{Books: r.Books, benchRun: benchRun{Grouped: r.Known, Ungrouped: &r.Newcomer}}
	return both.failure()
}

// show prints the report: as JSON, or as a table.
func (r *staleReport) show(p *program) error {
	if p.JSON {
		return encode(p.stdout, r)
	}
	fmt.Fprintf(p.stdout, "%s, %s, %s: clients %d, quantity %d, orders before %d of each company\n",
		r.Op, r.Level, r.Store, r.Clients, r.Qty, r.Preload.Orders)
	fmt.Fprintf(p.stdout, "runs %d, each %gs each company\n\n", len(r.Runs), r.Seconds)
	w := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
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
	if err := w.Flush(); err != nil {
		return written(err)
	}
	ratio := "-"
	if r.Ratio != nil {
		ratio = figure(*r.Ratio, 2)
	}
	books := "in order"
	if !r.Books.OK {
		books = "NOT in order: " + r.Books.String()
	}
	fmt.Fprintln(p.stdout)
	return p.printFields(field{"newcomer / known", ratio}, field{"books", books})
}

// freezeStatistics analyses the tables once and turns off any later automatic analysis.
func (l *place) freezeStatistics(ctx context.Context) error {
	if l.admin != nil {
		//nolint:gosec // The name of the schema was made here.
		_, err := l.admin.ExecContext(ctx, `DO $$ DECLARE name text; BEGIN
			FOR name IN SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname = '`+l.schema+`' LOOP
				EXECUTE 'ALTER TABLE ' || name || ' SET (autovacuum_enabled = off)';
			END LOOP;
		END $$`)
		if err != nil {
			return fmt.Errorf("keep the tables from being analysed: %w", err)
		}
		return l.analyze(ctx)
	}
	pool, err := store.OpenPool(l.database)
	if err != nil {
		return fmt.Errorf("analyze the tables: %w", err)
	}
	if _, err = pool.ExecContext(ctx, "ANALYZE"); err != nil {
		err = fmt.Errorf("analyze the tables: %w", err)
	}
	return errors.Join(err, pool.Close())
}
