package store_test

import (
	"testing"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/store/storetest"
)

// The store keeps every promise of the contract.
func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) ticketing.Store { t.Helper(); return open(t, nil) })
}
