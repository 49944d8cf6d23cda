package ledger

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/internal/ids"
	"github.com/floatgate/ticketing/money"
)

const (
	entryPrefix = "ticketing-ledger/v1\n"
	timeLayout  = "2006-01-02T15:04:05.000Z"

	maxName      = 32
	maxReference = 128

	// maxBytes holds the bytes of the longest well-formed entry.
	maxBytes = 512
)

// Entry is one movement of a wallet. [Head.Append] makes it; a store keeps it
// and returns it unchanged.
type Entry struct {
	CompanyID uuid.UUID
	Wallet    Wallet
	// Sequence counts the wallet's entries from 1, without gaps.
	Sequence int64
	Kind     Kind
	// Amount is signed: a debit is negative. It may be zero.
	Amount money.Amount
	// Before and After are the balances around the movement, After being
	// Before plus Amount.
	Before, After money.Amount
	// Reference is the cause: an order's id, or a provider's reference.
	Reference string
	// At is in UTC and whole milliseconds.
	At time.Time
	// Previous is the Hash of the entry before, or of the genesis.
	Previous Hash
	// Hash is what [Entry.Sum] gives for the other fields.
	Hash Hash
}

// Sum returns the SHA-256 of the entry's bytes. It ignores e.Hash.
func (e Entry) Sum() Hash {
	var buf [maxBytes]byte
	return sha256.Sum256(e.appendBytes(buf[:0]))
}

// Bytes returns the bytes of the entry as the package comment specifies them.
// They identify the entry only if it is well formed: if [Head.Append] made it,
// or if a [Verifier] finds no problem with it.
func (e Entry) Bytes() []byte {
	return e.appendBytes(make([]byte, 0, maxBytes))
}

// AppendBytes appends what [Entry.Bytes] returns to b.
func (e Entry) AppendBytes(b []byte) []byte {
	return e.appendBytes(b)
}

func (e *Entry) appendBytes(b []byte) []byte {
	b = append(b, entryPrefix...)
	b = ids.AppendText(b, e.CompanyID)
	b = append(b, '\n')
	b = append(b, e.Wallet...)
	b = append(b, '\n')
	b = strconv.AppendInt(b, e.Sequence, 10)
	b = append(b, '\n')
	b = append(b, e.Kind...)
	b = append(b, '\n')
	b = strconv.AppendInt(b, int64(e.Amount), 10)
	b = append(b, '\n')
	b = strconv.AppendInt(b, int64(e.Before), 10)
	b = append(b, '\n')
	b = strconv.AppendInt(b, int64(e.After), 10)
	b = append(b, '\n')
	b = append(b, e.Reference...)
	b = append(b, '\n')
	b = e.At.UTC().AppendFormat(b, timeLayout)
	b = append(b, '\n')
	b = hex.AppendEncode(b, e.Previous[:])
	return append(b, '\n')
}

// malformed returns why the entry's text or time cannot be written in the
// bytes, or "" if it can. The result quotes nothing of the entry.
func (e *Entry) malformed() string {
	switch {
	case !wellNamed(string(e.Wallet)):
		return "wallet is not a name"
	case !wellNamed(string(e.Kind)):
		return "kind is not a name"
	case !wellReferenced(e.Reference):
		return "reference is not 1 to 128 visible ASCII characters"
	case e.At.Nanosecond()%int(time.Millisecond) != 0:
		return "time is finer than a millisecond"
	}
	if year := e.At.UTC().Year(); year < 1 || year > 9999 {
		return "year is not 1 to 9999"
	}
	return ""
}

func wellNamed(s string) bool {
	if s == "" || len(s) > maxName || s[0] < 'A' || s[0] > 'Z' {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' {
			return false
		}
	}
	return true
}

func wellReferenced(s string) bool {
	if s == "" || len(s) > maxReference {
		return false
	}
	for i := range len(s) {
		if s[i] < 0x21 || s[i] > 0x7e {
			return false
		}
	}
	return true
}
