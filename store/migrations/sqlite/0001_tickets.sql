-- Ids are 16 bytes, times milliseconds since 1970 in UTC, money kobo, lists of texts JSON. An empty text and a NULL
-- mean none. Tables of small rows that are found by their key alone are kept in it (WITHOUT ROWID).

CREATE TABLE ticketing_migrations (
	name       TEXT    NOT NULL PRIMARY KEY,
	checksum   TEXT    NOT NULL, -- SHA-256 of the file, hexadecimal
	applied_at INTEGER NOT NULL DEFAULT (CAST(unixepoch('subsec') * 1000 AS INTEGER))
) STRICT, WITHOUT ROWID;

CREATE TABLE ticketing_secrets (
	name       TEXT    NOT NULL PRIMARY KEY,
	created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Companies and what belongs to one, apart from its sales.

CREATE TABLE ticketing_companies (
	id                  BLOB    NOT NULL PRIMARY KEY,
	name                TEXT    NOT NULL,
	status              TEXT    NOT NULL,
	verification        TEXT    NOT NULL,
	approval_expires_at INTEGER,
	grace_until         INTEGER,
	reason              TEXT    NOT NULL,
	branding_version    INTEGER NOT NULL,
	created_at          INTEGER NOT NULL,
	updated_at          INTEGER NOT NULL,
	CONSTRAINT ticketing_companies_id_check CHECK (length(id) = 16),
	CONSTRAINT ticketing_companies_status_check CHECK (status IN ('ACTIVE', 'SUSPENDED')),
	CONSTRAINT ticketing_companies_verification_check
		CHECK (verification IN ('UNVERIFIED', 'SUBMITTED', 'APPROVED', 'REJECTED', 'REVOKED')),
	CONSTRAINT ticketing_companies_branding_version_check CHECK (branding_version >= 0)
) STRICT, WITHOUT ROWID;

CREATE INDEX ticketing_companies_list ON ticketing_companies (created_at, id);

CREATE TABLE ticketing_brandings (
	company_id      BLOB    NOT NULL REFERENCES ticketing_companies (id),
	version         INTEGER NOT NULL,
	brand_name      TEXT    NOT NULL,
	logo_url        TEXT    NOT NULL,
	primary_color   TEXT    NOT NULL,
	accent_color    TEXT    NOT NULL,
	checkout_footer TEXT    NOT NULL,
	ticket_footer   TEXT    NOT NULL,
	email_footer    TEXT    NOT NULL,
	support_email   TEXT    NOT NULL,
	created_at      INTEGER NOT NULL,
	PRIMARY KEY (company_id, version),
	CONSTRAINT ticketing_brandings_version_check CHECK (version >= 1)
) STRICT;

CREATE TABLE ticketing_commission_rates (
	company_id     BLOB    NOT NULL REFERENCES ticketing_companies (id),
	id             BLOB    NOT NULL,
	position       INTEGER NOT NULL,
	value          TEXT    NOT NULL,
	unit           TEXT    NOT NULL,
	effective_from INTEGER NOT NULL,
	created_at     INTEGER NOT NULL,
	PRIMARY KEY (company_id, id),
	UNIQUE (company_id, position),
	CONSTRAINT ticketing_commission_rates_position_check CHECK (position >= 1),
	CONSTRAINT ticketing_commission_rates_unit_check CHECK (unit IN ('BASIS_POINTS', 'PERCENT', 'FRACTION'))
) STRICT, WITHOUT ROWID;

CREATE INDEX ticketing_commission_rates_effective
	ON ticketing_commission_rates (company_id, effective_from, position);

CREATE TABLE ticketing_api_keys (
	company_id     BLOB    NOT NULL REFERENCES ticketing_companies (id),
	id             BLOB    NOT NULL,
	name           TEXT    NOT NULL,
	grants         TEXT    NOT NULL,
	status         TEXT    NOT NULL,
	digest         TEXT    NOT NULL,
	predecessor_id BLOB,
	created_at     INTEGER NOT NULL,
	last_used_at   INTEGER,
	revoked_at     INTEGER,
	PRIMARY KEY (company_id, id),
	CONSTRAINT ticketing_api_keys_id_check CHECK (length(id) = 16),
	CONSTRAINT ticketing_api_keys_status_check CHECK (status IN ('ACTIVE', 'REVOKED'))
) STRICT, WITHOUT ROWID;

CREATE INDEX ticketing_api_keys_list ON ticketing_api_keys (company_id, created_at DESC, id);

-- The one table that finds a company by something else: a request names nothing but its key.
CREATE TABLE ticketing_api_key_directory (
	id         BLOB NOT NULL PRIMARY KEY,
	company_id BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- What is sold.

CREATE TABLE ticketing_categories (
	id         BLOB    NOT NULL PRIMARY KEY,
	name       TEXT    NOT NULL,
	slug       TEXT    NOT NULL UNIQUE,
	status     TEXT    NOT NULL,
	created_at INTEGER NOT NULL,
	CONSTRAINT ticketing_categories_id_check CHECK (length(id) = 16),
	CONSTRAINT ticketing_categories_status_check CHECK (status IN ('ACTIVE', 'INACTIVE'))
) STRICT, WITHOUT ROWID;

CREATE TABLE ticketing_events (
	company_id        BLOB    NOT NULL REFERENCES ticketing_companies (id),
	id                BLOB    NOT NULL,
	title             TEXT    NOT NULL,
	description       TEXT    NOT NULL,
	status            TEXT    NOT NULL,
	date              TEXT    NOT NULL,
	starts_at         TEXT    NOT NULL,
	ends_at           TEXT    NOT NULL,
	timezone          TEXT    NOT NULL,
	location          TEXT    NOT NULL,
	venue             TEXT    NOT NULL,
	image_url         TEXT    NOT NULL,
	organizer_name    TEXT    NOT NULL,
	category_id       BLOB,
	ticket_categories TEXT    NOT NULL,
	ends_on           INTEGER,
	created_at        INTEGER NOT NULL,
	updated_at        INTEGER NOT NULL,
	PRIMARY KEY (id, company_id), -- in this order, since an operator names an event by its id alone
	CONSTRAINT ticketing_events_id_check CHECK (length(id) = 16),
	CONSTRAINT ticketing_events_status_check CHECK (status IN ('DRAFT', 'PUBLISHED', 'ENDED', 'CANCELLED'))
) STRICT;

CREATE INDEX ticketing_events_list ON ticketing_events (company_id, created_at, id);
CREATE INDEX ticketing_events_list_status ON ticketing_events (company_id, status, created_at, id);
CREATE INDEX ticketing_events_due ON ticketing_events (ends_on, company_id, id)
	WHERE status = 'PUBLISHED' AND ends_on IS NOT NULL;

CREATE TABLE ticketing_inventory_tiers (
	company_id BLOB    NOT NULL,
	event_id   BLOB    NOT NULL,
	tier       TEXT    NOT NULL,
	batches    INTEGER NOT NULL,
	total      INTEGER NOT NULL,
	cancelled  INTEGER NOT NULL,
	PRIMARY KEY (company_id, event_id, tier),
	FOREIGN KEY (event_id, company_id) REFERENCES ticketing_events (id, company_id),
	CONSTRAINT ticketing_inventory_tiers_batches_check CHECK (batches >= 0),
	CONSTRAINT ticketing_inventory_tiers_total_check CHECK (total BETWEEN 0 AND 1000000),
	CONSTRAINT ticketing_inventory_tiers_cancelled_check CHECK (cancelled IN (0, 1))
) STRICT, WITHOUT ROWID;

-- Nothing indexes sold, so that a sale changes the row alone. The partial indexes hold what is still to be sold: a
-- batch leaves them with its last admission, and what was sold out costs nobody anything.
CREATE TABLE ticketing_inventory_batches (
	company_id  BLOB    NOT NULL,
	event_id    BLOB    NOT NULL,
	tier        TEXT    NOT NULL,
	position    INTEGER NOT NULL,
	title       TEXT    NOT NULL,
	description TEXT    NOT NULL,
	unit_price  INTEGER NOT NULL,
	status      TEXT    NOT NULL,
	quantity    INTEGER NOT NULL,
	sold        INTEGER NOT NULL,
	open        INTEGER NOT NULL,
	created_at  INTEGER NOT NULL,
	PRIMARY KEY (company_id, event_id, tier, position),
	FOREIGN KEY (company_id, event_id, tier) REFERENCES ticketing_inventory_tiers (company_id, event_id, tier),
	CONSTRAINT ticketing_inventory_batches_position_check CHECK (position >= 1),
	CONSTRAINT ticketing_inventory_batches_unit_price_check CHECK (unit_price >= 0),
	CONSTRAINT ticketing_inventory_batches_status_check CHECK (status IN ('AVAILABLE', 'PAUSED', 'CANCELLED')),
	CONSTRAINT ticketing_inventory_batches_sold_check CHECK (sold >= 0 AND sold <= quantity),
	CONSTRAINT ticketing_inventory_batches_open_check CHECK (open = (status <> 'CANCELLED' AND sold < quantity))
) STRICT;

CREATE INDEX ticketing_inventory_batches_open_list
	ON ticketing_inventory_batches (company_id, event_id, tier, position) WHERE open;
CREATE INDEX ticketing_inventory_batches_stock
	ON ticketing_inventory_batches (company_id, event_id, tier, unit_price, position)
	WHERE open AND status = 'AVAILABLE';

-- Sales. What a sale appends has no foreign key: the verifier proves those references.

CREATE TABLE ticketing_orders (
	company_id      BLOB    NOT NULL,
	number          INTEGER NOT NULL,
	id              BLOB    NOT NULL,
	event_id        BLOB    NOT NULL,
	status          TEXT    NOT NULL,
	gross           INTEGER NOT NULL,
	commission      INTEGER NOT NULL,
	rate_id         BLOB    NOT NULL,
	branding        INTEGER NOT NULL,
	float_before    INTEGER NOT NULL,
	earnings_before INTEGER NOT NULL,
	buyer_email     TEXT    NOT NULL,
	buyer_fullname  TEXT    NOT NULL,
	buyer_phone     TEXT    NOT NULL,
	confirmed_at    INTEGER NOT NULL,
	created_at      INTEGER NOT NULL,
	PRIMARY KEY (company_id, number),
	UNIQUE (id, company_id),
	CONSTRAINT ticketing_orders_number_check CHECK (number >= 1),
	CONSTRAINT ticketing_orders_status_check CHECK (status IN ('CONFIRMED', 'CANCELLED', 'REFUNDED')),
	CONSTRAINT ticketing_orders_commission_check CHECK (commission >= 0 AND commission <= gross),
	CONSTRAINT ticketing_orders_balances_check CHECK (float_before >= 0 AND earnings_before >= 0)
) STRICT, WITHOUT ROWID;

CREATE INDEX ticketing_orders_event ON ticketing_orders (company_id, event_id, number);
CREATE INDEX ticketing_orders_status_list ON ticketing_orders (company_id, status, number)
	WHERE status <> 'CONFIRMED';
CREATE INDEX ticketing_orders_event_status ON ticketing_orders (company_id, event_id, status, number)
	WHERE status <> 'CONFIRMED';

CREATE TABLE ticketing_admissions (
	company_id    BLOB    NOT NULL,
	order_number  INTEGER NOT NULL,
	line          INTEGER NOT NULL,
	id            BLOB    NOT NULL,
	line_id       BLOB    NOT NULL,
	order_id      BLOB    NOT NULL,
	event_id      BLOB    NOT NULL,
	tier          TEXT    NOT NULL,
	batch         INTEGER NOT NULL,
	title         TEXT    NOT NULL,
	unit_price    INTEGER NOT NULL,
	voided        INTEGER NOT NULL,
	validation_id BLOB,
	validated_at  INTEGER,
	location      TEXT    NOT NULL,
	PRIMARY KEY (company_id, order_number, line),
	UNIQUE (id, company_id),
	CONSTRAINT ticketing_admissions_line_check CHECK (line >= 1),
	CONSTRAINT ticketing_admissions_unit_price_check CHECK (unit_price >= 0),
	CONSTRAINT ticketing_admissions_voided_check CHECK (voided IN (0, 1))
) STRICT, WITHOUT ROWID;

CREATE TABLE ticketing_buyers (
	company_id BLOB    NOT NULL,
	email      TEXT    NOT NULL,
	fullname   TEXT    NOT NULL,
	phone      TEXT    NOT NULL,
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL,
	PRIMARY KEY (company_id, email)
) STRICT, WITHOUT ROWID;

CREATE TABLE ticketing_idempotency_keys (
	company_id BLOB    NOT NULL,
	operation  TEXT    NOT NULL,
	key        TEXT    NOT NULL,
	digest     TEXT    NOT NULL,
	outcome    TEXT    NOT NULL,
	subject    BLOB    NOT NULL,
	body       BLOB,
	created_at INTEGER NOT NULL,
	PRIMARY KEY (company_id, operation, key)
) STRICT, WITHOUT ROWID;

-- Money.

CREATE TABLE ticketing_wallets (
	company_id BLOB    NOT NULL REFERENCES ticketing_companies (id),
	wallet     TEXT    NOT NULL,
	status     TEXT    NOT NULL,
	currency   TEXT    NOT NULL,
	balance    INTEGER NOT NULL,
	sequence   INTEGER NOT NULL,
	hash       BLOB    NOT NULL,
	last_at    INTEGER,
	PRIMARY KEY (company_id, wallet),
	CONSTRAINT ticketing_wallets_wallet_check CHECK (wallet IN ('FLOAT', 'EARNINGS')),
	CONSTRAINT ticketing_wallets_status_check CHECK (status IN ('ACTIVE', 'SUSPENDED')),
	CONSTRAINT ticketing_wallets_balance_check CHECK (balance >= 0),
	CONSTRAINT ticketing_wallets_sequence_check CHECK (sequence >= 0),
	CONSTRAINT ticketing_wallets_hash_check CHECK (length(hash) = 32)
) STRICT, WITHOUT ROWID;

CREATE TABLE ticketing_ledger_entries (
	company_id     BLOB    NOT NULL,
	wallet         TEXT    NOT NULL,
	sequence       INTEGER NOT NULL,
	kind           TEXT    NOT NULL,
	amount         INTEGER NOT NULL,
	balance_before INTEGER NOT NULL,
	balance_after  INTEGER NOT NULL,
	reference      TEXT    NOT NULL,
	at             INTEGER NOT NULL,
	previous       BLOB    NOT NULL,
	hash           BLOB    NOT NULL,
	PRIMARY KEY (company_id, wallet, sequence),
	CONSTRAINT ticketing_ledger_entries_wallet_check CHECK (wallet IN ('FLOAT', 'EARNINGS')),
	CONSTRAINT ticketing_ledger_entries_sequence_check CHECK (sequence >= 1),
	CONSTRAINT ticketing_ledger_entries_balance_check CHECK (balance_before >= 0 AND balance_after >= 0),
	CONSTRAINT ticketing_ledger_entries_sum_check CHECK (balance_after = balance_before + amount),
	CONSTRAINT ticketing_ledger_entries_hash_check CHECK (length(previous) = 32 AND length(hash) = 32)
) STRICT, WITHOUT ROWID;

CREATE TABLE ticketing_float_credits (
	company_id BLOB    NOT NULL REFERENCES ticketing_companies (id),
	reference  TEXT    NOT NULL,
	amount     INTEGER NOT NULL,
	sequence   INTEGER NOT NULL,
	PRIMARY KEY (company_id, reference),
	CONSTRAINT ticketing_float_credits_amount_check CHECK (amount >= 0),
	CONSTRAINT ticketing_float_credits_sequence_check CHECK (sequence >= 1)
) STRICT, WITHOUT ROWID;

-- Facts.

CREATE TABLE ticketing_outbox (
	company_id   BLOB    NOT NULL,
	at           INTEGER NOT NULL,
	id           BLOB    NOT NULL,
	type         TEXT    NOT NULL,
	subject      BLOB    NOT NULL,
	handled      INTEGER NOT NULL,
	leased_until INTEGER,
	PRIMARY KEY (company_id, at, id),
	CONSTRAINT ticketing_outbox_handled_check CHECK (handled IN (0, 1))
) STRICT, WITHOUT ROWID;

CREATE INDEX ticketing_outbox_unhandled ON ticketing_outbox (company_id, at, id) WHERE NOT handled;

-- What never changes again refuses to.

CREATE TRIGGER ticketing_ledger_entries_no_update BEFORE UPDATE ON ticketing_ledger_entries
BEGIN SELECT RAISE(ABORT, 'ticketing_ledger_entries_append_only'); END;
CREATE TRIGGER ticketing_ledger_entries_no_delete BEFORE DELETE ON ticketing_ledger_entries
BEGIN SELECT RAISE(ABORT, 'ticketing_ledger_entries_append_only'); END;

CREATE TRIGGER ticketing_float_credits_no_update BEFORE UPDATE ON ticketing_float_credits
BEGIN SELECT RAISE(ABORT, 'ticketing_float_credits_append_only'); END;
CREATE TRIGGER ticketing_float_credits_no_delete BEFORE DELETE ON ticketing_float_credits
BEGIN SELECT RAISE(ABORT, 'ticketing_float_credits_append_only'); END;

CREATE TRIGGER ticketing_brandings_no_update BEFORE UPDATE ON ticketing_brandings
BEGIN SELECT RAISE(ABORT, 'ticketing_brandings_append_only'); END;
CREATE TRIGGER ticketing_brandings_no_delete BEFORE DELETE ON ticketing_brandings
BEGIN SELECT RAISE(ABORT, 'ticketing_brandings_append_only'); END;

CREATE TRIGGER ticketing_commission_rates_no_update BEFORE UPDATE ON ticketing_commission_rates
BEGIN SELECT RAISE(ABORT, 'ticketing_commission_rates_append_only'); END;
CREATE TRIGGER ticketing_commission_rates_no_delete BEFORE DELETE ON ticketing_commission_rates
BEGIN SELECT RAISE(ABORT, 'ticketing_commission_rates_append_only'); END;

CREATE TRIGGER ticketing_idempotency_keys_no_update BEFORE UPDATE ON ticketing_idempotency_keys
BEGIN SELECT RAISE(ABORT, 'ticketing_idempotency_keys_append_only'); END;
CREATE TRIGGER ticketing_idempotency_keys_no_delete BEFORE DELETE ON ticketing_idempotency_keys
BEGIN SELECT RAISE(ABORT, 'ticketing_idempotency_keys_append_only'); END;

CREATE TRIGGER ticketing_api_key_directory_no_update BEFORE UPDATE ON ticketing_api_key_directory
BEGIN SELECT RAISE(ABORT, 'ticketing_api_key_directory_append_only'); END;
CREATE TRIGGER ticketing_api_key_directory_no_delete BEFORE DELETE ON ticketing_api_key_directory
BEGIN SELECT RAISE(ABORT, 'ticketing_api_key_directory_append_only'); END;
