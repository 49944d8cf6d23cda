package ticketing

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// signInRecords are sessions, and links and codes that can still be used, of one user.
type signInRecords struct {
	sessions []driver.Session
	tokens   []driver.SignInToken
}

// endAllSessions ends all sessions of a user and makes their unused links and codes useless. It counts the
// sessions.
func (o Operator) endAllSessions(ctx context.Context, userID uuid.UUID) (n int, err error) {
	return o.endSessions(ctx, userID, about("user", userID),
		func(ctx context.Context, tx driver.ReadTx, at time.Time) (ended signInRecords, err error) {
			if ended.sessions, err = tx.ListSessions(ctx, userID, 2*maxSessions); err != nil {
				return ended, err
			}
			ended.tokens, err = tx.ListSignInTokens(ctx, userID, 2*maxTokens)
			ended.tokens = slices.DeleteFunc(ended.tokens, func(t driver.SignInToken) bool { return !usable(t, at) })
			return ended, err
		})
}

// EndSession ends one session of a user: they sign out. Ending a session twice is not an error.
func (a Accounts) EndSession(ctx context.Context, userID, sessionID uuid.UUID) error {
	_, err := a.as(userID).endSessions(ctx, userID, about("session", sessionID),
		func(ctx context.Context, tx driver.ReadTx, _ time.Time) (ended signInRecords, err error) {
			ended.sessions, err = tx.Sessions(ctx, []driver.SessionRef{{UserID: userID, ID: sessionID}})
			if err == nil && ended.sessions[0].ID == uuid.Nil {
				ended.sessions = nil
			}
			return ended, err
		})
	return err
}

// EndSessions ends all sessions of a user and returns their number: the user signs out everywhere. Unused sign-in links
// and codes of the user stop working, too.
func (a Accounts) EndSessions(ctx context.Context, userID uuid.UUID) (n int, err error) {
	return a.as(userID).endAllSessions(ctx, userID)
}

// EndSessionsAs is [Accounts.EndSessions] on behalf of someone other than the user. The audit log records actor as its
// [Actor.Name].
func (a Accounts) EndSessionsAs(ctx context.Context, actor string, userID uuid.UUID) (n int, err error) {
	var v violations
	actor = requiredText(&v, "actor", actor, 1, maxActorName)
	if err := v.err(); err != nil {
		return 0, err
	}
	return a.s.As(Actor{Name: actor}).endAllSessions(ctx, userID)
}

// endSessions ends what find finds, and counts the sessions. It is in the name of the operator, for the audit log.
func (o Operator) endSessions(
	ctx context.Context, userID uuid.UUID, subject string,
	find func(context.Context, driver.ReadTx, time.Time) (signInRecords, error),
) (n int, err error) {
	at := o.s.now()
	err = o.s.store.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		n = 0
		if _, err := tx.Begin(ctx, platformAlone()); err != nil {
			return err
		}
		found, err := find(ctx, tx, at)
		if err != nil || len(found.sessions)+len(found.tokens) == 0 {
			return err
		}
		if n, err = len(found.sessions), deleteSessions(ctx, tx, userID, found.sessions); err != nil {
			return err
		}
		before := map[string]any{"sessions": n}
		if len(found.tokens) > 0 {
			before["linksAndCodes"] = len(found.tokens)
		}
		// They stay, without a try left: they count towards the limit of codes, and nobody has signed in with them.
		for _, token := range found.tokens {
			token.Tries = maxTries
			if err := tx.PutSignInToken(ctx, token); err != nil {
				return err
			}
		}
		return o.audit(ctx, tx, at, "sign_out", uuid.Nil, subject, changes{before: before})
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// deleteSessions deletes sessions of a user.
func deleteSessions(ctx context.Context, tx driver.Tx, userID uuid.UUID, sessions []driver.Session) error {
	if len(sessions) == 0 {
		return nil
	}
	ids := make([]uuid.UUID, len(sessions))
	for i, session := range sessions {
		ids[i] = session.ID
	}
	return tx.DeleteSessions(ctx, userID, ids)
}

// endAccess ends the sessions of a user who has just lost a membership or the staff role, if that was the last reason
// to sign in. The caller holds the gate of the zero company exclusively.
func endAccess(ctx context.Context, tx driver.Tx, user driver.User) error {
	held, err := findAccess(ctx, tx, user)
	if err != nil || held.allowed() {
		return err
	}
	sessions, err := tx.ListSessions(ctx, user.ID, 2*maxSessions)
	if err != nil {
		return err
	}
	return deleteSessions(ctx, tx, user.ID, sessions)
}
