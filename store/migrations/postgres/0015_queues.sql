-- Rows of these tables wait, and are in a partial index meanwhile. A look for the oldest one passes the entries of all
-- that waited before it, until a vacuum removes them. By default autovacuum runs after a fifth of a table has changed,
-- which is far too many in a large one. A table for which an operator has set when to vacuum stays as it is.
DO $$
DECLARE
	name text;
BEGIN
	FOR name IN
		SELECT c.oid::regclass::text FROM pg_class c
		WHERE c.relkind = 'r' AND COALESCE(c.reloptions::text, '') NOT LIKE '%autovacuum_vacuum_%'
			AND EXISTS (
				SELECT FROM pg_class whole JOIN pg_namespace place ON place.oid = whole.relnamespace
				WHERE place.nspname = current_schema() AND whole.relname IN (
						'ticketing_outbox', 'ticketing_webhook_deliveries', 'ticketing_notifications')
					AND (whole.oid = c.oid
						OR EXISTS (SELECT FROM pg_inherits WHERE inhparent = whole.oid AND inhrelid = c.oid)))
		ORDER BY c.relname
	LOOP
		BEGIN
			EXECUTE 'ALTER TABLE ' || name
				|| ' SET (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000)';
		EXCEPTION WHEN feature_not_supported THEN
			NULL;
		END;
	END LOOP;
END
$$;
