package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/floatgate/ticketing/driver"
)

// patience bounds one check. A check reaches it only if a store makes a caller wait for ever.
const patience = 5 * time.Minute

// Run runs all checks in parallel. Each check calls open for an empty store of its own, and fails t if the store breaks
// the promise.
func Run(t *testing.T, open func(t *testing.T) driver.Store) {
	t.Helper()
	for _, check := range Checks() {
		t.Run(check.Name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			if err := check.Run(ctx, open(t)); err != nil {
				t.Error(err)
			}
		})
	}
}
