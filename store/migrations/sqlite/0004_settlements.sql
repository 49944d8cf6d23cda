-- Money out and back: bank accounts, settlements, and what ended orders. They have no foreign keys, since a table of a
-- company gets none in the migration that makes it: see docs/scaling.md.

-- The number is sealed: nobody who reads the table learns more of it than its last four digits.
CREATE TABLE ticketing_bank_accounts (
	company_id   BLOB    NOT NULL,
	version      INTEGER NOT NULL,
	bank         TEXT    NOT NULL,
	account_name TEXT    NOT NULL,
	number       TEXT    NOT NULL,
	last4        TEXT    NOT NULL,
	created_at   INTEGER NOT NULL,
	PRIMARY KEY (company_id, version),
	CONSTRAINT ticketing_bank_accounts_version_check CHECK (version >= 1),
	CONSTRAINT ticketing_bank_accounts_last4_check CHECK (length(last4) = 4)
) STRICT, WITHOUT ROWID;

CREATE TABLE ticketing_settlements (
	company_id      BLOB    NOT NULL,
	number          INTEGER NOT NULL,
	id              BLOB    NOT NULL,
	amount          INTEGER NOT NULL,
	status          TEXT    NOT NULL,
	bank_account    INTEGER NOT NULL,
	reason          TEXT    NOT NULL,
	requested_at    INTEGER NOT NULL,
	decided_at      INTEGER,
	refund_sequence INTEGER NOT NULL,
	PRIMARY KEY (company_id, number),
	UNIQUE (id, company_id),
	CONSTRAINT ticketing_settlements_number_check CHECK (number >= 1),
	CONSTRAINT ticketing_settlements_amount_check CHECK (amount >= 1),
	CONSTRAINT ticketing_settlements_status_check
		CHECK (status IN ('PENDING', 'PROCESSING', 'APPROVED', 'COMPLETED', 'REJECTED', 'FAILED')),
	CONSTRAINT ticketing_settlements_refund_check
		CHECK (refund_sequence = 0 OR (refund_sequence > number AND status IN ('REJECTED', 'FAILED')))
) STRICT, WITHOUT ROWID;

-- A company has one open settlement at a time.
CREATE UNIQUE INDEX ticketing_settlements_company_id_idx ON ticketing_settlements (company_id)
	WHERE status IN ('PENDING', 'PROCESSING', 'APPROVED');

-- What ended an order, kept once.
CREATE TABLE ticketing_order_endings (
	company_id        BLOB    NOT NULL,
	number            INTEGER NOT NULL,
	order_id          BLOB    NOT NULL,
	status            TEXT    NOT NULL,
	reason            TEXT    NOT NULL,
	restocked         INTEGER NOT NULL,
	float_sequence    INTEGER NOT NULL,
	earnings_sequence INTEGER NOT NULL,
	at                INTEGER NOT NULL,
	PRIMARY KEY (company_id, number),
	CONSTRAINT ticketing_order_endings_number_check CHECK (number >= 1),
	CONSTRAINT ticketing_order_endings_restocked_check CHECK (restocked IN (0, 1)),
	CONSTRAINT ticketing_order_endings_status_check CHECK (
		(status = 'REFUNDED' AND float_sequence >= 1 AND earnings_sequence >= 1)
		OR (status = 'CANCELLED' AND float_sequence = 0 AND earnings_sequence = 0 AND NOT restocked))
) STRICT, WITHOUT ROWID;

CREATE TRIGGER ticketing_order_endings_no_update BEFORE UPDATE ON ticketing_order_endings
BEGIN SELECT RAISE(ABORT, 'ticketing_order_endings_append_only'); END;
CREATE TRIGGER ticketing_order_endings_no_delete BEFORE DELETE ON ticketing_order_endings
BEGIN SELECT RAISE(ABORT, 'ticketing_order_endings_append_only'); END;
