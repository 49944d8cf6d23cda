package main_test

import (
	"cmp"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/matryer/is"

	main "github.com/floatgate/ticketing/cmd/ticketing"
)

var writeMetrics = flag.Bool("write-metrics", false, "write the table of docs/metrics.md, and keep its last column")

// family is a metric as Prometheus reads it.
type family struct {
	kind, help string
	labels     map[string]map[string]bool // their values
}

// families reads the text format of Prometheus.
func families(text string) map[string]family {
	found := map[string]family{}
	sample := regexp.MustCompile(`^([a-z_]+)(?:\{(.*)\})? `)
	label := regexp.MustCompile(`([a-z_]+)="([^"]*)"`)
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if rest, ok := strings.CutPrefix(line, "# HELP "); ok {
			name, help, _ := strings.Cut(rest, " ")
			found[name] = family{help: help, labels: map[string]map[string]bool{}}
			continue
		}
		if rest, ok := strings.CutPrefix(line, "# TYPE "); ok {
			name, kind, _ := strings.Cut(rest, " ")
			about := found[name]
			about.kind = kind
			found[name] = about
			continue
		}
		parts := sample.FindStringSubmatch(line)
		name := parts[1]
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			if base := strings.TrimSuffix(name, suffix); found[base].kind == "histogram" || found[base].kind == "summary" {
				name = base
			}
		}
		for _, pair := range label.FindAllStringSubmatch(parts[2], -1) {
			values := found[name].labels[pair[1]]
			if values == nil {
				values = map[string]bool{}
				found[name].labels[pair[1]] = values
			}
			values[pair[2]] = true
		}
	}
	return found
}

// freeLabels are the labels whose values come with the requests, and what they are.
func freeLabels() map[string]string {
	return map[string]string{
		"method": "of HTTP", "route": "as the contract or the console writes it, such as `/events/:eventId`; empty for none",
		"status": "of HTTP", "code": "of the error, empty for a success", "class": "`2xx`, `3xx`, `4xx`, `5xx`",
		"statement": "a method of the store, or `begin`, `write`, `commit`, `rollback`",
		"version":   "of the program, or of Go", "commit": "of the program", "go": "version", "quantile": "from 0 to 1",
	}
}

func unitOf(name string) string {
	for _, unit := range []string{"seconds", "bytes", "kobo", "ratio", "percent"} {
		if slices.Contains(strings.Split(name, "_"), unit) {
			return unit
		}
	}
	return ""
}

// metricsTable returns a table of docs/metrics.md: of the service's own metrics, or of the others. worry holds the last
// column.
func metricsTable(all map[string]family, worry map[string]string, ours bool) string {
	var table strings.Builder
	table.WriteString("| metric | type | labels | unit | meaning | when to worry |\n|---|---|---|---|---|---|\n")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if strings.HasPrefix(name, "ticketing_") != ours {
			continue
		}
		about := all[name]
		var labels []string
		for _, label := range slices.Sorted(maps.Keys(about.labels)) {
			if label == "le" {
				continue
			}
			values := freeLabels()[label]
			if values == "" {
				values = "`" + strings.Join(slices.Sorted(maps.Keys(about.labels[label])), "`, `") + "`"
			}
			labels = append(labels, "`"+label+"`: "+values)
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s | %s | %s |\n", name, about.kind, strings.Join(labels, "; "), unitOf(name),
			strings.TrimSpace(about.help), worry[name])
	}
	return table.String()
}

// TestMetricsAreDocumented checks that docs/metrics.md has each metric of a server as the registry describes it, and
// when to worry about each of the service's own. With -write-metrics it writes the tables, except for that column.
func TestMetricsAreDocumented(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	text, described, err := main.AllMetrics(t.Context(), t.TempDir())
	is.NoErr(err)
	all := families(text)
	for _, name := range described {
		if _, ok := all[name]; !ok {
			t.Errorf("AllMetrics has no sample of %s", name)
		}
	}
	const path = "../../docs/metrics.md"
	document, err := os.ReadFile(path)
	is.NoErr(err)
	worry := map[string]string{}
	for line := range strings.Lines(string(document)) {
		if cells := strings.Split(line, " | "); len(cells) == 6 {
			name := strings.Trim(strings.TrimPrefix(cells[0], "|"), " `")
			worry[name] = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(cells[5]), "|"))
		}
	}
	for name := range all {
		if strings.HasPrefix(name, "ticketing_") && len(worry[name]) < 2 {
			t.Errorf("docs/metrics.md does not say when to worry about %s", name)
		}
	}
	made := string(document)
	for mark, ours := range map[string]bool{"<!-- service -->": true, "<!-- process -->": false} {
		before, rest, found := strings.Cut(made, mark+"\n")
		is.True(found)
		_, after, _ := strings.Cut(rest, "\n\n")
		made = before + mark + "\n" + metricsTable(all, worry, ours) + cmp.Or("\n"+after, "")
	}
	made = strings.TrimRight(made, "\n") + "\n"
	if *writeMetrics {
		is.NoErr(os.WriteFile(path, []byte(made), 0o644))
		return
	}
	if made != string(document) {
		t.Error("docs/metrics.md is not what the registry says: go test ./cmd/ticketing -run TestMetricsAreDocumented " +
			"-write-metrics")
	}
}
