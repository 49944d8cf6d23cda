package main

import (
	"context"

	"github.com/floatgate/ticketing"
)

type auditCommands struct {
	List auditList `cmd:"" help:"List what operators did, newest first."`
}

type auditList struct {
	listFlags

	Company companyRef `arg:"" help:"Id or name of the company. Defaults to everything, also what is about no company." optional:"" placeholder:"COMPANY"`

	By     string `help:"Only by this actor: the whole name, as the log shows it." placeholder:"NAME"`
	Action string `help:"Only this action, such as float.credit." placeholder:"ACTION"`
	Since  moment `help:"Only what was done at this time or later." placeholder:"TIME"`
	Until  moment `help:"Only what was done before this time." placeholder:"TIME"`
}

func (*auditList) Help() string {
	return `Each change is shown with the values before and after. Refused commands, and those that changed nothing, ` +
		`are not in the log.

    ticketing audit list COMPANY
    ticketing audit list --action float.credit --since 2026-12-01`
}

func (c *auditList) Run(ctx context.Context, p *program) error {
	return p.operate(ctx, func(op ticketing.Operator) error {
		columns := []column{times("AT"), texts("ACTOR"), words("ACTION"), texts("SUBJECT"), texts("CHANGES")}
		filter := ticketing.AuditFilter{Actor: c.By, Action: c.Action, Since: c.Since.Time, Until: c.Until.Time}
		return p.list(c.listFlags, columns, func(list *list) error {
			page := func(params ticketing.PageParams) (ticketing.Page[ticketing.AuditEntry], error) {
				filter.PageParams = params
				return op.ListAudit(ctx, c.Company.UUID, filter)
			}
			return eachPage(list.params(), page, func(act ticketing.AuditEntry) error {
				return list.add(act, act.At.String(), act.Actor, act.Action, act.Subject, string(act.Changes))
			})
		})
	})
}
