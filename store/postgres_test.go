package store_test

import (
	"testing"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/testdb"
)

// TestPostgresStore checks that the store keeps every promise of the contract on PostgreSQL.
func TestPostgresStore(t *testing.T) {
	t.Parallel()
	whole(t, func(t *testing.T) driver.Store { t.Helper(); return testdb.Postgres(t) })
}
