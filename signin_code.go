package ticketing

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// anonymousName is the name of an actor who has not signed in.
const anonymousName = "anonymous"

// RequestCode makes a sign-in code for the user with an email address, and a link for the same mail. Each works once,
// within 30 minutes. The code works only with the same browserSecret: 22 to 200 random characters that the caller keeps
// in a cookie.
//
// For an address that nobody may sign in with, it returns a result without a User and no error. So it does after five
// codes for a user in 15 minutes. The caller mails the result, shows the same page in all cases, and limits how often
// an address and a client may ask. RequestCode takes longer for a known address, so the caller responds to the browser
// before it calls RequestCode. The audit log does not record requests for codes.
func (a Accounts) RequestCode(ctx context.Context, address, browserSecret string) (CodeRequest, error) {
	var v violations
	address = requiredEmail(&v, "email", address, maxUserEmail)
	if len(browserSecret) < minBrowserSecret || len(browserSecret) > maxBrowserSecret {
		v.add("browserSecret", fmt.Sprintf("must be %d to %d characters", minBrowserSecret, maxBrowserSecret))
	}
	if err := v.err(); err != nil {
		return CodeRequest{}, err
	}
	code, err := newCode(a.s.rand)
	if err != nil {
		return CodeRequest{}, err
	}
	link, err := a.newLink()
	if err != nil {
		return CodeRequest{}, err
	}
	codeID, browser := a.s.newID(), hexDigest([]byte(browserSecret))
	at := a.s.now()
	none := CodeRequest{ExpiresAt: Time{Time: at.Add(signInFor)}}
	var asked CodeRequest
	err = a.s.store.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		asked = none
		if _, err := tx.Begin(ctx, platformAlone()); err != nil {
			return err
		}
		user, err := firstRecord(tx.FindUsers(ctx, []string{address}))
		if err != nil {
			return err
		}
		held, err := findAccess(ctx, tx, user)
		if err != nil {
			return err
		}
		// The same statement finds nothing for an unknown user.
		tokens, err := tx.ListSignInTokens(ctx, idOrDecoy(user, address), 2*maxTokens)
		if err != nil || !held.allowed() || recentCodes(tokens, at) >= maxCodes {
			return err
		}
		if err := supersedeCodes(ctx, tx, tokens, browser); err != nil {
			return err
		}
		err = putTokens(ctx, tx, at, tokens, driver.SignInToken{
			UserID: user.ID, ID: codeID, Kind: SignInCode, Digest: codeDigest(browserSecret, code), Browser: browser,
			CreatedAt: at, ExpiresAt: at.Add(signInFor),
		}, link.record(SignInLink, at, user.ID, uuid.Nil))
		if err != nil {
			return err
		}
		asked.User = new(showUser(user))
		asked.Code = code[:codeLength/2] + "-" + code[codeLength/2:]
		asked.LinkToken = link.secret.format(linkPrefix, user.ID, link.id)
		return a.s.As(Actor{Name: anonymousName}).audit(ctx, tx, at, "code.request", uuid.Nil, about("user", user.ID),
			changes{after: map[string]any{"expiresAt": asked.ExpiresAt}})
	})
	if err != nil {
		return CodeRequest{}, err
	}
	return asked, nil
}

// supersedeCodes takes the tries that are left from the codes that a browser asked for earlier.
func supersedeCodes(ctx context.Context, tx driver.Tx, tokens []driver.SignInToken, browser string) error {
	for _, token := range tokens {
		if token.Kind != SignInCode || !equalDigests(token.Browser, browser) || token.Tries >= maxTries {
			continue
		}
		token.Tries = maxTries
		if err := tx.PutSignInToken(ctx, token); err != nil {
			return err
		}
	}
	return nil
}

// recentCodes returns how many of the tokens are codes of the window of the limit.
func recentCodes(tokens []driver.SignInToken, at time.Time) int {
	n := 0
	for _, token := range tokens {
		if token.Kind == SignInCode && at.Sub(token.CreatedAt) < codeWindow {
			n++
		}
	}
	return n
}

// UseCode signs in a user by the code that they were mailed, and spends the code. Case, hyphens and white space in the
// code do not matter. Only the last code that this browser requested is accepted, and only for five tries: after five
// wrong codes the right one is refused, too.
//
// A wrong code, a code of another browser, a used or expired code and an unknown address all return the same
// SIGN_IN_REQUIRED.
func (a Accounts) UseCode(
	ctx context.Context, address, browserSecret, code string, client Client,
) (SignedIn, error) {
	var v violations
	address = requiredEmail(&v, "email", address, maxUserEmail)
	if v.err() != nil || len(browserSecret) < minBrowserSecret || len(browserSecret) > maxBrowserSecret {
		return SignedIn{}, errCodeRefused
	}
	given := codeDigest(browserSecret, normaliseCode(code))
	browser := hexDigest([]byte(browserSecret))
	decoy := a.s.newID()
	return a.useToken(ctx, SignInCode, client, errCodeRefused,
		func(ctx context.Context, tx driver.Tx, at time.Time) (user driver.User, none driver.SignInToken, err error) {
			if user, err = firstRecord(tx.FindUsers(ctx, []string{address})); err != nil {
				return user, none, err
			}
			owner := idOrDecoy(user, address)
			tokens, err := tx.ListSignInTokens(ctx, owner, 2*maxTokens)
			if err != nil {
				return user, none, err
			}
			last := slices.IndexFunc(tokens, func(t driver.SignInToken) bool {
				return t.Kind == SignInCode && equalDigests(t.Browser, browser) && usable(t, at)
			})
			if last < 0 {
				return user, none, pretendTry(ctx, tx, at, owner, decoy)
			}
			token := tokens[last]
			if equalDigests(token.Digest, given) {
				return user, token, nil
			}
			// The wrong try is kept although the sign-in is refused.
			token.Tries++
			return user, none, tx.PutSignInToken(ctx, token)
		})
}

// pretendTry writes as a wrong code does, and leaves nothing: a refusal takes as long where there is no code.
func pretendTry(ctx context.Context, tx driver.Tx, at time.Time, owner, id uuid.UUID) error {
	err := tx.PutSignInToken(ctx, driver.SignInToken{
		UserID: owner, ID: id, Kind: SignInCode, CreatedAt: at, ExpiresAt: at,
	})
	if err != nil {
		return err
	}
	return tx.DeleteSignInTokens(ctx, owner, []uuid.UUID{id})
}

// idOrDecoy returns the id of a user, and for an unknown user one that the address gives. So while a node of a cluster
// is away, an unknown address fails as often as a known one, and always in the same way.
func idOrDecoy(user driver.User, address string) uuid.UUID {
	if user.ID != uuid.Nil {
		return user.ID
	}
	return uuid.NewSHA1(uuid.Nil, []byte(address))
}

// newCode makes a code of eight characters of the alphabet, each equally likely.
func newCode(rand io.Reader) (string, error) {
	code := make([]byte, 0, codeLength)
	// A byte beyond the last multiple of the alphabet's length would favour its first characters.
	const limit = 256 - 256%len(codeAlphabet)
	for buffer := make([]byte, 4*codeLength); len(code) < codeLength; {
		if _, err := io.ReadFull(rand, buffer); err != nil {
			return "", fmt.Errorf("ticketing: make a code: %w", err)
		}
		for _, b := range buffer {
			if int(b) < limit && len(code) < codeLength {
				code = append(code, codeAlphabet[int(b)%len(codeAlphabet)])
			}
		}
	}
	return string(code), nil
}

// normaliseCode returns a code as newCode writes it: in upper case, without what people put between its characters. A
// text that is too long for a code stays wrong and is cut.
func normaliseCode(code string) string {
	code = code[:min(len(code), 8*codeLength)]
	return strings.ToUpper(strings.Map(func(r rune) rune {
		if r == '-' || r == ' ' || r == '\t' || r == '\u00a0' || r == '\u2010' || r == '\u2011' || r == '\u2013' {
			return -1
		}
		return r
	}, code))
}

// codeDigest returns what the store keeps of a code. A code alone has few enough values to be found from a digest, so
// the digest is also over the browser's secret, of which the store has only a digest.
func codeDigest(browserSecret, code string) string {
	return hexDigest([]byte("code\x00" + code + "\x00" + browserSecret))
}
