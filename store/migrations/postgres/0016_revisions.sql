-- A company has a new revision whenever its row has changed, or a row that says what it may sell and to whom: of its API
-- keys, events, brandings and commission rates. A server remembers such rows, and reads the revision to find whether
-- they are as they were. So a change by hand counts, too. The revision is a random number, which no other change has,
-- not even after a restore.
--
-- On a cluster it stays NULL: the trigger of a shard would write to a distributed table.
ALTER TABLE ticketing_companies ADD COLUMN revision UUID;

CREATE FUNCTION ticketing_revise() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	NEW.revision := gen_random_uuid();
	RETURN NEW;
END
$$;

-- The trigger of the companies sets the revision. A company that the transaction has written already has a new one.
CREATE FUNCTION ticketing_revise_company() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
	companies UUID[];
	place TEXT; -- the schema; a partition may be in another one
BEGIN
	SELECT relnamespace::regnamespace INTO STRICT place FROM pg_catalog.pg_class
		WHERE oid = COALESCE(pg_partition_root(TG_RELID), TG_RELID);
	IF TG_OP = 'TRUNCATE' THEN
		EXECUTE format('UPDATE %s.ticketing_companies SET revision = NULL', place);
		RETURN NULL;
	END IF;
	IF TG_OP <> 'DELETE' THEN
		companies := ARRAY[NEW.company_id];
	END IF;
	IF TG_OP <> 'INSERT' THEN
		companies := companies || OLD.company_id;
	END IF;
	EXECUTE format('UPDATE %s.ticketing_companies SET revision = NULL WHERE id = ANY($1) AND xmin <> $2', place)
		USING companies, pg_current_xact_id()::xid;
	RETURN NULL;
END
$$;

DO $do$
BEGIN
	IF EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = 'citus') THEN
		DROP FUNCTION ticketing_revise;
		DROP FUNCTION ticketing_revise_company;
		RETURN;
	END IF;

	CREATE TRIGGER ticketing_companies_revise BEFORE INSERT OR UPDATE ON ticketing_companies
		FOR EACH ROW EXECUTE FUNCTION ticketing_revise();
	UPDATE ticketing_companies SET revision = NULL;

	-- Of a key everything but the last use counts, which is written once a minute.
	CREATE TRIGGER ticketing_api_keys_revise AFTER UPDATE ON ticketing_api_keys FOR EACH ROW
		WHEN ((OLD.company_id, OLD.id, OLD.name, OLD.grants, OLD.status, OLD.digest, OLD.predecessor_id, OLD.created_at,
			OLD.revoked_at) IS DISTINCT FROM (NEW.company_id, NEW.id, NEW.name, NEW.grants, NEW.status, NEW.digest,
			NEW.predecessor_id, NEW.created_at, NEW.revoked_at))
		EXECUTE FUNCTION ticketing_revise_company();
	CREATE TRIGGER ticketing_api_keys_revise_set AFTER INSERT OR DELETE ON ticketing_api_keys
		FOR EACH ROW EXECUTE FUNCTION ticketing_revise_company();
	CREATE TRIGGER ticketing_api_keys_revise_all AFTER TRUNCATE ON ticketing_api_keys
		FOR EACH STATEMENT EXECUTE FUNCTION ticketing_revise_company();

	-- Of an event its status counts. Its other columns change while its company sells.
	CREATE TRIGGER ticketing_events_revise AFTER UPDATE ON ticketing_events FOR EACH ROW
		WHEN ((OLD.company_id, OLD.id, OLD.status) IS DISTINCT FROM (NEW.company_id, NEW.id, NEW.status))
		EXECUTE FUNCTION ticketing_revise_company();
	CREATE TRIGGER ticketing_events_revise_set AFTER INSERT OR DELETE ON ticketing_events
		FOR EACH ROW EXECUTE FUNCTION ticketing_revise_company();
	CREATE TRIGGER ticketing_events_revise_all AFTER TRUNCATE ON ticketing_events
		FOR EACH STATEMENT EXECUTE FUNCTION ticketing_revise_company();

	CREATE TRIGGER ticketing_brandings_revise AFTER INSERT OR UPDATE OR DELETE ON ticketing_brandings
		FOR EACH ROW EXECUTE FUNCTION ticketing_revise_company();
	CREATE TRIGGER ticketing_commission_rates_revise AFTER INSERT OR UPDATE OR DELETE ON ticketing_commission_rates
		FOR EACH ROW EXECUTE FUNCTION ticketing_revise_company();
END
$do$;
