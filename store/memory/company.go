package memory

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

type companies struct {
	byID     map[uuid.UUID]driver.Company
	byAge    *index[driver.CompanyPlace]
	byName   *index[driver.CompanyPlace]
	byExpiry *index[driver.CompanyPlace] // only companies whose approval ends
}

func newCompanies() companies {
	return companies{
		byID:  make(map[uuid.UUID]driver.Company),
		byAge: newIndex(driver.CompanyPlace.Compare), byName: newIndex(driver.CompanyPlace.Compare),
		byExpiry: newIndex(driver.CompanyPlace.Compare),
	}
}

// move moves a company within the lists by name and by approval. The zero company is in none of them.
func (c *companies) move(u *undo, from, to driver.Company) {
	for _, list := range []struct {
		index *index[driver.CompanyPlace]
		order driver.CompanyOrder
		has   func(driver.Company) bool
	}{
		{c.byName, driver.CompaniesByName, func(c driver.Company) bool { return c.ID != uuid.Nil }},
		{c.byExpiry, driver.CompaniesByExpiry, func(c driver.Company) bool {
			return !c.Verification.ApprovalExpiresAt.IsZero()
		}},
	} {
		old, place := list.order.PlaceOf(from), list.order.PlaceOf(to)
		if list.has(from) && list.has(to) && old.Compare(place) == 0 {
			continue
		}
		if list.has(from) {
			list.index.drop(u, old)
		}
		if list.has(to) {
			list.index.add(u, place)
		}
	}
}

// search reads the list of an order until the page is full.
func (c *companies) search(query driver.CompanyQuery) []driver.Company {
	var places iter.Seq2[int, driver.CompanyPlace]
	begins := query.After == driver.CompanyPlace{}
	switch {
	case query.Order == driver.CompaniesByName:
		places = slices.All(c.byName.after(query.After, len(c.byName.keys)))
	case query.Order == driver.CompaniesByExpiry:
		places = slices.All(c.byExpiry.after(query.After, len(c.byExpiry.keys)))
	case query.Order == driver.CompaniesOldest:
		places = slices.All(c.byAge.after(query.After, len(c.byAge.keys)))
	case begins:
		places = slices.Backward(c.byAge.keys)
	default:
		places = slices.Backward(c.byAge.below(query.After))
	}
	var found []driver.Company
	for _, place := range places {
		if len(found) >= query.Limit {
			break
		}
		if company := c.byID[place.ID]; picks(query, company) {
			found = append(found, company)
		}
	}
	return found
}

// picks reports whether a query selects a company.
func picks(query driver.CompanyQuery, company driver.Company) bool {
	expires := company.Verification.ApprovalExpiresAt
	return strings.HasPrefix(driver.FoldedName(company.Name), query.Prefix) &&
		(query.Status == "" || company.Status == query.Status) &&
		(query.Verification == "" || company.Verification.Status == query.Verification) &&
		(query.ExpiresBefore.IsZero() || !expires.IsZero() && expires.Before(query.ExpiresBefore))
}

func (r reading) Companies(ctx context.Context, ids []uuid.UUID) ([]driver.Company, error) {
	return ask(ctx, r, func(s *state) []driver.Company {
		return each(ids, func(id uuid.UUID) driver.Company { return s.companies.byID[id] })
	})
}

func (r reading) ListCompanies(
	ctx context.Context, after driver.Position, limit int,
) ([]driver.Company, error) {
	return ask(ctx, r, func(s *state) []driver.Company {
		place := driver.CompanyPlace{At: after.At, ID: after.ID}
		return each(s.companies.byAge.after(place, limit), func(p driver.CompanyPlace) driver.Company {
			return s.companies.byID[p.ID]
		})
	})
}

func (r reading) SearchCompanies(ctx context.Context, query driver.CompanyQuery) ([]driver.Company, error) {
	return ask(ctx, r, func(s *state) []driver.Company { return s.companies.search(query) })
}

func (tx *updating) CreateCompany(ctx context.Context, company driver.Company) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		company = keptCompany(company)
		if err := create(u, s.companies.byID, company.ID, company, "companies_pkey"); err != nil {
			return err
		}
		s.companies.byAge.add(u, driver.CompaniesOldest.PlaceOf(company))
		s.companies.move(u, driver.Company{}, company)
		return nil
	})
}

func (tx *updating) UpdateCompany(ctx context.Context, company driver.Company) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		old, ok := s.companies.byID[company.ID]
		if !ok {
			return driver.ErrNotFound
		}
		company = keptCompany(company)
		company.CreatedAt = old.CreatedAt
		put(u, s.companies.byID, company.ID, company)
		s.companies.move(u, old, company)
		return nil
	})
}

func keptCompany(company driver.Company) driver.Company {
	company.CreatedAt = moment(company.CreatedAt)
	company.UpdatedAt = moment(company.UpdatedAt)
	company.Verification.ApprovalExpiresAt = moment(company.Verification.ApprovalExpiresAt)
	company.Verification.GraceUntil = moment(company.Verification.GraceUntil)
	return company
}
