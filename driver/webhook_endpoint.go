package driver

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// WebhookStatus is the status of an endpoint. Only an enabled endpoint receives deliveries.
type WebhookStatus string

// The statuses of an endpoint. Events that happen while it is DISABLED are not delivered to it later.
const (
	WebhookEnabled  WebhookStatus = "ENABLED"
	WebhookDisabled WebhookStatus = "DISABLED"
)

// WebhookEndpoint is an endpoint as a store keeps it. It changes only under the company's gate, held exclusively. So a
// dispatch under the shared gate sees one state of all endpoints.
type WebhookEndpoint struct {
	CompanyID uuid.UUID
	// Number is 1, 2, 3 … in the order in which the company registered its endpoints, including those that were
	// deleted. An endpoint existed when a fact was written if its number is at most [Fact.Endpoints].
	Number int64
	ID     uuid.UUID
	URL    string
	Events []FactType // at least one, each once, in the order of section 6.1
	Status WebhookStatus
	// ActiveSecret is the version of the secret that signs new deliveries. PendingSecret is the version that was
	// prepared and not activated (zero: none). LastSecret is the highest version that there ever was.
	ActiveSecret  int64
	PendingSecret int64
	LastSecret    int64
	CreatedAt     time.Time
	UpdatedAt     time.Time
}

// WebhookEndpointRef identifies an endpoint of a company by its number.
type WebhookEndpointRef struct {
	CompanyID uuid.UUID
	Number    int64
}

// WebhookEndpointReader finds endpoints and their secrets.
type WebhookEndpointReader interface {
	// ListWebhookEndpoints returns all endpoints of a company, by number.
	ListWebhookEndpoints(ctx context.Context, companyID uuid.UUID) ([]WebhookEndpoint, error)
	// FindWebhookEndpoint finds an endpoint by its id alone. It returns the zero record where there is none.
	FindWebhookEndpoint(ctx context.Context, id uuid.UUID) (WebhookEndpoint, error)
	// WebhookSecrets returns secrets by reference.
	WebhookSecrets(ctx context.Context, refs []WebhookSecretRef) ([]WebhookSecret, error)
	// StaleWebhookSecrets returns secrets of all companies that are encrypted with another key than the given one, by
	// company, endpoint and version.
	StaleWebhookSecrets(ctx context.Context, query StaleWebhookSecretQuery) ([]WebhookSecret, error)
	// RetiredWebhookSecrets returns secrets of all companies that are neither active nor pending, after the given one,
	// by company, endpoint and version.
	RetiredWebhookSecrets(ctx context.Context, after WebhookSecretRef, limit int) ([]WebhookSecretRef, error)
}

// WebhookEndpointWriter keeps endpoints and their secrets.
type WebhookEndpointWriter interface {
	// CreateWebhookEndpoint keeps a new endpoint.
	CreateWebhookEndpoint(ctx context.Context, endpoint WebhookEndpoint) error
	// UpdateWebhookEndpoint keeps everything except company, number, id and time of creation.
	UpdateWebhookEndpoint(ctx context.Context, endpoint WebhookEndpoint) error
	// DeleteWebhookEndpoint removes an endpoint and all its secrets. Its deliveries stay.
	DeleteWebhookEndpoint(ctx context.Context, ref WebhookEndpointRef) error
	// AppendWebhookSecret keeps a new version of a secret.
	AppendWebhookSecret(ctx context.Context, secret WebhookSecret) error
	// UpdateWebhookSecret keeps a secret that was encrypted again with another key.
	UpdateWebhookSecret(ctx context.Context, secret WebhookSecret) error
	// DeleteWebhookSecrets removes secrets. A secret that is gone already is no error.
	DeleteWebhookSecrets(ctx context.Context, refs []WebhookSecretRef) error
}

// Ref returns the reference of the endpoint.
func (e WebhookEndpoint) Ref() WebhookEndpointRef {
	return WebhookEndpointRef{CompanyID: e.CompanyID, Number: e.Number}
}

// SecretRef returns the reference of a version of the endpoint's secret.
func (e WebhookEndpoint) SecretRef(version int64) WebhookSecretRef {
	return WebhookSecretRef{CompanyID: e.CompanyID, Endpoint: e.Number, Version: version}
}
