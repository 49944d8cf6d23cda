package main_test

import (
	"strings"
	"testing"

	"github.com/matryer/is"

	hosttx "github.com/floatgate/ticketing/examples/hosttx"
	"github.com/floatgate/ticketing/internal/testdb"
)

// A committed trip has its order, also when it is booked twice. Nothing is left of a trip that is rolled back.
func TestTripsAndTheirTicketsAreOne(t *testing.T) {
	t.Parallel()
	for name, database := range map[string]func(t *testing.T) string{
		"sqlite":   func(*testing.T) string { return "" },
		"postgres": func(t *testing.T) string { t.Helper(); return testdb.FreshDSN(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			is := is.New(t)
			settings := map[string]string{"APP_DATABASE": database(t)}
			var told strings.Builder
			is.NoErr(hosttx.Run(t.Context(), func(name string) string { return settings[name] }, &told))
			lines := strings.Split(told.String(), "\n")
			is.Equal(len(lines), 5)
			is.True(strings.HasPrefix(lines[0], "kept: Ada's friends, CONFIRMED for 10000.00, order "))
			is.Equal(lines[1], lines[0]) // Booked again, it is the same order.
			is.Equal(lines[2], "taken back: The whole school, the bus is full")
			is.Equal(lines[3], "trips: 1, orders: 1, tickets left: 98")
			is.Equal(lines[4], "")
		})
	}
}
