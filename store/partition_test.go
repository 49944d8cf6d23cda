package store_test

import (
	"errors"
	"slices"
	"strconv"
	"testing"

	"github.com/matryer/is"
	"github.com/uptrace/bun/driver/pgdriver"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/internal/testdb"
)

// Every table of a company can be sharded by it: in the partitioned variant all of them are, in eight parts, and what
// storage they ask for is kept.
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
	is.Equal(texts(t, db, `SELECT DISTINCT relname || ' ' || reloptions::TEXT FROM pg_class
		WHERE relname LIKE 'ticketing%' AND reloptions IS NOT NULL ORDER BY 1`), []string{
		"ticketing_admissions {fillfactor=90}", "ticketing_inventory_batches {fillfactor=50}",
		"ticketing_wallets {fillfactor=50}",
	})
}

// A key without the company makes the partitioned variant fail, so that no migration brings one in.
func TestPartitionedRefusesKeyWithoutCompany(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	db := postgres(t, testdb.Partition)
	for _, key := range []string{"PRIMARY KEY (id)", "UNIQUE (id)"} {
		_, err := db.ExecContext(t.Context(), testdb.Partition("CREATE TABLE ticketing_keyed (\n"+
			"\tcompany_id UUID NOT NULL,\n\tid UUID NOT NULL,\n\t"+key+"\n);\n"))
		var refused pgdriver.Error
		is.True(errors.As(err, &refused))
		is.Equal(refused.Field('C'), "0A000") // unique constraint on partitioned table must include all partitioning columns
	}
}

// The store keeps every promise of the contract on tables that are partitioned by company, too.
func TestPartitionedStore(t *testing.T) {
	t.Parallel()
	// Its keys are others.
	whole(t, func(t *testing.T) ticketing.Store { t.Helper(); return testdb.Partitioned(t) })
}
