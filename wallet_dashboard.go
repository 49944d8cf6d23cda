package ticketing

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

// dashboardMovements is how many movements a dashboard shows.
const dashboardMovements = 20

// Dashboard is the summary of a company's money for its administrators (section 2.9, item 4).
//
// LowBalance of its wallets is about now, while balance.low is about the moment at which a sale crossed the threshold.
type Dashboard struct {
	Wallets

	// Movements are the latest twenty of both wallets together, newest first.
	Movements []LedgerEntry `json:"movements"`
}

// Dashboard returns a company's balances, whether FLOAT is strictly below 1000.00 now, and the latest movements. All of
// it is of one moment, so that the newest movements agree with the balances. It needs COMPANY:wallet:read. It fails on
// a store that is bound to a transaction of PostgreSQL; see [Service.WithStore].
func (o Operator) Dashboard(ctx context.Context, companyID uuid.UUID) (Dashboard, error) {
	if err := o.allow(PermissionWalletRead, companyID); err != nil {
		return Dashboard{}, err
	}
	var shown Dashboard
	err := o.s.wholeSnapshot(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		if _, err := findCompany(ctx, tx, companyID); err != nil {
			return err
		}
		wallets, err := tx.Wallets(ctx, driver.WalletRefs(companyID))
		if err != nil {
			return err
		}
		shown = Dashboard{Wallets: newWallets(wallets[0], wallets[1]), Movements: []LedgerEntry{}}
		// The latest entries of a wallet are those with the highest sequences.
		for _, wallet := range wallets {
			entries, err := tx.ListEntries(ctx, driver.LedgerQuery{
				WalletRef: wallet.Ref(), After: max(wallet.Sequence-dashboardMovements, 0), Limit: dashboardMovements,
			})
			if err != nil {
				return err
			}
			for _, entry := range slices.Backward(entries) {
				shown.Movements = append(shown.Movements, newLedgerEntry(entry))
			}
		}
		return nil
	})
	if err != nil {
		return Dashboard{}, err
	}
	// At one time the movement of EARNINGS is the later one, because a checkout moves FLOAT first.
	slices.SortStableFunc(shown.Movements, func(a, b LedgerEntry) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt.Time), cmp.Compare(a.Wallet, b.Wallet))
	})
	// The latest twenty of both are among the latest twenty of each.
	shown.Movements = shown.Movements[:min(dashboardMovements, len(shown.Movements))]
	return shown, nil
}
