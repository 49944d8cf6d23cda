package ticketing

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
)

// WalletStatus says whether the balance of a wallet may change.
type WalletStatus = driver.WalletStatus

// The statuses of a wallet. A checkout on a suspended one is CHECKOUT_UNAVAILABLE.
const (
	WalletActive    = driver.WalletActive
	WalletSuspended = driver.WalletSuspended
)

// emptyWallet returns a wallet without entries. Its hash is the genesis hash of the company and the wallet. A wallet
// exists from the creation of its company, so a company that was never funded gets INSUFFICIENT_FLOAT.
func emptyWallet(companyID uuid.UUID, wallet ledger.Wallet) driver.Wallet {
	return driver.Wallet{
		CompanyID: companyID, Kind: wallet, Status: WalletActive, Currency: money.Currency,
		Hash: ledger.Genesis(companyID, wallet).Hash,
	}
}

// isUsable reports whether the wallet may move: it exists, is active, has the service's currency, and agrees with its
// last entry in sequence, balance and hash. So a wallet that was changed from outside stops, instead of extending a
// chain that no longer verifies.
func isUsable(w driver.LockedWallet) bool {
	if w.CompanyID == uuid.Nil || w.Status != WalletActive || w.Currency != money.Currency {
		return false
	}
	// The first entry of a chain follows the genesis hash.
	end := w.Last.Hash
	if w.Last.Sequence == 0 {
		end = ledger.Genesis(w.CompanyID, w.Kind).Hash
	}
	return w.Sequence == w.Last.Sequence && w.Balance == w.Last.After && w.Hash == end
}

// moveWallet appends an entry and sets the wallet to its state after the entry. If it fails (ledger.ErrInsufficient,
// ledger.ErrOverflow) the wallet stays as it is. The entry's time is not before that of the preceding entry. moveWallet
// writes nothing. The caller keeps the entry and the wallet in the transaction that holds the lock.
func moveWallet(w *driver.LockedWallet,
	kind ledger.Kind, amount money.Amount, reference string, at time.Time,
) (ledger.Entry, error) {
	// Package ledger computes balance and hash, so every movement goes through the same arithmetic.
	entry, head, err := w.Head().Append(kind, amount, reference, notBefore(at, w.LastAt))
	if err != nil {
		return ledger.Entry{}, err
	}
	w.Sequence, w.Balance, w.Hash, w.LastAt, w.Last = head.Sequence, head.Balance, head.Hash, head.At,
		driver.LastEntry{Sequence: entry.Sequence, After: entry.After, Hash: entry.Hash}
	return entry, nil
}

// Wallets are a company's balances as an operator sees them.
type Wallets struct {
	Float    money.Amount `json:"float"`
	Earnings money.Amount `json:"earnings"`
	// LowBalance reports whether FLOAT is strictly below the threshold [LowBalance] now (section 2.9, item 4).
	LowBalance     bool         `json:"lowBalance"`
	FloatStatus    WalletStatus `json:"floatStatus"`
	EarningsStatus WalletStatus `json:"earningsStatus"`
}

// newWallets returns what an operator sees of both wallets.
func newWallets(float, earnings driver.Wallet) Wallets {
	return Wallets{
		Float: float.Balance, Earnings: earnings.Balance, LowBalance: float.Balance < LowBalance,
		FloatStatus: float.Status, EarningsStatus: earnings.Status,
	}
}

// GetWallets returns a company's balances. It needs COMPANY:wallet:read.
func (o Operator) GetWallets(ctx context.Context, companyID uuid.UUID) (Wallets, error) {
	var found Wallets
	err := o.view(ctx, PermissionWalletRead, companyID,
		func(ctx context.Context, tx driver.ReadTx) error {
			wallets, err := tx.Wallets(ctx, driver.WalletRefs(companyID))
			if err == nil {
				found = newWallets(wallets[0], wallets[1])
			}
			return err
		})
	return found, err
}

// SuspendWallet stops every movement of a wallet: a checkout is CHECKOUT_UNAVAILABLE, a funding, refund or settlement
// CONFLICT. A wallet that is suspended already stays as it is. A name other than FLOAT and EARNINGS is INVALID_REQUEST.
// It needs tenant:manage.
func (o Operator) SuspendWallet(ctx context.Context, companyID uuid.UUID, wallet ledger.Wallet) (Wallets, error) {
	return o.setWalletStatus(ctx, "wallet.suspend", companyID, wallet, WalletSuspended)
}

// ActivateWallet ends a wallet's suspension. A wallet that is active already stays as it is. It needs tenant:manage.
func (o Operator) ActivateWallet(ctx context.Context, companyID uuid.UUID, wallet ledger.Wallet) (Wallets, error) {
	return o.setWalletStatus(ctx, "wallet.activate", companyID, wallet, WalletActive)
}

// setWalletStatus changes the status of a wallet under its lock. So a movement either commits before the suspension, or
// sees it and is refused. The change needs no exclusive gate: a sale does not rely on the status before it has locked
// the wallet.
func (o Operator) setWalletStatus(
	ctx context.Context, action string, companyID uuid.UUID, wallet ledger.Wallet, status WalletStatus,
) (Wallets, error) {
	if err := o.allowWrite(PermissionManage, companyID); err != nil {
		return Wallets{}, err
	}
	var v violations
	checkWallet(&v, wallet)
	if err := v.err(); err != nil {
		return Wallets{}, err
	}
	var changed Wallets
	err := o.changeShared(ctx, PermissionManage, companyID,
		func(ctx context.Context, tx driver.Tx, at time.Time, _ *driver.Company) error {
			locked, err := tx.LockWallets(ctx, driver.WalletRefs(companyID))
			if err != nil {
				return err
			}
			before := newWallets(locked[0].Wallet, locked[1].Wallet)
			var moved []driver.Wallet
			for i := range locked {
				// Only the named wallet changes, although both are locked to show them.
				if locked[i].Kind == wallet && locked[i].Status != status {
					locked[i].Status = status
					moved = append(moved, locked[i].Wallet)
				}
			}
			changed = newWallets(locked[0].Wallet, locked[1].Wallet)
			if len(moved) == 0 {
				return nil
			}
			if err := tx.UpdateWallets(ctx, moved); err != nil {
				return err
			}
			return o.audit(ctx, tx, at, action, companyID, about("company", companyID), changes{before, changed})
		})
	if err != nil {
		return Wallets{}, err
	}
	return changed, nil
}

// checkWallet refuses the name of a wallet that no company has.
func checkWallet(v *violations, wallet ledger.Wallet) {
	if wallet != ledger.Float && wallet != ledger.Earnings {
		v.add("wallet", "must be FLOAT or EARNINGS")
	}
}

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
			// The store returns entries oldest first.
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
