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
	Company id     `arg:"" help:"Id of the company. Defaults to all, and what was about none." optional:"" placeholder:"COMPANY"`
	By      string `help:"Done by this actor only: the whole name, as the log shows it." placeholder:"NAME"`
	Action  string `help:"This action only, such as float.credit." placeholder:"ACTION"`
	Since   moment `help:"Done then or later." placeholder:"TIME"`
	Until   moment `help:"Done before." placeholder:"TIME"`
}

func (*auditList) Help() string {
	return `Each change is shown as it was before and is after. What was refused, and what changed nothing, is not in ` +
		`the log.

    ticketing audit list COMPANY
    ticketing audit list --action float.credit --since 2026-12-01`
}

func (c *auditList) Run(ctx context.Context, p *program) error {
	return p.operate(ctx, func(op ticketing.Operator) error {
		list := p.list("AT", "ACTOR", "ACTION", "SUBJECT", "CHANGES")
		filter := ticketing.AuditFilter{Actor: c.By, Action: c.Action, Since: c.Since.Time, Until: c.Until.Time}
		err := eachAct(ctx, op, c.Company.UUID, filter, func(act ticketing.AuditEntry) error {
			return list.add(act, act.At.String(), act.Actor, act.Action, act.Subject, string(act.Changes))
		})
		if err != nil {
			return err
		}
		return list.end()
	})
}

// eachAct calls yield for every entry of a company's audit log, or of the entire log for the zero id, that the filter
// selects, newest first.
func eachAct(
	ctx context.Context, op ticketing.Operator, company uuid.UUID, filter ticketing.AuditFilter,
	yield func(ticketing.AuditEntry) error,
) error {
	filter.Limit = ticketing.MaxPageLimit
	for {
		page, err := op.ListAudit(ctx, company, filter)
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
		filter.Cursor = page.NextCursor
	}
}
