package store_test

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/matryer/is"
	"github.com/uptrace/bun/driver/pgdriver"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/pgtest"
	"github.com/floatgate/ticketing/internal/testdb"
	"github.com/floatgate/ticketing/store"
)

// TestPlacementsCoverTheSchema checks that every table of the schema is placed once on a cluster: tables of companies
// by company, those of users by user, the others as reference tables.
func TestPlacementsCoverTheSchema(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	db := postgres(t, func(migration string) string { return migration })
	tables := texts(t, db, `SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'
		ORDER BY relname`)
	placed := store.Placements()
	is.Equal(slices.Sorted(maps.Keys(placed)), tables)
	is.Equal(len(store.PlacementOrder()), len(tables))
	var references []string
	for table, column := range placed {
		if column == "" {
			references = append(references, table)
		}
	}
	slices.Sort(references)
	is.Equal(references, slices.Sorted(slices.Values(testdb.Shared()))) // As in the partitioned variant of the tests.
}

// TestDistributeNeedsTheExtension checks that a database without the extension is refused and left unchanged, and so is
// a file.
func TestDistributeNeedsTheExtension(t *testing.T) {
	t.Parallel()
	pgtest.NeedSingle(t)
	is := is.New(t)
	err := testdb.Postgres(t).Distribute(t.Context())
	is.True(errors.Is(err, store.ErrNotDistributable))
	is.True(strings.Contains(err.Error(), "CREATE EXTENSION citus"))
	is.True(errors.Is(isOpen(t, nil).Distribute(t.Context()), store.ErrNotDistributable))
}

// citusStandIn has the parts of the catalogue and the functions of Citus that the store uses, as Citus 13.2 declares
// them: pg_dist_partition in citus--8.0-1.sql and citus--10.2-5--11.0-1.sql, the two functions in citus--8.0-1.sql and
// udfs/create_distributed_table/10.1-1.sql. It has no shards, so the store asks no nodes. It refuses what Citus
// refuses: a key without the distribution column, a foreign key to a table that does not exist yet or is not colocated,
// triggers that were not allowed, a table that is distributed already, and changes that are not sequential.
const citusStandIn = `
SET allow_system_table_mods = on;
CREATE SCHEMA citus;
CREATE TYPE citus.distribution_type AS ENUM ('hash', 'range', 'append');
CREATE TABLE pg_catalog.pg_dist_partition (
	logicalrelid regclass NOT NULL,
	partmethod "char" NOT NULL,
	partkey text,
	colocationid integer DEFAULT 0 NOT NULL,
	repmodel "char" DEFAULT 'c' NOT NULL,
	autoconverted boolean DEFAULT false
);
CREATE UNIQUE INDEX pg_dist_partition_logical_relid_index ON pg_catalog.pg_dist_partition (logicalrelid);
CREATE INDEX pg_dist_partition_colocationid_index ON pg_catalog.pg_dist_partition (colocationid);
CREATE TABLE pg_catalog.pg_dist_shard (
	logicalrelid regclass NOT NULL,
	shardid bigint NOT NULL,
	shardstorage "char" NOT NULL,
	shardminvalue text,
	shardmaxvalue text
);
CREATE TABLE pg_catalog.pg_dist_placement (
	placementid bigint NOT NULL,
	shardid bigint NOT NULL,
	shardstate integer NOT NULL,
	shardlength bigint NOT NULL,
	groupid integer NOT NULL
);
CREATE TABLE pg_catalog.pg_dist_local_group (groupid integer NOT NULL PRIMARY KEY);
INSERT INTO pg_catalog.pg_dist_local_group VALUES (0);
CREATE TYPE pg_catalog.noderole AS ENUM ('primary', 'secondary', 'unavailable');
CREATE TABLE pg_catalog.pg_dist_node (
	nodeid integer NOT NULL PRIMARY KEY,
	groupid integer NOT NULL,
	nodename text NOT NULL,
	nodeport integer NOT NULL,
	noderack text NOT NULL DEFAULT 'default',
	hasmetadata boolean NOT NULL DEFAULT false,
	isactive boolean NOT NULL DEFAULT true,
	noderole noderole NOT NULL DEFAULT 'primary',
	nodecluster name NOT NULL DEFAULT 'default',
	metadatasynced boolean NOT NULL DEFAULT false,
	shouldhaveshards boolean NOT NULL DEFAULT true
);
CREATE TABLE calls (number serial, statement text);
CREATE FUNCTION check_table(spread regclass) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
	IF spread IN (SELECT logicalrelid FROM pg_dist_partition) THEN
		RAISE 'table "%" is already distributed', spread;
	END IF;
	IF current_setting('citus.multi_shard_modify_mode', true) IS DISTINCT FROM 'sequential' THEN
		RAISE 'parallel';
	END IF;
	IF EXISTS (SELECT FROM pg_trigger WHERE tgrelid = spread AND NOT tgisinternal)
			AND current_setting('citus.enable_unsafe_triggers', true) IS DISTINCT FROM 'on' THEN
		RAISE 'triggers are not supported on distributed tables';
	END IF;
	IF EXISTS (SELECT FROM pg_constraint WHERE conrelid = spread AND contype = 'f'
			AND confrelid NOT IN (SELECT logicalrelid FROM pg_dist_partition)) THEN
		RAISE 'a foreign key to a table that is not distributed';
	END IF;
END $$;
CREATE FUNCTION pg_catalog.create_reference_table(table_name regclass) RETURNS void LANGUAGE plpgsql STRICT AS $$ BEGIN
	PERFORM public.check_table(table_name);
	INSERT INTO pg_catalog.pg_dist_partition VALUES (table_name, 'n', NULL, 1, 't', false);
	INSERT INTO public.calls (statement) VALUES (format('reference %s', table_name));
END $$;
CREATE FUNCTION pg_catalog.create_distributed_table(table_name regclass, distribution_column text,
	distribution_type citus.distribution_type DEFAULT 'hash', colocate_with text DEFAULT 'default',
	shard_count int DEFAULT NULL
) RETURNS void LANGUAGE plpgsql AS $$ DECLARE place smallint; BEGIN
	PERFORM public.check_table(table_name);
	SELECT attnum INTO STRICT place FROM pg_attribute WHERE attrelid = table_name AND attname = distribution_column;
	IF EXISTS (SELECT FROM pg_index WHERE indrelid = table_name AND indisunique AND place <> ALL (indkey::smallint[])) THEN
		RAISE 'a key without the column';
	END IF;
	IF EXISTS (SELECT FROM pg_constraint WHERE conrelid = table_name AND contype = 'f' AND place <> ALL (conkey)) THEN
		RAISE 'a foreign key without the column';
	END IF;
	IF colocate_with <> 'none' AND colocate_with::regclass NOT IN (SELECT logicalrelid FROM pg_dist_partition) THEN
		RAISE 'colocated with a table that is not distributed';
	END IF;
	INSERT INTO pg_catalog.pg_dist_partition VALUES (table_name, 'h', '{VAR}', 2, 's', false);
	INSERT INTO public.calls (statement)
		VALUES (format('distributed %s by %s with %s', table_name, distribution_column, colocate_with));
END $$;
INSERT INTO pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
	VALUES (16000, 'citus', 10, 'pg_catalog'::regnamespace, false, '13.2-1');
`

// TestDistribute checks that Distribute distributes every table by statements that Citus accepts, in an order that its
// foreign keys allow. A second call does nothing, and a later migration distributes the tables it adds. The store
// detects the extension and confines groups to one company.
func TestDistribute(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	// The role of this server may register the extension by hand.
	dsn := pgtest.Start(t, "fsync=off").DSN("postgres")
	db := sql.OpenDB(pgdriver.NewConnector(pgdriver.WithDSN(dsn)))
	defer func() { is.NoErr(db.Close()) }()
	_, err := db.ExecContext(t.Context(), citusStandIn)
	is.NoErr(err)
	s := testdb.Open(t, dsn, nil)
	is.True(s.Grouping().ByCompany)
	is.True(errors.Is(s.Distribute(t.Context()), store.ErrNotMigrated))
	is.NoErr(s.Migrate(t.Context()))
	calls := func() []string { t.Helper(); return texts(t, db, "SELECT statement FROM calls ORDER BY number") }
	is.Equal(len(calls()), 0) // Nothing is distributed without being asked for.
	planned := placed(t, s)
	is.Equal(len(calls()), 0) // Nor by a look at what would be.

	is.NoErr(s.Distribute(t.Context()))
	want := []string{
		"reference ticketing_migrations",
		"reference ticketing_secrets",
		"reference ticketing_categories",
		"reference ticketing_api_key_directory",
		"reference ticketing_users",
		"reference ticketing_mail_senders",
		"reference ticketing_staff",
		"distributed ticketing_companies by id with none",
		"distributed ticketing_brandings by company_id with ticketing_companies",
		"distributed ticketing_commission_rates by company_id with ticketing_companies",
		"distributed ticketing_api_keys by company_id with ticketing_companies",
		"distributed ticketing_events by company_id with ticketing_companies",
		"distributed ticketing_inventory_tiers by company_id with ticketing_companies",
		"distributed ticketing_inventory_batches by company_id with ticketing_companies",
		"distributed ticketing_orders by company_id with ticketing_companies",
		"distributed ticketing_admissions by company_id with ticketing_companies",
		"distributed ticketing_buyers by company_id with ticketing_companies",
		"distributed ticketing_idempotency_keys by company_id with ticketing_companies",
		"distributed ticketing_wallets by company_id with ticketing_companies",
		"distributed ticketing_ledger_entries by company_id with ticketing_companies",
		"distributed ticketing_float_credits by company_id with ticketing_companies",
		"distributed ticketing_outbox by company_id with ticketing_companies",
		"distributed ticketing_audit_entries by company_id with ticketing_companies",
		"distributed ticketing_members by company_id with ticketing_companies",
		"distributed ticketing_verification_cases by company_id with ticketing_companies",
		"distributed ticketing_bank_accounts by company_id with ticketing_companies",
		"distributed ticketing_settlements by company_id with ticketing_companies",
		"distributed ticketing_order_endings by company_id with ticketing_companies",
		"distributed ticketing_webhook_endpoints by company_id with ticketing_companies",
		"distributed ticketing_webhook_secrets by company_id with ticketing_companies",
		"distributed ticketing_webhook_messages by company_id with ticketing_companies",
		"distributed ticketing_webhook_deliveries by company_id with ticketing_companies",
		"distributed ticketing_notifications by company_id with ticketing_companies",
		"distributed ticketing_notification_prunes by company_id with ticketing_companies",
		"distributed ticketing_book_checks by company_id with ticketing_companies",
		"distributed ticketing_sales_sums by company_id with ticketing_companies",
		"distributed ticketing_sales_progress by company_id with ticketing_companies",
		"distributed ticketing_buyer_orders by company_id with ticketing_companies",
		"distributed ticketing_sessions by user_id with ticketing_companies",
		"distributed ticketing_sign_in_tokens by user_id with ticketing_companies",
		"distributed ticketing_passkeys by user_id with ticketing_companies",
	}
	is.Equal(calls(), want)
	for i, call := range want { // The plan was kept to.
		call, _, _ = strings.Cut(call, " with ")
		is.Equal(planned[i], call)
	}
	is.Equal(placed(t, s), []string(nil))

	is.NoErr(s.Distribute(t.Context()))
	is.NoErr(s.Migrate(t.Context()))
	is.Equal(calls(), want)

	// As if the last table came with the next migration.
	_, err = db.ExecContext(t.Context(), `DELETE FROM pg_dist_partition
		WHERE logicalrelid = 'ticketing_passkeys'::regclass`)
	is.NoErr(err)
	is.NoErr(s.ApplyMigration(t.Context(), "SELECT 1"))
	is.Equal(calls()[len(want):], want[len(want)-1:])

	// A table that was distributed in another way is not accepted.
	_, err = db.ExecContext(t.Context(),
		"UPDATE pg_dist_partition SET partmethod = 'h' WHERE logicalrelid = 'ticketing_categories'::regclass")
	is.NoErr(err)
	err = s.Distribute(t.Context())
	is.True(errors.Is(err, store.ErrNotDistributable))
	is.True(strings.Contains(err.Error(), "ticketing_categories is a distributed table"))
}

// placed returns what a distribution would do.
func placed(t *testing.T, s *store.Store) []string {
	t.Helper()
	is := is.New(t)
	missing, err := s.Undistributed(t.Context())
	is.NoErr(err)
	var all []string
	for _, table := range missing {
		if table.Column == "" {
			all = append(all, "reference "+table.Table)
		} else {
			all = append(all, "distributed "+table.Table+" by "+table.Column)
		}
	}
	return all
}

// TestDistributionEndsRevisions checks that companies have no revisions on a cluster, on which nothing is remembered,
// and that no trigger of them is left where the tables were made before.
func TestDistributionEndsRevisions(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	dsn := pgtest.Start(t, "fsync=off").DSN("postgres")
	db := beside(t, dsn)
	const triggers = "SELECT tgname FROM pg_trigger WHERE tgname LIKE '%revise%' ORDER BY 1"
	const revised = "SELECT count(*)::text FROM ticketing_companies WHERE revision IS NOT NULL"
	before := testdb.Open(t, dsn, nil)
	is.NoErr(before.Migrate(t.Context()))
	furnish(t, before, newBatch(1, 0))
	is.True(len(texts(t, db, triggers)) > 0)
	is.Equal(texts(t, db, revised), []string{"1"})
	_, err := db.ExecContext(t.Context(), citusStandIn)
	is.NoErr(err)
	s := testdb.Open(t, dsn, nil)
	is.NoErr(s.Distribute(t.Context()))
	is.Equal(texts(t, db, triggers), []string(nil))
	is.Equal(texts(t, db, revised), []string{"0"})
}

// TestSingleShardTables checks that tables of a schema that Citus keeps on one node are migrated like those of a
// database without it. Distribute reports their kind.
func TestSingleShardTables(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	dsn := pgtest.Start(t, "fsync=off").DSN("postgres")
	db := beside(t, dsn)
	_, err := db.ExecContext(t.Context(), citusStandIn)
	is.NoErr(err)
	s := testdb.Open(t, dsn, nil)
	is.NoErr(s.Migrate(t.Context()))
	_, err = db.ExecContext(t.Context(), `INSERT INTO pg_dist_partition (logicalrelid, partmethod, colocationid, repmodel)
		SELECT oid, 'n', 3, 's' FROM pg_class WHERE relname LIKE 'ticketing\_%' AND relkind = 'r'`)
	is.NoErr(err)
	is.NoErr(s.ApplyMigration(t.Context(), "SELECT 1"))
	err = s.Distribute(t.Context())
	is.True(errors.Is(err, store.ErrNotDistributable))
	is.True(strings.Contains(err.Error(), "ticketing_migrations is a single-shard table and should be a reference one"))
}

// citusForeignKeys refuses, as Citus does, a foreign key from a local table to a distributed one.
const citusForeignKeys = `
CREATE FUNCTION check_schema() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN
	IF EXISTS (SELECT FROM pg_constraint WHERE contype = 'f'
			AND confrelid IN (SELECT logicalrelid FROM pg_dist_partition WHERE partmethod = 'h')
			AND conrelid NOT IN (SELECT logicalrelid FROM pg_dist_partition)) THEN
		RAISE 'a foreign key from a local table to a distributed one';
	END IF;
END $$;
CREATE EVENT TRIGGER check_schema ON ddl_command_end EXECUTE FUNCTION check_schema();
`

// TestDistributedUpgrade checks that a cluster with the first version of the schema accepts every later migration, one
// by one, and that each distributes the tables it adds.
func TestDistributedUpgrade(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	dsn := pgtest.Start(t, "fsync=off").DSN("postgres")
	db := sql.OpenDB(pgdriver.NewConnector(pgdriver.WithDSN(dsn)))
	defer func() { is.NoErr(db.Close()) }()
	_, err := db.ExecContext(t.Context(), citusStandIn+citusForeignKeys)
	is.NoErr(err)
	s := testdb.Open(t, dsn, nil)
	_, err = s.MigrateNext(t.Context())
	is.NoErr(err)
	_, err = db.ExecContext(t.Context(), `INSERT INTO pg_dist_partition
		SELECT oid, CASE WHEN shared THEN 'n'::"char" ELSE 'h' END, CASE WHEN shared THEN NULL ELSE '{VAR}' END,
			CASE WHEN shared THEN 1 ELSE 2 END, CASE WHEN shared THEN 't'::"char" ELSE 's' END, false
		FROM (SELECT oid, relname IN ('`+strings.Join(testdb.Shared(), "', '")+`') AS shared
			FROM pg_class WHERE relname LIKE 'ticketing\_%' AND relkind = 'r') tables`)
	is.NoErr(err)

	distributed, err := s.Distributed(t.Context())
	is.NoErr(err)
	is.True(distributed)
	planned := placed(t, s)
	is.NoErr(s.Migrate(t.Context()))
	is.Equal(len(planned), len(texts(t, db, "SELECT statement FROM calls")))
	is.Equal(texts(t, db, `SELECT relname FROM pg_class WHERE relname LIKE 'ticketing\_%' AND relkind = 'r'
		AND oid NOT IN (SELECT logicalrelid FROM pg_dist_partition)`), []string(nil))
	is.Equal(texts(t, db, "SELECT statement FROM calls ORDER BY number"), []string{
		"distributed ticketing_audit_entries by company_id with ticketing_companies",
		"reference ticketing_users",
		"distributed ticketing_members by company_id with ticketing_companies",
		"distributed ticketing_verification_cases by company_id with ticketing_companies",
		"distributed ticketing_bank_accounts by company_id with ticketing_companies",
		"distributed ticketing_settlements by company_id with ticketing_companies",
		"distributed ticketing_order_endings by company_id with ticketing_companies",
		"distributed ticketing_webhook_endpoints by company_id with ticketing_companies",
		"distributed ticketing_webhook_secrets by company_id with ticketing_companies",
		"distributed ticketing_webhook_messages by company_id with ticketing_companies",
		"distributed ticketing_webhook_deliveries by company_id with ticketing_companies",
		"reference ticketing_mail_senders",
		"distributed ticketing_notifications by company_id with ticketing_companies",
		"distributed ticketing_notification_prunes by company_id with ticketing_companies",
		"reference ticketing_staff",
		"distributed ticketing_sessions by user_id with ticketing_companies",
		"distributed ticketing_sign_in_tokens by user_id with ticketing_companies",
		"distributed ticketing_passkeys by user_id with ticketing_companies",
		"distributed ticketing_book_checks by company_id with ticketing_companies",
		"distributed ticketing_sales_sums by company_id with ticketing_companies",
		"distributed ticketing_sales_progress by company_id with ticketing_companies",
		"distributed ticketing_buyer_orders by company_id with ticketing_companies",
	})

	// A foreign key may be added later.
	is.NoErr(s.ApplyMigration(t.Context(), `ALTER TABLE ticketing_bank_accounts ADD FOREIGN KEY (company_id)
		REFERENCES ticketing_companies (id)`))
}

// TestDistributedLookUps checks that the statements for due companies and for keys suit a cluster: no steps from row to
// row, and keys only in the companies that the directory returned. The results are the same.
func TestDistributedLookUps(t *testing.T) {
	t.Parallel()
	is := is.New(t)
	var said testdb.Statements
	pool := said.Pool(pgtest.Start(t, "fsync=off").DSN("postgres"))
	_, err := pool.ExecContext(t.Context(), citusStandIn)
	is.NoErr(err)
	s := openPool(t, pool)
	is.NoErr(s.Migrate(t.Context()))
	furnish(t, s)
	other := number(77)
	sent := newNotification(other, 2)
	sent.Status, sent.FinishedAt = driver.NotificationSent, minute(4)
	written(t, s, func(ctx context.Context, tx driver.Tx) error {
		var facts []driver.Fact
		for i, of := range []uuid.UUID{other, company, company} {
			facts = append(facts, driver.Fact{CompanyID: of, At: minute(i), ID: number(500 + i), Type: "order.created"})
		}
		return errors.Join(
			tx.CreateCompany(ctx, newCompany(other)), tx.AppendFacts(ctx, facts), tx.DispatchFacts(ctx, facts[:1], false),
			tx.AppendDeliveries(ctx, []driver.Delivery{newDelivery(company, 1, 1), newDelivery(other, 2, 2)}),
			tx.AppendNotifications(ctx, []driver.Notification{newNotification(company, 1), newNotification(other, 1), sent}),
		)
	})
	said.Take()
	is.NoErr(s.View(t.Context(), func(ctx context.Context, tx driver.ReadTx) error {
		query := driver.WorkQuery{At: minute(9), Limit: 10, After: []driver.DueWork{
			{Kind: driver.WorkDispatch}, {Kind: driver.WorkPublish}, {Kind: driver.WorkDeliver},
		}}
		due, err := tx.DueWork(ctx, query)
		is.NoErr(err)
		all := []driver.DueWork{
			{Kind: driver.WorkDispatch, CompanyID: company, Since: minute(1)},
			{Kind: driver.WorkPublish, CompanyID: other, Since: minute(0)},
			{Kind: driver.WorkDeliver, CompanyID: company, Endpoint: 1, Since: minute(3)},
			{Kind: driver.WorkDeliver, CompanyID: other, Endpoint: 2, Since: minute(3)},
		}
		is.Equal(due, all)
		query.Limit = 1
		first, err := tx.DueWork(ctx, query)
		is.NoErr(err)
		is.Equal(first, all[:3])
		query.After[2] = all[2]
		next, err := tx.DueWork(ctx, query)
		is.NoErr(err)
		is.Equal(next, []driver.DueWork{all[0], all[1], all[3]})
		mail, err := tx.DueWork(ctx, driver.WorkQuery{At: minute(9), Limit: 10, After: []driver.DueWork{
			{Kind: driver.WorkMail}, {Kind: driver.WorkPruneMail},
		}})
		is.NoErr(err)
		is.Equal(mail, []driver.DueWork{
			{Kind: driver.WorkMail, CompanyID: company, Since: minute(3)},
			{Kind: driver.WorkMail, CompanyID: other, Since: minute(3)},
			{Kind: driver.WorkPruneMail, CompanyID: other, Since: minute(4)},
		})
		keys, err := tx.FindAPIKeys(ctx, []uuid.UUID{number(4), number(99)})
		is.NoErr(err)
		is.Equal(keys[0].ID, number(4))
		is.Equal(keys[0].CompanyID, company)
		is.Equal(keys[1], driver.APIKey{})
		none, err := tx.FindAPIKeys(ctx, []uuid.UUID{number(99)})
		is.Equal(none, []driver.APIKey{{}})
		return err
	}))
	for _, statement := range said.Take() {
		is.True(!strings.Contains(statement, "RECURSIVE"))
		keys := strings.Contains(statement, "ticketing_api_keys")
		is.True(!keys || strings.Contains(statement, "k.company_id = '"+company.String()))
	}
}
