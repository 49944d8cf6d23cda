package memory

import (
	"context"

	"github.com/google/uuid"

	"github.com/floatgate/ticketing/driver"
)

type companies struct {
	byID  map[uuid.UUID]driver.Company
	byAge *index[driver.Position]
}

func newCompanies() companies {
	return companies{byID: make(map[uuid.UUID]driver.Company), byAge: newIndex(comparePositions)}
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
		return each(s.companies.byAge.after(after, limit), func(p driver.Position) driver.Company {
			return s.companies.byID[p.ID]
		})
	})
}

func (tx *updating) CreateCompany(ctx context.Context, company driver.Company) error {
	return tx.write(ctx, func(s *state, u *undo) error {
		company = keptCompany(company)
		if err := create(u, s.companies.byID, company.ID, company, "companies_pkey"); err != nil {
			return err
		}
		s.companies.byAge.add(u, driver.Position{At: company.CreatedAt, ID: company.ID})
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
