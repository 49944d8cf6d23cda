package store

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/floatgate/ticketing/driver"
)

type sessionModel struct {
	bun.BaseModel `bun:"table:ticketing_sessions,alias:s"`
	sessionFields
}

type sessionFields struct {
	UserID      uuid.UUID `bun:",pk"`
	ID          uuid.UUID `bun:",pk"`
	Digest      string
	Method      driver.SignInMethod
	Browser     string
	Address     string
	CreatedAt   time.Time
	ConfirmedAt time.Time
	SeenAt      time.Time
}

func (m sessionModel) record() driver.Session { return driver.Session(m.sessionFields) }

const sessionColumns = "user_id, id, digest, method, browser, address, created_at, confirmed_at, seen_at"

func scanSession(row rowSet, s *driver.Session) error {
	return row.Scan((*id)(&s.UserID), (*id)(&s.ID), &s.Digest, (*string)(&s.Method), &s.Browser, &s.Address,
		(*moment)(&s.CreatedAt), (*moment)(&s.ConfirmedAt), (*moment)(&s.SeenAt))
}

type signInTokenModel struct {
	bun.BaseModel `bun:"table:ticketing_sign_in_tokens,alias:t"`
	signInTokenFields
}

type signInTokenFields struct {
	UserID    uuid.UUID `bun:",pk"`
	ID        uuid.UUID `bun:",pk"`
	Kind      driver.SignInMethod
	Digest    string
	Browser   string
	CompanyID uuid.UUID `bun:",nullzero"`
	Tries     int
	CreatedAt time.Time
	ExpiresAt time.Time
	UsedAt    time.Time
}

func (m signInTokenModel) record() driver.SignInToken { return driver.SignInToken(m.signInTokenFields) }

type passkeyModel struct {
	bun.BaseModel `bun:"table:ticketing_passkeys,alias:p"`
	passkeyFields
}

type passkeyFields struct {
	UserID     uuid.UUID `bun:",pk"`
	ID         string    `bun:",pk"`
	Name       string
	Credential string
	Counter    int64
	CreatedAt  time.Time
	LastUsedAt time.Time
}

func (m passkeyModel) record() driver.Passkey { return driver.Passkey(m.passkeyFields) }

// Sessions finds sessions.
func (s *session) Sessions(ctx context.Context, refs []driver.SessionRef) ([]driver.Session, error) {
	return findByRefs(refs,
		func(s driver.Session) driver.SessionRef { return driver.SessionRef{UserID: s.UserID, ID: s.ID} },
		func(refs []driver.SessionRef) ([]driver.Session, error) {
			return query(ctx, s, "Sessions", scanSession, "SELECT "+sessionColumns+" FROM ?",
				keyedRows{table: "ticketing_sessions s", set: newSet("user_id, id", refs,
					func(r driver.SessionRef) []any { return []any{r.UserID, r.ID} })})
		})
}

// ListSessions returns a user's sessions, newest first.
func (s *session) ListSessions(ctx context.Context, userID uuid.UUID, limit int) ([]driver.Session, error) {
	return find(ctx, s, "ListSessions", sessionModel.record, s.newSelect().
		Where("user_id = ?", id(userID)).Apply(page("created_at DESC, id DESC", limit)))
}

// seen is when a user last used a session.
type seen struct {
	user uuid.UUID
	at   time.Time
}

// LastSeen finds when users last used a session. It reads all of their sessions, which are few: an index of the time
// would cost each use of a session.
func (s *session) LastSeen(ctx context.Context, users []uuid.UUID) ([]time.Time, error) {
	scan := func(row rowSet, used *seen) error { return row.Scan((*id)(&used.user), (*moment)(&used.at)) }
	latest := make(map[uuid.UUID]time.Time, len(users))
	for part := range slices.Chunk(users, maxRows) {
		found, err := query(ctx, s, "LastSeen", scan,
			"SELECT user_id, seen_at FROM ticketing_sessions WHERE ?", inIDs("user_id", part))
		if err != nil {
			return nil, err
		}
		for _, used := range found {
			if used.at.After(latest[used.user]) {
				latest[used.user] = used.at
			}
		}
	}
	times := make([]time.Time, len(users))
	for i, user := range users {
		times[i] = latest[user]
	}
	return times, nil
}

// SignInTokens finds sign-in tokens.
func (s *session) SignInTokens(
	ctx context.Context, refs []driver.SignInTokenRef,
) ([]driver.SignInToken, error) {
	return findByRefs(refs,
		func(t driver.SignInToken) driver.SignInTokenRef {
			return driver.SignInTokenRef{UserID: t.UserID, ID: t.ID}
		},
		func(refs []driver.SignInTokenRef) ([]driver.SignInToken, error) {
			return find(ctx, s, "SignInTokens", signInTokenModel.record,
				s.selectKeyed(keyedRows{table: "ticketing_sign_in_tokens t", set: newSet("user_id, id", refs,
					func(r driver.SignInTokenRef) []any { return []any{r.UserID, r.ID} })}))
		})
}

// ListSignInTokens returns a user's sign-in tokens, newest first.
func (s *session) ListSignInTokens(
	ctx context.Context, userID uuid.UUID, limit int,
) ([]driver.SignInToken, error) {
	return find(ctx, s, "ListSignInTokens", signInTokenModel.record, s.newSelect().
		Where("user_id = ?", id(userID)).Apply(page("created_at DESC, id DESC", limit)))
}

// Passkeys finds passkeys.
func (s *session) Passkeys(ctx context.Context, refs []driver.PasskeyRef) ([]driver.Passkey, error) {
	return findByRefs(refs,
		func(p driver.Passkey) driver.PasskeyRef { return driver.PasskeyRef{UserID: p.UserID, ID: p.ID} },
		func(refs []driver.PasskeyRef) ([]driver.Passkey, error) {
			return find(ctx, s, "Passkeys", passkeyModel.record,
				s.selectKeyed(keyedRows{table: "ticketing_passkeys p", set: newSet("user_id, id", refs,
					func(r driver.PasskeyRef) []any { return []any{r.UserID, r.ID} })}))
		})
}

// ListPasskeys returns a user's passkeys, oldest first.
func (s *session) ListPasskeys(ctx context.Context, userID uuid.UUID, limit int) ([]driver.Passkey, error) {
	return find(ctx, s, "ListPasskeys", passkeyModel.record, s.newSelect().
		Where("user_id = ?", id(userID)).Apply(page("created_at, id", limit)))
}

// PutSession inserts or updates a session. The time of creation of an existing one stays.
func (tx *transaction) PutSession(ctx context.Context, s driver.Session) error {
	return tx.write(ctx, "PutSession", anyNumber, tx.insertion(&sessionModel{sessionFields: sessionFields(s)}).
		On("CONFLICT (user_id, id) DO UPDATE").
		Set("digest = EXCLUDED.digest, method = EXCLUDED.method, browser = EXCLUDED.browser, "+
			"address = EXCLUDED.address, confirmed_at = EXCLUDED.confirmed_at, seen_at = EXCLUDED.seen_at"))
}

// TouchSession writes when a session was last used, never an earlier time. A session that has ended is no error.
func (tx *transaction) TouchSession(ctx context.Context, ref driver.SessionRef, seenAt time.Time) error {
	at := seenAt.UnixMilli()
	return tx.exec(ctx, "TouchSession",
		"UPDATE ticketing_sessions SET seen_at = ? WHERE user_id = ? AND id = ? AND seen_at < ?",
		at, ref.UserID, ref.ID, at)
}

// DeleteSessions removes those of a user's sessions that still exist.
func (tx *transaction) DeleteSessions(ctx context.Context, userID uuid.UUID, ids []uuid.UUID) error {
	return deleteOwned(ctx, tx, "DeleteSessions", "ticketing_sessions", userID, ids)
}

// PutSignInToken inserts or updates a sign-in token. The time of creation of an existing one stays.
func (tx *transaction) PutSignInToken(ctx context.Context, t driver.SignInToken) error {
	return tx.write(ctx, "PutSignInToken", anyNumber,
		tx.insertion(&signInTokenModel{signInTokenFields: signInTokenFields(t)}).
			On("CONFLICT (user_id, id) DO UPDATE").
			Set("kind = EXCLUDED.kind, digest = EXCLUDED.digest, browser = EXCLUDED.browser, "+
				"company_id = EXCLUDED.company_id, tries = EXCLUDED.tries, expires_at = EXCLUDED.expires_at, "+
				"used_at = EXCLUDED.used_at"))
}

// DeleteSignInTokens removes those of a user's sign-in tokens that still exist.
func (tx *transaction) DeleteSignInTokens(ctx context.Context, userID uuid.UUID, ids []uuid.UUID) error {
	return deleteOwned(ctx, tx, "DeleteSignInTokens", "ticketing_sign_in_tokens", userID, ids)
}

// PutPasskey inserts or updates a passkey. The time of creation of an existing one stays.
func (tx *transaction) PutPasskey(ctx context.Context, p driver.Passkey) error {
	return tx.write(ctx, "PutPasskey", anyNumber, tx.insertion(&passkeyModel{passkeyFields: passkeyFields(p)}).
		On("CONFLICT (user_id, id) DO UPDATE").
		Set("name = EXCLUDED.name, credential = EXCLUDED.credential, counter = EXCLUDED.counter, "+
			"last_used_at = EXCLUDED.last_used_at"))
}

// DeletePasskeys removes those of a user's passkeys that still exist.
func (tx *transaction) DeletePasskeys(ctx context.Context, userID uuid.UUID, ids []string) error {
	return deleteOwned(ctx, tx, "DeletePasskeys", "ticketing_passkeys", userID, ids)
}

// deleteOwned removes a user's rows by their ids, each by its whole key: see hidesValues.
func deleteOwned[I any](
	ctx context.Context, tx *transaction, name, table string, userID uuid.UUID, ids []I,
) error {
	for _, id := range ids {
		if err := tx.exec(ctx, name, "DELETE FROM "+table+" WHERE user_id = ? AND id = ?", userID, id); err != nil {
			return err
		}
	}
	return nil
}
