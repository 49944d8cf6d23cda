package ticketing

import (
	"crypto/sha256"
	"errors"
	"slices"

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

// madeID is the id that is made of another one and a name.
func madeID(domain string, of uuid.UUID, name string) uuid.UUID {
	var id uuid.UUID
	sum := sha256.Sum256(slices.Concat([]byte(domain), of[:], []byte(name)))
	copy(id[:], sum[:])
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return id
}
