package ticketing

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/internal/safename"
	"github.com/floatgate/ticketing/ledger"
	"github.com/floatgate/ticketing/money"
)

// FloatCredit is the answer to a funding: the movement, and whether it was made now or by an earlier call.
type FloatCredit struct {
	Applied       bool         `json:"applied"`
	Amount        money.Amount `json:"amount"`
	BalanceBefore money.Amount `json:"balanceBefore"`
	BalanceAfter  money.Amount `json:"balanceAfter"`
}

func newFloatCredit(applied bool, entry ledger.Entry) FloatCredit {
	return FloatCredit{
		Applied: applied, Amount: entry.Amount, BalanceBefore: entry.Before, BalanceAfter: entry.After,
	}
}

// CreditFloat funds a company's FLOAT once for each provider reference (section 2.9, items 2 and 3). The amount is
// above 0.00 and at most [money.MaxInput]; the reference has 8 to 128 characters of A-Z a-z 0-9 . _ : - and begins
// with a letter or digit.
//
// The same reference with the same amount again moves nothing and answers with the original movement. With another
// amount it is CONFLICT, and so is a company that is not active or not currently verified, a FLOAT that is not
// active, and a balance that would pass [money.MaxBalance]. It needs tenant_float:credit.
func (o Operator) CreditFloat(
	ctx context.Context, companyID uuid.UUID, amount money.Amount, reference string,
) (FloatCredit, error) {
	if err := o.allowWrite(PermissionFloatCredit, companyID); err != nil {
		return FloatCredit{}, err
	}
	var v violations
	if amount <= 0 || amount > money.MaxInput {
		v.add("amount", "must be above 0.00 and at most "+money.MaxInput.String())
	}
	if !safename.Valid(reference, 8, 128) {
		v.add("reference", "must be 8 to 128 characters of A-Z a-z 0-9 . _ : - that begin with a letter or digit")
	}
	if err := v.err(); err != nil {
		return FloatCredit{}, err
	}
	var credit FloatCredit
	err := o.share(ctx, PermissionFloatCredit, companyID,
		func(ctx context.Context, tx Tx, at time.Time, company *CompanyRecord) error {
			if company.Status != CompanyActive {
				return conflict("The company is not active.")
			}
			// The lock comes before the look-up, so that of two equal fundings the second finds the first.
			float, err := only(tx.LockWallets(ctx, walletRefs(companyID)[:1]))
			if err != nil {
				return err
			}
			// Where the clock lags behind the wallet, the later time counts, as it does for sales.
			if !company.Verification.current(float.notBefore(at)) {
				return errUnverified
			}
			if !float.usable() {
				return conflict("The FLOAT wallet is not active.")
			}
			earlier, err := tx.FloatCredit(ctx, companyID, reference)
			if err != nil {
				return err
			}
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

// newCredit moves FLOAT for a reference that is new.
func newCredit(
	ctx context.Context, tx Tx, float LockedWallet, amount money.Amount, reference string, at time.Time,
) (FloatCredit, error) {
	entry, err := float.move(ledger.FloatCredit, amount, reference, at)
	if errors.Is(err, ledger.ErrOverflow) {
		return FloatCredit{}, conflict("The balance would pass its maximum of %s.", money.MaxBalance)
	}
	if err != nil {
		return FloatCredit{}, fmt.Errorf("ticketing: credit FLOAT: %w", err)
	}
	if err := tx.AppendEntries(ctx, []ledger.Entry{entry}); err != nil {
		return FloatCredit{}, err
	}
	if err := tx.UpdateWallets(ctx, []WalletRecord{float.WalletRecord}); err != nil {
		return FloatCredit{}, err
	}
	return newFloatCredit(true, entry), tx.AppendFloatCredit(ctx, FloatCreditRecord{
		CompanyID: float.CompanyID, Reference: reference, Amount: amount, Sequence: entry.Sequence,
	})
}

// earlierCredit answers with the movement that a reference was spent on.
func earlierCredit(
	ctx context.Context, tx WalletReader, credit FloatCreditRecord, amount money.Amount,
) (FloatCredit, error) {
	if credit.Amount != amount {
		return FloatCredit{}, conflict("The reference was used for another amount.")
	}
	entry, err := only(tx.ListEntries(ctx, LedgerQuery{
		WalletRef: walletRefs(credit.CompanyID)[0], After: credit.Sequence - 1, Limit: 1,
	}))
	if err == nil && entry.Sequence != credit.Sequence {
		err = fmt.Errorf("ticketing: FLOAT of company %s has no entry %d", credit.CompanyID, credit.Sequence)
	}
	return newFloatCredit(false, entry), err
}
