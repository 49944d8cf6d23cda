package store

import (
	"context"
	"database/sql"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

const bankAccountColumns = "company_id, version, bank, account_name, number, last4, created_at"

func scanBankAccount(row *sql.Rows, a *driver.BankAccount) error {
	return row.Scan((*id)(&a.CompanyID), &a.Version, &a.Bank, &a.AccountName, &a.Number, &a.Last4,
		(*moment)(&a.CreatedAt))
}

// BankAccounts finds versions of bank accounts.
func (s *session) BankAccounts(
	ctx context.Context, refs []driver.BankAccountRef,
) ([]driver.BankAccount, error) {
	return lookUp(refs,
		func(a driver.BankAccount) driver.BankAccountRef {
			return driver.BankAccountRef{CompanyID: a.CompanyID, Version: a.Version}
		},
		func(refs []driver.BankAccountRef) ([]driver.BankAccount, error) {
			return query(ctx, s, "BankAccounts", scanBankAccount,
				"SELECT "+bankAccountColumns+" FROM ?",
				found{table: "ticketing_bank_accounts b", set: of("company_id, version", refs,
					func(r driver.BankAccountRef) []any { return []any{r.CompanyID, r.Version} })})
		})
}

// CurrentBankAccount finds the highest version of a company.
func (s *session) CurrentBankAccount(
	ctx context.Context, companyID uuid.UUID,
) (driver.BankAccount, error) {
	return one(query(ctx, s, "CurrentBankAccount", scanBankAccount,
		"SELECT "+bankAccountColumns+` FROM ticketing_bank_accounts
		WHERE company_id = ? ORDER BY version DESC LIMIT 1`, companyID))
}

// StaleBankAccounts finds current accounts whose number is encrypted under another secret key than the given one. It
// reads every account, which only happens when a key is retired.
func (s *session) StaleBankAccounts(
	ctx context.Context, q driver.StaleBankAccountQuery,
) ([]driver.BankAccount, error) {
	return query(ctx, s, "StaleBankAccounts", scanBankAccount,
		"SELECT "+bankAccountColumns+` FROM ticketing_bank_accounts b
		WHERE company_id > ? AND substr(number, 4, 16) <> ? AND version = (
			SELECT MAX(version) FROM ticketing_bank_accounts newer WHERE newer.company_id = b.company_id
		)
		ORDER BY company_id LIMIT ?`,
		q.After, q.SecretName, max(q.Limit, 0))
}

// AppendBankAccount inserts a version.
func (tx *transaction) AppendBankAccount(ctx context.Context, a driver.BankAccount) error {
	return tx.exec(ctx, "AppendBankAccount",
		"INSERT INTO ticketing_bank_accounts ("+bankAccountColumns+") VALUES (?, ?, ?, ?, ?, ?, ?)",
		a.CompanyID, a.Version, a.Bank, a.AccountName, a.Number, a.Last4, a.CreatedAt)
}

// UpdateBankAccount writes the encrypted number.
func (tx *transaction) UpdateBankAccount(ctx context.Context, a driver.BankAccount) error {
	return tx.changed(ctx, "UpdateBankAccount",
		"UPDATE ticketing_bank_accounts SET number = ? WHERE company_id = ? AND version = ?",
		a.Number, a.CompanyID, a.Version)
}
