package console

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"
	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

// The purposes of the challenges that a passkey signs.
const (
	purposeSignIn  = "passkey sign-in"
	purposeConfirm = "passkey confirm "
	purposeAdd     = "passkey add "
)

// maxCredential is the size of the largest response of a browser's authenticator that is read, in bytes.
const maxCredential = 64 << 10

// usedWindow is how long a used challenge is kept in memory. Challenges expire sooner.
const usedWindow = tryWindow

var errPasskey = &ticketing.Error{
	Code: ticketing.CodeSignInRequired, Message: "This passkey was not accepted. Try again, or sign in another way.",
}

// passkeyRoutes are the steps of the script. Each responds in JSON, and is under /sign-in, since it needs no session.
func passkeyRoutes() []*route {
	return []*route{
		{pattern: "/sign-in/passkey/begin", post: beginPasskey, api: true},
		{pattern: "/sign-in/passkey", post: usePasskey, api: true},
	}
}

// passkeys returns the verifier for the origin of a request. Passkeys belong to the host of the web origin.
func (x *exchange) passkeys() (*webauthn.WebAuthn, error) {
	origin := x.originOf(x.r)
	verifier, err := webauthn.New(&webauthn.Config{
		RPID: hostName(origin), RPDisplayName: x.config.Title, RPOrigins: []string{origin},
		AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementRequired, UserVerification: protocol.VerificationRequired,
		},
	})
	if err != nil {
		return nil, errNoPasskeys // Nothing else of the configuration can be refused.
	}
	return verifier, nil
}

// errNoPasskeys refuses passkeys at an address that is not a name.
var errNoPasskeys = conflicted("Passkeys need a host name, such as localhost. This address has none.")

// keyHolder is a user as the verifier sees them.
type keyHolder struct {
	id          uuid.UUID
	email       string
	credentials []webauthn.Credential
}

func (k *keyHolder) WebAuthnID() []byte                         { return k.id[:] }
func (k *keyHolder) WebAuthnName() string                       { return k.email }
func (k *keyHolder) WebAuthnDisplayName() string                { return k.email }
func (k *keyHolder) WebAuthnCredentials() []webauthn.Credential { return k.credentials }

// keyHolder returns a user with their passkeys.
func (c *console) keyHolder(
	ctx context.Context, userID uuid.UUID, email string,
) (*keyHolder, error) {
	keys, err := c.accounts.ListPasskeys(ctx, userID)
	if err != nil {
		return nil, err
	}
	holder := &keyHolder{id: userID, email: email}
	for _, key := range keys {
		var credential webauthn.Credential
		if err := json.Unmarshal([]byte(key.Credential), &credential); err != nil {
			return nil, fmt.Errorf("console: the credential of a passkey cannot be read: %w", err)
		}
		holder.credentials = append(holder.credentials, credential)
	}
	return holder, nil
}

// beginPasskey returns the options for a sign-in with any passkey.
func beginPasskey(_ context.Context, x *exchange) (answer, error) {
	return x.assertion(purposeSignIn, nil)
}

// assertion returns the options of navigator.credentials.get.
func (x *exchange) assertion(purpose string, only []protocol.CredentialDescriptor) (answer, error) {
	verifier, err := x.passkeys()
	if err != nil {
		return answer{}, err
	}
	challenge, err := x.accounts.NewChallenge(purpose)
	if err != nil {
		return answer{}, err
	}
	options, _, err := verifier.BeginDiscoverableLogin(webauthn.WithChallenge(challenge),
		webauthn.WithUserVerification(protocol.VerificationRequired), webauthn.WithAllowedCredentials(only))
	if err != nil {
		return answer{}, fmt.Errorf("console: options of a passkey: %w", err)
	}
	return encodeOutcome(outcome{data: options.Response})
}

// usePasskey signs in the person of a passkey. The response has the path that they wanted.
func usePasskey(ctx context.Context, x *exchange) (answer, error) {
	query, err := x.signInQuery()
	if err != nil {
		return answer{}, err
	}
	if err := x.try(ctx); err != nil {
		return answer{}, err
	}
	userID, use, err := x.verify(ctx, purposeSignIn, uuid.Nil)
	if err != nil {
		return answer{}, err
	}
	in, err := x.accounts.SignInByPasskey(ctx, userID, use, x.client())
	if err != nil {
		return answer{}, err
	}
	led, err := x.begin(ctx, in, x.nextOf(query))
	if err != nil {
		return answer{}, err
	}
	return encodeOutcome(outcome{data: map[string]string{"next": led.location}})
}

// readCredential reads the response of a browser, which is the body as it is.
func (x *exchange) readCredential() ([]byte, error) {
	body, err := io.ReadAll(http.MaxBytesReader(x.w, x.r.Body, maxCredential))
	if err != nil {
		return nil, invalid("body: is too large, or could not be read to its end")
	}
	return body, nil
}

// verify verifies the response in the body and returns its user and what the device signed. Every refusal is the same.
// The service refuses a response that was sent before.
func (x *exchange) verify(
	ctx context.Context, purpose string, only uuid.UUID,
) (userID uuid.UUID, use ticketing.PasskeyUse, err error) {
	body, err := x.readCredential()
	if err != nil {
		return uuid.Nil, use, err
	}
	response, err := protocol.ParseCredentialRequestResponseBytes(body)
	if err != nil {
		return uuid.Nil, use, errPasskey
	}
	sent := response.Response.CollectedClientData.Challenge
	challenge, err := base64.RawURLEncoding.DecodeString(sent)
	if err != nil {
		return uuid.Nil, use, errPasskey
	}
	madeAt, err := x.accounts.CheckChallenge(purpose, challenge)
	if err != nil {
		return uuid.Nil, use, err
	}
	userID = only
	// A device may omit the user if the browser named the passkeys that it may use.
	if handle := response.Response.UserHandle; len(handle) > 0 || only == uuid.Nil {
		userID, err = uuid.FromBytes(handle)
		if err != nil || only != uuid.Nil && userID != only {
			return uuid.Nil, use, errPasskey
		}
	}
	holder, err := x.keyHolder(ctx, userID, "")
	if err != nil {
		return uuid.Nil, use, err
	}
	verifier, err := x.passkeys()
	if err != nil {
		return uuid.Nil, use, err
	}
	credential, err := verifier.ValidateLogin(holder, webauthn.SessionData{
		Challenge: sent, RelyingPartyID: hostName(x.originOf(x.r)), UserVerification: protocol.VerificationRequired,
		UserID: userID[:],
	}, response)
	if err != nil {
		return uuid.Nil, use, errPasskey
	}
	// If the counter went back, the verifier keeps its own. The service must check the one that was sent.
	text, err := json.Marshal(credential)
	if err != nil {
		return uuid.Nil, use, err
	}
	return userID, ticketing.PasskeyUse{
		ID: base64.RawURLEncoding.EncodeToString(response.RawID), Credential: string(text),
		Counter: int64(response.Response.AuthenticatorData.Counter), ChallengedAt: madeAt,
	}, nil
}

// passkeyActs are those of a person about their own passkeys. For adding and confirming the body is the browser's
// response, so these two are steps and not acts.
func passkeyActs() []act {
	return []act{
		newAct(act{
			name: "passkey.rename", scope: scopeSelf, path: "/account/passkeys/{passkey}/rename", page: "/account",
			done: "The passkey was renamed.",
		}, func(m *members) string { return m.text("name") }, func(
			ctx context.Context, c *call, name string,
		) (outcome, error) {
			key, err := c.console.accounts.RenamePasskey(ctx, c.visitor.userID, c.path("passkey"), name)
			return outcome{data: key}, err
		}),
		newAct(act{
			name: "passkey.remove", scope: scopeSelf, path: "/account/passkeys/{passkey}/remove", page: "/account",
			recent: true, done: "The passkey was removed. It may still be on your device, where you can delete it.",
		}, noMembers, func(ctx context.Context, c *call, _ none) (outcome, error) {
			err := c.console.accounts.RemovePasskey(ctx, c.visitor.userID, c.path("passkey"))
			return outcome{data: struct{}{}}, err
		}),
	}
}

// personRoutes are the steps of the script for a person who is signed in.
func personRoutes() []*route {
	asPerson := func(s step) step {
		return func(ctx context.Context, x *exchange) (answer, error) {
			if err := x.identify(ctx, ticketing.VisitParams{}); err != nil {
				return answer{}, err
			}
			return s(ctx, x)
		}
	}
	return []*route{
		{pattern: "/account/passkeys/begin", post: asPerson(beginAdding), api: true},
		{pattern: "/account/passkeys/add", post: asPerson(addPasskey), api: true},
		{pattern: "/account/confirm/begin", post: asPerson(beginConfirming), api: true},
		{pattern: "/account/confirm", post: asPerson(confirmByPasskey), api: true},
	}
}

// beginAdding returns the options of navigator.credentials.create. A new passkey is a new way to sign in, so it needs a
// recent sign-in.
func beginAdding(ctx context.Context, x *exchange) (answer, error) {
	if !x.visitor.confirmed(x.began) {
		return answer{}, errConfirm
	}
	verifier, err := x.passkeys()
	if err != nil {
		return answer{}, err
	}
	holder, err := x.keyHolder(ctx, x.visitor.userID, x.visitor.email)
	if err != nil {
		return answer{}, err
	}
	challenge, err := x.accounts.NewChallenge(purposeAdd + x.visitor.sessionID.String())
	if err != nil {
		return answer{}, err
	}
	options, _, err := verifier.BeginRegistration(holder,
		webauthn.WithExclusions(webauthn.Credentials(holder.credentials).CredentialDescriptors()))
	if err != nil {
		return answer{}, fmt.Errorf("console: options of a new passkey: %w", err)
	}
	options.Response.Challenge = challenge
	return encodeOutcome(outcome{data: options.Response})
}

// addPasskey keeps a passkey that a browser has made. Its initial name is that of the browser.
func addPasskey(ctx context.Context, x *exchange) (answer, error) {
	if !x.visitor.confirmed(x.began) {
		return answer{}, errConfirm
	}
	body, err := x.readCredential()
	if err != nil {
		return answer{}, err
	}
	response, err := protocol.ParseCredentialCreationResponseBytes(body)
	if err != nil {
		return answer{}, errPasskeyForm
	}
	sent := response.Response.CollectedClientData.Challenge
	challenge, err := base64.RawURLEncoding.DecodeString(sent)
	if err != nil {
		return answer{}, errPasskeyForm
	}
	if _, err := x.accounts.CheckChallenge(purposeAdd+x.visitor.sessionID.String(), challenge); err != nil {
		return answer{}, errPasskeyForm
	}
	verifier, err := x.passkeys()
	if err != nil {
		return answer{}, err
	}
	credential, err := verifier.CreateCredential(&keyHolder{id: x.visitor.userID, email: x.visitor.email},
		webauthn.SessionData{
			Challenge: sent, RelyingPartyID: hostName(x.originOf(x.r)), UserID: x.visitor.userID[:],
			UserVerification: protocol.VerificationRequired, CredParams: webauthn.CredentialParametersDefault(),
		}, response)
	if err != nil {
		return answer{}, errPasskeyForm
	}
	text, err := json.Marshal(credential)
	if err != nil {
		return answer{}, err
	}
	key, err := x.accounts.AddPasskey(ctx, x.visitor.userID, ticketing.PasskeyParams{
		ID: base64.RawURLEncoding.EncodeToString(credential.ID), Name: formatBrowser(x.client().Browser),
		Credential: string(text), Counter: int64(credential.Authenticator.SignCount),
		SessionID: x.visitor.sessionID,
	})
	if err != nil {
		return answer{}, err
	}
	x.sayDone("You can sign in with this passkey from now on.")
	return encodeOutcome(outcome{data: key})
}

var errPasskeyForm = &ticketing.Error{
	Code: ticketing.CodeConflict, Message: "Your browser's passkey was not accepted. Try again.",
}

// beginConfirming returns the options of navigator.credentials.get for the person's own passkeys.
func beginConfirming(ctx context.Context, x *exchange) (answer, error) {
	holder, err := x.keyHolder(ctx, x.visitor.userID, "")
	if err != nil {
		return answer{}, err
	}
	return x.assertion(purposeConfirm+x.visitor.sessionID.String(),
		webauthn.Credentials(holder.credentials).CredentialDescriptors())
}

// confirmByPasskey makes the sign-in of the session recent, with a new secret.
func confirmByPasskey(ctx context.Context, x *exchange) (answer, error) {
	if err := x.try(ctx); err != nil {
		return answer{}, err
	}
	userID, use, err := x.verify(ctx, purposeConfirm+x.visitor.sessionID.String(), x.visitor.userID)
	if err == nil {
		err = x.accounts.UsePasskey(ctx, userID, use)
	}
	if err != nil {
		return answer{}, asConfirm(err)
	}
	in, err := x.accounts.Confirm(ctx, x.visitor.secret, ticketing.SignInPasskey)
	if err != nil {
		return answer{}, err
	}
	x.setSession(in)
	return encodeOutcome(outcome{data: struct{}{}})
}

// asConfirm turns the refusal of a passkey into one that does not read as if the person were signed out.
func asConfirm(err error) error {
	if refused := refusalOf(err); refused != nil && errors.Is(err, ticketing.CodeSignInRequired) {
		return &ticketing.Error{Code: ticketing.CodeConfirmRequired, Message: refused.Message}
	}
	return err
}
