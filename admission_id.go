package ticketing

import "github.com/google/uuid"

// An admission names two more records, each of which is there at most once: its line of the order and its validation.
// Their ids are the admission's id with some bits inverted. So [Operator.Find] finds both by their ids, and neither a
// sale nor a scan writes an index of them. Records from before this rule have random ids.
//
// None of the three ids is a secret: an order shows the first two together, a validation the first and the third.
//
// The bits never change, since records keep the ids. They leave the version and the variant of a UUID as they are.
const (
	lineBits       = "\xc2\x84\x7f\x19\xb3\x6e\x05\xd1\x1e\x9a\x70\xf4\xc8\x5b\x3d\x27"
	validationBits = "\x6b\x1d\x9e\x52\x4c\x07\x0a\x38\x23\xf5\xd8\x1c\x47\xa2\xe9\x6b"
)

// inverted returns an id with some bits inverted. It is its own inverse.
func inverted(id uuid.UUID, bits string) uuid.UUID {
	for i := range id {
		id[i] ^= bits[i]
	}
	return id
}
