-- What people sign in with, and the staff of the platform. Sessions, tokens and passkeys are of a user, and on a
-- distributed engine all of a user are on one node. The tables have no foreign keys: see docs/scaling.md.

-- A session is removed when it ends. No secret is kept, only a digest of it.
CREATE TABLE ticketing_sessions (
	user_id      UUID   NOT NULL,
	id           UUID   NOT NULL,
	digest       TEXT   NOT NULL,
	method       TEXT   NOT NULL,
	browser      TEXT   NOT NULL,
	address      TEXT   NOT NULL,
	created_at   BIGINT NOT NULL,
	confirmed_at BIGINT NOT NULL,
	seen_at      BIGINT NOT NULL,
	PRIMARY KEY (user_id, id),
	CONSTRAINT ticketing_sessions_method_check CHECK (method IN ('PASSKEY', 'LINK', 'CODE', 'OIDC'))
);
ALTER TABLE ticketing_sessions ALTER user_id SET STATISTICS 0;

CREATE INDEX ticketing_sessions_created ON ticketing_sessions (user_id, created_at, id);

-- A link or a code. It stays until some time after it expired.
CREATE TABLE ticketing_sign_in_tokens (
	user_id    UUID   NOT NULL,
	id         UUID   NOT NULL,
	kind       TEXT   NOT NULL,
	digest     TEXT   NOT NULL,
	browser    TEXT   NOT NULL, -- digest; empty: of a link
	company_id UUID,            -- where it leads to
	tries      BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	expires_at BIGINT NOT NULL,
	used_at    BIGINT,
	PRIMARY KEY (user_id, id),
	CONSTRAINT ticketing_sign_in_tokens_kind_check CHECK (kind IN ('LINK', 'INVITATION', 'CODE')),
	CONSTRAINT ticketing_sign_in_tokens_tries_check CHECK (tries >= 0)
);
ALTER TABLE ticketing_sign_in_tokens ALTER user_id SET STATISTICS 0, ALTER company_id SET STATISTICS 0;

CREATE INDEX ticketing_sign_in_tokens_created ON ticketing_sign_in_tokens (user_id, created_at, id);

CREATE TABLE ticketing_passkeys (
	user_id      UUID             NOT NULL,
	id           TEXT COLLATE "C" NOT NULL,
	name         TEXT             NOT NULL,
	credential   TEXT             NOT NULL, -- JSON
	counter      BIGINT           NOT NULL,
	created_at   BIGINT           NOT NULL,
	last_used_at BIGINT,
	PRIMARY KEY (user_id, id),
	CONSTRAINT ticketing_passkeys_counter_check CHECK (counter >= 0)
);
ALTER TABLE ticketing_passkeys ALTER user_id SET STATISTICS 0;

CREATE INDEX ticketing_passkeys_created ON ticketing_passkeys (user_id, created_at, id);

-- Staff are few and of the whole platform, as users are.
CREATE TABLE ticketing_staff (
	user_id    UUID   NOT NULL PRIMARY KEY,
	name       TEXT   NOT NULL,
	role       TEXT   NOT NULL, -- empty: was removed
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL,
	CONSTRAINT ticketing_staff_role_check
		CHECK (role IN ('', 'ADMINISTRATOR', 'FINANCE', 'ONBOARDING', 'SUPPORT', 'AUDITOR'))
);

CREATE INDEX ticketing_staff_current ON ticketing_staff (user_id) WHERE role <> '';

-- The companies of a user.
CREATE INDEX ticketing_members_of_user ON ticketing_members (user_id, company_id) WHERE role <> '';
