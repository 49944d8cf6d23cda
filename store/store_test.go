package store_test

import (
	"context"
	"regexp"
	"slices"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/race"
	"github.com/floatgate/ticketing/internal/search"
	"github.com/floatgate/ticketing/store/storetest"
)

// The store keeps every promise of the contract.
func TestStore(t *testing.T) {
	t.Parallel()
	whole(t, func(t *testing.T) ticketing.Store { t.Helper(); return open(t, nil) })
}

// whole runs all that a store promises, and under the race detector what is done beside others.
func whole(t *testing.T, open func(t *testing.T) ticketing.Store) {
	t.Helper()
	if race.Enabled {
		variant(t, open)
		return
	}
	storetest.Run(t, open)
}

// variant runs over another way into a database, that another test has gone through whole, what may differ there.
func variant(t *testing.T, open func(t *testing.T) ticketing.Store) {
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

// checksOfVariant are those about transactions and whoever is beside them: what a single caller reads and writes takes
// the same way through the code. They are all where tests search everywhere.
func checksOfVariant() []storetest.Check {
	if search.Everywhere() {
		return search.Every(1, 0, storetest.Checks())
	}
	beside := regexp.MustCompile("^(transaction|ending|isolation|claims|gates?|stock)/")
	return slices.DeleteFunc(storetest.Checks(), func(check storetest.Check) bool {
		return !beside.MatchString(check.Name)
	})
}
