package console

import (
	"context"

	"github.com/floatgate/ticketing"
)

const booksPath = "/platform/books"

// bookPages returns the page of what the platform keeps books of, and of the work that waits.
func bookPages() []page {
	return []page{{
		group: groupRecords,
		path:  booksPath, scope: scopePlatform, title: "Books", nav: "Books", icon: "book",
		permissions: []ticketing.Permission{ticketing.PermissionTenantRead, ticketing.PermissionWalletRead},
		template:    "books.html", query: []string{"cursor"}, load: loadBooks,
	}}
}

// bookActs returns the verifications.
func bookActs() []act {
	return []act{
		newAct(act{
			name: "books.verify", scope: scopePlatform, path: booksPath + "/{companyId}/verify", page: booksPath,
			permission: ticketing.PermissionWalletRead,
		}, noMembers, func(ctx context.Context, c *call, _ none) (outcome, error) {
			company, err := c.companyOfPath(ctx)
			if err != nil {
				return outcome{}, err
			}
			return verifyBooks(ctx, c, company)
		}),
		newAct(act{
			name: "books.verify_all", scope: scopePlatform, path: booksPath + "/verify", page: booksPath,
			permission: ticketing.PermissionWalletRead,
		}, noMembers, func(ctx context.Context, c *call, _ none) (outcome, error) {
			return verifyBooks(ctx, c, ticketing.Company{})
		}),
	}
}

// platformBooks is a page of companies with when their books were verified, and the age of the backlog.
type platformBooks struct {
	Backlog      ticketing.Backlog        `json:"backlog"`
	Verification *bookVerification        `json:"verification"` // of this process; nil: it ran none
	Companies    []ticketing.CompanyBooks `json:"companies"`
}

// Waited returns for how long the oldest work has waited.
func (f *frame) Waited(since *ticketing.Time) string {
	if since == nil {
		return "None"
	}
	return formatDuration(f.now.Sub(since.Time))
}

func loadBooks(ctx context.Context, c *call) (view, error) {
	shown := platformBooks{Verification: c.console.books.show()}
	var found ticketing.Page[ticketing.CompanyBooks]
	err := together(ctx, func(ctx context.Context) (err error) {
		found, err = c.operator.ListBookChecks(ctx, c.paging())
		return err
	}, func(ctx context.Context) (err error) {
		shown.Backlog, err = c.operator.Backlog(ctx)
		return err
	})
	shown.Companies = found.Items
	return view{data: shown, paged: true, next: found.NextCursor}, err
}
