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
