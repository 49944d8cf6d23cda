package ticketing

import (
	"context"
	"fmt"
	"sort"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
)

// StatementType says what a line of a statement tells.
type StatementType string

// The types of a statement's lines: of each wallet an OPENING, its MOVEMENTs and a CLOSING.
const (
	StatementOpening  StatementType = "OPENING"
	StatementMovement StatementType = "MOVEMENT"
	StatementClosing  StatementType = "CLOSING"
)

// StatementLine is one line of a statement. An opening and a closing tell a balance at a time; only a movement has the
// other members.
type StatementLine struct {
	Type          StatementType `json:"type"`
	Wallet        ledger.Wallet `json:"wallet"`
	At            Time          `json:"at"`
	Sequence      *int64        `json:"seq"`
	Kind          *ledger.Kind  `json:"kind"`
	Amount        *money.Amount `json:"amount"` // signed: a debit is negative
	BalanceBefore *money.Amount `json:"balanceBefore"`
	Balance       money.Amount  `json:"balance"` // after a movement
	Reference     *string       `json:"reference"`
}

// Statement hands yield what moved a company's wallets in a period: FLOAT, then EARNINGS, of each the balance at from,
// the movements at or after from and before to, oldest first, and the balance at to. A zero from is the company's
// creation, a zero to is now. Both wallets are those of one moment, and it takes the same memory for a period of any length; an error of
// yield ends it and is returned.
//
// A from that is not before to is INVALID_REQUEST. It needs COMPANY:wallet:read.
func (o Operator) Statement(
	ctx context.Context, companyID uuid.UUID, from, to time.Time, yield func(StatementLine) error,
) error {
	if err := o.allow(PermissionWalletRead, companyID); err != nil {
		return err
	}
	company, wallets, err := o.walletRecords(ctx, companyID)
	if err != nil {
		return err
	}
	begun := from.IsZero()
	if begun {
		from = company.CreatedAt
	}
	if to.IsZero() {
		// The movements of this millisecond, and those of a clock that was ahead, are over.
		to = later(later(o.s.now(), wallets[0].LastAt), wallets[1].LastAt).Add(time.Millisecond)
	}
	var v violations
	if from, to = moment(from), moment(to); !from.Before(to) {
		if begun {
			v.add("to", "must be after the creation of the company")
		} else {
			v.add("from", "must be before the end of the period")
		}
	}
	if err := v.err(); err != nil {
		return err
	}
	for _, wallet := range wallets {
		if err := o.walletStatement(ctx, wallet, from, to, yield); err != nil {
			return err
		}
	}
	return nil
}

func (o Operator) walletStatement(
	ctx context.Context, wallet WalletRecord, from, to time.Time, yield func(StatementLine) error,
) error {
	first, opening, err := o.standing(ctx, wallet, from)
	if err != nil {
		return err
	}
	last, closing, err := o.standing(ctx, wallet, to)
	if err != nil {
		return err
	}
	line := StatementLine{Type: StatementOpening, Wallet: wallet.Wallet, At: Time{from}, Balance: opening}
	if err := yield(line); err != nil {
		return err
	}
	err = o.entries(ctx, wallet.ref(), first, last, func(entries []ledger.Entry) error {
		for _, e := range entries {
			err := yield(StatementLine{
				Type: StatementMovement, Wallet: e.Wallet, At: Time{e.At}, Sequence: &e.Sequence, Kind: &e.Kind,
				Amount: &e.Amount, BalanceBefore: &e.Before, Balance: e.After, Reference: &e.Reference,
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	line.Type, line.At, line.Balance = StatementClosing, Time{to}, closing
	return yield(line)
}

// standing is the sequence and balance of a wallet before a time. Times along a chain never run back, so it is looked for
// by halves.
func (o Operator) standing(ctx context.Context, wallet WalletRecord, at time.Time) (int64, money.Amount, error) {
	if wallet.Sequence == 0 || wallet.LastAt.Before(at) {
		return wallet.Sequence, wallet.Balance, nil
	}
	var balance money.Amount
	var failed error
	// The answer is how many entries lie before the first that is not before the time.
	before := sort.Search(int(wallet.Sequence), func(i int) bool {
		if failed != nil {
			return true
		}
		var entry ledger.Entry
		failed = o.s.store.View(ctx, func(ctx context.Context, tx ReadTx) error {
			var err error
			entry, err = only(tx.ListEntries(ctx, LedgerQuery{WalletRef: wallet.ref(), After: int64(i), Limit: 1}))
			return err
		})
		if failed == nil && entry.Sequence != int64(i)+1 {
			failed = fmt.Errorf("%w: %s has no entry %d", ErrLedgerBroken, wallet.Wallet, i+1)
		}
		if later := !entry.At.Before(at); later {
			balance = entry.Before // Of the first one, in the end: each that is found later lies before.
			return true
		}
		return false
	})
	return int64(before), balance, failed
}
