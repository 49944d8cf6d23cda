package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

func companySearchChecks() []Check {
	return []Check{
		{"company search/every order and filter, in pages", companiesSearched},
		{"company search/a change moves a company", companiesMoved},
		{"company search/an Update that failed moves nothing", companiesUnmoved},
		{"company search/letters from A to Z alone have two cases", companiesFolded},
	}
}

// searched returns companies that share names, times and ends of approvals.
func searched() []driver.Company {
	var made []driver.Company
	names := []string{
		"Bolt", "bolt two", "BOLT TWO", "Ant", "bo", "Bo\U0010FFFFx", "bp", "Zulu", "Àdìrẹ", "àdìrẹ", "_olt", "%olt",
		strings.Repeat("é", driver.FoldedNameLength) + "b", strings.Repeat("é", driver.FoldedNameLength) + "A",
		strings.Repeat("é", driver.FoldedNameLength-1),
	}
	for i, name := range names {
		company := newCompany(id(100 - i*7%len(names)))
		company.Name, company.CreatedAt = name, at(10*(i%4))
		company.Status = []driver.CompanyStatus{driver.CompanyActive, driver.CompanySuspended}[i%2]
		company.Verification = driver.Verification{Status: []driver.VerificationStatus{
			driver.VerificationApproved, driver.VerificationApproved, driver.VerificationSubmitted,
		}[i%3]}
		if i%3 == 0 {
			company.Verification.ApprovalExpiresAt = at(1000 + i%2)
		}
		made = append(made, company)
	}
	return made
}

func createCompanies(companies []driver.Company) writes {
	return func(ctx context.Context, tx driver.Tx) error {
		for _, company := range companies {
			if err := tx.CreateCompany(ctx, company); err != nil {
				return err
			}
		}
		return nil
	}
}

func companyOrders() []driver.CompanyOrder {
	return []driver.CompanyOrder{
		driver.CompaniesNewest, driver.CompaniesOldest, driver.CompaniesByName, driver.CompaniesByExpiry,
	}
}

// searchFilters returns the filters that the checks combine with every order.
func searchFilters() []driver.CompanyQuery {
	return []driver.CompanyQuery{
		{},
		{Prefix: "bo"},
		{Prefix: "bolt two"},
		{Prefix: "à"},
		{Prefix: "_"},
		{Prefix: "%"},
		{Prefix: "bo\U0010FFFF"},
		{Prefix: "\U0010FFFF"},
		{Prefix: strings.Repeat("é", driver.FoldedNameLength)},
		{Status: driver.CompanySuspended},
		{Verification: driver.VerificationSubmitted},
		{ExpiresBefore: at(1001)},
		{Prefix: "b", Status: driver.CompanyActive, Verification: driver.VerificationApproved, ExpiresBefore: at(1002)},
	}
}

// expectSearch checks every order and filter against the companies that are kept.
func expectSearch(ctx context.Context, tx driver.ReadTx, kept []driver.Company) error {
	for _, query := range searchFilters() {
		for _, order := range companyOrders() {
			query.Order = order
			var listed []driver.Company
			for _, company := range kept {
				expires := company.Verification.ApprovalExpiresAt
				if strings.HasPrefix(driver.FoldedName(company.Name), query.Prefix) &&
					(query.Status == "" || company.Status == query.Status) &&
					(query.Verification == "" || company.Verification.Status == query.Verification) &&
					(query.ExpiresBefore.IsZero() || !expires.IsZero() && expires.Before(query.ExpiresBefore)) &&
					(order != driver.CompaniesByExpiry || !expires.IsZero()) {
					listed = append(listed, company)
				}
			}
			slices.SortFunc(listed, func(a, b driver.Company) int { return order.PlaceOf(a).Compare(order.PlaceOf(b)) })
			if order == driver.CompaniesNewest {
				slices.Reverse(listed)
			}
			var places []driver.CompanyPlace
			for _, company := range listed {
				places = append(places, order.PlaceOf(company))
			}
			err := pages(places, func(after *driver.CompanyPlace, limit int) ([]driver.CompanyPlace, error) {
				query.After, query.Limit = driver.CompanyPlace{}, limit
				if after != nil {
					query.After = *after
				}
				found, err := tx.SearchCompanies(ctx, query)
				var at []driver.CompanyPlace
				for _, company := range found {
					at = append(at, order.PlaceOf(company))
				}
				return at, err
			})
			if err != nil {
				return fmt.Errorf("by %s of %+v: %w", order, query, err)
			}
			query.After, query.Limit = driver.CompanyPlace{}, len(kept)
			found, err := tx.SearchCompanies(ctx, query)
			slices.SortFunc(found, func(a, b driver.Company) int { return slices.Compare(a.ID[:], b.ID[:]) })
			slices.SortFunc(listed, func(a, b driver.Company) int { return slices.Compare(a.ID[:], b.ID[:]) })
			if err := want("the records", listed).from(found, err); err != nil {
				return fmt.Errorf("by %s of %+v: %w", order, query, err)
			}
		}
	}
	return nil
}

func companiesSearched(ctx context.Context, s driver.Store) error {
	companies := searched()
	if err := update(ctx, s, createCompanies(companies)); err != nil {
		return fmt.Errorf("create: %w", err)
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		return expectSearch(ctx, tx, companies)
	})
}

// moved returns the companies with other names, and with approvals that end at other times, or not at all.
func moved(companies []driver.Company) []driver.Company {
	changed := slices.Clone(companies)
	for i := range changed {
		company := &changed[i]
		company.Name += "x"
		switch i % 4 {
		case 0:
			company.Name = "Bo" + company.Name
			company.Verification.ApprovalExpiresAt = time.Time{}
		case 1:
			company.Verification.ApprovalExpiresAt = at(1000 - i)
		}
	}
	return changed
}

func updateCompanies(companies []driver.Company) writes {
	return func(ctx context.Context, tx driver.Tx) error {
		for _, company := range companies {
			if err := tx.UpdateCompany(ctx, company); err != nil {
				return err
			}
		}
		return nil
	}
}

func companiesMoved(ctx context.Context, s driver.Store) error {
	companies := searched()
	return steps(
		func() error { return update(ctx, s, createCompanies(companies)) },
		func() error { return update(ctx, s, updateCompanies(moved(companies))) },
		func() error {
			return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
				return expectSearch(ctx, tx, moved(companies))
			})
		},
	)
}

func companiesUnmoved(ctx context.Context, s driver.Store) error {
	companies := searched()
	holds := func(kept []driver.Company) func() error {
		return func() error {
			return s.View(ctx, func(ctx context.Context, tx driver.ReadTx) error { return expectSearch(ctx, tx, kept) })
		}
	}
	return steps(
		func() error { return failing(ctx, s, createCompanies(companies)) },
		holds(nil),
		func() error { return update(ctx, s, createCompanies(companies)) },
		func() error { return failing(ctx, s, updateCompanies(moved(companies))) },
		holds(companies),
	)
}

// companiesFolded checks the folded name itself, which the other checks rely on.
func companiesFolded(ctx context.Context, s driver.Store) error {
	company := newCompany(id(10))
	company.Name = "ÀZ aİ"
	if err := update(ctx, s, createCompanies([]driver.Company{company})); err != nil {
		return fmt.Errorf("create: %w", err)
	}
	return everywhere(ctx, s, func(ctx context.Context, tx driver.ReadTx) error {
		for prefix, listed := range map[string]bool{"Àz": true, "Àz aİ": true, "àz": false, "Àz ai": false, "ÀZ": false} {
			found, err := tx.SearchCompanies(ctx, driver.CompanyQuery{
				Prefix: prefix, Order: driver.CompaniesByName, Limit: 9,
			})
			var ids, expected []uuid.UUID
			for _, company := range found {
				ids = append(ids, company.ID)
			}
			if listed {
				expected = append(expected, company.ID)
			}
			if err := want("by the prefix "+prefix, expected).from(ids, err); err != nil {
				return err
			}
		}
		return nil
	})
}
