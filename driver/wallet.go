package driver

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
)

// WalletStatus is whether the balance of a wallet may change.
type WalletStatus string

// The statuses of a wallet. A checkout on a suspended wallet fails with CHECKOUT_UNAVAILABLE.
const (
	WalletActive    WalletStatus = "ACTIVE"
	WalletSuspended WalletStatus = "SUSPENDED"
)

// Wallet is a wallet as a store keeps it: its balance and the head of its hash chain (see package ledger). A
// company has one FLOAT and one EARNINGS wallet from its creation, and they are never merged (section 1, item 1).
type Wallet struct {
	CompanyID uuid.UUID
	Kind      ledger.Wallet
	Status    WalletStatus
	Currency  string
	Balance   money.Amount
	Sequence  int64       // of the last entry; 0: there is none
	Hash      ledger.Hash // of the last entry, or of the genesis if there is none
	LastAt    time.Time   // of the last entry; no later entry has an earlier time
}

// WalletRef identifies a wallet.
type WalletRef struct {
	CompanyID uuid.UUID
	Wallet    ledger.Wallet
}

// Head returns the end of the wallet's chain. Package ledger appends to it.
func (w Wallet) Head() ledger.Head {
	return ledger.Head{
		CompanyID: w.CompanyID, Wallet: w.Kind, Sequence: w.Sequence, Balance: w.Balance, Hash: w.Hash, At: w.LastAt,
	}
}

// WalletRefs returns the references of both wallets of a company, FLOAT first.
func WalletRefs(companyID uuid.UUID) []WalletRef {
	return []WalletRef{{CompanyID: companyID, Wallet: ledger.Float}, {CompanyID: companyID, Wallet: ledger.Earnings}}
}

// LockedWallet is a wallet that is locked until the end of the transaction, and its last entry. The two are kept in
// different tables and must agree: the balance, the sequence and the hash of the wallet are those of its last entry.
type LockedWallet struct {
	Wallet

	Last LastEntry
}

// LastEntry is the newest entry of a wallet, with which the wallet must agree. It is the zero value if there is none.
type LastEntry struct {
	Sequence int64
	After    money.Amount
	Hash     ledger.Hash
}

// FloatCredit is a funding of FLOAT under its provider reference. The reference is the idempotency key of the
// funding: a second funding with it moves no money (section 2.9, item 3).
type FloatCredit struct {
	CompanyID uuid.UUID
	Reference string
	Amount    money.Amount
	Sequence  int64 // of its FLOAT entry
}

// LedgerQuery selects entries of a wallet's ledger, oldest first.
type LedgerQuery struct {
	WalletRef

	After int64 // only entries with a higher sequence
	Last  int64 // the highest sequence; 0: no limit. See [SoldQuery]
	Limit int
}

// EntryRef identifies an entry of a wallet's ledger.
type EntryRef struct {
	WalletRef

	Sequence int64
}

// EntryQuery selects entries of a wallet's ledger by their kinds, newest first.
type EntryQuery struct {
	WalletRef

	Kinds  []ledger.Kind // empty: any
	Before int64         // only entries with a lower sequence
	Above  int64         // only entries with a higher sequence
	Limit  int
}

// WithSales reports whether the query is for entries that sales make. Such entries have no index by kind, since every
// sale would have to write it. To find them, a store reads a range of the ledger.
func (q EntryQuery) WithSales() bool {
	return len(q.Kinds) == 0 || slices.Contains(q.Kinds, ledger.CheckoutDebit) ||
		slices.Contains(q.Kinds, ledger.CommissionAccrual)
}

// WalletReader finds wallets, their entries and fundings.
type WalletReader interface {
	// Wallets returns wallets by company and kind.
	Wallets(ctx context.Context, refs []WalletRef) ([]Wallet, error)
	// LowestFloats returns the FLOAT wallets of all companies with the lowest balances, lowest first, then by the
	// company's id. It reads all wallets: every sale would have to write an index of balances.
	LowestFloats(ctx context.Context, limit int) ([]Wallet, error)
	// ListEntries returns ledger entries by sequence, lowest first.
	ListEntries(ctx context.Context, query LedgerQuery) ([]ledger.Entry, error)
	// Entries returns ledger entries by wallet and sequence.
	Entries(ctx context.Context, refs []EntryRef) ([]ledger.Entry, error)
	// SearchEntries returns ledger entries of some kinds by sequence, highest first. It finds kinds that no sale makes
	// through an index. For any other kind it may read all entries between Above and Before: every sale would have to
	// write an index of those.
	SearchEntries(ctx context.Context, query EntryQuery) ([]ledger.Entry, error)
	// FloatCredits finds a company's fundings by their references.
	FloatCredits(ctx context.Context, companyID uuid.UUID, references []string) ([]FloatCredit, error)
}

// WalletWriter keeps wallets, their entries and fundings.
type WalletWriter interface {
	// CreateWallets keeps the wallets of a new company.
	CreateWallets(ctx context.Context, wallets []Wallet) error
	// LockWallets reads wallets and locks them until the end of the transaction. They come last in the lock order of
	// [Store], because every movement of a company needs them.
	LockWallets(ctx context.Context, refs []WalletRef) ([]LockedWallet, error)
	// UpdateWallets keeps status, balance and head of wallets that were locked.
	UpdateWallets(ctx context.Context, wallets []Wallet) error
	// AppendEntries keeps entries. They can never be changed or removed: the database itself refuses it where it can.
	AppendEntries(ctx context.Context, entries []ledger.Entry) error
	// AppendFloatCredit keeps a funding. A reference that the company has used breaks a constraint.
	AppendFloatCredit(ctx context.Context, credit FloatCredit) error
}

// Ref returns the reference of the wallet.
func (w Wallet) Ref() WalletRef { return WalletRef{CompanyID: w.CompanyID, Wallet: w.Kind} }
