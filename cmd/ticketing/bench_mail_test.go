package main_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/matryer/is"
)

// Mails can be measured on every store: how long one takes to render, their throughput and their latency. Every sale
// has its mail once, and the bench leaves nothing in the database.
func TestBenchMails(t *testing.T) {
	t.Parallel()
	for _, place := range everyBenchPlace() {
		t.Run(place.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			sh, left := place.open(t)
			report := sh.object(short("--op", "mail", "--companies", "2", "--runs", "2")...)
			hasMembers(t, report, "op", "seconds", "rate", "renderMs", "mailsPerSecond", "p50Ms", "p95Ms", "p99Ms", "maxMs")
			is.Equal(report["store"], place.name)
			is.Equal(report["rate"], 50.0)
			is.Equal(report["mailConnections"], 4.0)
			is.Equal(len(report["runs"].([]any)), 2)
			is.True(report["renderMs"].(float64) > 0)
			is.True(report["mailsPerSecond"].(float64) > 0)
			is.True(report["p95Ms"].(float64) > 0)
			verified := report["verified"].(map[string]any)
			is.Equal(verified["ok"], true)
			for _, count := range []string{"notifications", "sent", "arrived", "accepted"} {
				is.Equal(verified[count], verified["expected"])
			}
			books := report["books"].(map[string]any)
			is.Equal(books["ok"], true)
			is.Equal(verified["expected"], books["orders"].(float64)-20) // What was there before has no mail.
			is.Equal(left(), nil)
		})
	}
}

// Checkouts can be measured beside the background work of a server without mails, with mails, and while the mail server
// is away, in one run. Every sale with a sender has a notification.
func TestBenchBesideMails(t *testing.T) {
	t.Parallel()
	for _, place := range everyBenchPlace() {
		t.Run(place.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			sh, left := place.open(t)
			report := sh.object(short("--background", "--mails", "--mail-queue", "50", "--runs", "2")...)
			is.Equal(report["mailRate"], 50.0)
			is.Equal(report["mailQueue"], 50.0)
			for _, side := range []string{"without", "sending", "away"} {
				measured := report[side].(map[string]any)
				hasMembers(t, measured, "opsPerSecond", "p50Ms", "ratio", "dispatchBehindMs")
				is.True(measured["calls"].(float64) > 0)
				is.Equal(measured["errors"], map[string]any{})
				is.True(measured["ratio"].(float64) > 0)
			}
			is.Equal(report["without"].(map[string]any)["ratio"], 1.0)
			verified := report["verified"].(map[string]any)
			is.Equal(verified["ok"], true)
			is.Equal(verified["notifications"], verified["expected"])
			is.True(verified["expected"].(float64) > 50)
			is.Equal(report["books"].(map[string]any)["ok"], true)
			is.Equal(left(), nil)
		})
	}
}

// Without --json, the benches of mails print tables that fit a terminal of 80 columns.
func TestBenchOfMailsForAPerson(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("-short leaves benches that people read out")
	}
	is := is.New(t)
	sh, _ := benchPlaces()[0].open(t)
	for _, test := range []struct {
		args  string
		wants []string
	}{
		{"--op mail --runs 2", []string{"RENDER 50 MS", "MAILS/S", "run 1", "median", "sales has its mail, once"}},
		{"--background --mails --mail-queue 5", []string{"BEHIND MS", "without mails", "mail server away", "in order: "}},
	} {
		did := sh.run(short(strings.Fields(test.args)...)...)
		is.Equal(did.status, 0)
		for _, want := range test.wants {
			is.True(strings.Contains(did.stdout, want))
		}
		for line := range strings.Lines(did.stdout) {
			if utf8.RuneCountInString(strings.TrimSpace(line)) > 80 {
				t.Errorf("more than 80 columns: %s", line)
			}
		}
	}
}
