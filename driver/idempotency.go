package driver

import (
	"time"

	"github.com/google/uuid"
)

// IdempotencyKey is an idempotency key in its scope: company and operation (section 4.11). The API key is not in the
// scope, so an idempotency key survives the rotation of API keys.
type IdempotencyKey struct {
	CompanyID uuid.UUID
	Operation string // such as "checkouts.create"
	Key       string
}

// IdempotencyResult is the result of a spent key. It never changes and is never removed (section 4.11, rule 5).
type IdempotencyResult struct {
	IdempotencyKey

	// Digest is the versioned digest of the normalised input. A call with the key and another digest is CONFLICT.
	Digest  string
	Outcome string    // of a validation; otherwise empty
	Subject uuid.UUID // the order, event or admission
	// Body is the JSON of the result if its subject changes later, and otherwise nil. A result without a body is rendered
	// from the records of the subject.
	Body      []byte
	CreatedAt time.Time
}
