package ticketing

import (
	"errors"

	"github.com/google/uuid"
)

// ParseID parses the id of a resource: the 36 characters of a UUID of version 4, in either case (section 2.1).
//
// Its error is fit for a violation: it does not repeat the input.
func ParseID(s string) (uuid.UUID, error) {
	// uuid.Parse also accepts braces, "urn:uuid:" and bare digits. With 36 characters only the plain form is left.
	if len(s) == 36 {
		if id, err := uuid.Parse(s); err == nil && id.Version() == 4 && id.Variant() == uuid.RFC4122 {
			return id, nil
		}
	}
	return uuid.Nil, errors.New("must be a UUID of version 4")
}
