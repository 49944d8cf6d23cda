package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

func newBankAccount(companyID uuid.UUID, version int64) driver.BankAccount {
	return driver.BankAccount{
		CompanyID: companyID, Version: version, Bank: awkward, AccountName: awkward,
		Number: fmt.Sprintf("s1:%016x:sealed", version), Last4: "0678", CreatedAt: at(90),
	}
}

func bankAccountKinds() []record {
	kept := newBankAccount(companyA, 1)
	changed := kept
	changed.Number = "s1:00000000000000ff:again"
	holds := func(found driver.BankAccount) reads {
		return func(ctx context.Context, tx driver.ReadTx) error {
			return errors.Join(
				want("BankAccounts", []driver.BankAccount{found}).
					from(tx.BankAccounts(ctx, []driver.BankAccountRef{{CompanyID: companyA, Version: 1}})),
				want("CurrentBankAccount", found).from(tx.CurrentBankAccount(ctx, companyA)),
				want("of another company", driver.BankAccount{}).from(tx.CurrentBankAccount(ctx, companyB)),
			)
		}
	}
	create := func(ctx context.Context, tx driver.Tx) error { return tx.AppendBankAccount(ctx, kept) }
	return []record{{
		name: "bank accounts", create: create, created: holds(kept), absent: holds(driver.BankAccount{}),
		change: func(ctx context.Context, tx driver.Tx) error {
			// Everything but the number must stay unchanged.
			other := changed
			other.Bank, other.AccountName, other.Last4, other.CreatedAt = "other", "other", "0000", at(91)
			return tx.UpdateBankAccount(ctx, other)
		},
		changed: holds(changed),
		taken:   map[string]writes{"version": create},
	}}
}

func bankAccountChecks() []Check {
	return []Check{
		{"bank accounts/the highest version is current", grounded(currentBankAccount)},
		{"bank accounts/current ones of another key are listed", grounded(staleBankAccounts)},
	}
}

// staleBankAccounts creates accounts of both companies. The current ones are encrypted under keys of different names.
func staleBankAccounts(ctx context.Context, s driver.Store) error {
	// The key's name is derived from the version.
	a, b := newBankAccount(companyA, 3), newBankAccount(companyB, 2)
	err := update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		for _, account := range []driver.BankAccount{
			newBankAccount(companyA, 1), newBankAccount(companyB, 1), newBankAccount(companyA, 2), a, b,
		} {
			if err := tx.AppendBankAccount(ctx, account); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("append bank accounts: %w", err)
	}
	first, second := a, b
	if bytes.Compare(companyA[:], companyB[:]) > 0 {
		first, second = b, a
	}
	ask := func(version int64, after uuid.UUID, limit int) driver.StaleBankAccountQuery {
		return driver.StaleBankAccountQuery{SecretName: fmt.Sprintf("%016x", version), After: after, Limit: limit}
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return errors.Join(
			want("of keys that are no more", []driver.BankAccount{first, second}).
				from(tx.StaleBankAccounts(ctx, ask(1, uuid.Nil, 9))),
			want("a part", []driver.BankAccount{first}).from(tx.StaleBankAccounts(ctx, ask(1, uuid.Nil, 1))),
			want("the rest", []driver.BankAccount{second}).
				from(tx.StaleBankAccounts(ctx, ask(1, first.CompanyID, 1))),
			want("all but those of a key", []driver.BankAccount{b}).from(tx.StaleBankAccounts(ctx, ask(3, uuid.Nil, 9))),
			want("no more", []driver.BankAccount(nil)).from(tx.StaleBankAccounts(ctx, ask(1, second.CompanyID, 9))),
		)
	})
}

func currentBankAccount(ctx context.Context, s driver.Store) error {
	first, tenth, ninth := newBankAccount(companyA, 1), newBankAccount(companyA, 10), newBankAccount(companyA, 9)
	foreign := newBankAccount(companyB, 11)
	err := update(ctx, s, func(ctx context.Context, tx driver.Tx) error {
		for _, account := range []driver.BankAccount{first, tenth, foreign, ninth} {
			if err := tx.AppendBankAccount(ctx, account); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("append bank accounts: %w", err)
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return errors.Join(
			want("current", tenth).from(tx.CurrentBankAccount(ctx, companyA)),
			want("current of another company", foreign).from(tx.CurrentBankAccount(ctx, companyB)),
			want("current of nobody", driver.BankAccount{}).from(tx.CurrentBankAccount(ctx, uuid.Nil)),
			want("with gaps, out of order and twice", []driver.BankAccount{tenth, {}, first, {}, tenth}).
				from(tx.BankAccounts(ctx, []driver.BankAccountRef{
					{CompanyID: companyA, Version: 10},
					{CompanyID: companyA, Version: 11},
					{CompanyID: companyA, Version: 1},
					{},
					{CompanyID: companyA, Version: 10},
				})),
			want("none", []driver.BankAccount(nil)).from(tx.BankAccounts(ctx, nil)),
		)
	})
}
