package store_test

import (
	"context"
	"regexp"
	"slices"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/race"
	"github.com/floatgate/ticketing/store/storetest"
)

// The store keeps every promise of the contract.
func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) ticketing.Store { t.Helper(); return open(t, nil) })
}

// variant runs the suite over another way into a database that another test has gone through whole.
func variant(t *testing.T, open func(t *testing.T) ticketing.Store) {
	t.Helper()
	if !race.Enabled {
		storetest.Run(t, open)
		return
	}
	for _, check := range checksOfVariant() {
		t.Run(check.Name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			is.New(t).NoErr(check.Run(ctx, open(t)))
		})
	}
}

// checksOfVariant are all, and under the race detector those about transactions and whoever is beside them: what a
// single caller reads and writes takes the same way through the code.
func checksOfVariant() []storetest.Check {
	if !race.Enabled {
		return storetest.Checks()
	}
	beside := regexp.MustCompile("^(transaction|ending|isolation|claims|gates?|stock)/")
	return slices.DeleteFunc(storetest.Checks(), func(check storetest.Check) bool {
		return !beside.MatchString(check.Name)
	})
}
