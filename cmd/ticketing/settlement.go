package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

type settlementCommands struct {
	Request settlementRequest `cmd:"" help:"Request the payout of a company's whole EARNINGS balance."`
	Approve settlementApprove `cmd:"" help:"Confirm that a settlement was paid."`
	Reject  settlementReject  `cmd:"" help:"Reject a settlement: the amount returns to EARNINGS."`
	List    settlementList    `cmd:"" help:"List the settlements of a company, or of all companies."`
}

type settlementRequest struct{ companyArg }

func (*settlementRequest) Help() string {
	return `The whole balance of EARNINGS is reserved at once; FLOAT is not touched. The settlement is PENDING until it ` +
		`is approved or rejected. A company needs a bank account, and can have one open settlement at a time.

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

	Settlement shortID `arg:"" help:"Id of the settlement." placeholder:"SETTLEMENT"`
}

// find sets the id of the settlement, if only its beginning was given: that of one that waits for a decision.
func (c *settlementArg) find(ctx context.Context, op ticketing.Operator) error {
	if c.Settlement.UUID != uuid.Nil {
		return nil
	}
	var open []ticketing.OpenSettlement
	err := eachOpenSettlement(ctx, op, ticketing.MaxPageLimit, func(s ticketing.OpenSettlement) error {
		open = append(open, s)
		return nil
	})
	if err != nil {
		return err
	}
	found, err := findRecord(c.Settlement, "settlement", open, func(s ticketing.OpenSettlement) (uuid.UUID, string) {
		return s.ID, ""
	})
	c.Settlement.UUID = found.ID
	return err
}

// asked asks for confirmation of an action on the settlement.
func (c *settlementArg) asked(ctx context.Context, p *program, op ticketing.Operator, do string) error {
	if err := c.find(ctx, op); err != nil {
		return err
	}
	return c.confirm(p, func() (string, error) {
		settlement, err := op.GetSettlement(ctx, c.Settlement.UUID)
		if err != nil {
			return "", err
		}
		name, err := companyNamed(ctx, op, settlement.CompanyID)
		return fmt.Sprintf("%s the settlement of %s to …%s of the company %s?", do, naira(settlement.Amount),
			settlement.BankAccountLast4, name), err
	})
}

type settlementApprove struct{ settlementArg }

func (*settlementApprove) Help() string {
	return `Pay the settlement first, then confirm it with this command. It becomes COMPLETED, which is final.`
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

type settlementList struct {
	listFlags

	Company companyRef `arg:"" help:"Id of the company, the beginning of its id, or its name. Defaults to all." optional:"" placeholder:"COMPANY"`

	Status settlementStatus `help:"Only those that are PENDING, COMPLETED or REJECTED." placeholder:"STATUS"`
}

func (*settlementList) Help() string {
	return `Those of a company are listed newest first, those of all companies company by company. What waits for a ` +
		`decision at all companies, oldest first:

    ticketing settlement list --status PENDING`
}

func (c *settlementList) Run(ctx context.Context, p *program) error {
	return p.operate(ctx, func(op ticketing.Operator) error {
		columns := []column{
			shortIDs("ID"), texts("COMPANY"), numbers("AMOUNT"), states("STATUS"), words("ACCOUNT").optional(),
			times("REQUESTED"), times("DECIDED").optional(), texts("REASON").optional(),
		}
		if c.Company.given() {
			columns = slices.Delete(columns, 1, 2)
		}
		return p.list(c.listFlags, columns, func(list *list) error {
			add := func(value any, s ticketing.Settlement, company ...string) error {
				if c.Status.SettlementStatus != "" && s.Status != c.Status.SettlementStatus {
					return nil
				}
				cells := append([]string{s.ID.String()}, company...)
				return list.add(value, append(cells, s.Amount.String(), string(s.Status), "…"+s.BankAccountLast4,
					s.RequestedAt.String(), timeOrDash(s.DecidedAt), orDash(s.Reason))...)
			}
			if c.Company.given() {
				return eachSettlement(ctx, op, c.Company.UUID, list.params(), func(s ticketing.Settlement) error {
					return add(s, s)
				})
			}
			addNamed := func(s ticketing.OpenSettlement) error { return add(s, s.Settlement, s.CompanyName) }
			if c.Status.SettlementStatus == ticketing.SettlementPending {
				return eachOpenSettlement(ctx, op, list.params().Limit, addNamed)
			}
			return eachCompany(ctx, op, func(company ticketing.Company) error {
				return eachSettlement(ctx, op, company.ID, list.params(), func(s ticketing.Settlement) error {
					return addNamed(ticketing.OpenSettlement{Settlement: s, CompanyName: company.Name})
				})
			})
		})
	})
}

// eachSettlement calls yield for all settlements of a company, newest first.
func eachSettlement(
	ctx context.Context, op ticketing.Operator, companyID uuid.UUID, params ticketing.PageParams,
	yield func(ticketing.Settlement) error,
) error {
	return eachPage(params, func(params ticketing.PageParams) (ticketing.Page[ticketing.Settlement], error) {
		return op.ListSettlements(ctx, companyID, params)
	}, yield)
}

// eachOpenSettlement calls yield for all settlements that wait at any company, oldest first.
func eachOpenSettlement(
	ctx context.Context, op ticketing.Operator, pageSize int, yield func(ticketing.OpenSettlement) error,
) error {
	page := func(params ticketing.PageParams) (ticketing.Page[ticketing.OpenSettlement], error) {
		return op.ListOpenSettlements(ctx, params)
	}
	return eachPage(ticketing.PageParams{Limit: pageSize}, page, yield)
}

// settlementStatus is the status of a settlement.
type settlementStatus struct{ ticketing.SettlementStatus }

func (v *settlementStatus) UnmarshalText(text []byte) error {
	switch status := ticketing.SettlementStatus(text); status {
	case ticketing.SettlementPending, ticketing.SettlementCompleted, ticketing.SettlementRejected:
		v.SettlementStatus = status
		return nil
	default:
		return badValue("must be PENDING, COMPLETED or REJECTED")
	}
}
