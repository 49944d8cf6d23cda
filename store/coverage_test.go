package store_test

import (
	"context"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/store"
)

// TestPlansCoverTheStore checks that the plan tests run every statement of the store: a new method of a transaction
// fails here until they call it. SQLite reports each statement by name as it runs; the same calls run on PostgreSQL.
func TestPlansCoverTheStore(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	var mu sync.Mutex
	asked := map[string]bool{
		"Begin": true, // It takes locks and runs no query.
	}
	s := isOpen(t, &store.Config{OnStatement: func(_ context.Context, statement store.Statement) {
		mu.Lock()
		defer mu.Unlock()
		asked[statement.Name] = true
	}})
	furnish(t, s, newBatch(1, 0))
	settle(t, s, 100)
	askAll(t, s)
	askMany(t, s)
	askRest(t, s)
	var missing []string
	for _, of := range []reflect.Type{reflect.TypeFor[driver.Tx](), reflect.TypeFor[driver.WaitingReader]()} {
		for method := range of.Methods() {
			if !asked[method.Name] {
				missing = append(missing, method.Name)
			}
		}
	}
	slices.Sort(missing)
	is.Equal(missing, []string(nil))
}
