package ticketing

import (
	"context"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
)

// ledgerPage is how many movements are read at a time.
const ledgerPage = 1000

// LedgerEntry is one movement of a wallet as an operator sees it.
//
// Sequence counts from 1 without a gap in each wallet. CreatedAt never goes back within a wallet.
type LedgerEntry struct {
	Sequence      int64         `json:"seq"`
	Wallet        ledger.Wallet `json:"wallet"`
	Kind          ledger.Kind   `json:"kind"`
	Amount        money.Amount  `json:"amount"` // signed: a debit is negative
	BalanceBefore money.Amount  `json:"balanceBefore"`
	BalanceAfter  money.Amount  `json:"balanceAfter"`
	// Reference is the id of the order or settlement, or the provider's reference of a funding.
	Reference string `json:"reference"`
	CreatedAt Time   `json:"createdAt"`
}

// newLedgerEntry returns the entry as an operator sees it.
func newLedgerEntry(e ledger.Entry) LedgerEntry {
	return LedgerEntry{
		Sequence: e.Sequence, Wallet: e.Wallet, Kind: e.Kind, Amount: e.Amount,
		BalanceBefore: e.Before, BalanceAfter: e.After, Reference: e.Reference, CreatedAt: Time{Time: e.At},
	}
}

// Ledger calls yield with the movements of one wallet, oldest first. For an empty wallet it calls yield with all of
// FLOAT and then all of EARNINGS. It reads them in pages, so it uses the same memory for a ledger of any length. An
// error of yield stops it and is returned. It needs COMPANY:wallet:read.
//
// The pages are of different moments. Entries never change, so a movement that is made meanwhile can only come at the
// end.
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
		query := driver.LedgerQuery{WalletRef: driver.WalletRef{CompanyID: companyID, Wallet: wallet}, Limit: ledgerPage}
		// Each page has a transaction of its own, so a slow yield holds no connection.
		for more := true; more; {
			var entries []ledger.Entry
			// Its rows are so many that to take them apart would cost more than a message for the company.
			err := o.lookAt(ctx, driver.Store.View, PermissionWalletRead, companyID,
				func(ctx context.Context, tx driver.ReadTx, _ driver.Company) error {
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
				// The sequence is the place in the list: it has no gap, and entries never change.
				query.After = entry.Sequence
			}
			// A page that is not full is the last one.
			more = len(entries) == ledgerPage
		}
	}
	return nil
}
