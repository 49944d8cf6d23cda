package main_test

import (
	"strings"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/internal/race"
)

// Two companies are compared for each operation. The report has their ratio, and the bench leaves nothing in the
// database.
func TestBenchStale(t *testing.T) {
	t.Parallel()
	race.Leave(t, "what one bench does after the other")
	for _, place := range benchPlaces() {
		t.Run(place.name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			sh, left := place.open(t)
			if place.name == "memory" {
				code, message := sh.refusal("bench", "--stale")
				is.Equal(code, "INVALID_REQUEST")
				is.True(strings.Contains(message, "name a database"))
				return
			}
			before := left()
			all := []string{"--op checkout", "--op validate --http", "--op order --runs 2", "--op orders", "--op dispatch"}
			if place.name == "postgres" {
				all = all[:1] // Each makes a schema and two services. The others ask the same of a store.
			}
			for _, args := range all {
				report := sh.object(short(append(strings.Fields(args), "--stale")...)...)
				hasMembers(t, report, "op", "level", "store", "clients", "qty", "connections", "seconds", "preload",
					"ratio", "runs", "books")
				for _, side := range []string{"known", "newcomer"} {
					measured := report[side].(map[string]any)
					is.True(measured["calls"].(float64) > 0)
					is.Equal(measured["errors"], map[string]any{})
				}
				is.True(report["ratio"].(float64) > 0)
				is.Equal(report["books"].(map[string]any)["ok"], true)
			}
			is.Equal(left(), before)
		})
	}
}
