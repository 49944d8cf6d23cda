package ticketing

import (
	"context"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
)

// ledgerPage is how many movements are read at a time.
const ledgerPage = 1000

// LedgerEntry is one movement as an operator reads it.
type LedgerEntry struct {
	Sequence      int64         `json:"seq"`
	Wallet        ledger.Wallet `json:"wallet"`
	Kind          ledger.Kind   `json:"kind"`
	Amount        money.Amount  `json:"amount"` // signed: a debit is negative
	BalanceBefore money.Amount  `json:"balanceBefore"`
	BalanceAfter  money.Amount  `json:"balanceAfter"`
	Reference     string        `json:"reference"` // the order's id, or the provider's reference
	CreatedAt     Time          `json:"createdAt"`
}

func newLedgerEntry(e ledger.Entry) LedgerEntry {
	return LedgerEntry{
		Sequence: e.Sequence, Wallet: e.Wallet, Kind: e.Kind, Amount: e.Amount,
		BalanceBefore: e.Before, BalanceAfter: e.After, Reference: e.Reference, CreatedAt: Time{e.At},
	}
}

// Ledger hands yield the movements of one wallet, or (an empty wallet) all of FLOAT and then all of EARNINGS, oldest
// first. It reads them in portions, so a ledger of any length takes the same memory; an error of yield ends it and is
// returned. It needs COMPANY:wallet:read.
func (o Operator) Ledger(
	ctx context.Context, companyID uuid.UUID, wallet ledger.Wallet, yield func(LedgerEntry) error,
) error {
	if err := o.allow(PermissionWalletRead, companyID); err != nil {
		return err
	}
	wallets := []ledger.Wallet{ledger.Float, ledger.Earnings}
	if wallet != "" {
		var v violations
		checkWallet(&v, wallet)
		if err := v.err(); err != nil {
			return err
		}
		wallets = []ledger.Wallet{wallet}
	}
	for _, wallet := range wallets {
		query := LedgerQuery{WalletRef: WalletRef{CompanyID: companyID, Wallet: wallet}, Limit: ledgerPage}
		for more := true; more; {
			var entries []ledger.Entry
			err := o.view(ctx, PermissionWalletRead, companyID,
				func(ctx context.Context, tx ReadTx, _ CompanyRecord) error {
					var err error
					entries, err = tx.ListEntries(ctx, query)
					return err
				})
			if err != nil {
				return err
			}
			for _, entry := range entries {
				if err := yield(newLedgerEntry(entry)); err != nil {
					return err
				}
				query.After = entry.Sequence
			}
			more = len(entries) == ledgerPage
		}
	}
	return nil
}
