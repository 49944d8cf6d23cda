package ticketing

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/internal/safename"
)

// ResultRef is an idempotency key in its scope: company and operation (section 4.11).
type ResultRef struct {
	CompanyID uuid.UUID
	Operation string // such as "checkouts.create"
	Key       string
}

// ResultRecord is what a spent key answers with. It never changes.
type ResultRecord struct {
	ResultRef

	Digest    string    // of the normalised input, versioned
	Outcome   string    // of a validation; else empty
	Subject   uuid.UUID // the order, event or admission
	Body      []byte    // the result where its subject changes later; else nil
	CreatedAt time.Time
}

// ResultKeeper finds and keeps the results of idempotent operations.
type ResultKeeper interface {
	Results(ctx context.Context, refs []ResultRef) ([]ResultRecord, error)
	AppendResults(ctx context.Context, results []ResultRecord) error
}

var errKeyRequired = &Error{
	Code: CodeIdempotencyKeyRequired, Message: "The Idempotency-Key header is required for this operation.",
}

// CheckIdempotencyKey is nil for a well-formed key, IDEMPOTENCY_KEY_REQUIRED for none and INVALID_REQUEST for
// anything else (section 4.1). Every idempotent operation asks it; an adapter may ask it before it reads a body.
func CheckIdempotencyKey(key string) error {
	if key == "" {
		return errKeyRequired
	}
	if !safename.Valid(key, 8, 128) {
		return Invalid(Violation{Message: "Idempotency-Key: must be 8 to 128 characters of A-Z a-z 0-9 . _ : - " +
			"that begin with a letter or digit"})
	}
	return nil
}
