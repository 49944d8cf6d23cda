package store

import (
	"context"
	"time"

	"github.com/google/uuid"
	"github.com/uptrace/bun"

	"github.com/floatgate/ticketing/driver"
)

type bankAccountModel struct {
	bun.BaseModel `bun:"table:ticketing_bank_accounts,alias:b"`
	bankAccountFields
}

type bankAccountFields struct {
	CompanyID   uuid.UUID `bun:",pk"`
	Version     int64     `bun:",pk"`
	Bank        string
	AccountName string
	Number      string
	Last4       string `bun:"last4"`
	CreatedAt   time.Time
}

func (m bankAccountModel) record() driver.BankAccount { return driver.BankAccount(m.bankAccountFields) }

// BankAccounts finds versions of bank accounts.
func (s *session) BankAccounts(
	ctx context.Context, refs []driver.BankAccountRef,
) ([]driver.BankAccount, error) {
	return findByRefs(refs,
		func(a driver.BankAccount) driver.BankAccountRef {
			return driver.BankAccountRef{CompanyID: a.CompanyID, Version: a.Version}
		},
		func(refs []driver.BankAccountRef) ([]driver.BankAccount, error) {
			return find(ctx, s, "BankAccounts", bankAccountModel.record,
				s.selectKeyed(keyedRows{table: "ticketing_bank_accounts b", set: newSet("company_id, version", refs,
					func(r driver.BankAccountRef) []any { return []any{r.CompanyID, r.Version} })}))
		})
}

// CurrentBankAccount finds the highest version of a company.
func (s *session) CurrentBankAccount(
	ctx context.Context, companyID uuid.UUID,
) (driver.BankAccount, error) {
	return firstRow(find(ctx, s, "CurrentBankAccount", bankAccountModel.record,
		s.newSelect().Where("company_id = ?", id(companyID)).OrderExpr("version DESC").Limit(1)))
}

// StaleBankAccounts finds current accounts whose number is encrypted under another secret key than the given one. It
// reads every account, which only happens when a key is retired.
func (s *session) StaleBankAccounts(
	ctx context.Context, q driver.StaleBankAccountQuery,
) ([]driver.BankAccount, error) {
	return find(ctx, s, "StaleBankAccounts", bankAccountModel.record, s.newSelect().
		Where("company_id > ?", id(q.After)).Where("substr(number, 4, 16) <> ?", q.SecretName).
		Where("version = (?)", s.newestBankAccount()).Apply(page("company_id", q.Limit)))
}

// newestBankAccount is the subquery for the highest version of the company of b.
func (s *session) newestBankAccount() *bun.SelectQuery {
	return s.newSelect().TableExpr("ticketing_bank_accounts AS newer").ColumnExpr("MAX(version)").
		Where("newer.company_id = b.company_id")
}

// AppendBankAccount inserts a version.
func (tx *transaction) AppendBankAccount(ctx context.Context, a driver.BankAccount) error {
	return tx.create(ctx, "AppendBankAccount", &bankAccountModel{bankAccountFields: bankAccountFields(a)})
}

// UpdateBankAccount writes the encrypted number.
func (tx *transaction) UpdateBankAccount(ctx context.Context, a driver.BankAccount) error {
	return tx.save(ctx, "UpdateBankAccount", &bankAccountModel{bankAccountFields: bankAccountFields(a)}, "number")
}
