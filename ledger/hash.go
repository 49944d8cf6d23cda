package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
)

// Hash is the SHA-256 of an entry's bytes, or of a genesis. Its text is 64
// lower-case hexadecimal digits and nothing else.
type Hash [sha256.Size]byte

// ErrHash means that a text is not a [Hash].
var ErrHash = errors.New("ledger: a hash is 64 lower-case hexadecimal digits")

// ParseHash is the inverse of [Hash.String]. It returns [ErrHash] for every
// other text, upper-case digits included, so that a hash has one spelling.
func ParseHash(s string) (Hash, error) {
	var h Hash
	err := h.UnmarshalText([]byte(s))
	return h, err
}

// String returns the 64 lower-case hexadecimal digits of h.
func (h Hash) String() string {
	return hex.EncodeToString(h[:])
}

// MarshalText returns the text of [Hash.String]; it never fails.
func (h Hash) MarshalText() ([]byte, error) {
	return hex.AppendEncode(nil, h[:]), nil
}

// UnmarshalText is [ParseHash] for decoders. It leaves h unchanged when it fails.
func (h *Hash) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(h)) {
		return ErrHash
	}
	var parsed Hash
	for i, c := range text {
		var nibble byte
		switch {
		case '0' <= c && c <= '9':
			nibble = c - '0'
		case 'a' <= c && c <= 'f':
			nibble = c - 'a' + 10
		default:
			return ErrHash
		}
		parsed[i/2] = parsed[i/2]<<4 | nibble
	}
	*h = parsed
	return nil
}
