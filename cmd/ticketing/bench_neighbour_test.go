package main_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/matryer/is"
)

// Each flood is measured at each number of attacking connections, and compared with the quiet company alone, whose
// calls are checkouts or reads. The one JSON value contains both, and their ratios. The books are verified, and the
// bench leaves nothing in the database.
func TestBenchNeighbour(t *testing.T) {
	t.Parallel()
	for i, test := range []struct{ flood, op string }{
		{"read", "checkout"},
		{"patch", "checkout"},
		{"checkout", "orders"},
		{"unknown-keys", "checkout"},
		{"order", "checkout"},
		{"quote", "read"},
	} {
		t.Run(test.flood, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			sh, left := everyBenchPlace()[i%2].open(t) // The two places alternate.
			report := sh.object(short("--neighbour", test.flood, "--op", test.op)...)
			is.Equal(report["neighbour"], test.flood)
			is.Equal(report["op"], test.op)
			levels := report["levels"].([]any)
			for j, attackers := range []float64{16, 64, 400} {
				level := levels[j].(map[string]any)
				is.Equal(level["attackers"], attackers)
				hasMembers(t, level, "p50Ratio", "p99Ratio", "refused")
				for _, side := range []string{"quiet", "attacked"} {
					is.True(level[side].(map[string]any)["calls"].(float64) > 0)
				}
				flooded := level["flood"].(map[string]any)
				hasMembers(t, flooded, "answeredPerSecond", "refusedPerSecond")
				is.Equal(flooded["failedPerSecond"], 0.0)
			}
			is.Equal(report["books"].(map[string]any)["ok"], true)
			is.Equal(left(), nil)
		})
	}
}

// Without --json, the bench prints a table that fits a terminal of 80 columns, with the medians of the runs.
func TestBenchNeighbourForAPerson(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves benches that people read out")
	}
	is := is.New(t)
	sh, _ := benchPlaces()[0].open(t)
	did := sh.run(short("--neighbour", "unknown-keys", "--runs", "2")...)
	is.Equal(did.status, 0)
	is.True(strings.Contains(did.stdout, "\nFLOOD  P50 MS  ATTACKED  RATIO"))
	is.True(strings.Contains(did.stdout, "\n400 "))
	is.True(strings.Contains(did.stdout, "books  in order: "))
	for line := range strings.Lines(did.stdout) {
		is.True(utf8.RuneCountInString(strings.TrimSpace(line)) <= 80)
	}
}

// Options that cannot be combined with --neighbour are refused.
func TestBenchNeighbourRefuses(t *testing.T) {
	t.Parallel()
	for _, args := range []string{
		"--neighbour noise", "--neighbour read --op validate", "--neighbour read --op pages",
		"--neighbour read --companies 2",
		"--neighbour patch --processes 2", "--neighbour patch --ceiling", "--neighbour read --stale",
	} {
		t.Run(args, func(t *testing.T) {
			t.Parallel()
			sh, _ := benchPlaces()[0].open(t)
			is.New(t).Equal(sh.run(short(strings.Fields(args)...)...).status, 1)
		})
	}
}
