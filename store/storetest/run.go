package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/floatgate/ticketing/driver"
)

// patience bounds one check. It is reached only if a store makes a caller wait for ever.
const patience = 5 * time.Minute

// Run runs all checks in parallel, each on an empty store of its own.
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
