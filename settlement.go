package ticketing

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
)

// SettlementStatus is the state of a payout of EARNINGS (section 3.6).
type SettlementStatus = driver.SettlementStatus

// The statuses of a settlement. Phase 1 moves PENDING to COMPLETED or REJECTED, both final; nothing sets the others.
const (
	SettlementPending    = driver.SettlementPending
	SettlementProcessing = driver.SettlementProcessing
	SettlementApproved   = driver.SettlementApproved
	SettlementCompleted  = driver.SettlementCompleted
	SettlementRejected   = driver.SettlementRejected
	SettlementFailed     = driver.SettlementFailed
)

// maxReason is the most characters of a reason, of a settlement as of a refund.
const maxReason = 500

// Settlement is a payout of a company's EARNINGS to its bank account, as an operator sees it. It shows only the last
// four digits of the account (section 2.9, item 6). Settlements are listed by the sequence of their debit, which is not
// shown.
type Settlement struct {
	ID        uuid.UUID        `json:"id"`
	CompanyID uuid.UUID        `json:"companyId"`
	Amount    money.Amount     `json:"amount"` // the whole balance of EARNINGS when it was requested
	Status    SettlementStatus `json:"status"`
	// BankAccountLast4 is the last four digits of the account that the company had at the request.
	BankAccountLast4 string  `json:"bankAccountLast4"`
	Reason           *string `json:"reason"` // why it was rejected; nil: it was not
	RequestedAt      Time    `json:"requestedAt"`
	DecidedAt        *Time   `json:"decidedAt"` // nil: it is not decided
}

// showSettlements renders records as an operator sees them, in one read for any number of them. It shows the bank
// account of the request, whatever account the company has now. The account number is never decrypted for it. A
// settlement names the version of the account, and versions are never changed but for their encryption.
func showSettlements(ctx context.Context, tx driver.ReadTx, records []driver.Settlement) ([]Settlement, error) {
	refs := make([]driver.BankAccountRef, len(records))
	for i, s := range records {
		refs[i] = driver.BankAccountRef{CompanyID: s.CompanyID, Version: s.BankAccount}
	}
	accounts, err := tx.BankAccounts(ctx, refs)
	if err != nil {
		return nil, err
	}
	shown := make([]Settlement, len(records))
	for i, s := range records {
		shown[i] = Settlement{
			ID: s.ID, CompanyID: s.CompanyID, Amount: s.Amount, Status: s.Status, BankAccountLast4: accounts[i].Last4,
			Reason: optional(s.Reason), RequestedAt: Time{Time: s.RequestedAt}, DecidedAt: optionalTime(s.DecidedAt),
		}
	}
	return shown, nil
}

var errSettlementNotFound = notFound("The settlement")

// RequestSettlement requests the payout of everything that EARNINGS holds. It debits the whole balance in the
// transaction that makes the settlement, and never touches FLOAT (section 2.9, item 6). The settlement starts as
// PENDING. It needs COMPANY:settlement:request.
//
// It is CONFLICT, in this order, if the company is not active or not currently verified, if it has no bank account, if
// its EARNINGS wallet is not active, if another settlement is open (PENDING, PROCESSING or APPROVED), and if EARNINGS
// holds nothing. It is [ErrSecretKeys] if the account number cannot be decrypted with the given keys. Of two requests
// at the same time one succeeds: the second waits for the lock of EARNINGS and then finds the first.
func (o Operator) RequestSettlement(ctx context.Context, companyID uuid.UUID) (Settlement, error) {
	if err := o.allowWrite(PermissionSettlementRequest, companyID); err != nil {
		return Settlement{}, err
	}
	if err := o.s.secrets.check(ctx, o.s); err != nil {
		return Settlement{}, err
	}
	var requested Settlement
	err := o.changeShared(ctx, PermissionSettlementRequest, companyID,
		func(ctx context.Context, tx driver.Tx, at time.Time, company *driver.Company) error {
			// The checks come in the order of the documented refusals.
			if company.Status != CompanyActive {
				return conflict("The company is not active.")
			}
			if !isCurrent(company.Verification, at) {
				return errUnverified
			}
			// The settlement keeps the version of the account, so a later change of the account does not redirect the
			// payout.
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
			// If the clock is before the wallet's last entry, the time of that entry counts, as it does for sales.
			if !isCurrent(company.Verification, notBefore(at, earnings.LastAt)) {
				return errUnverified
			}
			// An account number that cannot be decrypted could not be paid, so nothing is debited for it.
			if err := o.s.reencryptNumber(ctx, tx, account); err != nil {
				return err
			}
			// The amount is the whole balance: there is no partial payout (section 2.9, item 6).
			settlement := driver.Settlement{
				CompanyID: companyID, ID: o.s.newID(), Amount: earnings.Balance, Status: SettlementPending,
				BankAccount: account.Version,
			}
			debit, err := moveWallet(&earnings, ledger.SettlementDebit, -earnings.Balance, settlement.ID.String(), at)
			if err != nil {
				return fmt.Errorf("ticketing: debit EARNINGS: %w", err)
			}
			// The sequence of the debit is unique in the wallet and orders settlements as they were requested.
			settlement.Number, settlement.RequestedAt = debit.Sequence, debit.At
			// Debit and settlement commit together: there is never one without the other.
			if err := keepMoves(ctx, tx, []*driver.LockedWallet{&earnings}, debit); err != nil {
				return err
			}
			if err := tx.CreateSettlement(ctx, settlement); err != nil {
				return err
			}
			if requested, err = firstRecord(showSettlements(ctx, tx, []driver.Settlement{settlement})); err != nil {
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

// lockSettleable locks EARNINGS and checks that there is something to settle and that no settlement is open. The lock
// is what makes requests of one company exclude each other; the store's constraint on open settlements is a second
// guard.
func lockSettleable(ctx context.Context, tx driver.Tx, companyID uuid.UUID) (driver.LockedWallet, error) {
	// The lock comes before the read, so that the second of two requests finds the settlement of the first.
	earnings, err := firstRecord(tx.LockWallets(ctx, driver.WalletRefs(companyID)[1:]))
	if err != nil {
		return driver.LockedWallet{}, err
	}
	if !isUsable(earnings) {
		return driver.LockedWallet{}, errEarningsInactive
	}
	open, err := tx.OpenSettlement(ctx, companyID)
	if err != nil {
		return driver.LockedWallet{}, err
	}
	if open.ID != uuid.Nil {
		return driver.LockedWallet{}, conflict("The company has a settlement that is %s.", open.Status)
	}
	// An entry of 0.00 would settle nothing and still need a decision.
	if earnings.Balance == 0 {
		return driver.LockedWallet{}, conflict("EARNINGS holds nothing to settle.")
	}
	return earnings, nil
}

// errFloatInactive and errEarningsInactive refuse a movement on a wallet that is missing, suspended, of another
// currency, or that disagrees with its last ledger entry (see isUsable).
var (
	errFloatInactive    = conflict("The FLOAT wallet is not active.")
	errEarningsInactive = conflict("The EARNINGS wallet is not active.")
)

// keepMoves keeps ledger entries and the wallets after them. The caller has locked the wallets. Every movement outside
// of a checkout and a funding is written here.
func keepMoves(
	ctx context.Context, tx driver.WalletWriter, wallets []*driver.LockedWallet, entries ...ledger.Entry,
) error {
	records := make([]driver.Wallet, len(wallets))
	for i, wallet := range wallets {
		records[i] = wallet.Wallet
	}
	if err := tx.AppendEntries(ctx, entries); err != nil {
		return err
	}
	return tx.UpdateWallets(ctx, records)
}

// ApproveSettlement records that a settlement was paid out: PENDING becomes COMPLETED (section 3.6). No money moves,
// because it left EARNINGS with the request. A settlement that is COMPLETED stays as it is and is returned; any other
// status is CONFLICT. It needs tenant_settlement:decide. The payout itself happens outside of the service, which only
// records it.
func (o Operator) ApproveSettlement(ctx context.Context, id uuid.UUID) (Settlement, error) {
	return o.decideSettlement(ctx, "settlement.approve", id, SettlementCompleted,
		func(_ context.Context, _ driver.Tx, at time.Time, settlement *driver.Settlement) error {
			// A settlement is never decided before it was requested, even if the clock was set back.
			settlement.DecidedAt = notBefore(at, settlement.RequestedAt)
			return nil
		})
}

// RejectSettlement rejects a settlement for a reason of 1 to 500 characters: PENDING becomes REJECTED, and EARNINGS
// gets the exact amount back, once (section 3.6). A settlement that is REJECTED stays as it is, with its first reason.
// It is CONFLICT in any other status, if EARNINGS is not active, and if its balance would exceed [money.MaxBalance]. It
// needs tenant_settlement:decide.
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
		func(ctx context.Context, tx driver.Tx, at time.Time, settlement *driver.Settlement) error {
			earnings, err := firstRecord(tx.LockWallets(ctx, driver.WalletRefs(settlement.CompanyID)[1:]))
			if err != nil {
				return err
			}
			if !isUsable(earnings) {
				return errEarningsInactive
			}
			// The refund goes through the ledger like every movement: a rejection is visible in the chain of EARNINGS.
			refund, err := moveWallet(&earnings, ledger.SettlementRefund, settlement.Amount, settlement.ID.String(), at)
			if errors.Is(err, ledger.ErrOverflow) {
				return conflict("EARNINGS would pass its maximum of %s.", money.MaxBalance)
			}
			if err != nil {
				return fmt.Errorf("ticketing: refund EARNINGS: %w", err)
			}
			settlement.Reason, settlement.DecidedAt, settlement.RefundSequence = reason, refund.At, refund.Sequence
			return keepMoves(ctx, tx, []*driver.LockedWallet{&earnings}, refund)
		})
}

// decideSettlement moves a PENDING settlement to a final status, once: the lock on its row makes the second of two
// decisions find the first. The company's own status does not matter, since the decision is about money that has
// already left its EARNINGS.
func (o Operator) decideSettlement(
	ctx context.Context, action string, id uuid.UUID, status SettlementStatus,
	rule func(ctx context.Context, tx driver.Tx, at time.Time, settlement *driver.Settlement) error,
) (Settlement, error) {
	// This read is without a lock. It finds the company, whose gate the transaction then holds; the settlement is read
	// again under its lock.
	found, err := o.findSettlement(ctx, PermissionSettlementDecide, id)
	if err != nil {
		return Settlement{}, err
	}
	var decided Settlement
	err = o.changeShared(ctx, PermissionSettlementDecide, found.CompanyID,
		func(ctx context.Context, tx driver.Tx, at time.Time, _ *driver.Company) error {
			settlement, err := tx.LockSettlement(ctx, found.Ref())
			if err != nil {
				return err
			}
			before, err := firstRecord(showSettlements(ctx, tx, []driver.Settlement{settlement}))
			if err != nil {
				return err
			}
			switch settlement.Status {
			// A repeated decision returns the settlement as the first one left it.
			case status:
				decided = before
				return nil
			case SettlementPending:
			default:
				return conflict("The settlement is %s.", settlement.Status)
			}
			// A rule may move money. It takes effect at most once for a settlement, since only PENDING gets here.
			if err := rule(ctx, tx, at, &settlement); err != nil {
				return err
			}
			settlement.Status = status
			if err := tx.UpdateSettlement(ctx, settlement); err != nil {
				return err
			}
			// The audit log gets what may be shown: never the number of the account.
			if decided, err = firstRecord(showSettlements(ctx, tx, []driver.Settlement{settlement})); err != nil {
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

// findSettlement finds a settlement by its id alone, for an actor that may see it. A settlement of a company that the
// actor does not reach is NOT_FOUND.
func (o Operator) findSettlement(
	ctx context.Context, permission Permission, id uuid.UUID,
) (driver.Settlement, error) {
	return findReached(ctx, o, permission, id, errSettlementNotFound, driver.ReadTx.FindSettlement,
		func(s driver.Settlement) uuid.UUID { return s.CompanyID })
}

// GetSettlement returns a settlement. One that does not exist, and one of a company that the actor does not reach, is
// NOT_FOUND. It needs COMPANY:settlement:read.
func (o Operator) GetSettlement(ctx context.Context, id uuid.UUID) (Settlement, error) {
	record, err := o.findSettlement(ctx, PermissionSettlementRead, id)
	if err != nil {
		return Settlement{}, err
	}
	var shown Settlement
	err = o.s.store.View(ctx, func(ctx context.Context, tx driver.ReadTx) error {
		var err error
		shown, err = firstRecord(showSettlements(ctx, tx, []driver.Settlement{record}))
		return err
	})
	return shown, err
}

// ListSettlements returns a page of a company's settlements, newest first. A limit outside 1 to 100 is INVALID_REQUEST,
// a cursor of another listing INVALID_CURSOR. It needs COMPANY:settlement:read.
func (o Operator) ListSettlements(
	ctx context.Context, companyID uuid.UUID, params PageParams,
) (Page[Settlement], error) {
	if err := o.allow(PermissionSettlementRead, companyID); err != nil {
		return Page[Settlement]{}, err
	}
	list, err := openListing(byNumber(func(s driver.Settlement) int64 { return s.Number }), params, nil,
		"settlements", companyID.String())
	if err != nil {
		return Page[Settlement]{}, err
	}
	var page Page[Settlement]
	err = o.view(ctx, PermissionSettlementRead, companyID,
		func(ctx context.Context, tx driver.ReadTx) error {
			records, err := tx.ListSettlements(ctx, driver.SettlementQuery{
				CompanyID: companyID, After: list.after, Limit: list.limit,
			})
			if err != nil {
				return err
			}
			records, page.HasMore, page.NextCursor = list.cut(records)
			page.Items, err = showSettlements(ctx, tx, records)
			return err
		})
	if err != nil {
		return Page[Settlement]{}, err
	}
	return page, nil
}
