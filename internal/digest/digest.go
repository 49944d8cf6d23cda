// Package digest computes and verifies keyed digests of secrets. A service stores the digest of a credential instead of
// the credential. With it the service can recognise the credential, while a reader of the database can neither use nor
// guess it.
//
// The digests are computed under a ring of master keys. The first key computes them, all keys verify them, and a digest
// names its key. To replace a master key, put a new one in front. Drop the old key when no stored digest names it any
// more.
//
// # Bytes of a digest
//
// A digest is 63 characters of ASCII:
//
//	v1:<name>:<code>
//
// The name is that of the key: the first 8 bytes, as 16 lower-case hexadecimal digits, of HMAC-SHA256 under the key of
// the 23 bytes
//
//	keyed-digest/v1/keyname
//
// which reveal nothing about the key to somebody who cannot guess it. The code is the unpadded base64url text (RFC
// 4648, Section 5), 43 characters, of HMAC-SHA256 under the key of
//
//	"keyed-digest/v1/secret\n"
//	the length of the domain in bytes as 8 bytes, big-endian, then the domain
//	the same of the id
//	the same of the secret
//
// The domain is the kind of the secret, and the id is its owner. Because of the lengths, no two triples give the same
// bytes. So a digest cannot be moved to another id, nor taken for one of another kind.
//
// With HMAC, a digest is as hard to guess as the weaker of key and secret. So secrets must be random, not chosen by
// people.
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
	// MinKey is the minimum number of bytes of a master key.
	MinKey = 32

	version    = "v1:"
	namePrefix = "keyed-digest/v1/keyname"
	codePrefix = "keyed-digest/v1/secret\n"
	nameBytes  = 8
	nameLength = 2 * nameBytes
)

// ErrKeys is wrapped by every error of [New].
var ErrKeys = errors.New("digest: invalid master keys")

// Ring holds master keys. [New] creates it. It is safe for concurrent use, and package fmt prints none of its keys.
type Ring struct {
	keys []key
}

type key struct {
	name string
	// mac returns a new HMAC under the key. It is a function because package fmt would print the bytes of a key even
	// through a pointer.
	mac func() hash.Hash
}

// New returns a ring with copies of the keys. The first key computes digests. There must be at least one key, each with
// at least [MinKey] bytes, and no two may have the same name. Equal keys have the same name, and so do keys that are
// equal to HMAC.
func New(keys [][]byte) (*Ring, error) {
	if len(keys) == 0 {
		return nil, fmt.Errorf("%w: none is given", ErrKeys)
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

// Sum returns the digest of the secret of that domain and id under the first key.
func (r *Ring) Sum(domain, id string, secret []byte) string {
	return string(r.keys[0].sum(domain, id, secret))
}

// Verify reports whether the digest is that of the secret under a key of the ring, and whether that key is the first
// one. If it is not, the caller should store [Ring.Sum] instead.
//
// Codes are compared in constant time. A digest that is malformed, or names a key that the ring lacks, is refused after
// the same amount of work.
func (r *Ring) Verify(digest, domain, id string, secret []byte) (ok, current bool) {
	named := 0
	if rest, found := strings.CutPrefix(digest, version); found && len(rest) > nameLength {
		for i := range r.keys {
			if r.keys[i].name == rest[:nameLength] {
				named = i
			}
		}
	}
	// A digest has one spelling, so it need not be parsed.
	ok = hmac.Equal([]byte(digest), r.keys[named].sum(domain, id, secret))
	return ok, ok && named == 0
}

// Dummy returns a digest under the first key that no secret has. Verify against it if there is no digest to verify
// against, at the same cost.
func (r *Ring) Dummy() string {
	// 32 bytes leave two bits of the last character unused, and Sum sets them to zero: no code ends in B.
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
