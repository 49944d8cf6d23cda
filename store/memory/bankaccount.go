package memory

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

type accounts struct {
	byRef   map[driver.BankAccountRef]driver.BankAccount
	current map[uuid.UUID]driver.BankAccount
}

func newAccounts() accounts {
	return accounts{
		byRef:   make(map[driver.BankAccountRef]driver.BankAccount),
		current: make(map[uuid.UUID]driver.BankAccount),
	}
}

func (a *accounts) keep(u *undo, ref driver.BankAccountRef, account driver.BankAccount) {
	put(u, a.byRef, ref, account)
	if account.Version >= a.current[account.CompanyID].Version {
		put(u, a.current, account.CompanyID, account)
	}
}

func (r reading) BankAccounts(
	ctx context.Context, refs []driver.BankAccountRef,
) ([]driver.BankAccount, error) {
	return ask(ctx, r, func(s *state) []driver.BankAccount {
		return each(refs, func(ref driver.BankAccountRef) driver.BankAccount { return s.accounts.byRef[ref] })
	})
}

func (r reading) CurrentBankAccount(
	ctx context.Context, companyID uuid.UUID,
) (driver.BankAccount, error) {
	return ask(ctx, r, func(s *state) driver.BankAccount { return s.accounts.current[companyID] })
}

func (r reading) StaleBankAccounts(
	ctx context.Context, query driver.StaleBankAccountQuery,
) ([]driver.BankAccount, error) {
	return ask(ctx, r, func(s *state) []driver.BankAccount {
		var stale []driver.BankAccount
		for company, account := range s.accounts.current {
			if name, _ := sealedUnder(account.Number); compareIDs(company, query.After) > 0 && name != query.SecretName {
				stale = append(stale, account)
			}
		}
		slices.SortFunc(stale, func(a, b driver.BankAccount) int { return compareIDs(a.CompanyID, b.CompanyID) })
		return stale[:min(len(stale), max(query.Limit, 0))]
	})
}

func (tx *updating) AppendBankAccount(ctx context.Context, account driver.BankAccount) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		account.CreatedAt = moment(account.CreatedAt)
		ref := driver.BankAccountRef{CompanyID: account.CompanyID, Version: account.Version}
		if _, taken := s.accounts.byRef[ref]; taken {
			return broken("bank_accounts_pkey")
		}
		if err := check(account.Version >= 1, "bank_accounts_version_check"); err != nil {
			return err
		}
		if err := check(len(account.Last4) == 4, "bank_accounts_last4_check"); err != nil {
			return err
		}
		s.accounts.keep(u, ref, account)
		return nil
	})
}

func (tx *updating) UpdateBankAccount(ctx context.Context, account driver.BankAccount) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		ref := driver.BankAccountRef{CompanyID: account.CompanyID, Version: account.Version}
		kept, ok := s.accounts.byRef[ref]
		if !ok {
			return driver.ErrNotFound
		}
		kept.Number = account.Number
		s.accounts.keep(u, ref, kept)
		return nil
	})
}
