-- What people sign in with, and the staff of the platform. Sessions, tokens and passkeys are of a user, and on a
-- distributed engine all of a user are on one node. The tables have no foreign keys: see docs/scaling.md.

-- A session is removed when it ends. No secret is kept, only a digest of it.
CREATE TABLE ticketing_sessions (
	user_id      BLOB    NOT NULL,
	id           BLOB    NOT NULL,
	digest       TEXT    NOT NULL,
	method       TEXT    NOT NULL,
	browser      TEXT    NOT NULL,
	address      TEXT    NOT NULL,
	created_at   INTEGER NOT NULL,
	confirmed_at INTEGER NOT NULL,
	seen_at      INTEGER NOT NULL,
	PRIMARY KEY (user_id, id),
	CONSTRAINT ticketing_sessions_method_check CHECK (method IN ('PASSKEY', 'LINK', 'CODE', 'OIDC'))
) STRICT, WITHOUT ROWID;

CREATE INDEX ticketing_sessions_created ON ticketing_sessions (user_id, created_at, id);

-- A link or a code. It stays until some time after it expired.
CREATE TABLE ticketing_sign_in_tokens (
	user_id    BLOB    NOT NULL,
	id         BLOB    NOT NULL,
	kind       TEXT    NOT NULL,
	digest     TEXT    NOT NULL,
	browser    TEXT    NOT NULL, -- digest; empty: of a link
	company_id BLOB,             -- where it leads to
	tries      INTEGER NOT NULL,
	created_at INTEGER NOT NULL,
	expires_at INTEGER NOT NULL,
	used_at    INTEGER,
	PRIMARY KEY (user_id, id),
	CONSTRAINT ticketing_sign_in_tokens_kind_check CHECK (kind IN ('LINK', 'INVITATION', 'CODE')),
	CONSTRAINT ticketing_sign_in_tokens_tries_check CHECK (tries >= 0)
) STRICT, WITHOUT ROWID;

CREATE INDEX ticketing_sign_in_tokens_created ON ticketing_sign_in_tokens (user_id, created_at, id);

CREATE TABLE ticketing_passkeys (
	user_id      BLOB    NOT NULL,
	id           TEXT    NOT NULL,
	name         TEXT    NOT NULL,
	credential   TEXT    NOT NULL, -- JSON
	counter      INTEGER NOT NULL,
	created_at   INTEGER NOT NULL,
	last_used_at INTEGER,
	PRIMARY KEY (user_id, id),
	CONSTRAINT ticketing_passkeys_counter_check CHECK (counter >= 0)
) STRICT, WITHOUT ROWID;

CREATE INDEX ticketing_passkeys_created ON ticketing_passkeys (user_id, created_at, id);

-- Staff are few and of the whole platform, as users are.
CREATE TABLE ticketing_staff (
	user_id    BLOB    NOT NULL PRIMARY KEY,
	name       TEXT    NOT NULL,
	role       TEXT    NOT NULL, -- empty: was removed
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL,
	CONSTRAINT ticketing_staff_role_check
		CHECK (role IN ('', 'ADMINISTRATOR', 'FINANCE', 'ONBOARDING', 'SUPPORT', 'AUDITOR'))
) STRICT, WITHOUT ROWID;

CREATE INDEX ticketing_staff_current ON ticketing_staff (user_id) WHERE role <> '';

-- The companies of a user.
CREATE INDEX ticketing_members_of_user ON ticketing_members (user_id, company_id) WHERE role <> '';
