package ticketing

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// Passkey is a credential of a user's device. The service stores Credential and does not interpret it: the caller
// verifies it.
type Passkey struct {
	ID         string    `json:"id"` // of the credential, in unpadded base64url
	UserID     uuid.UUID `json:"userId"`
	Name       string    `json:"name"`
	Credential string    `json:"-"` // JSON, as it was last given
	Counter    int64     `json:"-"` // how often the device has used it; 0: the device does not count
	CreatedAt  Time      `json:"createdAt"`
	LastUsedAt *Time     `json:"lastUsedAt"` // nil: never
}

// PasskeyParams describe a new passkey.
type PasskeyParams struct {
	ID         string // of the credential: 1 to 1,400 characters of unpadded base64url
	Name       string // 1 to 100 characters
	Credential string // JSON of at most 20,000 bytes
	Counter    int64  // as the device sent it; not negative
	// SessionID is the session that adds the passkey. If it has ended, none is added. The zero id is for a caller without
	// sessions of this service.
	SessionID uuid.UUID
}

const (
	maxPasskeys       = 20 // per user
	maxPasskeyID      = 1400
	maxPasskeyName    = 100
	maxCredentialSize = 20_000
)

var (
	errNoPasskey      = notFound("The passkey")
	errPasskeyRefused = &Error{
		Code: CodeSignInRequired, Message: "This passkey was not accepted. Sign in another way.",
	}
)

// showPasskey returns the passkey as its user sees it.
func showPasskey(p driver.Passkey) Passkey {
	return Passkey{
		ID: p.ID, UserID: p.UserID, Name: p.Name, Credential: p.Credential, Counter: p.Counter,
		CreatedAt: Time{Time: p.CreatedAt}, LastUsedAt: optionalTime(p.LastUsedAt),
	}
}

// checkCredential checks what a device sent.
func checkCredential(v *violations, credential string, counter int64) {
	if len(credential) > maxCredentialSize || !json.Valid([]byte(credential)) {
		v.add("credential", fmt.Sprintf("must be JSON of at most %d bytes", maxCredentialSize))
	}
	if counter < 0 {
		v.add("counter", "must not be negative")
	}
}

// ListPasskeys returns a user's passkeys, oldest first.
func (a Accounts) ListPasskeys(ctx context.Context, userID uuid.UUID) ([]Passkey, error) {
	var passkeys []Passkey
	err := a.s.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		records, err := tx.ListPasskeys(ctx, userID, maxPasskeys)
		passkeys = make([]Passkey, len(records))
		for i, record := range records {
			passkeys[i] = showPasskey(record)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return passkeys, nil
}

// AddPasskey adds a passkey that the caller has verified. A user has at most twenty: one more is CONFLICT, and so is
// one that the user has already. An unknown user is NOT_FOUND, and a session that has ended is SIGN_IN_REQUIRED.
func (a Accounts) AddPasskey(ctx context.Context, userID uuid.UUID, params PasskeyParams) (Passkey, error) {
	var v violations
	// The id is compared as text, so it must have one spelling.
	raw, err := secretEncoding.DecodeString(params.ID)
	if err != nil || len(raw) == 0 || len(params.ID) > maxPasskeyID || secretEncoding.EncodeToString(raw) != params.ID {
		v.add("id", fmt.Sprintf("must be 1 to %d characters of unpadded base64url", maxPasskeyID))
	}
	params.Name = requiredText(&v, "name", params.Name, 1, maxPasskeyName)
	checkCredential(&v, params.Credential, params.Counter)
	if err := v.err(); err != nil {
		return Passkey{}, err
	}
	var added driver.Passkey
	err = a.update(ctx, func(ctx context.Context, tx driver.Tx, at time.Time) error {
		user, err := firstRecord(tx.Users(ctx, []uuid.UUID{userID}))
		if err != nil {
			return err
		}
		if user.ID == uuid.Nil {
			return errNoUser
		}
		if err := hasSession(ctx, tx, userID, params.SessionID); err != nil {
			return err
		}
		held, err := tx.ListPasskeys(ctx, userID, maxPasskeys)
		if err != nil {
			return err
		}
		for _, passkey := range held {
			if passkey.ID == params.ID {
				return conflict("This passkey has been added already.")
			}
		}
		// The exclusive gate makes the limit exact.
		if len(held) >= maxPasskeys {
			return conflict("A user has at most %d passkeys. Remove one first.", maxPasskeys)
		}
		added = driver.Passkey{
			UserID: userID, ID: params.ID, Name: params.Name, Credential: params.Credential, Counter: params.Counter,
			CreatedAt: at,
		}
		if err := tx.PutPasskey(ctx, added); err != nil {
			return err
		}
		return a.auditPasskey(ctx, tx, at, "passkey.add", userID, driver.Passkey{}, added)
	})
	if err != nil {
		return Passkey{}, err
	}
	return showPasskey(added), nil
}

// hasSession refuses a session of a user that was ended. The zero id is none, and is not refused.
func hasSession(ctx context.Context, tx driver.ReadTx, userID, sessionID uuid.UUID) error {
	if sessionID == uuid.Nil {
		return nil
	}
	session, err := firstRecord(tx.Sessions(ctx, []driver.SessionRef{{UserID: userID, ID: sessionID}}))
	if err == nil && session.ID == uuid.Nil {
		err = errSignInRequired
	}
	return err
}

// RenamePasskey gives a passkey another name, of 1 to 100 characters. An unknown passkey is NOT_FOUND.
func (a Accounts) RenamePasskey(ctx context.Context, userID uuid.UUID, id, name string) (Passkey, error) {
	var v violations
	name = requiredText(&v, "name", name, 1, maxPasskeyName)
	if err := v.err(); err != nil {
		return Passkey{}, err
	}
	var renamed driver.Passkey
	err := a.changePasskey(ctx, userID, id, errNoPasskey,
		func(ctx context.Context, tx driver.Tx, at time.Time, passkey driver.Passkey) error {
			before := passkey
			passkey.Name = name
			// A name that it has already is not written.
			if renamed = passkey; passkey == before {
				return nil
			}
			if err := tx.PutPasskey(ctx, passkey); err != nil {
				return err
			}
			return a.auditPasskey(ctx, tx, at, "passkey.rename", userID, before, passkey)
		})
	if err != nil {
		return Passkey{}, err
	}
	return showPasskey(renamed), nil
}

// RemovePasskey removes a passkey. Sessions that began with it continue. An unknown passkey is NOT_FOUND.
func (a Accounts) RemovePasskey(ctx context.Context, userID uuid.UUID, id string) error {
	return a.changePasskey(ctx, userID, id, errNoPasskey,
		func(ctx context.Context, tx driver.Tx, at time.Time, passkey driver.Passkey) error {
			if err := tx.DeletePasskeys(ctx, userID, []string{id}); err != nil {
				return err
			}
			return a.auditPasskey(ctx, tx, at, "passkey.remove", userID, passkey, driver.Passkey{})
		})
}

// PasskeyUse is a signature by a passkey, which the caller has verified.
type PasskeyUse struct {
	ID         string // of the credential
	Credential string // JSON of at most 20,000 bytes
	Counter    int64  // as the device sent it; not negative
	// ChallengedAt is the time of the signed challenge, as [Accounts.CheckChallenge] returns it.
	ChallengedAt time.Time
}

// UsePasskey records that a passkey was used. To sign in with a passkey, call [Accounts.SignInByPasskey] instead. To
// confirm a session, call [Accounts.Confirm] afterwards.
//
// It returns SIGN_IN_REQUIRED for an unknown passkey and for a use that may be a replay: the challenge is not newer
// than the last use, or the counter did not grow. Two counters of 0 are accepted, since some devices do not count. A
// counter that went back is a sign of a copied passkey. Of two concurrent uses of one challenge one succeeds, in any
// process.
func (a Accounts) UsePasskey(ctx context.Context, userID uuid.UUID, use PasskeyUse) error {
	if err := use.check(); err != nil {
		return err
	}
	return a.update(ctx, func(ctx context.Context, tx driver.Tx, at time.Time) error {
		return use.keep(ctx, tx, at, userID)
	})
}

// SignInByPasskey is [Accounts.UsePasskey] and [Accounts.SignIn] in one transaction: a passkey that is removed
// meanwhile begins no session.
func (a Accounts) SignInByPasskey(
	ctx context.Context, userID uuid.UUID, use PasskeyUse, client Client,
) (SignedIn, error) {
	if err := use.check(); err != nil {
		return SignedIn{}, err
	}
	fresh, err := a.newSession(SignInPasskey, client)
	if err != nil {
		return SignedIn{}, err
	}
	var begun SignedIn
	err = a.update(ctx, func(ctx context.Context, tx driver.Tx, at time.Time) error {
		if err := use.keep(ctx, tx, at, userID); err != nil {
			return err
		}
		user, err := firstRecord(tx.Users(ctx, []uuid.UUID{userID}))
		if err != nil {
			return err
		}
		begun, err = a.signIn(ctx, tx, at, user, fresh)
		return err
	})
	if err != nil {
		return SignedIn{}, err
	}
	return begun, nil
}

// check checks the form of what the device sent.
func (u PasskeyUse) check() error {
	var v violations
	checkCredential(&v, u.Credential, u.Counter)
	return v.err()
}

// keep refuses a repeated use, and keeps another one. The caller holds the gate of the zero company exclusively.
func (u PasskeyUse) keep(ctx context.Context, tx driver.Tx, at time.Time, userID uuid.UUID) error {
	passkey, err := firstRecord(tx.Passkeys(ctx, []driver.PasskeyRef{{UserID: userID, ID: u.ID}}))
	if err != nil {
		return err
	}
	challengedAt := u.ChallengedAt.UTC().Truncate(time.Millisecond)
	if passkey.ID == "" || !passkey.LastUsedAt.IsZero() && !challengedAt.After(passkey.LastUsedAt) ||
		u.Counter <= passkey.Counter && (u.Counter != 0 || passkey.Counter != 0) {
		return errPasskeyRefused
	}
	passkey.Credential, passkey.Counter = u.Credential, u.Counter
	// The clock of the process that made the challenge may be ahead of this one.
	passkey.LastUsedAt = notBefore(notBefore(at, challengedAt), passkey.LastUsedAt)
	return tx.PutPasskey(ctx, passkey)
}

// update runs a rule in a transaction that holds the gate of the zero company exclusively.
func (a Accounts) update(
	ctx context.Context, rule func(ctx context.Context, tx driver.Tx, at time.Time) error,
) error {
	at := a.s.now()
	return a.s.store.Update(ctx, func(ctx context.Context, tx driver.Tx) error {
		if _, err := tx.Begin(ctx, platformAlone()); err != nil {
			return err
		}
		return rule(ctx, tx, at)
	})
}

// changePasskey runs a rule on a passkey; missing is the error for an unknown one.
func (a Accounts) changePasskey(
	ctx context.Context, userID uuid.UUID, id string, missing error,
	rule func(ctx context.Context, tx driver.Tx, at time.Time, passkey driver.Passkey) error,
) error {
	return a.update(ctx, func(ctx context.Context, tx driver.Tx, at time.Time) error {
		passkey, err := firstRecord(tx.Passkeys(ctx, []driver.PasskeyRef{{UserID: userID, ID: id}}))
		if err != nil {
			return err
		}
		if passkey.ID == "" {
			return missing
		}
		return rule(ctx, tx, at, passkey)
	})
}

// auditPasskey audits a change of a passkey by its name. The credential is nobody else's business.
func (a Accounts) auditPasskey(
	ctx context.Context, tx driver.Tx, at time.Time, action string, userID uuid.UUID, before, after driver.Passkey,
) error {
	return a.as(userID).audit(ctx, tx, at, action, uuid.Nil, about("user", userID), changes{
		map[string]any{"passkey": optional(before.Name)}, map[string]any{"passkey": optional(after.Name)},
	})
}
