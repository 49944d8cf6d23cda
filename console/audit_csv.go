package console

import (
	"context"

	"github.com/floatgate/ticketing"
)

// maxAuditRows is how many actions a file has, the newest ones. A shorter time gives older ones.
const maxAuditRows = 10_000

// auditPage is how many actions are read together, which is the most that the service returns.
const auditPage = 100

// auditFile returns the log as a file of comma-separated values, newest first.
func auditFile(ctx context.Context, c *call, filter ticketing.AuditFilter) (view, error) {
	names, err := memberNames(ctx, c)
	if err != nil {
		return view{}, err
	}
	rows := [][]string{{"at", "actor", "name", "email", "action", "subject", "changes"}}
	filter.PageParams = ticketing.PageParams{Limit: auditPage}
	for len(rows) <= maxAuditRows {
		found, err := c.operator.ListAudit(ctx, c.companyID, filter)
		if err != nil {
			return view{}, err
		}
		acts, err := nameActs(ctx, c, found.Items, names)
		if err != nil {
			return view{}, err
		}
		for _, one := range acts {
			person := shownPerson{}
			if one.Person != nil {
				person = *one.Person
			}
			rows = append(rows, []string{
				one.At.UTC().Format(timeFormat), one.Actor, person.Name, person.Email, one.Action, one.Subject,
				string(one.Changes),
			})
		}
		if !found.HasMore {
			break
		}
		filter.Cursor = found.NextCursor
	}
	return view{file: csvFile("audit.csv", rows)}, nil
}
