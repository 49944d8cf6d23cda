-- Webhooks: endpoints and their secrets, the bodies of events, and their deliveries. The tables have no foreign keys,
-- since a table of a company gets none in the migration that makes it: see docs/scaling.md.

ALTER TABLE ticketing_companies ADD COLUMN webhook_endpoints BIGINT NOT NULL DEFAULT 0;

-- A fact is dispatched, then told. Those from before had nobody to be dispatched to. A sale writes to one index as before:
-- what is neither dispatched nor handled is in the first alone.
ALTER TABLE ticketing_outbox
	ADD COLUMN endpoints BIGINT NOT NULL DEFAULT 0,
	ADD COLUMN dispatched BOOLEAN NOT NULL DEFAULT true;
ALTER TABLE ticketing_outbox ALTER COLUMN dispatched SET DEFAULT false;
DROP INDEX ticketing_outbox_unhandled;
CREATE INDEX ticketing_outbox_undispatched ON ticketing_outbox (company_id, at, id) WHERE NOT dispatched;
CREATE INDEX ticketing_outbox_untold ON ticketing_outbox (company_id, at, id) WHERE dispatched AND NOT handled;

CREATE TABLE ticketing_webhook_endpoints (
	company_id     UUID             NOT NULL,
	number         BIGINT           NOT NULL,
	id             UUID             NOT NULL,
	url            TEXT             NOT NULL,
	events         TEXT COLLATE "C" NOT NULL,
	status         TEXT COLLATE "C" NOT NULL,
	active_secret  BIGINT           NOT NULL,
	pending_secret BIGINT           NOT NULL,
	last_secret    BIGINT           NOT NULL,
	created_at     BIGINT           NOT NULL,
	updated_at     BIGINT           NOT NULL,
	PRIMARY KEY (company_id, number),
	UNIQUE (id, company_id),
	CONSTRAINT ticketing_webhook_endpoints_number_check CHECK (number >= 1),
	CONSTRAINT ticketing_webhook_endpoints_events_check CHECK (events <> ''),
	CONSTRAINT ticketing_webhook_endpoints_status_check CHECK (status IN ('ENABLED', 'DISABLED')),
	CONSTRAINT ticketing_webhook_endpoints_secrets_check
		CHECK (active_secret >= 1 AND active_secret <= last_secret
			AND (pending_secret = 0 OR (pending_secret > active_secret AND pending_secret <= last_secret)))
);

-- The secret is sealed: whoever reads the table signs nothing with it.
CREATE TABLE ticketing_webhook_secrets (
	company_id UUID             NOT NULL,
	endpoint   BIGINT           NOT NULL,
	version    BIGINT           NOT NULL,
	secret     TEXT COLLATE "C" NOT NULL,
	created_at BIGINT           NOT NULL,
	PRIMARY KEY (company_id, endpoint, version),
	CONSTRAINT ticketing_webhook_secrets_version_check CHECK (version >= 1)
);

-- The body of an event is kept as it was first rendered; an empty one was forgotten.
CREATE TABLE ticketing_webhook_messages (
	company_id UUID             NOT NULL,
	at         BIGINT           NOT NULL,
	id         UUID             NOT NULL,
	type       TEXT COLLATE "C" NOT NULL,
	subject    UUID             NOT NULL,
	body       TEXT             NOT NULL,
	PRIMARY KEY (company_id, at, id)
);

CREATE TABLE ticketing_webhook_deliveries (
	company_id     UUID             NOT NULL,
	created_at     BIGINT           NOT NULL,
	id             UUID             NOT NULL,
	endpoint       BIGINT           NOT NULL,
	endpoint_id    UUID             NOT NULL,
	message_at     BIGINT           NOT NULL,
	message_id     UUID             NOT NULL,
	type           TEXT COLLATE "C" NOT NULL,
	url            TEXT             NOT NULL,
	secret_version BIGINT           NOT NULL,
	replay_of      UUID,
	status         TEXT COLLATE "C" NOT NULL,
	cancelling     BOOLEAN          NOT NULL,
	attempts       TEXT             NOT NULL,
	due_at         BIGINT           NOT NULL,
	leased_until   BIGINT,
	finished_at    BIGINT,
	PRIMARY KEY (company_id, created_at, id),
	UNIQUE (id, company_id),
	CONSTRAINT ticketing_webhook_deliveries_status_check CHECK (
		status IN ('PENDING', 'SUCCEEDED', 'FAILED', 'CANCELLED') AND (status = 'PENDING') = (finished_at IS NULL)),
	CONSTRAINT ticketing_webhook_deliveries_pending_check
		CHECK (status = 'PENDING' OR (leased_until IS NULL AND NOT cancelling))
);

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
