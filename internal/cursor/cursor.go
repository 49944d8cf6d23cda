// Package cursor encodes and decodes opaque page cursors: a position in one listing, bound to that listing, in a text
// that survives a URL.
//
// # Bytes of a cursor
//
// A cursor is the unpadded base64url text (RFC 4648, Section 5) of
//
//	1 byte     version, 0x01
//	16 bytes   scope: the listing that the position belongs to
//	n bytes    position; each listing has its own n, at most 367
//
// so it has 23 to 512 characters of A-Z a-z 0-9 _ and -. It is canonical: the unused bits of its last character are
// zero, and it contains no padding, line break or other character. A position in a scope has exactly one cursor.
//
// A scope is the first 16 bytes of the SHA-256 of
//
//	"cursor-scope/v1\n"
//	for each part: its length in bytes as 8 bytes, big-endian, then the part
//
// so different lists of parts have different scopes, even if they differ only in where one part ends and the next
// begins.
//
// # What it does not promise
//
// A cursor is neither signed nor encrypted. Scopes keep honest clients from mixing up listings. Anyone who knows the
// parts can make a cursor for any position. So code that reads a position must treat it as untrusted input, put nothing
// secret in it, and check again what the reader may see.
package cursor

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
)

const (
	// MaxLength is the maximum number of characters of a cursor.
	MaxLength = 512
	// MaxPosition is the maximum number of bytes of a position.
	MaxPosition = MaxLength*6/8 - header

	version = 1
	header  = 1 + scopeSize

	scopeSize   = 16
	scopePrefix = "cursor-scope/v1\n"
)

// ErrInvalid is the error for every text that is not a cursor of the scope.
var ErrInvalid = errors.New("cursor: invalid")

// Scope returns the scope of the parts. They are everything in which two listings may differ, such as the resource, the
// owner and each filter, always in the same order.
func Scope(parts ...string) [16]byte {
	h := sha256.New()
	h.Write([]byte(scopePrefix))
	for _, part := range parts {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		h.Write([]byte(part))
	}
	return [scopeSize]byte(h.Sum(nil))
}

// Encode returns the cursor of the position in the scope. It panics if the position is longer than [MaxPosition]: no
// listing has such positions.
func Encode(scope [16]byte, position []byte) string {
	if len(position) > MaxPosition {
		panic(fmt.Sprintf("cursor: a position of %d bytes, more than %d", len(position), MaxPosition))
	}
	var buf [header + MaxPosition]byte
	b := append(buf[:0], version)
	b = append(b, scope[:]...)
	b = append(b, position...)
	return base64.RawURLEncoding.EncodeToString(b)
}

// Decode returns the position in s if s is what [Encode] returns for that scope and a position of size bytes. For every
// other text, of whatever length, it returns [ErrInvalid].
func Decode(s string, scope [16]byte, size int) (position []byte, err error) {
	if size < 0 || size > MaxPosition || len(s) != base64.RawURLEncoding.EncodedLen(header+size) {
		return nil, ErrInvalid
	}
	// The decoder skips line breaks, but then the decoded length is too small.
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil || len(b) != header+size {
		return nil, ErrInvalid
	}
	if b[0] != version || [scopeSize]byte(b[1:]) != scope {
		return nil, ErrInvalid
	}
	return b[header:], nil
}
