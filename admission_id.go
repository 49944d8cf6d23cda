package ticketing

import "github.com/google/uuid"

// An admission names two more records, each of which exists at most once: its line of the order and its validation.
// Their ids are the admission's id with some bits inverted. So [Operator.Find] finds both by their ids, and neither a
// sale nor a scan writes an index of them. Records from before this rule have random ids.
//
// So the id of a line or of a validation gives the admission's, which is a part of the ticket's code. Responses and
// webhooks that have one of the two have the admission's id as well. Show neither to somebody who may not see the
// ticket.
//
// The masks never change, since records keep the ids. They leave the version and the variant of a UUID as they are.
const (
	lineMask       = "\xc2\x84\x7f\x19\xb3\x6e\x05\xd1\x1e\x9a\x70\xf4\xc8\x5b\x3d\x27"
	validationMask = "\x6b\x1d\x9e\x52\x4c\x07\x0a\x38\x23\xf5\xd8\x1c\x47\xa2\xe9\x6b"
)

// derivedID returns an id with the bits of a mask inverted. It is its own inverse.
func derivedID(id uuid.UUID, mask string) uuid.UUID {
	for i := range id {
		id[i] ^= mask[i]
	}
	return id
}
