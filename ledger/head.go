package ledger

import (
	"crypto/sha256"
	"fmt"
	"math"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/internal/ids"
	"github.com/floatgate/ticketing/money"
)

const genesisPrefix = "ticketing-ledger/v1/genesis\n"

// Head is the end of a wallet's chain: all that the next movement needs, and
// all that must be kept elsewhere to detect a rewritten history.
type Head struct {
	CompanyID uuid.UUID
	Wallet    Wallet
	// Sequence is that of the last entry, 0 before the first.
	Sequence int64
	Balance  money.Amount
	Hash     Hash
	// At is the time of the last entry, the zero time before the first.
	At time.Time
}

// Genesis returns the head of a wallet that has no entry: sequence 0, balance 0
// and the genesis hash that the package comment specifies. Append refuses a
// malformed wallet.
func Genesis(companyID uuid.UUID, w Wallet) Head {
	var buf [maxBytes]byte
	b := append(buf[:0], genesisPrefix...)
	b = ids.AppendText(b, companyID)
	b = append(b, '\n')
	b = append(b, w...)
	b = append(b, '\n')
	return Head{CompanyID: companyID, Wallet: w, Hash: sha256.Sum256(b)}
}

// Append returns the entry that moves the wallet by amount, and the head after
// it; h itself is unchanged, so a movement that is not stored costs nothing.
//
// The time is converted to UTC and truncated to the millisecond, so that the
// entry is the same before and after a store has kept it: use the entry's At for
// whatever else happens at that moment. A time before h.At is [ErrTime]; the
// same millisecond is allowed. A balance below zero is [ErrInsufficient], one
// above [money.MaxBalance] is [ErrOverflow], and a wallet, kind, reference or
// year outside the form in the package comment is [ErrMalformed].
func (h Head) Append(kind Kind, amount money.Amount, reference string, at time.Time) (Entry, Head, error) {
	e := Entry{
		CompanyID: h.CompanyID,
		Wallet:    h.Wallet,
		Sequence:  h.Sequence,
		Kind:      kind,
		Amount:    amount,
		Before:    h.Balance,
		Reference: reference,
		At:        at.UTC().Truncate(time.Millisecond),
		Previous:  h.Hash,
	}
	if text := e.malformed(); text != "" {
		return Entry{}, Head{}, fmt.Errorf("%w: %s", ErrMalformed, text)
	}
	if e.At.Before(h.At) {
		return Entry{}, Head{}, ErrTime
	}
	if h.Sequence < 0 || h.Balance < 0 || h.Balance > money.MaxBalance {
		return Entry{}, Head{}, fmt.Errorf("%w: impossible head", ErrMalformed)
	}
	if h.Sequence == math.MaxInt64 || amount > money.MaxBalance-h.Balance {
		return Entry{}, Head{}, ErrOverflow
	}
	e.Sequence++
	e.After = e.Before + amount
	if e.After < 0 {
		return Entry{}, Head{}, ErrInsufficient
	}
	e.Hash = e.Sum()
	return e, e.head(), nil
}

func (e *Entry) head() Head {
	return Head{
		CompanyID: e.CompanyID,
		Wallet:    e.Wallet,
		Sequence:  e.Sequence,
		Balance:   e.After,
		Hash:      e.Hash,
		At:        e.At,
	}
}
