package ticketing

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/google/uuid"
)

// APIKeyStatus is whether a key still opens anything.
type APIKeyStatus string

// The statuses of an API key.
const (
	APIKeyActive  APIKeyStatus = "ACTIVE"
	APIKeyRevoked APIKeyStatus = "REVOKED"
)

// APIKey is what may be shown of a key at any time: never its secret or its digest (section 5.1).
type APIKey struct {
	ID            uuid.UUID    `json:"id"`
	Name          string       `json:"name"`
	Grants        []Grant      `json:"grants"`
	Status        APIKeyStatus `json:"status"`
	PredecessorID *uuid.UUID   `json:"predecessorId"`
	CreatedAt     Time         `json:"createdAt"`
	LastUsedAt    *Time        `json:"lastUsedAt"`
	RevokedAt     *Time        `json:"revokedAt"`
}

// APIKeyRecord is a key as a store keeps it.
type APIKeyRecord struct {
	CompanyID     uuid.UUID
	ID            uuid.UUID
	Name          string
	Grants        []Grant
	Status        APIKeyStatus
	Digest        string    // keyed digest of the secret; it names the secret key that made it
	PredecessorID uuid.UUID // zero: issued, not rotated
	CreatedAt     time.Time
	LastUsedAt    time.Time
	RevokedAt     time.Time
}

// APIKeyRef names a key within its company.
type APIKeyRef struct{ CompanyID, ID uuid.UUID }

// APIKeyUse is what the use of a key leaves behind.
type APIKeyUse struct {
	APIKeyRef
	UsedAt time.Time
	Digest string // the digest under the first secret key
}

// APIKeyReader finds keys.
type APIKeyReader interface {
	// FindAPIKeys finds keys by their ids alone, as a request names them.
	FindAPIKeys(ctx context.Context, ids []uuid.UUID) ([]APIKeyRecord, error)
	APIKeys(ctx context.Context, refs []APIKeyRef) ([]APIKeyRecord, error)
	// ListAPIKeys answers with a company's keys, newest first, of one time by id.
	ListAPIKeys(ctx context.Context, companyID uuid.UUID, limit int) ([]APIKeyRecord, error)
	// CountAPIKeys counts a company's keys of a status.
	CountAPIKeys(ctx context.Context, companyID uuid.UUID, status APIKeyStatus) (int, error)
	// SecretsInUse answers with the names of the secret keys that the digests of active keys, the sealed numbers of
	// current bank accounts and the sealed signing secrets of webhooks name, each once, in order: the 16 characters behind
	// "v1:" and "s1:".
	SecretsInUse(ctx context.Context) ([]string, error)
}

// APIKeyWriter keeps keys.
type APIKeyWriter interface {
	CreateAPIKey(ctx context.Context, key APIKeyRecord) error
	// UpdateAPIKey keeps the status and the time of revocation; what TouchAPIKeys writes is left alone.
	UpdateAPIKey(ctx context.Context, key APIKeyRecord) error
	// TouchAPIKeys keeps the time of the last use, never an earlier one, and the digest.
	TouchAPIKeys(ctx context.Context, uses []APIKeyUse) error
}

const maxActiveKeys = 2

func (k APIKeyRecord) apiKey() APIKey {
	key := APIKey{
		ID: k.ID, Name: k.Name, Grants: k.Grants, Status: k.Status,
		CreatedAt: Time{k.CreatedAt}, LastUsedAt: when(k.LastUsedAt), RevokedAt: when(k.RevokedAt),
	}
	if k.PredecessorID != uuid.Nil {
		key.PredecessorID = &k.PredecessorID
	}
	return key
}

func (k APIKeyRecord) ref() APIKeyRef { return APIKeyRef{CompanyID: k.CompanyID, ID: k.ID} }

// IssuedAPIKey is a new key: the only time its text is shown.
type IssuedAPIKey struct {
	APIKey

	// Key is the whole text, svc_live.<key-id>.<secret>. It belongs in no log.
	Key string `json:"key"`
}

// CompanyAPIKey is a key and whose it is.
type CompanyAPIKey struct {
	APIKey

	CompanyID uuid.UUID `json:"companyId"`
}

// IssueAPIKey makes a key for a company that is currently verified and has fewer than two active ones; else CONFLICT.
// The name has 2 to 80 characters, the grants are at least one of the seven, no two alike (section 5.1). Whatever
// answers a browser with it sends Cache-Control: no-store. It needs COMPANY:api_key:manage.
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
	return o.makeKey(ctx, "key.issue", companyID, func(context.Context, Tx) (APIKeyRecord, error) {
		return APIKeyRecord{Name: name, Grants: slices.Clone(grants)}, nil
	})
}

// RotateAPIKey makes a successor with the name and the grants of an active key, which stays active until it is revoked
// (section 5.1). What it asks of the company, and of whoever shows its answer, is what [Operator.IssueAPIKey] asks. It
// needs COMPANY:api_key:manage.
func (o Operator) RotateAPIKey(ctx context.Context, keyID uuid.UUID) (IssuedAPIKey, error) {
	found, err := o.findKey(ctx, PermissionAPIKeyManage, keyID)
	if err != nil {
		return IssuedAPIKey{}, err
	}
	ref := found.ref()
	return o.makeKey(ctx, "key.rotate", ref.CompanyID, func(ctx context.Context, tx Tx) (APIKeyRecord, error) {
		predecessor, err := only(tx.APIKeys(ctx, []APIKeyRef{ref}))
		if err == nil && predecessor.Status != APIKeyActive {
			err = conflict("A revoked API key cannot be rotated.")
		}
		return APIKeyRecord{Name: predecessor.Name, Grants: predecessor.Grants, PredecessorID: ref.ID}, err
	})
}

// RevokeAPIKey makes a key useless from this moment on, verified company or not. One that is revoked already stays as
// it is. It needs COMPANY:api_key:manage.
func (o Operator) RevokeAPIKey(ctx context.Context, keyID uuid.UUID) (APIKey, error) {
	found, err := o.findKey(ctx, PermissionAPIKeyManage, keyID)
	if err != nil {
		return APIKey{}, err
	}
	ref := found.ref()
	var revoked APIKey
	err = o.change(ctx, PermissionAPIKeyManage, ref.CompanyID,
		func(ctx context.Context, tx Tx, at time.Time, _ *CompanyRecord) error {
			key, err := only(tx.APIKeys(ctx, []APIKeyRef{ref}))
			if err != nil {
				return err
			}
			before := key.apiKey()
			if revoked = before; key.Status != APIKeyActive {
				return nil
			}
			key.Status, key.RevokedAt = APIKeyRevoked, at
			revoked = key.apiKey()
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

// GetAPIKey shows a key, never its secret or its digest. It needs COMPANY:api_key:read.
func (o Operator) GetAPIKey(ctx context.Context, keyID uuid.UUID) (CompanyAPIKey, error) {
	key, err := o.findKey(ctx, PermissionAPIKeyRead, keyID)
	if err != nil {
		return CompanyAPIKey{}, err
	}
	return CompanyAPIKey{APIKey: key.apiKey(), CompanyID: key.CompanyID}, nil
}

// ListAPIKeys shows a company's keys, newest first, never a secret or a digest. It needs COMPANY:api_key:read.
func (o Operator) ListAPIKeys(ctx context.Context, companyID uuid.UUID) ([]APIKey, error) {
	keys := []APIKey{}
	err := o.view(ctx, PermissionAPIKeyRead, companyID, func(ctx context.Context, tx ReadTx, _ CompanyRecord) error {
		records, err := tx.ListAPIKeys(ctx, companyID, maxListed)
		keys = make([]APIKey, len(records))
		for i, record := range records {
			keys[i] = record.apiKey()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return keys, nil
}

// makeKey keeps a new key. The draft says what it is to be.
func (o Operator) makeKey(
	ctx context.Context, action string, companyID uuid.UUID,
	draft func(ctx context.Context, tx Tx) (APIKeyRecord, error),
) (IssuedAPIKey, error) {
	if err := o.s.secrets.check(ctx, o.s); err != nil {
		return IssuedAPIKey{}, err
	}
	id := o.s.newID()
	secret := make([]byte, secretSize)
	if _, err := io.ReadFull(o.s.rand, secret); err != nil {
		return IssuedAPIKey{}, fmt.Errorf("ticketing: make a secret: %w", err)
	}
	var made APIKeyRecord
	err := o.change(ctx, PermissionAPIKeyManage, companyID,
		func(ctx context.Context, tx Tx, at time.Time, company *CompanyRecord) error {
			if !company.Verification.current(at) {
				return errUnverified
			}
			var err error
			if made, err = draft(ctx, tx); err != nil {
				return err
			}
			active, err := tx.CountAPIKeys(ctx, companyID, APIKeyActive)
			if err != nil {
				return err
			}
			if active >= maxActiveKeys {
				return conflict("A company has at most %d active API keys. Revoke one first.", maxActiveKeys)
			}
			made.CompanyID, made.ID, made.Status, made.CreatedAt = companyID, id, APIKeyActive, at
			made.Digest = o.s.keys.Sum(secretDomain, id.String(), secret)
			if err := tx.CreateAPIKey(ctx, made); err != nil {
				return err
			}
			return o.audit(ctx, tx, at, action, companyID, about("key", id), changes{after: made.apiKey()})
		})
	if err != nil {
		return IssuedAPIKey{}, err
	}
	return IssuedAPIKey{APIKey: made.apiKey(), Key: formatAPIKey(id, secret)}, nil
}

// findKey finds a key by its id alone, for an actor that may see it.
func (o Operator) findKey(ctx context.Context, permission Permission, keyID uuid.UUID) (APIKeyRecord, error) {
	if err := o.holds(permission); err != nil {
		return APIKeyRecord{}, err
	}
	var key APIKeyRecord
	err := o.s.store.View(ctx, func(ctx context.Context, tx ReadTx) error {
		var err error
		key, err = only(tx.FindAPIKeys(ctx, []uuid.UUID{keyID}))
		return err
	})
	if err == nil && (key.ID == uuid.Nil || !o.reaches(key.CompanyID)) {
		err = notFound("The API key")
	}
	return key, err
}

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
			return // There is something wrong with eight; how much more need not be told.
		}
	}
}
