package main

import (
	"context"
	"strconv"

	"github.com/floatgate/ticketing"
)

type bankAccountCommands struct {
	Set  bankAccountSet  `cmd:"" help:"Set the bank account that settlements are paid to."`
	Show bankAccountShow `cmd:"" help:"Show the bank account, with the last four digits of its number."`

	Reseal bankAccountReseal `cmd:"" help:"Re-encrypt all account numbers with the first master secret."`
}

type bankAccountSet struct {
	companyArg

	Bank          string `help:"Name of the bank, 2 to 120 characters." placeholder:"BANK" required:""`
	AccountNumber string `help:"Number of the account, 6 to 20 digits. Better set TICKETING_ACCOUNT_NUMBER: other users can see a command line." placeholder:"NUMBER" required:""`
	AccountName   string `help:"Name of the account holder, 2 to 120 characters." placeholder:"NAME" required:""`
}

func (*bankAccountSet) Help() string {
	return `The number is stored encrypted; only its last four digits are ever shown. An open settlement keeps the ` +
		`account it was requested with.

    ticketing bank-account set COMPANY --bank 'First Bank' --account-number 0123456789 --account-name 'Lagos Live Ltd'`
}

func (c *bankAccountSet) Run(ctx context.Context, p *program) error {
	return p.bankAccount(ctx, func(op ticketing.Operator) (ticketing.BankAccount, error) {
		return op.SetBankAccount(ctx, c.Company.UUID, ticketing.BankAccountParams{
			Bank: c.Bank, AccountNumber: ticketing.AccountNumber(c.AccountNumber), AccountName: c.AccountName,
		})
	})
}

type bankAccountShow struct{ companyArg }

func (c *bankAccountShow) Run(ctx context.Context, p *program) error {
	return p.bankAccount(ctx, func(op ticketing.Operator) (ticketing.BankAccount, error) {
		return op.GetBankAccount(ctx, c.Company.UUID)
	})
}

type bankAccountReseal struct{}

func (*bankAccountReseal) Help() string {
	return `This is a step of replacing the master secret: give the new secret first, then the old one. It is safe to ` +
		`repeat, and sales continue. "Left" are those that could not be re-encrypted; they still need the old secret.

    TICKETING_SECRET_KEY=NEW,OLD ticketing bank-account reseal`
}

func (*bankAccountReseal) Run(ctx context.Context, p *program) error {
	return p.operate(ctx, func(op ticketing.Operator) error {
		done, err := op.ReencryptBankAccounts(ctx)
		if err != nil {
			return err
		}
		return p.show(done,
			field{"Resealed", strconv.Itoa(done.Reencrypted)},
			field{"Left", strconv.Itoa(done.Left)},
		)
	})
}

// bankAccount runs do, which returns a company's bank account, and prints the account.
func (p *program) bankAccount(
	ctx context.Context, do func(op ticketing.Operator) (ticketing.BankAccount, error),
) error {
	return p.operate(ctx, func(op ticketing.Operator) error {
		account, err := do(op)
		if err != nil {
			return err
		}
		return p.show(account,
			field{"Bank", account.Bank},
			field{"Account name", account.AccountName},
			field{"Account number", "…" + account.BankAccountLast4},
			field{"Set", account.CreatedAt.String()},
		)
	})
}
