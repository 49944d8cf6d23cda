-- Money out and back: bank accounts, settlements, and what ended orders. They have no foreign keys, since a table of a
-- company gets none in the migration that makes it: see docs/scaling.md.

-- The number is sealed: nobody who reads the table learns more of it than its last four digits.
CREATE TABLE ticketing_bank_accounts (
	company_id   UUID             NOT NULL,
	version      BIGINT           NOT NULL,
	bank         TEXT             NOT NULL,
	account_name TEXT             NOT NULL,
	number       TEXT COLLATE "C" NOT NULL,
	last4        TEXT             NOT NULL,
	created_at   BIGINT           NOT NULL,
	PRIMARY KEY (company_id, version),
	CONSTRAINT ticketing_bank_accounts_version_check CHECK (version >= 1),
	CONSTRAINT ticketing_bank_accounts_last4_check CHECK (length(last4) = 4)
);

CREATE TABLE ticketing_settlements (
	company_id      UUID             NOT NULL,
	number          BIGINT           NOT NULL,
	id              UUID             NOT NULL,
	amount          BIGINT           NOT NULL,
	status          TEXT COLLATE "C" NOT NULL,
	bank_account    BIGINT           NOT NULL,
	reason          TEXT             NOT NULL,
	requested_at    BIGINT           NOT NULL,
	decided_at      BIGINT,
	refund_sequence BIGINT           NOT NULL,
	PRIMARY KEY (company_id, number),
	UNIQUE (id, company_id),
	CONSTRAINT ticketing_settlements_number_check CHECK (number >= 1),
	CONSTRAINT ticketing_settlements_amount_check CHECK (amount >= 1),
	CONSTRAINT ticketing_settlements_status_check
		CHECK (status IN ('PENDING', 'PROCESSING', 'APPROVED', 'COMPLETED', 'REJECTED', 'FAILED')),
	CONSTRAINT ticketing_settlements_refund_check
		CHECK (refund_sequence = 0 OR (refund_sequence > number AND status IN ('REJECTED', 'FAILED')))
);

-- A company has one open settlement at a time.
CREATE UNIQUE INDEX ticketing_settlements_company_id_idx ON ticketing_settlements (company_id)
	WHERE status IN ('PENDING', 'PROCESSING', 'APPROVED');

-- What ended an order, kept once.
CREATE TABLE ticketing_order_endings (
	company_id        UUID             NOT NULL,
	number            BIGINT           NOT NULL,
	order_id          UUID             NOT NULL,
	status            TEXT COLLATE "C" NOT NULL,
	reason            TEXT             NOT NULL,
	restocked         BOOLEAN          NOT NULL,
	float_sequence    BIGINT           NOT NULL,
	earnings_sequence BIGINT           NOT NULL,
	at                BIGINT           NOT NULL,
	PRIMARY KEY (company_id, number),
	CONSTRAINT ticketing_order_endings_number_check CHECK (number >= 1),
	CONSTRAINT ticketing_order_endings_status_check CHECK (
		(status = 'REFUNDED' AND float_sequence >= 1 AND earnings_sequence >= 1)
		OR (status = 'CANCELLED' AND float_sequence = 0 AND earnings_sequence = 0 AND NOT restocked))
);

CREATE TRIGGER ticketing_order_endings_no_change BEFORE UPDATE OR DELETE ON ticketing_order_endings
	FOR EACH ROW EXECUTE FUNCTION ticketing_append_only('ticketing_order_endings_append_only');
CREATE TRIGGER ticketing_order_endings_no_truncate BEFORE TRUNCATE ON ticketing_order_endings
	FOR EACH STATEMENT EXECUTE FUNCTION ticketing_append_only('ticketing_order_endings_append_only');
