-- Users are of the whole platform and few, so that a distributed engine keeps a copy of them on each node. Members and
-- cases have no foreign key, since a table of a company gets none in the migration that makes it: see docs/scaling.md.

CREATE TABLE ticketing_users (
	id         BLOB    NOT NULL PRIMARY KEY,
	email      TEXT    NOT NULL UNIQUE,
	created_at INTEGER NOT NULL,
	CONSTRAINT ticketing_users_id_check CHECK (length(id) = 16)
) STRICT, WITHOUT ROWID;

CREATE TABLE ticketing_members (
	company_id BLOB    NOT NULL,
	user_id    BLOB    NOT NULL,
	name       TEXT    NOT NULL,
	role       TEXT    NOT NULL, -- empty: was removed
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL,
	PRIMARY KEY (company_id, user_id),
	CONSTRAINT ticketing_members_role_check CHECK (role IN ('', 'OWNER', 'ADMINISTRATOR', 'VIEWER'))
) STRICT, WITHOUT ROWID;

CREATE TABLE ticketing_verification_cases (
	company_id          BLOB    NOT NULL,
	number              INTEGER NOT NULL,
	status              TEXT    NOT NULL,
	legal_name          TEXT    NOT NULL,
	registration_number TEXT    NOT NULL,
	country             TEXT    NOT NULL,
	address             TEXT    NOT NULL,
	contact_name        TEXT    NOT NULL,
	contact_email       TEXT    NOT NULL,
	contact_phone       TEXT    NOT NULL,
	reason              TEXT    NOT NULL,
	submitted_at        INTEGER,
	decided_at          INTEGER,
	created_at          INTEGER NOT NULL,
	updated_at          INTEGER NOT NULL,
	PRIMARY KEY (company_id, number),
	CONSTRAINT ticketing_verification_cases_number_check CHECK (number >= 1),
	CONSTRAINT ticketing_verification_cases_status_check
		CHECK (status IN ('UNVERIFIED', 'SUBMITTED', 'APPROVED', 'REJECTED', 'REVOKED'))
) STRICT, WITHOUT ROWID;
