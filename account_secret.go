package ticketing

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"github.com/google/uuid"
)

// accountSecret is the secret of a session or a link: 32 random bytes. The store has only the SHA-256 of it, in hex. It
// needs no key, since 32 random bytes cannot be guessed.
type accountSecret [secretSize]byte

// The kinds of account secrets. They keep a link from being read as a session.
const (
	sessionPrefix = "session."
	linkPrefix    = "link."
)

// newAccountSecret makes a secret.
func newAccountSecret(rand io.Reader) (accountSecret, error) {
	var s accountSecret
	if _, err := io.ReadFull(rand, s[:]); err != nil {
		return accountSecret{}, fmt.Errorf("ticketing: make a secret: %w", err)
	}
	return s, nil
}

// digest returns what the store keeps of the secret.
func (s accountSecret) digest() string { return hexDigest(s[:]) }

// matches reports whether the digest is that of the secret. It takes the same time for every digest of a length.
func (s accountSecret) matches(digest string) bool { return equalDigests(s.digest(), digest) }

// hexDigest returns the SHA-256 of a text in hex.
func hexDigest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// equalDigests compares two digests in constant time.
func equalDigests(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// format returns the text that a client sends: the prefix of the kind, and in unpadded base64url (RFC 4648, section 5)
// the 16 bytes of the user's id, the 16 bytes of the id and the 32 bytes of the secret. The ids are in the text so that
// a look-up needs no index of digests.
func (s accountSecret) format(prefix string, userID, id uuid.UUID) string {
	text := make([]byte, 0, 2*len(uuid.UUID{})+secretSize)
	text = append(append(append(text, userID[:]...), id[:]...), s[:]...)
	return prefix + secretEncoding.EncodeToString(text)
}

// parseAccountSecret is the inverse of format. It accepts exactly what format writes.
func parseAccountSecret(prefix, text string) (userID, id uuid.UUID, secret accountSecret, ok bool) {
	const size = 2*len(uuid.UUID{}) + secretSize
	rest, found := strings.CutPrefix(text, prefix)
	if !found || len(rest) != secretEncoding.EncodedLen(size) {
		return uuid.Nil, uuid.Nil, accountSecret{}, false
	}
	// The decoder skips line breaks, so a secret with one in it is too short.
	raw, err := secretEncoding.DecodeString(rest)
	if err != nil || len(raw) != size {
		return uuid.Nil, uuid.Nil, accountSecret{}, false
	}
	copy(userID[:], raw)
	copy(id[:], raw[len(userID):])
	copy(secret[:], raw[len(userID)+len(id):])
	return userID, id, secret, userID != uuid.Nil && id != uuid.Nil
}
