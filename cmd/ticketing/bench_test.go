package main_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/matryer/is"

	program "github.com/floatgate/ticketing/cmd/ticketing"
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/internal/race"
)

// benchPlace is a database to bench in. Its left function lists what benches have left there.
type benchPlace struct {
	name string
	open func(t *testing.T) (sh *shell, left func() []string)
}

func benchPlaces() []benchPlace {
	return []benchPlace{
		{"memory", func(t *testing.T) (*shell, func() []string) {
			t.Helper()
			return newShell(t).with("TICKETING_DATABASE", "memory:"), func() []string { return nil }
		}},
		{"sqlite", func(t *testing.T) (*shell, func() []string) {
			t.Helper()
			sh := newShellWithoutFile(t)
			return sh.with("TICKETING_DATABASE", "sqlite:"+filepath.Join(sh.dir, "t.db")), func() []string {
				return inFolder(t, sh.dir)
			}
		}},
		{"postgres", func(t *testing.T) (*shell, func() []string) {
			t.Helper()
			dsn := pgtest.Database(t)
			return newShell(t).with("TICKETING_DATABASE", dsn), func() []string { return inDatabase(t, dsn) }
		}},
	}
}

// everyBenchPlace returns all places, but leaves out SQLite under the race detector, where it is ten times slower. The
// measuring code is the same on each store.
func everyBenchPlace() []benchPlace {
	return slices.DeleteFunc(benchPlaces(), func(place benchPlace) bool { return race.Enabled && place.name == "sqlite" })
}

// inFolder returns the names of all entries of a folder.
func inFolder(t *testing.T, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(folder)
	must(t, err)
	var names []string
	for _, entry := range entries {
		names = append(names, entry.Name())
	}
	return names
}

// inDatabase returns every schema that a user created, and every table of the schema public.
func inDatabase(t *testing.T, dsn string) []string {
	t.Helper()
	db := connect(t, dsn)
	rows, err := db.QueryContext(t.Context(), `SELECT nspname FROM pg_namespace
		WHERE nspname <> 'public' AND nspname <> 'information_schema' AND nspname !~ '^pg_'
		UNION ALL SELECT tablename FROM pg_tables WHERE schemaname = 'public'`)
	must(t, err)
	defer rows.Close()
	var names []string
	for rows.Next() {
		var name string
		must(t, rows.Scan(&name))
		names = append(names, name)
	}
	must(t, rows.Err())
	return names
}

func connect(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pg", dsn)
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	return db
}

// short returns the arguments of a bench that takes a moment.
func short(more ...string) []string {
	return append([]string{"bench", "--duration", "60ms", "--clients", "4", "--preload", "20"}, more...)
}

// Every operation can be measured, as a library and over HTTP, and some of them on PostgreSQL, where every bench makes
// a schema. The one JSON value has the figures of every side and the result of the verification. The bench leaves
// nothing in the database.
func TestBench(t *testing.T) {
	t.Parallel()
	for _, place := range everyBenchPlace() {
		t.Run(place.name, func(t *testing.T) {
			t.Parallel()
			sh, left := place.open(t)
			for i, test := range []struct {
				args       string
				ungrouped  bool // whether the bench also measures without group commit
				groupsSeen bool
				onPostgres bool
			}{
				{"--op checkout", true, true, true},
				{"--op checkout --http --companies 3 --qty 5", true, true, false},
				{"--op checkout --no-compare --background", false, true, false},
				{"--op validate", true, true, false},
				{"--op validate --http --companies 2", true, true, true},
				{"--op quote", false, false, false},
				{"--op quote --http", true, true, false},
				{"--op read --companies 2", false, false, true},
				{"--op read --http", true, true, false},
				{"--op order --http", true, true, false},
				{"--op orders", false, false, true},
				{"--op dispatch", false, false, true},
			} {
				if place.name == "postgres" && !test.onPostgres {
					continue
				}
				t.Run(test.args, func(t *testing.T) {
					if i%3 != 1 {
						race.Leave(t, "benches like others")
					}
					is := is.New(t)
					own := *sh
					own.t = t
					report := own.object(short(strings.Fields(test.args)...)...)
					is.Equal(report["store"], place.name)
					grouped := report["grouped"].(map[string]any)
					hasMembers(t, grouped, "opsPerSecond", "p50Ms", "p95Ms", "p99Ms", "maxMs", "meanGroupSize", "calls")
					is.True(grouped["calls"].(float64) > 0)
					is.Equal(grouped["errors"], map[string]any{})
					is.Equal(grouped["meanGroupSize"] != nil, test.groupsSeen)
					is.Equal(report["ungrouped"] != nil, test.ungrouped)
					is.Equal(report["dispatchBehindMs"] != nil, strings.Contains(test.args, "--background"))
					if test.ungrouped {
						ungrouped := report["ungrouped"].(map[string]any)
						is.True(ungrouped["calls"].(float64) > 0)
						is.Equal(ungrouped["errors"], map[string]any{})
						is.Equal(ungrouped["meanGroupSize"], nil)
					}
					books := report["books"].(map[string]any)
					is.Equal(books["ok"], true)
					is.Equal(books["problems"], []any{})
					is.Equal(books["orders"], books["acknowledged"])
					is.True(books["orders"].(float64) >= 20)
					is.Equal(books["validated"], books["admitted"])
					is.Equal(books["admitted"].(float64) > 0, strings.HasPrefix(test.args, "--op validate"))
				})
			}
			is.New(t).Equal(left(), nil)
		})
	}
}

// Webhooks can be measured on every store, both their throughput and their latency. Every event reaches every endpoint,
// and the bench leaves nothing in the database.
func TestBenchWebhooks(t *testing.T) {
	t.Parallel()
	for _, place := range everyBenchPlace() {
		t.Run(place.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			sh, left := place.open(t)
			report := sh.object(short("--op", "webhook", "--companies", "2", "--endpoints", "2", "--runs", "2")...)
			hasMembers(t, report, "op", "seconds", "rate", "deliveriesPerSecond", "p50Ms", "p95Ms", "p99Ms", "maxMs")
			is.Equal(report["store"], place.name)
			is.Equal(len(report["runs"].([]any)), 2)
			is.True(report["deliveriesPerSecond"].(float64) > 0)
			is.True(report["p50Ms"].(float64) > 0)
			verified := report["verified"].(map[string]any)
			is.Equal(verified["ok"], true)
			for _, count := range []string{"deliveries", "succeeded", "arrived"} {
				is.Equal(verified[count], verified["expected"])
			}
			books := report["books"].(map[string]any)
			is.Equal(books["ok"], true)
			is.Equal(verified["expected"], 2*2*(books["orders"].(float64)-20)) // Two events per order, two endpoints.
			is.Equal(left(), nil)
			if place.name == "postgres" {
				return // It prints what it does elsewhere.
			}
			did := sh.run(short("--op", "webhook")...)
			is.Equal(did.status, 0)
			is.True(strings.Contains(did.stdout, "DELIVERIES/S"))
			is.True(strings.Contains(did.stdout, "in order: all "))
		})
	}
}

// bench runs a bench in a process of its own, and returns its report.
func (s *shell) bench(args ...string) map[string]any {
	s.t.Helper()
	p := s.start(args...)
	var report map[string]any
	must(s.t, json.NewDecoder(p.stdout).Decode(&report))
	if status := p.wait(); status != 0 {
		s.t.Fatalf("the bench ended with status %d", status)
	}
	return report
}

// The measured groups are as large as the flags of "ticketing serve" allow, in each process.
func TestBenchGroups(t *testing.T) {
	t.Parallel()
	for _, args := range []string{"--database memory:", "--processes 2"} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			sh, _ := benchPlaces()[1].open(t)
			report := sh.bench(append([]string{
				"bench", "--json", "--duration", "200ms", "--clients", "16", "--no-compare",
				"--group-calls", "2", "--group-lanes", "1", "--group-queue", "20",
			}, strings.Fields(args)...)...)
			size := report["grouped"].(map[string]any)["meanGroupSize"].(float64)
			is.True(size > 1 && size <= 2)
		})
	}
}

// Without --json, the bench prints a table of every run and of the medians, and its progress on standard error.
func TestBenchForAPerson(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	sh, _ := benchPlaces()[0].open(t)
	did := sh.run(short("--runs", "2", "--companies", "2", "--baseline")...)
	is.Equal(did.status, 0)
	for _, want := range []string{
		"run 1 grouped", "run 2 ungrouped", "run 2 baseline", "median grouped", "median baseline", "grouped / ungrouped",
		"grouped / baseline", "books ", "in order: ",
	} {
		is.True(strings.Contains(did.stdout, want))
	}
	is.True(strings.Contains(did.stderr, "\nrun 2 of 2\n"))
}

// Several processes sell for one company, while the bench also measures SQL alone.
func TestBenchProcesses(t *testing.T) {
	t.Parallel()
	race.Leave(t, "benches of several processes: those of one run under it")
	for _, place := range benchPlaces()[1:] {
		for _, args := range []string{"--op checkout", "--op validate --gates nodes", "--op checkout --http"} {
			t.Run(place.name+" "+args, func(t *testing.T) {
				t.Parallel()
				is := is.New(t)
				sh, left := place.open(t)
				if place.name == "postgres" {
					args += " --ceiling"
				}
				report := sh.bench(short(append(strings.Fields(args), "--processes", "2", "--json")...)...)
				is.Equal(report["processes"], 2.0)
				is.Equal(report["books"].(map[string]any)["ok"], true)
				if place.name == "postgres" {
					is.True(report["ceiling"].(float64) > 0)
					hasMembers(t, report, "ceilingRatio")
				}
				is.Equal(left(), nil)
			})
		}
	}
}

// With --baseline one process with a company of its own is measured beside several processes or companies. The books
// are those of all companies.
func TestBenchBaseline(t *testing.T) {
	t.Parallel()
	race.Leave(t, "benches of several processes: those of one run under it")
	for _, place := range everyBenchPlace() {
		for _, test := range []struct {
			args      string
			companies float64
		}{
			{"--companies 3 --background --runs 2", 4},
			{"--companies 2 --op order --http", 3},
			{"--processes 2 --op validate", 2},
		} {
			if place.name == "memory" && strings.Contains(test.args, "--processes") {
				continue
			}
			t.Run(place.name+" "+test.args, func(t *testing.T) {
				t.Parallel()
				is := is.New(t)
				sh, left := place.open(t)
				report := sh.bench(short(append(strings.Fields(test.args), "--baseline", "--no-compare", "--json")...)...)
				is.True(report["preload"].(map[string]any)["orders"].(float64) >= 20)
				for _, run := range report["runs"].([]any) {
					run := run.(map[string]any)
					several, baseline := run["grouped"].(map[string]any), run["baseline"].(map[string]any)
					is.True(baseline["calls"].(float64) > 0)
					is.Equal(baseline["errors"], map[string]any{})
					ratio := several["opsPerSecond"].(float64) / baseline["opsPerSecond"].(float64)
					is.True(math.Abs(run["baselineRatio"].(float64)-ratio) < 0.01)
				}
				hasMembers(t, report, "baseline", "baselineRatio")
				books := report["books"].(map[string]any)
				is.Equal(books["ok"], true)
				is.Equal(books["wallets"], 2*test.companies)
				is.Equal(books["orders"], books["acknowledged"])
				is.Equal(books["validated"], books["admitted"])
				is.Equal(left(), nil)
			})
		}
	}
}

// An interrupted bench ends, reports the interruption, and leaves nothing in the database.
func TestBenchInterrupted(t *testing.T) {
	t.Parallel()
	for _, place := range everyBenchPlace() {
		for _, test := range []struct {
			args   string
			signal os.Signal
		}{
			{"--op checkout", os.Interrupt},
			{"--op validate --http", syscall.SIGTERM},
			{"--op checkout --processes 2", os.Interrupt},
			{"--op quote --preload 100000 --companies 50", os.Interrupt}, // during the preload
		} {
			if place.name == "memory" && strings.Contains(test.args, "--processes") {
				continue
			}
			t.Run(place.name+" "+test.args, func(t *testing.T) {
				t.Parallel()
				is := is.New(t)
				sh, left := place.open(t)
				args := []string{"bench", "--duration", "1h", "--clients", "4"}
				p := sh.start(append(args, strings.Fields(test.args)...)...)
				if strings.Contains(test.args, "--preload") {
					p.waitsFor("preloading")
				} else {
					p.waitsFor("run 1 of 1")
				}
				p.signal(test.signal)
				p.signal(test.signal) // timeout(1) signals a process and its group.
				is.Equal(p.wait(), 1)
				is.True(strings.HasSuffix(p.errors(), "ticketing: interrupted; what it had made is removed\n"))
				is.Equal(left(), nil)
			})
		}
	}
}

// A bench that finds the books out of order at the end fails, reports the problems, and leaves nothing in the database.
func TestBenchFindsBrokenBooks(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		place    benchPlace
		args     []string
		want     string
		problems int
		tear     func(t *testing.T, sh *shell, place string)
	}{
		{benchPlaces()[1], nil, "", 1, func(t *testing.T, sh *shell, place string) {
			t.Helper()
			db, err := sql.Open("sqlite", filepath.Join(sh.dir, place, "bench.db")+"?_pragma=busy_timeout(5000)")
			must(t, err)
			defer func() { must(t, db.Close()) }()
			_, err = db.ExecContext(t.Context(),
				"UPDATE ticketing_wallets SET balance = balance - 100 WHERE wallet = 'FLOAT'")
			must(t, err)
		}},
		{
			benchPlaces()[2],
			[]string{"--op", "validate"},
			" validations were acknowledged, and 0 calls failed; ",
			2, // The fact of the validation also refers to nothing.
			func(t *testing.T, sh *shell, place string) {
				t.Helper()
				_, err := connect(t, sh.env["TICKETING_DATABASE"]).ExecContext(t.Context(), "UPDATE "+place+
					".ticketing_admissions SET validated_at = NULL WHERE id = (SELECT id FROM "+place+
					".ticketing_admissions WHERE validated_at IS NOT NULL LIMIT 1)")
				must(t, err)
			},
		},
		// The order has a gap, its lines do not add up to its gross, and the tier counts one sold admission too many.
		{benchPlaces()[2], nil, " admissions count as sold, there are ", 3, func(t *testing.T, sh *shell, place string) {
			t.Helper()
			_, err := connect(t, sh.env["TICKETING_DATABASE"]).ExecContext(t.Context(),
				"DELETE FROM "+place+".ticketing_admissions WHERE order_number = 5 AND line = 1")
			must(t, err)
		}},
	} {
		t.Run(strings.Join(append(test.args, test.place.name), " "), func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			sh, left := test.place.open(t)
			var stdout bytes.Buffer
			// The bench waits while its progress is written.
			stderr := &tearing{before: "verifying the books\n", tear: func() { test.tear(t, sh, left()[0]) }}
			status := program.Run(t.Context(), short(test.args...), func(name string) string { return sh.env[name] },
				strings.NewReader(""), &stdout, stderr)
			is.Equal(status, 1)
			is.True(strings.Contains(stdout.String(), "NOT in order: "))
			is.True(strings.Contains(stdout.String(), test.want))
			is.True(strings.HasSuffix(stderr.String(), fmt.Sprintf(
				"ticketing: the books are not in order (problems: %d)\n", test.problems)))
			is.Equal(left(), nil)
		})
	}
}

// If a lock or a restart of the database blocks the removal of the schema, the bench tries again, on a new connection
// each time.
func TestBenchRemovesItsSchemaInTheEnd(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		// disturb is called before the removal. The function that it returns is called after the bench has ended.
		disturb func(t *testing.T, server *pgtest.Server, dsn string) (settled func())
	}{
		{"lock", func(t *testing.T, _ *pgtest.Server, dsn string) func() {
			t.Helper()
			db := connect(t, dsn)
			tx, err := db.BeginTx(t.Context(), nil)
			must(t, err)
			_, err = tx.ExecContext(t.Context(), "SELECT FROM "+inDatabase(t, dsn)[0]+".ticketing_orders LIMIT 1")
			must(t, err)
			ended := make(chan error, 1)
			go func() {
				seen := map[int]bool{}
				for begun := time.Now(); len(seen) < 2 && time.Since(begun) < patience; {
					pid := 0
					err := db.QueryRowContext(t.Context(),
						"SELECT coalesce(max(pid), 0) FROM pg_stat_activity WHERE wait_event_type = 'Lock'").Scan(&pid)
					if err != nil {
						ended <- errors.Join(err, tx.Rollback())
						return
					}
					if pid != 0 {
						seen[pid] = true
					}
				}
				ended <- tx.Rollback()
			}()
			return func() { must(t, <-ended) }
		}},
		{"restart", func(t *testing.T, server *pgtest.Server, _ string) func() {
			t.Helper()
			server.Kill()
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				server.Restart()
			}()
			return func() { <-ended }
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			server := pgtest.Start(t)
			dsn := server.DSN("postgres")
			// A statement that waits for a lock fails, like the victim of a deadlock.
			sh := newShell(t).with("TICKETING_DATABASE", dsn+"&lock_timeout=50ms")
			settled := func() {}
			disturb := func() { settled = test.disturb(t, server, dsn) }
			stderr := &tearing{before: "removing what was made\n", tear: disturb}
			status := program.Run(t.Context(), short("--no-compare"), func(name string) string { return sh.env[name] },
				strings.NewReader(""), io.Discard, stderr)
			settled()
			is.True(strings.HasSuffix(stderr.String(), stderr.before)) // It reports nothing about the retries.
			is.Equal(status, 0)
			is.Equal(inDatabase(t, dsn), nil)
		})
	}
}

// A bench names what it cannot use as other commands do.
func TestBenchWhereItCannot(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	sh := newShell(t)
	missing := filepath.Join(sh.dir, "nothing", "t.db")
	code, message := sh.with("TICKETING_DATABASE", "sqlite:"+missing).refusal(short()...)
	is.Equal(code, "UNAVAILABLE")
	is.Equal(message, "the database "+missing+" cannot be used: no such file or directory: "+
		"make its folder first, or correct the path in --database")
	code, _ = sh.with("TICKETING_DATABASE", "nothing").refusal(short()...)
	is.Equal(code, "INVALID_REQUEST")
}

// tearing is a writer that calls tear before it accepts a given line.
type tearing struct {
	strings.Builder

	before string
	tear   func()
}

// Write accepts p.
func (w *tearing) Write(p []byte) (int, error) {
	if string(p) == w.before {
		w.tear()
	}
	return w.Builder.Write(p)
}

// SQL alone writes what a sale writes: the same number of rows per order in every table, of the same size.
func TestBenchCeilingWritesTheRowsOfSales(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	sh, left := benchPlaces()[2].open(t)
	ctx, stop := context.WithCancel(t.Context())
	begun, ended := make(chan struct{}), make(chan struct{})
	stderr := &tearing{before: "run 1 of 1\n", tear: func() { close(begun) }}
	go func() {
		defer close(ended)
		program.Run(ctx, []string{"bench", "--duration", "1h", "--ceiling", "--no-compare", "--preload", "0"},
			func(name string) string { return sh.env[name] }, strings.NewReader(""), io.Discard, stderr)
	}()
	defer func() { <-ended }()
	defer stop()
	select {
	case <-begun:
	case <-ended:
		t.Fatal(stderr.String())
	}

	db := connect(t, sh.env["TICKETING_DATABASE"])
	var rows map[string]map[string]tableRows
	for len(rows) < 2 {
		select {
		case <-ended:
			t.Fatal(stderr.String())
		default:
		}
		rows = soldRows(t, db, left())
	}
	var sides []map[string]tableRows
	for _, side := range rows {
		sides = append(sides, side)
	}
	is.True(len(sides[0]) >= 7)
	for table, a := range sides[0] {
		b := sides[1][table]
		t.Log(table, a, b)
		is.Equal(a.ofOrder, b.ofOrder)
		is.True(math.Abs(a.size-b.size) <= 0.03*a.size)
	}
}

// tableRows describes the rows of a company in a table that sales append to: the number per order, and their mean size.
type tableRows struct{ ofOrder, size float64 }

// soldRows returns the rows of companies that have sold something, by company and table. All are read by one statement.
func soldRows(t *testing.T, db *sql.DB, schemas []string) map[string]map[string]tableRows {
	t.Helper()
	sold := map[string]string{
		"orders": "true", "admissions": "true", "buyers": "true", "outbox": "true",
		"idempotency_keys": "t.operation = 'checkouts.create'", "ledger_entries": "t.kind = 'CHECKOUT_DEBIT'",
		"ledger_entries ": "t.kind = 'COMMISSION_ACCRUAL'",
	}
	var parts []string
	for table, where := range sold {
		name := schemas[0] + ".ticketing_" + strings.TrimSpace(table)
		parts = append(parts, fmt.Sprintf("SELECT t.company_id::text, '%s', count(*)::float / (SELECT count(*) FROM "+
			"%s.ticketing_orders o WHERE o.company_id = t.company_id), avg(pg_column_size(t))::float FROM %s t "+
			"WHERE %s GROUP BY t.company_id", table, schemas[0], name, where))
	}
	answer, err := db.QueryContext(t.Context(), strings.Join(parts, " UNION ALL "))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Close()
	rows := map[string]map[string]tableRows{}
	for answer.Next() {
		var company, table string
		var of tableRows
		must(t, answer.Scan(&company, &table, &of.ofOrder, &of.size))
		if rows[company] == nil {
			rows[company] = map[string]tableRows{}
		}
		rows[company][table] = of
	}
	must(t, answer.Err())
	return rows
}
