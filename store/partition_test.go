package store_test

import (
	"errors"
	"slices"
	"strconv"
	"testing"

	"github.com/matryer/is"
	"github.com/uptrace/bun/driver/pgdriver"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/testdb"
)

// TestPartitioned checks that every table of a company can be sharded by it: in the partitioned variant all of them
// are, in eight partitions, and they keep their storage parameters.
func TestPartitioned(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	db := postgres(t, testdb.Partition)
	is.Equal(texts(t, db, `SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
		ORDER BY relname`), slices.Sorted(slices.Values(testdb.Shared())))
	whole := texts(t, db, `SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'p'`)
	is.True(len(whole) > 0)
	for _, table := range whole {
		is.Equal(texts(t, db, "SELECT count(*)::TEXT FROM pg_inherits WHERE inhparent = '"+table+"'::regclass"),
			[]string{strconv.Itoa(testdb.Partitions)})
	}
	const early = " {autovacuum_vacuum_scale_factor=0.01,autovacuum_vacuum_threshold=1000}"
	is.Equal(texts(t, db, `SELECT DISTINCT relname || ' ' || reloptions::TEXT FROM pg_class
		WHERE relname LIKE 'ticketing%' AND reloptions IS NOT NULL ORDER BY 1`), []string{
		"ticketing_admissions {fillfactor=90}", "ticketing_inventory_batches {fillfactor=50}",
		"ticketing_notifications" + early, "ticketing_outbox" + early, "ticketing_wallets {fillfactor=50}",
		"ticketing_webhook_deliveries" + early,
	})
}

// TestPartitionedRefusesKeyWithoutCompany checks that a key without the company makes the partitioned variant fail, so
// that no migration introduces one.
func TestPartitionedRefusesKeyWithoutCompany(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	db := postgres(t, testdb.Partition)
	for _, key := range []string{"PRIMARY KEY (id)", "UNIQUE (id)"} {
		_, err := db.ExecContext(t.Context(), testdb.Partition("CREATE TABLE ticketing_keyed (\n"+
			"\tcompany_id UUID NOT NULL,\n\tid UUID NOT NULL,\n\t"+key+"\n);\n"))
		var refused pgdriver.Error
		is.True(errors.As(err, &refused))
		// The message is: unique constraint on partitioned table must include all partitioning columns
		is.Equal(refused.Field('C'), "0A000")
	}
}

// TestPartitionedStore checks that the store keeps every promise of the contract on tables that are partitioned by
// company.
func TestPartitionedStore(t *testing.T) {
	t.Parallel()
	// The whole suite, since its keys are different ones.
	whole(t, func(t *testing.T) driver.Store { t.Helper(); return testdb.Partitioned(t) })
}
