package main_test

import (
	"strings"
	"testing"

	"github.com/matryer/is"

	hosttx "github.com/floatgate/ticketing/examples/hosttx"
	"github.com/floatgate/ticketing/internal/testdb"
)

// The trip that is kept has its order, and of the one that is taken back nothing is left.
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
			is.Equal(told.String(), `kept: Ada's friends, CONFIRMED for 10000.00
taken back: The whole school, the bus is full
trips: 1, orders: 1, tickets left: 98
`)
		})
	}
}
