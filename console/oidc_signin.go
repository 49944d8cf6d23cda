package console

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"
	"golang.org/x/oauth2"

	"github.com/floatgate/ticketing"
)

const (
	// oidcPath is the address that the issuer sends browsers back to.
	oidcPath = "/sign-in/oidc"
	// oidcCookie holds what a browser must present when it returns from the issuer.
	oidcCookie = "ticketing-oidc"
	// oidcLife is how long the cookie lives. The state is a challenge, which expires before.
	oidcLife = 10 * time.Minute
	// purposeOIDC is the purpose of the challenge that is the state. The value of the cookie follows.
	purposeOIDC = "oidc "
	// maxOIDCNext is the length of the longest path to return to, in bytes: a cookie has 4 KiB.
	maxOIDCNext = 1500
	// issuerSkew is how far the clock of an issuer may be behind.
	issuerSkew = time.Minute
	// reasonNobody is the reason in the log for a verified address of nobody who may sign in.
	reasonNobody = "nobody who may sign in has the address"
)

var (
	errOIDC = &ticketing.Error{
		Code: ticketing.CodeSignInRequired, Message: "This sign-in took too long, was used before or did not work. " +
			"Try again, or sign in another way.",
	}
	// errOIDCNobody is the refusal for an address that is unverified, missing, unknown or of nobody who may sign in.
	errOIDCNobody = &ticketing.Error{
		Code: ticketing.CodeSignInRequired, Message: "You are signed in there, but not with a verified address that has an " +
			"account here. Ask the people who run this service.",
	}
	errOIDCAnother = &ticketing.Error{
		Code: ticketing.CodeConfirmRequired, Message: "That was not a new sign-in of the person who is signed in here. Go " +
			"back and confirm in another way.",
	}
	errOIDCConfirm = &ticketing.Error{
		Code: ticketing.CodeConfirmRequired, Message: "This took too long, was used before or did not work. " +
			"Go back and try again, or confirm in another way.",
	}
	// errIssuerAway is shown with the status 503.
	errIssuerAway = &ticketing.Error{
		Code: ticketing.CodeInternal, Message: "The service that signs you in cannot be reached right now. Try again in a " +
			"moment, or sign in another way.",
	}
)

// issuerRoutes are the steps of a sign-in at the issuer. They are links, since the form-action of the policy allows no
// form that leads to another host. They change nothing, except for the return from the issuer. The standard makes that
// a GET, and its state binds it to this browser.
func (c *console) issuerRoutes() []*route {
	if c.issuer == nil {
		return nil
	}
	return []*route{
		{pattern: oidcPath + "/begin", get: beginOIDC},
		{pattern: oidcPath, get: finishOIDC},
		{pattern: "/account/confirm/oidc", get: confirmByOIDC},
	}
}

// issuerName returns the name on the button, and "" if there is no issuer.
func (c *console) issuerName() string {
	if c.issuer == nil {
		return ""
	}
	return c.issuer.name
}

// oidcState is what a browser keeps while the person is at the issuer. The state that the issuer sends back contains a
// digest of it, so neither is valid without the other.
type oidcState struct {
	Nonce    string    `json:"nonce"`
	Verifier string    `json:"verifier"` // of PKCE
	Next     string    `json:"next,omitempty"`
	Session  uuid.UUID `json:"session,omitzero"` // the session to confirm; zero: a sign-in
}

// beginOIDC sends a browser to the issuer.
func beginOIDC(ctx context.Context, x *exchange) (answer, error) {
	query, err := x.signInQuery()
	if err != nil {
		return answer{}, err
	}
	next := x.nextOf(query)
	if x.comesFromElsewhere() {
		return redirect("/sign-in" + nextQuery(next)), nil
	}
	p, err := x.issuer.discover(ctx)
	if err != nil {
		return x.refuseOIDC(ctx, next, err)
	}
	return x.leadToIssuer(p, oidcState{Next: next})
}

// comesFromElsewhere reports whether a page of another site started the request. It may link to the button, but not
// press it.
func (x *exchange) comesFromElsewhere() bool {
	from := x.r.Header.Get("Sec-Fetch-Site")
	return from == "cross-site" || from == "same-site"
}

// confirmByOIDC sends a browser to the issuer to make the sign-in of its session recent.
func confirmByOIDC(ctx context.Context, x *exchange) (answer, error) {
	if x.comesFromElsewhere() {
		return redirect("/account"), nil
	}
	p, err := x.issuer.discover(ctx)
	if err != nil {
		return x.refuseOIDC(ctx, "", err)
	}
	if err := x.identify(ctx, ticketing.VisitParams{}); err != nil {
		return answer{}, err
	}
	return x.leadToIssuer(p, oidcState{Session: x.visitor.sessionID},
		oauth2.SetAuthURLParam("prompt", "login"),
		oauth2.SetAuthURLParam("max_age", "60"), // Issuers send auth_time for sure if there is a max_age.
		oauth2.SetAuthURLParam("login_hint", x.visitor.email))
}

// leadToIssuer returns the redirect to the issuer and gives the browser the cookie to return with.
func (x *exchange) leadToIssuer(p *provider, kept oidcState, options ...oauth2.AuthCodeOption) (answer, error) {
	nonce := make([]byte, 32)
	_, _ = rand.Read(nonce) // It never fails.
	kept.Nonce, kept.Verifier = base64.RawURLEncoding.EncodeToString(nonce), oauth2.GenerateVerifier()
	if len(kept.Next) > maxOIDCNext {
		kept.Next = ""
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return answer{}, err
	}
	value := base64.RawURLEncoding.EncodeToString(text)
	state, err := x.accounts.NewChallenge(purposeOIDC + value)
	if err != nil {
		return answer{}, err
	}
	x.setCookie(oidcCookie, value, x.began.Add(oidcLife))
	options = append(options, oauth2.SetAuthURLParam("nonce", kept.Nonce), oauth2.S256ChallengeOption(kept.Verifier))
	return redirect(x.issuer.oauth(p, x.originOf(x.r)+oidcPath).
		AuthCodeURL(base64.RawURLEncoding.EncodeToString(state), options...)), nil
}

// takeOIDC returns what the browser kept, once, and when the flow began. It refuses a state of another browser, one
// that is too old, and one that was used.
func (x *exchange) takeOIDC(ctx context.Context, query url.Values) (oidcState, time.Time, error) {
	for _, name := range []string{"state", "code", "error", "iss"} {
		if len(query[name]) > 1 {
			return oidcState{}, time.Time{}, errOIDC
		}
	}
	value := x.cookie(oidcCookie)
	state, err := base64.RawURLEncoding.Strict().DecodeString(query.Get("state"))
	if err != nil || value == "" {
		return oidcState{}, time.Time{}, errOIDC
	}
	madeAt, err := x.accounts.CheckChallenge(purposeOIDC+value, state)
	if err != nil {
		return oidcState{}, time.Time{}, errOIDC
	}
	x.removeCookie(oidcCookie)
	if x.wasUsed(ctx, purposeOIDC+query.Get("state")) {
		return oidcState{}, time.Time{}, errOIDC
	}
	var kept oidcState
	text, err := base64.RawURLEncoding.DecodeString(value)
	if err != nil {
		return oidcState{}, time.Time{}, errOIDC
	}
	if err := json.Unmarshal(text, &kept); err != nil {
		return oidcState{}, time.Time{}, errOIDC
	}
	return kept, madeAt, nil
}

// finishOIDC is where the issuer sends a browser back to. It signs the person in, or confirms their session.
func finishOIDC(ctx context.Context, x *exchange) (answer, error) {
	query, err := url.ParseQuery(x.r.URL.RawQuery)
	if err != nil {
		return answer{}, invalid("query: is malformed")
	}
	if err := x.try(ctx); err != nil {
		return x.refuseOIDC(ctx, "", err)
	}
	kept, madeAt, err := x.takeOIDC(ctx, query)
	if err != nil {
		return x.refuseOIDC(ctx, "", err)
	}
	next := ownPath(kept.Next)
	known, err := x.askIssuer(ctx, query, kept)
	switch {
	case kept.Session != uuid.Nil:
		if err == nil {
			err = x.confirmKnown(ctx, kept, known, madeAt)
		}
		if err != nil {
			return x.refuseOIDCConfirm(ctx, err)
		}
		x.sayDone("Your identity is confirmed. Go on in the tab that asked you to.")
		return redirect("/account"), nil
	case err != nil:
		return x.refuseOIDC(ctx, next, err)
	}
	user, err := x.findKnown(ctx, known)
	if err != nil {
		return x.refuseOIDC(ctx, next, err)
	}
	client := x.client()
	// The issuer may have signed the person in hours ago. Then this sign-in is not a recent one.
	client.ProvedAt = known.provedAt
	if client.ProvedAt.IsZero() {
		client.ProvedAt = x.began.Add(-confirmFor)
	}
	in, err := x.accounts.SignIn(ctx, user.ID, ticketing.SignInOIDC, client)
	if errors.Is(err, ticketing.CodeSignInRequired) {
		x.logOIDC(ctx, reasonNobody)
		err = errOIDCNobody
	}
	if err != nil {
		return x.refuseOIDC(ctx, next, err)
	}
	return x.beginAndOffer(ctx, in, next)
}

// askIssuer returns who the person is according to the issuer.
func (x *exchange) askIssuer(ctx context.Context, query url.Values, kept oidcState) (identity, error) {
	p, err := x.issuer.discover(ctx)
	if err != nil {
		return identity{}, err
	}
	// With several issuers, a browser may bring the response of another one.
	if sent := query.Get("iss"); sent != x.issuer.config.Issuer && (p.namesIss || query.Has("iss")) {
		return identity{}, &issuerError{reason: "the answer is of another issuer"}
	}
	if query.Has("error") || query.Get("code") == "" {
		return identity{}, &issuerError{reason: "the issuer sent the browser back without a code"}
	}
	return x.issuer.redeem(ctx, p, x.originOf(x.r)+oidcPath, query.Get("code"), kept.Verifier, kept.Nonce)
}

// findKnown returns the user with the verified address of an identity.
func (x *exchange) findKnown(ctx context.Context, known identity) (ticketing.User, error) {
	if known.email == "" {
		x.logOIDC(ctx, "the issuer sent no verified address")
		return ticketing.User{}, errOIDCNobody
	}
	user, err := x.accounts.FindUser(ctx, known.email)
	if refusalOf(err) != nil {
		x.logOIDC(ctx, reasonNobody)
		err = errOIDCNobody
	}
	return user, err
}

// confirmKnown makes the sign-in of a session recent, with a new secret. The person must be the one of the session, and
// must have signed in at the issuer after they were sent there.
func (x *exchange) confirmKnown(ctx context.Context, kept oidcState, known identity, madeAt time.Time) error {
	if err := x.identify(ctx, ticketing.VisitParams{}); err != nil {
		return err
	}
	user, err := x.findKnown(ctx, known)
	if err != nil && refusalOf(err) == nil {
		return err
	}
	if err == nil && known.provedAt.IsZero() {
		x.logOIDC(ctx, "the issuer sent no auth_time, so it cannot confirm")
	}
	if err != nil || user.ID != x.visitor.userID || kept.Session != x.visitor.sessionID ||
		known.provedAt.Before(madeAt.Add(-issuerSkew)) {
		return errOIDCAnother
	}
	in, err := x.accounts.Confirm(ctx, x.visitor.secret, ticketing.SignInOIDC)
	if err != nil {
		return err
	}
	x.setSession(in)
	return nil
}

// shownRefusal returns what a person sees of an error of these steps, and nil for a fault of ours. It logs what the
// issuer responded.
func (x *exchange) shownRefusal(ctx context.Context, err error) *ticketing.Error {
	failed, ok := errors.AsType[*issuerError](err)
	if !ok {
		return refusalOf(err)
	}
	x.logOIDC(ctx, failed.reason)
	if failed.away {
		return errIssuerAway
	}
	return errOIDC
}

// logOIDC logs why a sign-in at the issuer failed, without the address: the person sees less.
func (x *exchange) logOIDC(ctx context.Context, reason string) {
	x.config.Logger.LogAttrs(ctx, slog.LevelWarn, "sign-in by OpenID Connect failed",
		slog.String("requestId", x.id), slog.String("reason", reason))
}

// refuseOIDC shows the sign-in page with what went wrong.
func (x *exchange) refuseOIDC(ctx context.Context, next string, err error) (answer, error) {
	shown := x.shownRefusal(ctx, err)
	if shown == nil {
		return answer{}, err
	}
	canMail, mailErr := x.canMail(ctx)
	if mailErr != nil {
		return answer{}, mailErr
	}
	f := &signInFrame{Title: "Sign in", Next: next, CanMail: canMail, Refusal: shown}
	if shown != errIssuerAway {
		return x.refuseSignIn("sign-in.html", f, cmp.Or(asLimit(err), error(shown)))
	}
	a, err := x.renderSignIn(http.StatusServiceUnavailable, "sign-in.html", f)
	a.code, a.retryAfter = shown.Code, int(issuerPause/time.Second)
	return a, err
}

// asLimit returns an error of too many attempts, which says when to try again, and nil for any other.
func asLimit(err error) error {
	if wait, ok := errors.AsType[*limitError](err); ok {
		return wait
	}
	return nil
}

// refuseOIDCConfirm shows a page with what went wrong to a person who is signed in.
func (x *exchange) refuseOIDCConfirm(ctx context.Context, err error) (answer, error) {
	shown := x.shownRefusal(ctx, err)
	switch shown {
	case nil:
		return answer{}, err
	case errIssuerAway:
		return answer{
			status: http.StatusServiceUnavailable, code: shown.Code, retryAfter: int(issuerPause / time.Second),
			contentType: htmlType, body: x.renderFailure(http.StatusServiceUnavailable, shown),
		}, nil
	case errOIDC:
		return answer{}, errOIDCConfirm
	}
	return answer{}, shown
}
