package ticketing

import (
	"github.com/floatgate/ticketing/internal/safename"
)

// errKeyRequired is a code of its own, so that a client can see that it forgot the header.
var errKeyRequired = &Error{
	Code: CodeIdempotencyKeyRequired, Message: "The Idempotency-Key header is required for this operation.",
}

// CheckIdempotencyKey returns nil for a well-formed key, IDEMPOTENCY_KEY_REQUIRED for none, and INVALID_REQUEST for
// anything else (section 4.1). Every idempotent operation calls it; an adapter may call it before it reads a body.
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
