package ledger

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/internal/ids"
)

const headsPrefix = "ticketing-ledger-heads/v1\n"

// SignedHeads are the last lines of a bundle: the ends of a company's chains, and a signature that covers them and the
// rest of the bundle. Keep them apart from the bundle: later they show whether the history before them was rewritten.
type SignedHeads struct {
	CompanyID uuid.UUID
	Heads     []Head
	// Entries is how many entries the bundle holds.
	Entries int64
	// Body is the SHA-256 of all bytes before these lines.
	Body      Hash
	Signature [ed25519.SignatureSize]byte
}

// Bytes returns the lines, as docs/ledger-format.md specifies them.
func (s SignedHeads) Bytes() []byte {
	b := append(s.statement(), "signature "...)
	b = hex.AppendEncode(b, s.Signature[:])
	return append(b, '\n')
}

// statement returns what is signed: all lines but the last.
func (s *SignedHeads) statement() []byte {
	b := append([]byte(nil), headsPrefix...)
	b = ids.AppendText(b, s.CompanyID)
	b = append(b, '\n')
	for i := range s.Heads {
		b = s.Heads[i].appendLine(b)
	}
	b = append(b, "entries "...)
	b = strconv.AppendInt(b, s.Entries, 10)
	b = append(b, "\nbody "...)
	b = hex.AppendEncode(b, s.Body[:])
	return append(b, '\n')
}

func (h *Head) appendLine(b []byte) []byte {
	b = append(b, h.Wallet...)
	b = append(b, ' ')
	b = strconv.AppendInt(b, h.Sequence, 10)
	b = append(b, ' ')
	b = strconv.AppendInt(b, int64(h.Balance), 10)
	b = append(b, ' ')
	if h.Sequence == 0 {
		b = append(b, '-')
	} else {
		b = h.At.UTC().AppendFormat(b, timeLayout)
	}
	b = append(b, ' ')
	b = hex.AppendEncode(b, h.Hash[:])
	return append(b, '\n')
}

// parseLine is the inverse of appendLine, without the company. It reports whether the line is well formed.
func (h *Head) parseLine(line []byte) bool {
	f := fields{rest: line}
	h.Wallet = Wallet(f.name())
	h.Sequence, h.Balance = f.number(), f.amount()
	if h.Sequence == 0 {
		if string(f.next()) != "-" {
			return false
		}
	} else {
		h.At = f.time()
	}
	h.Hash = f.hash()
	return !f.bad && f.rest == nil && h.Sequence >= 0
}

// SignedBy reports whether one of the keys made the signature.
func (s SignedHeads) SignedBy(keys ...ed25519.PublicKey) bool {
	statement := s.statement()
	for _, key := range keys {
		if len(key) == ed25519.PublicKeySize && ed25519.Verify(key, statement, s.Signature[:]) {
			return true
		}
	}
	return false
}

// ErrPublicKey means that a text is not a public key.
var ErrPublicKey = errors.New("ledger: a public key is 64 lower-case hexadecimal digits")

// SigningKey derives the key that signs bundles from a master secret. The same secret gives the same key, and its
// signatures reveal nothing of the secret. docs/ledger-format.md specifies how.
func SigningKey(secret []byte) ed25519.PrivateKey {
	seed, err := hkdf.Key(sha256.New, secret, nil, "ticketing-ledger/v1/signing-key", ed25519.SeedSize)
	if err != nil {
		panic(err) // Only a key longer than 8160 bytes fails.
	}
	return ed25519.NewKeyFromSeed(seed)
}

// FormatPublicKey returns the text of a public key: 64 lower-case hexadecimal digits.
func FormatPublicKey(key ed25519.PublicKey) string { return hex.EncodeToString(key) }

// ParsePublicKey is the inverse of [FormatPublicKey]. It returns [ErrPublicKey] for every other text.
func ParsePublicKey(s string) (ed25519.PublicKey, error) {
	h, err := ParseHash(s) // It has the same form.
	if err != nil {
		return nil, ErrPublicKey
	}
	return ed25519.PublicKey(h[:]), nil
}

// continued returns why a chain does not continue the head h, which was kept elsewhere, or "". The entry found is the
// one of the chain with the head's sequence, or nil if the chain is shorter.
func (h *Head) continued(found *Entry) string {
	switch {
	case h.Sequence == 0:
		return ""
	case found == nil:
		return fmt.Sprintf("wallet %s: it had %d entries before, now some of them are missing", h.Wallet, h.Sequence)
	case found.Hash != h.Hash || found.After != h.Balance || !found.At.Equal(h.At):
		return fmt.Sprintf("wallet %s: entry %d is not the one that stood there before: the history was rewritten",
			h.Wallet, h.Sequence)
	}
	return ""
}
