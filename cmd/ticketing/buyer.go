package main

import (
	"context"
	"strconv"

	"github.com/floatgate/ticketing"
)

type buyerCommands struct {
	Show  buyerShow  `cmd:"" help:"Show a company's record of a buyer."`
	Erase buyerErase `cmd:"" help:"Erase a buyer from a company's records."`
}

// buyerArg names the buyer that a command is about.
type buyerArg struct {
	companyArg

	Email string `help:"Email of the buyer." placeholder:"EMAIL" required:""`
}

type buyerShow struct{ buyerArg }

func (c *buyerShow) Run(ctx context.Context, p *program) error {
	return p.operate(ctx, func(op ticketing.Operator) error {
		buyer, err := op.GetBuyer(ctx, c.Company.UUID, c.Email)
		if err != nil {
			return err
		}
		user := "-"
		if buyer.UserID != nil {
			user = buyer.UserID.String()
		}
		return p.showRecord(buyer.Email, buyer,
			field{"Email", buyer.Email},
			field{"Name", orDash(buyer.Fullname)},
			field{"Phone", orDash(buyer.Phone)},
			field{"User", user},
			field{"Since", buyer.CreatedAt.String()},
			field{"Latest checkout", buyer.UpdatedAt.String()},
		)
	})
}

type buyerErase struct {
	buyerArg
	requiredConfirm
}

func (*buyerErase) Help() string {
	return `Email, name and phone are replaced in the buyer's record and in all their orders. Amounts, the ledger and ` +
		`the tickets stay as they are. Orders are erased a thousand at a time; repeat the command if it was interrupted.

    ticketing buyer erase COMPANY --email ada@example.com`
}

func (c *buyerErase) Run(ctx context.Context, p *program) error {
	return p.operate(ctx, func(op ticketing.Operator) error {
		err := c.confirm(p, func() (string, error) {
			name, err := c.named(ctx, op)
			return "Erase the buyer " + quoted(c.Email) + " of the company " + name + "?", err
		})
		if err != nil {
			return err
		}
		erasure, err := op.EraseBuyer(ctx, c.Company.UUID, c.Email)
		if err != nil {
			return err
		}
		return p.show(erasure,
			field{"Erased", yesNo(erasure.Erased)},
			field{"Orders", strconv.Itoa(erasure.Orders)},
		)
	})
}
