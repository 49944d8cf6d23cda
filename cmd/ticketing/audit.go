package main

import (
	"context"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing"
)

type auditCommands struct {
	List auditList `cmd:"" help:"List what operators did, the latest first."`
}

type auditList struct {
	Company id `arg:"" help:"Id of the company. Defaults to all, and what was about none." optional:"" placeholder:"COMPANY"`
}

func (*auditList) Help() string {
	return `Each change is shown as it was before and is after. What was refused, and what changed nothing, is not in ` +
		`the log.

    ticketing audit list COMPANY`
}

func (c *auditList) Run(ctx context.Context, p *program) error {
	return p.operate(ctx, func(op ticketing.Operator) error {
		list := p.list("AT", "ACTOR", "ACTION", "SUBJECT", "CHANGES")
		err := eachAct(ctx, op, c.Company.UUID, func(act ticketing.AuditEntry) error {
			return list.add(act, act.At.String(), act.Actor, act.Action, act.Subject, string(act.Changes))
		})
		if err != nil {
			return err
		}
		return list.end()
	})
}

// eachAct calls yield for every entry of a company's audit log, or of the entire log for the zero id, newest first.
func eachAct(
	ctx context.Context, op ticketing.Operator, company uuid.UUID, yield func(ticketing.AuditEntry) error,
) error {
	params := ticketing.PageParams{Limit: ticketing.MaxPageLimit}
	for {
		page, err := op.ListAudit(ctx, company, params)
		if err != nil {
			return err
		}
		for _, act := range page.Items {
			if err := yield(act); err != nil {
				return err
			}
		}
		if !page.HasMore {
			return nil
		}
		params.Cursor = page.NextCursor
	}
}
