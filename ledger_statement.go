package ticketing

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
)

// StatementType is the kind of a line of a statement.
type StatementType string

// The types of a statement's lines. Each wallet has an OPENING, its MOVEMENTs and a CLOSING.
const (
	StatementOpening  StatementType = "OPENING"
	StatementMovement StatementType = "MOVEMENT"
	StatementClosing  StatementType = "CLOSING"
)

// StatementLine is one line of a statement. An opening and a closing show a balance at a time. Only a movement has the
// members that are pointers; they are null on the other lines.
type StatementLine struct {
	Type          StatementType `json:"type"`
	Wallet        ledger.Wallet `json:"wallet"`
	At            Time          `json:"at"`
	Sequence      *int64        `json:"seq"` // of the ledger entry, without gaps in a wallet
	Kind          *ledger.Kind  `json:"kind"`
	Amount        *money.Amount `json:"amount"` // signed: a debit is negative
	BalanceBefore *money.Amount `json:"balanceBefore"`
	Balance       money.Amount  `json:"balance"` // after a movement, or at the time of an opening or closing
	Reference     *string       `json:"reference"`
}

// Statement calls yield with each line of a company's statement for a period. FLOAT comes first, then EARNINGS. For
// each it has the balance at From, the movements of the period, oldest first, and the balance at To. Without a From the
// period begins with the company's creation; without a To it includes the newest movement.
//
// Both wallets are as of one moment, although the entries are read in many transactions: entries are never changed, and
// later ones are left out. The memory that it needs does not depend on the period. An error of yield ends the statement
// and is returned. A From that is not before To is INVALID_REQUEST. It needs COMPANY:wallet:read.
func (o Operator) Statement(
	ctx context.Context, companyID uuid.UUID, period Period, yield func(StatementLine) error,
) error {
	if err := o.allow(PermissionWalletRead, companyID); err != nil {
		return err
	}
	// Both wallet records are read in one moment. They bound what the statement shows.
	company, wallets, err := o.walletRecords(ctx, companyID)
	if err != nil {
		return err
	}
	from, to := period.From, period.To
	begun := from.IsZero()
	if begun {
		from = company.CreatedAt
	}
	if to.IsZero() {
		// One millisecond more includes the movements of this millisecond, and those of a clock that was ahead.
		to = notBefore(notBefore(o.s.now(), wallets[0].LastAt), wallets[1].LastAt).Add(time.Millisecond)
	}
	var v violations
	if from, to = storedTime(from), storedTime(to); !from.Before(to) {
		if begun {
			v.add("to", "must be after the creation of the company")
		} else {
			v.add("from", "must be before the end of the period")
		}
	}
	if err := v.err(); err != nil {
		return err
	}
	// Both records were read in one moment, so the ends of the two wallets agree.
	for _, wallet := range wallets {
		if err := o.walletStatement(ctx, wallet, from, to, yield); err != nil {
			return err
		}
	}
	return nil
}

// walletStatement calls yield with the lines of one wallet. It finds both ends first, and then reads the entries
// between them by their sequence. Their number is fixed by then, so movements that commit meanwhile do not change the
// statement.
func (o Operator) walletStatement(
	ctx context.Context, wallet driver.Wallet, from, to time.Time, yield func(StatementLine) error,
) error {
	// Both ends are found before the first line, so an error there comes before any line of the wallet.
	var ends []ledgerPlace
	err := o.s.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		var err error
		ends, err = ledgerPlaces(ctx, tx, o.s.knownPlaces, wallet, []time.Time{from, to})
		return err
	})
	if err != nil {
		return err
	}
	line := StatementLine{Type: StatementOpening, Wallet: wallet.Kind, At: Time{Time: from}, Balance: ends[0].balance}
	if err := yield(line); err != nil {
		return err
	}
	err = o.entries(ctx, wallet.Ref(), ends[0].sequence, ends[1].sequence, func(entries []ledger.Entry) error {
		for _, e := range entries {
			err := yield(StatementLine{
				Type: StatementMovement, Wallet: e.Wallet, At: Time{Time: e.At}, Sequence: &e.Sequence, Kind: &e.Kind,
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
	// The closing balance is that of the last movement, or the opening one of a period without any.
	line.Type, line.At, line.Balance = StatementClosing, Time{Time: to}, ends[1].balance
	return yield(line)
}
