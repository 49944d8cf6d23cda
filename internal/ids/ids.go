// Package ids derives ids that need not be stored, and writes ids without allocating.
package ids

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/google/uuid"
)

// Derive derives an id from another one and a name. The same input always gives the same id. It is the first 16 bytes
// of the SHA-256 of the domain, the 16 bytes of the id, and the name, made a UUID of version 4.
func Derive(domain string, of uuid.UUID, name string) uuid.UUID {
	var id uuid.UUID
	sum := sha256.Sum256(slices.Concat([]byte(domain), of[:], []byte(name)))
	copy(id[:], sum[:])
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	return id
}

// textSize is how many characters the text of an id has.
const textSize = 36

// AppendText appends the text of an id to b: 36 characters in lower case, as [uuid.UUID.String] returns.
func AppendText(b []byte, id uuid.UUID) []byte {
	var text [textSize]byte
	hex.Encode(text[:8], id[:4])
	text[8] = '-'
	hex.Encode(text[9:13], id[4:6])
	text[13] = '-'
	hex.Encode(text[14:18], id[6:8])
	text[18] = '-'
	hex.Encode(text[19:23], id[8:10])
	text[23] = '-'
	hex.Encode(text[24:], id[10:])
	return append(b, text[:]...)
}
