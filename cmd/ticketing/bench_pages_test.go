package main_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/matryer/is"
)

// The pages of the console can be measured on every store, with sales beside them and without. Every page that
// docs/console.md lists has figures, and the bench leaves nothing in the database.
func TestBenchPages(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("../../docs/console.md")
	must(t, err)
	var pages []string
	for _, found := range regexp.MustCompile("(?m)^\\| `GET /api/v2([^`]*)`").FindAllSubmatch(document, -1) {
		pages = append(pages, string(found[1]))
	}
	for _, place := range everyBenchPlace() {
		t.Run(place.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			sh, left := place.open(t)
			report := sh.object(short("--op", "pages", "--rate", "400", "--sales", "50", "--background", "--runs", "2")...)
			hasMembers(t, report, "seconds", "rate", "sales", "p50Ms", "p95Ms", "p99Ms", "maxMs", "salesPerSecond", "deliveries")
			is.Equal(report["op"], "pages")
			is.Equal(report["store"], place.name)
			is.Equal(report["rate"], 400.0)
			is.Equal(report["deliveries"], 200.0) // two for each of the fewest orders
			is.Equal(len(report["runs"].([]any)), 2)
			is.True(report["p95Ms"].(float64) > 0)
			is.True(report["salesPerSecond"].(float64) > 0)
			measured := map[string]bool{}
			for _, page := range report["pages"].([]any) {
				page := page.(map[string]any)
				measured[page["page"].(string)] = true
				is.True(page["requests"].(float64) >= 2) // once a run
				is.True(page["p95Ms"].(float64) > 0)
				is.True(page["bytes"].(float64) > 0)
				is.Equal(page["errors"], map[string]any{})
			}
			export := report["export"].(map[string]any)
			is.True(export["orders"].(float64) >= 100) // those from before, and the sales beside the pages
			hasMembers(t, export, "heapGrowthBytes", "inUseGrowthBytes")
			is.True(export["seconds"].(float64) > 0)
			is.True(export["bytes"].(float64) > 100*export["orders"].(float64))
			is.True(len(pages) > 30)
			for _, page := range pages {
				if !measured[page] {
					t.Errorf("%s is not measured", page)
				}
			}
			is.Equal(report["books"].(map[string]any)["ok"], true)
			is.Equal(left(), nil)
		})
	}
}

// Without --json, the bench of the pages prints a table that fits a terminal of 80 columns.
func TestBenchOfPagesForAPerson(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves benches that people read out")
	}
	is := is.New(t)
	sh, _ := benchPlaces()[0].open(t)
	did := sh.run(short("--op", "pages", "--rate", "400", "--sales", "50")...)
	is.Equal(did.status, 0)
	for _, want := range []string{
		"beside 50 checkouts/s", "REQUESTS", "/business/*/webhooks/deliveries/*", "all pages", "checkouts a second",
		"in order: ",
	} {
		is.True(strings.Contains(did.stdout, want))
	}
	for line := range strings.Lines(did.stdout) {
		if utf8.RuneCountInString(strings.TrimSpace(line)) > 80 {
			t.Errorf("more than 80 columns: %s", line)
		}
	}
	for _, flags := range [][]string{
		{"--op", "pages", "--http"},
		{"--sales", "5"},
		{"--op", "pages", "--sales", "10001"},
		{"--op", "pages", "--stale"},
		{"--rush"},
		{"--rush", "--op", "mail"},
		{"--rush", "--op", "pages", "--sales", "5"},
		{"--rush", "--op", "pages", "--http"},
		{"--rush", "--op", "pages", "--background", "--mails"},
	} {
		code, _ := sh.refusal(short(flags...)...)
		is.Equal(code, "INVALID_REQUEST")
	}
}

// What the pages cost a company that sells as fast as it can is measured on every store: checkouts without pages and
// beside them, in one run. The bench leaves nothing in the database.
func TestBenchBesidePages(t *testing.T) {
	t.Parallel()
	for _, place := range everyBenchPlace() {
		t.Run(place.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			sh, left := place.open(t)
			report := sh.object(short("--op", "pages", "--rush", "--rate", "200", "--background", "--runs", "2")...)
			hasMembers(t, report, "clients", "companies", "qty", "connections", "seconds", "events", "preload")
			is.Equal(report["store"], place.name)
			is.Equal(report["rate"], 200.0)
			is.Equal(report["background"], true)
			is.Equal(len(report["runs"].([]any)), 2)
			calls, requests := 0.0, 0.0
			for _, run := range append(report["runs"].([]any), report) {
				for _, side := range []string{"without", "beside"} {
					measured := run.(map[string]any)[side].(map[string]any)
					hasMembers(t, measured, "opsPerSecond", "p50Ms", "p95Ms", "p99Ms", "maxMs", "ratio")
					is.True(measured["ratio"].(float64) > 0)
					is.Equal(measured["errors"], map[string]any{})
					is.True(measured["calls"].(float64) > 0)
				}
				is.Equal(run.(map[string]any)["without"].(map[string]any)["ratio"], 1.0)
				pages := run.(map[string]any)["pages"].(map[string]any)
				is.True(pages["requests"].(float64) > 0)
				for _, latency := range []string{"p50Ms", "p95Ms", "maxMs"} {
					is.True(pages[latency].(float64) > 0)
				}
			}
			for _, run := range report["runs"].([]any) {
				run := run.(map[string]any)
				requests += run["pages"].(map[string]any)["requests"].(float64)
				for _, side := range []string{"without", "beside"} {
					calls += run[side].(map[string]any)["calls"].(float64)
				}
			}
			is.Equal(report["pages"].(map[string]any)["requests"], requests)
			is.Equal(report["pageErrors"], map[string]any{})
			books := report["books"].(map[string]any)
			is.Equal(books["ok"], true)
			is.True(books["acknowledged"].(float64) > 100+calls) // also those from before and of the warm-up
			is.Equal(left(), nil)
		})
	}
}

// Without --json, the bench of checkouts beside pages prints a table that fits a terminal of 80 columns.
func TestBenchBesidePagesForAPerson(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves benches that people read out")
	}
	is := is.New(t)
	sh, _ := benchPlaces()[0].open(t)
	did := sh.run(short("--op", "pages", "--rush", "--background", "--runs", "2")...)
	is.Equal(did.status, 0)
	for _, want := range []string{
		"of 10 pages/s", "background work", "RATIO", "without pages", "beside pages", " answered: p50 ", "in order: ",
	} {
		is.True(strings.Contains(did.stdout, want))
	}
	for line := range strings.Lines(did.stdout) {
		if utf8.RuneCountInString(strings.TrimSpace(line)) > 80 {
			t.Errorf("more than 80 columns: %s", line)
		}
	}
}
