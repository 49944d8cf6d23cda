package driver

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/money"
)

// SettlementStatus is the state of a payout of EARNINGS (section 3.6).
type SettlementStatus string

// The statuses of a settlement. Phase 1 moves PENDING to COMPLETED or REJECTED, both final; nothing sets the others.
const (
	SettlementPending    SettlementStatus = "PENDING"
	SettlementProcessing SettlementStatus = "PROCESSING"
	SettlementApproved   SettlementStatus = "APPROVED"
	SettlementCompleted  SettlementStatus = "COMPLETED"
	SettlementRejected   SettlementStatus = "REJECTED"
	SettlementFailed     SettlementStatus = "FAILED"
)

// Settlement is a settlement as a store keeps it. Status, Reason, DecidedAt and RefundSequence change, once.
type Settlement struct {
	CompanyID      uuid.UUID
	Number         int64 // the sequence of its debit in EARNINGS, which orders settlements without a clock
	ID             uuid.UUID
	Amount         money.Amount
	Status         SettlementStatus
	BankAccount    int64     // the version, see BankAccount
	Reason         string    // empty: none
	RequestedAt    time.Time // the time of its debit
	DecidedAt      time.Time // zero: not decided
	RefundSequence int64     // of the credit to EARNINGS when it was rejected; 0: none
}

// SettlementRef identifies a settlement.
type SettlementRef struct{ CompanyID, ID uuid.UUID }

// SettlementQuery selects settlements of a company.
type SettlementQuery struct {
	CompanyID   uuid.UUID
	OldestFirst bool  // lowest number first; otherwise highest number first
	After       int64 // only those after this number, in that order; 0: from the beginning
	Limit       int
}

// SettlementReader finds settlements and the bank accounts that they are paid to.
type SettlementReader interface {
	// Settlements returns settlements by id.
	Settlements(ctx context.Context, refs []SettlementRef) ([]Settlement, error)
	// FindSettlement finds a settlement by its id alone, without its company. It returns the zero record where there is
	// none.
	FindSettlement(ctx context.Context, id uuid.UUID) (Settlement, error)
	// OpenSettlement returns the company's settlement that is PENDING, PROCESSING or APPROVED, or the zero record if there
	// is none. There is never more than one.
	OpenSettlement(ctx context.Context, companyID uuid.UUID) (Settlement, error)
	// ListOpenSettlements returns the open settlements of all companies after a position, oldest first: by RequestedAt,
	// then by the company's id.
	ListOpenSettlements(ctx context.Context, after Position, limit int) ([]Settlement, error)
	// ListSettlements returns settlements by number, in the direction of the query.
	ListSettlements(ctx context.Context, query SettlementQuery) ([]Settlement, error)
	// BankAccounts returns versions of bank accounts by their references.
	BankAccounts(ctx context.Context, refs []BankAccountRef) ([]BankAccount, error)
	// CurrentBankAccount returns the highest version of a company's bank account, or the zero record where there is
	// none.
	CurrentBankAccount(ctx context.Context, companyID uuid.UUID) (BankAccount, error)
	// StaleBankAccounts returns current bank accounts of any company that were not encrypted under the named secret
	// key, by the company's id.
	StaleBankAccounts(ctx context.Context, query StaleBankAccountQuery) ([]BankAccount, error)
}

// SettlementWriter keeps settlements and bank accounts.
type SettlementWriter interface {
	// CreateSettlement keeps a new settlement. A second open one breaks a constraint. The store chooses its name.
	CreateSettlement(ctx context.Context, settlement Settlement) error
	// LockSettlement reads a settlement and locks it until the end of the transaction. It returns the zero record where
	// there is none.
	LockSettlement(ctx context.Context, ref SettlementRef) (Settlement, error)
	// UpdateSettlement keeps status, reason, time of decision and sequence of the refund of a settlement that was
	// locked.
	UpdateSettlement(ctx context.Context, settlement Settlement) error
	// AppendBankAccount keeps a new version of a bank account. It is called only under the company's gate, held
	// exclusively, so that versions have no gap.
	AppendBankAccount(ctx context.Context, account BankAccount) error
	// UpdateBankAccount updates the number of a bank account after it was encrypted under another secret key.
	UpdateBankAccount(ctx context.Context, account BankAccount) error
}

// Ref returns the reference of the settlement.
func (s Settlement) Ref() SettlementRef { return SettlementRef{CompanyID: s.CompanyID, ID: s.ID} }
