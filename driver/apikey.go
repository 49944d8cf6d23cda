package driver

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// APIKeyStatus is the status of an API key. Only an active key authenticates.
type APIKeyStatus string

// The statuses of an API key. A revoked key never becomes active again.
const (
	APIKeyActive  APIKeyStatus = "ACTIVE"
	APIKeyRevoked APIKeyStatus = "REVOKED"
)

// APIKey is a key as a store keeps it. It holds a keyed digest of the secret and never the secret itself. Its
// status changes only under the company's gate, held exclusively, because every write reads it (section 5, rule 5).
type APIKey struct {
	CompanyID uuid.UUID
	ID        uuid.UUID
	Name      string
	Grants    []Grant
	Status    APIKeyStatus
	// Digest is the keyed digest of the secret. It names the secret key that made it, see [KeyReader].SecretsInUse.
	Digest        string
	PredecessorID uuid.UUID // zero: issued, not rotated
	CreatedAt     time.Time
	LastUsedAt    time.Time
	RevokedAt     time.Time
}

// APIKeyRef names a key within its company.
type APIKeyRef struct{ CompanyID, ID uuid.UUID }

// APIKeyUse is a use of a key, as a store records it.
type APIKeyUse struct {
	APIKeyRef
	UsedAt time.Time
	// Digest is the digest under the first secret key. It replaces a digest that another secret key made, so that the
	// other secret key can be retired.
	Digest string
}

// KeyReader finds API keys and the names of secret keys. A name identifies a secret key and reveals nothing of it.
type KeyReader interface {
	// FindAPIKeys finds keys by their ids alone, without their companies.
	FindAPIKeys(ctx context.Context, ids []uuid.UUID) ([]APIKey, error)
	// APIKeys returns keys by their references.
	APIKeys(ctx context.Context, refs []APIKeyRef) ([]APIKey, error)
	// ListAPIKeys returns a company's keys, newest first; keys of the same time are ordered by id.
	ListAPIKeys(ctx context.Context, companyID uuid.UUID, limit int) ([]APIKey, error)
	// CountAPIKeys returns how many keys of a status a company has.
	CountAPIKeys(ctx context.Context, companyID uuid.UUID, status APIKeyStatus) (int, error)
	// SecretNames returns the names of all secret keys that were kept, in order.
	SecretNames(ctx context.Context) ([]string, error)
	// SecretsInUse returns the names of the secret keys in use, each once, in order. A secret key is in use if the digest
	// of an active API key, the encrypted number of a current bank account or the encrypted signing secret of a webhook
	// names it: the 16 characters after "v1:" and "s1:". While a node of a cluster does not answer, those of its companies
	// are missing.
	SecretsInUse(ctx context.Context) ([]string, error)
}

// KeyWriter keeps API keys and the names of secret keys.
type KeyWriter interface {
	// CreateAPIKey keeps a new key.
	CreateAPIKey(ctx context.Context, key APIKey) error
	// UpdateAPIKey updates the status and the time of revocation. It does not change what TouchAPIKeys writes, since a use
	// of the key may be recorded at the same time.
	UpdateAPIKey(ctx context.Context, key APIKey) error
	// TouchAPIKeys updates the time of the last use and the digest. It never sets an earlier time.
	TouchAPIKeys(ctx context.Context, uses []APIKeyUse) error
	// AppendSecretName keeps the name of a secret key. A name that is kept already is no error.
	AppendSecretName(ctx context.Context, name string, at time.Time) error
}

// Ref returns the reference of the key.
func (k APIKey) Ref() APIKeyRef { return APIKeyRef{CompanyID: k.CompanyID, ID: k.ID} }

// Grant is a right on the data plane (section 5). A read grant never implies the manage grant.
type Grant string

// The seven grants that a public API key may carry.
const (
	GrantEventRead       Grant = "COMPANY:event:read"
	GrantEventManage     Grant = "COMPANY:event:manage"
	GrantInventoryRead   Grant = "COMPANY:inventory:read"
	GrantInventoryManage Grant = "COMPANY:inventory:manage"
	GrantCheckoutCreate  Grant = "COMPANY:checkout:create"
	GrantOrderRead       Grant = "COMPANY:order:read"
	GrantTicketValidate  Grant = "COMPANY:ticket:validate"
)
