package main

import (
	"context"

	"github.com/floatgate/ticketing"
	"github.com/floatgate/ticketing/money"
)

type floatCommands struct {
	Credit floatCredit `cmd:"" help:"Credit a payment to a company's FLOAT."`
}

type floatCredit struct {
	companyArg
	ignoredYes

	Amount    amount `help:"How much, in naira." placeholder:"AMOUNT" required:""`
	Reference string `help:"Reference of the payment provider, 8 to 128 characters." placeholder:"REFERENCE" required:""`
}

func (*floatCredit) Help() string {
	return `Each reference is credited only once: repeating it with the same amount shows the original credit, and ` +
		`another amount is refused.

    ticketing float credit COMPANY --amount 1000000.00 --reference settlement-0001`
}

func (c *floatCredit) Run(ctx context.Context, p *program) error {
	return p.operate(ctx, func(op ticketing.Operator) error {
		credit, err := op.CreditFloat(ctx, c.Company.UUID, c.Reference, c.Amount.Amount)
		if err != nil {
			return err
		}
		return p.show(credit,
			field{"Applied", yesNo(credit.Applied)},
			field{"Amount", naira(credit.Amount)},
			field{"Balance before", naira(credit.BalanceBefore)},
			field{"Balance after", naira(credit.BalanceAfter)},
		)
	})
}

// naira formats an amount with its currency.
func naira(a money.Amount) string { return money.Currency + " " + a.String() }
