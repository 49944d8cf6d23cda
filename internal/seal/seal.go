// Package seal encrypts short values at rest. A reader of the database or of a backup learns nothing about a value but
// its length. A value that was changed, or moved to another record, does not open.
//
// Values are sealed under a ring of master keys. The first key seals, all keys open, and a sealed value names its key.
// To replace a master key, put a new one in front, and seal again each value that [Ring.Open] reports as not current.
// Drop the old key when no value names it any more.
//
// # Bytes of a sealed value
//
// A sealed value is ASCII:
//
//	s1:<name>:<box>
//
// The name is that of the key, 16 lower-case hexadecimal digits. The creator of the ring chooses it, and it must reveal
// nothing about the key. The box is the unpadded base64url text (RFC 4648, Section 5) of 12 random bytes, the nonce,
// followed by the output of AES-256-GCM for the value under that nonce, 16 bytes longer than the value. Its key is the
// 32 bytes that HKDF-SHA256 (RFC 5869) derives from the master key without a salt and with the info
//
//	sealed-value/v1/key
//
// and its associated data are
//
//	"sealed-value/v1\n"
//	the length of the domain in bytes as 8 bytes, big-endian, then the domain
//	the same of the id
//
// The domain is the kind of the value, and the id is its owner. Because of the lengths, no two pairs give the same
// bytes.
//
// Nonces are random: under one key up to 2^32 values may be sealed.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

const (
	// MinKey is the minimum number of bytes of a master key.
	MinKey = 32

	version    = "s1:"
	keyInfo    = "sealed-value/v1/key"
	dataPrefix = "sealed-value/v1\n"
	nameLength = 16
	keyBytes   = 32
	nonceBytes = 12
)

// The errors of this package, for use with [errors.Is]. No error contains a value, a sealed value or a key.
var (
	// ErrKeys: [New] was called with unfit keys.
	ErrKeys = errors.New("seal: invalid master keys")
	// ErrUnknownKey: the value was sealed under a key that the ring lacks.
	ErrUnknownKey = errors.New("seal: encrypted with a key that is not given")
	// ErrSealed: the value is malformed, was changed, or belongs to another domain or id.
	ErrSealed = errors.New("seal: the value cannot be decrypted")
)

// Key is a master key and its name.
type Key struct {
	Name   string // 16 lower-case hexadecimal digits
	Secret []byte
}

// Ring holds master keys. [New] creates it. It is safe for concurrent use, and package fmt prints none of its keys.
type Ring struct {
	names []string
	// boxes seal and open under a key. They are functions because package fmt would print the bytes of a key even
	// through a pointer.
	boxes []func() cipher.AEAD
}

// New returns a ring of the keys. The first key seals. There must be at least one key, each with at least [MinKey]
// bytes and a unique name.
func New(keys []Key) (*Ring, error) {
	if len(keys) == 0 {
		return nil, fmt.Errorf("%w: none is given", ErrKeys)
	}
	r := &Ring{}
	for i, key := range keys {
		if len(key.Secret) < MinKey {
			return nil, fmt.Errorf("%w: key %d has fewer than %d bytes", ErrKeys, i+1, MinKey)
		}
		if len(key.Name) != nameLength || strings.Trim(key.Name, "0123456789abcdef") != "" {
			return nil, fmt.Errorf("%w: key %d has no name of %d hexadecimal digits", ErrKeys, i+1, nameLength)
		}
		if r.find(key.Name) >= 0 {
			return nil, fmt.Errorf("%w: two keys are named %s", ErrKeys, key.Name)
		}
		box, err := boxOf(key.Secret)
		if err != nil {
			return nil, fmt.Errorf("seal: key %d: %w", i+1, err)
		}
		r.names = append(r.names, key.Name)
		r.boxes = append(r.boxes, func() cipher.AEAD { return box })
	}
	return r, nil
}

func boxOf(secret []byte) (cipher.AEAD, error) {
	derived, err := hkdf.Key(sha256.New, secret, nil, keyInfo, keyBytes)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(derived)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// find returns the index of a key, or -1.
func (r *Ring) find(name string) int {
	for i, known := range r.names {
		if known == name {
			return i
		}
	}
	return -1
}

// Seal seals a value of that domain and id under the first key, with a nonce from random.
func (r *Ring) Seal(random io.Reader, domain, id string, value []byte) (string, error) {
	box := make([]byte, nonceBytes, nonceBytes+len(value)+16)
	if _, err := io.ReadFull(random, box); err != nil {
		return "", fmt.Errorf("seal: make a nonce: %w", err)
	}
	box = r.boxes[0]().Seal(box, box, value, data(domain, id))
	return version + r.names[0] + ":" + base64.RawURLEncoding.EncodeToString(box), nil
}

// Open returns the value that [Ring.Seal] sealed for the same domain and id. It also reports whether that was under the
// first key; if not, the caller should seal the value again. The error is [ErrUnknownKey] or [ErrSealed].
func (r *Ring) Open(sealed, domain, id string) (value []byte, current bool, err error) {
	rest, found := strings.CutPrefix(sealed, version)
	name, text, parted := strings.Cut(rest, ":")
	if !found || !parted || len(name) != nameLength {
		return nil, false, ErrSealed
	}
	place := r.find(name)
	if place < 0 {
		return nil, false, ErrUnknownKey
	}
	// Strict, so that a box has one spelling.
	box, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(box) < nonceBytes || strings.ContainsAny(text, "\r\n") {
		return nil, false, ErrSealed
	}
	value, err = r.boxes[place]().Open(nil, box[:nonceBytes], box[nonceBytes:], data(domain, id))
	if err != nil {
		return nil, false, ErrSealed
	}
	return value, place == 0, nil
}

// data returns the associated data.
func data(domain, id string) []byte {
	b := make([]byte, 0, len(dataPrefix)+16+len(domain)+len(id))
	b = append(b, dataPrefix...)
	b = binary.BigEndian.AppendUint64(b, uint64(len(domain)))
	b = append(b, domain...)
	b = binary.BigEndian.AppendUint64(b, uint64(len(id)))
	return append(b, id...)
}
