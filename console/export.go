package console

import (
	"context"

	"github.com/floatgate/ticketing"
)

// export is a list that a person can download as a file of comma-separated values. It is the act "export" of its page:
// the form has the filter of the page in hidden fields, and /api/v2 has it as members.
type export struct {
	name       string // of the act, such as "audit.export"
	scope      scope
	page       string // the path of the page with the list
	permission ticketing.Permission
	recent     bool   // needs a sign-in within the last ten minutes
	file       string // such as "audit.csv"
	columns    []string
	filter     []string // the members of the page's query that select rows
	// open reads the filter from the query of the call. It returns a function that returns the rows of a page and the
	// cursor of the next one, which is empty at the end.
	open func(context.Context, *call) (rowPages, error)
	// record writes the download into the audit log. It is called once, before the first byte is sent.
	record func(context.Context, *call) error
}

// rowPages returns the rows of the page at a cursor, and the cursor of the next page. The empty cursor is the first
// page's; an empty result means that there is no next page.
type rowPages func(ctx context.Context, cursor string) (rows [][]string, next string, err error)

// act returns the act of an export.
func (e export) act() act {
	return newAct(act{
		name: e.name, scope: e.scope, path: e.page + "/export", page: e.page, permission: e.permission, recent: e.recent,
		file: true,
	}, func(m *members) map[string]string {
		values := make(map[string]string, len(e.filter))
		for _, name := range e.filter {
			values[name] = m.optionalText(name)
		}
		return values
	}, func(ctx context.Context, c *call, values map[string]string) (outcome, error) {
		// A person who may not see the page with the list gets no file of it.
		if err := c.permit(c.console.pages[e.page]); err != nil {
			return outcome{}, err
		}
		c.values = values
		pages, err := e.open(ctx, c)
		if err != nil {
			return outcome{}, err
		}
		// Errors of the filter and the database show here, before the response has begun, and leave no entry in the
		// audit log.
		first, next, err := pages(ctx, "")
		if err != nil {
			return outcome{}, err
		}
		if err := e.record(ctx, c); err != nil {
			return outcome{}, err
		}
		return outcome{
			download: &download{name: e.file, columns: e.columns, first: first, next: next, pages: pages},
		}, nil
	})
}
