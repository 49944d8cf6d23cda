package ticketing

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

const (
	// signInFor is how long a link or a code can be used.
	signInFor = 30 * time.Minute
	// codeWindow and maxCodes limit the codes of a user.
	codeWindow = 15 * time.Minute
	maxCodes   = 5
	// maxTries is how many wrong codes one code survives.
	maxTries = 5
	// maxTokens is how many links and codes of a user are kept: the oldest goes for one more.
	maxTokens = 100

	codeLength = 8
	// codeAlphabet has no characters that look like another: no 0 and O, no 1, I and L, no 2 and Z, no 5 and S, no 8
	// and B, no U and V. Eight of its 24 characters are 36 bits.
	codeAlphabet = "34679ACDEFGHJKMNPQRTUWXY"
	// minBrowserSecret and maxBrowserSecret are the bytes of a browser's secret: at least 16 random bytes in base64.
	minBrowserSecret, maxBrowserSecret = 22, 200
)

// LinkParams describe a sign-in link: its user and the company it leads to.
type LinkParams struct {
	// UserID or Email names the user: exactly one of them.
	UserID uuid.UUID
	Email  string
	// CompanyID is the company that the link leads to. The user is a member of it, or staff. Zero means nowhere in
	// particular.
	CompanyID uuid.UUID
	// Actor is who makes the link, as in [Actor.Name]. The audit log records it.
	Actor string
}

// Link signs a user in once.
type Link struct {
	UserID uuid.UUID `json:"userId"`
	// Token is what [Accounts.OpenLink] takes: opaque text of at most 100 characters, each of them allowed in a URL. Put
	// it in the fragment of a URL, after "#", where neither logs nor referrers contain it.
	Token     string `json:"token"`
	ExpiresAt Time   `json:"expiresAt"`
}

// CodeRequest is the result of [Accounts.RequestCode]: what to mail, and to whom.
type CodeRequest struct {
	// User is the person to mail. Nil: mail nobody, because no user with the address may sign in or because they asked too
	// often. Show the same page in both cases.
	User *User
	// Code is the code in two halves, such as "K7MP-4XQD"; empty without a User.
	Code string
	// LinkToken is the token of a link for the same mail, as [Link.Token] is; empty without a User.
	LinkToken string
	ExpiresAt Time
}

var (
	errLinkUsed = &Error{
		Code: CodeSignInRequired, Message: "This link has been used or has expired. Ask for a new one.",
	}
	errCodeRefused = &Error{
		Code:    CodeSignInRequired,
		Message: "This code is not right, has been used or has expired. Check it, or ask for a new one.",
	}
)

// CreateLink makes a link that signs a user in once, within 30 minutes. Anybody who opens it is signed in as that user,
// so give it only to that user.
//
// Errors: NOT_FOUND for an unknown user and for a company that the link cannot lead to, CONFLICT for a user who is a
// member of no company and has no staff role, INVALID_REQUEST.
func (a Accounts) CreateLink(ctx context.Context, params LinkParams) (Link, error) {
	var v violations
	params.Actor = requiredText(&v, "actor", params.Actor, 1, maxActorName)
	switch {
	case params.UserID == uuid.Nil:
		params.Email = requiredEmail(&v, "email", params.Email, maxUserEmail)
	case params.Email != "":
		v.add("email", "must be empty if there is a userId")
	}
	if err := v.err(); err != nil {
		return Link{}, err
	}
	fresh, err := a.newLink()
	if err != nil {
		return Link{}, err
	}
	at := a.s.now()
	var link Link
	err = a.s.store.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, platformAlone()); err != nil {
			return err
		}
		user, err := params.find(ctx, tx)
		if err != nil {
			return err
		}
		if err := checkAccess(ctx, tx, user, params.CompanyID); err != nil {
			return err
		}
		record := fresh.record(SignInLink, at, user.ID, params.CompanyID)
		link, err = a.s.As(Actor{Name: params.Actor}).createLink(ctx, tx, at, record, uuid.Nil, fresh)
		return err
	})
	if err != nil {
		return Link{}, err
	}
	return link, nil
}

// find returns the user that the params name.
func (p LinkParams) find(ctx context.Context, tx driver.ReadTx) (driver.User, error) {
	find := func() ([]driver.User, error) { return tx.Users(ctx, []uuid.UUID{p.UserID}) }
	if p.UserID == uuid.Nil {
		find = func() ([]driver.User, error) { return tx.FindUsers(ctx, []string{p.Email}) }
	}
	user, err := firstRecord(find())
	if err == nil && user.ID == uuid.Nil {
		err = errNoUser
	}
	return user, err
}

// checkAccess checks that a user may sign in, and that the company is one that they may see there.
func checkAccess(ctx context.Context, tx driver.ReadTx, user driver.User, companyID uuid.UUID) error {
	held, err := findAccess(ctx, tx, user)
	if err != nil {
		return err
	}
	if !held.allowed() {
		return conflict("The user is a member of no company and has no role on the platform.")
	}
	if companyID == uuid.Nil {
		return nil
	}
	if held.staff {
		_, err := findCompany(ctx, tx, companyID)
		return err
	}
	member, err := firstRecord(tx.Members(ctx, []driver.MemberRef{{CompanyID: companyID, UserID: user.ID}}))
	if err == nil && member.Role == "" {
		err = errNoCompany
	}
	return err
}

// freshToken is what a link or a code needs beside its user. It is made before the transaction, which may run again.
type freshToken struct {
	id     uuid.UUID
	secret accountSecret // of a link
}

// newLink makes the id and the secret of a link.
func (a Accounts) newLink() (freshToken, error) {
	secret, err := newAccountSecret(a.s.rand)
	return freshToken{a.s.newID(), secret}, err
}

// record returns the link as the store keeps it.
func (f freshToken) record(kind SignInMethod, at time.Time, userID, companyID uuid.UUID) driver.SignInToken {
	return driver.SignInToken{
		UserID: userID, ID: f.id, Kind: kind, Digest: f.secret.digest(), CompanyID: companyID,
		CreatedAt: at, ExpiresAt: at.Add(signInFor),
	}
}

// createLink keeps and audits a link. auditedFor is the company whose audit log has the entry; zero: none. The caller
// holds the gate of the zero company exclusively.
func (o Operator) createLink(
	ctx context.Context, tx driver.Tx, at time.Time, record driver.SignInToken, auditedFor uuid.UUID, fresh freshToken,
) (Link, error) {
	tokens, err := tx.ListSignInTokens(ctx, record.UserID, 2*maxTokens)
	if err != nil {
		return Link{}, err
	}
	if err := putTokens(ctx, tx, at, tokens, record); err != nil {
		return Link{}, err
	}
	link := Link{
		UserID: record.UserID, Token: fresh.secret.format(linkPrefix, record.UserID, fresh.id),
		ExpiresAt: Time{Time: record.ExpiresAt},
	}
	after := map[string]any{"expiresAt": link.ExpiresAt}
	if record.CompanyID != uuid.Nil {
		after["companyId"] = record.CompanyID
	}
	return link, o.audit(ctx, tx, at, "link.create", auditedFor, about("user", record.UserID), changes{after: after})
}

// putTokens keeps new tokens of a user, and deletes those that expired and the oldest beyond the limit. held are the
// user's tokens, newest first. The last invitation that was used stays, and so does the last other token: they show how
// the user has signed in, see signInsOf.
func putTokens(
	ctx context.Context, tx driver.Tx, at time.Time, held []driver.SignInToken, fresh ...driver.SignInToken,
) error {
	var over []uuid.UUID
	var used signIns
	for i, token := range held {
		mark := used.add(token)
		if !mark && (i+len(fresh) >= maxTokens || !at.Before(token.ExpiresAt)) {
			over = append(over, token.ID)
		}
	}
	if len(over) > 0 {
		if err := tx.DeleteSignInTokens(ctx, held[0].UserID, over); err != nil {
			return err
		}
	}
	for _, token := range fresh {
		if err := tx.PutSignInToken(ctx, token); err != nil {
			return err
		}
	}
	return nil
}

// OpenLink signs in the user of a link and spends the link. Call it when a person presses a button, not when the
// address is opened: mail scanners open addresses, too.
//
// A link that was used, has expired or never existed is SIGN_IN_REQUIRED. So is a link of a user who may no longer sign
// in, and the link of an invitation whose user has since signed in or got a role elsewhere. Of two concurrent calls one
// succeeds.
func (a Accounts) OpenLink(ctx context.Context, token string, client Client) (SignedIn, error) {
	userID, id, secret, ok := parseAccountSecret(linkPrefix, token)
	if !ok {
		return SignedIn{}, errLinkUsed
	}
	return a.useToken(ctx, SignInLink, client, errLinkUsed,
		func(ctx context.Context, tx driver.Tx, at time.Time) (driver.User, driver.SignInToken, error) {
			token, err := firstRecord(tx.SignInTokens(ctx, []driver.SignInTokenRef{{UserID: userID, ID: id}}))
			if err != nil || token.Kind == SignInCode || !secret.matches(token.Digest) || !usable(token, at) {
				return driver.User{}, driver.SignInToken{}, err
			}
			if refused, err := isStaleInvitation(ctx, tx, token); err != nil || refused {
				return driver.User{}, driver.SignInToken{}, err
			}
			user, err := firstRecord(tx.Users(ctx, []uuid.UUID{userID}))
			return user, token, err
		})
}

// usable reports whether a token can still be used.
func usable(t driver.SignInToken, at time.Time) bool {
	return t.ID != uuid.Nil && t.UsedAt.IsZero() && at.Before(t.ExpiresAt) && t.Tries < maxTries
}

// useToken signs in the user of the token that find returns, and uses the token up. The zero token is refused. What
// find writes is kept even then.
func (a Accounts) useToken(
	ctx context.Context, method SignInMethod, client Client, refusal error,
	find func(context.Context, driver.Tx, time.Time) (driver.User, driver.SignInToken, error),
) (SignedIn, error) {
	fresh, err := a.newSession(method, client)
	if err != nil {
		return SignedIn{}, err
	}
	at := a.s.now()
	var begun SignedIn
	refused := false
	err = a.s.store.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		begun, refused = SignedIn{}, false
		// The exclusive gate serialises all uses of a token.
		if _, err := tx.Begin(ctx, platformAlone()); err != nil {
			return err
		}
		user, token, err := find(ctx, tx, at)
		if err != nil {
			return err
		}
		if refused = token.ID == uuid.Nil; refused {
			return nil
		}
		if token.Kind != driver.SignInInvitation {
			if err := a.as(user.ID).dropInvited(ctx, tx, at, user.ID, uuid.Nil); err != nil {
				return err
			}
		}
		if err := useUp(ctx, tx, at, token); err != nil {
			return err
		}
		begun, err = a.signIn(ctx, tx, at, user, fresh)
		begun.CompanyID = token.CompanyID
		return err
	})
	// A user who may not sign in gets the refusal of every other cause. No other cause has this code here.
	if refused || errors.Is(err, CodeSignInRequired) {
		err = refusal
	}
	if err != nil {
		return SignedIn{}, err
	}
	return begun, nil
}

// useUp uses up a token, and with it the other half of a request for a code: the code of a link and the link of a code
// were made at the same moment.
func useUp(ctx context.Context, tx driver.Tx, at time.Time, token driver.SignInToken) error {
	tokens, err := tx.ListSignInTokens(ctx, token.UserID, 2*maxTokens)
	if err != nil {
		return err
	}
	for _, other := range tokens {
		// An invitation is no half: using it up shows nothing about a link that was mailed at the same moment.
		half := other.Kind != token.Kind && token.Kind != driver.SignInInvitation &&
			other.Kind != driver.SignInInvitation && other.CreatedAt.Equal(token.CreatedAt) && other.CompanyID == token.CompanyID
		if other.ID != token.ID && (!half || !other.UsedAt.IsZero()) {
			continue
		}
		other.UsedAt = at
		if err := tx.PutSignInToken(ctx, other); err != nil {
			return err
		}
	}
	return nil
}
