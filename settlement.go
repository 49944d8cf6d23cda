package ticketing

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/internal/cursor"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
)

// SettlementStatus is where a payout of EARNINGS stands (section 3.6).
type SettlementStatus string

// The statuses of a settlement. Phase 1 moves PENDING to COMPLETED or REJECTED; nothing sets the others.
const (
	SettlementPending    SettlementStatus = "PENDING"
	SettlementProcessing SettlementStatus = "PROCESSING"
	SettlementApproved   SettlementStatus = "APPROVED"
	SettlementCompleted  SettlementStatus = "COMPLETED"
	SettlementRejected   SettlementStatus = "REJECTED"
	SettlementFailed     SettlementStatus = "FAILED"
)

const maxReason = 500

// Settlement is a payout of a company's EARNINGS to its bank account, as an operator sees it.
type Settlement struct {
	ID        uuid.UUID        `json:"id"`
	CompanyID uuid.UUID        `json:"companyId"`
	Amount    money.Amount     `json:"amount"` // all that EARNINGS held when it was requested
	Status    SettlementStatus `json:"status"`
	// BankAccountLast4 are the last four digits of the account that was the company's then.
	BankAccountLast4 string  `json:"bankAccountLast4"`
	Reason           *string `json:"reason"` // why it was rejected
	RequestedAt      Time    `json:"requestedAt"`
	DecidedAt        *Time   `json:"decidedAt"`
}

// SettlementRecord is a settlement as a store keeps it. Status, Reason, DecidedAt and RefundSequence change, once.
type SettlementRecord struct {
	CompanyID      uuid.UUID
	Number         int64 // the sequence of its debit in EARNINGS: the order of settlements, without a clock
	ID             uuid.UUID
	Amount         money.Amount
	Status         SettlementStatus
	BankAccount    int64     // the version, see BankAccountRecord
	Reason         string    // empty: none
	RequestedAt    time.Time // of its debit
	DecidedAt      time.Time // zero: not decided
	RefundSequence int64     // of what EARNINGS got back when it was rejected; 0: nothing
}

// SettlementRef names a settlement.
type SettlementRef struct{ CompanyID, ID uuid.UUID }

// SettlementQuery asks for a part of the list of a company's settlements.
type SettlementQuery struct {
	CompanyID   uuid.UUID
	OldestFirst bool  // lowest number first; else highest number first
	Beyond      int64 // the number to begin behind, in that order; 0: from the beginning
	Limit       int
}

// SettlementReader finds settlements.
type SettlementReader interface {
	Settlements(ctx context.Context, refs []SettlementRef) ([]SettlementRecord, error)
	// FindSettlement finds a settlement by its id alone, as an operator names it; the zero record where there is none.
	FindSettlement(ctx context.Context, id uuid.UUID) (SettlementRecord, error)
	// OpenSettlement finds the company's one that is PENDING, PROCESSING or APPROVED; the zero record where there is
	// none.
	OpenSettlement(ctx context.Context, companyID uuid.UUID) (SettlementRecord, error)
	ListSettlements(ctx context.Context, query SettlementQuery) ([]SettlementRecord, error)
}

// SettlementWriter keeps settlements.
type SettlementWriter interface {
	// CreateSettlement keeps a new one. A second that is open breaks a constraint, whose name
	// is the store's.
	CreateSettlement(ctx context.Context, settlement SettlementRecord) error
	// LockSettlement reads a settlement and keeps other writers from it; the zero record where there is none.
	LockSettlement(ctx context.Context, ref SettlementRef) (SettlementRecord, error)
	// UpdateSettlement keeps status, reason, time of decision and the sequence of the refund of one that was locked.
	UpdateSettlement(ctx context.Context, settlement SettlementRecord) error
}

func (s SettlementRecord) ref() SettlementRef { return SettlementRef{CompanyID: s.CompanyID, ID: s.ID} }

// showSettlements makes records what an operator sees, in one read for any number of them.
func showSettlements(ctx context.Context, tx ReadTx, records []SettlementRecord) ([]Settlement, error) {
	refs := make([]BankAccountRef, len(records))
	for i, s := range records {
		refs[i] = BankAccountRef{CompanyID: s.CompanyID, Version: s.BankAccount}
	}
	accounts, err := tx.BankAccounts(ctx, refs)
	if err != nil {
		return nil, err
	}
	shown := make([]Settlement, len(records))
	for i, s := range records {
		shown[i] = Settlement{
			ID: s.ID, CompanyID: s.CompanyID, Amount: s.Amount, Status: s.Status, BankAccountLast4: accounts[i].Last4,
			Reason: optional(s.Reason), RequestedAt: Time{s.RequestedAt}, DecidedAt: when(s.DecidedAt),
		}
	}
	return shown, nil
}

var errSettlementNotFound = notFound("The settlement")

// RequestSettlement asks for the payout of all that EARNINGS holds: it debits the whole balance at once, in the
// transaction that makes the settlement, and never touches FLOAT (section 2.9, item 6). It starts as PENDING. It needs
// COMPANY:settlement:request.
//
// It is CONFLICT, in this order, where the company is not active or not currently verified, has no bank account, its
// EARNINGS is not active, another settlement is open (PENDING, PROCESSING or APPROVED), or EARNINGS holds nothing. Of
// two requests at once one wins: the lock of EARNINGS has the second find the first.
func (o Operator) RequestSettlement(ctx context.Context, companyID uuid.UUID) (Settlement, error) {
	if err := o.allowWrite(PermissionSettlementRequest, companyID); err != nil {
		return Settlement{}, err
	}
	if err := o.s.secrets.check(ctx, o.s); err != nil {
		return Settlement{}, err
	}
	var requested Settlement
	err := o.share(ctx, PermissionSettlementRequest, companyID,
		func(ctx context.Context, tx Tx, at time.Time, company *CompanyRecord) error {
			if company.Status != CompanyActive {
				return conflict("The company is not active.")
			}
			if !company.Verification.current(at) {
				return errUnverified
			}
			account, err := tx.CurrentBankAccount(ctx, companyID)
			if err != nil {
				return err
			}
			if account.Version == 0 {
				return conflict("The company has no bank account.")
			}
			earnings, err := lockSettleable(ctx, tx, companyID)
			if err != nil {
				return err
			}
			// Where the clock lags behind the wallet, the later time counts, as it does for sales.
			if !company.Verification.current(earnings.notBefore(at)) {
				return errUnverified
			}
			// What nobody could pay out is not debited.
			if err := o.s.sealAnew(ctx, tx, account); err != nil {
				return err
			}
			settlement := SettlementRecord{
				CompanyID: companyID, ID: o.s.newID(), Amount: earnings.Balance, Status: SettlementPending,
				BankAccount: account.Version,
			}
			debit, err := earnings.move(ledger.SettlementDebit, -earnings.Balance, settlement.ID.String(), at)
			if err != nil {
				return fmt.Errorf("ticketing: debit EARNINGS: %w", err)
			}
			settlement.Number, settlement.RequestedAt = debit.Sequence, debit.At
			if err := keepMoves(ctx, tx, []*LockedWallet{&earnings}, debit); err != nil {
				return err
			}
			if err := tx.CreateSettlement(ctx, settlement); err != nil {
				return err
			}
			if requested, err = only(showSettlements(ctx, tx, []SettlementRecord{settlement})); err != nil {
				return err
			}
			return o.audit(ctx, tx, at, "settlement.request", companyID, about("settlement", settlement.ID),
				changes{after: requested})
		})
	if err != nil {
		return Settlement{}, err
	}
	return requested, nil
}

// lockSettleable locks EARNINGS where there is something to settle and nothing open.
func lockSettleable(ctx context.Context, tx Tx, companyID uuid.UUID) (LockedWallet, error) {
	// The lock comes before the look-up, so that of two requests the second finds the first.
	earnings, err := only(tx.LockWallets(ctx, walletRefs(companyID)[1:]))
	if err != nil {
		return LockedWallet{}, err
	}
	if !earnings.usable() {
		return LockedWallet{}, errEarningsInactive
	}
	open, err := tx.OpenSettlement(ctx, companyID)
	if err != nil {
		return LockedWallet{}, err
	}
	if open.ID != uuid.Nil {
		return LockedWallet{}, conflict("The company has a settlement that is %s.", open.Status)
	}
	if earnings.Balance == 0 {
		return LockedWallet{}, conflict("EARNINGS holds nothing to settle.")
	}
	return earnings, nil
}

var (
	errFloatInactive    = conflict("The FLOAT wallet is not active.")
	errEarningsInactive = conflict("The EARNINGS wallet is not active.")
)

// keepMoves keeps movements and the wallets after them.
func keepMoves(ctx context.Context, tx WalletWriter, wallets []*LockedWallet, entries ...ledger.Entry) error {
	records := make([]WalletRecord, len(wallets))
	for i, wallet := range wallets {
		records[i] = wallet.WalletRecord
	}
	if err := tx.AppendEntries(ctx, entries); err != nil {
		return err
	}
	return tx.UpdateWallets(ctx, records)
}

// ApproveSettlement tells that a settlement was paid out: PENDING becomes COMPLETED (section 3.6). No money moves: it
// left EARNINGS with the request. One that is COMPLETED stays as it is; any other status is CONFLICT. It needs
// tenant_settlement:decide.
func (o Operator) ApproveSettlement(ctx context.Context, id uuid.UUID) (Settlement, error) {
	return o.decideSettlement(ctx, "settlement.approve", id, SettlementCompleted,
		func(_ context.Context, _ Tx, at time.Time, settlement *SettlementRecord) error {
			settlement.DecidedAt = later(at, settlement.RequestedAt)
			return nil
		})
}

// RejectSettlement refuses a settlement for a reason of 1 to 500 characters: PENDING becomes REJECTED, and EARNINGS gets
// the exact amount back, once (section 3.6). One that is REJECTED stays as it is, with its first reason. It is CONFLICT
// in any other status, where EARNINGS is not active, and where its balance would pass [money.MaxBalance]. It needs
// tenant_settlement:decide.
func (o Operator) RejectSettlement(ctx context.Context, id uuid.UUID, reason string) (Settlement, error) {
	if err := o.holds(PermissionSettlementDecide); err != nil {
		return Settlement{}, err
	}
	var v violations
	reason = requiredText(&v, "reason", reason, 1, maxReason)
	if err := v.err(); err != nil {
		return Settlement{}, err
	}
	return o.decideSettlement(ctx, "settlement.reject", id, SettlementRejected,
		func(ctx context.Context, tx Tx, at time.Time, settlement *SettlementRecord) error {
			earnings, err := only(tx.LockWallets(ctx, walletRefs(settlement.CompanyID)[1:]))
			if err != nil {
				return err
			}
			if !earnings.usable() {
				return errEarningsInactive
			}
			refund, err := earnings.move(ledger.SettlementRefund, settlement.Amount, settlement.ID.String(), at)
			if errors.Is(err, ledger.ErrOverflow) {
				return conflict("EARNINGS would pass its maximum of %s.", money.MaxBalance)
			}
			if err != nil {
				return fmt.Errorf("ticketing: refund EARNINGS: %w", err)
			}
			settlement.Reason, settlement.DecidedAt, settlement.RefundSequence = reason, refund.At, refund.Sequence
			return keepMoves(ctx, tx, []*LockedWallet{&earnings}, refund)
		})
}

// decideSettlement moves a settlement that is PENDING to a status, once: its lock has the second of two decisions find
// the first. The company's own state does not matter: staff tell what became of money that has left its EARNINGS.
func (o Operator) decideSettlement(
	ctx context.Context, action string, id uuid.UUID, status SettlementStatus,
	rule func(ctx context.Context, tx Tx, at time.Time, settlement *SettlementRecord) error,
) (Settlement, error) {
	found, err := o.findSettlement(ctx, PermissionSettlementDecide, id)
	if err != nil {
		return Settlement{}, err
	}
	var decided Settlement
	err = o.share(ctx, PermissionSettlementDecide, found.CompanyID,
		func(ctx context.Context, tx Tx, at time.Time, _ *CompanyRecord) error {
			settlement, err := tx.LockSettlement(ctx, found.ref())
			if err != nil {
				return err
			}
			before, err := only(showSettlements(ctx, tx, []SettlementRecord{settlement}))
			if err != nil {
				return err
			}
			switch settlement.Status {
			case status:
				decided = before
				return nil
			case SettlementPending:
			default:
				return conflict("The settlement is %s.", settlement.Status)
			}
			if err := rule(ctx, tx, at, &settlement); err != nil {
				return err
			}
			settlement.Status = status
			if err := tx.UpdateSettlement(ctx, settlement); err != nil {
				return err
			}
			if decided, err = only(showSettlements(ctx, tx, []SettlementRecord{settlement})); err != nil {
				return err
			}
			return o.audit(ctx, tx, at, action, settlement.CompanyID, about("settlement", settlement.ID),
				changes{before, decided})
		})
	if err != nil {
		return Settlement{}, err
	}
	return decided, nil
}

// findSettlement finds a settlement by its id alone, for an actor that may see it.
func (o Operator) findSettlement(
	ctx context.Context, permission Permission, id uuid.UUID,
) (SettlementRecord, error) {
	if err := o.holds(permission); err != nil {
		return SettlementRecord{}, err
	}
	var found SettlementRecord
	err := o.s.store.View(ctx, func(ctx context.Context, tx ReadTx) error {
		var err error
		found, err = tx.FindSettlement(ctx, id)
		return err
	})
	if err == nil && (found.ID == uuid.Nil || !o.reaches(found.CompanyID)) {
		err = errSettlementNotFound
	}
	return found, err
}

// GetSettlement shows a settlement. It needs COMPANY:settlement:read.
func (o Operator) GetSettlement(ctx context.Context, id uuid.UUID) (Settlement, error) {
	record, err := o.findSettlement(ctx, PermissionSettlementRead, id)
	if err != nil {
		return Settlement{}, err
	}
	var shown Settlement
	err = o.s.store.View(ctx, func(ctx context.Context, tx ReadTx) error {
		var err error
		shown, err = only(showSettlements(ctx, tx, []SettlementRecord{record}))
		return err
	})
	return shown, err
}

// ListSettlements pages through a company's settlements, newest first. It needs COMPANY:settlement:read.
func (o Operator) ListSettlements(
	ctx context.Context, companyID uuid.UUID, params PageParams,
) (Page[Settlement], error) {
	if err := o.allow(PermissionSettlementRead, companyID); err != nil {
		return Page[Settlement]{}, err
	}
	var v violations
	limit := params.limit(&v)
	if err := v.err(); err != nil {
		return Page[Settlement]{}, err
	}
	scope := cursor.Scope("settlements", companyID.String())
	position, err := params.read(scope, numberSize)
	if err != nil {
		return Page[Settlement]{}, err
	}
	query := SettlementQuery{CompanyID: companyID, Limit: limit + 1}
	if query.Beyond, err = parseNumber(position); err != nil {
		return Page[Settlement]{}, err
	}
	var page Page[Settlement]
	err = o.view(ctx, PermissionSettlementRead, companyID,
		func(ctx context.Context, tx ReadTx, _ CompanyRecord) error {
			records, err := tx.ListSettlements(ctx, query)
			if err != nil {
				return err
			}
			records, page.NextCursor = turn(records, limit, scope, func(s SettlementRecord) []byte {
				return numberBytes(s.Number)
			})
			page.HasMore = page.NextCursor != ""
			page.Items, err = showSettlements(ctx, tx, records)
			return err
		})
	if err != nil {
		return Page[Settlement]{}, err
	}
	return page, nil
}
