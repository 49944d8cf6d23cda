package console

import (
	"context"
	"strings"

	"github.com/floatgate/ticketing"
)

// exportPage is how many rows are read at a time: the most that the service returns.
const exportPage = ticketing.MaxPageLimit

// auditFilters returns the members of the query that select actions of the log.
func auditFilters() []string { return []string{"actor", "action", "since", "until"} }

// auditExports returns the exports of the log: that of a company, and that of all. They have names and emails, so they
// need a recent sign-in.
func auditExports() []export {
	columns := []string{"at", "actor", "name", "email", "action", "subject", "changes"}
	return []export{{
		name: "audit.export", scope: scopeCompany, page: auditPath, permission: ticketing.PermissionAuditRead,
		recent: true, file: "audit.csv", columns: columns, filter: withZone(auditFilters()), open: exportAudit,
		record: recordAuditExport,
	}, {
		name: "platform_audit.export", scope: scopePlatform, page: platformAuditPath,
		permission: ticketing.PermissionTenantRead, recent: true, file: "platform-audit.csv",
		columns: append([]string{"companyId", "company"}, columns...), filter: withZone(auditFilters()),
		open:   exportPlatformAudit,
		record: recordAuditExport,
	}}
}

// auditActs returns the acts of the pages of the log.
func auditActs(of scope) []act {
	var all []act
	for _, one := range auditExports() {
		if one.scope == of {
			all = append(all, one.act())
		}
	}
	return all
}

func recordAuditExport(ctx context.Context, c *call) error {
	filter, err := auditFilter(ctx, c)
	if err != nil {
		return err
	}
	// The log of a company must not reveal whether an address belongs to a user of the service.
	if typed := c.query("actor"); strings.Contains(typed, "@") {
		filter.Actor = typed
	}
	return c.operator.RecordAuditExport(ctx, c.companyID, filter)
}

func exportAudit(ctx context.Context, c *call) (rowPages, error) {
	filter, err := auditFilter(ctx, c)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, cursor string) ([][]string, string, error) {
		acts, next, err := c.auditPage(ctx, filter, cursor)
		rows := make([][]string, len(acts))
		for i, one := range acts {
			rows[i] = one.row()
		}
		return rows, next, err
	}, nil
}

func exportPlatformAudit(ctx context.Context, c *call) (rowPages, error) {
	filter, err := auditFilter(ctx, c)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, cursor string) ([][]string, string, error) {
		acts, next, err := c.auditPage(ctx, filter, cursor)
		if err != nil {
			return nil, "", err
		}
		companies, err := c.companyNames(ctx, acts)
		rows := make([][]string, len(acts))
		for i, one := range acts {
			cells := []string{"", ""}
			if one.CompanyID != nil {
				cells = []string{one.CompanyID.String(), companies[*one.CompanyID]}
			}
			rows[i] = append(cells, one.row()...)
		}
		return rows, next, err
	}, nil
}

// auditPage returns a page of the log for an export, with its people.
func (c *call) auditPage(
	ctx context.Context, filter ticketing.AuditFilter, cursor string,
) ([]shownAct, string, error) {
	filter.PageParams = ticketing.PageParams{Cursor: cursor, Limit: exportPage}
	found, err := c.operator.ListAudit(ctx, c.companyID, filter)
	if err != nil {
		return nil, "", err
	}
	acts, err := nameActs(ctx, c, found.Items)
	return acts, found.NextCursor, err
}

// row returns an action as a row of a file.
func (a shownAct) row() []string {
	person := shownPerson{}
	if a.Person != nil {
		person = *a.Person
	}
	return []string{
		a.At.UTC().Format(timeFormat), a.Actor, person.Name, person.Email, a.Action, a.Subject, string(a.Changes),
	}
}
