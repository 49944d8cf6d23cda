package ticketing

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
	"github.com/floatgate/ticketing/internal/safename"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
)

// FloatCredit is the movement of a funding. Applied is false if an earlier call with the same reference made it
// (section 2.9, item 3).
type FloatCredit struct {
	Applied       bool         `json:"applied"`
	Amount        money.Amount `json:"amount"`
	BalanceBefore money.Amount `json:"balanceBefore"`
	BalanceAfter  money.Amount `json:"balanceAfter"`
}

// newFloatCredit returns the result for a movement.
func newFloatCredit(applied bool, entry ledger.Entry) FloatCredit {
	return FloatCredit{
		Applied: applied, Amount: entry.Amount, BalanceBefore: entry.Before, BalanceAfter: entry.After,
	}
}

// CheckFloatCredit returns the error that [Operator.CreditFloat] would return for a malformed reference or amount. It
// reads no data, so a form can call it before it asks for confirmation.
func CheckFloatCredit(reference string, amount money.Amount) error {
	var v violations
	if amount <= 0 || amount > money.MaxInput {
		v.add("amount", "must be above 0.00 and at most "+money.MaxInput.String())
	}
	if !safename.Valid(reference, 8, 128) {
		v.add("reference", "must be 8 to 128 characters of A-Z a-z 0-9 . _ : - that begin with a letter or digit")
	}
	return v.err()
}

// CreditFloat funds a company's FLOAT, once for each provider reference (section 2.9, items 2 and 3). The reference is
// the idempotency key: 8 to 128 characters of A-Z a-z 0-9 . _ : - that begin with a letter or digit. The amount is
// above 0.00 and at most [money.MaxInput]. It needs tenant_float:credit.
//
// Repeating a reference with the same amount moves nothing and returns the original movement, also under concurrency.
// The reference with another amount is CONFLICT. So is a company that is not active or not currently verified, a FLOAT
// wallet that is not active, and a balance that would pass [money.MaxBalance]. The verification is checked before a
// replay, too.
func (o Operator) CreditFloat(
	ctx context.Context, companyID uuid.UUID, reference string, amount money.Amount,
) (FloatCredit, error) {
	if err := o.allowWrite(PermissionFloatCredit, companyID); err != nil {
		return FloatCredit{}, err
	}
	if err := CheckFloatCredit(reference, amount); err != nil {
		return FloatCredit{}, err
	}
	var credit FloatCredit
	err := o.changeShared(ctx, PermissionFloatCredit, companyID,
		func(ctx context.Context, tx driver.Tx, at time.Time, company *driver.Company) error {
			// Only an active company is funded (section 2.9, item 2).
			if company.Status != CompanyActive {
				return conflict("The company is not active.")
			}
			// The wallet is locked before the look-up, so that the second of two equal fundings finds the first.
			float, err := firstRecord(tx.LockWallets(ctx, driver.WalletRefs(companyID)[:1]))
			if err != nil {
				return err
			}
			// If the clock is before the wallet's last entry, the time of that entry counts, as it does for sales.
			if !isCurrent(company.Verification, notBefore(at, float.LastAt)) {
				return errUnverified
			}
			if !isUsable(float) {
				return conflict("The FLOAT wallet is not active.")
			}
			// The reference is unique in the company (section 2.9, item 3).
			earlier, err := firstRecord(tx.FloatCredits(ctx, companyID, []string{reference}))
			if err != nil {
				return err
			}
			// An entry has a sequence of at least 1, so zero means that the reference is new.
			if earlier.Sequence != 0 {
				credit, err = earlierCredit(ctx, tx, earlier, amount)
				return err
			}
			if credit, err = newCredit(ctx, tx, float, amount, reference, at); err != nil {
				return err
			}
			return o.audit(ctx, tx, at, "float.credit", companyID, about("company", companyID), changes{
				map[string]any{"float": credit.BalanceBefore},
				map[string]any{"float": credit.BalanceAfter, "reference": reference},
			})
		})
	if err != nil {
		return FloatCredit{}, err
	}
	return credit, nil
}

// newCredit moves FLOAT for a reference that is new. The caller holds the lock of the wallet.
//
// Entry, wallet and reference are written in the same transaction, so a reference is never spent without its movement.
func newCredit(
	ctx context.Context, tx driver.Tx, float driver.LockedWallet, amount money.Amount, reference string, at time.Time,
) (FloatCredit, error) {
	entry, err := moveWallet(&float, ledger.FloatCredit, amount, reference, at)
	// The balance has a maximum, see [money.MaxBalance]; any other failure is a fault of the ledger.
	if errors.Is(err, ledger.ErrOverflow) {
		return FloatCredit{}, conflict("The balance would pass its maximum of %s.", money.MaxBalance)
	}
	if err != nil {
		return FloatCredit{}, fmt.Errorf("ticketing: credit FLOAT: %w", err)
	}
	if err := tx.AppendEntries(ctx, []ledger.Entry{entry}); err != nil {
		return FloatCredit{}, err
	}
	if err := tx.UpdateWallets(ctx, []driver.Wallet{float.Wallet}); err != nil {
		return FloatCredit{}, err
	}
	// The constraint on references is a second guard beside the lock of the wallet.
	return newFloatCredit(true, entry), tx.AppendFloatCredit(ctx, driver.FloatCredit{
		CompanyID: float.CompanyID, Reference: reference, Amount: amount, Sequence: entry.Sequence,
	})
}

// earlierCredit returns the movement that a reference was spent on, or CONFLICT if the amount differs. The reference
// keeps the sequence of its entry, so the original movement is found with one read.
func earlierCredit(
	ctx context.Context, tx driver.WalletReader, credit driver.FloatCredit, amount money.Amount,
) (FloatCredit, error) {
	if credit.Amount != amount {
		return FloatCredit{}, conflict("The reference was used for another amount.")
	}
	entry, err := firstRecord(tx.ListEntries(ctx, driver.LedgerQuery{
		WalletRef: driver.WalletRefs(credit.CompanyID)[0], After: credit.Sequence - 1, Limit: 1,
	}))
	// The reference and its entry are written in one transaction, so a missing entry is a fault of the store.
	if err == nil && entry.Sequence != credit.Sequence {
		err = fmt.Errorf("ticketing: FLOAT of company %s has no entry %d", credit.CompanyID, credit.Sequence)
	}
	return newFloatCredit(false, entry), err
}
