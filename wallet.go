package ticketing

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
)

// WalletStatus is whether a wallet moves.
type WalletStatus string

// The statuses of a wallet. A checkout on a suspended one is CHECKOUT_UNAVAILABLE.
const (
	WalletActive    WalletStatus = "ACTIVE"
	WalletSuspended WalletStatus = "SUSPENDED"
)

// WalletRecord is a wallet as a store keeps it: its balance and the head of its chain. A company has one of each kind
// from its creation.
type WalletRecord struct {
	CompanyID uuid.UUID
	Wallet    ledger.Wallet
	Status    WalletStatus
	Currency  string
	Balance   money.Amount
	Sequence  int64       // of the last entry; 0 before the first
	Hash      ledger.Hash // of the last entry; of the genesis before the first
	LastAt    time.Time   // of the last entry
}

// WalletRef names a wallet.
type WalletRef struct {
	CompanyID uuid.UUID
	Wallet    ledger.Wallet
}

// LockedWallet is a wallet that other writers are kept from, and where its last entry leaves it.
type LockedWallet struct {
	WalletRecord

	Last LastEntry
}

// LastEntry is what a wallet must agree with: its newest entry, zero before the first.
type LastEntry struct {
	Sequence int64
	After    money.Amount
	Hash     ledger.Hash
}

// FloatCreditRecord is a funding of FLOAT under its provider reference.
type FloatCreditRecord struct {
	CompanyID uuid.UUID
	Reference string
	Amount    money.Amount
	Sequence  int64 // of its FLOAT entry
}

// LedgerQuery asks for a part of a wallet's ledger, oldest first.
type LedgerQuery struct {
	WalletRef

	After int64 // the sequence to begin behind
	Last  int64 // the sequence to end with; 0: no end. See [SoldQuery]
	Limit int
}

// WalletReader finds wallets and their movements.
type WalletReader interface {
	Wallets(ctx context.Context, refs []WalletRef) ([]WalletRecord, error)
	ListEntries(ctx context.Context, query LedgerQuery) ([]ledger.Entry, error)
	// FloatCredit finds a funding by its reference; the zero record where there is none.
	FloatCredit(ctx context.Context, companyID uuid.UUID, reference string) (FloatCreditRecord, error)
	// CountFloatCredits counts a company's fundings.
	CountFloatCredits(ctx context.Context, companyID uuid.UUID) (int64, error)
}

// WalletWriter keeps wallets and their movements.
type WalletWriter interface {
	CreateWallets(ctx context.Context, wallets []WalletRecord) error
	// LockWallets reads wallets and keeps other writers from them.
	LockWallets(ctx context.Context, refs []WalletRef) ([]LockedWallet, error)
	UpdateWallets(ctx context.Context, wallets []WalletRecord) error
	// AppendEntries keeps movements. They can never be changed or removed.
	AppendEntries(ctx context.Context, entries []ledger.Entry) error
	AppendFloatCredit(ctx context.Context, credit FloatCreditRecord) error
}

func (w WalletRecord) ref() WalletRef { return WalletRef{CompanyID: w.CompanyID, Wallet: w.Wallet} }

// head is the end of the wallet's chain.
func (w WalletRecord) head() ledger.Head {
	return ledger.Head{
		CompanyID: w.CompanyID, Wallet: w.Wallet, Sequence: w.Sequence, Balance: w.Balance, Hash: w.Hash, At: w.LastAt,
	}
}

// notBefore is at, or the time of the wallet's last entry where the clock lags behind it.
func (w WalletRecord) notBefore(at time.Time) time.Time {
	return later(at, w.LastAt)
}

// emptyWallet is a wallet that never moved.
func emptyWallet(companyID uuid.UUID, wallet ledger.Wallet) WalletRecord {
	return WalletRecord{
		CompanyID: companyID, Wallet: wallet, Status: WalletActive, Currency: money.Currency,
		Hash: ledger.Genesis(companyID, wallet).Hash,
	}
}

// usable tells whether the wallet can move: it is there, active, of our currency, and agrees with its last entry.
func (w LockedWallet) usable() bool {
	if w.CompanyID == uuid.Nil || w.Status != WalletActive || w.Currency != money.Currency {
		return false
	}
	end := w.Last.Hash
	if w.Last.Sequence == 0 {
		end = ledger.Genesis(w.CompanyID, w.Wallet).Hash
	}
	return w.Sequence == w.Last.Sequence && w.Balance == w.Last.After && w.Hash == end
}

// move appends a movement and turns the wallet to its state after it. Where it fails (ledger.ErrInsufficient,
// ledger.ErrOverflow) the wallet stays as it is. The entry's time is never behind that of the entry before.
func (w *LockedWallet) move(
	kind ledger.Kind, amount money.Amount, reference string, at time.Time,
) (ledger.Entry, error) {
	entry, head, err := w.head().Append(kind, amount, reference, w.notBefore(at))
	if err != nil {
		return ledger.Entry{}, err
	}
	w.Sequence, w.Balance, w.Hash, w.LastAt, w.Last = head.Sequence, head.Balance, head.Hash, head.At,
		LastEntry{Sequence: entry.Sequence, After: entry.After, Hash: entry.Hash}
	return entry, nil
}

// Wallets are a company's balances.
type Wallets struct {
	Float    money.Amount `json:"float"`
	Earnings money.Amount `json:"earnings"`
	// LowBalance tells whether FLOAT is strictly below the threshold of that name now.
	LowBalance     bool         `json:"lowBalance"`
	FloatStatus    WalletStatus `json:"floatStatus"`
	EarningsStatus WalletStatus `json:"earningsStatus"`
}

func newWallets(float, earnings WalletRecord) Wallets {
	return Wallets{
		Float: float.Balance, Earnings: earnings.Balance, LowBalance: float.Balance < LowBalance,
		FloatStatus: float.Status, EarningsStatus: earnings.Status,
	}
}

// walletRefs are the wallets of a company, FLOAT first.
func walletRefs(companyID uuid.UUID) []WalletRef {
	return []WalletRef{
		{CompanyID: companyID, Wallet: ledger.Float}, {CompanyID: companyID, Wallet: ledger.Earnings},
	}
}

// GetWallets shows a company's balances. It needs COMPANY:wallet:read.
func (o Operator) GetWallets(ctx context.Context, companyID uuid.UUID) (Wallets, error) {
	var found Wallets
	err := o.view(ctx, PermissionWalletRead, companyID, func(ctx context.Context, tx ReadTx, _ CompanyRecord) error {
		wallets, err := tx.Wallets(ctx, walletRefs(companyID))
		if err == nil {
			found = newWallets(wallets[0], wallets[1])
		}
		return err
	})
	return found, err
}

// SuspendWallet keeps a wallet from moving: a checkout is CHECKOUT_UNAVAILABLE, a funding CONFLICT. One that is
// suspended already stays as it is. It needs tenant:manage.
func (o Operator) SuspendWallet(ctx context.Context, companyID uuid.UUID, wallet ledger.Wallet) (Wallets, error) {
	return o.setWalletStatus(ctx, "wallet.suspend", companyID, wallet, WalletSuspended)
}

// ActivateWallet ends a wallet's suspension. One that is active already stays as it is. It needs tenant:manage.
func (o Operator) ActivateWallet(ctx context.Context, companyID uuid.UUID, wallet ledger.Wallet) (Wallets, error) {
	return o.setWalletStatus(ctx, "wallet.activate", companyID, wallet, WalletActive)
}

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
	err := o.share(ctx, PermissionManage, companyID,
		func(ctx context.Context, tx Tx, at time.Time, _ *CompanyRecord) error {
			locked, err := tx.LockWallets(ctx, walletRefs(companyID))
			if err != nil {
				return err
			}
			before := newWallets(locked[0].WalletRecord, locked[1].WalletRecord)
			var moved []WalletRecord
			for i := range locked {
				if locked[i].Wallet == wallet && locked[i].Status != status {
					locked[i].Status = status
					moved = append(moved, locked[i].WalletRecord)
				}
			}
			changed = newWallets(locked[0].WalletRecord, locked[1].WalletRecord)
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

func checkWallet(v *violations, wallet ledger.Wallet) {
	if wallet != ledger.Float && wallet != ledger.Earnings {
		v.add("wallet", "must be FLOAT or EARNINGS")
	}
}
