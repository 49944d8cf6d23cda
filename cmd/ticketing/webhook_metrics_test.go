package main_test

import (
	"slices"
	"testing"

	"github.com/matryer/is"

	main "github.com/floatgate/ticketing/cmd/ticketing"
)

// Whatever status a receiver sends, the attempt is counted under one of the documented labels.
func TestOutcomesAreFew(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	for status := -1000; status <= 1000; status++ {
		is.True(slices.Contains(main.Outcomes(), main.OutcomeOf(status, nil)))
	}
	is.Equal(main.OutcomeOf(204, nil), "2xx")
	is.Equal(main.OutcomeOf(503, nil), "5xx")
}
