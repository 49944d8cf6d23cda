package store_test

import (
	"testing"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/testdb"
)

// The store keeps every promise of the contract on PostgreSQL, too.
func TestPostgresStore(t *testing.T) {
	t.Parallel()
	whole(t, func(t *testing.T) ticketing.Store { t.Helper(); return testdb.Postgres(t) })
}
