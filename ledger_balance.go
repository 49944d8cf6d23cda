package ticketing

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
)

// MaxBalances is the most times that [Operator.Balances] takes.
const MaxBalances = 400

// Balances returns the balance of a wallet at each of the times, in their order: after the movements before that time,
// as the opening of a statement shows it. The balance before the first movement is 0.00. The balance at a future time
// is the current one. All balances are of one moment. More than 400 times, and a wallet other than FLOAT and EARNINGS,
// are INVALID_REQUEST. It needs COMPANY:wallet:read.
func (o Operator) Balances(
	ctx context.Context, companyID uuid.UUID, wallet ledger.Wallet, times []time.Time,
) ([]money.Amount, error) {
	if err := o.allow(PermissionWalletRead, companyID); err != nil {
		return nil, err
	}
	var v violations
	checkWallet(&v, wallet)
	if len(times) > MaxBalances {
		v.add("times", fmt.Sprintf("must be at most %d", MaxBalances))
	}
	kept := make([]time.Time, min(len(times), MaxBalances))
	for i := range kept {
		checkYear(&v, fmt.Sprintf("times[%d]", i), times[i])
		kept[i] = upwards(times[i])
	}
	if err := v.err(); err != nil {
		return nil, err
	}
	var balances []money.Amount
	err := o.view(ctx, PermissionWalletRead, companyID,
		func(ctx context.Context, tx driver.ReadTx) error {
			ref := driver.WalletRef{CompanyID: companyID, Wallet: wallet}
			record, err := firstRecord(tx.Wallets(ctx, []driver.WalletRef{ref}))
			if err != nil {
				return err
			}
			// The wallet record bounds the search, and entries never change: the reads need not be of one moment.
			places, err := ledgerPlaces(ctx, tx, o.s.knownPlaces, record, kept)
			if err != nil {
				return err
			}
			balances = make([]money.Amount, len(places))
			for i, place := range places {
				balances[i] = place.balance
			}
			return nil
		})
	return balances, err
}
