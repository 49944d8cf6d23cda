-- Ids are UUIDs, times milliseconds since 1970 in UTC, money kobo, lists of texts JSON. An empty text and a NULL mean
-- none. Texts that are sorted or in an index compare by code point (COLLATE "C"), as the contract orders them.

CREATE TABLE ticketing_migrations (
	name       TEXT COLLATE "C" NOT NULL PRIMARY KEY,
	checksum   TEXT             NOT NULL, -- SHA-256 of the file, hexadecimal
	applied_at BIGINT           NOT NULL DEFAULT (extract(epoch FROM clock_timestamp()) * 1000)::BIGINT
);

CREATE TABLE ticketing_secrets (
	name       TEXT COLLATE "C" NOT NULL PRIMARY KEY,
	created_at BIGINT           NOT NULL
);

-- Companies and what belongs to one, apart from its sales.

CREATE TABLE ticketing_companies (
	id                  UUID   NOT NULL PRIMARY KEY,
	name                TEXT   NOT NULL,
	status              TEXT   NOT NULL,
	verification        TEXT   NOT NULL,
	approval_expires_at BIGINT,
	grace_until         BIGINT,
	reason              TEXT   NOT NULL,
	branding_version    BIGINT NOT NULL,
	created_at          BIGINT NOT NULL,
	updated_at          BIGINT NOT NULL,
	CONSTRAINT ticketing_companies_status_check CHECK (status IN ('ACTIVE', 'SUSPENDED')),
	CONSTRAINT ticketing_companies_verification_check
		CHECK (verification IN ('UNVERIFIED', 'SUBMITTED', 'APPROVED', 'REJECTED', 'REVOKED')),
	CONSTRAINT ticketing_companies_branding_version_check CHECK (branding_version >= 0)
);

CREATE INDEX ticketing_companies_list ON ticketing_companies (created_at, id);

CREATE TABLE ticketing_brandings (
	company_id      UUID   NOT NULL REFERENCES ticketing_companies (id),
	version         BIGINT NOT NULL,
	brand_name      TEXT   NOT NULL,
	logo_url        TEXT   NOT NULL,
	primary_color   TEXT   NOT NULL,
	accent_color    TEXT   NOT NULL,
	checkout_footer TEXT   NOT NULL,
	ticket_footer   TEXT   NOT NULL,
	email_footer    TEXT   NOT NULL,
	support_email   TEXT   NOT NULL,
	created_at      BIGINT NOT NULL,
	PRIMARY KEY (company_id, version),
	CONSTRAINT ticketing_brandings_version_check CHECK (version >= 1)
);

CREATE TABLE ticketing_commission_rates (
	company_id     UUID   NOT NULL REFERENCES ticketing_companies (id),
	id             UUID   NOT NULL,
	position       BIGINT NOT NULL,
	value          TEXT   NOT NULL,
	unit           TEXT   NOT NULL,
	effective_from BIGINT NOT NULL,
	created_at     BIGINT NOT NULL,
	PRIMARY KEY (company_id, id),
	UNIQUE (company_id, position),
	CONSTRAINT ticketing_commission_rates_position_check CHECK (position >= 1),
	CONSTRAINT ticketing_commission_rates_unit_check CHECK (unit IN ('BASIS_POINTS', 'PERCENT', 'FRACTION'))
);

CREATE INDEX ticketing_commission_rates_effective
	ON ticketing_commission_rates (company_id, effective_from, position);

CREATE TABLE ticketing_api_keys (
	company_id     UUID             NOT NULL REFERENCES ticketing_companies (id),
	id             UUID             NOT NULL,
	name           TEXT             NOT NULL,
	grants         TEXT             NOT NULL,
	status         TEXT             NOT NULL,
	digest         TEXT COLLATE "C" NOT NULL,
	predecessor_id UUID,
	created_at     BIGINT           NOT NULL,
	last_used_at   BIGINT,
	revoked_at     BIGINT,
	PRIMARY KEY (company_id, id),
	CONSTRAINT ticketing_api_keys_status_check CHECK (status IN ('ACTIVE', 'REVOKED'))
);

CREATE INDEX ticketing_api_keys_list ON ticketing_api_keys (company_id, created_at DESC, id);

-- The one table that finds a company by something else: a request names nothing but its key.
CREATE TABLE ticketing_api_key_directory (
	id         UUID NOT NULL PRIMARY KEY,
	company_id UUID NOT NULL
);

-- What is sold.

CREATE TABLE ticketing_categories (
	id         UUID             NOT NULL PRIMARY KEY,
	name       TEXT             NOT NULL,
	slug       TEXT COLLATE "C" NOT NULL UNIQUE,
	status     TEXT             NOT NULL,
	created_at BIGINT           NOT NULL,
	CONSTRAINT ticketing_categories_status_check CHECK (status IN ('ACTIVE', 'INACTIVE'))
);

CREATE TABLE ticketing_events (
	company_id        UUID             NOT NULL REFERENCES ticketing_companies (id),
	id                UUID             NOT NULL,
	title             TEXT             NOT NULL,
	description       TEXT             NOT NULL,
	status            TEXT COLLATE "C" NOT NULL,
	date              TEXT             NOT NULL,
	starts_at         TEXT             NOT NULL,
	ends_at           TEXT             NOT NULL,
	timezone          TEXT             NOT NULL,
	location          TEXT             NOT NULL,
	venue             TEXT             NOT NULL,
	image_url         TEXT             NOT NULL,
	organizer_name    TEXT             NOT NULL,
	category_id       UUID,
	ticket_categories TEXT             NOT NULL,
	ends_on           BIGINT,
	created_at        BIGINT           NOT NULL,
	updated_at        BIGINT           NOT NULL,
	PRIMARY KEY (id, company_id), -- in this order, since an operator names an event by its id alone
	CONSTRAINT ticketing_events_status_check CHECK (status IN ('DRAFT', 'PUBLISHED', 'ENDED', 'CANCELLED'))
);

CREATE INDEX ticketing_events_list ON ticketing_events (company_id, created_at, id);
CREATE INDEX ticketing_events_list_status ON ticketing_events (company_id, status, created_at, id);
CREATE INDEX ticketing_events_due ON ticketing_events (ends_on, company_id, id)
	WHERE status = 'PUBLISHED' AND ends_on IS NOT NULL;

CREATE TABLE ticketing_inventory_tiers (
	company_id UUID             NOT NULL,
	event_id   UUID             NOT NULL,
	tier       TEXT COLLATE "C" NOT NULL,
	batches    BIGINT           NOT NULL,
	total      BIGINT           NOT NULL,
	cancelled  BOOLEAN          NOT NULL,
	PRIMARY KEY (company_id, event_id, tier),
	FOREIGN KEY (event_id, company_id) REFERENCES ticketing_events (id, company_id),
	CONSTRAINT ticketing_inventory_tiers_batches_check CHECK (batches >= 0),
	CONSTRAINT ticketing_inventory_tiers_total_check CHECK (total BETWEEN 0 AND 1000000)
);

-- Nothing indexes sold, and every page keeps room for the next version of its rows, so that a sale changes the row in
-- its place and no index. The partial indexes hold what is still to be sold: a batch leaves them with its last
-- admission, and what was sold out costs nobody anything.
CREATE TABLE ticketing_inventory_batches (
	company_id  UUID             NOT NULL,
	event_id    UUID             NOT NULL,
	tier        TEXT COLLATE "C" NOT NULL,
	position    BIGINT           NOT NULL,
	title       TEXT             NOT NULL,
	description TEXT             NOT NULL,
	unit_price  BIGINT           NOT NULL,
	status      TEXT COLLATE "C" NOT NULL,
	quantity    BIGINT           NOT NULL,
	sold        BIGINT           NOT NULL,
	open        BOOLEAN          NOT NULL,
	created_at  BIGINT           NOT NULL,
	PRIMARY KEY (company_id, event_id, tier, position),
	FOREIGN KEY (company_id, event_id, tier) REFERENCES ticketing_inventory_tiers (company_id, event_id, tier),
	CONSTRAINT ticketing_inventory_batches_position_check CHECK (position >= 1),
	CONSTRAINT ticketing_inventory_batches_unit_price_check CHECK (unit_price >= 0),
	CONSTRAINT ticketing_inventory_batches_status_check CHECK (status IN ('AVAILABLE', 'PAUSED', 'CANCELLED')),
	CONSTRAINT ticketing_inventory_batches_sold_check CHECK (sold >= 0 AND sold <= quantity),
	CONSTRAINT ticketing_inventory_batches_open_check CHECK (open = (status <> 'CANCELLED' AND sold < quantity))
) WITH (fillfactor = 50);

CREATE INDEX ticketing_inventory_batches_open_list
	ON ticketing_inventory_batches (company_id, event_id, tier, position) WHERE open;
CREATE INDEX ticketing_inventory_batches_stock
	ON ticketing_inventory_batches (company_id, event_id, tier, unit_price, position)
	WHERE open AND status = 'AVAILABLE';

-- Sales. What a sale appends has no foreign key: the verifier proves those references.

CREATE TABLE ticketing_orders (
	company_id      UUID             NOT NULL,
	number          BIGINT           NOT NULL,
	id              UUID             NOT NULL,
	event_id        UUID             NOT NULL,
	status          TEXT COLLATE "C" NOT NULL,
	gross           BIGINT           NOT NULL,
	commission      BIGINT           NOT NULL,
	rate_id         UUID             NOT NULL,
	branding        BIGINT           NOT NULL,
	float_before    BIGINT           NOT NULL,
	earnings_before BIGINT           NOT NULL,
	buyer_email     TEXT             NOT NULL,
	buyer_fullname  TEXT             NOT NULL,
	buyer_phone     TEXT             NOT NULL,
	confirmed_at    BIGINT           NOT NULL,
	created_at      BIGINT           NOT NULL,
	PRIMARY KEY (company_id, number),
	UNIQUE (id, company_id),
	CONSTRAINT ticketing_orders_number_check CHECK (number >= 1),
	CONSTRAINT ticketing_orders_status_check CHECK (status IN ('CONFIRMED', 'CANCELLED', 'REFUNDED')),
	CONSTRAINT ticketing_orders_commission_check CHECK (commission >= 0 AND commission <= gross),
	CONSTRAINT ticketing_orders_balances_check CHECK (float_before >= 0 AND earnings_before >= 0)
);

CREATE INDEX ticketing_orders_event ON ticketing_orders (company_id, event_id, number);
CREATE INDEX ticketing_orders_status_list ON ticketing_orders (company_id, status, number)
	WHERE status <> 'CONFIRMED';
CREATE INDEX ticketing_orders_event_status ON ticketing_orders (company_id, event_id, status, number)
	WHERE status <> 'CONFIRMED';

-- A validation changes its admission in place, too: nothing indexes what it sets.
CREATE TABLE ticketing_admissions (
	company_id    UUID             NOT NULL,
	order_number  BIGINT           NOT NULL,
	line          BIGINT           NOT NULL,
	id            UUID             NOT NULL,
	line_id       UUID             NOT NULL,
	order_id      UUID             NOT NULL,
	event_id      UUID             NOT NULL,
	tier          TEXT COLLATE "C" NOT NULL,
	batch         BIGINT           NOT NULL,
	title         TEXT             NOT NULL,
	unit_price    BIGINT           NOT NULL,
	voided        BOOLEAN          NOT NULL,
	validation_id UUID,
	validated_at  BIGINT,
	location      TEXT             NOT NULL,
	PRIMARY KEY (company_id, order_number, line),
	UNIQUE (id, company_id),
	CONSTRAINT ticketing_admissions_line_check CHECK (line >= 1),
	CONSTRAINT ticketing_admissions_unit_price_check CHECK (unit_price >= 0)
) WITH (fillfactor = 90);

CREATE TABLE ticketing_buyers (
	company_id UUID             NOT NULL,
	email      TEXT COLLATE "C" NOT NULL,
	fullname   TEXT             NOT NULL,
	phone      TEXT             NOT NULL,
	created_at BIGINT           NOT NULL,
	updated_at BIGINT           NOT NULL,
	PRIMARY KEY (company_id, email)
);

CREATE TABLE ticketing_idempotency_keys (
	company_id UUID             NOT NULL,
	operation  TEXT COLLATE "C" NOT NULL,
	key        TEXT COLLATE "C" NOT NULL,
	digest     TEXT             NOT NULL,
	outcome    TEXT             NOT NULL,
	subject    UUID             NOT NULL,
	body       BYTEA,
	created_at BIGINT           NOT NULL,
	PRIMARY KEY (company_id, operation, key)
);

-- Money.

-- Every sale changes two wallets, in their place like a batch.
CREATE TABLE ticketing_wallets (
	company_id UUID             NOT NULL REFERENCES ticketing_companies (id),
	wallet     TEXT COLLATE "C" NOT NULL,
	status     TEXT             NOT NULL,
	currency   TEXT             NOT NULL,
	balance    BIGINT           NOT NULL,
	sequence   BIGINT           NOT NULL,
	hash       BYTEA            NOT NULL,
	last_at    BIGINT,
	PRIMARY KEY (company_id, wallet),
	CONSTRAINT ticketing_wallets_wallet_check CHECK (wallet IN ('FLOAT', 'EARNINGS')),
	CONSTRAINT ticketing_wallets_status_check CHECK (status IN ('ACTIVE', 'SUSPENDED')),
	CONSTRAINT ticketing_wallets_balance_check CHECK (balance >= 0),
	CONSTRAINT ticketing_wallets_sequence_check CHECK (sequence >= 0),
	CONSTRAINT ticketing_wallets_hash_check CHECK (octet_length(hash) = 32)
) WITH (fillfactor = 50);

CREATE TABLE ticketing_ledger_entries (
	company_id     UUID             NOT NULL,
	wallet         TEXT COLLATE "C" NOT NULL,
	sequence       BIGINT           NOT NULL,
	kind           TEXT             NOT NULL,
	amount         BIGINT           NOT NULL,
	balance_before BIGINT           NOT NULL,
	balance_after  BIGINT           NOT NULL,
	reference      TEXT             NOT NULL,
	at             BIGINT           NOT NULL,
	previous       BYTEA            NOT NULL,
	hash           BYTEA            NOT NULL,
	PRIMARY KEY (company_id, wallet, sequence),
	CONSTRAINT ticketing_ledger_entries_wallet_check CHECK (wallet IN ('FLOAT', 'EARNINGS')),
	CONSTRAINT ticketing_ledger_entries_sequence_check CHECK (sequence >= 1),
	CONSTRAINT ticketing_ledger_entries_balance_check CHECK (balance_before >= 0 AND balance_after >= 0),
	CONSTRAINT ticketing_ledger_entries_sum_check CHECK (balance_after = balance_before + amount),
	CONSTRAINT ticketing_ledger_entries_hash_check CHECK (octet_length(previous) = 32 AND octet_length(hash) = 32)
);

CREATE TABLE ticketing_float_credits (
	company_id UUID             NOT NULL REFERENCES ticketing_companies (id),
	reference  TEXT COLLATE "C" NOT NULL,
	amount     BIGINT           NOT NULL,
	sequence   BIGINT           NOT NULL,
	PRIMARY KEY (company_id, reference),
	CONSTRAINT ticketing_float_credits_amount_check CHECK (amount >= 0),
	CONSTRAINT ticketing_float_credits_sequence_check CHECK (sequence >= 1)
);

-- Facts.

CREATE TABLE ticketing_outbox (
	company_id   UUID    NOT NULL,
	at           BIGINT  NOT NULL,
	id           UUID    NOT NULL,
	type         TEXT    NOT NULL,
	subject      UUID    NOT NULL,
	handled      BOOLEAN NOT NULL,
	leased_until BIGINT,
	PRIMARY KEY (company_id, at, id)
);

CREATE INDEX ticketing_outbox_unhandled ON ticketing_outbox (company_id, at, id) WHERE NOT handled;

-- What never changes again refuses to. A trigger passes the name of what it guards, since on a partition TG_TABLE_NAME
-- is another.

CREATE FUNCTION ticketing_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	RAISE EXCEPTION USING
		ERRCODE = 'restrict_violation',
		CONSTRAINT = TG_ARGV[0],
		MESSAGE = format('%s refuses %s', TG_ARGV[0], TG_OP);
END
$$;

CREATE TRIGGER ticketing_ledger_entries_no_change BEFORE UPDATE OR DELETE ON ticketing_ledger_entries
	FOR EACH ROW EXECUTE FUNCTION ticketing_append_only('ticketing_ledger_entries_append_only');
CREATE TRIGGER ticketing_ledger_entries_no_truncate BEFORE TRUNCATE ON ticketing_ledger_entries
	FOR EACH STATEMENT EXECUTE FUNCTION ticketing_append_only('ticketing_ledger_entries_append_only');

CREATE TRIGGER ticketing_float_credits_no_change BEFORE UPDATE OR DELETE ON ticketing_float_credits
	FOR EACH ROW EXECUTE FUNCTION ticketing_append_only('ticketing_float_credits_append_only');
CREATE TRIGGER ticketing_float_credits_no_truncate BEFORE TRUNCATE ON ticketing_float_credits
	FOR EACH STATEMENT EXECUTE FUNCTION ticketing_append_only('ticketing_float_credits_append_only');

CREATE TRIGGER ticketing_brandings_no_change BEFORE UPDATE OR DELETE ON ticketing_brandings
	FOR EACH ROW EXECUTE FUNCTION ticketing_append_only('ticketing_brandings_append_only');
CREATE TRIGGER ticketing_brandings_no_truncate BEFORE TRUNCATE ON ticketing_brandings
	FOR EACH STATEMENT EXECUTE FUNCTION ticketing_append_only('ticketing_brandings_append_only');

CREATE TRIGGER ticketing_commission_rates_no_change BEFORE UPDATE OR DELETE ON ticketing_commission_rates
	FOR EACH ROW EXECUTE FUNCTION ticketing_append_only('ticketing_commission_rates_append_only');
CREATE TRIGGER ticketing_commission_rates_no_truncate BEFORE TRUNCATE ON ticketing_commission_rates
	FOR EACH STATEMENT EXECUTE FUNCTION ticketing_append_only('ticketing_commission_rates_append_only');

CREATE TRIGGER ticketing_idempotency_keys_no_change BEFORE UPDATE OR DELETE ON ticketing_idempotency_keys
	FOR EACH ROW EXECUTE FUNCTION ticketing_append_only('ticketing_idempotency_keys_append_only');
CREATE TRIGGER ticketing_idempotency_keys_no_truncate BEFORE TRUNCATE ON ticketing_idempotency_keys
	FOR EACH STATEMENT EXECUTE FUNCTION ticketing_append_only('ticketing_idempotency_keys_append_only');

CREATE TRIGGER ticketing_api_key_directory_no_change BEFORE UPDATE OR DELETE ON ticketing_api_key_directory
	FOR EACH ROW EXECUTE FUNCTION ticketing_append_only('ticketing_api_key_directory_append_only');
CREATE TRIGGER ticketing_api_key_directory_no_truncate BEFORE TRUNCATE ON ticketing_api_key_directory
	FOR EACH STATEMENT EXECUTE FUNCTION ticketing_append_only('ticketing_api_key_directory_append_only');
