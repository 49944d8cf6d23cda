package ticketing

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// An invitation hands a link to a company, which may open it itself. So a user who has only ever signed in by
// invitations may be the company. That does no harm as long as the user has no role elsewhere. Before they get one, and
// when they first sign in in a way that shows who they are, everything that the company could have set up is removed.

// signIns are how a user has signed in, as far as their tokens show it.
type signIns struct {
	invited bool // by a link that a company had
	proved  bool // by a code, a mailed link, a link of a trusted surface, or as a trusted surface verified
}

// add notes a token, and reports whether it is the first one that shows this.
func (s *signIns) add(token driver.SignInToken) (first bool) {
	shown := &s.proved
	if token.Kind == driver.SignInInvitation {
		shown = &s.invited
	}
	if token.UsedAt.IsZero() || *shown {
		return false
	}
	*shown = true
	return true
}

// signInsOf returns how a user has signed in.
func signInsOf(ctx context.Context, tx driver.ReadTx, userID uuid.UUID) (signIns, []driver.SignInToken, error) {
	tokens, err := tx.ListSignInTokens(ctx, userID, 2*maxTokens)
	var used signIns
	for _, token := range tokens {
		used.add(token)
	}
	return used, tokens, err
}

// hasSignedIn reports whether a user has ever signed in.
func hasSignedIn(ctx context.Context, tx driver.ReadTx, userID uuid.UUID) (bool, error) {
	used, _, err := signInsOf(ctx, tx, userID)
	return used.invited || used.proved, err
}

// markSignedIn keeps that a user has signed in, by a token that is used and has expired, unless a used one shows it
// already. The session that begins gives the token its id.
func markSignedIn(ctx context.Context, tx driver.Tx, at time.Time, userID uuid.UUID, fresh freshSession) error {
	used, err := hasSignedIn(ctx, tx, userID)
	if err != nil || used {
		return err
	}
	return tx.PutSignInToken(ctx, driver.SignInToken{
		UserID: userID, ID: fresh.id, Kind: SignInLink, Digest: fresh.secret.digest(), CreatedAt: at, ExpiresAt: at,
		UsedAt: at,
	})
}

// isStaleInvitation reports whether a link is that of an invitation that would not be made any more.
func isStaleInvitation(ctx context.Context, tx driver.ReadTx, token driver.SignInToken) (bool, error) {
	if token.Kind != driver.SignInInvitation {
		return false, nil
	}
	return isKnownElsewhere(ctx, tx, token.CompanyID, token.UserID)
}

// dropInvited removes what a company could have set up as a user: the sessions and passkeys of one who has signed in by
// invitations alone, and those invitations. The invitations of the company itself change nothing; zero: of none. The
// caller holds the gate of the zero company exclusively.
func (o Operator) dropInvited(
	ctx context.Context, tx driver.Tx, at time.Time, userID, companyID uuid.UUID,
) error {
	used, tokens, err := signInsOf(ctx, tx, userID)
	if err != nil || !used.invited || used.proved {
		return err
	}
	tokens = slices.DeleteFunc(tokens, func(t driver.SignInToken) bool { return t.Kind != driver.SignInInvitation })
	if !slices.ContainsFunc(tokens, func(t driver.SignInToken) bool {
		return !t.UsedAt.IsZero() && t.CompanyID != companyID
	}) {
		return nil
	}
	sessions, err := tx.ListSessions(ctx, userID, 2*maxSessions)
	if err != nil {
		return err
	}
	if err := deleteSessions(ctx, tx, userID, sessions); err != nil {
		return err
	}
	passkeys, err := tx.ListPasskeys(ctx, userID, maxPasskeys)
	if err != nil {
		return err
	}
	if len(passkeys) > 0 {
		ids := make([]string, len(passkeys))
		for i, passkey := range passkeys {
			ids[i] = passkey.ID
		}
		if err := tx.DeletePasskeys(ctx, userID, ids); err != nil {
			return err
		}
	}
	ids := make([]uuid.UUID, len(tokens))
	for i, token := range tokens {
		ids[i] = token.ID
	}
	if err := tx.DeleteSignInTokens(ctx, userID, ids); err != nil || len(sessions)+len(passkeys) == 0 {
		return err
	}
	return o.audit(ctx, tx, at, "sign_out", uuid.Nil, about("user", userID), changes{
		before: map[string]any{"sessions": len(sessions), "passkeys": len(passkeys)},
	})
}
