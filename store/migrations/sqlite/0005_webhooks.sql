-- Webhooks: endpoints and their secrets, the bodies of events, and their deliveries. The tables have no foreign keys,
-- since a table of a company gets none in the migration that makes it: see docs/scaling.md.

ALTER TABLE ticketing_companies ADD COLUMN webhook_endpoints INTEGER NOT NULL DEFAULT 0;

-- A fact is dispatched, then told. Those from before had nobody to be dispatched to. A sale writes to one index as before:
-- what is neither dispatched nor handled is in the first alone.
ALTER TABLE ticketing_outbox ADD COLUMN endpoints INTEGER NOT NULL DEFAULT 0;
ALTER TABLE ticketing_outbox ADD COLUMN dispatched INTEGER NOT NULL DEFAULT 1
	CONSTRAINT ticketing_outbox_dispatched_check CHECK (dispatched IN (0, 1));
DROP INDEX ticketing_outbox_unhandled;
CREATE INDEX ticketing_outbox_undispatched ON ticketing_outbox (company_id, at, id) WHERE NOT dispatched;
CREATE INDEX ticketing_outbox_untold ON ticketing_outbox (company_id, at, id) WHERE dispatched AND NOT handled;

CREATE TABLE ticketing_webhook_endpoints (
	company_id     BLOB    NOT NULL,
	number         INTEGER NOT NULL,
	id             BLOB    NOT NULL,
	url            TEXT    NOT NULL,
	events         TEXT    NOT NULL,
	status         TEXT    NOT NULL,
	active_secret  INTEGER NOT NULL,
	pending_secret INTEGER NOT NULL,
	last_secret    INTEGER NOT NULL,
	created_at     INTEGER NOT NULL,
	updated_at     INTEGER NOT NULL,
	PRIMARY KEY (company_id, number),
	UNIQUE (id, company_id),
	CONSTRAINT ticketing_webhook_endpoints_number_check CHECK (number >= 1),
	CONSTRAINT ticketing_webhook_endpoints_events_check CHECK (events <> ''),
	CONSTRAINT ticketing_webhook_endpoints_status_check CHECK (status IN ('ENABLED', 'DISABLED')),
	CONSTRAINT ticketing_webhook_endpoints_secrets_check
		CHECK (active_secret >= 1 AND active_secret <= last_secret
			AND (pending_secret = 0 OR (pending_secret > active_secret AND pending_secret <= last_secret)))
) STRICT, WITHOUT ROWID;

-- The secret is sealed: whoever reads the table signs nothing with it.
CREATE TABLE ticketing_webhook_secrets (
	company_id BLOB    NOT NULL,
	endpoint   INTEGER NOT NULL,
	version    INTEGER NOT NULL,
	secret     TEXT    NOT NULL,
	created_at INTEGER NOT NULL,
	PRIMARY KEY (company_id, endpoint, version),
	CONSTRAINT ticketing_webhook_secrets_version_check CHECK (version >= 1)
) STRICT, WITHOUT ROWID;

-- The body of an event is kept as it was first rendered; an empty one was forgotten.
CREATE TABLE ticketing_webhook_messages (
	company_id BLOB    NOT NULL,
	at         INTEGER NOT NULL,
	id         BLOB    NOT NULL,
	type       TEXT    NOT NULL,
	subject    BLOB    NOT NULL,
	body       TEXT    NOT NULL,
	PRIMARY KEY (company_id, at, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE ticketing_webhook_deliveries (
	company_id     BLOB    NOT NULL,
	created_at     INTEGER NOT NULL,
	id             BLOB    NOT NULL,
	endpoint       INTEGER NOT NULL,
	endpoint_id    BLOB    NOT NULL,
	message_at     INTEGER NOT NULL,
	message_id     BLOB    NOT NULL,
	type           TEXT    NOT NULL,
	url            TEXT    NOT NULL,
	secret_version INTEGER NOT NULL,
	replay_of      BLOB,
	status         TEXT    NOT NULL,
	cancelling     INTEGER NOT NULL,
	attempts       TEXT    NOT NULL,
	due_at         INTEGER NOT NULL,
	leased_until   INTEGER,
	finished_at    INTEGER,
	PRIMARY KEY (company_id, created_at, id),
	UNIQUE (id, company_id),
	CONSTRAINT ticketing_webhook_deliveries_cancelling_check CHECK (cancelling IN (0, 1)),
	CONSTRAINT ticketing_webhook_deliveries_status_check CHECK (
		status IN ('PENDING', 'SUCCEEDED', 'FAILED', 'CANCELLED') AND (status = 'PENDING') = (finished_at IS NULL)),
	CONSTRAINT ticketing_webhook_deliveries_pending_check
		CHECK (status = 'PENDING' OR (leased_until IS NULL AND NOT cancelling))
) STRICT, WITHOUT ROWID;

-- What a sender claims, by endpoint, the longest due first.
CREATE INDEX ticketing_webhook_deliveries_pending ON ticketing_webhook_deliveries (company_id, endpoint, due_at)
	WHERE status = 'PENDING';
-- What is dead, which nobody looks for among millions that arrived.
CREATE INDEX ticketing_webhook_deliveries_failed ON ticketing_webhook_deliveries (company_id, created_at, id)
	WHERE status = 'FAILED';
CREATE INDEX ticketing_webhook_deliveries_cancelled ON ticketing_webhook_deliveries (company_id, created_at, id)
	WHERE status = 'CANCELLED';
-- What keeps a message from being removed.
CREATE INDEX ticketing_webhook_deliveries_message ON ticketing_webhook_deliveries (company_id, message_id);
