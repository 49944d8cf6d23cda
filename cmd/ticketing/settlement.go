package main

import (
	"context"
	"fmt"

	"github.com/floatgate/ticketing"
)

type settlementCommands struct {
	Request settlementRequest `cmd:"" help:"Request the payout of all that a company's EARNINGS hold."`
	Approve settlementApprove `cmd:"" help:"Tell that a settlement was paid out."`
	Reject  settlementReject  `cmd:"" help:"Reject a settlement: EARNINGS get the amount back."`
	List    settlementList    `cmd:"" help:"List the settlements of a company, newest first."`
}

type settlementRequest struct{ companyArg }

func (*settlementRequest) Help() string {
	return `It takes the whole balance of EARNINGS at once, never FLOAT, and is PENDING until it is approved or ` +
		`rejected. A company has one open settlement at a time, and needs a bank account.

    ticketing settlement request COMPANY`
}

func (c *settlementRequest) Run(ctx context.Context, p *program) error {
	return p.settlement(ctx, func(op ticketing.Operator) (ticketing.Settlement, error) {
		return op.RequestSettlement(ctx, c.Company.UUID)
	})
}

// settlementArg names the settlement that a command is about.
type settlementArg struct {
	requiredConfirm

	Settlement id `arg:"" help:"Id of the settlement." placeholder:"SETTLEMENT"`
}

// asked asks for confirmation of an action on the settlement.
func (c settlementArg) asked(ctx context.Context, p *program, op ticketing.Operator, do string) error {
	return c.confirm(p, func() (string, error) {
		settlement, err := op.GetSettlement(ctx, c.Settlement.UUID)
		if err != nil {
			return "", err
		}
		name, err := companyArg{Company: id{settlement.CompanyID}}.named(ctx, op)
		return fmt.Sprintf("%s the settlement of %s to …%s of the company %s?", do, naira(settlement.Amount),
			settlement.BankAccountLast4, name), err
	})
}

type settlementApprove struct{ settlementArg }

func (*settlementApprove) Help() string {
	return `Pay it out first: this tells that it was done. The settlement becomes COMPLETED, for good.`
}

func (c *settlementApprove) Run(ctx context.Context, p *program) error {
	return p.settlement(ctx, func(op ticketing.Operator) (ticketing.Settlement, error) {
		if err := c.asked(ctx, p, op, "Approve"); err != nil {
			return ticketing.Settlement{}, err
		}
		return op.ApproveSettlement(ctx, c.Settlement.UUID)
	})
}

type settlementReject struct {
	settlementArg

	Reason string `help:"Why, 1 to 500 characters." placeholder:"REASON" required:""`
}

func (c *settlementReject) Run(ctx context.Context, p *program) error {
	return p.settlement(ctx, func(op ticketing.Operator) (ticketing.Settlement, error) {
		if err := c.asked(ctx, p, op, "Reject"); err != nil {
			return ticketing.Settlement{}, err
		}
		return op.RejectSettlement(ctx, c.Settlement.UUID, c.Reason)
	})
}

// settlement runs do, which returns a settlement, and prints the settlement.
func (p *program) settlement(
	ctx context.Context, do func(op ticketing.Operator) (ticketing.Settlement, error),
) error {
	return p.operate(ctx, func(op ticketing.Operator) error {
		settlement, err := do(op)
		if err != nil {
			return err
		}
		return p.showRecord(settlement.ID.String(), settlement,
			field{"ID", settlement.ID.String()},
			field{"Company", settlement.CompanyID.String()},
			field{"Amount", naira(settlement.Amount)},
			field{"Status", string(settlement.Status)},
			field{"Bank account", "…" + settlement.BankAccountLast4},
			field{"Requested", settlement.RequestedAt.String()},
			field{"Decided", timeOrDash(settlement.DecidedAt)},
			field{"Reason", orDash(settlement.Reason)},
		)
	})
}

type settlementList struct{ companyArg }

func (c *settlementList) Run(ctx context.Context, p *program) error {
	return p.operate(ctx, func(op ticketing.Operator) error {
		list := p.list("ID", "AMOUNT", "STATUS", "ACCOUNT", "REQUESTED", "DECIDED", "REASON")
		params := ticketing.PageParams{Limit: ticketing.MaxPageLimit}
		for {
			page, err := op.ListSettlements(ctx, c.Company.UUID, params)
			if err != nil {
				return err
			}
			for _, settlement := range page.Items {
				err := list.add(settlement, settlement.ID.String(), settlement.Amount.String(),
					string(settlement.Status), "…"+settlement.BankAccountLast4, settlement.RequestedAt.String(),
					timeOrDash(settlement.DecidedAt), orDash(settlement.Reason))
				if err != nil {
					return err
				}
			}
			if !page.HasMore {
				return list.end()
			}
			params.Cursor = page.NextCursor
		}
	})
}
