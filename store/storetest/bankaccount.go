package storetest

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

func bankAccountRecord(companyID uuid.UUID, version int64) ticketing.BankAccountRecord {
	return ticketing.BankAccountRecord{
		CompanyID: companyID, Version: version, Bank: awkward, AccountName: awkward,
		Number: fmt.Sprintf("s1:%016x:sealed", version), Last4: "0678", CreatedAt: at(90),
	}
}

func bankAccountKinds() []record {
	kept := bankAccountRecord(companyA, 1)
	changed := kept
	changed.Number = "s1:00000000000000ff:anew"
	holds := func(found ticketing.BankAccountRecord) reads {
		return func(ctx context.Context, tx ticketing.ReadTx) error {
			return errors.Join(
				want("BankAccounts", []ticketing.BankAccountRecord{found}).
					from(tx.BankAccounts(ctx, []ticketing.BankAccountRef{{CompanyID: companyA, Version: 1}})),
				want("CurrentBankAccount", found).from(tx.CurrentBankAccount(ctx, companyA)),
				want("of another company", ticketing.BankAccountRecord{}).from(tx.CurrentBankAccount(ctx, companyB)),
			)
		}
	}
	create := func(ctx context.Context, tx ticketing.Tx) error { return tx.AppendBankAccount(ctx, kept) }
	return []record{{
		name: "bank accounts", create: create, created: holds(kept), absent: holds(ticketing.BankAccountRecord{}),
		change: func(ctx context.Context, tx ticketing.Tx) error {
			// All but the number is left alone.
			other := changed
			other.Bank, other.AccountName, other.Last4, other.CreatedAt = "other", "other", "0000", at(91)
			return tx.UpdateBankAccount(ctx, other)
		},
		changed: holds(changed),
		taken:   map[string]writes{"version": create},
	}}
}

func bankAccountChecks() []Check {
	return []Check{{"bank accounts/the highest version is current", grounded(currentBankAccount)}}
}

func currentBankAccount(ctx context.Context, s ticketing.Store) error {
	first, tenth, ninth := bankAccountRecord(companyA, 1), bankAccountRecord(companyA, 10), bankAccountRecord(companyA, 9)
	foreign := bankAccountRecord(companyB, 11)
	err := update(ctx, s, func(ctx context.Context, tx ticketing.Tx) error {
		for _, account := range []ticketing.BankAccountRecord{first, tenth, foreign, ninth} {
			if err := tx.AppendBankAccount(ctx, account); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("append bank accounts: %w", err)
	}
	return everywhere(ctx, s, func(ctx context.Context, tx ticketing.ReadTx) error {
		return errors.Join(
			want("current", tenth).from(tx.CurrentBankAccount(ctx, companyA)),
			want("current of another company", foreign).from(tx.CurrentBankAccount(ctx, companyB)),
			want("current of nobody", ticketing.BankAccountRecord{}).from(tx.CurrentBankAccount(ctx, uuid.Nil)),
			want("with gaps, out of order and twice", []ticketing.BankAccountRecord{tenth, {}, first, {}, tenth}).
				from(tx.BankAccounts(ctx, []ticketing.BankAccountRef{
					{CompanyID: companyA, Version: 10},
					{CompanyID: companyA, Version: 11},
					{CompanyID: companyA, Version: 1},
					{},
					{CompanyID: companyA, Version: 10},
				})),
			want("none", []ticketing.BankAccountRecord(nil)).from(tx.BankAccounts(ctx, nil)),
		)
	})
}
