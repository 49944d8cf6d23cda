package main

import (
	"context"
	"strconv"

	"github.com/floatgate/ticketing"
)

type ledgerCommands struct {
	List      ledgerList      `cmd:"" help:"List the movements of a company's wallets, oldest first."`
	Statement ledgerStatement `cmd:"" help:"Write the wallet movements of a period, with opening and closing balances."`
	Verify    ledgerVerify    `cmd:"" help:"Verify the books of one company or of all, or a bundle."`
	Export    ledgerExport    `cmd:"" help:"Write a company's ledger as a signed bundle."`
	PublicKey ledgerPublicKey `cmd:"" help:"Print the public key that bundles are verified with."`
}

type ledgerList struct {
	companyArg

	listFlags

	Wallet walletName `help:"FLOAT or EARNINGS. Defaults to both, one after the other." placeholder:"WALLET"`
}

func (c *ledgerList) Run(ctx context.Context, p *program) error {
	return p.operate(ctx, func(op ticketing.Operator) error {
		columns := []column{
			numbers("SEQ"), words("WALLET"), words("KIND"), numbers("AMOUNT"), numbers("BEFORE").optional(),
			numbers("AFTER"), texts("REFERENCE"), times("CREATED"),
		}
		return p.list(c.listFlags, columns, func(list *list) error {
			return op.Ledger(ctx, c.Company.UUID, c.Wallet.Wallet, func(entry ticketing.LedgerEntry) error {
				return list.add(entry, strconv.FormatInt(entry.Sequence, 10), string(entry.Wallet), string(entry.Kind),
					entry.Amount.String(), entry.BalanceBefore.String(), entry.BalanceAfter.String(), entry.Reference,
					entry.CreatedAt.String())
			})
		})
	})
}
