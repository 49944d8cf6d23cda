// Package digest makes and verifies keyed digests of secrets: what a service
// keeps of a credential, so that it can recognise the credential and whoever
// reads the database can neither use nor guess it.
//
// The digests are made under a ring of master keys. The first key makes them,
// all verify them, and a digest names its key; so a master key is replaced by
// putting a new one in front and dropping the old one once nothing is left
// that names it.
//
// # Bytes of a digest
//
// A digest is 63 characters of ASCII:
//
//	v1:<name>:<code>
//
// The name is that of the key: the first 8 bytes, as 16 lower-case hexadecimal
// digits, of HMAC-SHA256 under the key of the 23 bytes
//
//	keyed-digest/v1/keyname
//
// which tell nothing of the key to somebody who cannot guess it. The code is
// the unpadded base64url text (RFC 4648, Section 5), 43 characters, of
// HMAC-SHA256 under the key of
//
//	"keyed-digest/v1/secret\n"
//	the length of the domain in bytes as 8 bytes, big-endian, then the domain
//	the same of the id
//	the same of the secret
//
// The domain is what kind of secret it is, the id is whose. With the lengths,
// no two triples give the same bytes: a digest cannot be moved to another id
// or be taken for one of another kind.
//
// HMAC makes the digest as hard to guess as the weaker of key and secret: the
// secrets are to be random, not chosen by people.
package digest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"slices"
	"strings"
)

const (
	// MinKey is the fewest bytes that a master key has.
	MinKey = 32

	version    = "v1:"
	namePrefix = "keyed-digest/v1/keyname"
	codePrefix = "keyed-digest/v1/secret\n"
	nameBytes  = 8
	nameLength = 2 * nameBytes
)

// ErrKeys is wrapped by every refusal of [New].
var ErrKeys = errors.New("digest: unfit master keys")

// Ring holds master keys; [New] makes it. It is safe for concurrent use, and
// package fmt prints no key of it.
type Ring struct {
	keys []key
}

type key struct {
	name string
	// mac begins an HMAC under the key. Package fmt would find the bytes of a
	// key behind a pointer, too, but not in a function.
	mac func() hash.Hash
}

// New returns a ring of the keys, which it copies. The first makes digests.
// There is at least one, none has fewer than [MinKey] bytes, and no two have
// the same name, as equal keys do and keys that HMAC cannot tell apart.
func New(keys [][]byte) (*Ring, error) {
	if len(keys) == 0 {
		return nil, fmt.Errorf("%w: there is none", ErrKeys)
	}
	r := &Ring{keys: make([]key, 0, len(keys))}
	for i, secret := range keys {
		if len(secret) < MinKey {
			return nil, fmt.Errorf("%w: key %d has fewer than %d bytes", ErrKeys, i+1, MinKey)
		}
		copied := slices.Clone(secret)
		mac := func() hash.Hash { return hmac.New(sha256.New, copied) }
		named := mac()
		named.Write([]byte(namePrefix))
		name := hex.EncodeToString(named.Sum(nil)[:nameBytes])
		if j := slices.Index(r.Names(), name); j >= 0 {
			return nil, fmt.Errorf("%w: keys %d and %d are the same", ErrKeys, j+1, i+1)
		}
		r.keys = append(r.keys, key{name: name, mac: mac})
	}
	return r, nil
}

// Sum returns the digest of the secret of that domain and id under the first
// key.
func (r *Ring) Sum(domain, id string, secret []byte) string {
	return string(r.keys[0].sum(domain, id, secret))
}

// Verify tells whether the digest is that of the secret under a key of the
// ring, and whether that is the first key: if not, it is time to keep
// [Ring.Sum] instead.
//
// Codes are compared in constant time. A digest that is malformed or names a
// key that the ring lacks is not ok, for the same work.
func (r *Ring) Verify(digest, domain, id string, secret []byte) (ok, current bool) {
	named := 0
	if rest, found := strings.CutPrefix(digest, version); found && len(rest) > nameLength {
		for i := range r.keys {
			if r.keys[i].name == rest[:nameLength] {
				named = i
			}
		}
	}
	// A digest has one spelling, so nothing needs to be parsed.
	ok = hmac.Equal([]byte(digest), r.keys[named].sum(domain, id, secret))
	return ok, ok && named == 0
}

// Dummy returns a digest under the first key that no secret has, for verifying
// against it, at the same cost, where there is nothing to verify against.
func (r *Ring) Dummy() string {
	// 32 bytes leave two bits of the last character unused, and Sum leaves
	// them zero: no code ends in B.
	return version + r.keys[0].name + ":" + strings.Repeat("A", base64.RawURLEncoding.EncodedLen(sha256.Size)-1) + "B"
}

// Names returns the names of the keys, in their order.
func (r *Ring) Names() []string {
	names := make([]string, len(r.keys))
	for i, k := range r.keys {
		names[i] = k.name
	}
	return names
}

func (k *key) sum(domain, id string, secret []byte) []byte {
	mac := k.mac()
	var buf [256]byte
	b := append(buf[:0], codePrefix...)
	b = binary.BigEndian.AppendUint64(b, uint64(len(domain)))
	b = append(b, domain...)
	b = binary.BigEndian.AppendUint64(b, uint64(len(id)))
	b = append(b, id...)
	b = binary.BigEndian.AppendUint64(b, uint64(len(secret)))
	b = append(b, secret...)
	mac.Write(b)

	var code [sha256.Size]byte
	digest := make([]byte, 0, len(version)+nameLength+1+base64.RawURLEncoding.EncodedLen(len(code)))
	digest = append(digest, version...)
	digest = append(digest, k.name...)
	digest = append(digest, ':')
	return base64.RawURLEncoding.AppendEncode(digest, mac.Sum(code[:0]))
}
