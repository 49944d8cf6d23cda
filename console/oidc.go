package console

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/floatgate/ticketing/internal/safename"
)

// OIDC is an issuer of OpenID Connect and this console's registration with it. It signs people in beside passkeys,
// links and codes, and makes no accounts: only a member or staff whose address the issuer calls verified can sign in.
// So the issuer could sign in as any of them: name one that you trust with that.
//
// The redirect address to register is /sign-in/oidc at the web origin. The flow uses a code, with PKCE, a state and a
// nonce. It must end within five minutes, in the browser that it began in. The issuer is first asked when somebody uses
// the button of the sign-in page. While it cannot be reached, people sign in in other ways.
//
// A sign-in counts as recent from the issuer's auth_time on, and never without one. To make it recent, the console
// sends people to the issuer with prompt=login, and accepts only a later auth_time.
type OIDC struct {
	// Issuer is the identifier of the issuer, such as "https://accounts.example.com", exactly as the issuer writes it.
	// Its scheme is https, or http on a loopback address.
	Issuer string
	// ClientID is the console's id at the issuer. It must be the audience of ID tokens.
	ClientID string
	// ClientSecret is the secret for the id. Defaults to none: a public client, which PKCE protects.
	ClientSecret string
	// Scopes are the scopes to request. Defaults to "openid" and "email"; "openid" is always among them.
	Scopes []string
	// Transport makes the requests to the issuer. Defaults to http.DefaultTransport.
	Transport http.RoundTripper
}

const (
	// issuerPatience limits the requests to the issuer of one sign-in.
	issuerPatience = 10 * time.Second
	// issuerPause is how long the console waits after a failure before it asks the issuer again.
	issuerPause = 3 * time.Second
	// issuerRefresh is how long the issuer's configuration is used.
	issuerRefresh = 24 * time.Hour
	// maxIssuerAnswer is how much of a response of the issuer is read, in bytes.
	maxIssuerAnswer = 1 << 20
)

// issuer is the issuer of a console. Its configuration is read when it is first needed, and kept.
type issuer struct {
	config OIDC
	name   string // of the button
	client *http.Client
	now    func() time.Time

	turn     chan struct{} // holds one value while somebody reads or writes the fields below
	found    *provider     // nil: not yet
	failedAt time.Time
}

// provider is the configuration of an issuer.
type provider struct {
	*oidc.Provider

	endpoint oauth2.Endpoint
	namesIss bool // its responses have the member iss
	at       time.Time
}

// issuerError is the failure of a sign-in because of the issuer's response, or the lack of one. Its text is for the
// log.
type issuerError struct {
	reason string
	away   bool // the issuer could not be reached
}

func (e *issuerError) Error() string { return e.reason }

// newIssuer returns the issuer of a console, and nil if it has none. It sends no request.
func newIssuer(of *Config) (*issuer, error) {
	if of.OIDC == nil {
		return nil, nil //nolint:nilnil // No issuer is one of the two choices.
	}
	if of.Identify != nil {
		return nil, errors.New("console: Config.Identify and Config.OIDC exclude each other")
	}
	config := *of.OIDC
	at, err := url.Parse(config.Issuer)
	if err != nil || at.Host == "" || at.User != nil || at.RawQuery != "" || at.Fragment != "" ||
		!isProtected(config.Issuer, config.Issuer) {
		return nil, errors.New("console: OIDC.Issuer must be an https address, such as https://accounts.example.com")
	}
	if config.ClientID == "" {
		return nil, errors.New("console: OIDC.ClientID is required")
	}
	switch {
	case len(config.Scopes) == 0:
		config.Scopes = []string{oidc.ScopeOpenID, "email"}
	case !slices.Contains(config.Scopes, oidc.ScopeOpenID):
		config.Scopes = append([]string{oidc.ScopeOpenID}, config.Scopes...)
	}
	if config.Transport == nil {
		config.Transport = http.DefaultTransport
	}
	return &issuer{
		config: config, name: at.Hostname(), now: of.Clock, turn: make(chan struct{}, 1),
		client: &http.Client{
			Transport: limitedTransport{config.Transport}, Timeout: issuerPatience,
			// A redirect could carry the client's secret to another host.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// isProtected reports whether an address of an issuer may be used: over https, or over http on loopback if the issuer
// is there itself.
func isProtected(address, of string) bool {
	at, err := url.Parse(address)
	if err != nil || at.Host == "" {
		return false
	}
	home, err := url.Parse(of)
	return err == nil && (at.Scheme == "https" ||
		at.Scheme == "http" && home.Scheme == "http" && isLoopback(at.Hostname()))
}

// limitedTransport reads at most maxIssuerAnswer of a response.
type limitedTransport struct{ http.RoundTripper }

func (t limitedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := t.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	response.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(response.Body, maxIssuerAnswer), response.Body}
	return response, nil
}

// discover returns the issuer's configuration. Only one call asks for it at a time, and none soon after a failure. So
// an issuer that does not respond delays nobody for longer than issuerPatience.
func (i *issuer) discover(ctx context.Context) (*provider, error) {
	select {
	case i.turn <- struct{}{}:
		defer func() { <-i.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	now := i.now()
	if i.found != nil && now.Sub(i.found.at) < issuerRefresh {
		return i.found, nil
	}
	if !i.failedAt.IsZero() && now.Sub(i.failedAt) < issuerPause {
		if i.found != nil {
			return i.found, nil
		}
		return nil, &issuerError{reason: "the issuer could not be reached a moment ago", away: true}
	}
	// The result is also for others, so the request continues after its browser has left.
	ctx, cancel := context.WithTimeout(oidc.ClientContext(context.WithoutCancel(ctx), i.client), issuerPatience)
	defer cancel()
	found, err := i.ask(ctx)
	switch {
	case err == nil:
		found.at = now
		i.found, i.failedAt = found, time.Time{}
	case i.found != nil:
		i.failedAt = i.now()
	default:
		i.failedAt = i.now()
		return nil, &issuerError{reason: "discovery: " + shortReason(err), away: true}
	}
	return i.found, nil
}

// ask reads the discovery document of the issuer.
func (i *issuer) ask(ctx context.Context) (*provider, error) {
	found, err := oidc.NewProvider(ctx, i.config.Issuer)
	if err != nil {
		return nil, err
	}
	var says struct {
		JWKS     string   `json:"jwks_uri"`
		Methods  []string `json:"token_endpoint_auth_methods_supported"`
		NamesIss bool     `json:"authorization_response_iss_parameter_supported"`
	}
	if err := found.Claims(&says); err != nil {
		return nil, err
	}
	p := &provider{Provider: found, endpoint: found.Endpoint(), namesIss: says.NamesIss}
	for _, address := range []string{p.endpoint.AuthURL, p.endpoint.TokenURL, says.JWKS} {
		if !isProtected(address, i.config.Issuer) {
			return nil, errors.New("an endpoint of the issuer is missing, or is not https")
		}
	}
	p.endpoint.AuthStyle = oauth2.AuthStyleInHeader
	if i.config.ClientSecret == "" ||
		len(says.Methods) > 0 && !slices.Contains(says.Methods, "client_secret_basic") {
		p.endpoint.AuthStyle = oauth2.AuthStyleInParams
	}
	return p, nil
}

// oauth returns the config of a flow that returns to an address of ours.
func (i *issuer) oauth(p *provider, redirectURL string) *oauth2.Config {
	return &oauth2.Config{
		ClientID: i.config.ClientID, ClientSecret: i.config.ClientSecret, Endpoint: p.endpoint,
		RedirectURL: redirectURL, Scopes: i.config.Scopes,
	}
}

// identity is a person as the issuer describes them.
type identity struct {
	email    string // verified; empty: the issuer has none
	provedAt time.Time
}

// idClaims are the claims of an ID token that are read.
type idClaims struct {
	AuthorizedParty string `json:"azp"`
	Email           string `json:"email"`
	EmailVerified   any    `json:"email_verified"` // true, or a text of some issuers
	AuthTime        any    `json:"auth_time"`
}

// redeem changes a code for an ID token, verifies it, and returns who it is about.
func (i *issuer) redeem(
	ctx context.Context, p *provider, redirectURL, code, verifier, nonce string,
) (identity, error) {
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, i.client), issuerPatience)
	defer cancel()
	token, err := i.oauth(p, redirectURL).Exchange(ctx, code, oauth2.VerifierOption(verifier))
	if err != nil {
		return identity{}, exchangeError(err)
	}
	raw, ok := token.Extra("id_token").(string)
	if !ok {
		return identity{}, &issuerError{reason: "the issuer sent no ID token"}
	}
	idToken, err := p.Verifier(&oidc.Config{ClientID: i.config.ClientID, Now: i.now}).Verify(ctx, raw)
	if err != nil {
		return identity{}, &issuerError{reason: "the ID token was not accepted: " + shortReason(err)}
	}
	var claims idClaims
	if err := idToken.Claims(&claims); err != nil {
		return identity{}, &issuerError{reason: "the claims of the ID token are malformed"}
	}
	switch {
	case idToken.Nonce != nonce:
		return identity{}, &issuerError{reason: "the ID token has another nonce"}
	case claims.AuthorizedParty != "" && claims.AuthorizedParty != i.config.ClientID,
		claims.AuthorizedParty == "" && len(idToken.Audience) > 1:
		return identity{}, &issuerError{reason: "the ID token is for another client, too"}
	}
	var known identity
	if at, ok := claims.AuthTime.(float64); ok && at > 0 && at < math.MaxInt32*10 {
		known.provedAt = time.Unix(int64(at), 0)
	}
	if verified, _ := claims.EmailVerified.(bool); verified || claims.EmailVerified == "true" {
		known.email = claims.Email
	}
	// The standard allows the address to be at the UserInfo endpoint only.
	if (claims.Email == "" || claims.EmailVerified == nil) && isProtected(p.UserInfoEndpoint(), i.config.Issuer) {
		info, err := p.UserInfo(ctx, oauth2.StaticTokenSource(token))
		if err != nil {
			return identity{}, &issuerError{reason: "the UserInfo endpoint failed", away: true}
		}
		if info.Subject == idToken.Subject && info.EmailVerified && (claims.Email == "" || claims.Email == info.Email) {
			known.email = info.Email
		}
	}
	return known, nil
}

// exchangeError returns why a code was not changed for a token, with the issuer's code and without its text.
func exchangeError(err error) error {
	refused, ok := errors.AsType[*oauth2.RetrieveError](err)
	if !ok {
		_, away := errors.AsType[*url.Error](err)
		return &issuerError{reason: "token: " + shortReason(err), away: away}
	}
	status := refused.Response.StatusCode
	failed := &issuerError{
		reason: "token: the issuer answered " + strconv.Itoa(status), away: status >= http.StatusInternalServerError,
	}
	if safename.Valid(refused.ErrorCode, 1, 40) {
		failed.reason += " " + refused.ErrorCode
	}
	return failed
}

// shortReason shortens the text of an error for the log: it may contain a whole page of an issuer.
func shortReason(err error) string {
	const most = 200
	if text := err.Error(); len(text) > most {
		return text[:most] + "…"
	}
	return err.Error()
}
