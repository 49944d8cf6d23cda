package main

import (
	"context"
	"strconv"

	"github.com/floatgate/ticketing"
)

type ledgerCommands struct {
	List      ledgerList      `cmd:"" help:"List the movements of a company's wallets, oldest first."`
	Statement ledgerStatement `cmd:"" help:"Write what moved a company's wallets in a period, with the balances around it."`
	Verify    ledgerVerify    `cmd:"" help:"Verify the books of one company, or of all, or a bundle."`
	Export    ledgerExport    `cmd:"" help:"Write a company's ledger as a signed bundle."`
	PublicKey ledgerPublicKey `cmd:"" help:"Print the public key that bundles are verified with."`
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
