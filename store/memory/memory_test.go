package memory_test

import (
	"testing"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/store/memory"
	"github.com/floatgate/ticketing/store/storetest"
)

// TestStore runs the conformance suite on the store in memory.
func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) driver.Store { return memory.New() })
}
