package memory_test

import (
	"testing"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/store/memory"
	"github.com/floatgate/ticketing/store/storetest"
)

// The store keeps every promise of the contract.
func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) ticketing.Store { return memory.New() })
}
