-- Rows of these tables wait, and are in a partial index meanwhile. A look for the oldest one passes the entries of all that
-- waited before it, until a vacuum removes them. By default autovacuum runs after a fifth of a table has changed, which is
-- far too many in a large one. Settings that an operator made stay.
DO $$
DECLARE
	name text;
BEGIN
	FOR name IN
		SELECT c.relname FROM pg_class c JOIN pg_namespace place ON place.oid = c.relnamespace
		WHERE place.nspname = current_schema() AND c.relkind = 'r'
			AND COALESCE(c.reloptions::text, '') NOT LIKE '%autovacuum_vacuum_%'
			AND EXISTS (
				SELECT FROM pg_class whole
				WHERE whole.relnamespace = c.relnamespace AND whole.relname IN (
						'ticketing_outbox', 'ticketing_webhook_deliveries', 'ticketing_notifications')
					AND (whole.oid = c.oid
						OR EXISTS (SELECT FROM pg_inherits WHERE inhparent = whole.oid AND inhrelid = c.oid)))
		ORDER BY c.relname
	LOOP
		BEGIN
			EXECUTE format('ALTER TABLE %I SET (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 5000)',
				name);
		EXCEPTION WHEN feature_not_supported THEN
			NULL;
		END;
	END LOOP;
END
$$;
