package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/uptrace/bun"
)

// Citus distributes tables over nodes. All rows of a company are on one node, since every table of a company is
// distributed by company and colocated with ticketing_companies. So a transaction of one company runs on one node, and
// foreign keys between its tables hold there. So does every unique key, since each contains the company. The tables of
// sign-ins are distributed by user and colocated with the others. So all rows of one user are on one node, with the
// entries of the audit log that have the user in place of a company. Other tables that belong to no company, and the
// directory that maps an API key to its company, are reference tables, of which each node has a copy: they are small,
// and are read far more often than written.
//
// The catalogue, the functions and the settings are those of Citus 11.0 to 14.0. They are in the schema pg_catalog,
// which the statements name.

// ErrNotDistributable is the error of [Store.Distribute] on a database that belongs to no cluster.
var ErrNotDistributable = errors.New("ticketing/store: the database cannot be distributed")

// placement is how the rows of a table are placed on a cluster.
type placement struct {
	table string
	// column is the column of the company or of the user; empty for a reference table.
	column string
	// with is the table with which it is colocated; empty for the first of the colocated tables.
	with string
}

// placements returns all tables, each after those that its foreign keys reference: Citus creates the foreign keys of
// shards only if the referenced shards exist.
func placements() []placement {
	tables := []placement{
		{table: "ticketing_migrations"},
		{table: "ticketing_secrets"},
		{table: "ticketing_categories"},
		{table: "ticketing_api_key_directory"},
		{table: "ticketing_users"},
		{table: "ticketing_mail_senders"},
		{table: "ticketing_staff"},
		{table: anchor, column: "id"},
	}
	for _, table := range []string{
		"ticketing_brandings", "ticketing_commission_rates", "ticketing_api_keys", "ticketing_events",
		"ticketing_inventory_tiers", "ticketing_inventory_batches", "ticketing_orders", "ticketing_admissions",
		"ticketing_buyers", "ticketing_idempotency_keys", "ticketing_wallets", "ticketing_ledger_entries",
		"ticketing_float_credits", "ticketing_outbox", "ticketing_audit_entries", "ticketing_members",
		"ticketing_verification_cases", "ticketing_bank_accounts", "ticketing_settlements", "ticketing_order_endings",
		"ticketing_webhook_endpoints", "ticketing_webhook_secrets", "ticketing_webhook_messages",
		"ticketing_webhook_deliveries", "ticketing_notifications", "ticketing_notification_prunes",
		"ticketing_book_checks", "ticketing_sales_sums", "ticketing_sales_progress", "ticketing_buyer_orders",
	} {
		tables = append(tables, placement{table: table, column: "company_id", with: anchor})
	}
	for _, table := range []string{"ticketing_sessions", "ticketing_sign_in_tokens", "ticketing_passkeys"} {
		tables = append(tables, placement{table: table, column: "user_id", with: anchor})
	}
	return tables
}

// anchor is the table with which all distributed tables are colocated.
const anchor = "ticketing_companies"

// statement returns the statement that distributes the table. colocate_with is explicit: by default Citus colocates all
// tables that are distributed by columns of one type, including a host's tables that are distributed by a UUID.
func (p placement) statement() string {
	if p.column == "" {
		return fmt.Sprintf("SELECT pg_catalog.create_reference_table('%s')", p.table)
	}
	return fmt.Sprintf("SELECT pg_catalog.create_distributed_table('%s', '%s', colocate_with => '%s')",
		p.table, p.column, cmp.Or(p.with, "none"))
}

// clusterSettings apply in a transaction that changes tables of a cluster. By default Citus sends such changes to the
// shards of a node over several connections at once. These do not see each other's changes, so Citus refuses changes
// that involve foreign keys. Sequential means one connection for each node. Citus also considers all triggers unsafe,
// since one could write to another node; those of the store that are left only refuse: see dropRevisions. Each shard
// has one copy, without which Citus refuses foreign keys.
const clusterSettings = "SET LOCAL citus.multi_shard_modify_mode TO 'sequential'; " +
	"SET LOCAL citus.enable_unsafe_triggers TO on; SET LOCAL citus.shard_replication_factor TO 1; "

// Distribute distributes the tables over a Citus cluster by company or user, in one transaction. It skips tables that
// are distributed already, so it is safe to repeat. From then on [Store.Migrate] distributes the tables that a
// migration adds. Writers wait while existing rows are copied to their nodes. The local copies stay on the disk until
// an operator removes them, so Distribute is meant for tables that are empty or small. On a database without the
// extension it fails with [ErrNotDistributable].
//
// It must run on the coordinator, after the database was migrated.
func (s *Store) Distribute(ctx context.Context) error {
	engine, err := s.distributable()
	if err != nil {
		return err
	}
	if err := s.ready(ctx); err != nil {
		return err
	}
	var spread []string
	err = s.changeSchema(ctx, "distribute", func(ctx context.Context, conn bun.Conn) error {
		var err error
		spread, err = s.distribute(ctx, engine, conn)
		return err
	})
	for _, table := range spread {
		if err == nil {
			s.config.Logger.InfoContext(ctx, "ticketing/store: distributed", "table", table)
		}
	}
	return err
}

// Placement is how the rows of a table are placed on a Citus cluster.
type Placement struct {
	Table string
	// Column is the column by whose value the rows are spread over the nodes. If it is empty, the table is a reference
	// table, of which every node has a copy.
	Column string
}

// Undistributed returns the tables that [Store.Distribute] would distribute after [Store.Migrate], in its order. It
// changes nothing, and fails as Distribute does. If the tables are distributed already, it returns the tables that
// Migrate will add.
func (s *Store) Undistributed(ctx context.Context) ([]Placement, error) {
	engine, err := s.distributable()
	if err != nil {
		return nil, err
	}
	there, err := engine.spread(ctx, engine.reader())
	if err != nil {
		return nil, s.translateFor(ctx, "read which tables are distributed", err)
	}
	var missing []Placement
	for _, p := range placements() {
		done, err := p.distributed(there[p.table])
		if err != nil {
			return nil, err
		}
		if !done {
			missing = append(missing, Placement{Table: p.table, Column: p.column})
		}
	}
	return missing, nil
}

// Distributed reports whether the tables are distributed over a cluster. If so, [Store.Migrate] distributes the tables
// that it adds.
func (s *Store) Distributed(ctx context.Context) (bool, error) {
	engine, ok := s.engine.(*postgresEngine)
	if !ok || !engine.distributed {
		return false, nil
	}
	there, err := engine.spread(ctx, engine.reader())
	if err != nil {
		return false, s.translateFor(ctx, "read which tables are distributed", err)
	}
	return isDistributed(there), nil
}

// isDistributed reports whether the tables of companies are distributed. there is how each table is distributed.
func isDistributed(there map[string]string) bool {
	return there[anchor] != "" && there[anchor] != singleShard
}

// distributable returns the engine if its database has the extension.
func (s *Store) distributable() (*postgresEngine, error) {
	engine, ok := s.engine.(*postgresEngine)
	if !ok {
		return nil, fmt.Errorf("%w: it is a file on one machine", ErrNotDistributable)
	}
	if !engine.distributed {
		return nil, fmt.Errorf("%w: it has no extension citus; on the coordinator, where shared_preload_libraries has "+
			"citus, run CREATE EXTENSION citus, and add the workers", ErrNotDistributable)
	}
	return engine, nil
}

// distributed reports whether the table is distributed as it should be. found is how it is distributed. It fails if the
// table is distributed in another way.
func (p placement) distributed(found string) (bool, error) {
	kind := "reference"
	if p.column != "" {
		kind = "distributed"
	}
	if found != "" && found != kind {
		return false, fmt.Errorf("%w: %s is a %s table and should be a %s one", ErrNotDistributable, p.table, found, kind)
	}
	return found == kind, nil
}

// distribute distributes the tables that are not distributed yet, and returns their names.
func (s *Store) distribute(ctx context.Context, engine *postgresEngine, conn bun.Conn) ([]string, error) {
	there, err := engine.spread(ctx, conn)
	if err != nil {
		return nil, s.translate("read which tables are distributed", err)
	}
	if kind, made := there[anchor]; made && kind == "" {
		if _, err := conn.ExecContext(ctx, dropRevisions); err != nil {
			return nil, s.translate("drop the triggers of revisions", err)
		}
	}
	var spread []string
	for _, p := range placements() {
		found, made := there[p.table]
		if !made {
			// A later migration creates the table, and distributes it then.
			continue
		}
		done, err := p.distributed(found)
		if err != nil {
			return nil, err
		}
		if done {
			continue
		}
		if _, err := conn.ExecContext(ctx, p.statement()); err != nil {
			return nil, s.translate("distribute "+p.table, err)
		}
		spread = append(spread, p.table)
	}
	if err := engine.createNodeFunction(ctx, conn); err != nil {
		return nil, s.translate("create the function of the nodes", err)
	}
	return spread, nil
}

// dropRevisions ends the revisions of companies, with their triggers, before the first table is distributed: the
// trigger of a shard would write to a distributed table. Without a revision nothing of a company is remembered.
const dropRevisions = `DO $$ BEGIN
	IF to_regproc('ticketing_revise') IS NOT NULL THEN
		DROP FUNCTION ticketing_revise, ticketing_revise_company CASCADE;
		UPDATE ticketing_companies SET revision = NULL WHERE revision IS NOT NULL;
	END IF;
END $$`

// distributeAdded distributes the tables that a migration added to a distributed database, in the same transaction: a
// table of a company never holds rows on the coordinator.
func (s *Store) distributeAdded(ctx context.Context, conn bun.Conn) error {
	engine, ok := s.engine.(*postgresEngine)
	if !ok || !engine.distributed {
		return nil
	}
	there, err := engine.spread(ctx, conn)
	if err != nil {
		return s.translate("read which tables are distributed", err)
	}
	if !isDistributed(there) {
		return nil
	}
	_, err = s.distribute(ctx, engine, conn)
	return err
}

// completeCluster creates the function of the nodes on a cluster that a version without it distributed.
func (s *Store) completeCluster(ctx context.Context) error {
	engine, ok := s.engine.(*postgresEngine)
	if !ok || !engine.distributed {
		return nil
	}
	lacking, err := engine.lacksNodeFunction(ctx)
	if err != nil || !lacking {
		return s.translateFor(ctx, "look for the function of the nodes", err)
	}
	return s.changeSchema(ctx, "migrate", s.distributeAdded)
}

// extended reports whether the database has the extension.
func (e *postgresEngine) extended(ctx context.Context) (found bool, err error) {
	err = e.db.QueryRowContext(ctx,
		"SELECT EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = 'citus')").Scan(&found)
	return found, err
}

// singleShard is the kind of a table that Citus keeps on one node as a single shard, as it does in a distributed
// schema.
const singleShard = "single-shard"

// spread returns how each table is distributed: "distributed", "reference", [singleShard], or empty if it is not. A
// table that Citus manages on the coordinator alone has the empty kind, too.
func (e *postgresEngine) spread(ctx context.Context, conn bun.IConn) (map[string]string, error) {
	rows, err := conn.QueryContext(ctx, `SELECT c.relname,
			CASE WHEN p.logicalrelid IS NULL THEN ''
				WHEN p.partmethod <> 'n' THEN 'distributed'
				WHEN p.repmodel = 't' THEN 'reference'
				WHEN p.colocationid <> 0 THEN '`+singleShard+`' ELSE '' END
		FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
			LEFT JOIN pg_catalog.pg_dist_partition p ON p.logicalrelid = c.oid
		WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p')`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	there := make(map[string]string)
	for rows.Next() {
		var table, kind string
		if err := rows.Scan(&table, &kind); err != nil {
			return nil, err
		}
		there[table] = kind
	}
	return there, rows.Err()
}
