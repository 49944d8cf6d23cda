package store_test

import (
	"context"
	"regexp"
	"slices"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/race"
	"github.com/floatgate/ticketing/internal/search"
	"github.com/floatgate/ticketing/store/storetest"
)

// TestStore checks that the store keeps every promise of the contract.
func TestStore(t *testing.T) {
	t.Parallel()
	whole(t, func(t *testing.T) driver.Store { t.Helper(); return isOpen(t, nil) })
}

// whole runs the whole conformance suite; under the race detector it runs only the checks about concurrency.
func whole(t *testing.T, open func(t *testing.T) driver.Store) {
	t.Helper()
	if race.Enabled {
		variant(t, open)
		return
	}
	storetest.Run(t, open)
}

// variant runs the checks that may differ over another way into a database, for which another test runs the whole
// suite.
func variant(t *testing.T, open func(t *testing.T) driver.Store) {
	t.Helper()
	for _, check := range checksOfVariant() {
		t.Run(check.Name, func(t *testing.T) {
			t.Parallel()
			if search.Over() {
				return
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			is.New(t).NoErr(check.Run(ctx, open(t)))
		})
	}
}

// checksOfVariant returns the checks about transactions and concurrency: the reads and writes of a single caller take
// the same way through the code. It returns all checks if tests search everywhere.
func checksOfVariant() []storetest.Check {
	if search.Everywhere() {
		return search.Every(1, 0, storetest.Checks())
	}
	beside := regexp.MustCompile("^(transaction|ending|isolation|claims|gates?|stock)/")
	return slices.DeleteFunc(storetest.Checks(), func(check storetest.Check) bool {
		return !beside.MatchString(check.Name)
	})
}
