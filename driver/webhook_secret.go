package driver

import (
	"time"

	"github.com/google/uuid"
)

// WebhookSecret is a version of an endpoint's signing secret as a store keeps it: encrypted.
type WebhookSecret struct {
	CompanyID uuid.UUID
	Endpoint  int64  // the number of the endpoint
	Version   int64  // 1, 2, 3 … within the endpoint
	Secret    string // encrypted, an opaque text that the service writes
	CreatedAt time.Time
}

// WebhookSecretRef identifies a version of an endpoint's signing secret.
type WebhookSecretRef struct {
	CompanyID uuid.UUID
	Endpoint  int64
	Version   int64
}

// StaleWebhookSecretQuery selects the signing secrets that are encrypted with another key than the named one.
type StaleWebhookSecretQuery struct {
	SecretName string           // of the key
	After      WebhookSecretRef // only those after this one; zero: from the beginning
	Limit      int
}

// Ref returns the reference of the secret.
func (s WebhookSecret) Ref() WebhookSecretRef {
	return WebhookSecretRef{CompanyID: s.CompanyID, Endpoint: s.Endpoint, Version: s.Version}
}
