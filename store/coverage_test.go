package store_test

import (
	"context"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/matryer/is"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/store"
)

// The tests of plans ask every statement of the store: a new method of a transaction fails here until they ask it, too.
// SQLite reports each statement under its name where it runs; PostgreSQL is asked the same.
func TestPlansCoverTheStore(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	var mu sync.Mutex
	asked := map[string]bool{
		"Enter": true, // It takes locks and asks nothing.
	}
	s := open(t, &store.Config{OnStatement: func(_ context.Context, statement store.Statement) {
		mu.Lock()
		defer mu.Unlock()
		asked[statement.Name] = true
	}})
	furnish(t, s, batchRecord(1, 0))
	settle(t, s, 100)
	askAll(t, s)
	askMany(t, s)
	askRest(t, s)
	var missing []string
	for method := range reflect.TypeFor[ticketing.Tx]().Methods() {
		if !asked[method.Name] {
			missing = append(missing, method.Name)
		}
	}
	slices.Sort(missing)
	is.Equal(missing, []string(nil))
}
