package ticketing

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// APIKeyStatus is the status of an API key. Only an active key authenticates.
type APIKeyStatus = driver.APIKeyStatus

// The statuses of an API key. A revoked key never becomes active again.
const (
	APIKeyActive  = driver.APIKeyActive
	APIKeyRevoked = driver.APIKeyRevoked
)

// APIKey is what may be shown of a key at any time: never its secret or its digest (section 5.1).
type APIKey struct {
	ID     uuid.UUID    `json:"id"`
	Name   string       `json:"name"`
	Grants []Grant      `json:"grants"`
	Status APIKeyStatus `json:"status"`
	// PredecessorID is the key that this one was rotated from; nil: it was issued.
	PredecessorID *uuid.UUID `json:"predecessorId"`
	CreatedAt     Time       `json:"createdAt"`
	// LastUsedAt is recorded about once a minute at most; nil: not used yet.
	LastUsedAt *Time `json:"lastUsedAt"`
	RevokedAt  *Time `json:"revokedAt"`
}

// maxActiveKeys is how many active keys a company may have: one in use and its successor (section 5.1).
const maxActiveKeys = 2

// showAPIKey returns what may be shown of the key. It leaves out the digest, which is the only trace of the secret that
// the service keeps.
func showAPIKey(k driver.APIKey) APIKey {
	key := APIKey{
		ID: k.ID, Name: k.Name, Grants: k.Grants, Status: k.Status,
		CreatedAt: Time{Time: k.CreatedAt}, LastUsedAt: optionalTime(k.LastUsedAt), RevokedAt: optionalTime(k.RevokedAt),
	}
	if k.PredecessorID != uuid.Nil {
		key.PredecessorID = &k.PredecessorID
	}
	return key
}

// IssuedAPIKey is a new key with its text. The text is shown only once and cannot be read again (section 5.1).
type IssuedAPIKey struct {
	APIKey

	// Key is the whole text, svc_live.<key-id>.<secret>. Never log it.
	Key string `json:"key"`
}

// CompanyAPIKey is a key and the company that owns it.
type CompanyAPIKey struct {
	APIKey

	CompanyID uuid.UUID `json:"companyId"`
}

// IssueAPIKey issues a key. The name has 2 to 80 characters. The grants are one or more of the seven, without
// duplicates (section 5.1). It needs COMPANY:api_key:manage.
//
// A company without a current verification, and one that has two active keys already, is CONFLICT. An HTTP response
// with the result must carry Cache-Control: no-store.
func (o Operator) IssueAPIKey(
	ctx context.Context, companyID uuid.UUID, name string, grants []Grant,
) (IssuedAPIKey, error) {
	if err := o.allowWrite(PermissionAPIKeyManage, companyID); err != nil {
		return IssuedAPIKey{}, err
	}
	var v violations
	name = requiredText(&v, "name", name, 2, 80)
	checkGrants(&v, grants)
	if err := v.err(); err != nil {
		return IssuedAPIKey{}, err
	}
	// The grants are a copy, since the caller may change its slice later.
	return o.makeKey(ctx, "key.issue", companyID, func(context.Context, driver.Tx) (driver.APIKey, error) {
		return driver.APIKey{Name: name, Grants: slices.Clone(grants)}, nil
	})
}

// RotateAPIKey issues a successor with the name and the grants of an active key. The predecessor stays active until it
// is revoked (section 5.1), so that the successor can be deployed first. The conditions on the company and on the HTTP
// response are those of [Operator.IssueAPIKey], and a revoked key is CONFLICT. It needs COMPANY:api_key:manage.
func (o Operator) RotateAPIKey(ctx context.Context, keyID uuid.UUID) (IssuedAPIKey, error) {
	found, err := o.findKey(ctx, PermissionAPIKeyManage, keyID)
	if err != nil {
		return IssuedAPIKey{}, err
	}
	ref := found.Ref()
	return o.makeKey(ctx, "key.rotate", ref.CompanyID, func(ctx context.Context, tx driver.Tx) (driver.APIKey, error) {
		// The key is read again under the gate: a revocation may have committed since it was found.
		predecessor, err := firstRecord(tx.APIKeys(ctx, []driver.APIKeyRef{ref}))
		if err == nil && predecessor.Status != APIKeyActive {
			err = conflict("A revoked API key cannot be rotated.")
		}
		return driver.APIKey{Name: predecessor.Name, Grants: predecessor.Grants, PredecessorID: ref.ID}, err
	})
}

// RevokeAPIKey revokes a key. From its commit on the key does not authenticate, and a write that was already let in
// with it fails with PERMISSION_DENIED (section 5, rule 5). The company need not be verified. A key that is already
// revoked stays as it is. It needs COMPANY:api_key:manage.
func (o Operator) RevokeAPIKey(ctx context.Context, keyID uuid.UUID) (APIKey, error) {
	found, err := o.findKey(ctx, PermissionAPIKeyManage, keyID)
	if err != nil {
		return APIKey{}, err
	}
	ref := found.Ref()
	var revoked APIKey
	err = o.changeExclusive(ctx, PermissionAPIKeyManage, ref.CompanyID,
		func(ctx context.Context, tx driver.Tx, at time.Time, _ *driver.Company) error {
			key, err := firstRecord(tx.APIKeys(ctx, []driver.APIKeyRef{ref}))
			if err != nil {
				return err
			}
			before := showAPIKey(key)
			// A repeated revocation keeps the first time and is not audited.
			if revoked = before; key.Status != APIKeyActive {
				return nil
			}
			// A revoked key is kept: its successors name it as their predecessor.
			key.Status, key.RevokedAt = APIKeyRevoked, at
			revoked = showAPIKey(key)
			if err := tx.UpdateAPIKey(ctx, key); err != nil {
				return err
			}
			return o.audit(ctx, tx, at, "key.revoke", ref.CompanyID, about("key", keyID), changes{before, revoked})
		})
	if err != nil {
		return APIKey{}, err
	}
	return revoked, nil
}

// GetAPIKey returns a key, never its secret or its digest. It needs COMPANY:api_key:read.
func (o Operator) GetAPIKey(ctx context.Context, keyID uuid.UUID) (CompanyAPIKey, error) {
	key, err := o.findKey(ctx, PermissionAPIKeyRead, keyID)
	if err != nil {
		return CompanyAPIKey{}, err
	}
	return CompanyAPIKey{APIKey: showAPIKey(key), CompanyID: key.CompanyID}, nil
}

// ListAPIKeys returns a company's keys, newest first, never a secret or a digest. It needs COMPANY:api_key:read.
func (o Operator) ListAPIKeys(ctx context.Context, companyID uuid.UUID) ([]APIKey, error) {
	keys := []APIKey{}
	err := o.view(ctx, PermissionAPIKeyRead, companyID,
		func(ctx context.Context, tx driver.ReadTx) error {
			records, err := tx.ListAPIKeys(ctx, companyID, maxListed)
			keys = make([]APIKey, len(records))
			for i, record := range records {
				keys[i] = showAPIKey(record)
			}
			return err
		})
	if err != nil {
		return nil, err
	}
	return keys, nil
}

// makeKey creates a key with the name, grants and predecessor that draft returns. draft runs in the transaction, so
// that a rotation copies what it reads under the gate.
//
// The exclusive gate of the company makes the count of active keys exact: two calls at a time cannot both pass the
// limit. The id and the secret are made before the transaction, which may run again.
func (o Operator) makeKey(
	ctx context.Context, action string, companyID uuid.UUID,
	draft func(ctx context.Context, tx driver.Tx) (driver.APIKey, error),
) (IssuedAPIKey, error) {
	// A key that is issued under other secret keys than those of the database would be refused later.
	if err := o.s.secrets.check(ctx, o.s); err != nil {
		return IssuedAPIKey{}, err
	}
	id := o.s.newID()
	secret := make([]byte, secretSize)
	if _, err := io.ReadFull(o.s.rand, secret); err != nil {
		return IssuedAPIKey{}, fmt.Errorf("ticketing: make a secret: %w", err)
	}
	var made driver.APIKey
	err := o.changeExclusive(ctx, PermissionAPIKeyManage, companyID,
		func(ctx context.Context, tx driver.Tx, at time.Time, company *driver.Company) error {
			// Issue and rotation need a current approval or a grace (section 5.1).
			if !isCurrent(company.Verification, at) {
				return errUnverified
			}
			var err error
			if made, err = draft(ctx, tx); err != nil {
				return err
			}
			// The successor counts while its predecessor is active, so a rotation needs room for both.
			active, err := tx.CountAPIKeys(ctx, companyID, APIKeyActive)
			if err != nil {
				return err
			}
			if active >= maxActiveKeys {
				return conflict("A company has at most %d active API keys. Revoke one first.", maxActiveKeys)
			}
			made.CompanyID, made.ID, made.Status, made.CreatedAt = companyID, id, APIKeyActive, at
			// The text of the key leaves the service in the result and is kept nowhere.
			made.Digest = o.s.keys.Sum(secretDomain, id.String(), secret)
			if err := tx.CreateAPIKey(ctx, made); err != nil {
				return err
			}
			return o.audit(ctx, tx, at, action, companyID, about("key", id), changes{after: showAPIKey(made)})
		})
	if err != nil {
		return IssuedAPIKey{}, err
	}
	return IssuedAPIKey{APIKey: showAPIKey(made), Key: formatAPIKey(id, secret)}, nil
}

// findKey finds a key by its id alone. A key of another company is NOT_FOUND for an administrator.
//
// The result may be out of date: a change reads the key again under the gate.
func (o Operator) findKey(ctx context.Context, permission Permission, keyID uuid.UUID) (driver.APIKey, error) {
	find := func(tx driver.ReadTx, ctx context.Context, id uuid.UUID) (driver.APIKey, error) {
		return firstRecord(tx.FindAPIKeys(ctx, []uuid.UUID{id}))
	}
	return findReached(ctx, o, permission, keyID, notFound("The API key"), find,
		func(k driver.APIKey) uuid.UUID { return k.CompanyID })
}

// checkGrants checks that there is at least one grant, that each is one of the seven, and that none repeats.
func checkGrants(v *violations, grants []Grant) {
	if len(grants) == 0 {
		v.add("grants", "must have at least one grant")
	}
	all := AllGrants()
	for i, grant := range grants {
		switch {
		case !slices.Contains(all, grant):
			v.add(fmt.Sprintf("grants[%d]", i), "must be one of the seven grants of a public API key")
		case slices.Contains(grants[:i], grant):
			v.add(fmt.Sprintf("grants[%d]", i), "must not repeat a grant")
		}
		if i == len(all) {
			return // There are seven grants, so an eighth is wrong anyway; the client need not see every violation.
		}
	}
}
