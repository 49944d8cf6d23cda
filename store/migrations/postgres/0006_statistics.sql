-- No statistics of whose a row is. Of a company that they do not know the planner expects one row, and every index that begins
-- with the company looks to it as good as the one that holds the whole key. Without them it expects a part of the table of
-- every company.
--
-- A table that was analysed before keeps its statistics, which only a rewrite of its partial indexes would remove: what is
-- there would stay as it is for ever. A table that is spread over a cluster is passed over, since the cluster refuses: see
-- docs/scaling.md. Statements are found by their whole key with or without.
DO $$
DECLARE
	name text;
BEGIN
	FOR name IN
		SELECT c.relname FROM pg_class c JOIN pg_namespace place ON place.oid = c.relnamespace
		WHERE place.nspname = current_schema() AND c.relkind IN ('r', 'p') AND c.relname = ANY (ARRAY[
				'ticketing_brandings', 'ticketing_commission_rates', 'ticketing_api_keys', 'ticketing_events',
				'ticketing_inventory_tiers', 'ticketing_inventory_batches', 'ticketing_orders', 'ticketing_admissions',
				'ticketing_buyers', 'ticketing_idempotency_keys', 'ticketing_wallets', 'ticketing_ledger_entries',
				'ticketing_float_credits', 'ticketing_outbox', 'ticketing_audit_entries', 'ticketing_members',
				'ticketing_verification_cases', 'ticketing_bank_accounts', 'ticketing_settlements',
				'ticketing_order_endings', 'ticketing_webhook_endpoints', 'ticketing_webhook_secrets',
				'ticketing_webhook_messages', 'ticketing_webhook_deliveries', 'ticketing_api_key_directory'])
			AND NOT EXISTS (
				SELECT FROM pg_class part JOIN pg_namespace n ON n.oid = part.relnamespace
					JOIN pg_stats s ON s.schemaname = n.nspname AND s.tablename = part.relname
				WHERE s.attname = 'company_id'
					AND (part.oid = c.oid OR part.oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = c.oid)))
		ORDER BY c.relname
	LOOP
		BEGIN
			EXECUTE format('ALTER TABLE %I ALTER company_id SET STATISTICS 0', name);
		EXCEPTION WHEN feature_not_supported THEN
			NULL;
		END;
	END LOOP;
END
$$;
