package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/floatgate/ticketing"
)

type ledgerCommands struct {
	List   ledgerList   `cmd:"" help:"List the movements of a company's wallets, oldest first."`
	Verify ledgerVerify `cmd:"" help:"Verify the chains of one company, or of all."`
}

type ledgerList struct {
	companyArg

	Wallet walletName `help:"FLOAT or EARNINGS. Defaults to both, one after the other." placeholder:"WALLET"`
}

func (c *ledgerList) Run(ctx context.Context, p *program) error {
	return p.operate(ctx, func(op ticketing.Operator) error {
		list := p.list("SEQ", "WALLET", "KIND", "AMOUNT", "BEFORE", "AFTER", "REFERENCE", "CREATED")
		err := op.Ledger(ctx, c.Company.UUID, c.Wallet.Wallet, func(entry ticketing.LedgerEntry) error {
			return list.add(entry, strconv.FormatInt(entry.Sequence, 10), string(entry.Wallet), string(entry.Kind),
				entry.Amount.String(), entry.BalanceBefore.String(), entry.BalanceAfter.String(), entry.Reference,
				entry.CreatedAt.String())
		})
		if err != nil {
			return err
		}
		return list.end()
	})
}

type ledgerVerify struct {
	Company id `arg:"" help:"Id of the company. Defaults to all." optional:"" placeholder:"COMPANY"`
}

func (*ledgerVerify) Help() string {
	return `It computes every chain anew, compares it with the wallets, and says what is wrong. Exit status 1 when ` +
		`anything is. It may run while the server sells.`
}

func (c *ledgerVerify) Run(ctx context.Context, p *program) error {
	return p.operate(ctx, func(op ticketing.Operator) error {
		report, err := op.VerifyLedger(ctx, c.Company.UUID)
		if err != nil {
			return err
		}
		if report.Problems == nil {
			report.Problems = []string{}
		}
		fields := []field{
			{"OK", yesNo(report.OK)},
			{"Wallets", strconv.Itoa(report.Wallets)},
			{"Entries", strconv.FormatInt(report.Entries, 10)},
		}
		for _, problem := range report.Problems {
			fields = append(fields, field{"Problem", problem})
		}
		if err := p.show(report, fields...); err != nil {
			return err
		}
		if !report.OK {
			return &failure{
				code: "LEDGER_INVALID", text: fmt.Sprintf("the ledger has %d problems", len(report.Problems)),
			}
		}
		return nil
	})
}
