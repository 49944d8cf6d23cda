package ticketing

import (
	"cmp"
	"context"
	"slices"

	"github.com/google/uuid"
)

// dashboardMovements is how many movements a dashboard shows.
const dashboardMovements = 20

// Dashboard is what a company's administrators see of its money at a glance (section 2.9, item 4).
type Dashboard struct {
	Wallets

	// Movements are the latest twenty of both wallets together, newest first.
	Movements []LedgerEntry `json:"movements"`
}

// Dashboard shows a company's balances, whether FLOAT is strictly below 1000.00 now, and the latest movements, all as
// they stand at one moment. It needs COMPANY:wallet:read.
func (o Operator) Dashboard(ctx context.Context, companyID uuid.UUID) (Dashboard, error) {
	if err := o.allow(PermissionWalletRead, companyID); err != nil {
		return Dashboard{}, err
	}
	var shown Dashboard
	err := o.s.wholeSnapshot(ctx, func(ctx context.Context, tx ReadTx) error {
		if _, err := findCompany(ctx, tx, companyID); err != nil {
			return err
		}
		wallets, err := tx.Wallets(ctx, walletRefs(companyID))
		if err != nil {
			return err
		}
		shown = Dashboard{Wallets: newWallets(wallets[0], wallets[1]), Movements: []LedgerEntry{}}
		for _, wallet := range wallets {
			entries, err := tx.ListEntries(ctx, LedgerQuery{
				WalletRef: wallet.ref(), After: max(wallet.Sequence-dashboardMovements, 0), Limit: dashboardMovements,
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
	// Of one moment those of EARNINGS came last: a checkout moves FLOAT first.
	slices.SortStableFunc(shown.Movements, func(a, b LedgerEntry) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt.Time), cmp.Compare(a.Wallet, b.Wallet))
	})
	shown.Movements = shown.Movements[:min(dashboardMovements, len(shown.Movements))]
	return shown, nil
}
