package ticketing

import (
	"errors"

	"github.com/google/uuid"
)

// ParseID reads the id of a resource: the 36 characters of a UUID of version 4, in either case (section 2.1).
func ParseID(s string) (uuid.UUID, error) {
	// uuid.Parse takes braces, "urn:uuid:" and bare digits, too; 36 characters leave the plain form alone.
	if len(s) == 36 {
		if id, err := uuid.Parse(s); err == nil && id.Version() == 4 && id.Variant() == uuid.RFC4122 {
			return id, nil
		}
	}
	return uuid.Nil, errors.New("must be a UUID of version 4")
}
