package ticketing

import (
	"context"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

const (
	// minIDPrefix is the shortest beginning of an id that names a company, in characters.
	minIDPrefix = 4
	// maxNamesakes is how many companies an error lists.
	maxNamesakes = 10
)

// FindCompany returns the company that a text names: by its id, by the beginning of its id, of at least four
// characters, or by its name. The name is compared exactly. White space around the text is ignored.
//
// It is CONFLICT if the text names several companies, such as those of one name: the message lists their ids. It is
// NOT_FOUND if it names none. It needs tenant:read.
//
// An id takes one read. A beginning of an id is compared with the ids of all companies, which takes some milliseconds
// for a thousand.
func (o Operator) FindCompany(ctx context.Context, text string) (Company, error) {
	if err := o.allow(PermissionTenantRead, uuid.Nil); err != nil {
		return Company{}, err
	}
	text = strings.TrimSpace(text)
	if id, err := ParseID(text); err == nil {
		var one Company
		err := o.lookAt(ctx, driver.Store.View, PermissionTenantRead, id,
			func(_ context.Context, _ driver.ReadTx, record driver.Company) error {
				one = showCompany(record)
				return nil
			})
		return one, err
	}
	var found []Company
	collect := func(filter CompanyFilter, matches func(Company) bool) error {
		filter.Limit = MaxPageLimit
		for {
			page, err := o.ListCompanies(ctx, filter)
			if err != nil {
				return err
			}
			for _, company := range page.Items {
				if matches(company) {
					found = append(found, company)
				}
			}
			if filter.Cursor = page.NextCursor; !page.HasMore || len(found) > maxNamesakes {
				return nil
			}
		}
	}
	if name := []rune(text); len(name) > 0 {
		filter := CompanyFilter{Prefix: string(name[:min(len(name), driver.FoldedNameLength)]), Order: CompaniesByName}
		err := collect(filter, func(c Company) bool { return c.Name == text })
		if err != nil {
			return Company{}, err
		}
	}
	if prefix := strings.ToLower(text); isIDPrefix(prefix) {
		err := collect(CompanyFilter{Order: CompaniesOldest}, func(c Company) bool {
			return c.Name != text && strings.HasPrefix(c.ID.String(), prefix)
		})
		if err != nil {
			return Company{}, err
		}
	}
	switch len(found) {
	case 0:
		return Company{}, notFound("The company")
	case 1:
		return found[0], nil
	default:
		return Company{}, conflict("Several companies are named so: %s. Give the id of one.", listNamesakes(found))
	}
}

// isIDPrefix reports whether a text in lower case may be the beginning of an id.
func isIDPrefix(text string) bool {
	return len(text) >= minIDPrefix && strings.Trim(text, "0123456789abcdef-") == ""
}

// listNamesakes returns companies that one text names, for a person.
func listNamesakes(companies []Company) string {
	named := make([]string, 0, maxNamesakes+1)
	for _, company := range companies[:min(len(companies), maxNamesakes)] {
		named = append(named, fmt.Sprintf("%s (%s)", company.ID, company.Name))
	}
	if len(companies) > maxNamesakes {
		named = append(named, "and more")
	}
	return strings.Join(named, ", ")
}
