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
		SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
		WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND c.relname LIKE 'ticketing\_%'
			AND a.attname = 'company_id' AND NOT EXISTS (
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
