-- Users are of the whole platform and few, so that a distributed engine keeps a copy of them on each node. Members and
-- cases have no foreign key, since a table of a company gets none in the migration that makes it: see docs/scaling.md.

CREATE TABLE ticketing_users (
	id         UUID             NOT NULL PRIMARY KEY,
	email      TEXT COLLATE "C" NOT NULL UNIQUE,
	created_at BIGINT           NOT NULL
);

CREATE TABLE ticketing_members (
	company_id UUID   NOT NULL,
	user_id    UUID   NOT NULL,
	name       TEXT   NOT NULL,
	role       TEXT   NOT NULL, -- empty: was removed
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL,
	PRIMARY KEY (company_id, user_id),
	CONSTRAINT ticketing_members_role_check CHECK (role IN ('', 'OWNER', 'ADMINISTRATOR', 'VIEWER'))
);

CREATE TABLE ticketing_verification_cases (
	company_id          UUID   NOT NULL,
	number              BIGINT NOT NULL,
	status              TEXT   NOT NULL,
	legal_name          TEXT   NOT NULL,
	registration_number TEXT   NOT NULL,
	country             TEXT   NOT NULL,
	address             TEXT   NOT NULL,
	contact_name        TEXT   NOT NULL,
	contact_email       TEXT   NOT NULL,
	contact_phone       TEXT   NOT NULL,
	reason              TEXT   NOT NULL,
	submitted_at        BIGINT,
	decided_at          BIGINT,
	created_at          BIGINT NOT NULL,
	updated_at          BIGINT NOT NULL,
	PRIMARY KEY (company_id, number),
	CONSTRAINT ticketing_verification_cases_number_check CHECK (number >= 1),
	CONSTRAINT ticketing_verification_cases_status_check
		CHECK (status IN ('UNVERIFIED', 'SUBMITTED', 'APPROVED', 'REJECTED', 'REVOKED'))
);
